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
  const list: string[] = [];
  for (const hold of facts.holds) list.push(`${capitalized(hold.area)} held (${hold.reason}) since ${clockTime(hold.since, now.nowMs)}.`);
  for (const flow of facts.flows) {
    if (!flow.enabled || flow.flow === "erp" || flow.held !== null) continue;
    if (flow.failingSince !== null) list.push(`${capitalized(flow.flow)} failing since ${clockTime(flow.failingSince, now.nowMs)}: ${flow.error ?? flow.errorCode}`);
    else if (flow.isStale && now.isRunning) {
      list.push(`${capitalized(flow.flow)} ${flow.ageS === null ? "has not succeeded yet" : `has not succeeded for ${duration(flow.ageS)}`}.`);
    }
  }
  if (!now.isRunning) list.unshift("The daemon is not running.");
  if (facts.unread > 0) list.push(`${count(facts.unread, "batch", "batches")} kept unread: the configuration does not fit the answers.`);
  if (facts.refusedBatches > 0) list.push(`${count(facts.refusedBatches, "confirm")} refused by the service.`);
  if (facts.refusedRequests > 0) list.push(`${count(facts.refusedRequests, "status request")} refused by the service.`);
  for (const flow of facts.flows) {
    if (flow.quarantined === 0) continue;
    list.push(
      flow.flow === "erp"
        ? `${count(flow.quarantined, "order")} blocked by the ERP.`
        : `${count(flow.quarantined, "record")} of ${flow.flow} in quarantine.`,
    );
  }
  const erp = facts.flows.find((row) => row.flow === "erp");
  if (erp?.waitingSince !== null && erp?.waitingSince !== undefined && now.nowMs - Date.parse(erp.waitingSince) > limits.erpReadWithinMs) {
    list.push(`The ERP has left orders untaken for ${age(erp.waitingSince, now.nowMs)}.`);
  }
  if (facts.walBytes > WAL_ALARM_BYTES) {
    list.push(`The write-ahead log has grown to ${Math.round(facts.walBytes / 1024 / 1024)} MB: some program keeps the database open for reading.`);
  }
  return list;
}

/** The first that applies: credentials and payment, then the service out of reach, then anything else. */
function exitCodeOfFacts(facts: StatusFacts): ExitCode {
  if (facts.holds.some(({ reason }) => reason === "credentials" || reason === "payment")) return EXIT.credentials;
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
