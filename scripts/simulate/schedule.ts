import type { RequestKind } from "../../src/sandbox/messages.ts";
import { integerBetween, pickOne, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { BESIDE, COUNTS, chooseForms, type Forms, isUnsafe, namesBatches } from "./forms.ts";
import { drawFound } from "./found.ts";
import { chooseLie, DAY_MS, HOUR_MS, type Lie } from "./hostile/grammar.ts";
import { EXTREMES, FIELDS } from "./hostile/values.ts";
import { withoutDenied } from "./new-articles.ts";
import type { MistypedKey, Slip } from "./slips.ts";
import type { TimesBack } from "./times-back.ts";

/** Requests of the bridge, by purpose. */
export type Asked = Exclude<RequestKind, "unknown">;

/** The fate of one request. `before`: the service does not act on it; `after`: it has acted. */
export type Fate =
  | { kind: "refused" | "no connection" | "no handshake" | "gzip" | "big headers" | "empty object" | "renamed" }
  | { kind: "drip" }
  | { kind: "reset" | "silence" | "html"; when: "before" | "after" }
  | { kind: "redirect"; status: number }
  /** The connection is lost immediately, and the request still arrives, so much later. */
  | { kind: "late"; ms: number }
  | { kind: "slow"; ms: number }
  | { kind: "cut" | "short"; share: number }
  | { kind: "status"; status: number; when: "before" | "after"; retryAfter: string | null }
  | { kind: "lie"; lie: Lie };

export type CrashPoint = "request" | "answer" | "before commit" | "in commit" | "after commit" | "idle";

export type TimestampFault = "now" | "tied" | "late" | "very late" | "future" | "missing";

export type Switch =
  | "orders refused"
  | "imports refused"
  | "unpaid"
  | "record refused"
  | "all records refused"
  | "small bodies"
  | "few requests"
  | "same page"
  | "empty feed"
  | "no date";

export type FeedName = "stocks" | "prices" | "catalog";

export type Deed =
  | { do: "orders"; count: number }
  | { do: "bad order"; what: "no id" | "no uuid" | "wrong types" | "two statuses" | "no status" }
  | {
      do: "change";
      order: number;
      what: "status" | "lines" | "timestamp" | "back" | "request";
      timestamp: TimestampFault;
    }
  | { do: "burst"; count: number }
  /** One order changes when the next request for updates is sent, and another one just after its answer. */
  | { do: "race"; order: number }
  | { do: "delete"; order: number }
  | { do: "write"; feed: FeedName; key: number; how: "upsert" | "replace" | "delete-insert" | "in flight" | "zero" }
  | { do: "set back" | "remove"; feed: FeedName; key: number }
  | { do: "odd value"; feed: FeedName; key: number; value: string }
  /** The second row of the first article is written, removed, or gets the other article. */
  | { do: "second row"; key: number; how: "write" | "zero" | "remove" | "other"; other: number }
  /**
   * The row of an article gets another key that the site takes for the same one, as it stands or by deletion and
   * insertion, or a row with that key comes beside it; `zero`, `drop`: the other rows of the article sell out, or are
   * deleted. `isEach`: of all articles at once.
   */
  | { do: "respell"; key: number; to: number; how: Respelled; isEach?: true }
  | { do: "rewrite" | "rollback"; feed: FeedName }
  | { do: "lock"; ms: number }
  | { do: "take" }
  /** Where `isOpen`, for an order of a batch that is delivered and not confirmed, if there is one. */
  | { do: "ask"; order: number; status: string; isOpen?: true }
  | { do: "net"; on: Asked; fate: Fate }
  | { do: "crash"; at: CrashPoint; skip: number; reboot: boolean }
  | { do: "stop" | "night" }
  | { do: "clock"; ms: number }
  | { do: "service clock"; ms: number }
  | { do: "switch"; what: Switch; ms: number }
  /**
   * The service no longer accepts these records, and reports it beside the others in the usual form of its answers.
   * `isFirst`: before any answer has shown that form.
   */
  | { do: "leave out"; keys: readonly number[]; ms: number; isFirst?: true }
  /** The service accepts no record of stocks, and reports it as it reports single ones. */
  | { do: "read only"; ms: number }
  /** A batch without orders, before the next new ones. */
  | { do: "empty batch" }
  /** The service's clock is so far ahead for a while, and no answer contains it. */
  | { do: "skew"; ms: number; forMs: number }
  /** Confirms are accepted, and ignored. */
  | { do: "forget confirms"; ms: number }
  /**
   * The customer cancels an order (where `isOpen`, one of a batch that is formed and not confirmed); the ERP requests
   * another status for it, so long after an answer has shown the cancellation, while the next page of changes or the
   * read of the order is slow.
   */
  | { do: "cancel"; order: number; askedAfterMs: number; slow: "updates" | "snapshot"; slowMs: number; isOpen?: true }
  /**
   * A customer cancels an order that is not polled (`isStopped`: the program does not run), and the ERP requests
   * another status for it.
   */
  | { do: "cancel unseen"; order: number; isStopped: boolean }
  /** A customer cancels an order, and so much later the service gives it another status, or a person restores it. */
  | { do: "move on"; order: number; to: "refunded" | "new"; afterMs: number }
  /**
   * A tool of the ERP recreates a table: it renames the old one, creates the new one, copies the rows and drops the old
   * one.
   */
  | { do: "anew"; table: SharedTable }
  /** New orders have one id: the nil UUID, or that of a known order. Half of them are created so much later. */
  | { do: "one id"; what: "nil" | "known"; count: number; laterMs: number }
  /**
   * The service moves to another address, where it has no data or is not ready yet, and back: a person confirms both
   * moves.
   */
  | { do: "move"; to: "nothing" | "not ready"; ms: number }
  /** Stocks are sent to another path for a while. */
  | { do: "other path"; ms: number }
  /** The same with the table of a feed, by a copy; with a key, together with its triggers, and that row has another value there. */
  | { do: "remake"; feed: FeedName; key?: number }
  /** The ERP recreates its table of stocks, with an index in the order of its own NOCASE. */
  | { do: "own order" }
  /** In a UTF-16 file: a row whose key contains half a surrogate pair. */
  | { do: "cut key"; feed: FeedName; key: number; isGone: boolean }
  /** A table of the ERP has a foreign key to `orders (number)`, which is not unique. */
  | { do: "refer" }
  /** For a while the ERP has a trigger on the bridge's orders, under a name with line breaks. */
  | { do: "odd trigger"; ms: number }
  /** A person writes an address with a password and a slip into the configuration, and reloads it. */
  | { do: "mistype"; key: MistypedKey; slip: Slip }
  /** The links to the next pages of batches lead to another path for a while. */
  | { do: "links elsewhere"; link: string; ms: number }
  /** From now on the service writes its timestamps in another form. */
  | { do: "times"; form: Forms["timestamps"]; precision: Forms["precision"] }
  /** From now on the service writes its timestamps so much too early, as after a deployment in another zone. Its \`Date\` is right. */
  | { do: "times back"; minutes: TimesBack }
  | { do: "wait" }
  | HostileDeed;

export type Respelled = (typeof RESPELLED)[number];

export type SharedTable = "erp_orders" | "status_requests";

export type PersonDeed = "resume" | "approve" | "retry" | "sync";
export type Reload = (typeof RELOADS)[number];
/** Invalid status requests of the ERP. */
export type OddStatus = (typeof ODD_STATUSES)[number];

/** Steps of the hostile world only. */
export type HostileDeed =
  | { do: "lie"; lie: Lie }
  | { do: "value"; order: number; isNew: boolean; field: string; value: string }
  | { do: "mend" }
  | { do: "page"; limit: number; ms: number }
  | { do: "flood"; count: number }
  | { do: "odd status"; order: number; what: OddStatus }
  | { do: "empty"; from: number; to: number; how: "zero" | "remove" }
  | { do: "journal"; ms: number }
  /** The journal is switched on, or moved to another folder. */
  | { do: "journal folder"; folder: string }
  | { do: "person"; what: PersonDeed; name: string }
  | { do: "reload"; what: Reload; ms: number }
  /** The service is restored to its state of so long ago. */
  | { do: "restore"; ms: number };

export type Step = Deed & { readonly after: number };

/** `usual`: faults from a list, and a person who fixes problems; `hostile`: faults from a grammar, and no person. */
export type WorldKind = "usual" | "hostile";

/** One run from its first step to its last. Plain data: the same schedule always gives the same run. */
export interface Schedule {
  readonly seed: number;
  readonly world: WorldKind;
  readonly forms: Forms;
  /** The error of the machine's clock at the first start. */
  readonly clockMs: number;
  /** Whether the database is created and opened as in the daemon, with everything that guards its files. */
  readonly isGuarded: boolean;
  readonly steps: readonly Step[];
}

export const RESPELLED = ["update", "anew", "beside", "zero", "drop"] as const;
export const RELOADS = ["wrong secret", "other template", "other key", "small chunks", "other overlap"] as const;
export const ODD_STATUSES = ["no UTF-8", "the same", "number", "blob", "empty"] as const;
export const STATUSES = ["new", "accepted", "packed", "shipped", "cancelled"] as const;
export const ODD_VALUES = ["'abc'", "9e999", "x'00ff'", "NULL", "'12,5'", "1234567890.125", "'007'"] as const;

const ASKED: readonly Asked[] = ["orders", "confirm", "updates", "snapshot", "status", "import"];
/** The requests in the first minute of every life. */
const ASKED_AT_ONCE = ["orders", "updates", "import"] as const;
const ANY_STATUS = [
  301, 302, 307, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429, 500, 501, 502, 503, 504, 507,
  520,
] as const;
const RETRY_AFTER = [null, "30", "0", "-5", "soon", "date", "epoch", "999999999999", "3"] as const;

const UNTOLD: readonly TimestampFault[] = ["future", "missing", "missing"];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function chooseFate(random: Random, on: Asked, forms: Forms): Fate {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const when = one("before", "after");
  const kind = one(
    ...([
      "refused",
      "no connection",
      "no handshake",
      "reset",
      "reset",
      "reset",
      "silence",
      "late",
      "late",
      "slow",
      "slow",
    ] as const),
    ...(["cut", "short", "drip", "status", "status", "status", "status", "status", "status", "status"] as const),
    ...(["html", "gzip", "big headers", "redirect", "empty object", "renamed"] as const),
  );
  switch (kind) {
    case "reset":
    case "silence":
    case "html":
      return { kind, when };
    case "late": {
      const ms = integerBetween(random, 100, on === "import" ? 119_000 : 14_000);
      // Where a confirm names nothing, a delivery requested long ago is confirmed by the next one: no client can prevent that.
      const isUnsafe = on === "orders" && !namesBatches(forms);
      return isUnsafe ? { kind: "reset", when } : { kind, ms };
    }
    case "slow":
      return { kind, ms: integerBetween(random, SECOND, 14_000) };
    case "cut":
    case "short":
      return { kind, share: random() };
    case "redirect":
      return { kind, status: one(301, 302, 307, 308) };
    case "status":
      return chooseStatus(random, on);
    case "empty object":
    case "renamed":
      // Such a body is kept unread and blocks confirms that name nothing until a person gives it up; only a service
      // that then serves it again loses nothing.
      if (on === "orders" && !namesBatches(forms) && forms.handOut === "next") return { kind: "html", when };
      // A false acceptance cannot be distinguished from a true one.
      return kind === "empty object" && (on === "import" || on === "status") ? { kind: "html", when } : { kind };
    default:
      return { kind };
  }
}

function chooseStatus(random: Random, on: Asked): Fate {
  let status: number = pickOne(random, random() < 0.35 ? [401, 429, 503, 500, 413, 422] : ANY_STATUS);
  // An answer that a living order does not exist is accepted: that is no fault of the network.
  if (on === "snapshot" && (status === 404 || status === 410)) status = 500;
  // A refusal is definite; only these leave the outcome unknown.
  const isOpen = status === 408 || status >= 500;
  const when = isOpen ? pickOne(random, ["before", "after"] as const) : "before";
  const retryAfter = status === 429 || status === 503 ? pickOne(random, RETRY_AFTER) : null;
  return { kind: "status", status, when, retryAfter };
}

const SWITCHES: readonly Switch[] = [
  "orders refused",
  "imports refused",
  "unpaid",
  "record refused",
  "all records refused",
  "small bodies",
  "few requests",
  "same page",
  "empty feed",
  "no date",
];

const CRASH_POINTS: readonly CrashPoint[] = ["request", "answer", "before commit", "in commit", "after commit", "idle"];

function chooseDeed(random: Random, forms: Forms): Deed {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const order = integerBetween(random, 0, 30);
  const key = integerBetween(random, 0, 3);
  const feed: FeedName = forms.prices && random() < 0.3 ? "prices" : "stocks";
  const roll = random() * 100;
  const upTo = (share: number) => roll < share;
  if (upTo(12)) return { do: "orders", count: integerBetween(random, 1, 5) };
  if (upTo(14)) return { do: "bad order", what: one("no id", "no uuid", "wrong types", "two statuses", "no status") };
  if (upTo(26)) {
    // Pages of fewer than ten changes whose timestamps are all unusable cannot be distinguished from the feed's end.
    const faults: TimestampFault[] = ["tied", "late", "very late", ...(forms.page < 10 ? [] : UNTOLD)];
    const timestamp = random() < 0.6 ? "now" : pickOne(random, faults);
    return { do: "change", order, what: one("status", "status", "lines", "timestamp", "back"), timestamp };
  }
  if (upTo(28)) return { do: "burst", count: integerBetween(random, 2, 12) };
  if (upTo(29)) return { do: "race", order };
  if (upTo(30)) return { do: "delete", order };
  if (upTo(41))
    return { do: "write", feed, key, how: one("upsert", "upsert", "replace", "delete-insert", "in flight", "zero") };
  if (upTo(45)) return { do: one("set back", "set back", "remove"), feed, key };
  if (upTo(46.5)) return { do: "odd value", feed, key, value: pickOne(random, ODD_VALUES) };
  if (upTo(48)) return { do: one("rewrite", "rollback"), feed };
  if (upTo(50)) return { do: "lock", ms: one(SECOND, 30 * SECOND, 3 * MINUTE) };
  if (upTo(52)) return { do: "take" };
  if (upTo(57)) return { do: "ask", order, status: one(...STATUSES, "nonsense") };
  if (upTo(80)) {
    const on = one(...ASKED, "orders", "confirm", "import");
    return { do: "net", on, fate: chooseFate(random, on, forms) };
  }
  if (upTo(91))
    return {
      do: "crash",
      at: pickOne(random, CRASH_POINTS),
      skip: integerBetween(random, 0, 6),
      reboot: random() < 0.2,
    };
  if (upTo(92.5)) return { do: one("stop", "night") };
  if (upTo(94.5)) return { do: "clock", ms: one(-86_400_000, -3_600_000, 3_600_000, 86_400_000, 10 * 31_536_000_000) };
  if (upTo(96)) {
    const ms = one(-3_600_000, -20_000, 20_000, 3_600_000);
    // After a leap back all that is told stands in the service's future, and a short page of that is not followed on.
    return { do: "service clock", ms: forms.page < 10 ? Math.max(ms, -20_000) : ms };
  }
  return { do: "switch", what: pickOne(random, SWITCHES), ms: one(20 * SECOND, 3 * MINUTE, 12 * MINUTE) };
}

function chooseGap(random: Random): number {
  const roll = random();
  if (roll < 0.55) return integerBetween(random, 0, 3 * SECOND);
  if (roll < 0.94) return integerBetween(random, SECOND, 40 * SECOND);
  return integerBetween(random, MINUTE, 6 * MINUTE);
}

/** @param world where set, it is not drawn from the seed */
export function makeSchedule(seed: number, world: WorldKind = worldOf(seed)): Schedule {
  return world === "hostile" ? makeHostile(seed) : makeUsual(seed);
}

/** The share of seeds with the hostile world; it costs about five times as much as the other. */
const HOSTILE_EVERY = 8;

function worldOf(seed: number): WorldKind {
  return seed % HOSTILE_EVERY === HOSTILE_EVERY - 1 ? "hostile" : "usual";
}

function makeUsual(seed: number): Schedule {
  const random = seededRandom(seed);
  // The first random numbers of neighbouring seeds are similar.
  for (let turn = 0; turn < 4; turn++) random();
  const forms = chooseForms(random);
  // Most lives are short, so that many are run; some are longer, for combinations of many events.
  const count = random() < 0.9 ? integerBetween(random, 2, 5) : integerBetween(random, 6, 14);
  const steps: Step[] = [
    { after: 0, do: "orders", count: integerBetween(random, 1, 4) },
    { after: 0, do: "write", feed: "stocks", key: integerBetween(random, 0, 3), how: "upsert" },
  ];
  // The seed selects the status and the form of `Retry-After`, so that all are used.
  if (seed % 2 === 0) steps.push({ after: 0, do: "net", on: pickOne(random, ASKED_AT_ONCE), fate: statusOf(seed / 2) });
  if (seed % 4 === 1) steps.push(...chooseBursts(random));
  for (let index = 0; index < count; index++) steps.push({ after: chooseGap(random), ...chooseDeed(random, forms) });
  const found = drawFound(seed, "usual", withEncoding(seed, forms));
  steps.unshift(...found.first);
  steps.push(...found.steps);
  return {
    seed,
    world: "usual",
    forms: withoutDenied(found.forms, steps),
    clockMs: 0,
    isGuarded: isGuarded(seed, steps),
    steps,
  };
}

/** The share of lives with guarded files: guarding costs a third of a life, and hardly affects what is drawn here. */
const GUARDED_EVERY = 16;

const CHANGES_SCHEMA: ReadonlySet<string> = new Set(["anew", "remake", "own order", "odd trigger"]);

/** A database used by several lives keeps its schema. */
export function changesSchema({ steps }: Pick<Schedule, "steps">): boolean {
  return steps.some((step) => CHANGES_SCHEMA.has(step.do));
}

function isGuarded(seed: number, steps: readonly Step[]): boolean {
  // Only the program's own connection determines whether foreign keys are enforced.
  if (steps.some((step) => step.do === "refer")) return true;
  const random = seededRandom(seed ^ 0x3f17);
  for (let turn = 0; turn < 4; turn++) random();
  return random() < 1 / GUARDED_EVERY;
}

// ------------------------------------------------------------------------------------------------------- hostile

/** Every this many seeds one has more changes within the look back than one pass may read. */
const FLOOD_EVERY = 20;
const FLOOD = 15;
/** One change a page, each with a timestamp of its own that can be asked for. */
const FLOODED = {
  ...({ perSecond: 10_000, history: "log", page: 1, boundary: "exclusive", since: "iso", next: "none" } as const),
  ...({ timestamps: "iso-z", precision: "ms", lookBackMs: 600_000 } as const),
};
const YEAR_MS = 365 * DAY_MS;
const CLOCK_JUMPS = [-HOUR_MS, HOUR_MS, -DAY_MS, DAY_MS, -YEAR_MS, YEAR_MS, 3 * YEAR_MS, -30 * YEAR_MS, 60 * YEAR_MS];
const COMMAND_NAMES = ["orders", "updates", "statuses", "imports", "stocks", "prices", "reconcile"] as const;

function makeHostile(seed: number): Schedule {
  const random = seededRandom(seed ^ 0x0b57);
  for (let turn = 0; turn < 4; turn++) random();
  let forms = chooseForms(random);
  // What is lost under these is lost whatever a client does, and orders that are kept for a while only are gone after a day.
  while (isUnsafe(forms)) forms = chooseForms(random);
  forms = { ...forms, retention: false };
  let steps: Step[] = [
    { after: 0, do: "orders", count: integerBetween(random, 1, 4) },
    { after: 0, do: "write", feed: "stocks", key: integerBetween(random, 0, 3), how: "upsert" },
  ];
  if (seed % FLOOD_EVERY === 7) {
    forms = { ...forms, ...FLOODED };
    steps.push({ after: MINUTE, do: "flood", count: FLOOD });
    steps.push({ after: HOUR_MS, do: "wait" });
  }
  forms = apart(seed, limitedSince(seed, byIds(seed, newestFirst(seed, forms))));
  const usual = afterUsual(seed, forms);
  forms = usual.forms;
  const count = random() < 0.85 ? integerBetween(random, 1, 3) : integerBetween(random, 4, 7);
  for (let index = 0; index < count; index++) steps.push(...chooseHostile(random, forms));
  const found = drawFound(seed, "hostile", forms);
  // What an answer may hide of a delivery was chosen for confirms that name it, which they may do no more.
  const isHidden = namesBatches(forms) && !namesBatches(found.forms);
  if (isHidden) steps = steps.filter((step) => step.do !== "lie" || step.lie.on !== "orders");
  forms = found.forms;
  steps.unshift(...found.first);
  // What a cache has kept without a date is what any answer looks like.
  if (forms.date || !usual.steps.some(isBehindDate)) steps.push(...usual.steps);
  steps.push(...found.steps);
  forms = withoutDenied(forms, steps);
  const clockMs = random() < 0.2 ? pickOne(random, CLOCK_JUMPS) : 0;
  return { seed, world: "hostile", forms, clockMs, isGuarded: isGuarded(seed, steps), steps };
}

/** Some services answer the newest changes and leave out the oldest. Drawn apart, so that the rest of a life stays what it was. */
function newestFirst(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x6b33);
  for (let turn = 0; turn < 4; turn++) random();
  if (forms.next !== "none" || seed % FLOOD_EVERY === 7 || random() > 0.3) return forms;
  // Two to four changes in any order often look as if the oldest came first.
  const isShuffled = forms.page >= 5 && random() < 0.4;
  const page = forms.page < 10 && random() < 0.5 ? pickOne(random, isShuffled ? [7, 9] : [4, 7, 9]) : forms.page;
  const counts = pickOne(random, COUNTS);
  const isRising = !isShuffled && page >= 10 && random() < 0.4;
  return {
    ...forms,
    keeps: "newest",
    order: isShuffled ? "shuffled" : isRising ? "ascending" : "descending",
    page,
    counts,
  };
}

