import type { Said } from "../message.ts";

export const init = {
  fitted: ({ lines }: { lines: string }) =>
    `The service's answers differ from the defaults; the configuration says so:\n\n${lines}\n`,
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
  sendingTest: "Sending a test message",
  alreadyThere: ({ file }: { file: string }) => `${file} is there already; nothing was changed.`,
  tryIt: ({ flag }: { flag: string }) =>
    `Try it with: erp-bridge check --online${flag}. With --force the old one is kept beside the new one.`,
  credentialsAgain: "Type the credentials again? [Y/n] ",
  addressAgain: "Type the address again? [Y/n] ",
  notReplaced: ({ name }: { name: string }) => `${name} is there already and was not changed.`,
  nameSecretFile:
    "Name it with --client-secret-file and give no other secret, or keep it beside a new one with --force.",
  notWritten: ({ name, code }: { name: string; code: string }) => `${name} could not be written (${code}).`,
  runAsOwner: "Run erp-bridge init as the user who may write there, or choose another place with --config.",
  madeConfig: ({ file }: { file: string }) => `Configuration: ${file}`,
  kept: ({ name }: { name: string }) => `Kept:          ${name}`,
  alertTaken: ({ channel }: { channel: string }) => `ok   alerts: the ${channel} took a test message`,
  alertFailed: ({ channel, error }: { channel: string; error: Said }) => `FAIL alerts: the ${channel}: ${error}`,
  next: ({ next }: { next: string }) => `Next: ${next}`,
  nextWhenRight: ({ next }: { next: string }) => `When that is put right: ${next}`,
  secretAsItWas: ({ secretFile }: { secretFile: string }) => `Client secret: ${secretFile} (as it was)`,
  secretMade: ({ secretFile }: { secretFile: string }) => `Client secret: ${secretFile} (readable by its owner alone)`,
  databaseMade: ({ database }: { database: string }) => `Database:      ${database} (empty)`,
  databaseThere: ({ database }: { database: string }) => `Database:      ${database} (it was there already)`,
};
