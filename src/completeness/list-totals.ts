/* What the records of a list have in all: a number beside the list that is one of these totals counts them, and not the records. Pure. */

import { type JsonPath, resolvePath } from "../answers/json-path.ts";
import { elementsInSlices, kindOf, type Span, someMember, textOf } from "../answers/json-text.ts";
import type { Slices } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";

const DEPTH_MAX = 8;
const TOTALED_MAX = 200_000;
/** Characters of a number and its quotes. */
const NUMBER_MAX = 13;
const PLACE_MAX = 120;

/** The name of a member. A key that is an id is another one in each answer. */
export function placeIn(place: string, key: string): string {
  const name = readOrderId(key) === undefined ? key : "*";
  return (place === "" ? name : `${place}.${name}`).slice(0, PLACE_MAX);
}

/** By the names that lead to it: elements of lists in the records, and numbers that are added up. */
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
