import { counted, sizeText, spanText } from "../numbers.ts";

/**
 * The sentence of the status beside its conditions, and words for codes. Times are already formatted; numbers and
 * durations are not.
 */
export const statusEn = {
  upToDate: "Up to date.",
  /** The same while orders that have changed wait to be read. */
  catchingUp: "Catching up with changes of orders.",
  /** Before a command. */
  next: "Next",
  /** The parts of the sentence, in lower case. */
  asked: (ageS: number | null) => (ageS === null ? "never asked with success" : `asked ${spanText(ageS)} ago`),
  askedAt: (at: string | null) => (at === null ? "never asked with success" : `asked ${at}`),
  /** The time at which a text was written. */
  seenAt: (at: string, text: string) => `At ${at}: ${text}`,
  lastOrder: (at: string | null) => (at === null ? "no order yet" : `last order ${at}`),
  toRead: (n: number, oldestS: number | null) => `${counted(n, "order")} still to be read, oldest ${age(oldestS)}`,
  waitingForErp: (n: number, oldestS: number | null) =>
    n === 0
      ? "every order taken by the ERP"
      : `${counted(n, "order")} not yet taken by the ERP, oldest ${age(oldestS)}`,
  stockAsOf: (at: string | null) => (at === null ? "no stock sent yet" : `stock on the site as of ${at}`),
  duration: spanText,
  bytes: sizeText,
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
    mirror_away: "the mirror's PostgreSQL cannot be reached",
    mirror_slow: "a statement in the mirror's PostgreSQL was broken off",
    mirror_full: "the mirror's PostgreSQL has no room",
    mirror_read_only: "the mirror's PostgreSQL takes no writes",
    mirror_access: "the mirror's PostgreSQL does not let the bridge in",
    mirror_certificate: "the certificate of the mirror's PostgreSQL is not trusted",
    mirror_right: "the bridge lacks a right in the mirror's PostgreSQL",
    mirror_schema: "the mirror's schema is missing or of another version",
    mirror_database: "the shop's key in the mirror belongs to another database",
    mirror_fenced: "another machine works for this shop",
    mirror_failed: "the mirror's PostgreSQL refuses a statement",
    stopped: "stopped",
    internal: "an internal error",
  },
  holds: {
    credentials: "the service refuses the credentials",
    payment: "the import subscription is not paid",
    "rate limit": "the service asks to wait",
    refused: "the service refuses the request",
    "hand-out lost": "an answer with orders was lost, and confirms wait",
    tie: "changes with one timestamp may be out of reach",
    behind: "more changes wait than one pass may read; following goes on",
    cut: "the service leaves out changes; orders are read one by one to find them",
    unread: "the answers cannot be read, and no more of them can be kept",
    answer: "the service answers in a new form, and whether it accepted is not known; rows go again",
    guard: "rows going to zero wait for approval",
    table: "its table or file is missing, is empty or cannot be read",
    disk: "too little space is left to ask for orders",
    mapping: "stored orders hold columns of a former mapping",
    account: "the database belongs to another account",
    restored: "something that was stored earlier may be missing; all goes on",
    unrestored: "what it reads may be older than what the site has",
  },
};

function age(seconds: number | null): string {
  return seconds === null ? "?" : spanText(seconds);
}
