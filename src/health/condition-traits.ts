import type { Message } from "../messages/message.ts";
import { commandToLift, factsOf, HOLD_REASONS, type HoldReason, isHoldReason } from "../pass/hold-reasons.ts";
import { EXIT, type ExitCode } from "../platform/errors.ts";

type None = Record<never, never>;
interface Count {
  count: number;
}
interface Hold {
  reason: string;
}
interface Trouble {
  error: string;
  /** Without names of folders. */
  sentence: Message;
}

/** `hold_hand_out_lost`; `hold_other`: of a reason from a later version. */
type HoldCode = `hold_${Joined<HoldReason | "other">}`;
type Joined<Words extends string> = Words extends `${infer A} ${infer B}`
  ? Joined<`${A}_${B}`>
  : Words extends `${infer A}-${infer B}`
    ? Joined<`${A}_${B}`>
    : Words;

/** Parameters of each condition, beside its subject and start. Codes are also stored and sent, so none is renamed. */
export interface Params extends Record<HoldCode, Hold> {
  database_trouble: Trouble;
  database_damaged: None;
  database_log_cut: None;
  database_older: None;
  foreign_journal: None;
  /** Tables, columns, views and other objects of the bridge that are missing or were changed. */
  objects_changed: { names: string };
  reload_failed: Trouble;
  credential_replaced: None;
  not_running: None;
  not_answering: None;
  /**
   * `error`: code of the last pass's failure; null where it has not failed. `why`: the same in words, where they may be
   * shown.
   */
  flow_stale: { ageS: number | null; error: string | null; why: Message | null };
  flow_failing: { error: string | null; why: Message | null };
  /** It has not succeeded yet, and its time has not run out. */
  flow_starting: None;
  /** Its first pass is running, which may take long. */
  first_pass: None;
  unread_batches: Count;
  /** Stored, and not confirmed until they are in the journal. */
  unjournaled_batches: Count;
  refused_confirms: Count;
  /** The service has confirmed more orders than had come. */
  larger_confirms: Count;
  large_confirms: Count;
  /** `times`: how often at least the service has served the last of them. */
  unnamed_batches: Count & { times: number };
  late_confirms: Count;
  /** `why`: the last failure to read the oldest order, where that may be shown. */
  late_reads: Count & { why: Message | null };
  /** Wide re-polls of changes fail, and new changes are followed. */
  wide_failing: None;
  /** Orders whose status has changed without appearing in the list of changes. */
  unlisted_changes: Count;
  /** Timestamps of the newest orders and changes in a form that cannot be read. */
  unreadable_times: Count;
  /** Waiting although sending statuses is switched off. */
  unsent_statuses: Count;
  /** Sent long ago, with an unknown outcome. */
  unsettled_statuses: Count;
  /** Waiting long for an order that is not stored. */
  unstored_statuses: Count;
  /** Orders that do not show a status which the service has accepted. */
  unshown_statuses: Count;
  refused_statuses: Count;
  refused_rows: Count;
  quarantined: Count;
  /**
   * Rows on the site that were sent under a former key and match no present row; `keys` has the first of their keys.
   */
  former_rows: Count & { keys: string };
  blocked_orders: Count;
  /** Another instance works for the shop; `why`: which one, and what to do. */
  fenced: { why: Message | null };
  /** Only a person can help; `why`: what is wrong and what to do. */
  mirror_stopped: { error: string | null; why: Message | null };
  /** Rows that the other side of the mirror refuses. */
  mirror_refused: Count;
  /** Rows of the ERP's that a restored PostgreSQL lacks. */
  mirror_kept: Count;
  /** Orders that exist in PostgreSQL only. */
  mirror_extra: Count;
  erp_objects: { names: string };
  /** Name of the newest copy; another copy has a later time in its name. */
  copies_misnamed: { file: string };
  /** Seconds ahead of the service's clock. */
  clock_off: { offsetS: number };
  disk_low: { free: number };
  channel_unreachable: { error: string };
  page_silent: { address: string; error: string };
  orders_untaken: { ageS: number | null };
  erp_silent: { ageS: number | null };
  log_grown: { bytes: number };
}

