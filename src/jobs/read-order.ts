/*
 * Reads one order whole because somebody must know its status now. What was read is stored in the transaction in
 * which the caller decides, so that the two can never tell different stories; after a crash before it the order is
 * read again. A read that another change has overtaken is thrown away: stored late, it would undo that change.
 */
import { BridgeError } from "../domain/errors.ts";
import { resolvePath } from "../domain/json-path.ts";
import { readScalar } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import type { ServiceError } from "../domain/service-error.ts";
import { loadOrderMark, markOrderRemoved } from "../store/orders.ts";
import { releaseQuarantined } from "../store/quarantine.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { readSnapshot, type SnapshotRead, saveSnapshotPaths } from "./read-snapshot.ts";
import { takeRecord } from "./take-orders.ts";

/** An order that changes under each of so many reads is left for the next pass. */
const READS_MAX = 3;

export interface ReadableOrder {
  orderId: string;
  /** As the service writes it. */
  serviceId: string;
}

export type SeenOrder =
  | { kind: "order"; status: string | null }
  /** The service does not know the order (404, 410). */
  | { kind: "gone"; error: ServiceError };

type OrderAnswer = SnapshotRead & { kind: "order" };

export class OrderReader {
  readonly #context: JobContext;
  readonly #rules: OrderRules;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * @param decide runs in the transaction that has just stored what was read.
   * @throws ServiceError, BridgeError `answer_…` where the answer does not tell the order's status.
   */
  async read<T>(order: ReadableOrder, decide: (seen: SeenOrder, at: string) => T, signal: AbortSignal): Promise<T> {
    const { store, clock } = this.#context;
    for (let reads = 0; reads < READS_MAX; reads++) {
      const before = loadOrderMark(store, order.orderId)?.payloadHash;
      const read = await readSnapshot(this.#context, this.#rules, order, signal);
      const status = read.kind === "order" ? this.#statusOf(order, read) : null;
      const at = isoTime(clock.nowMs());
      const outcome = await commit(this.#context, signal, () => {
        const mark = loadOrderMark(store, order.orderId);
        if (!isSameHash(before, mark?.payloadHash)) return undefined;
        if (read.kind === "unknown") {
          if (mark !== undefined) markOrderRemoved(store, mark.orderKey, at);
          return { value: decide({ kind: "gone", error: read.error }, at) };
        }
        this.#store(order, read, at);
        return { value: decide({ kind: "order", status }, at) };
      });
      if (outcome !== undefined) return outcome.value;
    }
    throw new BridgeError("answer_unreadable", `The order ${order.orderId} changed each time while it was read.`);
  }

  #store(order: ReadableOrder, { body, record, matched }: OrderAnswer, at: string): void {
    const { store } = this.#context;
    const mapping = this.#rules.snapshot;
    saveSnapshotPaths(store, this.#rules, matched, at);
    const taken = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
    if (taken !== "quarantined") releaseQuarantined(store, ["order", "change", "snapshot"], order.orderId);
  }

  #statusOf({ orderId }: ReadableOrder, { body, record }: OrderAnswer): string | null {
    const path = this.#rules.snapshot.paths.status;
    const found = resolvePath(body, record.span, path);
    if (found.state === "null") return null;
    const text = found.state === "value" ? readScalar(body, found.span) : undefined;
    if (text !== undefined) return text;
    throw new BridgeError("answer_unreadable", `The answer of GET /orders/${orderId} has no ${path.text} (status).`);
  }
}

function isSameHash(before: Buffer | undefined, now: Buffer | undefined): boolean {
  return before === undefined || now === undefined ? before === now : before.equals(now);
}