/** Some order their pages by the ids of orders, and cut them there. Drawn apart as well. */
function byIds(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x51d7);
  for (let turn = 0; turn < 4; turn++) random();
  if (forms.next !== "none" || forms.keeps !== "oldest" || seed % FLOOD_EVERY === 7 || random() > 0.2) return forms;
  // What pages of fewer changes leave out, the questions that prove a page whole may miss: no service is known to cut them so short.
  return { ...forms, keeps: "first-ids", order: "ids", page: Math.max(forms.page, 10) };
}

/** Some refuse to go back further than this. Drawn apart as well. */
function limitedSince(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x3a91);
  for (let turn = 0; turn < 4; turn++) random();
  // Where the newest come first as well, what proves a gap is older than what may be asked for: only the night's comparison finds it.
  if (seed % FLOOD_EVERY === 7 || forms.keeps !== "oldest" || random() > 0.15) return forms;
  return { ...forms, sinceAgeMax: pickOne(random, [HOUR_MS, 5 * HOUR_MS]) };
}

/** What few services and files have. */
function apart(seed: number, forms: Forms): Forms {
  return smallConfirms(seed, withEncoding(seed, withLimit(seed, countedShort(seed, forms))));
}

/** Some take a confirm of few orders only, where it names orders. */
function smallConfirms(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x4130);
  for (let turn = 0; turn < 4; turn++) random();
  if (forms.confirm !== "order_ids" || random() > 0.3) return forms;
  return { ...forms, batchSize: Math.max(forms.batchSize, 5), confirmIds: pickOne(random, [1, 2]) };
}