export type Code = keyof Params;

export interface Trait {
  /**
   * `critical`: orders or the database stopped; `error`: a flow stopped, or works wrongly; `warning`: a person should
   * look; `notice`: it ends by itself.
   */
  severity: "critical" | "error" | "warning" | "notice";
  /** Exit code of `status`; `error`: that of the condition's error code; null: does not change the exit code. */
  exit: ExitCode | "error" | null;
  /**
   * The reason in `ill` of /health; true: the condition's error code is the reason; false: it does not make /health
   * fail.
   */
  unhealthy: string | boolean;
  /** A flow has stopped, or may have: no heartbeat is sent. */
  stalls: boolean;
  /**
   * How long the condition must last before a notification is sent, so that a clock jump or a short pause sends none.
   */
  settleMs: number;
  /** Name of its alert for programs, `$` stands for the subject; null: no notification is sent. */
  alert: string | null;
  /** The next command, `$` stands for the subject; null: there is none. */
  command: string | null;
}

/** After a start or a clock jump a pass follows within a minute. */
const AFTER_A_PASS = 90_000;
const AFTER_A_WHILE = 5 * 60_000;

const RESTART = "systemctl restart erp-bridge";
const LOG = "journalctl -u erp-bridge";
const QUARANTINE = "erp-bridge quarantine list";
const PROBE = "erp-bridge probe --write";

