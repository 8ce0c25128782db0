/*
 * The last steps on a restored file, so that nothing that could not be brought over counts as present. What the service
 * acknowledged since the copy is unknown, so every row is sent again with its newest value; numbers that may have been
 * assigned since are skipped; and a condition reports the gap, with both its times, until a person has looked. Writes
 * only to the new file, so a crash leaves nothing but that file. Raw SQL, because it changes whole tables and handles
 * 64-bit numbers.
 */

import { loadNewestDue, UNANSWERED } from "../batches/delivery-rows.ts";
import { FEED_NAMES, type FeedName } from "../config/feed-names.ts";
import { forgetRepeats } from "../confirm/confirm-record.ts";
import { openFile } from "../database/file/open-file.ts";
import type { Progress } from "../database/log/progress.ts";
import { loadAsked, raiseAsked } from "../database/log/progress-note.ts";
import { mendQueue } from "../database/objects/make-own.ts";
import { onlyRow } from "../database/only-row.ts";
import { deleteRows } from "../database/queries.ts";
import { quoteName } from "../database/quote-name.ts";
import { meta, syncRequests } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { beginTimeline } from "../database/timeline.ts";
import { beginEpoch } from "../feeds/acknowledged-rows.ts";
import { readQuotedText } from "../feeds/source/quoted-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { raiseRevisions } from "../orders/order-rows.ts";
import { saveHold } from "../pass/hold-rows.ts";
import { lastNumber } from "./carry-orders.ts";
import { LAST_NUMBER, type Pair } from "./rows.ts";

/**
 * Numbers that are skipped where it is unknown which were assigned after the copy: more events than a shop has in
 * years, and few enough that an ERP's 32-bit counter allows two hundred such restores.
 */
export const SEQ_MARGIN = 10_000_000;
/** Tables whose numbers others may have stored. */
const NUMBERED = ["order_event_rows", "status_requests", "sync_requests", "quarantine", "batches"];

/**
 * Raises the next numbers above those in both files and in the progress note, and above any that may have been assigned
 * and lost.
 */
export function raiseNumbers(
  to: Store,
  from: Pair["from"] | undefined,
  { isComplete, note }: { isComplete: boolean; note: Progress | undefined },
): void {
  const noted = new Map([
    ["batches", BigInt(note?.batches ?? 0)],
    ["order_event_rows", BigInt(note?.events ?? 0)],
  ]);
  to.write(() => {
    const tables = to.db.prepare<unknown[], string>("SELECT name FROM sqlite_sequence").pluck().all();
    const save = to.db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = ?");
    const begin = to.db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)");
    for (const table of new Set([...tables, ...NUMBERED, ...noted.keys()])) {
      const mine = lastUsable(to.db, table);
      const inFile = from === undefined ? 0n : lastUsable(from, table);
      const inNote = isComplete ? 0n : (noted.get(table) ?? 0n);
      const theirs = inFile > inNote ? inFile : inNote;
      const margin = isComplete || !NUMBERED.includes(table) ? 0n : BigInt(SEQ_MARGIN);
      const next = (mine > theirs ? mine : theirs) + margin;
      if (tables.includes(table)) save.run(next, table);
      else if (next > 0n) begin.run(table, next);
    }
    raiseAsked(to.db, Math.max(note?.asked ?? 0, (from && loadAsked(from)) ?? 0));
    if (!isComplete) raiseRevisions(to);
  });
}

/** A number from an older version that leaves no room is ignored. */
function lastUsable(db: Pair["from"], table: string): bigint {
  const last = lastNumber(db, table);
  if (last <= LAST_NUMBER || !NUMBERED.includes(table)) return last;
  const sql = `SELECT coalesce(max(rowid), 0) FROM ${table} WHERE rowid <= ?`;
  return onlyRow(db.prepare<[bigint], bigint>(sql).pluck().safeIntegers(true).get(LAST_NUMBER));
}

/** Marks as unknown what the service acknowledged after the copy. */
export function markAcknowledgedUnknown(to: Store, because: Message): void {
  to.write(() => {
    for (const name of FEED_NAMES) beginEpoch(to, name, because);
  });
}

/**
 * Pending requests, and later ones, may have been sent since the copy: each order is read and compared before any of
 * them is sent. `first_sent_at` is null, so that a later timestamp counts as a status that may have come and gone.
 */
