/* SQL, because drizzle cannot say it; it names the partial index of the state. */
import { type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import { SIGHTING_GAP } from "../pass/quarantine-rows.ts";
import type { NamedOrder } from "./plan-repeat.ts";

/** What is stored of these orders (JSON array of ids in lower case), which a refused confirm of the batch names. */
export function loadNamedOrders(
  store: Store,
  { id, orderIds, account }: Pick<BatchRow, "id"> & { orderIds: string; account: string },
): NamedOrder[] {
  const before = (state: string) => `SELECT order_ids FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND id < @id AND ${SERVED_HERE}`;
  return store
    .prepare<Record<Exclude<keyof NamedOrder, "source">, number> & Pick<NamedOrder, "source">>(
      `SELECT last.source AS source, orders.removed_at IS NOT NULL AS isRemoved,
         coalesce(last.at IN (SELECT received_at FROM batches
           WHERE state = 'confirmed' AND id < @id AND ${SERVED_HERE}), 0) AS isConfirmed,
         ids.value IN (SELECT lower(theirs.value) FROM (${before("stored")} UNION ALL ${before("refused")}) due,
           json_each(due.order_ids) theirs) AS isUnconfirmed,
         ids.value IN (SELECT order_id FROM owed_reads) OR EXISTS (SELECT 1 FROM quarantine INDEXED BY quarantine_record
           WHERE kind IN ('order', 'change', 'snapshot') AND state = 'held'
             AND coalesce(reference, '') >= ids.value AND coalesce(reference, '') < ids.value || '!') AS mayHaveChanged
       FROM json_each(@orderIds) ids LEFT JOIN orders ON order_id = ids.value
       LEFT JOIN order_event_rows last ON last.seq = (SELECT seq FROM order_event_rows mine
         WHERE mine.order_key = orders.order_key AND mine.source <> 'remap' ORDER BY seq DESC LIMIT 1)`,
    )
    .all({ id, orderIds, account })
    .map(({ source, isConfirmed, isUnconfirmed, mayHaveChanged, isRemoved }) => ({
      source,
      isRemoved: isRemoved === 1,
      isConfirmed: isConfirmed === 1,
      isUnconfirmed: isUnconfirmed === 1,
      mayHaveChanged: mayHaveChanged === 1,
    }));
}

/** Whether a record that came then may have been quarantined. A sighting is saved only if the one before is old enough. */
export function hasQuarantined(store: Store, { receivedAt }: Pick<BatchRow, "receivedAt">): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM quarantine
    WHERE kind = 'order' AND first_seen_at <= @receivedAt
      AND last_seen_at >= strftime('%Y-%m-%dT%H:%M:%fZ', @receivedAt, '${SIGHTING_GAP}'))`;
  return onlyValue<number>(store, sql, { receivedAt }) === 1;
}
