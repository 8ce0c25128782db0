import type { Said } from "../message.ts";

export const init = {
  askAddress: "Address of the service: ",
  askClientId: "Client ID: ",
  askDatabase: ({ standard }: { standard: string }) => `Database file [${standard}]: `,
  askAlerts: "Who is told of trouble? A webhook address, the path of a program, or nothing: ",
  neitherAddressNorProgram: "is neither an address nor a program that is there",
  missing: "is missing",
  nobodyToAsk: ({ wrong }: { wrong: readonly string[] }) =>
    `Nobody can be asked here, and not everything is given: ${wrong.join("; ")}.`,
  giveWhatIsMissing: ({ variable }: { variable: string }) =>
    `Give what is missing, or run erp-bridge init on a terminal. The secret comes from ${variable}, standard input or its file.`,
  secretFileProblem: ({ problem }: { problem: Said }) => `--client-secret-file ${problem}`,
  secretMissing: "the client secret is missing",
  pipedSecret: "the client secret on standard input",
  needed: "is needed",
  tooOften: "That was asked often enough; nothing was written.",
  askSecret: "Client Secret (not shown): ",
  askSecretAgain: ({ file }: { file: string }) => `Client Secret (not shown) [the one in ${file}]: `,
  optionProblem: ({ option, problem }: { option: string; problem: Said }) => `${option} ${problem}`,
  answerProblem: ({ answer, problem }: { answer: string; problem: Said }) => `  "${answer}" ${problem}`,
  secretProblem: ({ problem }: { problem: Said }) => `  the secret ${problem}`,
};
