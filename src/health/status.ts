import { type DiskSpace, judgeSpace } from "../backup/space-rule.ts";
import type { DoubtKind } from "../database/progress.ts";
import type { Language } from "../messages/language.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";
import type { Trouble } from "../platform/troubles.ts";
import { errorWords, holdWords, type StatusWords, statusWords } from "./status-words.ts";

/** One row of `sync_status`. */
export interface FlowStatus {
  flow: string;
  enabled: boolean;
  lastSuccessAt: string | null;
  ageS: number | null;
  waiting: number;
  waitingSince: string | null;
  held: string | null;
  quarantined: number;
  /** Rows of a feed that the service refused while nothing proved that it was about them: they are tried again. */
  refused: number;
  isStale: boolean;
  /** After so long a silence `isStale`. */
  staleAfterS: number;
  /** Feeds: what the site shows is the ERP's table of the last pass, or of the oldest change that waits or is refused. */
  asOf: string | null;
  lastRunAt: string | null;
  failingSince: string | null;
  errorCode: string | null;
  error: string | null;
  sentence: string;
}

export interface StatusFacts {
  flows: FlowStatus[];
  holds: { area: string; reason: string; since: string; detail: string | null }[];
  lastOrderAt: string | null;
  orders: number;
  unread: number;
  /** When the oldest of them came that could not be read. */
  unreadSince?: string | null;
  refusedBatches: number;
  /** Batches that no confirm can name, and how often the service has served the last one at least. */
  unnamedBatches?: { count: number; times: number };
  /** Stored batches whose confirm fails, and since when the oldest of them waits. */
  failedConfirms?: { count: number; since: string | null };
  refusedRequests: number;
  /** Feeds whose last acceptance was told by the status code alone. */
  acceptedByStatusOnly: string[];
  walBytes: number;
  /** What the database's file system has left; absent where it cannot be told. */
  disk?: DiskSpace | undefined;
  /** When the ERP was last seen to write a feed's table, and how long its silence may last. */
  erpWrites?: { feed: string; since: string; withinS: number }[];
  /** Receivers of alerts and the heartbeat's address that cannot be reached; `error` is a code. */
  undelivered?: { channel: string; since: string; error: string }[];
  /** The address that the status page cannot have, because another program listens there. */
  pageSilent?: { address: string; since: string; error: string } | undefined;
  /** What speaks against the database until the daemon has started anew. */
  doubt?: { kind: DoubtKind; since: string } | undefined;
  /** Since when a file DATABASE-journal keeps other programs out. */
  journalSince?: string | undefined;
  /** What the daemon itself has met; known to it alone. */
  met?: Trouble | undefined;
  /** Since when the daemon, if it runs, has left a request of `sync` untaken. */
  unanswered?: string | undefined;
  /** What the daemon noticed about its machine: a clock that is `offsetS` ahead of the service's, a Client Secret that was replaced, objects of the ERP's on the bridge's tables. */
  notices?: { name: "clock" | "credential" | "objects"; since: string; offsetS?: number; names?: string }[];
}

export interface StatusLimits {
  /** How long an order may wait for the ERP. */
  erpReadWithinMs: number;
}

export interface StatusReport {
  /** Is all well? One plain sentence. */
  sentence: string;
  /** Everything that a person should look at, most urgent first; empty where all is well. */
  attention: string[];
  exitCode: ExitCode;
}

/** A log this large means that some program keeps reading and SQLite cannot tidy up behind it. */
const WAL_ALARM_BYTES = 256 * 1024 * 1024;

/** A daemon looks for requests several times a second. */
const UNANSWERED_MS = 5_000;
/** A confirm that fails for so long is told apart from passing trouble, which the flow itself tells. */
const CONFIRM_LATE_MS = 15 * 60_000;

const DOUBT_WORDS = { older: "databaseOlder", log: "logCut", damage: "databaseDamaged" } as const;

interface Now {
  nowMs: number;
  isRunning: boolean;
}

