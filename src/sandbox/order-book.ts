import type { SandboxOptions } from "./options.ts";
import { type OrderContent, patchContent } from "./order-content.ts";
import type { ChangePatch, OrderDraft } from "./order-draft.ts";
import { generateContent } from "./order-generator.ts";
import { type Random, randomUuid } from "./random.ts";
import { truncateUs } from "./timestamps.ts";

/** One version of an order. `seq` increases over all orders; the newest version has the greatest `seq`. */
export interface OrderVersion {
  readonly seq: number;
  readonly timestampUs: number;
  readonly timestampText: string | null | undefined;
  readonly madeAtMs: number;
  readonly content: OrderContent;
}

export interface StoredOrder {
  readonly id: string;
  readonly createdUs: number;
  readonly versions: OrderVersion[];
  handedOut: boolean;
  confirmed: boolean;
  /** A confirm of it was accepted, and ignored. */
  wasForgotten?: true;
  deleted: boolean;
}

export interface BookSources {
  /** The service's clock, in milliseconds. */
  readonly now: () => number;
  readonly random: Random;
  readonly precision: () => SandboxOptions["precision"];
  /** By how much its times are too early, in milliseconds. */
  readonly timesBackMs: () => number;
}

/** The newest version of an order. */
export function newestVersion(order: StoredOrder): OrderVersion {
  const version = order.versions.at(-1);
  if (version === undefined) throw new Error(`order ${order.id} has no version`);
  return version;
}

function isWaiting(order: StoredOrder): boolean {
  return !order.handedOut && !order.confirmed && !order.deleted;
}

/** All orders of the service with all their versions. Ids are in lower case. */
export class OrderBook {
  private readonly sources: BookSources;
  private readonly byId = new Map<string, StoredOrder>();
  private queue: StoredOrder[] = [];
  private seq = 0;
  private lastTimestampMs = Number.NaN;
  private timestampsInMs = 0;

  constructor(sources: BookSources) {
    this.sources = sources;
  }

  create(draft: OrderDraft = {}): StoredOrder {
    const id = (draft.id ?? randomUuid(this.sources.random)).toLowerCase();
    if (this.byId.has(id)) throw new Error(`there is an order ${id} already`);
    const content = patchContent(generateContent(this.sources.random, this.byId.size), draft);
    const createdUs = this.timestampOf(draft, undefined);
    const order: StoredOrder = { id, createdUs, versions: [], handedOut: false, confirmed: false, deleted: false };
    this.addVersion(order, createdUs, draft, content);
    this.byId.set(id, order);
    this.queue.push(order);
    return order;
  }

  /** Adds a version. A patch without content changes only the timestamp. Throws on an unknown or deleted order. */
  change(id: string, patch: ChangePatch): StoredOrder {
    const order = this.find(id);
    if (order === undefined) throw new Error(`there is no order ${id}`);
    const newest = newestVersion(order);
    this.addVersion(order, this.timestampOf(patch, newest.timestampUs), patch, patchContent(newest.content, patch));
    return order;
  }

  delete(id: string): void {
    const order = this.find(id);
    if (order === undefined) throw new Error(`there is no order ${id}`);
    order.deleted = true;
  }

  /** An order that is not deleted; the case of the id is ignored. */
  find(id: string): StoredOrder | undefined {
    const order = this.byId.get(id.toLowerCase());
    return order?.deleted === true ? undefined : order;
  }

  /** All orders, including deleted ones, in order of creation. */
  all(): IterableIterator<StoredOrder> {
    return this.byId.values();
  }

  /** The orders at that time of the service's clock, read-only: a replica that lags behind. */
  asOf(atMs: number): OrderBook {
    const past = new OrderBook(this.sources);
    for (const order of this.byId.values()) {
      const versions = order.versions.filter(({ madeAtMs }) => madeAtMs <= atMs);
      if (versions.length > 0) past.byId.set(order.id, { ...order, versions, deleted: false });
    }
    return past;
  }

  /** Restores the orders to that time; sequence numbers continue from there. */
  restore(atMs: number): void {
    for (const order of this.byId.values()) {
      const versions = order.versions.filter(({ madeAtMs }) => madeAtMs <= atMs);
      if (versions.length === 0) order.deleted = true;
      else order.versions.splice(0, order.versions.length, ...versions);
    }
    const living = [...this.byId.values()].filter(({ deleted }) => !deleted);
    this.seq = Math.max(0, ...living.flatMap(({ versions }) => versions.map(({ seq }) => seq)));
  }

  /** The oldest orders that were neither delivered nor confirmed without delivery, at most `limit`. */
  waiting(limit: number): StoredOrder[] {
    const found: StoredOrder[] = [];
    for (const order of this.queue) {
      if (found.length === limit) break;
      if (isWaiting(order)) found.push(order);
    }
    return found;
  }

  /** Makes delivered orders wait again, unless they are confirmed. */
  requeue(orders: readonly StoredOrder[]): void {
    const again = new Set(orders.filter(({ confirmed, deleted }) => !confirmed && !deleted));
    for (const order of again) order.handedOut = false;
    this.queue = [...again, ...this.queue.filter((order) => !again.has(order))];
  }

  /** Removes orders that no longer wait from the queue. */
  dropWaiting(): void {
    this.queue = this.queue.filter(isWaiting);
  }

  private addVersion(order: StoredOrder, timestampUs: number, patch: ChangePatch, content: OrderContent): void {
    const madeAtMs = this.sources.now();
    order.versions.push({ seq: ++this.seq, timestampUs, timestampText: patch.timestampText, madeAtMs, content });
  }

  private timestampOf(patch: ChangePatch, before: number | undefined): number {
    if (patch.keepTimestamp === true && before !== undefined) return before;
    const earlierMs = this.sources.timesBackMs() + (patch.lateByMs ?? 0);
    const us = patch.timestamp === undefined ? this.nowUs() - earlierMs * 1000 : patch.timestamp * 1000;
    return truncateUs(us, this.sources.precision());
  }

  /** The clock in microseconds; calls in the same millisecond return increasing values. */
  private nowUs(): number {
    const ms = Math.floor(this.sources.now());
    this.timestampsInMs = ms === this.lastTimestampMs ? Math.min(this.timestampsInMs + 1, 999) : 0;
    this.lastTimestampMs = ms;
    return ms * 1000 + this.timestampsInMs;
  }
}
