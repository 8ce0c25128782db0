import { plural } from "./plural.ts";

/** `1 order`, `2 orders`: the one place that decides how a counted thing is written in English. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${n} ${plural("en", n, { one, other: many })}`;
}

/** What a single one of a job's counts is called, where the name of the count is that of several. */
const SINGULAR: Readonly<Record<string, string>> = {
  batches: "batch",
  "batches left to the service": "batch left to the service",
  copies: "copy",
  differ: "differs",
  events: "event",
  orders: "order",
  requests: "request",
  runs: "run",
  "tables of the ERP": "table of the ERP",
};

/** `2 batches, 7 created, 1 confirmed` */
export function describeCounts(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([name, count]) => count > 0 || name === "differ");
  if (parts.length === 0) return "nothing to do";
  return parts.map(([name, count]) => counted(count, SINGULAR[name] ?? name, name)).join(", ");
}
