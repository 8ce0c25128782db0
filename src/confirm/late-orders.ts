/*
 * Orders whose confirm comes after the position of changes has passed them. Services list the changes of orders that were delivered: what
 * became of an order before its confirm is listed only afterwards, under a time from which nothing is asked any more. Such an order is read
 * once: `owed_reads` has a row from the transaction that notes the confirm. SQL, because it is run for every batch.
 */
import { readTimestamp } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import type { BatchRow } from "../batches/batch-rows.ts";
import { onlyValue } from "../database/only-row.ts";
import type { Store } from "../database/store.ts";
import type { JobContext } from "../pass/job.ts";
import { loadWatermark, requestRead, SWEEP_STREAM, TIME_STREAM, UPDATES_STREAM } from "../pass/position-rows.ts";

/** Where changes begin to be asked for: `overlapMs` before the position. */
export interface ChangesFrom {
  timezone: string;
  overlapMs: number;
}

/** So many reads may wait because of this: where a backlog of months is delivered, the sweep of the night and `reconcile` see the others. */
const READS_MAX = 1_000;
const IDS_PER_TURN = 1_000;

export class LateOrders {
  readonly #context: JobContext;
  readonly #from: ChangesFrom;

  constructor(context: JobContext, from: ChangesFrom) {
    this.#context = context;
    this.#from = from;
  }

  /** Open orders of a batch whose newest content that is stored is older than what changes are asked from; nothing is held while it looks. */
  async find(
    { orderIds, receivedAt }: Pick<BatchRow, "orderIds" | "receivedAt">,
    signal: AbortSignal,
  ): Promise<string[]> {
    const { store, clock } = this.#context;
    const fromNs = this.#findStart();
    if (fromNs === undefined || orderIds === null) return [];
    const served = (JSON.parse(orderIds) as unknown[]).flatMap((id) =>
      typeof id === "string" ? (readOrderId(id) ?? []) : [],
    );
    const late: string[] = [];
    const room = READS_MAX - onlyValue<number>(store, "SELECT count(*) FROM owed_reads");
    for (let at = 0; at < served.length && late.length < room; at += IDS_PER_TURN) {
      if (at > 0) await clock.sleep(0, signal);
      for (const { orderId, changedAt } of loadOpen(store, served.slice(at, at + IDS_PER_TURN))) {
        const timestamp = readTimestamp(changedAt ?? receivedAt, this.#from.timezone);
        if (timestamp !== undefined && timestamp.instantNs < fromNs) late.push(orderId);
      }
    }
    return late.slice(0, Math.max(room, 0));
  }

  /** Inside the transaction that notes the confirm. */
  save(orderIds: readonly string[], at: string): void {
    for (const orderId of orderIds) requestRead(this.#context.store, { orderId, serviceId: orderId }, at);
  }

  /** Undefined before changes were followed: what a first pull brings from months is not read one by one. */
  #findStart(): bigint | undefined {
    const { store } = this.#context;
    if (loadWatermark(store, SWEEP_STREAM) === undefined) return undefined;
    const { timezone, overlapMs } = this.#from;
    const position = [UPDATES_STREAM, TIME_STREAM]
      .map((stream) => readTimestamp(loadWatermark(store, stream) ?? null, timezone))
      .find((time) => time !== undefined);
    return position === undefined ? undefined : position.instantNs - BigInt(overlapMs) * 1_000_000n;
  }
}

/** `changedAt`: as the service writes it. */
function loadOpen(store: Store, orderIds: readonly string[]): { orderId: string; changedAt: string | null }[] {
  return store
    .prepare<{ orderId: string; changedAt: string | null }>(
      `SELECT order_id AS orderId, coalesce(service_updated_at, service_created_at) AS changedAt
       FROM json_each(?) ids CROSS JOIN orders ON order_id = ids.value WHERE is_open = 1 AND removed_at IS NULL`,
    )
    .all(JSON.stringify(orderIds));
}
