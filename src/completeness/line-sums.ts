/*
 * Sums over the lines of orders. A number that is one of these counts lines or pieces, and says nothing of records or lines
 * that are missing. Pure.
 */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import { elementsInSlices, elementsOf, kindOf, readScalar, type Span } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import type { OrderMapping } from "../records/order-mapping.ts";

/** Of floating-point numbers. */
const NOTHING = 1e-6;

export class LineSums {
  #lines = 0;
  #pieces = 0;
  /** The same where goods sold by weight count as one piece. */
  #items = 0;
  #total = 0;

  /** @param quantity as the service wrote it: `2`, `"2.000"`, `"1,5"`, `"3 шт"` */
  add({ quantity }: { quantity: string | null }): void {
    const amount = readAmount(quantity) ?? 1;
    this.#lines += 1;
    this.#pieces += amount;
    this.#items += Number.isInteger(amount) ? amount : 1;
  }

  addTotal(total: string | null): void {
    this.#total += readAmount(total) ?? 0;
  }

  /** Whether a count is that of lines or of pieces; a sum of weights may be rounded. */
  explains(count: number): boolean {
    const isPieces = Math.floor(this.#pieces + NOTHING) <= count && count <= Math.ceil(this.#pieces - NOTHING);
    return isPieces || count === this.#lines || count === this.#items;
  }

  /** Whether it is the sum of the orders' totals. */
  isTotal(count: number): boolean {
    return Math.abs(this.#total - count) < NOTHING;
  }
}

function readAmount(text: string | null): number | undefined {
  const amount = Number.parseFloat((text ?? "").replace(",", "."));
  return Number.isFinite(amount) ? amount : undefined;
}

/** The sums over all records of a list. */
export function* sumsOf(
  bytes: Buffer,
  root: Span,
  { list, mapping: { paths, line } }: { list: JsonPath; mapping: Pick<OrderMapping, "paths" | "line"> },
): Slices<LineSums> {
  const sums = new LineSums();
  const textAt = (object: Span, path: JsonPath) => {
    const found = resolvePath(bytes, object, path);
    return found.state === "value" ? (readScalar(bytes, found.span) ?? null) : null;
  };
  const found = resolvePath(bytes, root, list);
  if (found.state !== "value" || kindOf(bytes, found.span) !== "array") return sums;
  for (const record of yield* elementsInSlices(bytes, found.span)) {
    yield;
    sums.addTotal(textAt(record, paths.total));
    const lines = resolvePath(bytes, record, paths.lines);
    if (lines.state !== "value" || kindOf(bytes, lines.span) !== "array") continue;
    for (const element of elementsOf(bytes, lines.span)) sums.add({ quantity: textAt(element, line.quantity) });
  }
  return sums;
}
