/*
 * Faults that are not enumerated: any status with any body, for one record, every second one or all, for one request or
 * for hours, before or after the service has acted. Plain data, drawn from the seed.
 */
import { integerBetween, pickOne, type Random } from "../../../src/sandbox/random.ts";
import { type Forms, namesBatches } from "../forms.ts";
import type { Asked, FeedName } from "../schedule.ts";

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
  "no in words",
  "another form",
  "stale",
  "nothing new",
  "contradicted",
  "changing shape",
  "changing record",
  /** A cached copy of an earlier answer: without a sign of it, with its age or date, or unless caches are bypassed. */
  ...(["cached", "cached with its age", "cached with its date", "cached unless asked"] as const),
  /** A status that is queued and carried out later. */
  "queued",
  /** All orders of the answer have lost their lines, or only the first one. */
  ...(["no lines", "no lines in one"] as const),
  /** All orders have lost one value, or have their status or lines under another name. */
  ...(["no value", "status elsewhere", "lines elsewhere"] as const),
  /** The last order of a batch is missing from its list, and a field beside the list shows it. */
  "part",
  /** A field beside an empty list that was beside no empty list before. */
  "empty otherwise",
  /** Changes have their id under another key, or have no id. */
  ...(["id elsewhere", "no id"] as const),
  /** Records identify their orders in another form, or have an earlier timestamp (`OTHERWISE`). */
  "named otherwise",
  /** Errors of what was sent, under names of the service's own. */
  "own refusal",
  ...(["next empty", "next null", "next zero", "next false", "next repeats", "next back"] as const),
] as const;

export type LieBody = (typeof BODIES)[number];

/** By another key, in braces, by the number alone, or with the timestamp of an hour before. */
export const OTHERWISE = ["key", "braces", "number", "time"] as const;

/**
 * Which records: all, every second one, one, or those of one feed. For requests about no single record: every second
 * request.
 */
export type LieScope = "all" | "half" | { readonly nth: number } | { readonly feed: FeedName } | Older;

/** Of requests for changes: those that begin longer ago. */
export interface Older {
  readonly olderMs: number;
}

export function isOlder(of: LieScope): of is Older {
  return typeof of === "object" && "olderMs" in of;
}

export function nameOfScope(of: LieScope): string {
  if (typeof of === "string") return of;
  return "nth" in of ? "one" : isOlder(of) ? "older" : "one feed";
}

export type LieSpan = { readonly requests: number } | { readonly ms: number } | "for ever";

/** Instead of a status: no answer comes. */
export const SILENCE = 0;

