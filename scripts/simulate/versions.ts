import { defaultOptions } from "../../src/sandbox/options.ts";
import type { SandboxService } from "../../src/sandbox/service.ts";
import { readTimestamp } from "../../src/sandbox/timestamps.ts";

/** The zone of times without one is the same everywhere. */
const OPTIONS = defaultOptions();

interface Version {
  readonly seq: number;
  readonly status: string;
  readonly timestamp: string;
  readonly lines: string;
  /** The service's true timestamp of it, whatever it shows. */
  readonly timestampMs: number;
  readonly lateMs: number;
  /** When it was made, by the service's clock. */
  readonly madeMs: number;
}

type Parts = Pick<Version, "status" | "timestamp" | "lines">;

/** Where in a record the simulated services keep what; the same in all of them. */
interface Record {
  order_id?: unknown;
  status?: unknown;
  updated_at?: unknown;
  items?: unknown;
}

/** Every version that every order ever had at the service, and which of them a record shows. */
export class Versions {
  readonly #service: SandboxService;
  readonly #orders = new Map<string, Version[]>();
  /** Orders whose record is invalid, with that record's text. */
  readonly bad = new Map<string, string>();
  /** Orders whose newest version has an absurd value somewhere. */
  readonly odd = new Set<string>();
  /** Those that ever had one: a log goes on listing it. */
  readonly everOdd = new Set<string>();
  /** Answers in which orders have lost something that they have. */
  readonly #lost: string[] = [];
  /** When the first of them came. */
  lostSinceMs = Number.POSITIVE_INFINITY;
  /** Of each order, the latest timestamp that it ever had. */
  readonly #latestTimestamps = new Map<string, string>();
  readonly #misleading = new Set<string>();
  readonly #restored = new Set<string>();
  #latestMs = 0;

  constructor(service: SandboxService) {
    this.#service = service;
  }

