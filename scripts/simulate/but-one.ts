/*
 * Services that answer every question but one, and that one never: what does not depend on its answer is known as early
 * as ever. Each is drawn with its own random numbers (`found.ts`); how such a life ends, `ending.ts` decides.
 */
import { integerBetween, pickOne, type Random } from "../../src/sandbox/random.ts";
import { type Forms, isUnsafe } from "./forms.ts";
import { type Lie, SILENCE } from "./hostile/grammar.ts";
import type { Added, Step } from "./schedule.ts";
import { change, HOUR, idle, MINUTE, orders, SECOND } from "./steps.ts";

const wait = (ms: number): Step => ({ after: ms, do: "wait" });
const lie = (of: Pick<Lie, "on" | "status" | "of" | "span"> & Partial<Lie>): Step => ({
  after: 0,
  do: "lie",
  lie: { body: "text", when: "before", ageMs: 0, retryAfter: null, ...of },
});

const OLDER = { olderMs: 3 * HOUR };

/** A service whose positions are timestamps, and that answers from any of them. */
function hasRange({ next, sinceAgeMax, limited }: Forms): boolean {
  return next === "none" && sinceAgeMax === null && limited === "none";
}

/** Changes from longer ago fail: a gateway is too slow for them, or one of them breaks the list. */
export function wideFails(random: Random, forms: Forms): Added | undefined {
  if (!hasRange(forms)) return undefined;
  const status = pickOne(random, [500, 504]);
  return {
    forms,
    steps: [
      orders(3),
      ...idle(2),
      lie({ on: "updates", status, of: OLDER, span: "for ever" }),
      { after: 0, do: "night" },
      ...idle(1),
      change(random),
      change(random),
      ...idle(integerBetween(random, 1, 3)),
      wait(integerBetween(random, 1, 40) * MINUTE),
      change(random),
      ...idle(1),
    ],
  };
}

/** The same at the position itself, after the changes could not be had for hours. */
export function positionFails(random: Random, forms: Forms): Added | undefined {
  if (!hasRange(forms) || isUnsafe(forms)) return undefined;
  const status = pickOne(random, [500, 504]);
  const outage = { on: "updates", status: 503, of: "all" } as const;
  return {
    forms: { ...forms, retention: false },
    steps: [
      orders(3),
      ...idle(2),
      lie({ ...outage, span: { ms: 5 * HOUR } }),
      lie({ on: "updates", status, of: OLDER, span: "for ever" }),
      wait(HOUR),
      change(random),
      wait(4 * HOUR + MINUTE),
      change(random),
      wait(40 * MINUTE),
      change(random),
      ...idle(2),
      wait(HOUR),
    ],
  };
}

/** One order cannot be confirmed, and a confirm that names it is refused whole. */
export function confirmFails(random: Random, forms: Forms): Added | undefined {
  if (isUnsafe(forms) || forms.confirm !== "order_ids" || forms.limited !== "none") return undefined;
  const status = pickOne(random, [400, 404, 409, 422, 500]);
  return {
    forms: {
      ...forms,
      ...({ batchId: "none", leases: false, retention: false, confirmIds: null, overlap: 0, twice: "no" } as const),
      // Changes of an order that is never confirmed are listed as well.
      scope: "handed-out",
      // There is room for others beside the order, and they are served although it is not confirmed.
      ...({ batchSize: Math.max(forms.batchSize, 3), handOut: "next" } as const),
      // Sooner than the next poll, or behind what is new.
      redeliver: pickOne(random, [30_000, "cycle"] as const),
    },
    first: [
      lie({ on: "confirm", status, of: { nth: integerBetween(random, 0, 2) }, span: "for ever" }),
      orders(3),
      ...idle(3),
    ],
    steps: [orders(2), ...idle(2), wait(20 * MINUTE), orders(2), ...idle(2), wait(HOUR)],
  };
}

/** One article cannot be imported, and a request with it fails whole, or is refused whole. */
export function rowFails(random: Random, forms: Forms): Added | undefined {
  if (forms.whole || forms.shared !== "no" || forms.limited !== "none") return undefined;
  const status = pickOne(random, [500, 500, 502, 504, 401, 402, 403, 423]);
  const feed = forms.prices && random() < 0.3 ? "prices" : "stocks";
  const write = (key: number): Step => ({ after: SECOND, do: "write", feed, key, how: "upsert" });
  const all = [0, 1, 2, 3].map(write);
  return {
    forms: { ...forms, chunk: 500 },
    steps: [
      ...all,
      ...idle(2),
      lie({ on: "import", status, of: { nth: integerBetween(random, 0, 3) }, span: "for ever" }),
      ...all,
      ...idle(3),
      // A refused payment is tried again after half an hour.
      wait(status === 402 ? 35 * MINUTE : 10 * MINUTE),
      ...idle(2),
      ...all,
      ...idle(2),
    ],
  };
}

/** One endpoint answers nothing any more, and all others answer as ever. */
export function endpointFails(random: Random, forms: Forms): Added | undefined {
  if (isUnsafe(forms) || forms.limited !== "none" || forms.retention || forms.whole) return undefined;
  const on = pickOne(random, ["orders", "updates", "confirm", "status", "import"] as const);
  const status = pickOne(random, [500, 503, 504, 404, 401, 403, 402, 429, 200, SILENCE]);
  const retryAfter = status === 429 ? pickOne(random, [null, "30", "600"]) : null;
  const body = status === 200 ? "html" : "text";
  const feed = forms.prices && random() < 0.5 ? "prices" : "stocks";
  const of = on === "import" ? ({ feed } as const) : "all";
  const write = (key: number): Step[] =>
    (["stocks", "prices"] as const)
      .filter((each) => each === "stocks" || forms.prices)
      .map((each) => ({ after: SECOND, do: "write", feed: each, key, how: "upsert" }));
  const ask = (order: number): Step => ({ after: SECOND, do: "ask", order, status: "accepted" });
  return {
    // One batch under several names looks like several that are refused.
    forms: { ...forms, leases: false },
    steps: [
      orders(3),
      ...write(0),
      ask(0),
      ...idle(3),
      lie({ on, status, of, span: "for ever", body, retryAfter }),
      ...[change(random), change(random), orders(1), ...write(1), ask(1)],
      ...idle(2),
      wait(20 * MINUTE),
      ...[change(random), orders(1), ...write(2), ask(2)],
      ...idle(2),
      wait(40 * MINUTE),
    ],
  };
}