/** Some answer only so many requests a minute at one endpoint. */
function withLimit(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x7a3d);
  for (let turn = 0; turn < 4; turn++) random();
  return seed % FLOOD_EVERY === 7 || random() > 0.1 ? forms : { ...forms, limited: pickOne(random, ASKED) };
}

/** Some files were made by an ERP that writes its texts in UTF-16. */
function withEncoding(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x16c3);
  for (let turn = 0; turn < 4; turn++) random();
  return random() > 0.08 ? forms : { ...forms, encoding: pickOne(random, ["UTF-16le", "UTF-16be"]) };
}

/** Some services take only the first records of a request. Drawn apart as well. */
function countedShort(seed: number, forms: Forms): Forms {
  const random = seededRandom(seed ^ 0x2c51);
  for (let turn = 0; turn < 4; turn++) random();
  if (forms.whole || random() > 0.15) return forms;
  return { ...forms, importAnswer: "counts", chunk: 500, maxRecords: null, takenRecords: integerBetween(random, 1, 3) };
}

export interface Apart {
  forms: Forms;
  steps: Step[];
}

/** Steps added to a life: after the other steps, and before them. */
export interface Added extends Apart {
  first?: Step[];
}

/**
 * Trouble that shows only to whoever knows what is usual: batches that lack an order, records that lack what they have or have it under
 * another name. Some lists of changes are written later than the orders. Drawn apart as well.
 */
