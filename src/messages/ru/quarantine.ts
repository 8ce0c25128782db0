import type { quarantine as en } from "../en/quarantine.ts";
import { plural } from "../numbers.ts";

export const quarantine = {
  empty: "Карантин пуст.",
  beingStored: "идёт её сохранение",
  unreadBatch: ({ id, bytes, why, at }) =>
    `batch:${id}  пачка в ${bytes} ${plural("ru", bytes, { one: "байт", few: "байта", many: "байт" })} ещё не прочитана: ${why} (с ${at})`,
  reason: ({ reason }) => `причина: ${reason}`,
  seen: ({ first, last, times }) => `впервые ${first}, в последний раз ${last}, ${times}×`,
  moreCharacters: ({ rest }) => `… и ещё знаков: ${rest}; полностью — с --json`,
  storedNow: ({ name }) => `${name}: сохраняется в эту минуту.`,
  nothingDropped: "Ничего не убрано.",
  noName: ({ name }) => `${name} — не номер записи.`,
  howNamed: "Запись указывают по номеру, пачку — как batch:НОМЕР; см. erp-bridge quarantine list.",
  notThere: ({ name }) => `В карантине нет ${name}.`,
  seeList: "См. erp-bridge quarantine list.",
  nameRecords: "Укажите номера записей или --all.",
  stillHeld: "всё ещё в карантине",
  batchAgain: ({ id }) => `batch:${id}: будет прочитана заново при следующем опросе`,
  daemonDoesRest: "Остальное сейчас сделает служба.",
  restDoneBy: ({ jobs }) => `Остальное сделает: erp-bridge sync ${jobs.join(" ")}`,
  noOrder: ({ name }) => `Заказа ${name} нет.`,
  nameOrder:
    "Укажите его идентификатор или номер, как в таблице orders; записи, которые не удалось сохранить, показывает erp-bridge quarantine list.",
  record: ({ id, record, reason, since, times }) => `${id}  ${record}: ${reason} (с ${since}, встречалась ${times}×)`,
  dropped: ({ name }) => `${name}: убрано; в таблице quarantine запись осталась.`,
  droppedRow: ({ name }) =>
    `${name}: убрано; в таблице quarantine запись осталась. На сайте остаётся то, что там есть по этой строке, пока она не изменится или сервис её не примет.`,
  droppedBefore: ({ name }) => `${name}: уже было убрано.`,
  released: "выпущено из карантина",
  waiting: "ждёт",
  retried: ({ id, record, outcome }) => `${id}  ${record}: ${outcome}`,
  retriedBecause: ({ id, record, outcome, reason }) => `${id}  ${record}: ${outcome}: ${reason}`,
  orderReadAgain: "заказ будет прочитан заново",
  switchedOff: ({ name }) => `${name}: выключено`,
  aRetry: "повторная попытка",
  tableCompared: "таблица будет сверена",
  rowReadAgain: "строка будет прочитана заново",
  rowSentAgain: "строка будет отправлена снова",
  storedSince: ({ reason, id }) => `${reason}; с тех пор записана как заказ ${id}`,
  ordersReadSince: ({ reason }) => `${reason}; с тех пор прочитаны все открытые заказы и новейшие из остальных`,
  servedSince: ({ reason }) => `${reason}; с тех пор все изменения за это время получены, каждое со своим заказом`,
} satisfies typeof en;
