import type { command as en } from "../en/command.ts";
import { plural } from "../plural.ts";

export const command = {
  configOrInstance: "--config и --instance нельзя указывать вместе.",
  instanceName: "Имя экземпляра состоит только из букв, цифр и знаков . _ -",
  noDatabase: ({ file }) => `Базы ${file} ещё нет.`,
  databaseMade: "Она появится при первом erp-bridge run или erp-bridge sync.",
  unknownWord: ({ what, word }) => `Нет ${what} ${word}.`,
  known: ({ names }) => `Известны: ${names.join(", ")}`,
  didYouMean: ({ name }) => `Возможно, имелось в виду ${name}?`,
  validNoDatabase: ({ file, database }) =>
    `${file}: ошибок нет; базы ${database} ещё нет, поэтому работающая служба эти настройки не примет`,
  stopped: "Остановлено; больше ничего не сделано.",
  areaOrFeed: "области или выгрузки",
  guardWaits: ({ area, command }) => `${area}: предохранитель ждёт разрешения: ${command}`,
  holdStays: ({ area, reason, states, command }) =>
    `${area}: «${reason}» не снято. Снять — значит подтвердить, что ${states}; затем: ${command}`,
  nothingHeld: ({ area }) => `${area}: остановок не было.`,
  noHold: ({ area, hold }) => `${area}: остановки «${hold}» нет.`,
  observationsRead: ({ names }) => `observations: больше не показывается (${names.join(", ")}).`,
  nothingWaits: ({ name }) => `${name}: разрешения ничто не ждёт.`,
  job: "задания",
  feed: "выгрузки",
  hold: "остановки",
  sentNow: ({ name, rows }) =>
    `${name}: разрешена отправка ${rows} ${plural("ru", rows, { one: "строки", few: "строк", many: "строк" })}; служба отправит их сейчас.`,
  sentNextPass: ({ name, rows }) =>
    `${name}: разрешена отправка ${rows} ${plural("ru", rows, { one: "строки", few: "строк", many: "строк" })}; они уйдут при следующем проходе.`,
  triedNow: ({ area, reasons }) => `${area}: обмен продолжается (${reasons.join(", ")}); служба пробует сейчас.`,
  goesOn: ({ area, reasons }) => `${area}: обмен продолжается (${reasons.join(", ")}).`,
  nothingAccepted: ({ url, id }) =>
    `Принятое по адресу ${url} (от имени ${id}) здесь не считается принятым: после следующего запуска все строки выгрузок уйдут ещё раз.`,
  changesFrom: ({ position }) => `Изменения запрашиваются начиная с ${position}, а один раз — с запасом назад.`,
  readAgain: ({ orders }) =>
    `Заказов, статус которых за это время ушёл по другому адресу: ${orders}. Они будут прочитаны заново.`,
  comparedAtStart: "Заказы сверяются с сервисом при следующем запуске.",
} satisfies typeof en;
