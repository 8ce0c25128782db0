/*
 * Requests of which the service has counted fewer changes than there were: by the acknowledgements the site has other values
 * of more records. Some were left out, and which is not known. Their rows go again until what was missing is counted: a
 * record that was left out is counted then, and one that was accepted is not counted twice. What a sale or a person has
 * changed on the site meanwhile looks the same: see `KnownCount.mayLack`.
 */

import { MetaValue } from "../../database/meta.ts";
import type { AnswerForms } from "../../pass/answer-forms.ts";
import { commit } from "../../pass/commit.ts";
import { type CountedOtherwise, findFewChanges } from "../../service/outcome/answer-counts.ts";
import { isEqualOften, takenBy } from "../../service/outcome/usual-counts.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { isSameRecord } from "../feed-record.ts";
import { partKeyOf } from "./count-probe.ts";
import { loadSentOtherwise } from "./flight-rows.ts";
import type { Counted, SendPass, Short } from "./send-pass.ts";

/** One such request. `left`: changes not counted yet, `most`: the most that were counted of one request, `rows`: ids. */
interface Lack {
  name: string;
  left: number;
  most: number;
  rows: readonly number[];
}

type Lacks = Partial<Record<string, readonly Lack[]>>;

const LACKS = new MetaValue<Lacks>("lacking_changes", {});

/** Rows of the newest requests are remembered; those of others are like rows of requests without an answer. */
const ROWS_MAX = 10_000;

/**
 * What an answer's count of changes shows. `short`: there were more. `isAll`: there were as many, or as many were missing.
 * `lacks`: the same as `short`, of a count of which too little is known.
 */
export interface ReadChanges {
  short?: Short;
  isAll?: boolean;
  lacks?: string;
}

export class LackingChanges {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;
  readonly #forms: AnswerForms;

  /** Whether there was any since the start: where there was none, nothing else needs to be asked. */
  hadAny: boolean;

  constructor(context: FeedContext, rules: FeedRules, forms: AnswerForms) {
    this.#context = context;
    this.#rules = rules;
    this.#forms = forms;
    this.hadAny = this.isOpen;
  }

  /** Whether there is any. */
  get isOpen(): boolean {
    return this.#load().length > 0;
  }