export interface Lie {
  readonly on: Asked;
  readonly status: number;
  readonly body: LieBody;
  /** `before`: the service does not act; `after`: it does. */
  readonly when: "before" | "after";
  readonly of: LieScope;
  readonly span: LieSpan;
  /** The age of a stale replica's state. */
  readonly ageMs: number;
  /** The `Retry-After` of a 429 or 503. */
  readonly retryAfter: string | null;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const LIKELY_STATUSES = [
  ...[400, 401, 402, 403, 404, 404, 404, 405, 409, 410, 413, 415, 422, 423, 429, 451],
  ...[301, 302, 304, 500, 502, 503, 504],
] as const;
/** Permanent answers about one order or article. */
const OF_ONE_ORDER = [302, 400, 401, 402, 403, 404, 404, 405, 409, 410, 422, 423, 451, 500, 503] as const;
const OF_ONE_ROW = [400, 409, 413, 422, 423, 451] as const;
const SUCCESSES = [200, 200, 200, 200, 200, 200, 201, 202, 203, 204, 206, 226] as const;
const OF_ONE_FEED = [401, 402, 402, 403, 404, 400, 422, 429, 503] as const;
const RETRY_AFTER = [null, null, "1", "30", "600"] as const;
const SPANS: readonly number[] = [
  ...[20_000, 3 * MINUTE_MS, 11 * MINUTE_MS, 25 * MINUTE_MS, HOUR_MS, HOUR_MS, 6 * HOUR_MS, 6 * HOUR_MS, 30 * HOUR_MS],
];

/** Bodies that only these endpoints have. */
const ONLY: Partial<Record<LieBody, readonly Asked[]>> = {
  "another record": ["snapshot"],
  "no in words": ["confirm", "status", "import"],
  "another form": ["confirm", "status", "import"],
  stale: ["orders", "updates", "snapshot"],
  "nothing new": ["orders", "updates"],
  contradicted: ["orders", "updates"],
  "changing shape": ["orders", "updates", "snapshot"],
  "changing record": ["orders", "updates", "snapshot"],
  cached: ["orders", "updates", "snapshot"],
  "cached with its age": ["orders", "updates", "snapshot"],
  "cached with its date": ["orders", "updates", "snapshot"],
  "cached unless asked": ["orders", "updates", "snapshot"],
  queued: ["status"],
  "no lines": ["orders", "updates", "snapshot"],
  "no lines in one": ["orders", "updates"],
  "no value": ["orders", "updates", "snapshot"],
  "status elsewhere": ["orders", "updates", "snapshot"],
  "lines elsewhere": ["orders", "updates", "snapshot"],
  part: ["orders"],
  "empty otherwise": ["orders", "updates"],
  "id elsewhere": ["updates"],
  "no id": ["updates"],
  "named otherwise": ["orders", "updates"],
  "own refusal": ["confirm", "status", "import"],
  "next empty": ["updates"],
  "next null": ["updates"],
  "next zero": ["updates"],
  "next false": ["updates"],
  "next repeats": ["updates"],
  "next back": ["updates"],
};

/** 2xx bodies that are no acceptance of a POST; any other is one, and then the service has acted. */
const UNTRUE: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["error beside", "error beside nothing", "html", "cut", "refusal", "false"] as const),
  ...(["success false", "success 0", "success text", "no in words", "another form"] as const),
  "own refusal",
]);

/** Earlier answers, from a replica that lags behind or a cache. */
const OF_BEFORE: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["stale", "cached", "cached with its age", "cached with its date", "cached unless asked"] as const),
]);

/** These are drawn more often, so that several simulated services have each of them. */
const OF_TIME: ReadonlySet<LieBody> = new Set<LieBody>([
  ...OF_BEFORE,
  ...(["queued", "no lines", "no lines in one", "id elsewhere", "no id"] as const),
]);

export function isOfBefore({ body }: Lie): boolean {
  return OF_BEFORE.has(body);
}

export function isCached({ body }: Lie): boolean {
  return body !== "stale" && OF_BEFORE.has(body);
}

/** The delay of a queue: some minutes, hours, or more than a day. */
export function queuedForMs({ ageMs }: Lie): number {
  return ageMs * 1.25;
}

/** Orders without a value that they have. */
const LACKING: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["no lines", "no lines in one", "no value", "status elsewhere", "lines elsewhere", "part"] as const),
]);

export function lacksValues({ body }: Lie): boolean {
  return LACKING.has(body);
}

/** Whether the order's status can still be read. */
export function hasStatus(lie: Lie): boolean {
  return lacksValues(lie) && lie.body !== "status elsewhere";
}

export function lacksIds({ body }: Lie): boolean {
  return body === "id elsewhere" || body === "no id";
}

/** These begin after what makes them recognizable, and are drawn with it. */
const APART: ReadonlySet<LieBody> = new Set<LieBody>([
  ...(["cached with its date", "no value", "status elsewhere", "lines elsewhere", "part", "empty otherwise"] as const),
  ...(["named otherwise", "own refusal"] as const),
]);

const LOOKED_FOR: ReadonlySet<number> = new Set([400, 404, 405, 409, 410, 422]);
/** Bodies that leave the outcome unknown. */
const SAYS_NOTHING: ReadonlySet<LieBody> = new Set<LieBody>(["html", "cut"]);

const SHORT_MS = 11 * MINUTE_MS;
const LONGEST_MS = 6 * HOUR_MS;

