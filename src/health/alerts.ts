import { FEED_NAMES } from "../config/feed-names.ts";
import type { HoldReason, HoldScope } from "../database/hold-names.ts";
import { counted } from "../messages/counted.ts";
import { isJobName } from "../pass/job-names.ts";
import type { ErrorCode } from "../platform/errors.ts";
import type { Trouble } from "../platform/troubles.ts";
import { duration } from "./status-words-en.ts";

/** How things stand, as alerts see it: names, numbers and times only. Nothing that the service or the ERP wrote. */
export interface AlertFacts {
  flows: FlowFacts[];
  holds: { area: string; reason: HoldReason; since: string; scope?: HoldScope }[];
  /** Records held in quarantine, by what they are. */
  quarantined: { kind: string; count: number }[];
  unreadBatches: number;
  refusedConfirms: number;
  unnamedBatches: number;
  refusedRequests: number;
  blockedByErp: number;
  /** When the oldest order that the ERP has not taken began to wait. */
  erpWaitingSince: string | null;
  /** When the ERP last wrote each table whose silence matters; null: never. */
  written: { feed: string; at: string | null; withinMs: number }[];
  walBytes: number;
  notices: { name: "clock" | "credential" | "objects"; since: string }[];
  /** What the daemon itself has met. */
  met?: Trouble | undefined;
}

export interface FlowFacts {
  flow: string;
  enabled: boolean;
  staleAfterS: number;
  lastSuccessAt: string | null;
  failingSince: string | null;
  errorCode: ErrorCode | null;
}

export interface AlertLimits {
  erpReadWithinMs: number;
  /** When the daemon began to look: a flow that has never succeeded is silent from then on. */
  startedAtMs: number;
}

/** Something that is wrong now. `level` counts what can become more of the same; the others are 1. */
export interface Condition {
  subject: string;
  level: number;
  /** What is wrong, as a sentence. */
  problem: string;
  /** What is said when it is over. */
  recovery: string;
  /** How long it must stand before it is told, so that a clock that jumps or a short pause is no alarm. */
  settleMs: number;
  /** Told by another condition already: it opens nothing new, and does not end what was told. */
  muted?: boolean;
}

const NOW = 0;
/** A pass is at most a minute away after a start or a jump of the clock. */
const SETTLE_STALE_MS = 90_000;
const SETTLE_RATE_LIMIT_MS = 5 * 60_000;
const WAL_ALARM_BYTES = 256 * 1024 * 1024;

/** Everything that is wrong now, most urgent first. */
export function listConditions(facts: AlertFacts, nowMs: number, limits: AlertLimits): Condition[] {
  return [
    ...(facts.met === undefined ? [] : [troubleCondition(facts.met)]),
    ...facts.holds.map(holdCondition),
    ...facts.flows.flatMap((flow) => flowCondition(flow, isHeld(flow.flow, facts.holds), nowMs, limits)),
    ...countConditions(facts),
    ...erpConditions(facts, nowMs, limits),
    ...facts.notices.map(({ name }) => MACHINE_CONDITIONS[name]),
  ];
}

function troubleCondition({ of, sentence }: Trouble): Condition {
  const isReload = of === "reload";
  return {
    subject: isReload ? "configuration" : "database",
    level: 1,
    problem: sentence,
    recovery: isReload ? "The configuration was taken over." : "The database can be used again.",
    settleMs: NOW,
  };
}

/** A flow that runs so rarely may wait for its first turn; until then its silence says nothing. */
const RARE_S = 3_600;

/** Whether the heartbeat may go out: every flow that is switched on has succeeded lately, and none fails. */
export function isAllFresh(flows: readonly FlowFacts[], nowMs: number, startedAtMs: number): boolean {
  return flows
    .filter(({ enabled }) => enabled)
    .every((flow) => {
      if (flow.failingSince !== null) return false;
      if (flow.lastSuccessAt === null && flow.staleAfterS <= RARE_S) return false;
      return silentS(flow, nowMs, startedAtMs) <= flow.staleAfterS;
    });
}

/** Seconds since the last success; since the first failure or the start where there was none. */
function silentS({ lastSuccessAt, failingSince }: FlowFacts, nowMs: number, startedAtMs: number): number {
  const from = lastSuccessAt ?? failingSince;
  return Math.max(0, Math.round((nowMs - (from === null ? startedAtMs : Date.parse(from))) / 1000));
}

const HOLD_WORDS: Partial<Record<HoldReason, string>> = {
  credentials: "the service refuses the credentials",
  payment: "the subscription is not paid",
  "rate limit": "the service asks for a pause",
  refused: "the service refuses the request",
  "hand-out lost": "an answer with orders was lost, and confirms wait",
  tie: "changes with one stamp may be out of reach",
  behind: "more changes wait than one pass may read",
  cut: "changes may be cut, because the service answers the newest first",
  unread: "the answers cannot be read, and no more of them can be kept",
  answer: "the service answers in a new form, and whether it accepted is not known",
  guard: "a sudden emptying waits for approval",
  table: "a table of the ERP is missing, changed or empty",
  disk: "the disk does not take what is written",
  account: "the account is another one",
  restored: "orders that were confirmed earlier may be missing",
};

function holdCondition({ area, reason }: AlertFacts["holds"][number]): Condition {
  const approve = reason === "guard" ? ` Let it through with: erp-bridge approve ${area}` : "";
  return {
    subject: `hold ${area} ${reason}`,
    level: 1,
    problem: `${area} held (${reason}): ${HOLD_WORDS[reason] ?? "it waits for a person"}.${approve}`,
    recovery: `${area} is no longer held (${reason}).`,
    settleMs: reason === "rate limit" || reason === "behind" ? SETTLE_RATE_LIMIT_MS : NOW,
  };
}