function afterUsual(seed: number, forms: Forms): Apart {
  const random = seededRandom(seed ^ 0x5b21);
  for (let turn = 0; turn < 4; turn++) random();
  const roll = random();
  if (seed % FLOOD_EVERY === 7) return { forms, steps: [] };
  if (roll < 0.06 && !forms.bare) return lackingOrders(random, forms);
  if (roll < 0.12) return { forms, steps: lackingValues(random, forms) };
  if (roll < 0.18 && forms.keeps === "oldest" && forms.sinceAgeMax === null && forms.limited === "none")
    return lateList(random, forms);
  if (roll < 0.21 && forms.date) return { forms, steps: behindDate(random) };
  return { forms, steps: [] };
}

const PASS_MS = MINUTE + 5 * SECOND;
/** So many batches, of two sizes, say what a number beside them counts. */
export const BATCHES = [1, 2, 1, 2, 2, 3];

function lackingOrders(random: Random, forms: Forms): Apart {
  const beside = pickOne(random, BESIDE.slice(1));
  const steps: Step[] = BATCHES.flatMap((count) => [
    { after: 0, do: "orders", count },
    { after: PASS_MS, do: "wait" },
  ]);
  // A number whose name says nothing, and that counts no lines, is believed for an hour.
  const ms = pickOne(random, beside === "number" ? [3 * MINUTE, 25 * MINUTE] : [3 * MINUTE, 25 * MINUTE, 6 * HOUR_MS]);
  const of = random() < 0.8 ? "all" : "half";
  const lie = { on: "orders", status: 200, body: "part", when: "after", ageMs: 0, retryAfter: null } as const;
  // A count of lines says nothing of an order that is missing, and holds nothing up.
  if (beside !== "lines") steps.push({ after: 0, do: "lie", lie: { ...lie, of, span: { ms } } });
  steps.push({ after: 0, do: "orders", count: integerBetween(random, 2, 4) }, { after: ms, do: "wait" });
  return { forms: { ...forms, beside, batchSize: Math.max(forms.batchSize, 5) }, steps };
}