const BODYLESS = new Set([204, 205, 304]);

export function chooseLie(random: Random, on: Asked, forms: Forms): Lie {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const fitting = BODIES.filter(
    (each) => !APART.has(each) && (ONLY[each]?.includes(on) ?? true) && isPossible(each, forms),
  );
  const perRecord = on === "snapshot" || on === "status" || on === "import";
  const nth = integerBetween(random, 0, 4);
  const of = chooseScope(random, { perRecord, nth, isImport: on === "import" && forms.prices });
  const status = typeof of === "object" && random() < 0.6 ? pickOne(random, saidOf(on, of)) : chooseStatus(random);
  const isSuccess = status >= 200 && status < 300;
  const plain = ["html", "refusal", "empty", "text", "cut", "another endpoint", "right", "cp1251", "huge"] as const;
  const cursors = fitting.filter((each) => each.startsWith("next "));
  const ofTime = fitting.filter((each) => OF_TIME.has(each));
  const isOfTime = isSuccess && ofTime.length > 0 && random() < 0.25;
  const isOfCursor = isSuccess && cursors.length > 0 && random() < 0.4;
  const body = isOfCursor
    ? pickOne(random, cursors)
    : isOfTime
      ? pickOne(random, ofTime)
      : isSuccess || random() < 0.1
        ? pickOne(random, fitting)
        : one(...plain, "html", "refusal", "refusal");
  const retryAfter = pickOne(random, RETRY_AFTER);
  const span: LieSpan =
    typeof of === "object" && "nth" in of && random() < 0.35
      ? "for ever"
      : random() < 0.35
        ? { requests: one(1, 1, 2, 3, 5, 20) }
        : { ms: pickOne(random, SPANS) };
  // A table that is sent as a whole is refused as a whole.
  const isWhole = on === "import" && forms.whole;
  if (span === "for ever" && isWhole)
    return safe(
      {
        ...{ on, status: 422, body: "refusal", when: "before", of: "all", span: { ms: HOUR_MS } },
        ...{ ageMs: 0, retryAfter: null },
      },
      forms,
    );
  if (span === "for ever") {
    const body = one("refusal", "html", "empty", "text");
    return { on, status: pickOne(random, saidOf(on, of)), body, when: "before", of, span, ageMs: 0, retryAfter };
  }
  const ageMs = one(MINUTE_MS, HOUR_MS, DAY_MS);
  const lie: Lie = { on, status, body, when: one("before", "after"), of, span, ageMs, retryAfter };
  // A gateway that is too slow for a wide range, for ever, or a record that no answer can hold for a while.
  if (on === "updates" && of === "half" && nth > 2) {
    const older = { ...lie, body: "text", when: "before", of: { olderMs: 3 * HOUR_MS }, retryAfter: null } as const;
    return nth === 3
      ? { ...older, status: 500, span: { ms: 30 * HOUR_MS } }
      : { ...older, status: 504, span: "for ever" };
  }
  return safe(lie, forms);
}

function isPossible(body: LieBody, { next, bare }: Forms): boolean {
  if (body === "contradicted") return !bare;
  return !body.startsWith("next ") || next !== "none";
}

function saidOf(on: Asked, of: LieScope): readonly number[] {
  if (typeof of === "object" && "feed" in of) return OF_ONE_FEED;
  return on === "import" ? OF_ONE_ROW : OF_ONE_ORDER;
}

function chooseScope(
  random: Random,
  { perRecord, nth, isImport }: { perRecord: boolean; nth: number; isImport: boolean },
): LieScope {
  if (isImport && random() < 0.25) return { feed: pickOne(random, ["stocks", "prices"]) };
  if (random() < 0.55) return "all";
  return perRecord && random() < 0.7 ? { nth } : "half";
}

function chooseStatus(random: Random): number {
  const roll = random();
  if (roll < 0.45) return pickOne(random, SUCCESSES);
  if (roll < 0.85) return pickOne(random, LIKELY_STATUSES);
  return integerBetween(random, 200, 599);
}