export function markRequestsUnknown(to: Store, map: Readonly<Record<string, string>>): void {
  to.write(() => {
    const pending = to.db
      .prepare<[], { id: bigint; status: string }>(
        "SELECT id, CAST(status AS TEXT) AS status FROM status_requests WHERE state = 'pending'",
      )
      .safeIntegers(true);
    const doubt = to.db.prepare(
      `UPDATE status_requests SET state = 'sending', status_sent = ?, echo = 'awaited', first_sent_at = NULL,
         (status_before, revision_before, stamp_before) = (
           SELECT o.status, o.revision, o.service_updated_at FROM orders o WHERE o.order_id = lower(status_requests.order_id))
       WHERE id = ?`,
    );
    for (const { id, status } of pending.all()) {
      doubt.run(Object.hasOwn(map, status) ? map[status] : status, id);
    }
    // PostgreSQL may have outcomes of any of them. A round that it has and this database lacks shows that to the mirror.
    to.db.exec("UPDATE mirror_state SET value = max(CAST(value AS INTEGER) - 1, 0) WHERE key = 'up_no'");
    // "Not found" then means that the batch was confirmed earlier.
    to.db.prepare("UPDATE batches SET confirm_attempts = max(confirm_attempts, 1) WHERE state = 'stored'").run();
  });
}

/**
 * A delivery may have been open. A confirm without ids, or of new content under an old id, must not confirm it unseen.
 * A batch whose confirm is refused may have been served since.
 */
export function loseDelivery(to: Store, at: string): void {
  const noted = UNANSWERED.load(to);
  const isDue = noted?.due !== undefined || noted?.loss !== undefined;
  to.write(() => {
    UNANSWERED.save(to, { since: at, isLost: true, ...(isDue && { due: loadNewestDue(to) }) });
    forgetRepeats(to);
  });
}

/** The queue of orders for the ERP: the stored one, corrected by the present orders and marks. */
export function settleQueue(to: Store): void {
  to.write(() => {
    to.db.exec("DELETE FROM erp_queue WHERE order_key NOT IN (SELECT order_key FROM orders)");
    mendQueue(to.db);
  });
}

/** Deletes the copy's time, requests to a former daemon, and that the journal has the batches, of which some were brought over. */
export function forgetPassing(to: Store): void {
  to.write(() => {
    deleteRows(to, meta, { key: "copied_at" });
    deleteRows(to, meta, { key: "journal_folder" });
    deleteRows(to, syncRequests, {});
  });
}

/**
 * What the feeds read may be older than what was sent, and what the service acknowledged is unknown: all of it is compared and
 * sent again, once a person says that what they read is as the ERP has it. A feed that reads a file reads nothing old.
 */
export function doubtFeeds(
  to: Store,
  imports: Readonly<Record<FeedName, FeedSource>>,
  { because, at }: { because: Message; at: string },
): Message[] {
  const held = holdFeeds(to, imports, { missing: "all", at });
  markAcknowledgedUnknown(to, because);
  return held;
}

/**
 * Holds feeds whose source may be old until a person decides: what the ERP has sold since must not be sold again.
 * @param missing names of tables that could not be brought over; `all` where any may be old
 */
export function holdFeeds(
  to: Store,
  imports: Readonly<Record<FeedName, FeedSource>>,
  { missing, at }: { missing: ReadonlySet<string> | "all"; at: string },
): Message[] {
  return FEED_NAMES.flatMap((feed) => {
    const { path, table, query, file } = imports[feed];
    if (path === null || file !== null) return [];
    const text = query ?? `SELECT * FROM ${quoteName(table)}`;
    const found = missing === "all" ? [] : findRead(to, { table, text }, missing);
    if (missing !== "all" && found.length === 0) return [];
    const detail =
      missing === "all" ? m.restore.feedOlder({ feed }) : m.restore.feedUnrestored({ feed, tables: found });
    to.write(() => saveHold(to, { area: feed, reason: "unrestored", since: at, nextProbeAt: null, detail }));
    return [detail];
  });
}

interface FeedSource {
  path: string | null;
  table: string;
  query: string | null;
  file: string | null;
}

/** Which of these tables the feed reads. */
function findRead(to: Store, { table, text }: { table: string; text: string }, names: ReadonlySet<string>): string[] {
  const tables = [table, ...tablesReadBy(to, text)].map((name) => name.toLowerCase());
  return [...names].filter((name) => tables.includes(name.toLowerCase())).sort();
}

/**
 * The tables that a statement reads, through views too. Empty where it cannot be compiled: then its feed is held
 * anyway.
 */
function tablesReadBy({ path }: Store, sql: string): string[] {
  const db = openFile(path, { readonly: true });
  try {
    const plan = () => db.prepare<unknown[], { opcode: string; p2: number }>(`EXPLAIN ${sql}`);
    const steps = readQuotedText(db, plan).all();
    const pages = steps.filter(({ opcode }) => opcode === "OpenRead").map(({ p2 }) => p2);
    const names = "SELECT DISTINCT tbl_name FROM sqlite_schema WHERE rootpage IN (SELECT value FROM json_each(?))";
    return db.prepare<unknown[], string>(names).pluck().all(JSON.stringify(pages));
  } catch {
    return [];
  } finally {
    db.close();
  }
}

/** Copies and entries of the journal from before stay until a person has ended the hold. */
export function reportGap(to: Store, detail: Message, at: string): void {
  to.write(() => {
    beginTimeline(to);
    saveHold(to, { area: "orders", reason: "restored", since: at, nextProbeAt: null, detail });
  });
}
