/*
 * Stores batches that the journal has and a restored database lacks, with the same code as a pull. Confirms nothing:
 * the next pull confirms them, like any stored batch. An entry may be read twice; one whose batch is already stored is
 * skipped.
 * Orders that a batch names beside its list were read one by one before its confirm, and are in no entry: they are queued to be
 * read again.
 */

import { loadBatch } from "../batches/batch-rows.ts";
import { JournalBatches, type JournalEntry } from "../batches/journal-batches.ts";
import { beginPass } from "../batches/pull-pass.ts";
import type { NamedOrder } from "../completeness/orders-beside-list.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { StoreBatches } from "../orders/store-batches.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { requestRead } from "../pass/position-rows.ts";
import { asError } from "../platform/errors.ts";
import { type Clock, isoTime } from "../platform/ports.ts";

export interface Replayed {
  batches: number;
  orders: number;
  /** Bodies that the present configuration cannot read; they are kept. */
  unread: number;
  /** Orders named beside lists that are not stored, and are queued to be read. */
  named: number;
}

/** Limit of named orders in memory; more are queued before all entries were read. */
const NAMED_MAX = 10_000;

export class ReplayJournal {
  readonly #context: JobContext;
  readonly #batches: StoreBatches;
  /** The time of receipt of the entry that is being stored. */
  #nowMs: number | undefined;
  /** By order id. */
  readonly #named = new Map<string, NamedOrder>();
  readonly replayed: Replayed = { batches: 0, orders: 0, unread: 0, named: 0 };

  constructor(context: JobContext, rules: OrderRules) {
    const { clock } = context;
    const asReceived: Clock = {
      nowMs: () => this.#nowMs ?? clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      random: () => clock.random(),
    };
    this.#context = { ...context, clock: asReceived };
    const onNamed = (orders: readonly NamedOrder[]) => {
      for (const order of orders) this.#named.set(order.orderId, order);
    };
    this.#batches = new StoreBatches(this.#context, { rules, onNamed }, new JournalBatches(context, undefined));
  }

  async store({ note, body }: JournalEntry, signal: AbortSignal): Promise<void> {
    const known = loadBatch(this.#context.store, note.fingerprint);
    // The same batch may have been delivered again with newer content: that entry is stored too.
    if (known?.receivedAt === note.receivedAt) return;
    const pass = beginPass(signal);
    const receivedMs = Date.parse(note.receivedAt);
    this.#nowMs = Number.isNaN(receivedMs) ? undefined : receivedMs;
    try {
      const answer = { status: 200, contentType: "application/json", body, date: note.date };
      // Counts as tried: it was probably confirmed before, and then the service answers "not found".
      const { account, isPart } = note;
      const stored = await this.#batches.store(answer, pass, () => true, { account, isPart });
      if (stored !== undefined && known === undefined) this.replayed.batches += 1;
    } catch (error) {
      const { code } = asError(error);
      if (code !== "answer_shape" && !(note.isPart === true && code === "unavailable")) throw error;
      if (note.isPart !== true) this.replayed.unread += 1;
    } finally {
      this.replayed.orders += pass.counts["created"] ?? 0;
      this.#nowMs = undefined;
    }
    if (this.#named.size >= NAMED_MAX) this.queueNamed();
  }

  /** To be called after the last entry: queues the named orders that no entry had. */
  queueNamed(): void {
    const { store, clock } = this.#context;
    const known = loadKnownOrders(store, [...this.#named.keys()]);
    const unknown = [...this.#named.values()].filter(({ orderId }) => !known.has(orderId));
    const at = isoTime(clock.nowMs());
    store.write(() => {
      for (const order of unknown) requestRead(store, order, at);
    });
    this.replayed.named += unknown.length;
    this.#named.clear();
  }
}
