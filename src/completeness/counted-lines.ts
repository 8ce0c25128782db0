/*
 * Records may contain the number of their lines, such as `"items_count": 3`. The configuration does not name this
 * member: it is one whose name may mean a count, and which was equal to the number of lines in all former orders. A number
 * that is a sum over the lines which are there, such as that of the pieces, counts no missing ones. Pure.
 */
import type { OrderMapping, OrderValues } from "../records/order-mapping.ts";
import { LineSums } from "./line-sums.ts";

interface Counted {
  values: Pick<OrderValues, "lines">;
  text: string;
  mapping: Pick<OrderMapping, "paths">;
}

const COUNTING = /count|lines|items|positions|qty|quantity|size|length|number/i;
/** Checked before the record is parsed again, which is rarely necessary. */
const MAY_COUNT =
  /"[^"\\]{0,40}(?:count|lines|items|positions|qty|quantity|size|length|number)[^"\\]{0,40}"\s*:\s*"?[1-9]/i;
const WHOLE = /^[1-9]\d{0,3}$/;
/** Larger than any real order; parsing one again costs as much as storing it. */
const TEXT_MAX = 1_000_000;
/** Minimum number of former orders with such a member. */
const FORMER_MIN = 3;

/** The numbers beside the list of lines that may be its length, and its actual length; undefined without a list. */
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

/** Whether a record may count more lines than it contains. */
export function lacksCounted(record: Counted): boolean {
  return findUnexplained(record).length > 0;
}

/** The names of numbers that are larger than the number of lines, and no sum over them. */
function findUnexplained(record: Counted): string[] {
  const { counts, size } = readCounts(record) ?? { counts: [], size: 0 };
  const larger = [...counts].filter(([, count]) => count > size);
  if (larger.length === 0) return [];
  const sums = new LineSums();
  for (const line of record.values.lines) sums.add(line);
  return larger.flatMap(([name, count]) => (sums.explains(count) ? [] : [name]));
}

/**
 * Whether a record correctly counts its lines. False for one line: a single line may be complete even during a fault.
 */
export function countsLines(record: Counted): boolean {
  const read = readCounts(record);
  return read !== undefined && read.size > 1 && [...read.counts.values()].includes(read.size);
}

/**
 * Whether the count that exceeds the record's lines is one of lines: in its former version and in other orders they
 * were equal.
 * @param former texts of stored orders; those without the list are ignored
 */
export function isCounted(record: Counted, former: readonly { isOwn: number; text: string }[]): boolean {
  const unexplained = findUnexplained(record);
  if (unexplained.length === 0) return false;
  const others = former.flatMap(({ isOwn, text }) => {
    const other = readCounts({ text, mapping: record.mapping });
    return other === undefined ? [] : [{ ...other, isOwn }];
  });
  return unexplained.some((name) => {
    const counting = others.filter((other) => other.counts.has(name));
    const isAlike = counting.every((other) => other.counts.get(name) === other.size);
    // A number that is the same in all orders may mean anything, unless its name contains `count`.
    const differ = new Set(counting.map(({ size }) => size)).size > 1 || /count/i.test(name);
    return counting.length >= FORMER_MIN && isAlike && differ;
  });
}
