import type * as en from "../en/health.ts";

export const health = {
  channelWorks: ({ name }) => `${name}: связь восстановлена.`,
  channelFails: ({ name, error }) => `${name}: ${error} Обмен продолжается.`,
  changesAtOnce: ({ count }) => `Изменений сразу: ${count}:`,
  alertsMissed: ({ since }) => `Оповещения снова приходят; с ${since} отправить их не удавалось.`,
  testAlert: "Это проверка: сюда приходят оповещения erp-bridge.",
  timesPutRight: "Времена, записанные, пока часы этой машины шли неверно, исправлены.",
  clockAgrees: "Часы этой машины снова сходятся с часами сервиса.",
  clockFar: "Часы этой машины сильно расходятся с часами сервиса; время в журнале и в состоянии показано неверно.",
  hadTriggers: "на таблицах программы были триггеры ERP",
  noObjects: "На таблицах программы больше нет триггеров и индексов ERP.",
  objects: ({ names }) => `На таблицах программы стоят триггеры или индексы ERP, удалите их: ${names}.`,
} satisfies typeof en.health;

export const status = {
  hold: ({ area, reason, detail }) => `остановлено: ${area} (${reason}): ${detail}`,
  byStatusOnly: ({ names }) => `${names.join(", ")}: приём виден только по коду ответа.`,
  erpTookAll: "ERP забрала все заказы.",
  erpWaiting: ({ n, minutes }) => `В ERP ещё не забрано заказов: ${n}, самый старый ждёт ${minutes} мин.`,
  erpBlocked: ({ n }) => `Отложено в ERP: ${n}.`,
  switchedOff: "Выключено.",
  held: ({ reasons }) => `Остановлено (${reasons}).`,
  failingSince: ({ at }) => `Ошибки с ${at}.`,
  neverSucceeded: "Удачного обмена ещё не было.",
  hours: ({ n }) => `${n} ч`,
  succeeded: ({ ago }) => `Удачный обмен ${ago} назад.`,
  waiting: ({ n }) => `Ждут: ${n}.`,
  refused: ({ n }) => `Отклонено сервисом, будет отправлено ещё раз: ${n}.`,
  quarantined: ({ n }) => `В карантине: ${n}.`,
  onSite: ({ ago }) => `На сайте состояние ${ago} назад.`,
  erpSilent: ({ n }) => `ERP не обновляла свою таблицу уже ${n} ч.`,
} satisfies typeof en.status;
