/*
 * Names of batches that do not tell them apart, such as the day or a constant: the confirm of such a name covers all that
 * was delivered under it, an answer that was lost included. It waits like a confirm that names nothing. A restored service
 * that numbers its batches anew uses each name once more, but not one name again and again.
 */
import type { BatchRow } from "../batches/batch-rows.ts";
import { MetaValue } from "../database/meta.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";

/** So often a restored service does not use one name again. */
const REUSES_MIN = 2;
/** Among so many batches uses of a name are counted, and for so many after the last reuse names count as reused. */
const REUSED_FOR = 200;

/** What the batches show about their names, also those of another address: it is mostly the same service. */
export interface NameUse {
  /** The newest batch; a null name: its confirm names its orders. Undefined: none has come yet. */
  newest: { id: number; name: string | null } | undefined;
  /** Whether another name than the newest one was ever used. */
  hasOthers: boolean;
  reused: Reuse | undefined;
}

/** A name came again with other orders. */
interface Reuse {
  /** Row id of the newest batch before. */
  after: number;
  times: number;
}

const REUSED = new MetaValue<Reuse | undefined>("reused_name");

/** Whether the confirm of a name may cover orders of another answer. */
export function isNameShared({ newest, hasOthers, reused }: NameUse): boolean {
  if (newest === undefined || isNameReused({ newest, hasOthers, reused })) return true;
  // Before there is a second name, it may be the name of all batches.
  return newest.name !== null && !hasOthers;
}

/** Whether names were used again: the confirm of one covers all that is delivered under it. */
export function isNameReused(use: NameUse): boolean {
  return timesReused(use) >= REUSES_MIN;
}

/** How often a name was used again, as far as that is not long ago. */
function timesReused({ newest, reused }: Pick<NameUse, "newest" | "reused">): number {
  if (newest === undefined || reused === undefined) return 0;
  return newest.id - reused.after <= REUSED_FOR ? reused.times : 0;
}

export function loadNameUse(store: Store): NameUse {
  const newest = store
    .prepare<{ id: number; name: string | null }>(
      "SELECT id, service_batch_id AS name FROM batches WHERE state <> 'unread' ORDER BY id DESC LIMIT 1",
    )
    .get();
  const reused = REUSED.load(store);
  const name = newest?.name ?? undefined;
  // Not asked where it decides nothing: of a shop with one name only it would read all rows.
  const isAsked = name !== undefined && timesReused({ newest, reused }) < REUSES_MIN;
  const sql = "SELECT EXISTS (SELECT 1 FROM batches WHERE service_batch_id <> ?)";
  return { newest, hasOthers: isAsked && onlyValue<number>(store, sql, name) === 1, reused };
}

/** Row id of the newest former batch with the name of a new one, where names tell batches apart. */
export function loadFormerOfName(store: Store, { id, batchId }: Pick<BatchRow, "id" | "batchId">): number | undefined {
  if (isNameShared(loadNameUse(store))) return undefined;
  const sql = "SELECT max(id) FROM batches WHERE id >= ? AND id < ? AND service_batch_id = ?";
  return onlyValue<number | null>(store, sql, id - REUSED_FOR, id, batchId) ?? undefined;
}

/**
 * Whether a confirmed batch had the name of one that came with new orders alone, where names tell batches apart.
 * @param batch only its name, where it is not stored yet
 */
export function isNameOfConfirmed(
  store: Store,
  { id, batchId, orderIds = "[]", receivedAt = "" }: Pick<BatchRow, "batchId"> & Partial<BatchRow>,
): boolean {
  const use = loadNameUse(store);
  if (use.newest === undefined || isNameShared(use)) return false;
  const before = id ?? use.newest.id + 1;
  const sql = `SELECT EXISTS (SELECT 1 FROM batches
      WHERE id >= @before - ${REUSED_FOR} AND id < @before AND service_batch_id = @batchId AND state = 'confirmed')
    AND NOT EXISTS (SELECT 1 FROM json_each(@orderIds) ids JOIN orders ON order_id = ids.value
      JOIN order_event_rows events USING (order_key) WHERE events.at < @receivedAt)`;
  return onlyValue<number>(store, sql, { before, batchId, orderIds, receivedAt }) === 1;
}

/** To be called in the transaction that stores a batch of new orders alone, before its row is saved. */
export function noteName(store: Store, name: string): void {
  const { newest, reused } = loadNameUse(store);
  if (newest === undefined) return;
  const sql = "SELECT count(*) FROM batches WHERE id > ? AND service_batch_id = ?";
  const uses = onlyValue<number>(store, sql, newest.id - REUSED_FOR, name);
  if (uses === 0) return;
  // A day with two batches has two of one name, one after the other, like the day before.
  const before = timesReused({ newest, reused }) + Number(newest.name === name);
  const times = Math.min(Math.max(before, uses), REUSES_MIN);
  REUSED.save(store, { after: newest.id, times });
}
