import { describeBytes } from "../backup/space-rule.ts";
import { counted } from "../messages/counted.ts";
import type { StatusWords } from "./status-words.ts";

export const englishStatus = {
  upToDate: "Up to date.",
  notRunning: "The daemon is not running.",
  notAnswering: (since) =>
    `The daemon runs and does not answer since ${since}: see its log, then systemctl restart erp-bridge.`,
  remapOwed: "Stored orders hold columns of a former mapping: run erp-bridge remap.",
  held: (area, since, reason) => `${capitalized(area)} held since ${since}: ${reason}.`,
  failing: (flow, since, why) => `${capitalized(flow)} failing since ${since}${why === "" ? "" : `: ${why}`}.`,
  stale: (flow, ageS) =>
    `${capitalized(flow)} ${ageS === null ? "without success so far" : `without success for ${duration(ageS)}`}.`,
  unreadBatches: (n) => `${counted(n, "batch", "batches")} kept unread: the configuration does not fit the answers.`,
  refusedConfirms: (n) => `${counted(n, "confirm")} refused by the service.`,
  unnamedBatches: (n, times) =>
    `${counted(n, "batch", "batches")} cannot be confirmed: none of the records has an id${times === 1 ? "" : `, and the service has served it ${times} times or more`}; orders behind it may wait.`,
  failedConfirms: (n, since) => `${counted(n, "confirm")} not accepted since ${since}; new orders go on.`,
  refusedRequests: (n) => `${counted(n, "status request")} refused by the service.`,
  blockedOrders: (n) => `${counted(n, "order")} blocked by the ERP.`,
  quarantined: (n, flow) => `${counted(n, "record")} of ${flow} in quarantine.`,
  refusedRows: (n, flow) => `${counted(n, "row")} of ${flow} refused by the service and tried again.`,
  littleSpace: (bytes) => `Only ${describeBytes(bytes)} are free on the disk of the database.`,
  unreachable: (channel, since, error) => `${capitalized(channel)} cannot be reached since ${since} (${error}).`,
  pageSilent: (address, since, error) =>
    `The status page cannot listen on ${address} since ${since}: ${error === "EADDRINUSE" ? "another program holds the port" : error}. Orders go on.`,
  clockOff: (offsetS) =>
    `This machine's clock is ${duration(Math.abs(offsetS))} ${offsetS > 0 ? "ahead of" : "behind"} the service's: set it right, for example with timedatectl set-ntp true.`,
  erpObjects: (names) => `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
  credentialReplaced: (since) =>
    `The Client Secret was replaced at ${since}, and systemd hands it over at a start only: systemctl restart erp-bridge.`,
  databaseOlder: "The database is older than what the service was told: start the daemon, which says what to do.",
  logCut: "The database or its -wal was truncated or overwritten: start the daemon, which verifies the database first.",
  foreignJournal:
    "A file with -journal at the end of the database's name keeps other programs out, and nothing is confirmed: move it to another folder, or restart the daemon.",
  databaseDamaged: "The database is damaged: restore the newest copy with erp-bridge restore FILE.",
  untaken: (ageS) => `The ERP has left orders untaken for ${age(ageS)}.`,
  unwritten: (feed, ageS) => `The ERP has not written its table of ${feed} for ${age(ageS)}.`,
  logGrown: (bytes) =>
    `The write-ahead log has grown to ${Math.round(bytes / 1024 / 1024)} MB: some program keeps the database open for reading.`,
  asked: (ageS) => (ageS === null ? "never asked with success" : `asked ${duration(ageS)} ago`),
  askedAt: (at) => (at === null ? "never asked with success" : `asked ${at}`),
  seenAt: (at, text) => `At ${at}: ${text}`,
  lastOrder: (at) => (at === null ? "no order yet" : `last order ${at}`),
  waitingForErp: (n, oldestS) =>
    n === 0
      ? "every order taken by the ERP"
      : `${counted(n, "order")} not yet taken by the ERP, oldest ${age(oldestS)}`,
  stockAsOf: (at) => (at === null ? "no stock sent yet" : `stock on the site as of ${at}`),
  duration,
  bytes: describeBytes,
  errors: {
    config_invalid: "the configuration is wrong",
    node_too_old: "the Node version is too old",
    usage: "the call was wrong",
    instance_running: "another bridge is running",
    account_changed: "the database belongs to another account",
    database_refused: "the database cannot be used",
    database_newer: "the database is of a newer version",
    migration_edited: "the database's history does not fit this version",
    database_busy: "another program holds the database",
    database_corrupt: "the database is damaged",
    disk_full: "the disk is full",
    disk_failed: "the disk fails",
    folder_missing: "the folder of images is missing",
    table_missing: "the table is missing",
    credentials_refused: "the service refuses the credentials",
    payment_required: "the import subscription is not paid",
    rate_limited: "the service asks to wait",
    unavailable: "the service is not available",
    unreachable: "the service cannot be reached",
    timed_out: "the service does not answer in time",
    answer_unreadable: "the service's answer cannot be read",
    answer_too_large: "the service's answer is too large",
    answer_unknown: "the service answers in a form that is not known to be an acceptance",
    answer_shape: "the service's answer does not fit the configuration",
    redirected: "the service points to another address",
    request_refused: "the service refuses the request",
    stopped: "stopped",
    internal: "an internal error",
  },
  holds: {
    credentials: "the service refuses the credentials",
    payment: "the import subscription is not paid",
    "rate limit": "the service asks to wait",
    refused: "the service refuses the request",
    "hand-out lost": "an answer with orders was lost, and confirms wait",
    tie: "changes with one stamp may be out of reach",
    behind: "more changes wait than one pass may read; following goes on",
    cut: "changes may be cut: the service answers the newest first; orders are read one by one",
    unread: "the answers cannot be read, and no more of them can be kept",
    answer: "the service answers in a new form, and whether it accepted is not known; rows go again",
    guard: "rows going to zero wait for approval",
    table: "the table is missing or empty",
    disk: "too little space is left to ask for orders",
    mapping: "stored orders hold columns of a former mapping",
    account: "the database belongs to another account",
    restored: "orders that were confirmed earlier may be missing; all goes on",
  },
} as const satisfies StatusWords;

/** `12 s`, `4 min`, `5 h`, `3 days` */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

function age(seconds: number | null): string {
  return seconds === null ? "?" : duration(seconds);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
