/* Finds out what counts of an acceptance say that are smaller than what was sent: of some, that they were left out; of none, perhaps that nothing has changed. */

import type { AnswerForms } from "../pass/answer-forms.ts";
import { commit } from "../pass/commit.ts";
import { stopsPass } from "../pass/holds.ts";
import { type CountedOtherwise, takenBy } from "../service/answer-counts.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { readImportResult } from "../service/import-result.ts";
import { ServiceError } from "../service/service-error.ts";
import type { FeedContext } from "./absorb-feed.ts";
import type { FeedRules } from "./feed.ts";
import type { OutboxRow } from "./feed-outbox.ts";
import { loadKeyState } from "./feed-rows.ts";
import type { Counted, Entry, Refused, SendPass, Short } from "./send-pass.ts";

/** Sends a record that was accepted once more. */
type Ask = (entry: Entry, signal: AbortSignal) => Promise<ServiceAnswer | Refused>;

export class CountProbe {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #forms: AnswerForms;
  readonly #ask: Ask;

  constructor(context: FeedContext, { rules, forms, ask }: { rules: FeedRules; forms: AnswerForms; ask: Ask }) {
    this.#context = context;
    this.#rules = rules;
    this.#forms = forms;
    this.#ask = ask;
  }

  /**
   * What says that the service has taken fewer records than were sent, where it has said so in this pass. Some count only what was
   * changed by them: then both halves of such a request together are counted less when they go again.
   */
  async findShort(pass: SendPass, rows: readonly OutboxRow[], { counts, size }: Counted): Promise<Short | undefined> {
    const divided = pass.divided.get(partKeyOf(rows));
    pass.divided.delete(partKeyOf(rows));
    if (divided !== undefined) {
      divided.counted += takenBy(divided.name, counts[divided.name], size);
      divided.left -= 1;
      if (divided.left === 0 && divided.counted < divided.taken)
        await commit(this.#context, pass.signal, () => this.#forms.saveCountOf("changes", divided.name));
    }
    const short = this.#forms.findShort(counts, {
      ...{ size, isPart: isPartOfShort(pass, rows) },
      counting: new Set(pass.short.values()),
    });
    if (short === undefined) return undefined;
    return { ...short, isEarly: short.taken === 0 && divided?.left === 1 };
  }

  /**
   * Whether a count of none says that these records have changed nothing. A record that was accepted in this pass shows what is counted:
   * it goes once more. Where there is none, records may be the same whose request was not answered, or that were acknowledged so.
   */
  async isSame(pass: SendPass, rows: readonly OutboxRow[], { name }: CountedOtherwise): Promise<boolean> {
    const { store } = this.#context;
    const rules = this.#rules;
    const again = pass.lastAccepted && (await this.#countAgain(pass.lastAccepted, name, pass.signal));
    if (again !== undefined) {
      await commit(this.#context, pass.signal, () => this.#forms.saveCountOf(again > 0 ? "taken" : "changes", name));
      pass.undecided.clear();
      return again === 0;
    }
    for (const { id } of rows) pass.undecided.add(id);
    const isAlready = (row: OutboxRow) => {
      const { flightRecord, flightUntilMs } = pass.before.get(row.id) ?? row;
      const isOpen = flightRecord !== null && flightUntilMs !== 0;
      return isOpen || loadKeyState(store, rules, row.key).sent?.record === row.record;
    };
    return !isPartOfShort(pass, rows) && rows.every(isAlready);
  }

  /** What that name counts where a record goes that the service has. Undefined where it does not say. */
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

/** Of a request with these the service has counted a part. */
function isPartOfShort({ short }: SendPass, rows: readonly OutboxRow[]): boolean {
  return rows.length > 0 && rows.every(({ id }) => short.has(id));
}

/** The halves of a divided request are named by these. */
export function partKeyOf(rows: readonly OutboxRow[]): string {
  return `${rows[0]?.id} ${rows.length}`;
}
