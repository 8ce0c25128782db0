import type { reconcile as en } from "../en/reconcile.ts";

export const reconcile = {
  checked: ({ checked, differ, more }) =>
    `reconcile: ${[`сверено заказов: ${checked}`, `различаются: ${differ}`, ...more].join("; ")}.`,
  unknown: ({ n }) => `неизвестно сервису: ${n}`,
  returned: ({ n }) => `вернулось: ${n}`,
  unread: ({ n }) => `не удалось прочитать: ${n}`,
  payloads: ({ looked, damaged }) => `проверено сохранённых: ${looked}, повреждено: ${damaged}`,
  healed: ({ n }) => `исправлено: ${n}`,
  damagedFound: ({ count }) => `Повреждено сохранённых заказов: ${count}; они читаются заново. Проверьте диск.`,
  payloadDiffers: "сохранённое содержимое не то, что сохраняли (не сходится контрольная сумма)",
} satisfies typeof en;