  get ids(): readonly string[] {
    return [...this.#orders.keys()];
  }

  /** The time that the service gives to what it writes now: its clock's, or an earlier one. */
  get timestampNow(): number {
    return this.#service.now() - this.#service.options.timesBackMinutes * 60_000;
  }

  /** After each change of an order at the service. */
  note(orderId: string, timestampMs = this.timestampNow): void {
    const text = this.#service.newestText(orderId);
    if (text === undefined) return;
    const versions = this.#orders.get(orderId) ?? [];
    this.#latestMs = Math.max(this.#latestMs, this.#service.now());
    const parts = partsOf(JSON.parse(text) as Record);
    const former = versions.at(-1);
    // What repeats the version before it, as a status that the order had already does, brings nothing: it is as late as that one.
    const isRepeated = former !== undefined && isSame(former, parts);
    const shown = isRepeated ? former : { timestampMs, lateMs: this.#latestMs - timestampMs };
    const times = { timestampMs: shown.timestampMs, lateMs: shown.lateMs, madeMs: this.#service.now() };
    const latest = this.#latestTimestamps.get(orderId);
    if (isBefore(parts.timestamp, latest)) this.#misleading.add(orderId);
    if (latest === undefined || isBefore(latest, parts.timestamp)) this.#latestTimestamps.set(orderId, parts.timestamp);
    versions.push({ seq: versions.length, ...times, ...parts });
    this.#orders.set(orderId, versions);
  }

  /** After the service was restored to a copy: an order is what it was before. */
  noteRestored(orderId: string): void {
    this.#restored.add(orderId);
    const text = this.#service.newestText(orderId);
    if (text === undefined) return;
    const { timestamp } = partsOf(JSON.parse(text) as Record);
    const former = (this.#orders.get(orderId) ?? []).find((version) => version.timestamp === timestamp);
    this.note(orderId, former?.timestampMs);
  }

  /** Whether the order went back with a restored service. */
  isRestored(orderId: string): boolean {
    return this.#restored.has(orderId);
  }

  /** How much later the newest version came than its timestamp says, the service's clock being set back included. */
  latenessMs(orderId: string): number {
    return this.newest(orderId)?.lateMs ?? 0;
  }

  /** How many versions share the newest one's timestamp, as far as `since` can tell timestamps apart. */
  tieSize(orderId: string, unitMs: number): number {
    const newest = this.newest(orderId);
    return newest === undefined ? 0 : this.#sharing(newest, unitMs);
  }

  #sharing(version: Version, unitMs: number): number {
    const all = [...this.#orders.values()].flat();
    if (unitMs === 0) return all.filter(({ timestamp }) => timestamp === version.timestamp).length;
    const unit = (ms: number) => Math.floor(ms / unitMs);
    return all.filter(({ timestampMs }) => unit(timestampMs) === unit(version.timestampMs)).length;
  }

  /** Whether more versions than that share a timestamp: what comes after them is out of reach of whoever asks by timestamps. */
  hasTieOver(size: number, unitMs: number): boolean {
    return this.ids.some((id) => (this.#orders.get(id) ?? []).some((version) => this.#sharing(version, unitMs) > size));
  }

  /** Whether the order was changed since. */
  hasOtherSince(orderId: string, sinceMs = Number.NEGATIVE_INFINITY): boolean {
    return (this.#orders.get(orderId) ?? []).some(({ madeMs, seq }) => seq > 0 && madeMs >= sinceMs);
  }

  /**
   * Whether the order was changed after `leftMs`, or since `sinceMs` with a timestamp that does not show when.
   */
  mayHideSince(orderId: string, { sinceMs, leftMs }: { sinceMs: number; leftMs: number }): boolean {
    const versions = this.#orders.get(orderId) ?? [];
    return versions.some(({ seq, madeMs, timestampMs, timestamp }) => {
      if (seq === 0 || madeMs < sinceMs) return false;
      const isShown = timestampMs === madeMs && isBefore(versions[seq - 1]?.timestamp, timestamp);
      return madeMs >= leftMs || !isShown;
    });
  }

  /** The timestamp of the order's first version. */
  bornMs(orderId: string): number {
    return this.#orders.get(orderId)?.[0]?.timestampMs ?? Number.NaN;
  }

  /** Whether the order was changed again after a change of that moment, and before another one. */
  hasMoreSince(orderId: string, sinceMs: number, untilMs = Number.POSITIVE_INFINITY): boolean {
    const versions = this.#orders.get(orderId) ?? [];
    return versions.filter(({ madeMs, seq }) => seq > 0 && madeMs >= sinceMs && madeMs < untilMs).length > 1;
  }

  /** Whether a version that was made since bears an earlier timestamp than the one before it: the order has gone back, as in a restored service. */
  hasGoneBackSince(orderId: string, sinceMs: number): boolean {
    const versions = this.#orders.get(orderId) ?? [];
    return versions.some(
      ({ madeMs, timestamp, seq }) => madeMs >= sinceMs && isBefore(timestamp, versions[seq - 1]?.timestamp),
    );
  }

  /** Whether a record bears a later timestamp than what the service has of the order. */
  isNewerThanServed(orderId: string, payload: string): boolean {
    const text = this.#service.newestText(orderId);
    if (text === undefined) return false;
    const [served, known] = [text, payload].map((each) => partsOf(JSON.parse(each) as Record).timestamp);
    return isBefore(served, known);
  }

  /** Whether the order ever had the status. */
  hadStatus(orderId: string, wanted: unknown): boolean {
    return (this.#orders.get(orderId) ?? []).some(({ status }) => status === wanted);
  }

  /** Whether the newest version has another status than the one before it. */
  isStatusNew(orderId: string): boolean {
    const [before, newest] = (this.#orders.get(orderId) ?? []).slice(-2);
    return before?.status !== newest?.status;
  }

  /** Whether a change of the newest version shows nothing that one of the version before did not show. */
  isHidden(orderId: string): boolean {
    const [before, newest] = (this.#orders.get(orderId) ?? []).slice(-2);
    return newest !== undefined && before?.status === newest.status && before.timestamp === newest.timestamp;
  }

  noteLost(body: string, nowMs: number): void {
    this.#lost.push(body);
    this.lostSinceMs = Math.min(this.lostSinceMs, nowMs);
  }

  /** Whether such a record was told with something lost. */
  isOfLost(payload: string): boolean {
    return this.#lost.some((body) => body.includes(payload));
  }

  /** Whether a record is that invalid one, as it stands or as it was told with something lost. */
  isOfBad(raw: string, payload: string): boolean {
    const [, number = raw] = /"number":("[^"]*")/.exec(raw) ?? [];
    return payload === raw || (payload.includes(number) && this.isOfLost(payload));
  }

  newest(orderId: string): Version | undefined {
    return this.#orders.get(orderId)?.at(-1);
  }

  /** The last version before the newest one that bears a later timestamp. */
  laterThanNewest(orderId: string): Version | undefined {
    const newest = this.newest(orderId);
    return (this.#orders.get(orderId) ?? []).findLast(({ timestamp }) => isBefore(newest?.timestamp, timestamp));
  }

  /**
   * When what the order is now was made, by the service's clock; undefined where it has no version. A status that the order had already
   * makes a version that repeats the one before it, and shows nothing new to anybody.
   */
  madeMs(orderId: string): number | undefined {
    const versions = this.#orders.get(orderId) ?? [];
    const newest = versions.at(-1);
    const other = versions.findLastIndex((each) => newest !== undefined && !isSame(each, newest));
    return versions[other + 1]?.madeMs;
  }

  /**
   * The versions that a record may show, oldest first; without lines or without a status it leaves them open. Versions of one
   * content and timestamp cannot be told apart.
   */
  shownBy(orderId: string, record: object): readonly Version[] {
    const parts = partsOf(record as Record);
    const hasLines = "items" in record;
    const hasStatus = "status" in record;
    return (this.#orders.get(orderId) ?? []).filter(
      ({ status, timestamp, lines }) =>
        (!hasStatus || status === parts.status) &&
        timestamp === parts.timestamp &&
        (!hasLines || lines === parts.lines),
    );
  }

  saysTheSame(orderId: string, one: number, other: number): boolean {
    const versions = this.#orders.get(orderId) ?? [];
    const [a, b] = [versions[one], versions[other]];
    return a !== undefined && b !== undefined && a.status === b.status && a.lines === b.lines;
  }

  /** Whether timestamps tell that the version `later` came after `earlier`. */
  isTellable(orderId: string, earlier: number, later: number): boolean {
    const versions = this.#orders.get(orderId) ?? [];
    return isBefore(versions[earlier]?.timestamp, versions[later]?.timestamp);
  }

  /** Whether a later version of the order bears an earlier timestamp: who goes by whole records alone is misled by that. */
  isMisleading(orderId: string): boolean {
    return this.#misleading.has(orderId);
  }
}

/** Whether timestamps, as the service writes them, tell that one came before the other. */
export function isBefore(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || one === "undefined" || other === "undefined") return false;
  const [a, b] = [inOneForm(one), inOneForm(other)];
  return /^-?[\d.]+$/.test(a) ? Number(a) < Number(b) : a < b;
}

/** A service may change how it writes its times, and be asked from one in another form: each is its microseconds. */
function inOneForm(timestamp: string): string {
  if (/^1\d{9}(?:\.\d+)?$/.test(timestamp)) return String(Math.round(Number(timestamp) * 1e6));
  if (/^1\d{12}(?:\.\d+)?$/.test(timestamp)) return String(Math.round(Number(timestamp) * 1e3));
  const us = /^\d{4}-|^\d{8}T|^\d\d\./.test(timestamp) ? readTimestamp(timestamp, "any", OPTIONS) : undefined;
  return us === undefined ? timestamp : String(us);
}

function isSame(one: Parts, other: Parts): boolean {
  return one.status === other.status && one.timestamp === other.timestamp && one.lines === other.lines;
}

function partsOf({ status, updated_at, items }: Record): Parts {
  return { status: String(status), timestamp: inOneForm(String(updated_at)), lines: JSON.stringify(items) };
}
