import type { status as en } from "../en/status.ts";

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
  succeeded: ({ ago }) => `Удачный обмен ${ago} назад.`,
  waiting: ({ n }) => `Ждут: ${n}.`,
  refused: ({ n }) => `Отклонено сервисом, будет отправлено ещё раз: ${n}.`,
  quarantined: ({ n }) => `В карантине: ${n}.`,
  onSite: ({ ago }) => `На сайте состояние ${ago} назад.`,
  erpSilent: ({ n }) => `ERP не обновляла свою таблицу уже ${n} ч.`,
} satisfies typeof en;
