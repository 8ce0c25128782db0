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
import {
  hasFollowed,
  loadReached,
  loadWatermark,
  requestRead,
  TIME_STREAM,
  UPDATES_STREAM,
} from "../pass/position-rows.ts";

/** Where changes begin to be asked for: `overlapMs` before the position. */
export interface ChangesFrom {
  timezone: string;
  overlapMs: number;
}

/** So many reads may wait because of this: where a backlog of months is delivered, the sweep of the night and `reconcile` see the others. */
const READS_MAX = 1_000;
const IDS_PER_TURN = 1_000;

type Confirmed = Pick<BatchRow, "orderIds" | "receivedAt">;

/** One for what confirms and what follows changes: each pass over changes sees what is confirmed meanwhile. */
export class LateOrders {
  readonly #context: JobContext;
  readonly #from: ChangesFrom;
  /**
   * Batches that were confirmed while a pass over changes goes on: its answers may be from before, and its position moves afterwards. In
   * memory alone: a pass that is broken off moves none.
   */
  #duringPass: Confirmed[] | undefined;

  constructor(context: JobContext, from: ChangesFrom) {
    this.#context = context;
    this.#from = from;
  }

  /** A pass over changes begins. */
  beginPass(): void {
    this.#duringPass = [];
  }

  endPass(): void {
    this.#duringPass = undefined;
  }

  /**
   * Open orders of a batch whose newest content that is stored is older than what changes are asked from. The batch is noted for a pass over
   * changes that goes on; other work has its turn between steps.
   */
  async find(batch: Confirmed, signal: AbortSignal): Promise<string[]> {
    const { clock } = this.#context;
    // Before the position is looked at: one that moves from now on is looked at with this batch.
    this.#duringPass?.push(batch);
    const fromNs = this.#findStart();
    if (fromNs === undefined) return [];
    const late: string[] = [];
    const room = this.#countRoom();
    const served = listServed(batch);
    for (let at = 0; at < served.length && late.length < room; at += IDS_PER_TURN) {
      if (at > 0) await clock.sleep(0, signal);
      late.push(...this.#listLate(served.slice(at, at + IDS_PER_TURN), batch, fromNs));
    }
    return late.slice(0, Math.max(room, 0));
  }

  /** Inside the transaction in which a pass over changes has moved the position, or where it goes once a search is over. */
  savePassed(at: string): void {
    const batches = this.#duringPass ?? [];
    const fromNs = batches.length === 0 ? undefined : this.#findStart();
    if (fromNs === undefined) return;
    const late = batches.flatMap((batch) => this.#listLate(listServed(batch), batch, fromNs));
    this.save(late.slice(0, Math.max(this.#countRoom(), 0)), at);
  }

  /** Inside the transaction that notes the confirm. */
  save(orderIds: readonly string[], at: string): void {
    for (const orderId of orderIds) requestRead(this.#context.store, { orderId, serviceId: orderId }, at);
  }

  #countRoom(): number {
    return READS_MAX - onlyValue<number>(this.#context.store, "SELECT count(*) FROM owed_reads");
  }

  #listLate(orderIds: readonly string[], { receivedAt }: Confirmed, fromNs: bigint): string[] {
    return loadOpen(this.#context.store, orderIds).flatMap(({ orderId, changedAt }) => {
      const timestamp = readTimestamp(changedAt ?? receivedAt, this.#from.timezone);
      return timestamp !== undefined && timestamp.instantNs < fromNs ? [orderId] : [];
    });
  }

  /** Undefined before changes were followed: what a first pull brings from months is not read one by one. */
  #findStart(): bigint | undefined {
    const { store } = this.#context;
    if (!hasFollowed(store)) return undefined;
    const { timezone, overlapMs } = this.#from;
    const position = [loadReached(store), loadWatermark(store, UPDATES_STREAM), loadWatermark(store, TIME_STREAM)]
      .map((text) => readTimestamp(text ?? null, timezone))
      .find((time) => time !== undefined);
    return position === undefined ? undefined : position.instantNs - BigInt(overlapMs) * 1_000_000n;
  }
}

function listServed({ orderIds }: Confirmed): string[] {
  const ids = orderIds === null ? [] : (JSON.parse(orderIds) as unknown[]);
  return ids.flatMap((id) => (typeof id === "string" ? (readOrderId(id) ?? []) : []));
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