/** What is kept in English, in the words of a person's language. */
export function withWords(facts: StatusFacts, say: (text: string) => string): StatusFacts {
  const { met } = facts;
  const flows = facts.flows.map((flow) => ({ ...flow, error: flow.error === null ? null : say(flow.error) }));
  return { ...facts, flows, met: met === undefined ? undefined : { ...met, sentence: say(met.sentence) } };
}

/** Says how things stand, from what the database holds. */
export function describeStatus(
  facts: StatusFacts,
  now: Now,
  limits: StatusLimits,
  language: Language = "en",
): StatusReport {
  const words = statusWords(language);
  const attention = listAttention(facts, now, limits, words);
  const [worst] = attention;
  return {
    sentence: `${worst ?? words.upToDate} ${describeFreshness(facts, now.nowMs, language)}`,
    attention,
    exitCode: worst === undefined ? EXIT.ok : exitCodeOfFacts(facts),
  };
}

/**
 * The same for a place that shows it until it is replaced: times of day in the place of ages, and when it was written, so
 * that the text of a program that no longer runs on does not look current.
 */
export function describeStanding(
  facts: StatusFacts,
  now: Now,
  limits: StatusLimits,
  language: Language = "en",
): string {
  const words = statusWords(language);
  const [worst] = listAttention(facts, now, limits, words);
  const orders = facts.flows.find(({ flow }) => flow === "orders");
  const parts = [
    words.askedAt(timeOf(orders?.lastSuccessAt ?? null, now.nowMs)),
    words.lastOrder(timeOf(facts.lastOrderAt, now.nowMs)),
  ];
  return words.seenAt(
    clockTime(new Date(now.nowMs).toISOString(), now.nowMs),
    `${worst ?? words.upToDate} ${capitalized(parts.join("; "))}.`,
  );
}

/** How fresh everything is, as one sentence: the second half of the status, whatever the first one says. */
export function describeFreshness(facts: StatusFacts, nowMs: number, language: Language = "en"): string {
  const words = statusWords(language);
  const flow = (name: string) => facts.flows.find((row) => row.flow === name);
  const erp = flow("erp");
  const stocks = flow("stocks");
  const parts = [
    words.asked(flow("orders")?.ageS ?? null),
    words.lastOrder(timeOf(facts.lastOrderAt, nowMs)),
    erp === undefined || facts.orders === 0
      ? undefined
      : words.waitingForErp(erp.waiting, ageOf(erp.waitingSince, nowMs)),
    stocks?.enabled ? words.stockAsOf(timeOf(stocks.asOf, nowMs)) : undefined,
  ].filter((part) => part !== undefined);
  return `${capitalized(parts.join("; "))}.`;
}

