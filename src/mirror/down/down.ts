/*
 * Copies orders, events, batches, quarantined records and conditions to PostgreSQL. One transaction locks the shop's
 * position, reads the rows after it in the shop's database, writes them and advances the position. Only committed rows are
 * read, so PostgreSQL is never ahead of the shop's disk. After a crash or a COMMIT without an answer the position shows
 * what was committed; writing the same rows again changes nothing.
 */

import type { Store } from "../../database/store.ts";
import { commit } from "../../pass/commit.ts";
import { addCount } from "../../pass/counts.ts";
import { type Clock, isoTime } from "../../platform/ports.ts";
import type { MirrorTx } from "../connection.ts";
import {
  addRefused,
  forgetMirrorState,
  loadMirrorState,
  loadRefill,
  type Refill,
  type Refused,
  saveMirrorState,
  startRefill,
} from "../mirror-state.ts";
import type { MirrorPart, MirrorSession, PartResult } from "../part.ts";
import { type Move, type Position, type Seen, savePosition } from "../position.ts";
import { StepSize } from "../step-size.ts";
import { type Columns, type DownRow, EVENT_COLUMNS, ORDER_COLUMNS } from "./down-columns.ts";
import {
  type Change,
  countOwnOrders,
  deleteChanges,
  type EventsPart,
  hasChanges,
  hashOrder,
  listMarked,
  loadBatch,
  loadChanges,
  loadConditions,
  loadEvents,
  loadHeld,
  loadKeysAfter,
  loadLocal,
  loadNews,
  loadOrders,
  type News,
  newQueue,
  noteChanges,
  type PartsBound,
  readAtOnce,
  readQueue,
  upToOf,
} from "./down-rows.ts";
import { planBeginning } from "./plan-down.ts";
import { RowsBuffers } from "./rows-buffer.ts";
import {
  countOrders,
  loadHashes,
  NeedsSavepoints,
  type QueueRows,
  refreshQueue,
  withoutSavepoints,
  writeBatches,
  writeConditions,
  writeEvents,
  writeHeld,
  writeOrders,
} from "./write-down.ts";

/** Limit of one transaction: at most half a second of work. */
const BOUND = { rows: 2_000, bytes: 4_000_000 };
/**
 * Limit of one statement: the next rows are read while PostgreSQL processes these. So few that they are garbage collected
 * before V8 promotes them to the old generation, whose memory it does not return.
 */
const PART = { rows: 64, bytes: 256_000 };
const boundOf = (size: StepSize): PartsBound => ({
  rows: size.of(BOUND.rows),
  bytes: size.of(BOUND.bytes),
  part: { rows: size.of(PART.rows), bytes: PART.bytes },
});
/** Orders compared by hash per transaction. */
const COMPARED_ROWS = 1_000;
const CHANGES_MAX = 500;
const NOTED_ROWS = 2_000;

interface Read {
  at: Position;
  move: Move;
  isRestored: boolean;
  news: News;
  changes: Change[];
  conditions: ReturnType<typeof loadConditions> | undefined;
  head: number;
}

export class Down implements MirrorPart {
  readonly name = "down";
  #isCompareAsked = false;
  /** Rows were refused in the last transaction, so each statement gets a savepoint. */
  #isCareful = false;
  readonly #size = new StepSize();
  readonly #orders = new RowsBuffers(ORDER_COLUMNS);
  readonly #events = new RowsBuffers(EVENT_COLUMNS);
  readonly #queue = newQueue();
  /** The conditions last written to PostgreSQL, as JSON. */
  #conditions: string | undefined;

