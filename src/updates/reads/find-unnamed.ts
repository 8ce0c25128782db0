/*
 * Finds the orders of held records without a usable id, which have an id elsewhere or in another form, or the number of
 * a stored order. Their batch was confirmed, so the service does not deliver them again: each possible order is read,
 * and an answer that is the record's order is stored and releases the record, in one transaction. For a change, every
 * stored order that it may belong to is read (queued by `apply-change.ts` when it came), and a read that is not older
 * releases it, or a queued read of the same or a later change; a change that names no order at all is settled once all
 * orders were read (`find-cut-changes.ts`). After a crash the same records are checked again.
 */

import { textOf } from "../../answers/json-text.ts";
import { isOlder } from "../../answers/timestamp.ts";
import { findOrderIds } from "../../answers/uuid.ts";
import { loadMeta } from "../../database/meta.ts";
import { m } from "../../messages/messages.ts";
import type { IngestResult } from "../../orders/ingest-options.ts";
import { findStoredOrders } from "../../orders/named-orders.ts";
import { loadOrderMark, loadStoredOrder } from "../../orders/order-rows.ts";
import { mappingOfKind, type OrderRules } from "../../orders/order-rules.ts";
import { commit } from "../../pass/commit.ts";
import { type HeldUnnamed, loadHeldUnnamed, releaseRead, releaseStored } from "../../pass/held-rows.ts";
import { reachOf } from "../../pass/holds.ts";
import { Interval } from "../../pass/interval.ts";
import type { JobContext } from "../../pass/job.ts";
import { hasLasted } from "../../pass/machine-clock.ts";
import { loadQueuedRead } from "../../pass/position-rows.ts";
import { backoffMs } from "../../platform/backoff.ts";
import { DAY_MS } from "../../platform/durations.ts";
import { isoTime } from "../../platform/ports.ts";
import { ORDER_KINDS } from "../../records/order-mapping.ts";
import { fieldOf, isSameContent, isSameOrder, type OrderRecord } from "../../records/same-order.ts";
import type { BackgroundReads } from "./background-reads.ts";
import type { OrderAnswer, OrderReader, Refreshed } from "./read-order.ts";
import { ReadPass } from "./read-pass.ts";
import type { ReadableOrder } from "./read-snapshot.ts";

/** Interval of checks: short for new records; those without a result wait longer each time. */
const LOOK_EVERY_MS = 5 * 60_000;
const WAIT_MAX_MS = 12 * 3_600_000;
/** Wait for a change that names stored orders; after about a day it counts as seen, whatever its time. */
const STORED_WAIT_MAX_MS = 3_600_000;
const BEHIND_FOR_MS = 23 * 3_600_000;
/** Limits per check: records, and orders read. The next check continues with older records. */
const RECORDS_PER_LOOK = 500;
const RECORDS_PER_TURN = 25;
const READS_PER_LOOK = 100;
/** Per record: UUIDs searched for, and read in one check. The next check reads others. */
const IDS_MAX = 1_000;
const IDS_PER_LOOK = 10;
/** Limit of remembered waits; a forgotten record is due immediately. */
const WAITS_MAX = 10_000;
const FIRST = Number.MAX_SAFE_INTEGER;

interface Wait {
  tries: number;
  untilMs: number;
}

export class FindUnnamed {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #reader: OrderReader;
  readonly #background: BackgroundReads;
  readonly #interval: Interval;
  /** The record checked last. */
  #before = FIRST;
  /** By id of the record; monotonic. */
  readonly #waits = new Map<number, Wait>();

  constructor(
    context: JobContext,
    rules: OrderRules,
    { reader, background }: { reader: OrderReader; background: BackgroundReads },
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#reader = reader;
    this.#background = background;
    this.#interval = new Interval(context, "unnamed_read", LOOK_EVERY_MS);
  }

