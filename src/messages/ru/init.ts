import type { init as en } from "../en/init.ts";

export const init = {
  askAddress: "Адрес сервиса: ",
  askClientId: "Client ID: ",
  askDatabase: ({ standard }) => `Файл базы [${standard}]: `,
  askAlerts: "Кого оповещать о сбоях? Адрес webhook, путь к программе или пусто: ",
  neitherAddressNorProgram: "не адрес и не имеющаяся программа",
  missing: "не указано",
  nobodyToAsk: ({ wrong }) => `Спросить здесь некого, а указано не всё: ${wrong.join("; ")}.`,
  giveWhatIsMissing: ({ variable }) =>
    `Укажите недостающее или запустите erp-bridge init в терминале. Секрет берётся из ${variable}, стандартного ввода или своего файла.`,
  secretFileProblem: ({ problem }) => `--client-secret-file: ${problem}`,
  secretMissing: "не указан client secret",
  pipedSecret: "client secret на стандартном вводе",
  needed: "нужно указать",
  tooOften: "Слишком много попыток; ничего не записано.",
  askSecret: "Client Secret (не показывается): ",
  askSecretAgain: ({ file }) => `Client Secret (не показывается) [тот, что в ${file}]: `,
  optionProblem: ({ option, problem }) => `${option} ${problem}`,
  answerProblem: ({ answer, problem }) => `  «${answer}» ${problem}`,
  secretProblem: ({ problem }) => `  секрет ${problem}`,
} satisfies typeof en;
