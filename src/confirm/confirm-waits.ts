/*
 * State of confirms between passes: which batches wait for a retry, and which may have been confirmed by an attempt of
 * unknown outcome. Each pass may be a process of its own, so what changes is written in the transaction that settles the
 * confirm, or at the end of the pass; a pass that changes nothing writes nothing. After a crash before that the confirm
 * is sent again, with its outcome still unknown.
 */

import { readOrderId } from "../answers/uuid.ts";
import { type BatchRow, isServedBy, loadBatchOf } from "../batches/batch-rows.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import type { JobContext } from "../pass/job.ts";
import { backoffMs } from "../platform/backoff.ts";
import { isoTime } from "../platform/ports.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import { type ConfirmForm, confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { type ConfirmTimes, loadConfirmTimes, saveConfirmTimes } from "./confirm-record.ts";

/** First wait of a batch whose confirm is refused while other requests are answered; doubles up to the maximum. */
const WAIT_FIRST_MS = 60_000;
const WAIT_MAX_MS = 3_600_000;
/** Of a batch that is served again and again. */
const SERVED_WAIT_MAX_MS = 5 * 60_000;
const WAITS_MAX = 500;
const REFUSED_AGAIN_MS = 3_600_000;
/**
 * An attempt of unknown outcome counts as accepted after so many polls and so long without any of its orders served.
 */
const UNSERVED_POLLS = 10;
const UNSERVED_MS = 3_600_000;
const UNKNOWN_MAX = 200;
/**
 * For so long no confirm names more ids than were last accepted. A gateway's limit rarely changes, but a faulty gateway
 * is repaired sooner.
 */
const IDS_MAX_FOR_MS = 24 * 3_600_000;

/** Why the outcome is unknown: a new form of answer, or the name of a count below the size of the batch. */
export interface UnknownBecause {
  form?: AnswerForm | undefined;
  count?: string | undefined;
}

/** Of a refused confirm, in ids as JSON literals: the parts still to be sent, and the orders that were refused alone. */
export interface Division {
  waiting: string[][];
  alone: string[];
}

/**
 * A batch whose confirm has an unknown outcome: refused after an attempt without an answer, answered in a new form, or
 * counted in part.
 */
interface UnknownOutcome extends UnknownBecause {
  row: BatchRow;
  orderIds: ReadonlySet<string>;
  sinceMs: number;
  polls: number;
}

interface Wait {
  tries: number;
  untilMs: number;
  /** Monotonic. An answer of the service forbids the confirm until then, whatever else makes it due. */
  refusedUntilMs: number;
}

export class ConfirmWaits {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  readonly #account: string;
  /** By row id of the batch; times are monotonic. */
  readonly #waits = new Map<number, Wait>();
  /**
   * Row id of the waiting batch by its name: served with other orders it is another row, but its confirm is the same.
   */
  readonly #named = new Map<string, number>();
  readonly #unknown = new Map<number, UnknownOutcome>();
  /** The new form of the last answer to the batch's confirm. */
  readonly #unusual = new Map<number, AnswerForm>();
  /** Batches whose confirm was answered with a count below their size. */
  readonly #short = new Set<number>();
  /** Batches whose confirm was certainly refused to this process. */
  readonly #refused = new Set<number>();
  /** Of the batches that are confirmed next, the orders that their answers name beside the list. */
  readonly #ordersBeside = new Map<number, number>();
  /** See {@link ConfirmTimes.repeats}. */
  readonly #repeats = new Map<number, number>();
  /** See {@link countGone}. */
  readonly #gone = new Map<number, { retries: number; isOtherAccepted: boolean }>();
  /** Divisions that were broken off. */
  readonly #divisions = new Map<number, Division>();
  /** How often the batch's confirm failed without an answer while pulls were answered. */
  readonly #unreached = new Map<number, number>();
  /** Monotonic time of the next retry of refused confirms. Due at first: where none is refused, nothing is saved. */
  #refusedAgainMs: number;
  /**
   * Batches whose confirm was refused since the last one that was accepted, as far as they are counted; after several in
   * a row none is tried before `untilMs` (monotonic).
   */
  #forbidden = { batches: new Set<number>(), untilMs: 0 };
  /** Something that must outlive the process differs from what is saved. */
  #isUnsaved = false;
  /** The largest number of ids that the service accepts in a confirm, and until when that is assumed (monotonic). */
  #idsMax: { size: number; untilMs: number } | undefined;