  async look(signal: AbortSignal): Promise<void> {
    const { store, clock, log, isStopping } = this.#context;
    if (!(await this.#interval.begin(signal))) return;
    const reads = new ReadPass(this.#context, this.#reader, { signal });
    const pass = {
      reads,
      left: Math.min(READS_PER_LOOK, this.#background.room),
      readSince: loadMeta(store, "orders_read") ?? "",
      signal,
    };
    let found = 0;
    for (let looked = 0; looked < RECORDS_PER_LOOK && pass.left > 0; looked += RECORDS_PER_TURN) {
      const held = loadHeldUnnamed(store, ORDER_KINDS, { before: this.#before, limit: RECORDS_PER_TURN });
      for (const record of held) {
        if (isStopping() || pass.left <= 0) break;
        this.#before = record.id;
        const outcome = await this.#find(record, pass);
        if (outcome === "found") found += 1;
        if (outcome === "ill") pass.left = 0;
      }
      if (isStopping()) break;
      if (held.length < RECORDS_PER_TURN && pass.left > 0) {
        this.#before = FIRST;
        break;
      }
      await clock.sleep(0, signal);
    }
    if (found > 0) {
      log.info({ found }, m.updates.foundAtService({ count: found }));
    }
  }

  async #find(record: HeldUnnamed, pass: FindPass): Promise<"found" | "none" | "ill"> {
    const { store, clock } = this.#context;
    const wait = this.#waits.get(record.id) ?? { tries: 0, untilMs: 0 };
    const isRead = record.kind === "change" && record.lastSeenAt < pass.readSince;
    if (record.payload === null || (!isRead && clock.monotonicMs() < wait.untilMs)) return "none";
    const text = record.payload;
    const held = { text, mapping: mappingOfKind(this.#rules, record.kind) };
    const stored = findStoredOrders(store, held);
    const named = [...findOrderIds(text, IDS_MAX)].map(([orderId, serviceId]) => ({ orderId, serviceId }));
    if (isRead && stored.length + named.length === 0)
      await commit(this.#context, pass.signal, () => releaseRead(store, record.id));
    // The same change, or a later one, listed under its order's id, has queued the read that decides.
    const isOnly = new Set([...stored, ...named].map(({ orderId }) => orderId)).size === 1;
    const same = [...stored, ...named].find(
      ({ orderId }) =>
        record.kind === "change" &&
        (this.#isQueued(held, orderId) || (isOnly && this.#isOvertaken(held, orderId, record))),
    );
    if (same !== undefined)
      await commit(this.#context, pass.signal, () => releaseStored(store, record.id, same.orderId));
    if (same !== undefined || clock.monotonicMs() < wait.untilMs) return "none";
    const others = named.filter(({ orderId }) => !stored.some((order) => order.orderId === orderId));
    // A change that names stored orders belongs to one of them; otherwise to any order it names.
    const orders = (record.kind === "change" && stored.length > 0 ? stored : [...stored, ...others])
      // A queued read has its own schedule and will decide.
      .filter(({ orderId }) => loadQueuedRead(store, orderId) === undefined)
      .filter(({ orderId }) => record.kind === "change" || this.#mayBe(held, orderId));
    if (orders.length === 0) return "none";
    const first = (wait.tries * IDS_PER_LOOK) % orders.length;
    const turn = [...orders.slice(first), ...orders.slice(0, first)].slice(0, IDS_PER_LOOK);
    let isFound = false;
    for (const order of turn) {
      if (pass.left <= 0 || !(await this.#background.take(1, pass.signal))) return "none";
      pass.left -= 1;
      const outcome = await this.#ask(order, { ...record, held }, pass);
      if (outcome === "ill") return outcome;
      if (outcome === "none") continue;
      isFound = true;
      // A change may belong to several of the orders it names.
      if (record.kind !== "change") break;
    }
    if (isFound) {
      this.#waits.delete(record.id);
      return "found";
    }
    if (this.#waits.size >= WAITS_MAX) this.#waits.clear();
    const isChange = record.kind === "change" && stored.length > 0;
    const longestMs = isChange ? STORED_WAIT_MAX_MS : WAIT_MAX_MS;
    const waitMs = backoffMs({ firstMs: LOOK_EVERY_MS, longestMs }, wait.tries + 1);
    this.#waits.set(record.id, { tries: wait.tries + 1, untilMs: clock.monotonicMs() + waitMs });
    return "none";
  }

  #isQueued(held: OrderRecord, orderId: string): boolean {
    const queued = loadQueuedRead(this.#context.store, orderId);
    if (queued === undefined) return false;
    const listed = { text: queued.record, mapping: this.#rules[queued.source] };
    return isSameContent(held, listed, orderId, this.#rules.plan.timezone);
  }

  /**
   * Whether a later change of the order waits for a read that has failed for a day. Until then the held one may be a
   * cancellation that keeps a status back (`kept-words.ts`).
   */
  #isOvertaken(held: OrderRecord, orderId: string, { firstSeenAt, firstSeenMs }: HeldUnnamed): boolean {
    const { store, clock } = this.#context;
    const queued = loadQueuedRead(store, orderId);
    const now = { at: isoTime(clock.nowMs()), machineMs: clock.monotonicMs() };
    if (queued === undefined || (queued.dueAt ?? "") <= now.at) return false;
    const both = [
      { at: queued.since, machineMs: queued.sinceMs },
      { at: firstSeenAt, machineMs: firstSeenMs },
    ];
    if (!both.every((since) => hasLasted(since, now, DAY_MS))) return false;
    const listed = fieldOf({ text: queued.record, mapping: this.#rules[queued.source] }, "updated_at") ?? null;
    return isOlder(fieldOf(held, "updated_at") ?? null, listed, this.#rules.plan.timezone);
  }

  /** For a stored order this can be decided without a read. */
  #mayBe(held: OrderRecord, orderId: string): boolean {
    const { store } = this.#context;
    const mark = loadOrderMark(store, orderId);
    if (mark === undefined) return true;
    const stored = { text: loadStoredOrder(store, mark.orderKey).payload, mapping: this.#rules[mark.payloadSource] };
    return isSameOrder(held, stored, orderId, this.#rules.plan.timezone);
  }

  /** `ill`: the service fails, not this order. */
  async #ask(
    order: ReadableOrder,
    { id, kind, firstSeenAt, held }: HeldUnnamed & { held: OrderRecord },
    pass: FindPass,
  ): Promise<"found" | "none" | "ill"> {
    const { store } = this.#context;
    const { orderId } = order;
    const keep = (answer: OrderAnswer, at: string): IngestResult | "other" => {
      if (!answer.record.ok && answer.record.isLarge) return "other";
      const answered = { text: textOf(answer.body, answer.record.span), mapping: this.#rules.snapshot };
      if (kind === "change") return this.#keepChanged({ id, held, firstSeenAt }, answer, at);
      if (!isSameOrder(held, answered, orderId, this.#rules.plan.timezone)) return "other";
      const ingested = this.#reader.store(answer, at);
      if (loadOrderMark(store, orderId) !== undefined) releaseStored(store, id, orderId);
      return ingested;
    };
    try {
      const act = { store: keep, settle: (refreshed: Refreshed<IngestResult | "other">) => refreshed };
      let read = await this.#reader.refresh(order, act, pass.signal);
      // A service that writes the id elsewhere may also write it in another case.
      if (read?.value.kind === "unknown" && order.serviceId !== orderId)
        read = await this.#reader.refresh({ orderId, serviceId: orderId }, act, pass.signal);
      // A UUID may be the id of anything; the service answers that it is no order.
      if (read === undefined || read.value.kind === "unknown") return "none";
      pass.reads.answered(loadOrderMark(store, orderId)?.orderKey);
      return read.value.stored === "other" || loadOrderMark(store, orderId) === undefined ? "none" : "found";
    } catch (error) {
      if (reachOf(error) !== "record") throw error;
      return (await pass.reads.failed(orderId, error)) ? "none" : "ill";
    }
  }

  /**
   * Releases a change once its order was read with a version that is not older, or within the lag of the change list.
   */
  #keepChanged(
    { id, held, firstSeenAt }: { id: number; held: OrderRecord; firstSeenAt: string },
    answer: OrderAnswer,
    at: string,
  ): IngestResult | "other" {
    const ingested = this.#reader.store(answer, at);
    const announced = fieldOf(held, "updated_at") ?? null;
    const isBehind =
      this.#reader.isBehind({ announced, own: this.#reader.timestampOf(answer) }) &&
      Date.parse(at) - Date.parse(firstSeenAt) < BEHIND_FOR_MS;
    if (ingested === "owed" || ingested === "quarantined" || isBehind || !answer.record.ok) return "other";
    releaseStored(this.#context.store, id, answer.record.orderId);
    return ingested;
  }
}

interface FindPass {
  reads: ReadPass;
  left: number;
  /** All open orders and the newest closed ones were read since then. */
  readSince: string;
  signal: AbortSignal;
}
