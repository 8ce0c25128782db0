/*
 * What is kept of confirms from pass to pass: which batches wait, and which may have been confirmed by an attempt whose answer did not
 * say so. What must outlive a restart is written in the transaction that settles the confirm; after a crash before that the
 * confirm is sent again, as one whose outcome is unknown.
 */

import { readOrderId } from "../answers/uuid.ts";
import { type BatchRow, isServedBy, loadBatchOf } from "../batches/batch-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import type { AnswerForm } from "../service/known-forms.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { type ConfirmTimes, loadConfirmTimes, saveConfirmTimes } from "./confirm-rows.ts";

/** A batch whose confirm is refused while all else is answered waits by itself. */
const WAIT_FIRST_MS = 60_000;
const WAIT_MAX_MS = 3_600_000;
const WAITS_MAX = 500;
const REFUSED_AGAIN_MS = 3_600_000;
/** What is refused after an attempt of unknown outcome was confirmed by it, once so many polls and so long a time served none of it again. */
const UNSERVED_POLLS = 10;
const UNSERVED_MS = 3_600_000;
const DOUBTS_MAX = 200;
/** For so long no confirm names more ids than were accepted at last: the limit of a gateway passes seldom, its failure soon. */
const IDS_MAX_FOR_MS = 24 * 3_600_000;

/** Why an answer is doubted: a new form, or the name of a count that was smaller than the batch. */
export interface DoubtedFor {
  form?: AnswerForm | undefined;
  count?: string | undefined;
}

/** A batch that was refused after an attempt of unknown outcome, answered in a new form, or counted in part. */
interface Doubt extends DoubtedFor {
  row: BatchRow;
  orderIds: ReadonlySet<string>;
  sinceMs: number;
  polls: number;
}

interface Wait {
  tries: number;
  untilMs: number;
  /** What the service has refused is not asked again before, whatever else happens. */
  refusedUntilMs: number;
}

export class ConfirmWaits {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  readonly #account: string;
  /** By batch; monotonic. */
  readonly #waits = new Map<number, Wait>();
  /** The batch that waits under a name, which its confirm bears: with its orders written otherwise it is stored as another. */
  readonly #named = new Map<string, number>();
  readonly #doubts = new Map<number, Doubt>();
  /** The new form in which the confirm of a batch was answered last. */
  readonly #unusual = new Map<number, AnswerForm>();
  /** Batches of which the service has counted a part. */
  readonly #short = new Set<number>();
  /** Batches that were certainly refused to this process. */
  readonly #refused = new Set<number>();
  /** How often the connection broke off in the confirm of a batch, or was never made, while orders were answered. */
  readonly #unreached = new Map<number, number>();
  /** Monotonic time from which refused confirms are tried again. */
  #refusedAgainMs: number;
  /** A confirm that names more ids is too large for the service; until when that counts, monotonic. */
  #idsMax: { size: number; untilMs: number } | undefined;

  constructor(context: JobContext, form: ConfirmForm, account: string) {
    this.#context = context;
    this.#form = form;
    this.#account = account;
    this.#refusedAgainMs = context.clock.monotonicMs() + REFUSED_AGAIN_MS;
    this.#recall();
  }

  /** How many batches wait. */
  get size(): number {
    return this.#waits.size;
  }

  /** So many ids a confirm may name; undefined: no limit is known. */
  get idsMax(): number | undefined {
    const { size, untilMs = 0 } = this.#idsMax ?? {};
    return this.#context.clock.monotonicMs() < untilMs ? size : undefined;
  }

  set idsMax(size: number | undefined) {
    const untilMs = this.#context.clock.monotonicMs() + IDS_MAX_FOR_MS;
    this.#idsMax = size === undefined ? undefined : { size, untilMs };
  }

