/*
 * Faults that nobody has listed: any status with any body, for one record, every second one or all, for one request or
 * for hours, before or after the service has acted. Plain data, drawn from the seed.
 */
import { integerBetween, pickOne, type Random } from "../../../src/sandbox/random.ts";
import { type Forms, namesBatches } from "../forms.ts";
import type { Asked } from "../schedule.ts";

export const BODIES = [
  "right",
  "error beside",
  "error beside nothing",
  "another endpoint",
  "another record",
  "html",
  "refusal",
  "empty",
  "cut",
  "cp1251",
  "utf-16",
  "huge",
  "false",
  "0",
  "null",
  "text",
  "success false",
  "success 0",
  "success text",
  "stale",
  "nothing new",
  ...(["next empty", "next null", "next zero", "next false", "next repeats", "next back"] as const),
] as const;

export type LieBody = (typeof BODIES)[number];

/** Which records: all, every second one, or one; what asks for no record in particular is met as every second request. */
export type LieScope = "all" | "half" | { readonly nth: number };

export type LieSpan = { readonly requests: number } | { readonly ms: number } | "for ever";

export interface Lie {
  readonly on: Asked;
  readonly status: number;
  readonly body: LieBody;
  /** `before`: the service does not act; `after`: it does. */
  readonly when: "before" | "after";
  readonly of: LieScope;
  readonly span: LieSpan;
  /** How old what a stale replica shows is. */
  readonly ageMs: number;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const LIKELY_STATUSES = [
  ...[400, 401, 402, 403, 404, 404, 404, 405, 409, 410, 413, 415, 422, 423, 429, 451],
  ...[301, 302, 304, 500, 502, 503, 504],
] as const;
/** What a service may say of one of its orders or articles for ever. */
const OF_ONE_ORDER = [302, 400, 401, 402, 403, 404, 404, 405, 409, 410, 422, 423, 451, 500] as const;
const OF_ONE_ROW = [400, 409, 413, 422, 423, 451] as const;
const SUCCESSES = [200, 200, 200, 200, 200, 200, 201, 202, 203, 204, 206, 226] as const;
const SPANS: readonly number[] = [20_000, 3 * MINUTE_MS, 11 * MINUTE_MS, 25 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS];

/** Bodies that no endpoint but these has. */
const ONLY: Partial<Record<LieBody, readonly Asked[]>> = {
  "another record": ["snapshot"],
  stale: ["orders", "updates", "snapshot"],
  "nothing new": ["orders", "updates"],
  "next empty": ["updates"],
  "next null": ["updates"],
  "next zero": ["updates"],
  "next false": ["updates"],
  "next repeats": ["updates"],
  "next back": ["updates"],
};

/** 2xx bodies that a POST may not be believed for; any other is a success, and then the service has acted. */
const UNTRUE: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["error beside", "error beside nothing", "html", "refusal", "false"] as const),
  ...(["success false", "success 0", "success text"] as const),
]);

const BODYLESS = new Set([204, 205, 304]);

export function chooseLie(random: Random, on: Asked, forms: Forms): Lie {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const fitting = BODIES.filter((each) => (ONLY[each]?.includes(on) ?? true) && isPossible(each, forms));
  const status = chooseStatus(random);
  const isSuccess = status >= 200 && status < 300;
  const plain = ["html", "refusal", "empty", "text", "cut", "another endpoint", "right", "cp1251", "huge"] as const;
  const body = isSuccess || random() < 0.1 ? pickOne(random, fitting) : one(...plain, "html", "refusal", "refusal");
  const perRecord = on === "snapshot" || on === "status" || on === "import";
  const nth = integerBetween(random, 0, 7);
  const of: LieScope = random() < 0.55 ? "all" : perRecord && random() < 0.7 ? { nth } : "half";
  const span: LieSpan =
    typeof of === "object" && random() < 0.25
      ? "for ever"
      : random() < 0.35
        ? { requests: one(1, 1, 2, 3, 5, 20) }
        : { ms: pickOne(random, SPANS) };
  // A table that is sent as a whole is refused as a whole.
  const isWhole = on === "import" && forms.whole;
  if (span === "for ever" && isWhole)
    return safe(
      { on, status: 422, body: "refusal", when: "before", of: "all", span: { ms: HOUR_MS }, ageMs: 0 },
      forms,
    );
  if (span === "for ever") {
    const said = pickOne(random, on === "import" ? OF_ONE_ROW : OF_ONE_ORDER);
    return { on, status: said, body: one("refusal", "html", "empty", "text"), when: "before", of, span, ageMs: 0 };
  }
  const lie: Lie = { on, status, body, when: one("before", "after"), of, span, ageMs: one(MINUTE_MS, HOUR_MS, DAY_MS) };
  return safe(lie, forms);
}

function isPossible(body: LieBody, { next }: Forms): boolean {
  return !body.startsWith("next ") || next !== "none";
}

function chooseStatus(random: Random): number {
  const roll = random();
  if (roll < 0.45) return pickOne(random, SUCCESSES);
  if (roll < 0.85) return pickOne(random, LIKELY_STATUSES);
  return integerBetween(random, 200, 599);
}

/**
 * The nearest lie that a client can survive. What no client can: a success that did not happen, a refusal of what did,
 * and, where a confirm names nothing, an answer without orders that had some.
 */
function safe(lie: Lie, forms: Forms): Lie {
  const { on, status, body } = lie;
  const isSuccess = status >= 200 && status < 300;
  // An error that is told of a status which took effect is a refusal of what did, too.
  if (on === "status" && isSuccess && !BODYLESS.has(status) && UNTRUE.has(body) && body !== "html") {
    return { ...lie, when: "before" };
  }
  const isPost = on === "confirm" || on === "status" || on === "import";
  if (isPost) {
    if (isSuccess && (!UNTRUE.has(body) || BODYLESS.has(status))) return { ...lie, when: "after" };
    return status >= 300 && status < 500 && status !== 408 ? { ...lie, when: "before" } : lie;
  }
  if (on !== "orders") return lie;
  const hidesOrders = BODYLESS.has(status) || body === "nothing new" || body === "stale" || body === "null";
  if (isSuccess && body === "right") return { ...lie, when: "after" };
  if (namesBatches(forms)) return lie;
  if (status >= 300 && status < 500 && status !== 408) return { ...lie, when: "before" };
  if (body === "stale") return { ...lie, body: "nothing new", when: "before" };
  if (isSuccess && hidesOrders) return { ...lie, when: "before" };
  const isKept = isSuccess && !["html", "empty", "huge", "cp1251", "utf-16", "cut", "text"].includes(body);
  return isKept && forms.handOut === "next" ? { ...lie, body: "html" } : lie;
}

/** Whether what the lie says of a record may last: a statement about that record, while others were answered well. */
export function mayLast({ of, status }: Lie): boolean {
  return of !== "all" && (status < 300 || (status >= 400 && status < 500));
}