/** All answers change at once, as with a new release of the service; now and then while batches wait for the journal. */
function lackingValues(random: Random, { journal }: Forms): Step[] {
  const body = pickOne(random, ["no value", "no value", "status elsewhere", "lines elsewhere"] as const);
  const ms = pickOne(random, [11 * MINUTE, HOUR_MS, 6 * HOUR_MS, 30 * HOUR_MS]);
  const ageMs = pickOne(random, [MINUTE, HOUR_MS, DAY_MS]);
  const lie = { status: 200, body, when: "after", of: "all", span: { ms }, ageMs, retryAfter: null } as const;
  const change = (what: "status" | "lines"): Step => {
    return { after: SECOND, do: "change", order: integerBetween(random, 0, 30), what, timestamp: "now" };
  };
  const isFull = journal && random() < 0.7;
  return [
    ...[3, 3].flatMap((count, turn): Step[] => [
      ...(isFull && turn === 1 ? [{ after: 0, do: "journal", ms: 11 * MINUTE } as const] : []),
      { after: 0, do: "orders", count },
      { after: PASS_MS, do: "wait" },
    ]),
    ...(["orders", "updates", "snapshot"] as const).map((on): Step => ({ after: 0, do: "lie", lie: { on, ...lie } })),
    ...[change("status"), change("lines")],
    { after: 0, do: "orders", count: integerBetween(random, 1, 2) },
    { after: random() < 0.5 ? ms : PASS_MS, do: "wait" },
  ];
}

