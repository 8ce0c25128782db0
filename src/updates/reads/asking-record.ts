/*
 * Compares the record that announced a read with the order's own answer: whether the answer includes the change, and
 * what follows where they disagree.
 */

import { JsonSyntaxError } from "../../answers/json-text.ts";
import { scanJson } from "../../answers/scan-json.ts";
import { isStrictlyNewer, readTimestamp } from "../../answers/timestamp.ts";
import { unitNs } from "../../answers/timestamp-form.ts";
import { m } from "../../messages/messages.ts";
import type { IngestResult } from "../../orders/ingest-options.ts";
import type { OrderRules } from "../../orders/order-rules.ts";
import { stateOfStatus } from "../../orders/plan-order.ts";
import type { JobContext } from "../../pass/job.ts";
import type { QueuedRead } from "../../pass/position-rows.ts";
import { countListed } from "../../pass/seen-changes.ts";
import { type OrderValues, readOrderValues } from "../../records/order-mapping.ts";
import { learnLag, loadLag, saveLag } from "../times/change-lag.ts";
import { saveCalledCancelled } from "../times/learned-rows.ts";
import type { ListedChange } from "./look-in-updates.ts";
import type { OrderAnswer, OrderReader } from "./read-order.ts";
import { TRIES_MAX } from "./read-queue.ts";

/**
 * After so many orders whose answers never reached the timestamp of their change, these timestamps are not taken for
 * the orders' own.
 */
const VAIN_MAX = 3;

export class AskingRecord {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #reader: OrderReader;
  /** Number of such orders in a row. */
  #vain = 0;

  constructor(context: JobContext, rules: OrderRules, reader: OrderReader) {
    this.#context = context;
    this.#rules = rules;
    this.#reader = reader;
  }

