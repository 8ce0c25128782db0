/*
 * The number of its lines that a record may say beside them, as `"items_count": 3`. Which member that is no configuration says: it is the
 * one by whose name it may count something, and that was the number of the lines in every former order. Pure.
 */
import type { OrderMapping, OrderValues } from "../records/order-mapping.ts";

interface Counted {
  values: Pick<OrderValues, "lines">;
  text: string;
  mapping: Pick<OrderMapping, "paths">;
}

const COUNTING = /count|lines|items|positions|qty|quantity|size|length|number/i;
/** Looked for before the record is read once more, which nearly none needs. */
const MAY_COUNT =
  /"[^"\\]{0,40}(?:count|lines|items|positions|qty|quantity|size|length|number)[^"\\]{0,40}"\s*:\s*"?[1-9]/i;
const WHOLE = /^[1-9]\d{0,3}$/;
/** No order of a shop is larger, and reading one again costs as much as storing it. */
const TEXT_MAX = 1_000_000;
/** So many former orders must have said the number of their lines. */
const FORMER_MIN = 3;

/** The numbers beside the list of lines that may count it, and how long that is; undefined where it has none. */
function readCounts({
  text,
  mapping,
}: Omit<Counted, "values">): { counts: Map<string, number>; size: number } | undefined {
  if (text.length > TEXT_MAX || !MAY_COUNT.test(text)) return undefined;
  const { steps } = mapping.paths.lines;
  let place = parse(text);
  for (const step of steps.slice(0, -1)) place = memberOf(place, step);
  const lines = memberOf(place, steps.at(-1) ?? "");
  if (typeof place !== "object" || place === null || !Array.isArray(lines)) return undefined;
  const counts = new Map<string, number>();
  for (const [name, value] of Object.entries(place)) {
    const isWhole = (typeof value === "number" || typeof value === "string") && WHOLE.test(String(value));
    if (COUNTING.test(name) && isWhole) counts.set(name, Number(value));
  }
  return { counts, size: lines.length };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function memberOf(place: unknown, step: string | number): unknown {
  return typeof place === "object" && place !== null ? (place as Record<string | number, unknown>)[step] : undefined;
}

/** Whether a record may count more lines than it has. */
export function lacksCounted(record: Counted): boolean {
  const read = readCounts(record);
  return read !== undefined && [...read.counts.values()].some((count) => count > read.size);
}

/** Whether a record counts the lines that it has, of which there are several: of one alone nothing may be missing in any trouble. */
export function countsLines(record: Counted): boolean {
  const read = readCounts(record);
  return read !== undefined && read.size > 1 && [...read.counts.values()].includes(read.size);
}

/**
 * Whether what the record counts more of than it has are lines: its own former version and the other ones had as many.
 * @param former texts of stored orders of any shape: one in which the list does not stand there says nothing
 */
export function isCounted(record: Counted, former: readonly { isOwn: number; text: string }[]): boolean {
  const read = readCounts(record);
  if (read === undefined) return false;
  const others = former.flatMap(({ isOwn, text }) => {
    const other = readCounts({ text, mapping: record.mapping });
    return other === undefined ? [] : [{ ...other, isOwn }];
  });
  return [...read.counts].some(([name, count]) => {
    if (count <= read.size) return false;
    const counting = others.filter((other) => other.counts.has(name));
    const isAlike = counting.every((other) => other.counts.get(name) === other.size);
    // The same number in all of them may be anything, unless it is said to count.
    const differ = new Set(counting.map(({ size }) => size)).size > 1 || /count/i.test(name);
    return counting.length >= FORMER_MIN && isAlike && differ;
  });
}