function listAttention(facts: StatusFacts, now: Now, limits: StatusLimits, words: StatusWords): string[] {
  const { nowMs } = now;
  const list: string[] = now.isRunning ? [] : [words.notRunning];
  if (now.isRunning && facts.unanswered !== undefined && nowMs - Date.parse(facts.unanswered) > UNANSWERED_MS)
    list.push(words.notAnswering(clockTime(facts.unanswered, nowMs)));
  // What the daemon has met of it says the same.
  if (facts.journalSince !== undefined && facts.met === undefined) list.unshift(words.foreignJournal);
  if (facts.doubt !== undefined) list.unshift(words[DOUBT_WORDS[facts.doubt.kind]]);
  for (const { area, reason, since } of facts.holds) {
    if (reason === "mapping") list.push(words.remapOwed);
    else list.push(words.held(area, clockTime(since, nowMs), holdWords(reason, words)));
  }
  list.push(...facts.flows.flatMap((flow) => troubleOf(flow, now, words) ?? []));
  if (facts.unread > 0) list.push(words.unreadBatches(facts.unread));
  if (facts.refusedBatches > 0) list.push(words.refusedConfirms(facts.refusedBatches));
  const { unnamedBatches, failedConfirms } = facts;
  if (unnamedBatches !== undefined && unnamedBatches.count > 0)
    list.push(words.unnamedBatches(unnamedBatches.count, unnamedBatches.times));
  const waitsSince = failedConfirms?.since ?? null;
  if (failedConfirms !== undefined && waitsSince !== null && nowMs - Date.parse(waitsSince) > CONFIRM_LATE_MS)
    list.push(words.failedConfirms(failedConfirms.count, clockTime(waitsSince, nowMs)));
  if (facts.refusedRequests > 0) list.push(words.refusedRequests(facts.refusedRequests));
  for (const { flow, refused } of facts.flows) if (refused > 0) list.push(words.refusedRows(refused, flow));
  for (const { flow, quarantined } of facts.flows) {
    if (quarantined === 0) continue;
    list.push(flow === "erp" ? words.blockedOrders(quarantined) : words.quarantined(quarantined, flow));
  }
  for (const { name, since, offsetS, names } of facts.notices ?? []) {
    if (name === "credential") list.unshift(words.credentialReplaced(clockTime(since, nowMs)));
    else if (name === "objects") list.push(words.erpObjects(names ?? ""));
    else list.push(words.clockOff(offsetS ?? 0));
  }
  if (facts.disk !== undefined && judgeSpace(facts.disk, false) !== "room") {
    list.push(words.littleSpace(facts.disk.free));
  }
  for (const { channel, since, error } of facts.undelivered ?? []) {
    list.push(words.unreachable(channel, clockTime(since, nowMs), error));
  }
  if (facts.pageSilent !== undefined && now.isRunning) {
    const { address, error } = facts.pageSilent;
    list.push(words.pageSilent(address, clockTime(facts.pageSilent.since, nowMs), error));
  }
  const since = facts.flows.find(({ flow }) => flow === "erp")?.waitingSince ?? null;
  if (since !== null && nowMs - Date.parse(since) > limits.erpReadWithinMs) {
    list.push(words.untaken(ageOf(since, nowMs)));
  }
  list.push(...listSilent(facts, nowMs).map((silent) => words.unwritten(silent.feed, ageOf(silent.since, nowMs))));
  if (facts.walBytes > WAL_ALARM_BYTES) list.push(words.logGrown(facts.walBytes));
  return facts.met === undefined ? list : [facts.met.sentence, ...list];
}

/** Feeds whose table the ERP has not written for longer than it may. */
export function listSilent({ erpWrites = [] }: StatusFacts, nowMs: number): { feed: string; since: string }[] {
  return erpWrites.filter(({ since, withinS }) => nowMs - Date.parse(since) > withinS * 1000);
}

/** A hold that covers the flow has said it already. */
function troubleOf(flow: FlowStatus, now: Now, words: StatusWords): string | undefined {
  if (!flow.enabled || flow.flow === "erp" || flow.held !== null) return undefined;
  if (flow.failingSince !== null) {
    const why = (flow.error ?? errorWords(flow.errorCode ?? "", words)).replace(/\.$/, "");
    return words.failing(flow.flow, clockTime(flow.failingSince, now.nowMs), why);
  }
  return flow.isStale && now.isRunning ? words.stale(flow.flow, flow.ageS) : undefined;
}

/** The exit code of a command that meets a hold. */
export function exitCodeOfHold(reason: string): ExitCode {
  return reason === "credentials" || reason === "payment" ? EXIT.credentials : EXIT.attention;
}

/** The first that applies: credentials and payment, then the service out of reach, then anything else. */
function exitCodeOfFacts(facts: StatusFacts): ExitCode {
  if (facts.holds.some(({ reason }) => exitCodeOfHold(reason) === EXIT.credentials)) return EXIT.credentials;
  const codes = facts.flows.filter(({ enabled }) => enabled).map(({ errorCode }) => errorCode ?? "");
  if (codes.some((code) => ["unreachable", "unavailable", "timed_out"].includes(code))) return EXIT.unreachable;
  return EXIT.attention;
}

/** Seconds since then. */
function ageOf(since: string | null, nowMs: number): number | null {
  return since === null ? null : Math.max(0, Math.round((nowMs - Date.parse(since)) / 1000));
}

function timeOf(at: string | null, nowMs: number): string | null {
  return at === null ? null : clockTime(at, nowMs);
}

/** `18:20` of the machine's own zone for today, with the date before that. */
export function clockTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
