import { ended } from "../end-sentence.ts";
import { counted, sizeText, spanText } from "../numbers.ts";
import { failureWords, holdWords } from "./status.ts";
import { statusEn } from "./status-en.ts";

interface Shown {
  subject: string;
  since: string;
}
interface Failing extends Shown {
  error: string | null;
  why: string | null;
}
interface Counted extends Shown {
  count: number;
}
interface Aged extends Shown {
  ageS: number | null;
}

const BY_ITSELF = "Nothing to do: it ends by itself.";
const RESUME = "When the cause is put right, go on at once:";
const COMPARED = "Compare what may be missing with the site, as the line of the hold says; then:";
const RESTART = "Start the daemon anew:";
const FIT = "Find the paths and forms that fit and write them into the configuration; what is kept is then read again:";
const DATABASE_RECOVERY = "The database can be used again.";

function held({ subject, since, reason }: { subject: string; since: string; reason: string }): string {
  return `${capitalized(subject)} held since ${since}: ${holdWords(reason, statusEn)}.`;
}

function hold(reason: string, next = RESUME) {
  return { text: held, next, recovery: (area: string) => `${area} is no longer held (${reason}).` };
}

function counts(
  what: (n: number, subject: string) => string,
  next: string,
  name: string | ((subject: string) => string),
) {
  return {
    text: ({ count, subject }: { count: number; subject: string }) => what(count, subject),
    next,
    recovery: (subject: string) => `${typeof name === "string" ? name : name(subject)}: nothing is left of it.`,
  };
}

/**
 * For each condition: what is wrong, what a person does next (followed by the command, if any), and the text when it is
 * over.
 */