/**
 * The nearest lie that a client can handle. No client can handle an acceptance without an effect, a refusal with one,
 * and, where a confirm names nothing, an empty answer instead of orders.
 */
function safe(lie: Lie, forms: Forms): Lie {
  const { on, status, body, span } = lie;
  // After a day, another form of answer has replaced the usual one.
  if (on === "import" && span !== "for ever" && "ms" in span && span.ms > LONGEST_MS)
    return safe({ ...lie, span: { ms: LONGEST_MS } }, forms);
  if (body === "queued") return { ...lie, status: 202, when: "before" };
  if (lacksValues(lie) || lacksIds(lie)) return { ...lie, status: 200, when: "after" };
  if (isCached(lie)) {
    const hidesOrders = on === "orders" && !namesBatches(forms);
    return { ...lie, status: 200, when: "before", body: hidesOrders ? "html" : body };
  }
  // A form that lasts as long as the usual one was seen becomes usual, and that is less than an hour here.
  const isOtherForm =
    status >= 200 && status < 300 && body !== "right" && (body === "another form" || !UNTRUE.has(body));
  if (on === "import" && isOtherForm && span !== "for ever" && "ms" in span && span.ms > SHORT_MS)
    return safe({ ...lie, span: { ms: SHORT_MS } }, forms);
  const isSuccess = status >= 200 && status < 300;
  // An error about a status that took effect is also a refusal with an effect.
  if (on === "status" && isSuccess && !BODYLESS.has(status) && UNTRUE.has(body) && !SAYS_NOTHING.has(body)) {
    return { ...lie, when: "before" };
  }
  // An order that was never delivered cannot be named in a confirm.
  if (on === "orders" && body === "changing record" && isSuccess) return { ...lie, when: "after" };
  const isPost = on === "confirm" || on === "status" || on === "import";
  if (isPost) {
    const isAccepting = isSuccess && (!UNTRUE.has(body) || BODYLESS.has(status));
    // Where only a part of the records is accepted, nothing but the answer's own counts shows it.
    if (isAccepting && on === "import" && forms.takenRecords !== null)
      return { ...lie, status: 200, body: "right", when: "after" };
    if (isAccepting) return { ...lie, when: "after" };
    // After a refusal in the service's own words, the order is read.
    if (on === "status" && LOOKED_FOR.has(status) && body !== "html") return lie;
    return status >= 300 && status < 500 && status !== 408 ? { ...lie, when: "before" } : lie;
  }
  if (on !== "orders") return lie;
  const hidesOrders =
    BODYLESS.has(status) || body === "nothing new" || body === "contradicted" || body === "stale" || body === "null";
  if (isSuccess && body === "right") return { ...lie, when: "after" };
  if (namesBatches(forms)) return lie;
  // An earlier batch in another encoding can be read, and is as stale as one of a replica.
  if (isSuccess && (body === "cp1251" || body === "utf-16")) return { ...lie, when: "after" };
  if (status >= 300 && status < 500 && status !== 408) return { ...lie, when: "before" };
  if (body === "stale") return { ...lie, body: "nothing new", when: "before" };
  if (isSuccess && hidesOrders) return { ...lie, when: "before" };
  const isKept = isSuccess && !["html", "empty", "huge", "cp1251", "utf-16", "cut", "text"].includes(body);
  return isKept && forms.handOut === "next" ? { ...lie, body: "html" } : lie;
}

/**
 * Whether what the lie says of a record may last: a statement about that record, while others were answered well. A web page
 * states nothing, but of a row that is refused each time and tried again by itself.
 */
export function mayLast(lie: Lie): boolean {
  const { on, of, status, body } = lie;
  // Whoever asks later sees what it was.
  if (isCached(lie) || lacksValues(lie) || lacksIds(lie) || body === "queued") return false;
  const isOfSome = of === "half" || (typeof of === "object" && "nth" in of);
  const isStatement = body !== "html" || on === "import";
  return isOfSome && isStatement && (status < 300 || (status >= 400 && status < 500));
}