/** The fixed properties of each code. The order of this table is the order of importance. */
export const CONDITIONS = {
  database_trouble: trait("critical", { unhealthy: true, stalls: true, alert: "database" }),
  database_damaged: trait("critical", {
    unhealthy: "damage",
    stalls: true,
    alert: "database damaged",
    command: "erp-bridge restore FILE",
  }),
  database_log_cut: trait("critical", { unhealthy: "log", stalls: true, alert: "database log", command: RESTART }),
  database_older: trait("critical", { unhealthy: "older", stalls: true, alert: "database older", command: RESTART }),
  foreign_journal: trait("critical", {
    unhealthy: "journal",
    stalls: true,
    alert: "database journal",
    command: RESTART,
  }),
  objects_changed: trait("critical", {
    unhealthy: "changed",
    stalls: true,
    settleMs: AFTER_A_PASS,
    alert: "database changed",
    command: "erp-bridge check",
  }),
  reload_failed: trait("error", { alert: "configuration", command: "erp-bridge check" }),
  credential_replaced: trait("error", {
    unhealthy: "credential",
    settleMs: AFTER_A_WHILE,
    alert: "client secret",
    command: RESTART,
  }),
  fenced: trait("critical", { exit: EXIT.fenced, unhealthy: "fenced", stalls: true, alert: "shop elsewhere" }),
  not_running: trait("critical", { stalls: true, command: "systemctl start erp-bridge" }),
  not_answering: trait("critical", { stalls: true, command: RESTART }),
  ...holds("critical"),
  unjournaled_batches: trait("critical", {
    unhealthy: "unjournaled",
    stalls: true,
    settleMs: AFTER_A_PASS,
    alert: "unjournaled batches",
    command: LOG,
  }),
  ...holds("error"),
  flow_stale: trait("error", {
    exit: "error",
    unhealthy: "stale",
    stalls: true,
    settleMs: AFTER_A_PASS,
    alert: "flow $",
    command: LOG,
  }),
  flow_failing: trait("error", { exit: "error", stalls: true, command: LOG }),
  mirror_stopped: trait("error", {
    exit: "error",
    unhealthy: "mirror",
    settleMs: AFTER_A_PASS,
    alert: "mirror",
    command: LOG,
  }),
  erp_objects: trait("error", { unhealthy: "objects", settleMs: AFTER_A_WHILE, alert: "erp objects" }),
  unread_batches: trait("error", { unhealthy: "unread", alert: "unread batches", command: PROBE }),
  refused_confirms: trait("error", { alert: "refused confirms", command: PROBE }),
  larger_confirms: trait("error", {
    alert: "confirms of more orders than came",
    command: "erp-bridge resume confirms",
  }),
  large_confirms: trait("error", { alert: "large confirms", command: LOG }),
  unnamed_batches: trait("error", { alert: "batches without ids", command: QUARANTINE }),
  late_confirms: trait("error"),
  late_reads: trait("error", { settleMs: AFTER_A_PASS, alert: "late reads" }),
  unlisted_changes: trait("error", { alert: "unlisted changes" }),
  unreadable_times: trait("error", { settleMs: AFTER_A_WHILE, alert: "unreadable timestamps" }),
  orders_untaken: trait("error", { unhealthy: "untaken", settleMs: AFTER_A_PASS, alert: "erp reads" }),
  erp_silent: trait("error", { unhealthy: "unwritten", settleMs: AFTER_A_PASS, alert: "erp writes $" }),
  former_rows: trait("error", { alert: "rows of a former key $", command: "erp-bridge approve $ --former list" }),
  wide_failing: trait("warning", { alert: "wide re-polls", command: LOG }),
  ...holds("warning", true),
  unsent_statuses: trait("warning", { alert: "status requests without a path" }),
  unsettled_statuses: trait("warning", { settleMs: AFTER_A_PASS, alert: "unsettled status requests" }),
  unstored_statuses: trait("warning", { settleMs: AFTER_A_PASS, alert: "status requests without an order" }),
  unshown_statuses: trait("warning", { alert: "statuses without effect" }),
  refused_statuses: trait("warning", { alert: "refused status requests" }),
  quarantined: trait("warning", { alert: "quarantine $", command: QUARANTINE }),
  blocked_orders: trait("warning", { alert: "orders blocked by the ERP" }),
  mirror_kept: trait("warning", { alert: "rows missing in the mirror", command: "erp-bridge approve mirror" }),
  mirror_refused: trait("warning", { alert: "rows refused by the mirror" }),
  mirror_extra: trait("warning", { alert: "orders only in the mirror" }),
  clock_off: trait("warning", {
    unhealthy: "clock",
    settleMs: AFTER_A_WHILE,
    alert: "clock",
    command: "timedatectl set-ntp true",
  }),
  copies_misnamed: trait("warning", { alert: "names of copies" }),
  disk_low: trait("warning", { settleMs: AFTER_A_WHILE, alert: "disk", command: "df -h" }),
  channel_unreachable: trait("warning"),
  page_silent: trait("warning", { command: "ss -ltnp" }),
  log_grown: trait("warning", { settleMs: AFTER_A_PASS, alert: "write-ahead log" }),
  ...holds("warning", false),
  refused_rows: trait("notice"),
  ...holds("notice"),
  first_pass: trait("notice", { stalls: true }),
  flow_starting: trait("notice", { stalls: true }),
} as const satisfies Record<Code, Trait>;

function trait(severity: Trait["severity"], more: Partial<Trait> = {}): Trait {
  const none = { unhealthy: false, stalls: false, settleMs: 0, alert: null, command: null };
  return { severity, exit: EXIT.attention, ...none, ...more };
}

/** Those of one severity. Of the warnings, the ones that make /health fail come first. */
function holds(severity: Trait["severity"], isUnhealthy?: boolean): Record<HoldCode, Trait> {
  const traits = [...HOLD_REASONS, "other"].flatMap((reason) => {
    const { exit = EXIT.attention, unhealthy = reason, stalls, ...facts } = factsOf(reason);
    if (facts.severity !== severity || (isUnhealthy ?? unhealthy !== false) !== (unhealthy !== false)) return [];
    const { command = commandToLift("$", reason) } = facts;
    const ending = severity === "notice" ? { settleMs: AFTER_A_WHILE } : { command };
    return [[codeOfHold(reason), trait(severity, { exit, unhealthy, stalls, alert: `hold $ ${reason}`, ...ending })]];
  });
  return Object.fromEntries(traits) as Record<HoldCode, Trait>;
}

export function codeOfHold(reason: string): HoldCode {
  return `hold_${(isHoldReason(reason) ? reason : "other").replace(/[ -]/g, "_")}` as HoldCode;
}
