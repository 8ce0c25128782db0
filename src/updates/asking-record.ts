/*
 * What the record says that asked for the read of an order, beside what the order itself was answered: whether the answer has seen it, and
 * what follows where the two disagree.
 */

import { JsonSyntaxError } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { isStrictlyNewer, readTimestamp } from "../answers/timestamp.ts";
import { unitNs } from "../answers/timestamp-form.ts";
import { m } from "../messages/messages.ts";
import type { IngestResult } from "../orders/ingest-orders.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { stateOfStatus } from "../orders/plan-order.ts";
import type { JobContext } from "../pass/job.ts";
import type { QueuedRead } from "../pass/position-rows.ts";
import { type OrderValues, readOrderValues } from "../records/order-mapping.ts";
import { learnLag, loadLag, saveLag } from "./change-lag.ts";
import { saveCalledCancelled } from "./learned-rows.ts";
import type { ListedChange } from "./look-in-updates.ts";
import type { OrderAnswer, OrderReader } from "./read-order.ts";
import { TRIES_MAX } from "./read-queue.ts";

/** After so many orders whose answers never came to have the timestamp of their change, those timestamps are not the orders' own. */
const VAIN_MAX = 3;

export class AskingRecord {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #reader: OrderReader;
  /** Orders in a row whose answers never came to have the timestamp of the change. */
  #vain = 0;

  constructor(context: JobContext, rules: OrderRules, reader: OrderReader) {
    this.#context = context;
    this.#rules = rules;
    this.#reader = reader;
  }

  /**
   * The change that announced it has no later timestamp, to the last unit that it shows: the service has set the order back. One that
   * cannot be read says nothing, and a batch may hold what it held long ago.
   */
  isSaidTwice(owed: QueuedRead, answer: OrderAnswer): boolean {
    if (owed.source !== "update") return false;
    const announced = readTimestamp(this.timestampOf(owed), this.#timezone);
    const own = readTimestamp(this.#reader.timestampOf(answer), this.#timezone);
    if (announced === undefined || own === undefined) return false;
    return announced.latestNs + unitNs(announced.form) <= own.latestNs + unitNs(own.form);
  }

  /** The timestamp of the change that announced the order, where the answer has not seen it: a replica may lag behind. */
  newerAnnounced(owed: QueuedRead, answer: OrderAnswer, current: string | null): string | undefined {
    if (owed.record === "" || this.#vain >= VAIN_MAX) return undefined;
    const announced = this.timestampOf(owed);
    const own = this.#reader.timestampOf(answer);
    const isBehind = this.#reader.isBehind({ announced, own });
    if (isBehind && current === null && owed.attempts + 1 === TRIES_MAX) this.#vain += 1;
    if (!isBehind && owed.attempts > 0) this.#vain = 0;
    const isCurrent = current !== null && !this.#reader.isLater(announced, current);
    return isBehind && !isCurrent ? (announced ?? undefined) : undefined;
  }

  /** A change and its order call the same version by two names: of a cancellation that only the change names a person has to know. */
  noteCalled(owed: QueuedRead, answer: OrderAnswer, at: string): void {
    const { store, log } = this.#context;
    const { plan } = this.#rules;
    if (owed.source !== "update" || answer.isCached) return;
    const told = this.#reader.askedBy(owed, "status");
    if (told === null || !stateOfStatus(told, plan).isCancelled) return;
    const status = this.#reader.valuesOf(answer)?.status ?? null;
    if (status === null || stateOfStatus(status, plan).isCancelled) return;
    if (isStrictlyNewer(this.#reader.timestampOf(answer), this.timestampOf(owed), this.#timezone)) return;
    const { orderId } = owed;
    log.warn({ orderId }, m.updates.calledCancelled({ orderId, status, told }));
    saveCalledCancelled(store, { status, orderId, at });
  }

  learnLag(owed: QueuedRead, answer: OrderAnswer, stored: IngestResult | "stale"): void {
    const { store } = this.#context;
    if (owed.source !== "update" || answer.isCached) return;
    const isNews = stored === "created" || stored === "changed" || stored === "refreshed";
    const isAlike = !isNews && owed.attempts === 0 && this.#saysTheSame(owed, answer);
    const read = { announced: this.timestampOf(owed), own: this.#reader.timestampOf(answer), isNews, isAlike };
    saveLag(store, learnLag(loadLag(store), read, this.#timezone));
  }

  /** Whether the change that asked for the read names the status, the lines and the total that the order has, as far as it has any. */
  #saysTheSame({ record }: QueuedRead, answer: OrderAnswer): boolean {
    const own = this.#reader.valuesOf(answer);
    if (record === "" || own === undefined) return false;
    try {
      const bytes = Buffer.from(record);
      const read = readOrderValues(bytes, scanJson(bytes), this.#rules.update);
      return !("reason" in read) && namesSame(read.values, own);
    } catch (error) {
      if (error instanceof JsonSyntaxError) return false;
      throw error;
    }
  }

  /** The timestamp of the record that asked for the read. */
  timestampOf(owed: QueuedRead): string | null {
    return this.#reader.askedBy(owed, "updated_at");
  }

  /** What the record that asked for the read says of its order, where it says when that was. */
  changeOf(owed: QueuedRead): ListedChange | undefined {
    const timestamp = this.timestampOf(owed);
    return timestamp === null ? undefined : { timestamp, status: this.#reader.askedBy(owed, "status") };
  }

  get #timezone(): string {
    return this.#rules.plan.timezone;
  }
}

function namesSame(change: OrderValues, own: OrderValues): boolean {
  const linesOf = ({ lines }: OrderValues) => JSON.stringify(lines.map(({ sku, quantity }) => [sku, quantity]));
  if (change.status === null || change.status !== own.status) return false;
  if (change.total !== null && change.total !== own.total) return false;
  return change.lines.length === 0 || linesOf(change) === linesOf(own);
}