/** A flow that fails for longer than its staleness, or says nothing at all. One that is held is told as such. */
function flowCondition(flow: FlowFacts, muted: boolean, nowMs: number, limits: AlertLimits): Condition[] {
  const silent = silentS(flow, nowMs, limits.startedAtMs);
  if (!flow.enabled || silent <= flow.staleAfterS) return [];
  const how = flow.lastSuccessAt === null ? "has not succeeded yet" : `has not succeeded for ${duration(silent)}`;
  const why = flow.failingSince !== null && flow.errorCode !== null ? ` (${flow.errorCode})` : "";
  return [
    {
      subject: `flow ${flow.flow}`,
      level: 1,
      problem: `${flow.flow} ${how}${why}.`,
      recovery: `${flow.flow} works again.`,
      settleMs: SETTLE_STALE_MS,
      muted,
    },
  ];
}

/** A flow and its half of the service; what belongs to neither half is held by its own name alone. */
function isHeld(flow: string, holds: AlertFacts["holds"]): boolean {
  const isFeed = FEED_NAMES.some((name) => name === flow);
  const half = isFeed ? "imports" : isJobName(flow) ? "orders" : flow;
  return holds.some(({ area, scope }) => area === flow || (area === half && scope !== "flow"));
}

function countConditions(facts: AlertFacts): Condition[] {
  const condition = (subject: string, level: number, what: string, look: string): Condition[] =>
    level === 0
      ? []
      : [
          {
            subject,
            level,
            problem: `${what}. ${look}`,
            recovery: `${subject}: nothing is left of it.`,
            settleMs: NOW,
          },
        ];
  return [
    ...facts.quarantined.flatMap(({ kind, count: n }) =>
      condition(
        `quarantine ${kind}`,
        n,
        `${counted(n, "record")} (${kind}) in quarantine`,
        "See: erp-bridge quarantine list",
      ),
    ),
    ...condition(
      "unread batches",
      facts.unreadBatches,
      `${counted(facts.unreadBatches, "batch", "batches")} kept unread: the configuration does not fit the answers`,
      "See: erp-bridge status",
    ),
    ...condition(
      "refused confirms",
      facts.refusedConfirms,
      `${counted(facts.refusedConfirms, "confirm")} refused by the service`,
      "See: table batches",
    ),
    ...condition(
      "batches without ids",
      facts.unnamedBatches,
      `${counted(facts.unnamedBatches, "batch", "batches")} cannot be confirmed, because none of the records has an id`,
      "See: erp-bridge quarantine list",
    ),
    ...condition(
      "refused status requests",
      facts.refusedRequests,
      `${counted(facts.refusedRequests, "status request")} refused by the service`,
      "See: table status_requests",
    ),
    ...condition(
      "orders blocked by the ERP",
      facts.blockedByErp,
      `${counted(facts.blockedByErp, "order")} blocked by the ERP`,
      "See: orders_blocked",
    ),
  ];
}

const MACHINE_CONDITIONS: Readonly<Record<"clock" | "credential" | "objects", Condition>> = {
  clock: {
    subject: "clock",
    level: 1,
    problem: "This machine's clock is far from the service's. Set it right, for example with: timedatectl set-ntp true",
    recovery: "This machine's clock agrees with the service's again.",
    settleMs: SETTLE_RATE_LIMIT_MS,
  },
  credential: {
    subject: "client secret",
    level: 1,
    problem: "The Client Secret was replaced, and systemd hands it over at a start only: systemctl restart erp-bridge",
    recovery: "The Client Secret in use is the one in its file again.",
    settleMs: SETTLE_RATE_LIMIT_MS,
  },
  objects: {
    subject: "erp objects",
    level: 1,
    problem: "Triggers or indexes of the ERP's stand on the bridge's tables. Their names: erp-bridge status",
    recovery: "No triggers or indexes of the ERP's stand on the bridge's tables any more.",
    settleMs: SETTLE_RATE_LIMIT_MS,
  },
};

function erpConditions(facts: AlertFacts, nowMs: number, limits: AlertLimits): Condition[] {
  const list: Condition[] = [];
  const waitingMs = facts.erpWaitingSince === null ? 0 : nowMs - Date.parse(facts.erpWaitingSince);
  if (waitingMs > limits.erpReadWithinMs) {
    list.push({
      subject: "erp reads",
      level: 1,
      problem: `The ERP has left orders untaken for ${duration(Math.round(waitingMs / 1000))}.`,
      recovery: "The ERP takes orders again.",
      settleMs: SETTLE_STALE_MS,
    });
  }
  for (const { feed, at, withinMs } of facts.written) {
    if (at === null || nowMs - Date.parse(at) <= withinMs) continue;
    list.push({
      subject: `erp writes ${feed}`,
      level: 1,
      problem: `The ERP has not written its table of ${feed} for ${duration(Math.round((nowMs - Date.parse(at)) / 1000))}.`,
      recovery: `The ERP writes its table of ${feed} again.`,
      settleMs: SETTLE_STALE_MS,
    });
  }
  if (facts.walBytes > WAL_ALARM_BYTES) {
    list.push({
      subject: "write-ahead log",
      level: 1,
      problem: "The write-ahead log has grown large: some program keeps the database open for reading.",
      recovery: "The write-ahead log is small again.",
      settleMs: SETTLE_STALE_MS,
    });
  }
  return list;
}
