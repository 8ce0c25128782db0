import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

export const remap = {
  changed: ({ orders, changed, unreadable }: { orders: number; changed: number; unreadable: number }) =>
    `${counted(orders, "order")} looked at: ${changed} changed, ${unreadable} cannot be read with this mapping and stay as they are.`,
  wouldChange: ({ orders, changed, unreadable }: { orders: number; changed: number; unreadable: number }) =>
    `${counted(orders, "order")} looked at: ${changed} would change, ${unreadable} cannot be read with this mapping and would stay as they are.`,
  released: ({ released, held }: { released: number; held: number }) =>
    `${counted(released, "quarantined record")} released, ${held} stay.`,
  wouldRelease: ({ released, held }: { released: number; held: number }) =>
    `${counted(released, "quarantined record")} would be released, ${held} would stay.`,
  change: ({ column, was, is }: { column: string; was: string; is: string }) => `${column}: ${was} → ${is}`,
  problem: ({ text }: { text: Said }) => `! ${text}`,
};
