import type { remap as en } from "../en/remap.ts";

export const remap = {
  changed: ({ orders, changed, unreadable }) =>
    `Просмотрено заказов: ${orders}; изменено: ${changed}; не читаются по этому сопоставлению и остаются как есть: ${unreadable}.`,
  wouldChange: ({ orders, changed, unreadable }) =>
    `Просмотрено заказов: ${orders}; изменилось бы: ${changed}; не читаются по этому сопоставлению и остались бы как есть: ${unreadable}.`,
  released: ({ released, held }) => `Выпущено из карантина записей: ${released}; осталось: ${held}.`,
  wouldRelease: ({ released, held }) => `Вышло бы из карантина записей: ${released}; осталось бы: ${held}.`,
  change: ({ column, was, is }) => `${column}: ${was} → ${is}`,
  problem: ({ text }) => `! ${text}`,
} satisfies typeof en;
