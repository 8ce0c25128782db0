/*
 * Records that could not be used, with payload and reason. Written in the transaction that stores the answer in which they
 * came, so that everything confirmed is here or in `orders`. Raw SQL, because it runs for every record and its key is an
 * expression.
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
  /** Instead of `payload`, if that is too large for one statement. */
  bodyId?: number | undefined;
  hash: Buffer;
  at: string;
  /** The same since the machine's start, in milliseconds; undefined where it does not matter how long the record is held. */
  machineMs?: number | undefined;
}

/** A longer id is cut, and may then stand for several records. */
const REFERENCE_MAX = 200;

/** Repetitions are counted at most once in this time, so that a record served at every poll causes no write at every poll. */
export const SIGHTING_GAP = "-1 hour";

/** Kinds whose reference is an order; of each order only the newest record is held. */
const ORDER_KINDS: ReadonlySet<BadRecord["kind"]> = new Set<BadRecord["kind"]>(["order", "change", "snapshot"]);

/**
 * Holds a bad record. The same record again adds no row, and another record of the same order replaces the held one.
 * A released record is held again from now on.
 */
export function saveQuarantined(store: Store, bad: BadRecord): boolean {
  const reason = store.textOf(bad.reason);
  if (replaceHeld(store, { ...bad, reason })) return true;
  const { changes } = store
    .prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload, body_id, payload_hash, first_seen_at, last_seen_at,
         first_seen_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, coalesce(reference, ''), payload_hash) DO UPDATE SET
         times = times + 1, last_seen_at = excluded.last_seen_at, reason = excluded.reason,
         first_seen_at = CASE state WHEN 'released' THEN excluded.first_seen_at ELSE first_seen_at END,
         first_seen_ms = CASE state WHEN 'released' THEN excluded.first_seen_ms ELSE first_seen_ms END,
         state = CASE state WHEN 'dropped' THEN 'dropped' ELSE 'held' END
       WHERE last_seen_at < strftime('%Y-%m-%dT%H:%M:%fZ', excluded.last_seen_at, '${SIGHTING_GAP}')
         OR state = 'released' OR reason <> excluded.reason`,
    )
    .run(
      bad.kind,
      bad.reference,
      reason,
      bad.payload,
      bad.bodyId ?? null,
      bad.hash,
      bad.at,
      bad.at,
      bad.machineMs ?? null,
    );
  return changes > 0;
}

/** Released contents kept per row of a feed. */
const RELEASED_KEPT = 3;
/** Rows without a key that are held; each content is a row of its own. */
const UNNAMED_KEPT = 100;

/**
 * The same for a row of a feed: its newest contents are kept, and a bounded number of rows without a key. A content that was
 * dropped before is held again if it comes back after another one.
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

/** A record that changes with every request must not add a row each time. Returns whether it replaced a held one. */
function replaceHeld(
  store: Store,
  { kind, reference, reason, payload, bodyId, hash, at }: Omit<BadRecord, "reason"> & { reason: string },
): boolean {
  if (reference === null || reference.length >= REFERENCE_MAX || !ORDER_KINDS.has(kind)) return false;
  // Several orders may have the same invalid id. Only an answer to a request for one order names the order surely.
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

/** The state of exactly this record; undefined if it was never held. */
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

/** Releases what is held of an order or key, because a good record of it arrived. */
export function releaseQuarantined(store: Store, kinds: readonly BadRecord["kind"][], reference: string): number {
  // Runs for every stored order, and nearly always finds nothing.
  if (store.prepare("SELECT 1 FROM quarantine WHERE state = 'held' LIMIT 1").get() === undefined) return 0;
  let released = 0;
  const release = store.prepare(
    "UPDATE quarantine SET state = 'released' WHERE kind = ? AND coalesce(reference, '') = ? AND state = 'held'",
  );
  for (const kind of kinds) released += release.run(kind, reference).changes;
  return released;
}

/** Releases what is held or dropped of a feed's row, because the row was accepted or has another content. */
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

/** Held records, oldest first, without payloads. */
export function loadQuarantine(store: Store, limit: number): QuarantineRow[] {
  return store
    .prepared(HELD)
    .all({ limit })
    .map((row) => ({ ...row, reason: store.messageOf(row.reason) }));
}