export const conditionsEn = {
  database_trouble: {
    text: ({ sentence }: { sentence: string }) => sentence,
    next: "The first sentence says what to do; it ends by itself with its cause.",
    recovery: () => DATABASE_RECOVERY,
  },
  database_damaged: {
    text: () => "The database is damaged: restore the newest copy with erp-bridge restore FILE.",
    next: "Restore the newest copy:",
    recovery: () => DATABASE_RECOVERY,
  },
  database_log_cut: {
    text: () =>
      "The database or its -wal was truncated or overwritten: start the daemon, which verifies the database first.",
    next: RESTART,
    recovery: () => DATABASE_RECOVERY,
  },
  database_older: {
    text: () =>
      "The database is older than what was confirmed to the service: start the daemon, which says what to do.",
    next: RESTART,
    recovery: () => DATABASE_RECOVERY,
  },
  foreign_journal: {
    text: () =>
      "A file with -journal at the end of the database's name keeps other programs out, and nothing is confirmed: move it to another folder, or restart the daemon.",
    next: "Move the file to another folder, or restart the daemon:",
    recovery: () => DATABASE_RECOVERY,
  },
  reload_failed: {
    text: ({ sentence }: { sentence: string }) => sentence,
    next: "Correct the configuration and reload it. What is wrong with it:",
    recovery: () => "The configuration was taken over.",
  },
  credential_replaced: {
    text: ({ since }: Shown) =>
      `The Client Secret was replaced at ${since}, and systemd hands it over at a start only: systemctl restart erp-bridge.`,
    next: RESTART,
    recovery: () => "The Client Secret in use is the one in its file again.",
  },
  not_running: {
    text: () => "The daemon is not running.",
    next: "Start it:",
    recovery: () => "The daemon runs again.",
  },
  not_answering: {
    text: ({ since }: Shown) =>
      `The daemon runs and does not answer since ${since}: see its log, then stop it and start it anew.`,
    next: RESTART,
    recovery: () => "The daemon answers again.",
  },
  hold_credentials: hold(
    "credentials",
    "Compare client_id and client secret with the service's API access settings. A new secret is in force once the daemon was started anew, which also ends this hold. Where nothing was wrong here, go on at once:",
  ),
  hold_payment: hold(
    "payment",
    "Pay the import subscription; the bridge tries again by itself every half hour, or at once:",
  ),
  hold_rate_limit: hold("rate limit", BY_ITSELF),
  hold_refused: hold("refused"),
  hold_hand_out_lost: hold("hand-out lost", COMPARED),
  hold_tie: hold(
    "tie",
    "It ends by itself once orders were read one by one. Where changes have no time, correct that; then:",
  ),
  hold_behind: hold("behind", BY_ITSELF),
  hold_cut: hold("cut"),
  hold_unread: hold("unread", FIT),
  hold_answer: hold("answer", "Where these answers are acceptances, say so:"),
  hold_guard: hold("guard", "Look at the rows that go to zero in the ERP; if they are right, let them through:"),
  hold_table: hold("table"),
  hold_disk: hold("disk", "Free some space; it ends by itself then. What is left:"),
  hold_mapping: {
    ...hold("mapping"),
    text: () => "Stored orders hold columns of a former mapping: run erp-bridge remap.",
    next: "Derive the columns of stored orders again:",
  },
  hold_account: hold("account", "Each account has a database of its own. What the configuration names:"),
  hold_restored: hold("restored", "See what may be missing in the line of the hold; then:"),
  hold_unrestored: hold(
    "unrestored",
    "Have the ERP write its present values, or compare what the feed reads with it; then:",
  ),
  hold_other: { ...hold("other"), recovery: (area: string) => `${area} is no longer held.` },
  flow_stale: {
    text: ({ subject, ageS, error, why }: Failing & Aged) =>
      ended(
        `${capitalized(subject)} ${ageS === null ? "without success so far" : `without success for ${spanText(ageS)}`}${because(error, why)}`,
      ),
    next: "See the daemon's log:",
    recovery: (flow: string) => `${flow} works again.`,
  },
  flow_failing: {
    text: ({ subject, since, error, why }: Failing) =>
      ended(`${capitalized(subject)} failing since ${since}${because(error, why)}`),
    next: "It is tried again by itself. If it stays, see the daemon's log:",
    recovery: (flow: string) => `${flow} works again.`,
  },
  first_pass: {
    text: ({ subject, since }: Shown) => `${capitalized(subject)}: the first pass is running since ${since}.`,
    next: BY_ITSELF,
    recovery: (flow: string) => `${flow} works.`,
  },
  flow_starting: {
    text: ({ subject }: Shown) => `${capitalized(subject)} without success so far; the daemon has just started.`,
    next: BY_ITSELF,
    recovery: (flow: string) => `${flow} works.`,
  },
  unread_batches: counts(
    (n) => `${counted(n, "batch", "batches")} kept unread: the configuration does not fit the answers.`,
    FIT,
    "unread batches",
  ),
  unjournaled_batches: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "batch", "batches")} stored and not confirmed since ${since}: backup.journal cannot be written.`,
    next: "Put the disk of backup.journal right, name another folder there, or set backup.journal to null. What is wrong with it:",
    recovery: () => "backup.journal is written again.",
  },
  refused_confirms: counts(
    (n) => `${counted(n, "confirm")} refused by the service.`,
    "The confirms are sent again. Where the site shows their orders as confirmed, erp-bridge resume confirms settles them. If they stay, orders.confirm.body is wrong; what the service's words speak for:",
    "refused confirms",
  ),
  larger_confirms: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "confirm")} since ${since} answered with more orders than had come: the service may have confirmed orders that it will not deliver.`,
    next: "Compare the orders from a quarter of an hour before that time on with the site, and enter by hand what is missing. The log names each batch, and so does the command. Then:",
    recovery: () => "confirms of more orders than came: nothing is left of it.",
  },
  large_confirms: counts(
    (n) =>
      `${counted(n, "batch", "batches")} stored, but the service refuses the confirm as too large; orders behind it may wait.`,
    "The confirm is sent again. Each of its requests is as small as it can be: ask the service's support, or whoever runs a proxy before it, what limits it:",
    "confirms refused as too large",
  ),
  unnamed_batches: {
    text: ({ count, times }: Counted & { times: number }) =>
      `${counted(count, "batch", "batches")} cannot be confirmed: none of the records has an id${times === 1 ? "" : `, and the service has served it ${times} times or more`}; orders behind it may wait.`,
    next: "Show the record to the service's support:",
    recovery: () => "batches without ids: nothing is left of it.",
  },
  late_confirms: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "confirm")} not accepted since ${since}; new orders may wait.`,
    next: "They are sent again. If it stays, show the batch to the service's support: SELECT id, last_error FROM batches WHERE state = 'stored'",
    recovery: () => "late confirms: nothing is left of it.",
  },
  unsent_statuses: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "status request")} of the ERP ${count === 1 ? "waits" : "wait"} since ${since}, and statuses are switched off: statuses.path is null.`,
    next: "Set statuses.path to the service's path and restart the program: they are sent then. Delete first those that are not to be sent: DELETE FROM status_requests WHERE state = 'pending'",
    recovery: () => "status requests without a path: nothing is left of it.",
  },
  unsettled_statuses: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "status", "statuses")} sent and not settled since ${since}: what became of ${count === 1 ? "it" : "them"} is not known.`,
    next: "The orders are read until they show it. What the service answered: SELECT id, order_id, last_error FROM status_requests WHERE state IN ('pending', 'sending'). Where it answers in a new form and accepts in it, erp-bridge resume statuses --hold answer says so.",
    recovery: () => "unsettled status requests: nothing is left of it.",
  },
  unstored_statuses: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "status request")} ${count === 1 ? "waits" : "wait"} since ${since} for ${count === 1 ? "an order" : "orders"} not in the table orders.`,
    next: "The service is asked for each order by its id; the request goes on once the order is stored, and is refused if the service does not have it. Which: SELECT id, order_id FROM status_requests WHERE state = 'pending' AND lower(order_id) NOT IN (SELECT order_id FROM orders). Delete those whose order_id is wrong. What was answered: SELECT order_id, last_error FROM owed_reads; an order that came and cannot be read: erp-bridge quarantine list.",
    recovery: () => "status requests without an order: nothing is left of it.",
  },
  unshown_statuses: {
    text: ({ count, since }: Counted) =>
      `${counted(count, "order")} without the status that the service accepted, although read again since ${since}: it may carry out no statuses.`,
    next: "Ask the service's support whether they are carried out. Which: SELECT id, order_id, last_error FROM status_requests WHERE state = 'sent' AND unshown_since IS NOT NULL. Where one is lost, insert a new request; a row that was dealt with may be deleted.",
    recovery: () => "statuses without effect: nothing is left of it.",
  },
  late_reads: {
    text: ({ count, since, why }: Counted & { why: string | null }) =>
      `${counted(count, "order")} not read since ${since}${because(null, why)}; what is stored of ${count === 1 ? "it" : "them"} may be out of date.`,
    next: "What was answered: SELECT order_id, since, last_error FROM owed_reads. They are read again by themselves, each at least once an hour; if it stays, show the answers to the service's support.",
    recovery: () => "late reads: nothing is left of it.",
  },
  wide_failing: {
    text: ({ since }: { since: string | null }) =>
      `The service does not answer requests for the changes of a whole day, since ${since}. New changes are followed; those that it lists late are found by the comparison alone.`,
    next: "It is tried again, over a shorter time. If it stays, show the service's support the request and its answer:",
    recovery: () => "wide re-polls: the service answers them again.",
  },
  unlisted_changes: {
    text: ({ count, since }: Counted) =>
      `The list of changes is silent: ${counted(count, "order")} changed status and ${count === 1 ? "was" : "were"} not listed within an hour. The first was found ${since}.`,
    next: "Until the list names changes again, orders are up to date only after each comparison. Show the service's support what GET /orders/updates answers and the orders that the comparison found: SELECT order_id, at, kind FROM order_events ORDER BY seq DESC. Compare more often until then (reconcile.schedule).",
    recovery: () => "unlisted changes: the list of changes names changes again.",
  },
  unreadable_times: {
    text: ({ count }: Counted) =>
      `${counted(count, "timestamp")} of the newest orders and changes cannot be read: changes may be found by the comparison alone.`,
    next: "Ask the service's support for timestamps as ISO 8601, DD.MM.YYYY or Unix time, or name another field in orders.fields.updated_at and updates.fields.updated_at. How they look now: SELECT order_id, service_updated_at FROM orders ORDER BY order_key DESC LIMIT 20. Compare more often until then (reconcile.schedule).",
    recovery: () => "unreadable timestamps: they can be read again.",
  },
  refused_statuses: counts(
    (n) => `${counted(n, "status request")} refused.`,
    "Insert a new request, or delete the refused one. Why: SELECT id, order_id, last_error FROM status_requests WHERE state = 'refused'",
    "refused status requests",
  ),
  refused_rows: counts(
    (n, flow) => `${counted(n, "row")} of ${flow} refused by the service and tried again.`,
    BY_ITSELF,
    (flow) => `refused rows of ${flow}`,
  ),
  quarantined: counts(
    (n, flow) => `${counted(n, "record")} of ${flow} in quarantine.`,
    "See which records could not be used, and why:",
    (flow) => `quarantine of ${flow}`,
  ),
  former_rows: {
    text: ({ count, keys, subject }: { count: number; keys: string; subject: string }) =>
      `${capitalized(subject)}: ${counted(count, "row")} on the site cannot be named by the new key: ${keys}.`,
    next: "Take them off sale (gone) or leave them as they are (keep). See them first:",
    recovery: (subject: string) => `${subject}: no row of a former key waits for a person any more.`,
  },
  blocked_orders: counts(
    (n) => `${counted(n, "order")} blocked by the ERP.`,
    "Look at the orders that the ERP has put aside: the view orders_blocked.",
    "orders blocked by the ERP",
  ),
  mirror_stopped: {
    text: ({ since, error, why }: Failing) => ended(`Mirror stopped since ${since}${because(error, why)}`),
    next: "The line says what to do; orders and feeds go on meanwhile. More of it stands in the daemon's log:",
    recovery: () => "the mirror works again.",
  },
  fenced: {
    text: ({ why }: Failing) => ended(why || "Another bridge works for this shop"),
    next: "This bridge asks the service nothing; the line says what to do.",
    recovery: () => "this bridge works for its shop again.",
  },
  mirror_refused: counts(
    (n) => `${counted(n, "row")} refused by the other side of the mirror.`,
    "Rows of the ERP have the reason in their column error in PostgreSQL: correct them there. Of all others: SELECT key, value FROM mirror_state WHERE key = 'unwritten' OR key = 'unreturned'",
    "rows refused by the mirror",
  ),
  mirror_kept: counts(
    (n) => `${counted(n, "row")} of the ERP that a restored PostgreSQL does not have, or has with the stock of before.`,
    "They stay here as they are until the ERP has written them there again. If PostgreSQL is right, so that articles without a row go to zero and its higher stock is sold:",
    "rows of the ERP that a restored PostgreSQL does not have, or has with the stock of before",
  ),
  mirror_extra: counts(
    (n) => `${counted(n, "order")} in PostgreSQL that this database does not have.`,
    "This database was restored, or somebody wrote there. Stop the service here and type erp-bridge takeover: it brings them. Orders that are none: delete them there.",
    "orders in PostgreSQL that this database does not have",
  ),
  objects_changed: {
    text: ({ names }: { names: string }) =>
      `Tables, views or triggers of the bridge are missing or were changed by another program: ${names}.`,
    next: "Views, triggers and indexes are made again within seconds and at each start, where nothing else has their name. Tables and columns only the ERP can give back. What to do:",
    recovery: () => "The bridge's tables, views and triggers are as they should be again.",
  },
  erp_objects: {
    text: ({ names }: { names: string }) =>
      `Triggers or indexes of the ERP's stand on the bridge's tables, drop them: ${names}.`,
    next: "Drop them; the bridge goes on by itself.",
    recovery: () => "No triggers or indexes of the ERP's stand on the bridge's tables any more.",
  },
  clock_off: {
    text: ({ offsetS }: { offsetS: number }) =>
      `This machine's clock is ${spanText(Math.abs(offsetS))} ${offsetS > 0 ? "ahead of" : "behind"} the service's: set it right, for example with timedatectl set-ntp true.`,
    next: "Set the clock right, for example:",
    recovery: () => "This machine's clock agrees with the service's again.",
  },
  copies_misnamed: {
    text: ({ file }: { file: string }) =>
      `The newest copy in backup.dir is ${file}; another one has a later time in its name, because a clock was wrong.`,
    next: "Restore from the one that is named here. The others go by themselves once there are enough newer ones, or delete them.",
    recovery: () => "The names of copies show the newest again.",
  },
  disk_low: {
    text: ({ free }: { free: number }) => `Only ${sizeText(free)} are free on the disk of the database.`,
    next: "Free some space. What is left:",
    recovery: () => "There is room on the disk again.",
  },
  channel_unreachable: {
    text: ({ subject, since, error }: Shown & { error: string }) =>
      `${capitalized(subject)} cannot be reached since ${since} (${error}).`,
    next: "Correct alerts or heartbeat in the configuration, or the place that they name. It ends with the next call that succeeds.",
    recovery: (channel: string) => `${channel} can be reached again.`,
  },
  page_silent: {
    text: ({ address, since, error }: Shown & { address: string; error: string }) =>
      `The status page cannot listen on ${address} since ${since}: ${error === "EADDRINUSE" ? "another program holds the port" : error}. Orders go on.`,
    next: "Give http.listen another port, or end the program that holds it. Which one it is:",
    recovery: () => "The status page listens again.",
  },
  orders_untaken: {
    text: ({ ageS }: Aged) => `The ERP has left orders untaken for ${age(ageS)}.`,
    next: "See whether the ERP's exchange of orders is running.",
    recovery: () => "The ERP takes orders again.",
  },
  erp_silent: {
    text: ({ subject, ageS }: Aged) => `The ERP has not written its table of ${subject} for ${age(ageS)}.`,
    next: "See whether the ERP's export of its tables is running.",
    recovery: (feed: string) => `The ERP writes its table of ${feed} again.`,
  },
  log_grown: {
    text: ({ bytes }: { bytes: number }) =>
      `The write-ahead log has grown to ${Math.round(bytes / 1024 / 1024)} MB: some program keeps the database open for reading.`,
    next: "Close the program that has the database open for hours; lsof names candidates. The log shrinks by itself.",
    recovery: () => "The write-ahead log is small again.",
  },
};

/** `: the service cannot be reached`, or nothing where no pass has failed. */
function because(error: string | null, why: string | null): string {
  const words = failureWords({ error, why }, statusEn);
  return words === "" ? "" : `: ${words}`;
}

function age(seconds: number | null): string {
  return seconds === null ? "?" : spanText(seconds);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
