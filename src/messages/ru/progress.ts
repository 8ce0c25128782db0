import type { progress as en } from "../en/progress.ts";
import { plural } from "../plural.ts";

export const progress = {
  next: ({ what }) => `${what} …`,
  step: ({ what }) => `${what}…`,
  working: ({ what, time }) => `${what}, ${time} …`,
  far: ({ what, parts }) => `${what}: ${parts.join(", ")}`,
  done: ({ done, unit }) => `${unit}: ${done}`,
  doneOf: ({ done, total, unit }) => `${unit}: ${done} из ${total}`,
  orders: "заказов",
  ordersToRead: "заказов к чтению",
  ordersCompared: "сравнено заказов",
  payloadsSeen: "проверено записей",
  records: "записей",
  requests: "запросов",
  rows: "строк",
  rowsCompared: "сравнено строк",
  megabytes: "мегабайт",
  rate: ({ rate }) => `${rate}/с`,
  left: ({ time }) => `осталось ${time}`,
  seconds: ({ n }) => `${n} с`,
  minutes: ({ n }) => `${n} мин`,
  hours: ({ n }) => `${n} ч`,
  days: ({ n }) => `${n} ${plural("ru", n, { one: "день", few: "дня", many: "дней" })}`,
} satisfies typeof en;