  /**
   * Whether the change has no later timestamp than the answer, to the end of its unit: then the service has set the
   * order back. False for an unreadable timestamp, and for batches, which may hold old versions.
   */
  isSaidTwice(queued: QueuedRead, answer: OrderAnswer): boolean {
    if (queued.source !== "update") return false;
    const announced = readTimestamp(this.timestampOf(queued), this.#timezone);
    const own = readTimestamp(this.#reader.timestampOf(answer), this.#timezone);
    if (announced === undefined || own === undefined) return false;
    return announced.latestNs + unitNs(announced.form) <= own.latestNs + unitNs(own.form);
  }

  /**
   * The timestamp of the record that announced the read, where the answer does not include it, as from a replica that
   * lags.
   */
  newerAnnounced(queued: QueuedRead, answer: OrderAnswer, current: string | null): string | undefined {
    if (queued.record === "" || this.#vain >= VAIN_MAX) return undefined;
    const announced = this.timestampOf(queued);
    const own = this.#reader.timestampOf(answer);
    const isBehind = this.#reader.isBehind({ announced, own });
    if (isBehind && current === null && queued.attempts + 1 === TRIES_MAX) this.#vain += 1;
    if (!isBehind && queued.attempts > 0) this.#vain = 0;
    const isCurrent = current !== null && !this.#reader.isLater(announced, current);
    return isBehind && !isCurrent ? (announced ?? undefined) : undefined;
  }

  #isCalledCancelled(queued: QueuedRead): boolean {
    const status = this.#reader.askedBy(queued, "status");
    return status !== null && stateOfStatus(status, this.#rules.plan).isCancelled;
  }

  /**
   * The change calls the order cancelled, but the answer for the same version does not: this is reported, because a
   * person must decide.
   */
  noteCalled(queued: QueuedRead, answer: OrderAnswer, at: string): void {
    const { store, log } = this.#context;
    const { plan } = this.#rules;
    if (queued.source !== "update" || answer.isCached) return;
    const listed = this.#reader.askedBy(queued, "status");
    if (listed === null || !this.#isCalledCancelled(queued)) return;
    const status = this.#reader.valuesOf(answer)?.status ?? null;
    if (status === null || stateOfStatus(status, plan).isCancelled) return;
    if (isStrictlyNewer(this.#reader.timestampOf(answer), this.timestampOf(queued), this.#timezone)) return;
    const { orderId } = queued;
    log.warn({ orderId }, m.updates.calledCancelled({ orderId, status, listed }));
    saveCalledCancelled(store, { status, orderId, at });
  }

  /**
   * Whether the answer differs from the record that announced the read, in the status or, for a whole order, in lines or total,
   * and has no later timestamp: of two versions with one time, a replica that lags answers the former one. Not where the changes
   * list several versions of that time.
   */
  contradicts(queued: QueuedRead, answer: OrderAnswer): boolean {
    const { source, orderId } = queued;
    const isWhole = source === "batch" || this.#rules.carry === "whole";
    const [own, said] = [this.#reader.valuesOf(answer), this.#valuesOf(queued)];
    if (own === undefined || said === undefined || !(isWhole ? differs : isOtherStatus)(said, own)) return false;
    const timestamp = this.timestampOf(queued);
    const [answered, announced] = [this.#reader.timestampOf(answer), timestamp].map((text) =>
      readTimestamp(text, this.#timezone),
    );
    if (source === "batch" && (answered === undefined || announced === undefined)) return false;
    // Of two forms, such as seconds and milliseconds, the coarser one decides.
    const isLater =
      answered !== undefined &&
      announced !== undefined &&
      answered.latestNs >= announced.latestNs + unitNs(announced.form);
    if (isLater) return false;
    const listed = countListed(this.#context.store, { orderId, timestamp }, this.#timezone);
    return source === "update" ? listed === 1 : listed <= 1;
  }

  learnLag(queued: QueuedRead, answer: OrderAnswer, stored: IngestResult | "stale"): void {
    const { store } = this.#context;
    if (queued.source !== "update" || answer.isCached) return;
    const isNews = stored === "created" || stored === "changed" || stored === "refreshed";
    const isAlike = !isNews && queued.attempts === 0 && this.#saysTheSame(queued, answer);
    const read = { announced: this.timestampOf(queued), own: this.#reader.timestampOf(answer), isNews, isAlike };
    saveLag(store, learnLag(loadLag(store), read, this.#timezone));
  }

  /** Whether the change has the status, lines and total of the answer, as far as it has these fields. */
  #saysTheSame(queued: QueuedRead, answer: OrderAnswer): boolean {
    const [own, said] = [this.#reader.valuesOf(answer), this.#valuesOf(queued)];
    return own !== undefined && said !== undefined && said.status !== null && !differs(said, own);
  }

  /** Undefined where the read has no record, or one that cannot be read. */
  #valuesOf({ record, source }: QueuedRead): OrderValues | undefined {
    if (record === "") return undefined;
    try {
      const bytes = Buffer.from(record);
      const read = readOrderValues(bytes, scanJson(bytes), this.#rules[source]);
      return "reason" in read ? undefined : read.values;
    } catch (error) {
      if (error instanceof JsonSyntaxError) return undefined;
      throw error;
    }
  }

  /** The timestamp of the record that announced the read. */
  timestampOf(queued: QueuedRead): string | null {
    return this.#reader.askedBy(queued, "updated_at");
  }

  /** Status and timestamp of the record that announced the read; undefined without a timestamp. */
  changeOf(queued: QueuedRead): ListedChange | undefined {
    const timestamp = this.timestampOf(queued);
    return timestamp === null ? undefined : { timestamp, status: this.#reader.askedBy(queued, "status") };
  }

  get #timezone(): string {
    return this.#rules.plan.timezone;
  }
}

/** Whether the record has another status, other lines or another total than the answer, as far as it has these fields. */
function differs(said: OrderValues, own: OrderValues): boolean {
  // Endpoints may write a number in two ways: `10.50` and `10.5`.
  const plain = (number: string | null) => (number === null ? null : Number(number));
  const linesOf = ({ lines }: OrderValues) => JSON.stringify(lines.map(({ sku, quantity }) => [sku, plain(quantity)]));
  if (isOtherStatus(said, own) || (said.total !== null && plain(said.total) !== plain(own.total))) return true;
  return said.lines.length > 0 && linesOf(said) !== linesOf(own);
}

function isOtherStatus(said: OrderValues, own: OrderValues): boolean {
  return said.status !== null && own.status !== null && said.status !== own.status;
}