  constructor(context: JobContext, form: ConfirmForm, account: string) {
    this.#context = context;
    this.#form = form;
    this.#account = account;
    this.#refusedAgainMs = context.clock.monotonicMs();
    this.#recall();
  }

  /** Number of batches that wait. */
  get size(): number {
    return this.#waits.size;
  }

  /** How many ids a confirm may name; undefined where no limit is known. */
  get idsMax(): number | undefined {
    const { size, untilMs = 0 } = this.#idsMax ?? {};
    return this.#context.clock.monotonicMs() < untilMs ? size : undefined;
  }

  set idsMax(size: number | undefined) {
    const untilMs = this.#context.clock.monotonicMs() + IDS_MAX_FOR_MS;
    this.#idsMax = size === undefined ? undefined : { size, untilMs };
    this.#isUnsaved = true;
  }

  get isUnsaved(): boolean {
    return this.#isUnsaved;
  }

  /** To be called when a transaction with {@link save} is committed. */
  noteSaved(): void {
    this.#isUnsaved = false;
  }

  get areRefusedDue(): boolean {
    return this.#context.clock.monotonicMs() >= this.#refusedAgainMs;
  }

  /**
   * Refused confirms are retried now: starts the next interval.
   * @param isAny there are any; otherwise the time is not worth a write
   */
  beginRefused(isAny: boolean): void {
    const { store, clock } = this.#context;
    this.#refusedAgainMs = clock.monotonicMs() + REFUSED_AGAIN_MS;
    this.#isUnsaved ||= isAny;
    // Another confirm may have covered it.
    for (const counted of [this.#repeats, this.#gone])
      for (const id of counted.keys()) if (loadBatchOf(store, id)?.state !== "refused") counted.delete(id);
  }

  /** Whether several confirms in a row were refused, and none was accepted since: `probe` if one may be tried now. */
  get forbidden(): "none" | "probe" | "all" {
    const { batches, untilMs } = this.#forbidden;
    if (batches.size < FAILURES_IN_ROW_MAX) return "none";
    return this.#context.clock.monotonicMs() >= untilMs ? "probe" : "all";
  }

  /** The service refuses the batch's confirm for so long, while it answers pulls. */
  noteForbidden(id: number, forMs: number): void {
    const { batches, untilMs } = this.#forbidden;
    if (batches.size < FAILURES_IN_ROW_MAX) batches.add(id);
    this.#forbidden.untilMs = Math.max(untilMs, this.#context.clock.monotonicMs() + forMs);
    this.#isUnsaved = true;
  }

  noteAccepted(): void {
    if (this.#forbidden.batches.size === 0) return;
    this.#forbidden.batches.clear();
    this.#isUnsaved = true;
  }

  /**
   * To be called when the service has answered a pull completely. Returns the batches that it has not served for long
   * enough. Polls are counted as far as they matter, so that each outcome causes a few writes only.
   */
  listUnserved(): readonly UnknownOutcome[] {
    const sinceMs = this.#context.clock.monotonicMs() - UNSERVED_MS;
    for (const outcome of this.#unknown.values()) {
      if (outcome.polls >= UNSERVED_POLLS) continue;
      outcome.polls += 1;
      this.#isUnsaved = true;
    }
    return [...this.#unknown.values()].filter(
      (outcome) => outcome.polls >= UNSERVED_POLLS && outcome.sinceMs <= sinceMs,
    );
  }

  /** The new form of an answer by which the batch may have been confirmed. */
  unusualOf(id: number): AnswerForm | undefined {
    return this.#unusual.get(id) ?? this.#unknown.get(id)?.form;
  }

  isShort(id: number): boolean {
    return this.#short.has(id);
  }

  /** Remembers why the last answer to the batch's confirm leaves the outcome unknown. */
  noteUnknown(id: number, { form, count }: UnknownBecause): void {
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
    if (this.#refused.has(id)) return;
    if (this.#refused.size >= WAITS_MAX) this.#refused.clear();
    this.#refused.add(id);
    this.#isUnsaved = true;
  }

  /**
   * A retry of a batch that repeats confirmed orders was refused. Returns how often since one of these was served;
   * beyond the limit of batches one is not counted until others have ended.
   */
  countRepeat(id: number): number {
    const retries = (this.#repeats.get(id) ?? 0) + 1;
    if (retries === 1 && this.#repeats.size >= WAITS_MAX) return 0;
    this.#repeats.set(id, retries);
    this.#isUnsaved = true;
    return retries;
  }

  /**
   * A retry of a refused confirm was answered with "no such batch". Returns whether that was said `retries` times since
   * anything of the batch was served, and the service has accepted the confirm of another one in between: it has carried
   * out the confirm that it refused.
   */
  countGone(id: number, retries: number): boolean {
    const counted = this.#gone.get(id) ?? { retries: 0, isOtherAccepted: false };
    if (counted.retries === 0 && this.#gone.size >= WAITS_MAX) return false;
    const { isOtherAccepted } = counted;
    // Later ones change nothing, and cost no write.
    this.#isUnsaved ||= counted.retries < retries;
    this.#gone.set(id, { retries: Math.min(counted.retries + 1, retries), isOtherAccepted });
    return counted.retries + 1 >= retries && isOtherAccepted;
  }

  isGone(id: number): boolean {
    return this.#gone.has(id);
  }

  /** A retry was refused in other words. */
  endGone(id: number): void {
    this.#isUnsaved = this.#gone.delete(id) || this.#isUnsaved;
  }

  /** The service has accepted the confirm of this batch, and said so. */
  noteOtherAccepted(accepted: number): void {
    for (const [id, counted] of this.#gone) {
      if (id === accepted || counted.isOtherAccepted) continue;
      this.#gone.set(id, { ...counted, isOtherAccepted: true });
      this.#isUnsaved = true;
    }
  }

  divisionOf(id: number): Division | undefined {
    return this.#divisions.get(id);
  }

  /** Saves a division that was broken off; one without waiting parts has come to its end. */
  saveDivision(id: number, division: Division): void {
    const isKnown = this.#divisions.delete(id);
    const isLeft = division.waiting.length > 0 && this.#divisions.size < WAITS_MAX;
    if (isLeft) this.#divisions.set(id, division);
    this.#isUnsaved ||= isKnown || isLeft;
  }

  /**
   * A restart shortens and drops no wait; a changed clock extends none beyond its maximum. A time that is out of range is
   * saved anew, or each process would count from its own start.
   */
  #recall(): void {
    const { store, clock } = this.#context;
    const times = loadConfirmTimes(store);
    if (times === undefined) return;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const untilMs = (at: string, maxMs: number) => {
      const leftMs = clamped(Date.parse(at) - nowMs, maxMs);
      this.#isUnsaved ||= leftMs > 0 && leftMs !== Date.parse(at) - nowMs;
      return monotonicMs + leftMs;
    };
    this.#refusedAgainMs = untilMs(times.refusedAgainAt, REFUSED_AGAIN_MS);
    for (const { id, tries, dueAt, refusedUntil } of times.waits) {
      const refusedUntilMs = refusedUntil === undefined ? 0 : untilMs(refusedUntil, WAIT_MAX_MS);
      this.#waits.set(id, { tries, untilMs: untilMs(dueAt, WAIT_MAX_MS), refusedUntilMs });
      this.#nameWait(loadBatchOf(store, id)?.batchId ?? null, id);
    }
    for (const id of times.refused) this.#refused.add(id);
    for (const [id, retries] of times.repeats ?? []) this.#repeats.set(id, retries);
    for (const { id, ...counted } of times.gone ?? []) this.#gone.set(id, counted);
    for (const { id, ...division } of times.divisions ?? []) this.#divisions.set(id, division);
    if (times.forbidden !== undefined) {
      const { batches, until } = times.forbidden;
      this.#forbidden = { batches: new Set(batches), untilMs: untilMs(until, WAIT_MAX_MS) };
    }
    if (times.idsMax !== undefined)
      this.#idsMax = { size: times.idsMax.size, untilMs: untilMs(times.idsMax.until, IDS_MAX_FOR_MS) };
    for (const { id, since, polls, form, count } of times.doubts) {
      const row = loadBatchOf(store, id);
      // Another account never served this batch, so its not being served proves nothing.
      if (row?.state !== "stored" || !isServedBy(row, this.#account)) continue;
      const sinceMs = monotonicMs - clamped(nowMs - Date.parse(since), UNSERVED_MS);
      this.#isUnsaved ||= Date.parse(since) > nowMs;
      this.#unknown.set(id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls, form, count });
      if (count !== undefined) this.#short.add(id);
    }
  }

  /** To be called inside a transaction; {@link noteSaved} follows. */
  save(): void {
    if (!this.#isUnsaved) return;
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
      doubts: [...this.#unknown].map(([id, { sinceMs, polls, form, count }]) => ({
        id,
        since: at(sinceMs),
        polls,
        form,
        count,
      })),
      refused: [...this.#refused],
      ...(this.#repeats.size === 0 ? {} : { repeats: [...this.#repeats] }),
      ...(this.#gone.size === 0 ? {} : { gone: [...this.#gone].map(([id, counted]) => ({ id, ...counted })) }),
      ...(this.#divisions.size === 0
        ? {}
        : { divisions: [...this.#divisions].map(([id, division]) => ({ id, ...division })) }),
      ...(this.#forbidden.batches.size === 0
        ? {}
        : { forbidden: { batches: [...this.#forbidden.batches], until: at(this.#forbidden.untilMs) } }),
      ...(this.#idsMax === undefined ? {} : { idsMax: { size: this.#idsMax.size, until: at(this.#idsMax.untilMs) } }),
      refusedAgainAt: at(this.#refusedAgainMs),
    };
    saveConfirmTimes(store, times);
  }

  /** Counts confirms of a batch without an answer, including those that never left, and returns the count. */
  countUnreached(row: BatchRow): number {
    const key = this.#waitKey(row);
    const times = (this.#unreached.get(key) ?? 0) + 1;
    if (this.#unreached.size >= WAITS_MAX) this.#unreached.clear();
    this.#unreached.set(key, times);
    return times;
  }

  /**
   * Whether the outcome of a confirm may be unknown. Not for a confirm that names nothing, because it covers more than
   * this batch, nor for a batch that was certainly refused before.
   */
  mayBeUnknown(row: BatchRow): boolean {
    const hasRoom = this.#unknown.has(row.id) || this.#unknown.size < UNKNOWN_MAX;
    return confirmNames(this.#form) && hasRoom && !this.#refused.has(row.id);
  }

  addUnknown(row: BatchRow, because: UnknownBecause = {}): void {
    if (this.#unknown.has(row.id)) return;
    const sinceMs = this.#context.clock.monotonicMs();
    this.#unknown.set(row.id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls: 0, ...because });
    this.#isUnsaved = true;
  }

  /** A batch that is served has not been confirmed, whatever the outcome of the attempt was, nor has another one of its orders. */
  noteServed(row: BatchRow, ordersBeside = 0): void {
    if (ordersBeside > 0) this.#ordersBeside.set(row.id, ordersBeside);
    if (this.#unknown.size + this.#repeats.size + this.#gone.size === 0) return;
    const served = idsOf(row);
    for (const counted of [this.#repeats, this.#gone]) {
      for (const id of counted.keys()) {
        const { batchId = null, orderIds = null } = loadBatchOf(this.#context.store, id) ?? {};
        const own = new Set(idsOf({ orderIds }));
        const isNamed = counted === this.#gone && (id === row.id || batchId === row.batchId);
        if (!isNamed && !served.some((orderId) => own.has(orderId))) continue;
        counted.delete(id);
        this.#isUnsaved = true;
      }
    }
    for (const [id, { orderIds, form, count: name }] of this.#unknown) {
      if (id !== row.id && !served.some((orderId) => orderIds.has(orderId))) continue;
      this.#unknown.delete(id);
      this.#isUnsaved = true;
      const wait = this.#waits.get(id);
      if (wait !== undefined) this.#waits.set(id, { ...wait, untilMs: wait.refusedUntilMs });
      if (form === undefined && name === undefined) this.#refused.add(id);
    }
  }

  /** A confirm that names nothing is one for all batches; batches of the same name have the same confirm. */
  #waitKey(row: BatchRow): number {
    if (!confirmNames(this.#form)) return 0;
    const named = this.#named.get(row.batchId ?? "") ?? row.id;
    return (this.#waits.get(named)?.untilMs ?? 0) > this.#context.clock.monotonicMs() ? named : row.id;
  }

  /**
   * @param is.due it is due for another reason: only the service's own refusal still counts
   * @param is.served the batch has just been served: what comes after it may wait for this confirm
   */
  isWaiting(row: BatchRow, is: { due?: boolean; served?: boolean } = {}): boolean {
    const wait = this.#waits.get(this.#waitKey(row));
    if (wait === undefined) return false;
    const { tries, untilMs, refusedUntilMs } = wait;
    const soonMs = untilMs - waitOf(tries) + SERVED_WAIT_MAX_MS;
    const dueMs = is.due === true ? 0 : is.served === true ? Math.min(untilMs, soonMs) : untilMs;
    return Math.max(dueMs, refusedUntilMs) > this.#context.clock.monotonicMs();
  }

  /**
   * Starts the next wait. Returns how often the batch has waited, including this time.
   * @param refusedMs for how long the service's answer forbids this confirm
   */
  wait(row: BatchRow, refusedMs = 0): number {
    const key = this.#waitKey(row);
    const tries = (this.#waits.get(key)?.tries ?? 0) + 1;
    if (this.#waits.size >= WAITS_MAX) this.#waits.clear();
    this.#nameWait(row.batchId, key);
    const waitMs = waitOf(tries);
    const nowMs = this.#context.clock.monotonicMs();
    this.#waits.set(key, { tries, untilMs: nowMs + Math.max(waitMs, refusedMs), refusedUntilMs: nowMs + refusedMs });
    this.#isUnsaved = true;
    return tries;
  }

  #nameWait(batchId: string | null, key: number): void {
    if (batchId === null || confirmNamesOrders(this.#form, batchId)) return;
    if (this.#named.size >= WAITS_MAX) this.#named.clear();
    this.#named.set(batchId, key);
  }

  /** Number of orders that the batch's answer named beside its list. */
  ordersBesideOf(id: number): number {
    return this.#ordersBeside.get(id) ?? 0;
  }

  forget(id: number): void {
    const key = confirmNames(this.#form) ? id : 0;
    const saved = [
      this.#unknown.delete(id),
      this.#refused.delete(id),
      this.#repeats.delete(id),
      this.#gone.delete(id),
      this.#divisions.delete(id),
      this.#waits.delete(key),
    ];
    this.#isUnsaved ||= saved.includes(true);
    this.#unusual.delete(id);
    this.#short.delete(id);
    this.#ordersBeside.delete(id);
    this.#unreached.delete(key);
  }
}

/** Ids by which two batches can be compared: a value that is no order id may occur in any batch. */
export function idsOf({ orderIds }: Pick<BatchRow, "orderIds">): string[] {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).flatMap((id) => {
    const orderId = typeof id === "string" ? readOrderId(id) : undefined;
    return orderId ?? [];
  });
}

function waitOf(tries: number): number {
  return backoffMs({ firstMs: WAIT_FIRST_MS, longestMs: WAIT_MAX_MS }, tries);
}

function clamped(ms: number, maxMs: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxMs) : maxMs;
}
