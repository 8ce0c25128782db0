/*
 * Compares one stored order with what the service says of it now, and repairs what differs. Fenced: if anything of
 * the order was stored while the answer was on its way, or a read of it is owed, that is newer or will be, and this
 * answer is dropped. After a crash the order is compared again in its turn.
 */
import { contentDigest, sharedDifferences } from "../domain/compare-snapshot.ts";
import { textOf } from "../domain/json-text.ts";
import { type OrderValues, readOrderValues } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { planOrder, sameValues, stateOfStatus } from "../domain/plan-order.ts";
import { isoTime } from "../domain/ports.ts";
import type { AnswerRecord } from "../domain/read-answer.ts";
import { applyOrderChange, loadOrderMark, loadStoredOrder, markOrderRemoved, type OrderMark } from "../store/orders.ts";
import { loadOwedRead } from "../store/positions.ts";
import { releaseQuarantined } from "../store/quarantine.ts";
import {
  type Candidate,
  loadComparedContent,
  loadOrderFence,
  markRetired,
  type OrderFence,
  saveComparedContent,
} from "../store/reconcile.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { readSnapshot, type SnapshotRead, saveSnapshotPaths } from "./read-snapshot.ts";
import { takeRecord } from "./take-orders.ts";

/** `skipped`: somebody else has dealt with the order meanwhile. `unknown`: the service does not know it (any more). */
export type Compared = "same" | "differ" | "healed" | "quarantined" | "skipped" | "unknown" | "removed";

type GoodRecord = AnswerRecord & { ok: true };

export class CompareOrders {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  /** How the orders stood that the service was found not to know. */
  readonly #unknown = new Map<number, OrderFence | undefined>();

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** Asks for the order. `unknown` orders are not touched: whoever asks decides whether that is believed. */
  async compare(order: Candidate, options: { isDamaged: boolean }, signal: AbortSignal): Promise<Compared> {
    const fence = loadOrderFence(this.#context.store, order.orderKey);
    const read = await readSnapshot(this.#context, this.#rules, order, signal);
    if (read.kind === "unknown") {
      this.#unknown.set(order.orderKey, fence);
      return "unknown";
    }
    return await commit(this.#context, signal, () =>
      this.#isFenced(order, fence) ? this.#take(order, read, options.isDamaged) : "skipped",
    );
  }

  /** The service does not know these orders, and its word is believed. Returns how many were marked. */
  async markUnknown(orders: readonly Candidate[], signal: AbortSignal): Promise<number> {
    const { store, clock } = this.#context;
    if (orders.length === 0) return 0;
    const at = isoTime(clock.nowMs());
    return await commit(
      this.#context,
      signal,
      () =>
        orders.filter((order) => {
          const { orderKey } = order;
          const isFenced = this.#isFenced(order, this.#unknown.get(orderKey));
          this.#unknown.delete(orderKey);
          // An order that was over is kept by the service for a while and then no more: that changes nothing for the ERP.
          return isFenced && (markRetired(store, orderKey, at) || markOrderRemoved(store, orderKey, at));
        }).length,
    );
  }

  #isFenced(order: Candidate, fence: OrderFence | undefined): boolean {
    const { store } = this.#context;
    const now = loadOrderFence(store, order.orderKey);
    if (fence === undefined || now === undefined || loadOwedRead(store, order.orderId) !== undefined) return false;
    return now.revision === fence.revision && now.hashes === fence.hashes;
  }

  #take(order: Candidate, read: SnapshotRead & { kind: "order" }, isDamaged: boolean): Compared {
    const { store, clock } = this.#context;
    const { record, body, matched } = read;
    const at = isoTime(clock.nowMs());
    const mapping = this.#rules.snapshot;
    saveSnapshotPaths(store, this.#rules, matched, at);
    const mark = loadOrderMark(store, order.orderId);
    const values = record.ok ? readOrderValues(body, record.span, mapping) : { reason: record.reason };
    if (record.ok && mark !== undefined && "values" in values) {
      if (isDamaged) return this.#heal(mark, { record, body, values: values.values, at });
      if (mark.payloadSource !== "snapshot" && this.#saysTheSame(mark, { record, body, values: values.values }))
        return "same";
    }
    const taken = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
    if (taken === "quarantined" || !record.ok || "reason" in values) return "quarantined";
    return taken === "same" ? "same" : "differ";
  }

  /** Whether a record of another source and the snapshot agree, as far as both speak; and whether they still do. */
  #saysTheSame(
    mark: OrderMark,
    { record, body, values }: { record: GoodRecord; body: Buffer; values: OrderValues },
  ): boolean {
    const { store } = this.#context;
    const { ignore } = this.#rules.plan;
    const contentHash = contentDigest(body, record.span, ignore);
    const before = loadComparedContent(store, mark.orderKey, mark.payloadHash);
    if (before !== undefined) return before.equals(contentHash);
    const stored = loadStoredOrder(store, mark.orderKey);
    const text = textOf(body, record.span);
    if (stored.removed || !sameValues(stored, { text, values })) return false;
    if (sharedDifferences(stored.payload, text, ignore).length > 0) return false;
    saveComparedContent(store, { orderKey: mark.orderKey, payloadHash: mark.payloadHash, contentHash });
    return true;
  }

  /**
   * Replaces a payload that is no longer what was stored. The columns are compared instead of it: only where they
   * differ has the order changed, otherwise nobody but the disk has changed anything.
   */
  #heal(
    mark: OrderMark,
    { record, body, values, at }: { record: GoodRecord; body: Buffer; values: OrderValues; at: string },
  ): Compared {
    const { store } = this.#context;
    const text = textOf(body, record.span);
    const stored = { ...loadStoredOrder(store, mark.orderKey), payload: text };
    const plan = planOrder(stored, { text, values }, "snapshot", this.#rules.plan);
    const { isCancelled, isOpen } = stateOfStatus(values.status, this.#rules.plan);
    applyOrderChange(store, {
      orderKey: mark.orderKey,
      source: "snapshot",
      hash: record.hash,
      contentHash: record.hash,
      text,
      values,
      isCancelled,
      isOpen,
      at,
      event: plan.kind === "apply" ? plan.event : null,
      eventSource: "snapshot",
    });
    releaseQuarantined(store, ["payload"], record.orderId);
    return plan.kind === "apply" ? "differ" : "healed";
  }
}