/** What a log of changes is told with: seconds or minutes after the order, with the order's timestamp or its own. */
function lateList(random: Random, forms: Forms): Apart {
  const lagStamp = pickOne(random, ["order", "entry"] as const);
  // Whole records bear the timestamps of their orders.
  const carry = lagStamp === "entry" ? "changes" : forms.carry;
  const change = (): Step => {
    const what = pickOne(random, ["status", "lines"] as const);
    return { after: PASS_MS, do: "change", order: integerBetween(random, 0, 30), what, timestamp: "now" };
  };
  return {
    forms: { ...forms, carry, lagStamp, lagMs: pickOne(random, [20_000, 240_000] as const) },
    steps: [
      { after: 0, do: "orders", count: 3 },
      change(),
      change(),
      change(),
      change(),
      { after: 5 * MINUTE, do: "wait" },
    ],
  };
}

/** A cache that gives the date of what it has kept, before the orders one by one, while the answer to a status is lost. */
function behindDate(random: Random): Step[] {
  const lie = { on: "snapshot", status: 200, body: "cached with its date", when: "before", of: "all" } as const;
  const ms = pickOne(random, [25 * MINUTE, HOUR_MS, 6 * HOUR_MS]);
  return [
    { after: PASS_MS, do: "wait" },
    { after: 0, do: "lie", lie: { ...lie, span: { ms }, ageMs: pickOne(random, [HOUR_MS, DAY_MS]), retryAfter: null } },
    ...lostBehindCache(integerBetween(random, 0, 30)),
    { after: ms, do: "wait" },
  ];
}

