/* Rows of a confirm that is sent in parts. SQL, because each poll runs it; it names the partial index of the state. */
import { type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import { FAILURES_OF_ONE_MAX } from "./outcome-rows.ts";

/** The ids, as JSON literals, of orders that were refused alone: the confirm of an earlier batch names nothing else. */
export function loadRefusedAlone(store: Store, { id }: Pick<BatchRow, "id">, account: string): string[] {
  const inState = (state: string, more = "") => `SELECT order_ids AS ids FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND id < @id AND ${SERVED_HERE} AND json_array_length(order_ids) = 1 ${more}`;
  const sql = `${inState("stored", `AND confirm_attempts >= ${FAILURES_OF_ONE_MAX}`)} UNION ALL ${inState("refused")}`;
  const rows = store.prepare<{ ids: string }>(sql).all({ id, account });
  return rows.map(({ ids }) => ids.slice(1, -1).trim());
}

/**
 * The confirm of the batch's other ids was accepted; `rest` is left. `begun`: the first attempt at it starts with this
 * commit.
 */
export function saveUnconfirmedIds(store: Store, id: number, { rest, begun }: { rest: string; begun: boolean }): void {
  store
    .prepare(
      `UPDATE batches SET order_ids = ?, confirm_attempts = CASE state WHEN 'stored' THEN ? ELSE confirm_attempts END
       WHERE id = ? AND state IN ('stored', 'refused')`,
    )
    .run(rest, begun ? 1 : 0, id);
}
