/*
 * Renames a feed's acknowledged and waiting rows after a change of the key columns. Rows are moved, some at a time, to a
 * temporary feed id under their new keys, and then back: so new keys do not collide with old ones, and after a crash the
 * same steps continue.
 */

import { onlyRow, onlyValue } from "../../database/only-row.ts";
import { columnList } from "../../database/queries.ts";
import type { NamedRow } from "../../database/row.ts";
import { feedSent } from "../../database/schema.ts";
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { firstOf } from "../feed-record.ts";
import { countLive, INVALID_EPOCH, type KeyParts, keyOf, paddedKey } from "../feed-rows.ts";
import { UNSHOWN } from "../guard/guard-rows.ts";
import { type FormerKey, formerName, type Naming } from "./former-key.ts";
import type { Rename } from "./former-names.ts";
import { deleteFormer, listFormerRows, saveFormer, saveFormerState, saveTried } from "./former-rows.ts";

/** `isMoved`: all rows have their new keys, and are being moved back. */
export interface Rekey {
  from: FormerKey;
  isMoved: boolean;
}

export function loadRekey(store: Store, rules: FeedRules): Rekey | undefined {
  const sql = "SELECT rekey_from FROM feeds WHERE feed_id = ?";
  const text = onlyRow(store.prepare<string | null>(sql).pluck().get(rules.feedId));
  return text === null ? undefined : (JSON.parse(text) as Rekey);
}

export function saveRekey(store: Store, rules: FeedRules, rekey: Rekey | null): void {
  store
    .prepare("UPDATE feeds SET rekey_from = ? WHERE feed_id = ?")
    .run(rekey === null ? null : JSON.stringify(rekey), rules.feedId);
}

const SENT_COLUMNS = ["k0", "k1", "k2", "k3", "record", "sentAt", "gone", "live", "epoch"] as const;
/** `isKnown`: whether its acknowledgement is valid. */
type SentRow = NamedRow<typeof feedSent, (typeof SENT_COLUMNS)[number]> & { isKnown: number };

const IS_KNOWN = `(SELECT f.epoch = feed_sent.epoch AND f.open_tables = 0 AND (f.doubt_since IS NULL OR feed_sent.sent_at < f.doubt_since)
  FROM feeds f WHERE f.feed_id = abs(feed_sent.feed_id))`;
const SENT = `${columnList(feedSent, SENT_COLUMNS)}, ${IS_KNOWN} AS isKnown`;

/** Parameters of a step: `from`: the former key of the moved rows; `at`: the current time. */
export interface RenameStep {
  rename: Rename;
  from: FormerKey;
  at: string;
  limit: number;
}

/** Moves some acknowledged rows aside, or to `feed_former` where they have no new key. Returns how many. */
export function moveSent(store: Store, rules: FeedRules, step: RenameStep): number {
  const all = store.prepare<SentRow>(`SELECT ${SENT} FROM feed_sent WHERE feed_id = ? LIMIT ?`);
  const rows = firstOf(all.iterate(rules.feedId, step.limit), ({ record }) => record.length);
  const take = store.prepare("DELETE FROM feed_sent WHERE feed_id = ? AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?");
  for (const row of rows) {
    const key = keyOf(step.from, row);
    take.run(rules.feedId, row.k0, row.k1, row.k2, row.k3);
    countLive(store, rules, -row.live);
    const naming = nameRow(store, rules, { key, record: row.record }, step);
    if (naming.kind === "named") putAside(store, rules, naming.key, row);
    else saveUnnamed(store, rules, row, { ...step, key, state: naming.kind });
  }
  return rows.length;
}

/** Stores an acknowledged row under its former key. A validly acknowledged deletion is dropped. */
function saveUnnamed(
  store: Store,
  rules: FeedRules,
  { record, sentAt, gone, live, isKnown }: SentRow,
  row: { from: FormerKey; key: readonly string[]; at: string; state: "away" | "waiting" },
): void {
  if (isKnown === 0) saveTried(store, rules, { ...row, record, sentAt });
  else if (gone === 0) saveFormer(store, rules, { ...row, record, sentAt, live });
}

/** Tries to rename the next rows after `after` that earlier changes of the key could not. Returns the last; undefined: none left. */
export function moveFormer(
  store: Store,
  rules: FeedRules,
  step: RenameStep & { after: string | undefined },
): string | undefined {
  const rows = listFormerRows(store, rules, step);
  for (const row of rows) {
    const naming = nameRow(store, rules, row, step);
    // The decision of a person is kept, unless the source has the row.
    if (row.state === "kept" && !(naming.kind === "named" && naming.isPresent)) continue;
    if (naming.kind === "named") {
      deleteFormer(store, rules, step.from, row.key);
      putAside(store, rules, naming.key, { ...row, gone: 0, epoch: INVALID_EPOCH });
    } else if (row.state !== "gone")
      saveFormerState(store, rules, step.from, { key: row.key, state: naming.kind, at: step.at });
  }
  return rows.at(-1)?.keyText;
}

/** A table that is sent whole, or whose deleted rows send nothing, needs no decision by a person. */
function nameRow(
  store: Store,
  rules: FeedRules,
  row: { key: readonly string[]; record: string },
  { rename, from }: RenameStep,
): Naming {
  const naming = rename(row.key, row.record);
  const isTaken = naming.kind === "named" && countAside(store, rules, naming.key) > 0;
  if (naming.kind === "named" && !isTaken) return naming;
  if (rules.scope === "whole" || rules.deletion === null)
    return { kind: "named", key: [formerName(from, row.key)], isPresent: false, else: "waiting" };
  return naming.kind === "named" ? { kind: naming.else } : naming;
}