function isBehindDate(step: Step): boolean {
  return step.do === "lie" && step.lie.body === "cached with its date";
}

function chooseHostile(random: Random, forms: Forms): Step[] {
  const one = <const T>(...choices: readonly T[]): T => pickOne(random, choices);
  const after = chooseGap(random);
  const order = integerBetween(random, 0, 30);
  const roll = random() * 100;
  const upTo = (share: number) => roll < share;
  if (upTo(45)) return chooseLied(random, forms, after);
  if (upTo(55)) {
    const value = pickOne(random, Object.keys(EXTREMES));
    const steps: Step[] = [{ after, do: "value", order, isNew: random() < 0.4, field: pickOne(random, FIELDS), value }];
    if (random() < 0.4) steps.push({ after: chooseGap(random), do: "mend" });
    return steps;
  }
  if (upTo(58)) return [{ after, do: "page", limit: one(1, 1, 2, 3), ms: one(MINUTE, 11 * MINUTE, HOUR_MS) }];
  if (upTo(61)) return [{ after, do: "clock", ms: pickOne(random, CLOCK_JUMPS) }];
  if (upTo(65)) {
    const ms = one(MINUTE, 7 * MINUTE, HOUR_MS);
    return [{ after, do: "reload", what: pickOne(random, RELOADS), ms }];
  }
  if (upTo(69)) {
    return [
      { after, do: "person", what: one("resume", "approve", "retry", "sync"), name: pickOne(random, COMMAND_NAMES) },
    ];
  }
  if (upTo(71)) return [{ after, do: "odd status", order, what: pickOne(random, ODD_STATUSES) }];
  if (upTo(73) && forms.guard) return emptied(random, after);
  if (upTo(79)) return restored(random, forms);
  if (upTo(81) && forms.journal) return [{ after, do: "journal", ms: one(MINUTE, 11 * MINUTE) }];
  return [{ after, ...chooseDeed(random, forms) }];
}

/** What was changed, sent and pushed is known here when the service goes back to before it. */
function restored(random: Random, forms: Forms): Step[] {
  const pauseMs = pickOne(random, [6 * MINUTE, 6 * MINUTE, 2 * HOUR_MS]);
  const change = (order: number): Step => {
    const what = pickOne(random, ["status", "lines"] as const);
    return { after: 0, do: "change", order, what, timestamp: "now" };
  };
  if (random() < 0.25) return restoredBetween();
  const orders = random() < 0.3 ? 1 : 3;
  return [
    { after: 0, do: "orders", count: 3 },
    { after: 4 * MINUTE, do: "wait" },
    { after: MINUTE, do: "wait" },
    ...Array.from({ length: orders }, (_, index) => change(index)),
    ...[0, 1].map((key) => ({ after: 0, do: "write", feed: "stocks", key, how: "upsert" }) as const),
    ...(forms.prices ? [{ after: 0, do: "write", feed: "prices", key: 1, how: "upsert" } as const] : []),
    { after: 0, do: "ask", order: integerBetween(random, 0, 2), status: pickOne(random, ["accepted", "cancelled"]) },
    ...(random() < 0.4 ? [{ after: 0, do: "orders", count: 1 } as const] : []),
    { after: pauseMs, do: "restore", ms: pauseMs + MINUTE / 2 },
    { after: 0, do: "orders", count: random() < 0.5 ? 1 : 2 },
  ];
}

/** While a confirm waits the service goes back to before its batch, and the answer with the next one is lost. */
function restoredBetween(): Step[] {
  const lose = (on: "confirm" | "orders", when: "before" | "after"): Step => ({
    after: 0,
    do: "net",
    on,
    fate: { kind: "reset", when },
  });
  return [
    { after: 2 * MINUTE, do: "orders", count: 1 },
    lose("confirm", "before"),
    { after: MINUTE, do: "restore", ms: MINUTE + 30 * SECOND },
    { after: 0, do: "orders", count: 2 },
    lose("orders", "after"),
    { after: 2 * MINUTE, do: "wait" },
  ];
}

