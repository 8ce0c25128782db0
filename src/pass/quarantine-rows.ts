/*
 * Records that could not be used, with their payload and the reason. Written in the transaction of the answer they
 * came in, so that nothing that was confirmed is missing here or in `orders`. SQL, because it is run for every record and its
 * key is an expression.
 */

import { getTableColumns, sql } from "drizzle-orm";
import { readOrderId } from "../answers/uuid.ts";
import { onlyRow } from "../database/only-row.ts";
import type { Query } from "../database/queries.ts";
import { quarantine } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";

export interface BadRecord {
  kind: Exclude<QuarantineRow["kind"], "batch">;
  reference: string | null;
  reason: Message;
  payload: string | null;
  /** In the place of `payload` where that is too large for one statement. */
  bodyId?: number | undefined;
  hash: Buffer;
  at: string;
}

/** A longer id is cut, and then names more than one record. */
const REFERENCE_MAX = 200;

/** Sightings are counted at most once in this time, so that a record that is served at every poll is no write at every poll. */
const SIGHTING_GAP = "-1 hour";

/** Kinds whose reference names one order, of which only the newest record counts. */
const ORDER_KINDS: ReadonlySet<BadRecord["kind"]> = new Set<BadRecord["kind"]>(["order", "change", "snapshot"]);

/**
 * Keeps a bad record. The same record again is no second row, and neither is another one of the same order: it takes the
 * place of what is held. One that was released is held again, from now on.
 */
export function saveQuarantined(store: Store, bad: BadRecord): boolean {
  const reason = store.textOf(bad.reason);
  if (replaceHeld(store, { ...bad, reason })) return true;
  const { changes } = store
    .prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload, body_id, payload_hash, first_seen_at, last_seen_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, coalesce(reference, ''), payload_hash) DO UPDATE SET
         times = times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason,
         first_seen_at = CASE state WHEN 'released' THEN excluded.first_seen_at ELSE first_seen_at END,
         state = CASE state WHEN 'dropped' THEN 'dropped' ELSE 'held' END
       WHERE last_seen_at < strftime('%Y-%m-%dT%H:%M:%fZ', excluded.last_seen_at, '${SIGHTING_GAP}')
         OR state = 'released' OR reason <> excluded.reason`,
    )
    .run(bad.kind, bad.reference, reason, bad.payload, bad.bodyId ?? null, bad.hash, bad.at, bad.at);
  return changes > 0;
}

/** Former contents of one row of a feed that are kept after they were released. */
const RELEASED_KEPT = 3;
/** Rows without a key, of which each content is a row of its own: more of them say no more. */
const UNNAMED_KEPT = 100;

/**
 * The same for a row of a feed: only its newest contents are kept, and so many rows that no key can name. What was dropped of
 * the row was another content: should that come again, it is held.
 */
export function saveQuarantinedRow(store: Store, bad: BadRecord): boolean {
  if (bad.reference !== null && loadQuarantineState(store, bad) !== "dropped")
    releaseRow(store, bad.kind, bad.reference);
  const isFull = bad.reference === null && countHeldUnnamed(store, bad.kind) >= UNNAMED_KEPT;
  if (isFull && loadQuarantineState(store, bad) === undefined) return false;
  const isNew = saveQuarantined(store, bad);
  store
    .prepare(
      `DELETE FROM quarantine WHERE kind = @kind AND coalesce(reference, '') = @reference AND state = 'released' AND id <= (
         SELECT id FROM quarantine WHERE kind = @kind AND coalesce(reference, '') = @reference AND state = 'released'
         ORDER BY id DESC LIMIT 1 OFFSET @kept)`,
    )
    .run({
      kind: bad.kind,
      reference: bad.reference ?? "",
      kept: bad.reference === null ? UNNAMED_KEPT : RELEASED_KEPT,
    });
  return isNew;
}

function countHeldUnnamed(store: Store, kind: BadRecord["kind"]): number {
  const { n } = onlyRow(
    store
      .prepare<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM quarantine WHERE kind = ? AND coalesce(reference, '') = '' AND state = 'held'
       LIMIT ${UNNAMED_KEPT})`,
      )
      .get(kind),
  );
  return n;
}