  /** Whether refused confirms are tried again now; then not again for an hour. */
  beginRefused(): boolean {
    const nowMs = this.#context.clock.monotonicMs();
    if (nowMs < this.#refusedAgainMs) return false;
    this.#refusedAgainMs = nowMs + REFUSED_AGAIN_MS;
    return true;
  }

  /** The service has answered what it has to deliver: batches that it has not served again for long enough. */
  listUnserved(): readonly Doubt[] {
    const sinceMs = this.#context.clock.monotonicMs() - UNSERVED_MS;
    for (const doubt of this.#doubts.values()) doubt.polls += 1;
    return [...this.#doubts.values()].filter((doubt) => doubt.polls >= UNSERVED_POLLS && doubt.sinceMs <= sinceMs);
  }

  /** In which new form the confirm of a batch may have been accepted. */
  unusualOf(id: number): AnswerForm | undefined {
    return this.#unusual.get(id) ?? this.#doubts.get(id)?.form;
  }

  isShort(id: number): boolean {
    return this.#short.has(id);
  }

  /** Why the last answer to the confirm of a batch is doubted. */
  noteDoubted(id: number, { form, count }: DoubtedFor): void {
    if (form !== undefined) {
      if (this.#unusual.size >= WAITS_MAX) this.#unusual.clear();
      this.#unusual.set(id, form);
    }
    if (count !== undefined) {
      if (this.#short.size >= WAITS_MAX) this.#short.clear();
      this.#short.add(id);
    }
  }

  noteRefused(id: number): void {
    if (this.#refused.size >= WAITS_MAX) this.#refused.clear();
    this.#refused.add(id);
  }

  /** A restart tries nothing sooner than before, and drops no wait. No clock makes one longer than it can be. */
  #recall(): void {
    const { store, clock } = this.#context;
    const times = loadConfirmTimes(store);
    if (times === undefined) return;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const untilMs = (at: string, maxMs: number) => monotonicMs + clamped(Date.parse(at) - nowMs, maxMs);
    this.#refusedAgainMs = untilMs(times.refusedAgainAt, REFUSED_AGAIN_MS);
    for (const { id, tries, dueAt, refusedUntil } of times.waits) {
      const refusedUntilMs = refusedUntil === undefined ? 0 : untilMs(refusedUntil, WAIT_MAX_MS);
      this.#waits.set(id, { tries, untilMs: untilMs(dueAt, WAIT_MAX_MS), refusedUntilMs });
    }
    for (const id of times.refused) this.#refused.add(id);
    if (times.idsMax !== undefined)
      this.#idsMax = { size: times.idsMax.size, untilMs: untilMs(times.idsMax.until, IDS_MAX_FOR_MS) };
    for (const { id, since, polls, form, count } of times.doubts) {
      const row = loadBatchOf(store, id);
      // That an account does not serve what it never served says nothing.
      if (row?.state !== "stored" || !isServedBy(row, this.#account)) continue;
      const sinceMs = monotonicMs - clamped(nowMs - Date.parse(since), UNSERVED_MS);
      this.#doubts.set(id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls, form, count });
      if (count !== undefined) this.#short.add(id);
    }
  }

  /** Inside a transaction. */
  save(): void {
    const { store, clock } = this.#context;
    const beginMs = clock.nowMs() - clock.monotonicMs();
    const at = (ms: number) => isoTime(Math.round(beginMs + ms));
    const times: ConfirmTimes = {
      waits: [...this.#waits].map(([id, { tries, untilMs, refusedUntilMs }]) => ({
        id,
        tries,
        dueAt: at(untilMs),
        ...(refusedUntilMs > 0 ? { refusedUntil: at(refusedUntilMs) } : {}),
      })),
      doubts: [...this.#doubts].map(([id, { sinceMs, polls, form, count }]) => ({
        id,
        since: at(sinceMs),
        polls,
        form,
        count,
      })),
      refused: [...this.#refused],
      ...(this.#idsMax === undefined ? {} : { idsMax: { size: this.#idsMax.size, until: at(this.#idsMax.untilMs) } }),
      refusedAgainAt: at(this.#refusedAgainMs),
    };
    saveConfirmTimes(store, times);
  }

  /** How often no answer came to the confirm of a batch. One that never left is no attempt, and counts here all the same. */
  countUnreached(row: BatchRow): number {
    const key = this.#waitKey(row);
    const times = (this.#unreached.get(key) ?? 0) + 1;
    if (this.#unreached.size >= WAITS_MAX) this.#unreached.clear();
    this.#unreached.set(key, times);
    return times;
  }

  /** A confirm that names nothing covers more than its batch. What was refused before its outcome became unknown was not confirmed by it. */
  mayDoubt(row: BatchRow): boolean {
    const hasRoom = this.#doubts.has(row.id) || this.#doubts.size < DOUBTS_MAX;
    return confirmNames(this.#form) && hasRoom && !this.#refused.has(row.id);
  }

  doubt(row: BatchRow, because: DoubtedFor = {}): void {
    if (this.#doubts.has(row.id)) return;
    const sinceMs = this.#context.clock.monotonicMs();
    this.#doubts.set(row.id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls: 0, ...because });
  }

  /** What is served has not been confirmed, whatever became of the attempt. */
  noteServed(row: BatchRow): void {
    if (this.#doubts.size === 0) return;
    const served = idsOf(row);
    for (const [id, { orderIds, form, count: name }] of this.#doubts) {
      if (id !== row.id && !served.some((orderId) => orderIds.has(orderId))) continue;
      this.#doubts.delete(id);
      const wait = this.#waits.get(id);
      if (wait !== undefined) this.#waits.set(id, { ...wait, untilMs: wait.refusedUntilMs });
      if (form === undefined && name === undefined) this.#refused.add(id);
    }
  }

  /** A confirm that names nothing is one for all batches, and what bears the same name says the same. */
  #waitKey(row: BatchRow): number {
    if (!confirmNames(this.#form)) return 0;
    const named = this.#named.get(row.batchId ?? "") ?? row.id;
    return (this.#waits.get(named)?.untilMs ?? 0) > this.#context.clock.monotonicMs() ? named : row.id;
  }

  /** @param isDue its turn has come in another way: only what the service said counts */
  isWaiting(row: BatchRow, isDue = false): boolean {
    const wait = this.#waits.get(this.#waitKey(row));
    return ((isDue ? wait?.refusedUntilMs : wait?.untilMs) ?? 0) > this.#context.clock.monotonicMs();
  }

  /**
   * Returns how often it has waited, this time included.
   * @param refusedMs how long what the service said keeps the same confirm from leaving again
   */
  wait(row: BatchRow, refusedMs = 0): number {
    const key = this.#waitKey(row);
    const tries = (this.#waits.get(key)?.tries ?? 0) + 1;
    if (this.#waits.size >= WAITS_MAX) this.#waits.clear();
    if (this.#named.size >= WAITS_MAX) this.#named.clear();
    if (row.batchId !== null && !confirmNamesOrders(this.#form, row.batchId)) this.#named.set(row.batchId, key);
    const waitMs = Math.min(WAIT_FIRST_MS * 2 ** (tries - 1), WAIT_MAX_MS);
    const nowMs = this.#context.clock.monotonicMs();
    this.#waits.set(key, { tries, untilMs: nowMs + Math.max(waitMs, refusedMs), refusedUntilMs: nowMs + refusedMs });
    return tries;
  }

  forget(id: number): void {
    this.#doubts.delete(id);
    this.#unusual.delete(id);
    this.#short.delete(id);
    this.#refused.delete(id);
    this.#waits.delete(confirmNames(this.#form) ? id : 0);
    this.#unreached.delete(confirmNames(this.#form) ? id : 0);
  }
}

/** The orders that two batches may have in common: what is no order id may stand in any of them. */
function idsOf({ orderIds }: BatchRow): string[] {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).flatMap((id) => {
    const orderId = typeof id === "string" ? readOrderId(id) : undefined;
    return orderId ?? [];
  });
}

function clamped(ms: number, maxMs: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxMs) : maxMs;
}
