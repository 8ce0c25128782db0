/*
 * What is saved of a confirm that is sent in parts. SQL, because each poll runs it; it names the partial index of the state.
 */

import { type BatchRow, SERVED_HERE } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";
import { type Accepted, saveCoveredIds } from "./outcome-rows.ts";
import type { Division } from "./plan-division.ts";
import { FAILURES_OF_ONE_MAX } from "./plan-outcome.ts";

const DIVISIONS_MAX = 500;

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

/** The confirm of this part of a batch was accepted. */
export function saveAcceptedPart(
  store: Store,
  part: BatchRow,
  left: { rest: string; begun: boolean },
  by: Accepted,
): void {
  if (part.state !== "confirmed") saveUnconfirmedIds(store, part.id, left);
  saveCoveredIds(store, part.orderIds ?? "[]", by);
}

/** Divisions that were broken off, by row id of the batch. */
export class SavedDivisions {
  readonly #times: SavedTimes;
  readonly #divisions: Map<number, Division>;

  constructor(times: SavedTimes, { divisions }: Pick<ConfirmTimes, "divisions"> = {}) {
    this.#times = times;
    this.#divisions = new Map(divisions?.map(({ id, ...division }) => [id, division]));
  }

  get(id: number): Division | undefined {
    return this.#divisions.get(id);
  }

  /** One without waiting parts has come to its end. */
  set(id: number, { waiting, alone }: Division): void {
    this.forget(id);
    if (waiting.length === 0 || this.#divisions.size >= DIVISIONS_MAX) return;
    this.#divisions.set(id, { waiting, alone });
    this.#times.isUnsaved = true;
  }

  forget(id: number): void {
    this.#times.isUnsaved = this.#divisions.delete(id) || this.#times.isUnsaved;
  }

  toSaved(): Pick<ConfirmTimes, "divisions"> {
    if (this.#divisions.size === 0) return {};
    return { divisions: [...this.#divisions].map(([id, division]) => ({ id, ...division })) };
  }
}
