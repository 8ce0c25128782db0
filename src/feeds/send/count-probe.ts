/*
 * Finds out the meaning of counts that are smaller than the request: records may have been skipped, or, where the count
 * is 0, nothing may have changed.
 */

import type { AnswerForms } from "../../pass/answer-forms.ts";
import { commit } from "../../pass/commit.ts";
import { stopsPass } from "../../pass/holds.ts";
import type { ServiceAnswer } from "../../service/client.ts";
import { type CountedOtherwise, findShortCount } from "../../service/outcome/answer-counts.ts";
import { readImportResult } from "../../service/outcome/import-result.ts";
import { learnCountOfChanges, learnCountOfTaken, takenBy } from "../../service/outcome/usual-counts.ts";
import { ServiceError } from "../../service/service-error.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { loadKeyState } from "../feed-rows.ts";
import type { Counted, Entry, Refused, SendPass, Short } from "./send-pass.ts";

/** Sends an accepted record again. */
type Ask = (entry: Entry, signal: AbortSignal) => Promise<ServiceAnswer | Refused>;

export class CountProbe {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #forms: AnswerForms;
  readonly #ask: Ask;
  /** A count that was 0 while no accepted record could show what it counts. */
  openCount: string | undefined;

  constructor(context: FeedContext, { rules, forms, ask }: { rules: FeedRules; forms: AnswerForms; ask: Ask }) {
    this.#context = context;
    this.#rules = rules;
    this.#forms = forms;
    this.#ask = ask;
  }

  /**
   * The count which shows that the service accepted fewer records than were sent. Some services count only changes: then
   * both halves of such a request, sent again, together have a smaller count than the whole.
   */
  async findShort(
    pass: SendPass,
    rows: readonly OutboxRow[],
    { counts, size, isYes }: Counted,
  ): Promise<Short | undefined> {
    const divided = pass.divided.get(partKeyOf(rows));
    pass.divided.delete(partKeyOf(rows));
    if (divided !== undefined) {
      divided.counted += takenBy(divided.name, counts[divided.name], size);
      divided.left -= 1;
      if (divided.left === 0 && divided.counted < divided.taken)
        await commit(this.#context, pass.signal, () =>
          this.#forms.saveCounts((known) => learnCountOfChanges(known, divided.name)),
        );
    }
    const short = findShortCount(this.#forms.counts, counts, {
      ...{ size, isYes, isPart: isPartOfShort(pass, rows) },
      counting: new Set(pass.short.values()),
    });
    if (short === undefined) return undefined;
    return { ...short, isEarly: short.taken === 0 && divided?.left === 1 };
  }

  /**
   * Whether a count of 0 means that these records have changed nothing. To find out what is counted, a record accepted in
   * this pass is sent again. Where there is none, records count as unchanged that were sent with the same value before, and
   * acknowledged or not answered.
   */
  async isSame(pass: SendPass, rows: readonly OutboxRow[], { name }: CountedOtherwise): Promise<boolean> {
    const again = await this.#findOut(pass, name);
    if (again !== undefined) return again === 0;
    this.openCount = name;
    for (const { id } of rows) pass.undecided.add(id);
    return !isPartOfShort(pass, rows) && rows.every((row) => this.mayBeThere(pass, row));
  }

  /** Whether the service may have the row's value: it was sent before, and acknowledged or not answered. */
  mayBeThere(pass: SendPass, row: OutboxRow): boolean {
    const { flightRecord, flightUntilMs } = pass.before.get(row.id) ?? row;
    // Another value would be a change.
    const isOpen = flightRecord === row.record && flightUntilMs !== 0;
    return isOpen || loadKeyState(this.#context.store, this.#rules, row.key).sent?.record === row.record;
  }

  /** To be called where a record was accepted while a count is open: finds out its meaning, also of an earlier pass. */
  async settleOpen(pass: SendPass): Promise<void> {
    if (this.openCount !== undefined) await this.#findOut(pass, this.openCount);
  }

  /** The count for a record that was accepted just now, sent again. */
  async #findOut(pass: SendPass, name: string): Promise<number | undefined> {
    const again = pass.lastAccepted && (await this.#countAgain(pass.lastAccepted, name, pass.signal));
    if (again === undefined) return undefined;
    const learn = again > 0 ? learnCountOfTaken : learnCountOfChanges;
    await commit(this.#context, pass.signal, () => this.#forms.saveCounts((known) => learn(known, name)));
    this.openCount = undefined;
    pass.undecided.clear();
    return again;
  }

  /** The count for a record that the service already has; undefined where the answer has no such count. */
  async #countAgain(entry: Entry, name: string, signal: AbortSignal): Promise<number | undefined> {
    const rules = this.#rules;
    if (this.#context.files !== undefined || rules.scope === "whole") return undefined;
    try {
      const answer = await this.#ask(entry, signal);
      if ("kind" in answer) return undefined;
      const count = readImportResult(answer, [entry.key], rules.result);
      return count.kind === "accepted" && count.counts?.[name] !== undefined
        ? takenBy(name, count.counts[name], 1)
        : undefined;
    } catch (error) {
      if (error instanceof ServiceError && !stopsPass(error)) return undefined;
      throw error;
    }
  }
}

/** Whether the service has counted only a part of a request with these rows. */
export function isPartOfShort({ short }: SendPass, rows: readonly OutboxRow[]): boolean {
  return rows.length > 0 && rows.every(({ id }) => short.has(id));
}

/** Identifies the halves of a divided request. */
export function partKeyOf(rows: readonly OutboxRow[]): string {
  return `${rows[0]?.id} ${rows.length}`;
}
