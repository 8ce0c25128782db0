/*
 * Orders confirmed after the position of changes has passed them. Services list changes of delivered orders only: a
 * change from before the confirm appears later, with a timestamp before the position, and would be missed. Such an
 * order is read once: the transaction that marks the confirm adds it to `owed_reads`. SQL, because it runs for every
 * batch.
 */
import { readTimestamp } from "../answers/timestamp.ts";
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
import { idsOf } from "./batch-ids.ts";

/** Changes are requested from `overlapMs` before the position. */
export interface ChangesFrom {
  timezone: string;
  overlapMs: number;
}

/**
 * Limit of reads queued for this reason; in a backlog of months, the nightly re-poll and `reconcile` find the others.
 */
const READS_MAX = 1_000;
const IDS_PER_TURN = 1_000;

type Confirmed = Pick<BatchRow, "orderIds" | "receivedAt">;

/**
 * One instance shared by confirms and by passes over changes, so that each pass includes what is confirmed during it.
 */
export class LateOrders {
  readonly #context: JobContext;
  readonly #from: ChangesFrom;
  /**
   * Batches confirmed during a pass over changes: its answers may be older, and it moves the position later. Memory is
   * enough: an interrupted pass moves no position.
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
   * Returns the batch's open orders whose stored content is older than the point from which changes are requested. Lets
   * other work run between steps.
   */
  async find(batch: Confirmed, signal: AbortSignal): Promise<string[]> {
    const { clock } = this.#context;
    // Before the position is read: if it moves from now on, `savePassed` checks this batch.
    this.#duringPass?.push(batch);
    const fromNs = this.#findStart();
    if (fromNs === undefined) return [];
    const late: string[] = [];
    const room = this.#countRoom();
    const served = idsOf(batch);
    for (let at = 0; at < served.length && late.length < room; at += IDS_PER_TURN) {
      if (at > 0) await clock.sleep(0, signal);
      late.push(...this.#listLate(served.slice(at, at + IDS_PER_TURN), batch, fromNs));
    }
    return late.slice(0, Math.max(room, 0));
  }

  /**
   * Open orders that the batch had when it was served before and has no more: they left it unconfirmed, mostly because they
   * were cancelled, and a service that lists changes of confirmed orders only never says so.
   */
  listLeft(before: Confirmed, batch: Confirmed): string[] {
    const served = new Set(idsOf(batch));
    const left = idsOf(before).filter((orderId) => !served.has(orderId));
    return loadOpen(this.#context.store, left.slice(0, Math.max(this.#countRoom(), 0))).map(({ orderId }) => orderId);
  }

  /** To be called inside the transaction that moves the position of changes. */
  savePassed(at: string): void {
    const batches = this.#duringPass ?? [];
    const fromNs = batches.length === 0 ? undefined : this.#findStart();
    if (fromNs === undefined) return;
    const late = batches.flatMap((batch) => this.#listLate(idsOf(batch), batch, fromNs));
    this.save(late.slice(0, Math.max(this.#countRoom(), 0)), at);
  }

  /** To be called inside the transaction that marks the confirm. */
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

  /** Undefined before changes were followed for the first time: orders of a first pull are not read one by one. */
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

/** `changedAt`: the service's timestamp, as written. */
function loadOpen(store: Store, orderIds: readonly string[]): { orderId: string; changedAt: string | null }[] {
  return store
    .prepare<{ orderId: string; changedAt: string | null }>(
      `SELECT order_id AS orderId, coalesce(service_updated_at, service_created_at) AS changedAt
       FROM json_each(?) ids CROSS JOIN orders ON order_id = ids.value WHERE is_open = 1 AND removed_at IS NULL`,
    )
    .all(JSON.stringify(orderIds));
}
