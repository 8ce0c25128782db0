/*
 * Finds signs that a restored database lacks something that the replaced one had. A damaged file may be readable
 * without an error and have less than was stored, so its own rows prove nothing: the progress note, its numbers and
 * references between rows are compared with the result. Only reads.
 */

import type Database from "better-sqlite3";
import { isBehind, isUnnoted, type Note, type Standing } from "../database/log/progress.ts";
import { progressOf } from "../database/log/progress-note.ts";
import { onlyRow } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { lastNumber } from "./carry-orders.ts";
import type { Replaced } from "./examine.ts";
import { hasTable, isDamage } from "./rows.ts";
import { SEQ_MARGIN } from "./settle.ts";

interface Compared {
  replaced: Replaced & { state: "there" };
  result: Store;
  note: Note | undefined;
  /** The largest numbers in the copy. */
  copied: CopiedNumbers;
}

export interface CopiedNumbers {
  batches: bigint;
  events: bigint;
}

export function numbersOfCopy({ db }: Store): CopiedNumbers {
  return { batches: lastNumber(db, "batches"), events: lastNumber(db, "order_event_rows") };
}

/**
 * `words`: whole sentences; empty where nothing is missing. `isOlder`: what the ERP wrote last may be in neither file, because
 * the replaced one was begun anew, is older than the copy, or is behind its note.
 */
export function findLack(compared: Compared): { words: Message[]; isOlder: boolean } {
  const { replaced } = compared;
  const damaged = (found: string) => m.backup.replacedDamaged({ found });
  const words = replaced.damage === undefined ? [] : [damaged(replaced.damage)];
  let isOlder = !replaced.continues;
  try {
    const noted = compareNotes(compared);
    isOlder ||= noted.length > 0;
    words.push(...noted, ...compareRows(compared));
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (words.length === 0) words.push(damaged((error as Error).message));
  }
  return { words, isOlder };
}

function compareNotes({ replaced, result, note }: Compared): Message[] {
  const own = progressOf(replaced.db, note);
  // An earlier restore has reported what may be missing, and nothing was added since.
  if (own === undefined || own.mark === "settled") return [];
  if (isUnnoted(own, note)) return [m.backup.noNote];
  if (note?.database !== own.database) return [];
  const words: Message[] = [];
  if (note.suspect === "log") words.push(m.backup.logSpoilt);
  if (isBehind(own, note) || lacksNoted(progressOf(result.db, note), note)) words.push(m.backup.noteAhead);
  return words;
}

/** Whether the result lacks a row that the note names. Numbers of lost rows are not assigned again here. */
function lacksNoted(own: Standing | undefined, note: Note): boolean {
  return own?.database === note.database && own.lacksRow;
}

function compareRows({ replaced: { db }, result, note, copied }: Compared): Message[] {
  const words: Message[] = [];
  const nameless = hasTable(db, "order_event_rows") ? countNameless(db, copied.events) : 0;
  if (nameless > 0) words.push(m.backup.historyAhead({ orders: nameless }));
  const missing = countMissingEvents(db, result);
  if (missing > 0n) words.push(m.backup.numbersAhead({ count: Number(missing) }));
  // A note that could be compared is exact. The next check is not: a batch without new orders looks like a lost one.
  if (note !== undefined) return words;
  const orders = countOrdersOfLostBatches(result.db, copied.batches);
  if (orders > 0) words.push(m.backup.batchesAhead({ orders }));
  return words;
}

/** Orders that have events but no row. */
function countNameless(db: Database.Database, after: bigint): number {
  const sql = `SELECT count(*) FROM (SELECT DISTINCT order_key FROM order_event_rows WHERE seq > ?)
    WHERE order_key NOT IN (SELECT order_key FROM orders)`;
  return onlyRow(db.prepare<unknown[], number>(sql).pluck().get(after));
}

/** Numbers have no gaps except those that a restore leaves; the oldest rows are pruned. */
function countMissingEvents(db: Database.Database, result: Store): bigint {
  const sql = "SELECT coalesce(max(seq), 0) FROM order_event_rows";
  const newest = onlyRow(result.db.prepare<unknown[], bigint>(sql).pluck().safeIntegers(true).get());
  const missing = lastNumber(db, "order_event_rows") - newest;
  return newest > 0n && missing > 0n && missing < BigInt(SEQ_MARGIN) ? missing : 0n;
}

/** Orders of batches that came after the copy, where nothing was stored at the time of the batch. */
function countOrdersOfLostBatches(db: Database.Database, after: bigint): number {
  const sql = `SELECT coalesce(sum(order_count), 0) FROM batches
    WHERE id > ? AND state <> 'unread' AND received_at NOT IN (
      SELECT received_at FROM orders UNION SELECT at FROM order_event_rows UNION SELECT first_seen_at FROM quarantine)`;
  return onlyRow(db.prepare<unknown[], number>(sql).pluck().get(after));
}
