/*
 * Compares one stored order with the service's and repairs differences. Fenced: if the order was stored while the
 * answer was on its way, or a read of it is queued, this answer may be older and is dropped. After a crash a later
 * round compares the order again.
 */

import { textOf } from "../answers/json-text.ts";
import { isUnchanged } from "../orders/ingest-options.ts";
import { loadOrderMark, loadStoredOrder, type OrderMark } from "../orders/order-rows.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { planOrder, sameValues } from "../orders/plan-order.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQueuedRead, requestRead } from "../pass/position-rows.ts";
import { releaseQuarantined } from "../pass/quarantine-rows.ts";
import { contentDigest, sharedDifferences } from "../records/compare-snapshot.ts";
import { type OrderValues, readOrderValues } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import type { ServiceError } from "../service/service-error.ts";
import { noteUnlisted } from "../updates/looks/unlisted-changes.ts";
import type { Candidate } from "../updates/reads/control-rows.ts";
import type { OrderAnswer, OrderReader, Refreshed } from "../updates/reads/read-order.ts";
import { loadComparedContent, saveComparedContent } from "./reconcile-rows.ts";

/** `skipped`: another job handles it. `returned`: it was marked as removed and exists; `gone`: it does not exist. */
export type Compared = "same" | "differ" | "healed" | "quarantined" | "skipped" | "returned" | "gone";

type GoodRecord = AnswerRecord & { ok: true };

export class CompareOrders {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #reader: OrderReader;

  constructor(context: JobContext, rules: OrderRules, reader: OrderReader) {
    this.#context = context;
    this.#rules = rules;
    this.#reader = reader;
  }

  /** Reads and compares the order. Where the service has none, a read is queued, which confirms that. */
  async compare(
    order: Candidate,
    options: { isDamaged: boolean },
    signal: AbortSignal,
  ): Promise<Compared | ServiceError> {
    const { store } = this.#context;
    const isRemoved = () => (loadOrderMark(store, order.orderId)?.removedAt ?? null) !== null;
    const settle = (refreshed: Refreshed<Compared>, at: string): Compared | ServiceError => {
      if (refreshed.kind === "order") return refreshed.stored;
      if (isRemoved()) return "gone";
      requestRead(store, order, at);
      return refreshed.error;
    };
    const ingest = (answer: OrderAnswer, at: string): Compared => {
      if (loadQueuedRead(store, order.orderId) === undefined) return this.#ingest(order, answer, options.isDamaged, at);
      return this.#reader.isOther(answer) ? "quarantined" : "skipped";
    };
    const compared = await this.#reader.refresh(order, { store: ingest, settle }, signal);
    if (compared?.value !== "gone") return compared?.value ?? "skipped";
    return (await this.#reader.refreshOtherwise(order, { store: ingest, settle }, signal))?.value ?? "gone";
  }

  #ingest(order: Candidate, answer: OrderAnswer, isDamaged: boolean, at: string): Compared {
    const { record, body } = answer;
    if (this.#reader.isStale(answer)) {
      this.#reader.store(answer, at);
      return "skipped";
    }
    const { store } = this.#context;
    const mapping = this.#rules.snapshot;
    const mark = loadOrderMark(store, order.orderId);
    const values = record.ok ? readOrderValues(body, record.span, mapping) : { reason: record.reason };
    if (record.ok && mark !== undefined && "values" in values && !isDamaged && mark.payloadSource !== "snapshot")
      if (this.#isSameContent(mark, { record, body, values: values.values })) return "same";
    const before = mark === undefined || isDamaged ? undefined : loadStoredOrder(store, mark.orderKey).status;
    const ingested = isDamaged && mark !== undefined ? this.#reader.heal(answer, at) : this.#reader.store(answer, at);
    if (ingested === "quarantined" || this.#reader.isOther(answer)) return "quarantined";
    // Not held: it is what is stored, read with an earlier mapping, or a person has dropped it.
    if (!record.ok || "reason" in values) return this.#reader.isHeld(answer) ? "quarantined" : "same";
    if (isDamaged) releaseQuarantined(store, ["payload"], record.orderId);
    if (isUnchanged(ingested)) return isDamaged ? "healed" : "same";
    if (mark !== undefined && mark.removedAt !== null) return isDamaged ? "differ" : "returned";
    const { timezone } = this.#rules.plan;
    if (before !== undefined && before !== values.values.status)
      noteUnlisted(this.#context, { timestamp: this.#reader.timestampOf(answer), timezone, at });
    return "differ";
  }

  /**
   * Whether a record from another source and the snapshot agree in the fields that both have, and still do since the
   * last comparison.
   */
  #isSameContent(
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
    const incoming = { text, values };
    if (stored.removed || !sameValues(stored, incoming)) return false;
    // Its own timestamp says that it has changed: the change may be in a field that only the snapshot has.
    if (planOrder(stored, incoming, "update", this.#rules.plan).kind === "apply") return false;
    if (sharedDifferences(stored.payload, text, ignore).length > 0) return false;
    saveComparedContent(store, { orderKey: mark.orderKey, payloadHash: mark.payloadHash, contentHash });
    return true;
  }
}