function countAside(store: Store, rules: FeedRules, key: readonly string[]): number {
  const sql =
    "SELECT count(*) FROM feed_sent WHERE feed_id = ? AND gone = 0 AND k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?";
  return onlyValue(store, sql, -rules.feedId, ...paddedKey(key));
}

function putAside(
  store: Store,
  rules: FeedRules,
  key: readonly string[],
  row: Pick<SentRow, "record" | "sentAt" | "gone" | "live" | "epoch">,
): void {
  // Where two rows become one and one of them is deleted, the other is kept.
  const { changes } = store
    .prepare(
      `INSERT INTO feed_sent (feed_id, k0, k1, k2, k3, record, sent_at, gone, live, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET record = excluded.record, gone = excluded.gone, live = excluded.live, epoch = ${INVALID_EPOCH}
       WHERE excluded.gone = 0`,
    )
    .run(-rules.feedId, ...paddedKey(key), row.record, row.sentAt, row.gone, row.live, row.epoch);
  if (changes > 0) countLive(store, rules, row.live);
}

/** The same for the outbox: only rows in flight are kept; the others are found again by the comparison. */
export function moveQueued(store: Store, rules: FeedRules, step: RenameStep): number {
  const all = store
    .prepare<KeyParts & { id: number; flight: string | null }>(
      "SELECT id, k0, k1, k2, k3, doubt_record AS flight FROM feed_outbox WHERE feed_id = ? LIMIT ?",
    )
    .iterate(rules.feedId, step.limit);
  const rows = firstOf(all, ({ flight }) => flight?.length ?? 0);
  const drop = store.prepare("DELETE FROM feed_outbox WHERE id = ?");
  const keep = store.prepare(
    `UPDATE OR REPLACE feed_outbox SET feed_id = ?, k0 = ?, k1 = ?, k2 = ?, k3 = ?, state = 'waiting', last_error = NULL,
       record = doubt_record, gone = 0, away_since_ms = NULL, drop_round = iif(drop_round IS NULL, NULL, ${UNSHOWN})
     WHERE id = ?`,
  );
  for (const row of rows) {
    const key = keyOf(step.from, row);
    const naming = row.flight === null ? undefined : step.rename(key, row.flight);
    if (naming?.kind === "named") keep.run(-rules.feedId, ...paddedKey(naming.key), row.id);
    else drop.run(row.id);
    // Its request may have been accepted.
    if (row.flight === null || naming === undefined || naming.kind === "named") continue;
    saveTried(store, rules, { ...step, key, record: row.flight, sentAt: step.at, state: naming.kind });
  }
  return rows.length;
}

/** Moves some rows back to the feed's own id. Returns how many. */
export function moveBack(store: Store, rules: FeedRules, limit: number): number {
  const move = (table: string) =>
    store
      .prepare(
        `UPDATE ${table} SET feed_id = ? WHERE feed_id = ? AND (k0, k1, k2, k3) IN
           (SELECT k0, k1, k2, k3 FROM ${table} WHERE feed_id = ? LIMIT ?)`,
      )
      .run(rules.feedId, -rules.feedId, -rules.feedId, limit).changes;
  return move("feed_sent") + move("feed_outbox");
}

/** Drops dirty keys and quarantined records under the former keys. */
export function forgetFormerNames(store: Store, rules: FeedRules): void {
  store.prepare("DELETE FROM feed_dirty WHERE feed_id = ?").run(rules.feedId);
  store.prepare("UPDATE quarantine SET state = 'released' WHERE kind = ? AND state = 'held'").run(rules.name);
}

/** For a second change before the first was complete: rows moved aside become rows of a former key, to be renamed again. */
export function leaveMoved(
  store: Store,
  rules: FeedRules,
  step: { from: FormerKey; at: string; limit: number },
): number {
  const some = (table: string) => `DELETE FROM ${table} WHERE feed_id = ? AND (k0, k1, k2, k3) IN
    (SELECT k0, k1, k2, k3 FROM ${table} WHERE feed_id = ? LIMIT ?)`;
  const values = [-rules.feedId, -rules.feedId, step.limit] as const;
  const sent = store.prepare<SentRow>(`${some("feed_sent")} RETURNING ${SENT}`).all(...values);
  const keyOf = ({ k0, k1, k2, k3 }: Pick<SentRow, "k0" | "k1" | "k2" | "k3">) =>
    [k0, k1, k2, k3].slice(0, step.from.keys.length);
  for (const row of sent) {
    countLive(store, rules, -row.live);
    saveUnnamed(store, rules, row, { ...step, key: keyOf(row), state: "waiting" });
  }
  const queued = store
    .prepare<Pick<SentRow, "k0" | "k1" | "k2" | "k3"> & { flight: string | null }>(
      `${some("feed_outbox")} RETURNING k0, k1, k2, k3, doubt_record AS flight`,
    )
    .all(...values);
  for (const row of queued) {
    if (row.flight === null) continue;
    saveTried(store, rules, { ...step, key: keyOf(row), record: row.flight, sentAt: step.at, state: "waiting" });
  }
  return sent.length + queued.length;
}
