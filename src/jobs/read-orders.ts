/*
 * Reads orders whole that a change or a doubtful record announced. Each read is a row (`owed_reads`) until the
 * transaction that stores its snapshot; after a crash it is simply read again. One order that cannot be read never
 * keeps the others waiting.
 */

import { asError } from "../domain/errors.ts";
import { isAnswered, reachOf } from "../domain/holds.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import type { ServiceError } from "../domain/service-error.ts";
import { loadOrderMark, markOrderRemoved, saveSourceHash } from "../store/orders.ts";
import {
  countOwedReads,
  deleteOwedRead,
  loadOwedReads,
  markOwedReadFailed,
  type OwedRead,
} from "../store/positions.ts";
import { releaseQuarantined, saveQuarantined } from "../store/quarantine.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { readSnapshot, type SnapshotRead, saveSnapshotPaths } from "./read-snapshot.ts";
import { takeRecord } from "./take-orders.ts";

const READS_PER_PASS = 200;
/** After so many failures in a row it is the service, not the orders. */
const FAILURES_IN_ROW_MAX = 3;
/** An order that failed so often says nothing about the service any more; it is tried on, and shown as waiting. */
const ATTEMPTS_OF_NOTE = 5;

export class ReadOrders {
  readonly #context: JobContext;
  readonly #rules: OrderRules;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Reads what is owed, bounded; what failed least often comes first. Returns how many reads are left that the next
   * pass should begin at once.
   */
  async readOwed(counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store, client } = this.#context;
    let inRow = 0;
    let failed = 0;
    for (const owed of loadOwedReads(store, READS_PER_PASS)) {
      if (this.#context.isStopping()) return 0;
      try {
        await this.#readOne(owed, counts, signal);
        inRow = 0;
      } catch (error) {
        const isOwn = reachOf(error, owed.attempts) === "record";
        if (!isOwn && !isAnswered(error)) throw error;
        const reason = client.hideSecrets(asError(error).message);
        await commit(this.#context, signal, () => markOwedReadFailed(store, owed.orderId, reason));
        if (!isOwn) throw error;
        inRow += 1;
        failed += 1;
        if (inRow < FAILURES_IN_ROW_MAX) continue;
        if (owed.attempts < ATTEMPTS_OF_NOTE) throw error;
        return 0;
      }
    }
    return countOwedReads(store) - failed;
  }

  async #readOne(owed: OwedRead, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const before = loadOrderMark(this.#context.store, owed.orderId)?.payloadHash;
    const read = await readSnapshot(this.#context, this.#rules, owed, signal);
    if (read.kind === "unknown") await this.#settleUnknown(owed, read.error, counts, signal);
    else await this.#settle(owed, { read, before }, counts, signal);
  }

  /**
   * One transaction: the snapshot, the hash of the record that asked for it, and the end of the debt. Where something
   * of the order was stored while the answer was on its way, that may be newer: the read stays owed.
   */
  async #settle(
    owed: OwedRead,
    { read, before }: { read: SnapshotRead & { kind: "order" }; before: Buffer | undefined },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const mapping = this.#rules.snapshot;
    const { body, record, matched } = read;
    const at = isoTime(clock.nowMs());
    const taken = await commit(this.#context, signal, () => {
      const now = loadOrderMark(store, owed.orderId)?.payloadHash;
      if (before === undefined ? now !== undefined : now?.equals(before) !== true) return "overtaken";
      saveSnapshotPaths(store, this.#rules, matched, at);
      const what = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
      if (what === "quarantined") this.#keepChange(owed, "its snapshot could not be used", at);
      else releaseQuarantined(store, ["order", "change", "snapshot"], owed.orderId);
      this.#endDebt(owed);
      return what;
    });
    if (taken === "overtaken") return;
    const name = taken === "created" ? "rescued" : taken;
    if (name !== "same") counts[name] = (counts[name] ?? 0) + 1;
    counts["read"] = (counts["read"] ?? 0) + 1;
  }

  /** 404 or 410: a stored order is kept and marked; a change of an order nobody knows is kept as it came. */
  async #settleUnknown(
    owed: OwedRead,
    error: ServiceError,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const at = isoTime(clock.nowMs());
    const removed = await commit(this.#context, signal, () => {
      const mark = loadOrderMark(store, owed.orderId);
      if (mark === undefined) this.#keepChange(owed, `the service does not know this order (${error.status})`, at);
      const isRemoved = mark !== undefined && markOrderRemoved(store, mark.orderKey, at);
      this.#endDebt(owed);
      return isRemoved;
    });
    if (removed) counts["removed"] = (counts["removed"] ?? 0) + 1;
  }

  /** The same record must be recognised the next time, or it would be asked for at every poll. */
  #endDebt(owed: OwedRead): void {
    const { store } = this.#context;
    const mark = loadOrderMark(store, owed.orderId);
    if (mark !== undefined) {
      saveSourceHash(store, {
        orderKey: mark.orderKey,
        source: owed.source,
        hash: owed.recordHash,
        contentHash: owed.contentHash,
      });
    }
    deleteOwedRead(store, owed.orderId, owed.recordHash);
  }

  #keepChange(owed: OwedRead, reason: string, at: string): void {
    saveQuarantined(this.#context.store, {
      kind: owed.source === "update" ? "change" : "order",
      reference: owed.orderId,
      reason,
      payload: owed.record,
      hash: owed.recordHash,
      at,
    });
  }
}