  /** The rows of such requests among these. */
  among<R extends { id: number }>(rows: readonly R[]): R[] {
    const ids = new Set(this.#load().flatMap((lack) => lack.rows));
    return ids.size === 0 ? [] : rows.filter(({ id }) => ids.has(id));
  }

  /**
   * Reads an answer to these rows, as they were before their request.
   * @param isSettled it was read before, and it was not known then that changes are counted
   */
  async read(
    pass: SendPass,
    rows: readonly OutboxRow[],
    { counts, size }: Counted,
    { isSettled = false } = {},
  ): Promise<ReadChanges> {
    // Of several rows of an article only the last one may be a change.
    if (rows.length !== size || this.#rules.sharesArticles) return {};
    const again = this.among(rows).filter(isSentAgain);
    if (again.length > 0 && !isSettled) await this.#settle(pass, again, { counts, size });
    const few = findFewChanges(this.#forms.counts, counts, size);
    if (few === undefined) return {};
    const differing = this.#differing(rows.filter((row) => !again.includes(row)));
    const missing = countArticles(differing) - few.taken;
    if (!few.isSure) return missing > 0 ? { lacks: few.name } : {};
    if (missing > 0) {
      await this.#add(pass, { name: few.name, left: missing, most: few.taken, rows: idsOf(differing) });
      return { short: few.taken > 0 ? { ...few, parts: few.taken } : few };
    }
    const open = this.among(again);
    if (open.length === 0 || countArticles(open) <= -missing)
      return { isAll: differing.length + again.length === size };
    const most = Math.max(...this.#of(open).map((lack) => lack.most));
    if (most > 0 && size > most) return { short: { ...few, parts: most } };
    const key = partKeyOf(rows);
    if (pass.late.has(key)) return { short: few };
    pass.late.add(key);
    return { short: { ...few, isEarly: true } };
  }

  /** Notes a request of which fewer records were counted, while it is not known whether changes are counted. */
  async note(pass: SendPass, rows: readonly OutboxRow[], { name, taken }: CountedOtherwise): Promise<void> {
    if (!isEqualOften(this.#forms.counts[name]) || this.#rules.sharesArticles || this.among(rows).length > 0) return;
    const differing = this.#differing(rows);
    const left = countArticles(differing) - taken;
    if (left > 0) await this.#add(pass, { name, left, most: taken, rows: idsOf(differing) });
  }

  /** Inside the transaction that settles these rows. */
  forget(rows: readonly Pick<OutboxRow, "id">[]): void {
    const settled = new Set(idsOf(this.among(rows)));
    if (settled.size > 0) this.#save(this.#load().map((lack) => without(lack, settled)));
  }

  /** Inside a transaction, once no outcome is unknown. */
  clear(): void {
    this.#save([]);
  }

  /** Changes of rows that were sent again, and counted now, are no longer missing. */
  async #settle(
    pass: SendPass,
    again: readonly OutboxRow[],
    { counts, size }: Pick<Counted, "counts" | "size">,
  ): Promise<void> {
    const ids = new Set(idsOf(again));
    const settle = (lack: Lack) => {
      const rows = lack.rows.filter((id) => ids.has(id)).length;
      const count = counts[lack.name];
      if (rows === 0 || count === undefined) return lack;
      // All others of the request may be counted as well.
      return { ...lack, left: lack.left - Math.max(0, takenBy(lack.name, count, size) - (size - rows)) };
    };
    await commit(this.#context, pass.signal, () => this.#save(this.#load().map(settle)));
  }

  /** Those of which the site has another value, by a valid acknowledgement and the last request without one. */
  #differing(rows: readonly OutboxRow[]): OutboxRow[] {
    const known = rows.filter((row) => !isSentAgain(row));
    const sent = loadSentOtherwise(this.#context.store, this.#rules, known);
    return known.filter(({ id, record }) => {
      const before = sent.get(id);
      return before !== undefined && !isSameRecord(before, record);
    });
  }

  #of(rows: readonly OutboxRow[]): Lack[] {
    const ids = new Set(idsOf(rows));
    return this.#load().filter((lack) => lack.rows.some((id) => ids.has(id)));
  }

  async #add(pass: SendPass, lack: Lack): Promise<void> {
    const ids = new Set(lack.rows);
    const others = this.#load().map((each) => without(each, ids));
    await commit(this.#context, pass.signal, () => this.#save([lack, ...others]));
  }

  #load(): readonly Lack[] {
    return LACKS.load(this.#context.store)[this.#rules.name] ?? [];
  }

  /** @param all the newest first */
  #save(all: readonly Lack[]): void {
    const { store } = this.#context;
    let rows = 0;
    const open: Lack[] = [];
    for (const lack of all) {
      rows += lack.rows.length;
      if (lack.left > 0 && lack.rows.length > 0 && rows <= ROWS_MAX) open.push(lack);
    }
    LACKS.save(store, { ...LACKS.load(store), [this.#rules.name]: open });
    this.hadAny ||= open.length > 0;
  }
}

function idsOf(rows: readonly Pick<OutboxRow, "id">[]): number[] {
  return rows.map(({ id }) => id);
}

/** Some services count an article once, in however many warehouses it has changed. */
function countArticles(rows: readonly Pick<OutboxRow, "key">[]): number {
  return new Set(rows.map(({ key }) => key[0])).size;
}

function isSentAgain({ record, flightRecord }: OutboxRow): boolean {
  return flightRecord !== null && isSameRecord(record, flightRecord);
}

function without(lack: Lack, ids: ReadonlySet<number>): Lack {
  const rows = lack.rows.filter((id) => !ids.has(id));
  return { ...lack, rows, left: Math.min(lack.left, rows.length) };
}
