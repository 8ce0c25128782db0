/*
 * Releases held records of orders. Once an hour some of the orders that they name are read again, in turn: a good
 * snapshot releases what is held. A record without a usable id is released once its order is stored: with equal content
 * except for the id, or as the only order with its number, stored or changed later; `find-unnamed` reads the UUIDs
 * elsewhere in it. Each step is one transaction; after a crash the same records are checked again.
 */

import { textOf } from "../../answers/json-text.ts";
import { isOlder } from "../../answers/timestamp.ts";
import { readOrderId } from "../../answers/uuid.ts";
import { findLacking, HELD_MS } from "../../completeness/lost-values.ts";
import { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { readHeldRecord } from "../../orders/held-record.ts";
import type { Doubt } from "../../orders/ingest-options.ts";
import { ingestRecord } from "../../orders/ingest-orders.ts";
import { loadOrderMark } from "../../orders/order-rows.ts";
import { mappingOfKind, type OrderRules } from "../../orders/order-rules.ts";
import { judgeStatus } from "../../orders/status-names.ts";
import { commit } from "../../pass/commit.ts";
import {
  type HeldUnnamed,
  loadHeldOrders,
  loadHeldSince,
  loadHeldUnnamed,
  loadNewestOrders,
  loadOrdersByNumber,
  loadQuarantined,
  type QuarantinedRecord,
  releaseStored,
  type StoredCopy,
} from "../../pass/held-rows.ts";
import { reachOf } from "../../pass/holds.ts";
import { Interval } from "../../pass/interval.ts";
import type { JobContext } from "../../pass/job.ts";
import { deleteQueuedRead, loadQueuedRead, requestRead } from "../../pass/position-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import { ORDER_KINDS, type OrderMapping, readTimestampText } from "../../records/order-mapping.ts";
import { digestWithoutId, fieldOf } from "../../records/same-order.ts";
import type { BackgroundReads } from "./background-reads.ts";
import { FindUnnamed } from "./find-unnamed.ts";
import type { OrderAnswer, OrderReader, Refreshed } from "./read-order.ts";
import { ReadPass } from "./read-pass.ts";
import type { ReadableOrder } from "./read-snapshot.ts";
import type { RepeatedReads } from "./repeated-reads.ts";

const LOOK_EVERY_MS = 3_600_000;
/** Orders read per check: with a thousand held, each is read twice a day. */
const READS_PER_LOOK = 100;
/** Records without an id per check, and between two pauses. */
const UNNAMED_PER_LOOK = 500;
const UNNAMED_PER_TURN = 25;
/** A record without a number is compared with so many of the newest orders: its order comes soon, or never. */
const NEWEST_ORDERS = 200;
/** Records per check that may count after their day, and per transaction. */
const OLD_PER_LOOK = 1_000;
const OLD_PER_COMMIT = 50;
/** Age of a record at which an order's missing part counts, with the time for one read of the order. */
const OLD_MS = HELD_MS + LOOK_EVERY_MS;
const FIRST = Number.MAX_SAFE_INTEGER;

export class HeldRecords {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #reader: OrderReader;
  readonly #looks: RepeatedReads;
  readonly #background: BackgroundReads;
  readonly #unnamed: FindUnnamed;
  readonly #interval: Interval;
  /** The last records checked: the next check continues with older ones. */
  #before = { named: FIRST, unnamed: FIRST, old: FIRST };
  #oldAtMs = 0;

  constructor(
    context: JobContext,
    rules: OrderRules,
    { reader, looks, background }: { reader: OrderReader; looks: RepeatedReads; background: BackgroundReads },
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#reader = reader;
    this.#looks = looks;
    this.#background = background;
    this.#unnamed = new FindUnnamed(context, rules, { reader, background });
    this.#interval = new Interval(context, "held_read", LOOK_EVERY_MS);
  }

  async look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    await this.#unnamed.look(signal);
    if (clock.monotonicMs() >= this.#oldAtMs) {
      this.#oldAtMs = clock.monotonicMs() + LOOK_EVERY_MS;
      await this.#countOld(signal);
    }
    if (!(await this.#interval.begin(signal))) return;
    await this.#releaseStored(signal);
    await this.#readSome(signal);
  }

  async #readSome(signal: AbortSignal): Promise<void> {
    const { store, isStopping } = this.#context;
    const limit = Math.min(READS_PER_LOOK, this.#background.room);
    if (limit === 0) return;
    const held = loadHeldOrders(store, ORDER_KINDS, { before: this.#before.named, limit });
    this.#before.named = held.length < limit ? FIRST : (held.at(-1)?.id ?? FIRST);
    const pass = new ReadPass(this.#context, this.#reader, { signal });
    // Several kinds of records of one order may be held.
    const serviceIds = new Map(held.map(({ reference, serviceId }) => [readOrderId(reference), serviceId]));
    for (const [orderId, serviceId] of serviceIds) {
      if (isStopping()) return;
      // A queued read has its own schedule.
      if (orderId === undefined || loadQueuedRead(store, orderId) !== undefined) continue;
      if (!(await this.#background.take(1, signal))) return;
      if (!(await this.#readOne({ orderId, serviceId: serviceId ?? orderId }, pass, signal))) return;
    }
  }

  /** Returns false where the service fails, not this order. */
  async #readOne(order: ReadableOrder, pass: ReadPass, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#context;
    const settle = (refreshed: Refreshed, at: string): Refreshed => {
      // Only a stored order can be marked as missing.
      if (refreshed.kind === "unknown" && loadOrderMark(store, order.orderId)?.removedAt === null)
        requestRead(store, order, at);
      return refreshed;
    };
    try {
      const readOnce = (accepted?: Doubt) => {
        const take = (answer: OrderAnswer, at: string) => this.#reader.store(answer, at, accepted);
        return this.#reader.refresh(order, { store: take, settle }, signal);
      };
      const read = await this.#looks.read(order.orderId, readOnce, { reads: pass, signal });
      if (read?.value.kind === "unknown") return await pass.failed(order.orderId, read.value.error);
      pass.answered(loadOrderMark(store, order.orderId)?.orderKey);
    } catch (error) {
      if (reachOf(error) !== "record") throw error;
      return await pass.failed(order.orderId, error);
    }
    return true;
  }

  /** A record held for a day for what it lacks is stored, even if its order cannot be read. */
  async #countOld(signal: AbortSignal): Promise<void> {
    const { store, clock, isStopping } = this.#context;
    for (let looked = 0; looked < OLD_PER_LOOK && !isStopping(); looked += OLD_PER_COMMIT) {
      const at = isoTime(clock.nowMs());
      const range = { before: this.#before.old, limit: OLD_PER_COMMIT, since: isoTime(clock.nowMs() - OLD_MS) };
      const held = loadHeldSince(store, ORDER_KINDS, range);
      this.#before.old = held.length < OLD_PER_COMMIT ? FIRST : (held.at(-1)?.id ?? FIRST);
      const lacking = held.filter((row) => this.#readLacking(row) !== undefined);
      if (lacking.length > 0)
        await commit(this.#context, signal, () => {
          for (const row of lacking) this.#count(row, at);
        });
      if (this.#before.old === FIRST) break;
      await clock.sleep(0, signal);
    }
  }

  /** The record of a whole order that is held only for what it lacks. */
  #readLacking(row: QuarantinedRecord) {
    // A change without whole orders is no version to store.
    if (row.kind === "change" && this.#rules.carry === "changes") return undefined;
    const read = readHeldRecord(this.#rules, row);
    if (read instanceof Message) return undefined;
    const { values, mapping } = read;
    const judged = judgeStatus(values.status, this.#rules.plan);
    const text = textOf(read.bytes, read.record.span);
    if (findLacking({ values, ...judged, text, mapping }).length === 0) return undefined;
    const stored = loadOrderMark(this.#context.store, read.record.orderId)?.updatedAt ?? null;
    const timestamp = readTimestampText(read.bytes, read.record.span, read.mapping);
    return isOlder(timestamp, stored, this.#rules.plan.timezone) ? undefined : read;
  }

  #count(row: QuarantinedRecord, at: string): void {
    const { store, clock } = this.#context;
    const read = this.#readLacking(row);
    if (read === undefined || loadQuarantined(store, row.id)?.state !== "held") return;
    const { record, bytes, mapping } = read;
    const machineMs = clock.monotonicMs();
    const taken = ingestRecord({ store, rules: this.#rules, mapping, bytes, at, machineMs }, record);
    if (taken === "created" || taken === "changed") deleteQueuedRead(store, record.orderId, record.hash);
  }

  async #releaseStored(signal: AbortSignal): Promise<void> {
    const { store, clock, log, isStopping } = this.#context;
    const newest = new Map<OrderMapping, Map<string, StoredCopy>>();
    let released = 0;
    for (let looked = 0; looked < UNNAMED_PER_LOOK && !isStopping(); looked += UNNAMED_PER_TURN) {
      const held = loadHeldUnnamed(store, ORDER_KINDS, { before: this.#before.unnamed, limit: UNNAMED_PER_TURN });
      this.#before.unnamed = held.length < UNNAMED_PER_TURN ? FIRST : (held.at(-1)?.id ?? FIRST);
      const found = held.flatMap((record) => {
        const order = this.#findStored(record, newest);
        return order === undefined ? [] : [{ id: record.id, orderId: order.orderId }];
      });
      if (found.length > 0)
        await commit(this.#context, signal, () => {
          for (const { id, orderId } of found) released += Number(releaseStored(store, id, orderId));
        });
      if (this.#before.unnamed === FIRST) break;
      await clock.sleep(0, signal);
    }
    if (released > 0) {
      log.info({ released }, m.updates.foundStored({ count: released }));
    }
  }

  /** The stored order to which a record without a usable id belongs. */
  #findStored(record: HeldUnnamed, newest: Map<OrderMapping, Map<string, StoredCopy>>): StoredCopy | undefined {
    const { store } = this.#context;
    const mapping = mappingOfKind(this.#rules, record.kind);
    const digest = digestWithoutId({ text: record.payload ?? "", mapping });
    if (record.payload === null || digest === undefined) return undefined;
    const number = fieldOf({ text: record.payload, mapping }, "number");
    if (number === undefined) {
      let digests = newest.get(mapping);
      if (digests === undefined) {
        const orders = loadNewestOrders(store, NEWEST_ORDERS);
        digests = new Map(orders.map((order) => [digestWithoutId({ text: order.payload, mapping }) ?? "", order]));
        newest.set(mapping, digests);
      }
      return digests.get(digest);
    }
    const orders = loadOrdersByNumber(store, number);
    const same = orders.find(({ payload }) => digestWithoutId({ text: payload, mapping }) === digest);
    if (same !== undefined) return same;
    const [only, second] = orders;
    if (only === undefined || second !== undefined || only.writtenAt <= record.firstSeenAt) return undefined;
    // The version stored since may be older, and this machine's clock may have been set back: timestamps decide where
    // both have one.
    const announced = fieldOf({ text: record.payload, mapping }, "updated_at") ?? null;
    return this.#reader.isBehind({ announced, own: only.updatedAt }) ? undefined : only;
  }
}
