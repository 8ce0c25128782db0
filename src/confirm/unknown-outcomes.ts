/*
 * Batches that may have been confirmed by an attempt of unknown outcome. One that is served again was not; one that is not
 * served for long enough counts as confirmed.
 */

import { type BatchRow, isServedBy, loadBatchOf } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import { idsOf } from "./batch-ids.ts";
import { type ConfirmForm, confirmNames } from "./confirm-form.ts";
import type { ConfirmTimes, SavedTimes } from "./confirm-record.ts";
import type { UnknownBecause } from "./plan-outcome.ts";
import { isUnserved, UNSERVED_MS, UNSERVED_POLLS } from "./plan-wait.ts";

const UNKNOWN_MAX = 200;
/** Of what is noted of single batches. */
const NOTED_MAX = 500;

/** Refused after an attempt without an answer, answered in a new form, or counted in part. */
interface UnknownOutcome extends UnknownBecause {
  row: BatchRow;
  orderIds: ReadonlySet<string>;
  /** Monotonic. */
  sinceMs: number;
  polls: number;
}

/** Everything is by row id of the batch. */
export class UnknownOutcomes {
  readonly #form: ConfirmForm;
  readonly #times: SavedTimes;
  readonly #unknown = new Map<number, UnknownOutcome>();
  /** The new form of the last answer to the batch's confirm. */
  readonly #unusual = new Map<number, AnswerForm>();
  /** Batches whose confirm was answered with a count below their size. */
  readonly #short = new Set<number>();
  /** Batches whose confirm was certainly refused. */
  readonly #refused = new Set<number>();

  constructor(
    form: ConfirmForm,
    times: SavedTimes,
    { store, saved, account }: { store: Store; saved: ConfirmTimes | undefined; account: string },
  ) {
    this.#form = form;
    this.#times = times;
    for (const id of saved?.refused ?? []) this.#refused.add(id);
    for (const { id, since, polls, form: answer, count } of saved?.doubts ?? []) {
      const row = loadBatchOf(store, id);
      // Another account never served this batch, so its not being served proves nothing.
      if (row?.state !== "stored" || !isServedBy(row, account)) continue;
      const sinceMs = times.readSince(since, UNSERVED_MS);
      this.#unknown.set(id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls, form: answer, count });
      if (count !== undefined) this.#short.add(id);
    }
  }

  get isEmpty(): boolean {
    return this.#unknown.size === 0;
  }

  /**
   * Whether the outcome of a confirm may be unknown. Not for a confirm that names nothing, because it covers more than
   * this batch, nor for a batch that was certainly refused before.
   */
  mayHave(row: BatchRow): boolean {
    const hasRoom = this.#unknown.has(row.id) || this.#unknown.size < UNKNOWN_MAX;
    return confirmNames(this.#form) && hasRoom && !this.#refused.has(row.id);
  }

  add(row: BatchRow, because: UnknownBecause = {}): void {
    if (this.#unknown.has(row.id)) return;
    const { nowMs: sinceMs } = this.#times;
    this.#unknown.set(row.id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls: 0, ...because });
    this.#times.isUnsaved = true;
  }

  /** Why the last answer to the batch's confirm leaves the outcome unknown. */
  noteWhy(id: number, { form, count }: UnknownBecause): void {
    if (form !== undefined) {
      if (this.#unusual.size >= NOTED_MAX) this.#unusual.clear();
      this.#unusual.set(id, form);
    }
    if (count !== undefined) {
      if (this.#short.size >= NOTED_MAX) this.#short.clear();
      this.#short.add(id);
    }
  }

  /** The new form of an answer by which the batch may have been confirmed. */
  unusualOf(id: number): AnswerForm | undefined {
    return this.#unusual.get(id) ?? this.#unknown.get(id)?.form;
  }

  isShort(id: number): boolean {
    return this.#short.has(id);
  }

  noteRefused(id: number): void {
    if (this.#refused.has(id)) return;
    if (this.#refused.size >= NOTED_MAX) this.#refused.clear();
    this.#refused.add(id);
    this.#times.isUnsaved = true;
  }

  /**
   * To be called when the service has answered a pull completely. Returns the batches that it has not served for long
   * enough. Polls are counted as far as they matter, so that each outcome causes a few writes only.
   */
  listUnserved(): readonly UnknownOutcome[] {
    for (const outcome of this.#unknown.values()) {
      if (outcome.polls >= UNSERVED_POLLS) continue;
      outcome.polls += 1;
      this.#times.isUnsaved = true;
    }
    return [...this.#unknown.values()].filter((outcome) => isUnserved(outcome, this.#times.nowMs));
  }

  /**
   * A batch that is served has not been confirmed, whatever the outcome of the attempt was, nor has another one of its
   * orders. Returns those whose outcome is known by that.
   */
  noteServed({ id: servedId }: BatchRow, served: readonly string[]): number[] {
    const known = [...this.#unknown].filter(
      ([id, { orderIds }]) => id === servedId || served.some((orderId) => orderIds.has(orderId)),
    );
    for (const [id, { form, count }] of known) {
      this.#unknown.delete(id);
      this.#times.isUnsaved = true;
      if (form === undefined && count === undefined) this.#refused.add(id);
    }
    return known.map(([id]) => id);
  }

  forget(id: number): void {
    const saved = [this.#unknown.delete(id), this.#refused.delete(id)];
    this.#times.isUnsaved ||= saved.includes(true);
    this.#unusual.delete(id);
    this.#short.delete(id);
  }

  toSaved(): Pick<ConfirmTimes, "doubts" | "refused"> {
    return {
      doubts: [...this.#unknown].map(([id, { sinceMs, polls, form, count }]) => ({
        id,
        since: this.#times.toText(sinceMs),
        polls,
        form,
        count,
      })),
      refused: [...this.#refused],
    };
  }
}
