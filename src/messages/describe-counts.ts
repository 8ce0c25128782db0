import type { Message } from "./message.ts";
import { m } from "./messages.ts";

/** `2 batches, 7 created, 1 confirmed` */
export function describeCounts(counts: Readonly<Record<string, number>>): Message {
  const parts = Object.entries(counts)
    .filter(([name, n]) => n > 0 || name === "differ")
    .map(([name, n]) => countOf(name, n));
  return parts.length === 0 ? m.common.nothingToDo : m.common.listed({ parts });
}

function countOf(name: string, n: number): Message {
  // A count from another version is shown by its name.
  return Object.hasOwn(m.counts, name)
    ? m.counts[name as keyof typeof m.counts]({ n })
    : m.common.foreign({ text: `${n} ${name}` });
}
