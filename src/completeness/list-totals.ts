/*
 * Totals over the records of a list. A number beside the list that is equal to one of these counts them, not the
 * records. Pure.
 */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import { elementsInSlices, kindOf, type Span, someMember, textOf } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";

const DEPTH_MAX = 8;
const TOTALED_MAX = 200_000;
/** The most characters of a number, with its quotes. */
const NUMBER_MAX = 13;
const PLACE_MAX = 120;

/** The path of a member. A key that is an id differs in each answer, so it is generalized. */
export function placeIn(place: string, key: string): string {
  const name = readOrderId(key) === undefined ? key : "*";
  return (place === "" ? name : `${place}.${name}`).slice(0, PLACE_MAX);
}

/** Totals by the names that lead to them: elements of nested lists, and sums of numbers. */
export function* totalsOf(bytes: Buffer, root: Span, list: JsonPath): Slices<ReadonlySet<number>> {
  const found = resolvePath(bytes, root, list);
  const totals = new Map<string, number>();
  if (found.state !== "value" || kindOf(bytes, found.span) !== "array") return new Set();
  const add = (name: string, value: number) => void totals.set(name, (totals.get(name) ?? 0) + value);
  const waiting = (yield* elementsInSlices(bytes, found.span)).map((span) => ({ span, place: "", depth: 0 }));
  for (let places = 0; waiting.length > 0 && places < TOTALED_MAX; places++) {
    if (places % 100 === 99) yield;
    const { span, place, depth } = waiting.pop() as (typeof waiting)[number];
    const kind = kindOf(bytes, span);
    if (kind === "array") {
      const elements = yield* elementsInSlices(bytes, span);
      add(`${place}[]`, elements.length);
      if (depth < DEPTH_MAX) for (const element of elements) waiting.push({ span: element, place, depth: depth + 1 });
    } else if (kind === "object" && depth < DEPTH_MAX) {
      someMember(bytes, span, ({ key, value }) => {
        waiting.push({ span: value, place: placeIn(place, key), depth: depth + 1 });
        return false;
      });
    } else if (kind === "number" || kind === "string") {
      const value = span.end - span.start > NUMBER_MAX ? Number.NaN : Number(textOf(bytes, span).replaceAll('"', ""));
      if (Number.isFinite(value)) add(place, value);
    }
  }
  return new Set(totals.values());
}