/** A record that changes with every request must not add a row with every request. Returns whether it took another's place. */
function replaceHeld(
  store: Store,
  { kind, reference, reason, payload, bodyId, hash, at }: Omit<BadRecord, "reason"> & { reason: string },
): boolean {
  if (reference === null || reference.length >= REFERENCE_MAX || !ORDER_KINDS.has(kind)) return false;
  // Several orders may bear what is no id. Only of an answer for one order it is known whose it is.
  if (kind !== "snapshot" && readOrderId(reference) === undefined) return false;
  if (store.prepare("SELECT 1 FROM quarantine WHERE state = 'held' LIMIT 1").get() === undefined) return false;
  if (loadQuarantineState(store, { kind, reference, hash }) !== undefined) {
    store
      .prepare(
        "DELETE FROM quarantine INDEXED BY quarantine_record WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held' AND payload_hash <> ?",
      )
      .run(kind, reference, hash);
    return false;
  }
  const { changes } = store
    .prepare(
      `UPDATE quarantine SET reason = ?, payload = ?, body_id = ?, payload_hash = ?, last_seen_at = ?, times = times + 1
       WHERE id = (SELECT max(id) FROM quarantine INDEXED BY quarantine_record
         WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held')`,
    )
    .run(reason, payload, bodyId ?? null, hash, at, kind, reference);
  return changes > 0;
}

/** What was decided about exactly this record; undefined where it is not known. */
export function loadQuarantineState(
  store: Store,
  { kind, reference, hash }: Pick<BadRecord, "kind" | "reference" | "hash">,
): QuarantineRow["state"] | undefined {
  const row = store
    .prepare<Pick<QuarantineRow, "state">>(
      "SELECT state FROM quarantine WHERE kind = ? AND coalesce(reference, '') = coalesce(?, '') AND payload_hash = ?",
    )
    .get(kind, reference, hash);
  return row?.state;
}

/** A good record of the same order or key has arrived: what was held of it is settled. */
export function releaseQuarantined(store: Store, kinds: readonly BadRecord["kind"][], reference: string): number {
  // Asked for every order that is stored, and nearly always in vain.
  if (store.prepare("SELECT 1 FROM quarantine WHERE state = 'held' LIMIT 1").get() === undefined) return 0;
  let released = 0;
  const release = store.prepare(
    "UPDATE quarantine SET state = 'released' WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'",
  );
  for (const kind of kinds) released += release.run(kind, reference).changes;
  return released;
}

/** A row of a feed is accepted, or has another content: what was held or dropped of it is settled. */
export function releaseRow(store: Store, kind: BadRecord["kind"], reference: string): void {
  store
    .prepare(
      "UPDATE quarantine SET state = 'released' WHERE kind = ? AND coalesce(reference, '') = ? AND state <> 'released'",
    )
    .run(kind, reference);
}

type Stored = Omit<typeof quarantine.$inferSelect, "payload" | "payloadHash" | "bodyId">;
export type QuarantineRow = Omit<Stored, "reason"> & { reason: Message };

const HELD = (query: Query) => {
  const { payload, payloadHash, bodyId, ...columns } = getTableColumns(quarantine);
  const isHeld = sql`${quarantine.state} = 'held'`; // not a parameter: its index is of held rows alone
  return query.select(columns).from(quarantine).where(isHeld).orderBy(quarantine.id).limit(LIMIT).prepare();
};
const LIMIT = sql.placeholder("limit");

/** What is held, oldest first, without the payloads. */
export function loadQuarantine(store: Store, limit: number): QuarantineRow[] {
  return store
    .prepared(HELD)
    .all({ limit })
    .map((row) => ({ ...row, reason: store.messageOf(row.reason) }));
}