/** Many rows go at once, more of them while a person looks, who then lets go what was shown. */
function emptied(random: Random, after: number): Step[] {
  const first = integerBetween(random, 1, 3);
  const how = () => pickOne(random, ["zero", "remove"] as const);
  const filled = [0, 1, 2, 3].map((key) => ({ after: 0, do: "write", feed: "stocks", key, how: "upsert" }) as const);
  return [
    ...filled,
    { after: after + 2 * MINUTE, do: "empty", from: 0, to: first, how: how() },
    { after: integerBetween(random, 0, 4 * MINUTE), do: "empty", from: first, to: 4, how: how() },
    { after: integerBetween(random, 0, 10 * SECOND), do: "person", what: "sync", name: "stocks" },
    { after: integerBetween(random, 0, MINUTE), do: "person", what: "approve", name: "stocks" },
    { after: 3 * MINUTE, do: "wait" },
  ];
}

/** A lie with what makes the bridge ask there, and with its time. */
function chooseLied(random: Random, forms: Forms, after: number): Step[] {
  const on = pickOne(random, [...ASKED, "snapshot", "status", "import"] as const);
  const lie = chooseLie(random, on, forms);
  const steps: Step[] = [];
  // A lie that begins when the record is known says more than one that is there from the start.
  if (random() < 0.7) steps.push({ after: integerBetween(random, 0, 2 * MINUTE), do: "wait" });
  // That a status stands in a queue is told by another answer than the usual one, which must be known.
  if (lie.body === "queued" && lie.of === "all") steps.push(...USUAL_STATUSES);
  steps.push({ after, do: "lie", lie });
  if (on === "snapshot" && lie.body === "cached with its age" && lie.of === "all" && lie.ageMs > MINUTE)
    return [...steps, ...lostBehindCache(integerBetween(random, 0, 30))];
  // Where all records of a kind are refused, some more of them tell the service from its records.
  const more = lie.of === "all" && (on === "status" || on === "import") ? 2 : 0;
  const count = integerBetween(random, 1, 3) + more;
  for (let index = 0; index < count; index++) steps.push(stir(random, on, forms));
  if (lie.span !== "for ever" && "ms" in lie.span && random() < 0.7) steps.push({ after: lie.span.ms, do: "wait" });
  return steps;
}

const USUAL_STATUSES: readonly Step[] = [
  { after: 0, do: "orders", count: 3 },
  { after: 2 * MINUTE, do: "wait" },
  ...[0, 1, 2].map((order) => ({ after: 0, do: "ask", order, status: "accepted" }) as const),
  { after: 2 * MINUTE, do: "wait" },
];

/** The cache has what an order was; then the answer to a status of the order is lost, and the cache is asked what became of it. */
function lostBehindCache(order: number): Step[] {
  return [
    { after: 0, do: "ask", order, status: "accepted" },
    { after: 2 * MINUTE, do: "net", on: "status", fate: { kind: "reset", when: "after" } },
    { after: 0, do: "ask", order, status: "packed" },
    { after: 4 * MINUTE, do: "wait" },
  ];
}

function stir(random: Random, on: Asked, forms: Forms): Step {
  const after = integerBetween(random, 0, 20 * SECOND);
  const order = integerBetween(random, 0, 30);
  switch (on) {
    case "orders":
    case "confirm":
      return { after, do: "orders", count: integerBetween(random, 1, 4) };
    case "updates":
      if (random() < 0.5) return { after, do: "burst", count: integerBetween(random, 2, 6) };
      return { after, do: "change", order, what: "status", timestamp: "now" };
    case "snapshot":
      if (random() < 0.35) return { after, do: "night" };
      return { after, do: "change", order, what: pickOne(random, ["lines", "back"] as const), timestamp: "tied" };
    case "status":
      return { after, do: "ask", order, status: pickOne(random, ["accepted", "packed", "cancelled"] as const) };
    case "import": {
      if (random() < 0.2) return { after, do: "rewrite", feed: "stocks" };
      const feed = forms.prices && random() < 0.4 ? "prices" : "stocks";
      return { after, do: "write", feed, key: integerBetween(random, 0, 3), how: "upsert" };
    }
  }
}

/** Changes of one timestamp beside others: what the ends of pages are about, and what short lives would hardly meet. */
function chooseBursts(random: Random): Step[] {
  return [
    { after: integerBetween(random, 0, 50 * SECOND), do: "burst", count: integerBetween(random, 1, 3) },
    { after: integerBetween(random, 1, 5 * SECOND), do: "burst", count: integerBetween(random, 2, 6) },
  ];
}

function statusOf(turn: number): Fate {
  const status = turn % 3 === 0 ? pickByTurn([429, 503], turn / 3) : pickByTurn(ANY_STATUS, (turn * 2) / 3);
  const retryAfter = status === 429 || status === 503 ? pickByTurn(RETRY_AFTER, Math.floor(turn / 6)) : null;
  return { kind: "status", status, when: "before", retryAfter };
}

function pickByTurn<T>(choices: readonly T[], turn: number): T {
  return choices[Math.floor(turn) % choices.length] as T;
}
