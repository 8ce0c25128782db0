import { type DiskSpace, describeBytes, judgeSpace } from "./disk-space.ts";
import { EXIT, type ExitCode } from "./errors.ts";

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
  isStale: boolean;
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
  refusedBatches: number;
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

/** What a hold means, in words for the sentence; its `detail` says more. */
const HOLD_WORDS: Record<string, string> = {
  credentials: "the service refuses the credentials",
  payment: "the import subscription is not paid",
  "rate limit": "the service asks to wait",
  refused: "the service refuses the request",
  shape: "the service refuses every record",
  "hand-out lost": "an answer with orders was lost, and confirms wait",
  guard: "rows going to zero wait for approval",
  table: "the table is missing or empty",
  disk: "too little space is left to ask for orders",
  restored: "orders of a time before the restore may be missing; all goes on",
};

/** A log this large means that some program keeps reading and SQLite cannot tidy up behind it. */
const WAL_ALARM_BYTES = 256 * 1024 * 1024;

/** Says how things stand, from what the database holds. */
export function describeStatus(
  facts: StatusFacts,
  now: { nowMs: number; isRunning: boolean },
  limits: StatusLimits,
): StatusReport {
  const attention = listAttention(facts, now, limits);
  const flow = (name: string) => facts.flows.find((row) => row.flow === name);
  const parts = [
    askedPart(flow("orders")),
    facts.lastOrderAt === null ? "no order yet" : `last order ${clockTime(facts.lastOrderAt, now.nowMs)}`,
    erpPart(flow("erp"), now.nowMs),
    stockPart(flow("stocks"), now.nowMs),
  ].filter((part) => part !== undefined);
  const [worst] = attention;
  const lead = worst === undefined ? "Up to date." : worst;
  return {
    sentence: `${lead} ${capitalized(parts.join("; "))}.`,
    attention,
    exitCode: worst === undefined ? EXIT.ok : exitCodeOfFacts(facts),
  };
}

function listAttention(facts: StatusFacts, now: { nowMs: number; isRunning: boolean }, limits: StatusLimits): string[] {
  const list: string[] = now.isRunning ? [] : ["The daemon is not running."];
  for (const { area, reason, since } of facts.holds) {
    if (reason === "mapping") list.push("Stored orders hold columns of a former mapping: run erp-bridge remap.");
    else list.push(`${capitalized(area)} held since ${clockTime(since, now.nowMs)}: ${HOLD_WORDS[reason] ?? reason}.`);
  }
  for (const flow of facts.flows) {
    const trouble = troubleOf(flow, now);
    if (trouble !== undefined) list.push(`${capitalized(flow.flow)} ${trouble}.`);
  }
  if (facts.unread > 0) {
    list.push(`${count(facts.unread, "batch", "batches")} kept unread: the configuration does not fit the answers.`);
  }
  if (facts.refusedBatches > 0) list.push(`${count(facts.refusedBatches, "confirm")} refused by the service.`);
  if (facts.refusedRequests > 0) list.push(`${count(facts.refusedRequests, "status request")} refused by the service.`);
  for (const { flow, quarantined } of facts.flows) {
    if (quarantined === 0) continue;
    if (flow === "erp") list.push(`${count(quarantined, "order")} blocked by the ERP.`);
    else list.push(`${count(quarantined, "record")} of ${flow} in quarantine.`);
  }
  if (facts.disk !== undefined && judgeSpace(facts.disk, false) !== "room") {
    list.push(`Only ${describeBytes(facts.disk.free)} are free on the disk of the database.`);
  }
  for (const { channel, since, error } of facts.undelivered ?? []) {
    list.push(`${capitalized(channel)} cannot be reached since ${clockTime(since, now.nowMs)} (${error}).`);
  }
  const since = facts.flows.find(({ flow }) => flow === "erp")?.waitingSince ?? null;
  if (since !== null && now.nowMs - Date.parse(since) > limits.erpReadWithinMs) {
    list.push(`The ERP has left orders untaken for ${age(since, now.nowMs)}.`);
  }
  for (const silent of listSilent(facts, now.nowMs)) {
    list.push(`The ERP has not written its table of ${silent.feed} for ${age(silent.since, now.nowMs)}.`);
  }
  if (facts.walBytes > WAL_ALARM_BYTES) {
    const mb = Math.round(facts.walBytes / 1024 / 1024);
    list.push(`The write-ahead log has grown to ${mb} MB: some program keeps the database open for reading.`);
  }
  return list;
}

/** Feeds whose table the ERP has not written for longer than it may. */
export function listSilent({ erpWrites = [] }: StatusFacts, nowMs: number): { feed: string; since: string }[] {
  return erpWrites.filter(({ since, withinS }) => nowMs - Date.parse(since) > withinS * 1000);
}

/** A hold that covers the flow has said it already. */
function troubleOf(flow: FlowStatus, now: { nowMs: number; isRunning: boolean }): string | undefined {
  if (!flow.enabled || flow.flow === "erp" || flow.held !== null) return undefined;
  if (flow.failingSince !== null) {
    const why = (flow.error ?? flow.errorCode ?? "").replace(/\.$/, "");
    return `failing since ${clockTime(flow.failingSince, now.nowMs)}${why === "" ? "" : `: ${why}`}`;
  }
  if (!flow.isStale || !now.isRunning) return undefined;
  return flow.ageS === null ? "without success so far" : `without success for ${duration(flow.ageS)}`;
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

function askedPart(orders: FlowStatus | undefined): string | undefined {
  if (orders?.ageS === undefined || orders.ageS === null) return "never asked with success";
  return `asked ${duration(orders.ageS)} ago`;
}

function erpPart(erp: FlowStatus | undefined, nowMs: number): string | undefined {
  if (erp === undefined) return undefined;
  if (erp.waiting === 0) return "every order taken by the ERP";
  return `${count(erp.waiting, "order")} not yet taken by the ERP, oldest ${age(erp.waitingSince, nowMs)}`;
}

/** The site shows the ERP's stock of the last pass, or, while something waits, of the oldest change that waits. */
function stockPart(stocks: FlowStatus | undefined, nowMs: number): string | undefined {
  if (stocks === undefined || !stocks.enabled) return undefined;
  const asOf = stocks.waitingSince ?? stocks.lastSuccessAt;
  return asOf === null ? "no stock sent yet" : `stock on the site as of ${clockTime(asOf, nowMs)}`;
}

function age(since: string | null, nowMs: number): string {
  return since === null ? "?" : duration(Math.max(0, Math.round((nowMs - Date.parse(since)) / 1000)));
}

/** `12 s`, `4 min`, `5 h`, `3 days` */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** `18:20` of the machine's own zone for today, with the date before that. */
export function clockTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const pad = (value: number) => String(value).padStart(2, "0");
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
