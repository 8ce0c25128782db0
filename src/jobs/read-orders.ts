/*
 * Reads orders whole that a change or a doubtful record announced. Each read is a row (`owed_reads`) until the
 * transaction that stores its snapshot; after a crash it is simply read again. One order that cannot be read never
 * keeps the others waiting.
 */
import { fetchSnapshot } from "../api/orders.ts";
import type { ServiceAnswer } from "../api/client.ts";
import { asError, BridgeError } from "../domain/errors.ts";
import { stopsPass } from "../domain/holds.ts";
import { resolvePath } from "../domain/json-path.ts";
import { describeMiss } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { readJson, readRecords } from "../domain/read-answer.ts";
import { ServiceError } from "../domain/service-error.ts";
import { loadOrderMark, markOrderRemoved, saveSourceHash } from "../store/orders.ts";
import { countOwedReads, deleteOwedRead, loadOwedReads, markOwedReadFailed, type OwedRead } from "../store/positions.ts";
import { saveQuarantined } from "../store/quarantine.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { takeRecord } from "./take-orders.ts";

const READS_PER_PASS = 200;
/** After so many failures in a row it is the service, not the orders. */
const FAILURES_IN_ROW_MAX = 3;

export class ReadOrders {
  readonly #context: JobContext;
  readonly #rules: OrderRules;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** Reads what is owed, bounded. Returns how many reads are left that have not failed in this pass. */
  async readOwed(counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store, client } = this.#context;
    let failures = 0;
    let failed = 0;
    for (const owed of loadOwedReads(store, READS_PER_PASS)) {
      try {
        await this.#readOne(owed, counts, signal);
        failures = 0;
      } catch (error) {
        const reason = asError(error);
        if (stopsPass(error) || reason.code === "answer_shape") throw error;
        await commit(this.#context, signal, () => markOwedReadFailed(store, owed.orderId, client.hideSecrets(reason.message)));
        failures += 1;
        failed += 1;
        if (failures >= FAILURES_IN_ROW_MAX) throw error;
      }
    }
    return countOwedReads(store) - failed;
  }

  async #readOne(owed: OwedRead, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    let answer: ServiceAnswer;
    try {
      answer = await fetchSnapshot(this.#context.client, owed.serviceId, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || (error.status !== 404 && error.status !== 410)) throw error;
      await this.#settleUnknown(owed, error, counts, signal);
      return;
    }
    await this.#settle(owed, answer, counts, signal);
  }

  /** One transaction: the snapshot, the hash of the record that asked for it, and the end of the debt. */
  async #settle(owed: OwedRead, answer: ServiceAnswer, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const mapping = this.#rules.snapshot;
    const { body } = answer;
    const root = readJson(answer);
    const found = resolvePath(body, root, this.#rules.snapshotRoot);
    if (found.state !== "value") {
      throw new BridgeError(
        "answer_shape",
        `The answer of GET /orders/{order_id} has no ${this.#rules.snapshotRoot.text} (updates.snapshot): ${describeMiss(body, root, this.#rules.snapshotRoot)}.`,
      );
    }
    const matched = findMatchedPaths(store, { bytes: body, records: [found.span], mapping });
    const [record] = readRecords(body, [found.span], mapping);
    if (record === undefined) return;
    if (record.ok && record.orderId !== owed.orderId) {
      throw new BridgeError("answer_unreadable", `GET /orders/${owed.orderId} answered with another order (${record.orderId}).`);
    }
    const at = isoTime(clock.nowMs());
    const taken = await commit(this.#context, signal, () => {
      saveMatchedPaths(store, { mapping, matched, at });
      const what = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
      if (what === "quarantined") this.#keepChange(owed, "its snapshot could not be used", at);
      this.#endDebt(owed);
      return what;
    });
    const name = taken === "created" ? "rescued" : taken;
    if (name !== "same") counts[name] = (counts[name] ?? 0) + 1;
    counts["read"] = (counts["read"] ?? 0) + 1;
  }

  /** 404 or 410: a stored order is kept and marked; a change of an order nobody knows is kept as it came. */
  async #settleUnknown(owed: OwedRead, error: ServiceError, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
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
        ...(owed.source === "update" ? { contentHash: owed.contentHash } : {}),
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
