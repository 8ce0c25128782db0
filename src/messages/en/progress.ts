import { counted } from "../counted.ts";
import type { Said } from "../message.ts";

/** How far a long command is. */
export const progress = {
  /** Before what stops the whole process. */
  next: ({ what }: { what: string }) => `${what} …`,
  /** A line of its own where nobody watches. */
  step: ({ what }: { what: Said }) => `${what}…`,
  working: ({ what, time }: { what: string; time: Said }) => `${what}, ${time} …`,
  far: ({ what, parts }: { what: string; parts: readonly string[] }) => `${what}: ${parts.join(", ")}`,
  done: ({ done, unit }: { done: number; unit: Said }) => `${done} ${unit}`,
  doneOf: ({ done, total, unit }: { done: number; total: number; unit: Said }) => `${done} of ${total} ${unit}`,
  orders: "orders",
  ordersToRead: "orders to read",
  ordersCompared: "orders compared",
  payloadsSeen: "payloads looked at",
  records: "records",
  requests: "requests",
  rows: "rows",
  rowsCompared: "rows compared",
  megabytes: "MB",
  rate: ({ rate }: { rate: string }) => `${rate}/s`,
  left: ({ time }: { time: Said }) => `${time} left`,
  seconds: ({ n }: { n: number }) => `${n} s`,
  minutes: ({ n }: { n: number }) => `${n} min`,
  hours: ({ n }: { n: number }) => `${n} h`,
  days: ({ n }: { n: number }) => counted(n, "day"),
};
