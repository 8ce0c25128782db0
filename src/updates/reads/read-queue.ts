/*
 * The queue of orders to read, as one pass changes it: postpones and ends reads. Inside the caller's transaction,
 * except `postpone`.
 */

import type { Message } from "../../messages/message.ts";
import { loadOrderMark, saveSourceHash } from "../../orders/order-rows.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { stateOfStatus } from "../../orders/plan-order.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { deleteQueuedRead, loadLongQueued, postponeRead, type QueuedRead } from "../../pass/position-rows.ts";
import { type BadRecord, loadQuarantineState, saveQuarantined } from "../../pass/quarantine-rows.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { asError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import { fieldOf } from "../../records/same-order.ts";
import { askedWaitMs } from "../../service/service-error.ts";
import { CANCELLED_TRIES, takeCancellation } from "./take-cancellation.ts";

/** Waits of an order that cannot be read, after its own failures. */
const WAITS = { firstMs: 30_000, longestMs: 3_600_000 };
/** From the first to the last of `CANCELLED_TRIES`. */
const CANCELLED_AFTER_MS = WAITS.firstMs * (2 ** (CANCELLED_TRIES - 1) - 1);
/** Reads per pass whose record may be a cancellation. */
const LOOKED_AT_MAX = 200;
/**
 * Limit of reads of an order whose answers are bad or older than the known version: about a day. Then the service's
 * answer counts, and later changes or `reconcile` request reads.
 */
export const TRIES_MAX = 30;

export function isLastTry({ attempts }: QueuedRead): boolean {
  return attempts + 1 >= TRIES_MAX;
}

export class ReadQueue {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  /** The last order looked at for a cancellation: the next look continues after it. */
  #lookedAt = "";

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** @param counted 1: the failure concerns this order; 0: it only makes room for others */
  async postpone(queued: QueuedRead, error: unknown, signal: AbortSignal, counted: 0 | 1 = 1): Promise<void> {
    await commit(this.#context, signal, () => {
      if (counted === 1) this.waitLonger(queued, error);
      else this.wait(queued, { attempts: queued.attempts, error, waitMs: WAITS.firstMs });
    });
  }

  waitLonger(queued: QueuedRead, error: unknown): void {
    const attempts = queued.attempts + 1;
    const { orderId } = queued;
    if (attempts >= CANCELLED_TRIES)
      takeCancellation(this.#context, this.#rules, { orderId, at: this.#at(0), isLate: false });
    const waitMs = Math.min(Math.max(backoffMs(WAITS, attempts), askedWaitMs(error)), WAITS.longestMs);
    this.wait(queued, { attempts, error, waitMs });
  }

  /**
   * Where the service answers for no order, but lists changes: a cancellation counts once its read has been queued for
   * as long as the tries take that would be counted otherwise.
   */
  async takeCancellations(signal: AbortSignal): Promise<void> {
    const range = {
      after: this.#lookedAt,
      limit: LOOKED_AT_MAX,
      at: this.#at(0),
      since: this.#at(-CANCELLED_AFTER_MS),
    };
    const queued = loadLongQueued(this.#context.store, range);
    this.#lookedAt = queued.length < LOOKED_AT_MAX ? "" : (queued.at(-1)?.orderId ?? "");
    for (const { orderId, record, source } of queued) {
      if (this.#context.isStopping()) return;
      const status = fieldOf({ text: record, mapping: this.#rules[source] }, "status") ?? null;
      if (!stateOfStatus(status, this.#rules.plan).isCancelled) continue;
      await commit(this.#context, signal, () =>
        takeCancellation(this.#context, this.#rules, { orderId, at: this.#at(0), isLate: false }),
      );
    }
  }

  wait(queued: QueuedRead, { attempts, error, waitMs }: { attempts: number; error: unknown; waitMs: number }): void {
    const { store, client } = this.#context;
    const words = client.hideSecrets(asError(error).message);
    postponeRead(store, queued.orderId, { attempts, error: words, dueAt: this.#at(waitMs) });
  }

  #at(inMs: number): string {
    return isoTime(this.#context.clock.nowMs() + inMs);
  }

  /** Ends the read. Saves the hash of its record, which would otherwise be new again at every poll. */
  dequeue(queued: QueuedRead): void {
    const { store } = this.#context;
    const mark = loadOrderMark(store, queued.orderId);
    const { source, recordHash: hash, contentHash } = queued;
    if (mark !== undefined && queued.record !== "")
      saveSourceHash(store, { orderKey: mark.orderKey, source, hash, contentHash });
    deleteQueuedRead(store, queued.orderId, hash);
  }

  isKept(queued: QueuedRead): boolean {
    return loadQuarantineState(this.#context.store, this.#recordOf(queued)) === "held";
  }

  #recordOf({ source, orderId, recordHash }: QueuedRead): Pick<BadRecord, "kind" | "reference" | "hash"> {
    return { kind: source === "update" ? "change" : "order", reference: orderId, hash: recordHash };
  }

  keepChange(queued: QueuedRead, reason: Message, at: string): void {
    const { store, clock } = this.#context;
    const seen = { reason, payload: queued.record, at, machineMs: clock.monotonicMs() };
    saveQuarantined(store, { ...this.#recordOf(queued), ...seen });
  }
}
