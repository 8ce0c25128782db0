/*
 * Reads one order whole because somebody must know its status now. What was read is stored in the transaction in
 * which the caller decides, so that the two can never tell different stories; after a crash before it the order is
 * read again. A read that another change has overtaken is thrown away: stored late, it would undo that change.
 */
import type { ServiceAnswer } from "../api/client.ts";
import { fetchSnapshot } from "../api/orders.ts";
import { BridgeError } from "../domain/errors.ts";
import { resolvePath } from "../domain/json-path.ts";
import type { Span } from "../domain/json-text.ts";
import { describeMiss, readScalar } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { type AnswerRecord, readJson, readRecords } from "../domain/read-answer.ts";
import { ServiceError } from "../domain/service-error.ts";
import { loadOrderMark, markOrderRemoved } from "../store/orders.ts";
import { hasPathMatched, savePathMatched } from "../store/positions.ts";
import { releaseQuarantined } from "../store/quarantine.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
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

interface ReadAnswer {
  body: Buffer;
  span: Span;
  record: AnswerRecord;
  status: string | null;
}

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
    const { store, clock, client } = this.#context;
    for (let reads = 0; reads < READS_MAX; reads++) {
      const before = loadOrderMark(store, order.orderId)?.payloadHash;
      let read: ReadAnswer | ServiceError;
      try {
        read = this.#readAnswer(order, await fetchSnapshot(client, order.serviceId, signal));
      } catch (error) {
        if (!(error instanceof ServiceError) || (error.status !== 404 && error.status !== 410)) throw error;
        read = error;
      }
      const at = isoTime(clock.nowMs());
      const outcome = await commit(this.#context, signal, () => {
        const mark = loadOrderMark(store, order.orderId);
        if (!isSameHash(before, mark?.payloadHash)) return undefined;
        if (read instanceof ServiceError) {
          if (mark !== undefined) markOrderRemoved(store, mark.orderKey, at);
          return { value: decide({ kind: "gone", error: read }, at) };
        }
        this.#store(order, read, at);
        return { value: decide({ kind: "order", status: read.status }, at) };
      });
      if (outcome !== undefined) return outcome.value;
    }
    throw new BridgeError("answer_unreadable", `The order ${order.orderId} changed each time while it was read.`);
  }

  #store(order: ReadableOrder, { body, span, record }: ReadAnswer, at: string): void {
    const { store } = this.#context;
    const mapping = this.#rules.snapshot;
    const matched = findMatchedPaths(store, { bytes: body, records: [span], mapping });
    saveMatchedPaths(store, { mapping, matched, at });
    savePathMatched(store, { source: "snapshot", field: "root", path: this.#rules.snapshotRoot.text, at });
    const taken = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
    if (taken !== "quarantined") releaseQuarantined(store, ["order", "change", "snapshot"], order.orderId);
  }

  /** @throws BridgeError `answer_shape` for paths that never matched, `answer_unreadable` for this answer's own faults. */
  #readAnswer({ orderId }: ReadableOrder, answer: ServiceAnswer): ReadAnswer {
    const { snapshot: mapping, snapshotRoot } = this.#rules;
    const { store } = this.#context;
    const { body } = answer;
    const root = readJson(answer);
    const found = resolvePath(body, root, snapshotRoot);
    if (found.state !== "value") {
      const isProven = hasPathMatched(store, "snapshot", "root", snapshotRoot.text);
      const miss = found.state === "null" ? "it is null" : describeMiss(body, root, snapshotRoot);
      throw new BridgeError(
        isProven ? "answer_unreadable" : "answer_shape",
        `The answer of GET /orders/${orderId} has no ${snapshotRoot.text} (updates.snapshot): ${miss}.`,
        isProven ? {} : { hint: "Put updates.snapshot right; what waits for such reads waits until then." },
      );
    }
    const { span } = found;
    findMatchedPaths(store, { bytes: body, records: [span], mapping });
    const [record] = readRecords(body, { root, elements: [span] }, mapping);
    const named = record?.ok === true ? record.orderId : record?.reference?.toLowerCase();
    if (record === undefined || named !== orderId) {
      throw new BridgeError(
        "answer_unreadable",
        `GET /orders/${orderId} was answered with another order (${named ?? "without an id"}).`,
      );
    }
    return { body, span, record, status: this.#statusOf(orderId, body, span) };
  }

  #statusOf(orderId: string, body: Buffer, span: Span): string | null {
    const path = this.#rules.snapshot.paths.status;
    const found = resolvePath(body, span, path);
    if (found.state === "null") return null;
    const text = found.state === "value" ? readScalar(body, found.span) : undefined;
    if (text !== undefined) return text;
    throw new BridgeError("answer_unreadable", `The answer of GET /orders/${orderId} has no ${path.text} (status).`);
  }
}

function isSameHash(before: Buffer | undefined, now: Buffer | undefined): boolean {
  return before === undefined || now === undefined ? before === now : before.equals(now);
}
