import type { health as en } from "../en/health.ts";

export const health = {
  channelWorks: ({ name }) => `${name}: связь восстановлена.`,
  channelFails: ({ name, error }) => `${name}: ${error} Обмен продолжается.`,
  changesAtOnce: ({ count }) => `Изменений сразу: ${count}:`,
  testAlert: "Это проверка: сюда приходят оповещения erp-bridge.",
  timesPutRight: "Времена, записанные, пока часы этой машины шли неверно, исправлены.",
  clockAgrees: "Часы этой машины снова сходятся с часами сервиса.",
  clockFar: "Часы этой машины сильно расходятся с часами сервиса; время в журнале и в состоянии показано неверно.",
  hadTriggers: "на таблицах программы были триггеры ERP",
  noObjects: "На таблицах программы больше нет триггеров и индексов ERP.",
  objects: ({ names }) => `На таблицах программы стоят триггеры или индексы ERP, удалите их: ${names}.`,
} satisfies typeof en;