  hasWork(store: Store, seen: Seen, isRestored: boolean): boolean {
    const local = { ...loadLocal(store, seen.ordersSeq), isRestored };
    if (planBeginning(seen, local, this.#isCompareAsked).why !== undefined || seen.walk !== null) return true;
    if (local.head > Math.min(seen.ordersSeq, seen.eventsSeq) || hasChanges(store)) return true;
    return Object.keys(loadRefill(store)).length > 0 || JSON.stringify(loadConditions(store)) !== this.#conditions;
  }

  compareAll(): void {
    this.#isCompareAsked = true;
  }

  async turn(session: MirrorSession, seen: Seen, signal: AbortSignal): Promise<PartResult> {
    const { context } = session;
    const { store } = context;
    const local = { ...loadLocal(store, seen.ordersSeq), isRestored: session.isRestored };
    if (planBeginning(seen, local, this.#isCompareAsked).refill) {
      // Writes all conditions again; they are few.
      this.#conditions = undefined;
      await commit(context, signal, () => startRefill(store));
    }
    const counts: Record<string, number> = {};
    const refill = loadRefill(store);
    const isRefilling = Object.keys(refill).length > 0;
    if (isRefilling) await commit(context, signal, () => noteMore(store, refill));
    try {
      const more = await this.#transact(session, signal, counts);
      this.#size.noteDone();
      return { counts, more: more || isRefilling };
    } catch (error) {
      this.#size.noteFailed(error);
      throw error;
    } finally {
      this.#orders.release();
      this.#events.release();
    }
  }

  /** Returns whether more rows are waiting. */
  async #transact(session: MirrorSession, signal: AbortSignal, counts: Record<string, number>): Promise<boolean> {
    const { context, self } = session;
    const { store } = context;
    const transact = () =>
      session.transact(async (tx, position) => {
        const read = readAtOnce(store, () => this.#read(store, position, session.isRestored));
        const to = this.#isCareful ? tx : withoutSavepoints(tx);
        const written = await this.#write(to, read, { store, clock: context.clock, shop: self.shop });
        return { ...written, read, isRestored: read.isRestored, turn: await savePosition(tx, self.shop, written.move) };
      });
    const made = await transact().catch((error: unknown) => {
      if (!(error instanceof NeedsSavepoints)) throw error;
      this.#isCareful = true;
      return transact();
    });
    const { read, refused, refusedEvent, orders, isWalking, move } = made;
    this.#isCareful = refused.length > 0;
    this.#isCompareAsked &&= read.at.walk === null;
    if (read.conditions !== undefined) this.#conditions = JSON.stringify(read.conditions);
    if (
      read.changes.length > 0 ||
      refused.length > 0 ||
      move.extraOrders !== undefined ||
      read.move.eventsSeq !== undefined
    ) {
      await commit(context, signal, () => {
        if (move.extraOrders !== undefined) saveMirrorState(store, "extra_orders", String(move.extraOrders));
        deleteChanges(store, read.changes);
        addRefused(store, "unwritten", refused);
        // The comparison that has begun writes the refused event again.
        if (read.move.eventsSeq !== undefined) forgetMirrorState(store, "refused_event");
        if (refusedEvent !== undefined && loadMirrorState(store, "refused_event") === undefined)
          saveMirrorState(store, "refused_event", String(refusedEvent));
      });
    }
    addCount(counts, "mirrored", orders);
    addCount(counts, "events", made.events);
    addCount(counts, "unwritten", refused.length);
    return (
      isWalking ||
      (move.ordersSeq ?? 0) < read.head ||
      (move.eventsSeq ?? 0) < read.head ||
      read.changes.length === CHANGES_MAX
    );
  }

  #read(store: Store, position: Position, isRestored: boolean): Read {
    const local = { ...loadLocal(store, position.ordersSeq), isRestored };
    const { move, why } = planBeginning(position, local, this.#isCompareAsked);
    const at = { ...position, ...move };
    const conditions = loadConditions(store);
    return {
      at,
      move,
      isRestored: why === "restored",
      news: loadNews(store, at.ordersSeq, this.#size.of(BOUND.rows)),
      changes: loadChanges(store, CHANGES_MAX),
      conditions: JSON.stringify(conditions) === this.#conditions ? undefined : conditions,
      head: local.head,
    };
  }

  async #write(tx: MirrorTx, read: Read, place: { store: Store; clock: Clock; shop: string }) {
    const { at, news, changes, conditions, head } = read;
    const { store, shop } = place;
    const as = { ...place, epoch: at.epoch, seq: head, size: this.#size, buffers: this.#orders, queue: this.#queue };
    const keys = news.events.values().map(({ key }) => key);
    const { refused, ...changed } = await copyOrders(tx, as, keys);
    const walked = await walk(tx, at, as);
    const range = { seq: at.eventsSeq, head };
    const events = await copyEvents(tx, shop, loadEvents(store, range, boundOf(this.#size), this.#events));
    refused.push(...walked.refused, ...events.refused);
    const batches = rowsOf(changes, "batch", (id) => loadBatch(store, id));
    const held = rowsOf(changes, "quarantine", (id) => loadHeld(store, id));
    refused.push(...(await writeBatches(tx, shop, batches)), ...(await writeHeld(tx, shop, held)));
    if (conditions !== undefined) refused.push(...(await writeConditions(tx, shop, conditions)));
    const move: Move = {
      ...read.move,
      ordersSeq: upToOf(at.ordersSeq, news, changed.read),
      eventsSeq: events.upTo ?? at.eventsSeq,
      ...walked.move,
    };
    const orders = changed.orders + walked.orders;
    const refusedEvent = events.refused.map(({ key }) => Number(key)).sort((a, b) => a - b)[0];
    return { move, refused, refusedEvent, orders, events: events.events, isWalking: walked.isWalking };
  }
}

interface Walked {
  move: Move;
  refused: Refused[];
  orders: number;
  isWalking: boolean;
}

/** Parameters of copying orders: source, target and limits. */
interface Copying {
  store: Store;
  clock: Clock;
  shop: string;
  epoch: number;
  seq: number;
  size: StepSize;
  buffers: RowsBuffers<typeof ORDER_COLUMNS>;
  queue: QueueRows;
}

/** Copies or compares the next orders of a walk through all of them; orders that differ are copied. */
async function walk(tx: MirrorTx, at: Position, as: Copying): Promise<Walked> {
  const { store, clock, size } = as;
  if (at.walk === null) return { move: {}, refused: [], orders: 0, isWalking: false };
  const isCopy = at.walk === "copy";
  const keys = loadKeysAfter(store, at.walkAfter, size.of(isCopy ? BOUND.rows : COMPARED_ROWS));
  const last = keys.at(-1);
  if (last === undefined) {
    const extraOrders = Math.max(0, (await countOrders(tx, as.shop)) - countOwnOrders(store));
    return {
      move: { walk: null, walkAfter: 0, comparedAt: isoTime(clock.nowMs()), extraOrders },
      refused: [],
      orders: 0,
      isWalking: false,
    };
  }
  const due = isCopy ? keys : await findDiffering(tx, as, keys);
  const { orders, read, refused } = await copyOrders(tx, as, due);
  // Where not all differing orders fit, the next transaction begins with the first one left.
  const left = due.findIndex((key) => !read.has(key));
  const walkAfter = left < 0 ? last : (due[left - 1] ?? at.walkAfter);
  return { move: { walkAfter }, refused, orders, isWalking: true };
}

async function copyOrders(
  tx: MirrorTx,
  as: Copying,
  keys: Iterable<number>,
): Promise<{ orders: number; read: ReadonlySet<number>; refused: Refused[] }> {
  const read: number[] = [];
  const refused: Refused[] = [];
  let orders = 0;
  await writeParts(loadOrders(as.store, keys, boundOf(as.size), as.buffers), async (part) => {
    orders += part.rows.count;
    read.push(...part.keys);
    refused.push(...(await writeOrders(tx, as, part)));
  });
  await refreshQueue(tx, as.shop, readQueue(as.store, { keys: read }, as.queue));
  return { orders, read: new Set(read), refused };
}

async function copyEvents(
  tx: MirrorTx,
  shop: string,
  parts: AsyncGenerator<EventsPart, void, void>,
): Promise<{ events: number; upTo: number | undefined; refused: Refused[] }> {
  const copied = { events: 0, upTo: undefined as number | undefined, refused: [] as Refused[] };
  await writeParts(parts, async (part) => {
    copied.events += part.rows.count;
    copied.upTo = part.upTo;
    copied.refused.push(...(await writeEvents(tx, shop, part)));
  });
  return copied;
}

/** Reads the next part while one is written. Waits for both, so that no read is running when it throws. */
async function writeParts<P>(parts: AsyncGenerator<P, void, void>, write: (part: P) => Promise<void>): Promise<void> {
  for (let part = await parts.next(); !part.done; ) {
    const [written, next] = await Promise.allSettled([write(part.value), parts.next()]);
    if (written.status === "rejected") throw written.reason;
    if (next.status === "rejected") throw next.reason;
    part = next.value;
  }
}

async function findDiffering(
  tx: MirrorTx,
  { store, shop, queue }: Copying,
  keys: readonly number[],
): Promise<number[]> {
  const own = keys.flatMap((key) => {
    const order = hashOrder(store, key);
    return order === undefined ? [] : [{ key, ...order }];
  });
  const ids = own.map(({ orderId }) => orderId);
  const marked = listMarked(store, ids);
  const there = await loadHashes(tx, shop, ids);
  await refreshQueue(tx, shop, readQueue(store, { keys }, queue));
  const isSame = ({ orderId, hash }: (typeof own)[number]) => {
    const order = there.get(orderId);
    return order?.hash === hash && (order.hasMark || !marked.has(orderId));
  };
  return own.filter((order) => !isSame(order)).map(({ key }) => key);
}

function rowsOf<C extends Columns>(
  changes: readonly Change[],
  kind: Change["kind"],
  load: (id: number) => DownRow<C> | undefined,
) {
  const ids = changes.filter((change) => change.kind === kind).map(({ key }) => key);
  const rows = ids.map(load).filter((row) => row !== undefined);
  const there = new Set(rows.map(({ key }) => key));
  return { rows, gone: ids.filter((id) => !there.has(id)) };
}

function noteMore(store: Store, refill: Refill): void {
  const next: Refill = {};
  for (const kind of ["batch", "quarantine"] as const) {
    const after = refill[kind];
    const upTo = after === undefined ? undefined : noteChanges(store, kind, after, NOTED_ROWS);
    if (upTo !== undefined) next[kind] = upTo;
  }
  saveMirrorState(store, "refill", JSON.stringify(next));
}
