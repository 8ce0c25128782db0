/* Writes the rows read by a round into the shop's tables: step 2 of a round (`up.ts`), in SQLite. */

import type { Store } from "../../database/store.ts";
import { addCount, type Counts } from "../../pass/counts.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import { forgetMirrorState, loadMirrorState, loadTableCounts, saveMirrorState } from "../mirror-state.ts";
import { applyRequest, noteOutcomes } from "./apply-requests.ts";
import { applyRow, isOfRow, rewriteRow, unlessRefused, wordsOf } from "./apply-rows.ts";
import { ERP_TABLE_NAMES, type ErpTable, isErpTable, type TouchedRow } from "./erp-tables.ts";
import { keptAfter, type Walk } from "./plan-walk.ts";
import type { TouchedRequest, Verdict } from "./remote-rows.ts";

/** The rows and notes read by a round. */
export interface Round {
  rows: readonly TouchedRow[];
  requests: readonly TouchedRequest[];
  /** Ids of the processed notes. */
  ids: readonly string[];
  /** The ERP has written the rows since the last round; otherwise a walk goes through them, whoever wrote them. */
  isWrite: boolean;
  /** The shop's database was restored: a request that it lacks may already have been sent. */
  isAgain: boolean;
  /** Requests whose outcomes are written again. */
  outcomesOf: readonly number[];
  /** The round's number; undefined inside a walk, which restarts where it is interrupted. */
  upNo: number | undefined;
  /** The walk that ends with it. */
  ended: Walk | undefined;
  /** Deleted rows of stock become zeros. */
  leavesZeros: boolean;
}

/** `turn`: the transaction in PostgreSQL that has read the rows. */
type ReadRound = Round & { turn: number };

export type Save = (act: () => void) => Promise<void>;

/** Step 2 of one round (`up.ts`). */
export class Application {
  readonly #context: JobContext;
  readonly #round: ReadRound;
  readonly #statusMap: Readonly<Record<string, string>>;
  /** Tables of which one equal row was written: enough to note that the ERP wrote. */
  readonly #rewritten = new Set<ErpTable>();
  counts: Counts = {};

  constructor(context: JobContext, round: ReadRound, statusMap: Readonly<Record<string, string>>) {
    this.#context = context;
    this.#round = round;
    this.#statusMap = statusMap;
  }

  /** Applies all rows in one transaction; where a row aborts it, in one transaction per row. */
  async apply(save: Save): Promise<Verdict[]> {
    try {
      let verdicts: Verdict[] = [];
      await save(() => {
        this.counts = {};
        this.#rewritten.clear();
        verdicts = this.#each().flatMap(({ act }) => act() ?? []);
        this.#finish();
      });
      return verdicts;
    } catch (error) {
      if (!isOfRow(error)) throw error;
      this.counts = {};
      this.#rewritten.clear();
      return await this.#applyOneByOne(save);
    }
  }

  get #store(): Store {
    return this.#context.store;
  }

  async #applyOneByOne(save: Save): Promise<Verdict[]> {
    const verdicts: (Verdict | undefined)[] = [];
    for (const { key, act } of this.#each()) {
      try {
        await save(() => void verdicts.push(act()));
      } catch (error) {
        if (!isOfRow(error)) throw error;
        verdicts.push(this.#refuse(key, wordsOf(error)));
      }
    }
    await save(() => this.#finish());
    return verdicts.filter((verdict) => verdict !== undefined);
  }

  #each(): { key: Omit<Verdict, "error">; act: () => Verdict | undefined }[] {
    const { rows, requests } = this.#round;
    // Requests of one order are sent in the order of their creation.
    const inOrder = requests.toSorted((a, b) => Number(a.request?.seq ?? 0) - Number(b.request?.seq ?? 0));
    const each = [
      ...rows.map((row) => {
        const key = { table: row.table, k0: row.k0, k1: row.k1 };
        return { key, unreadable: row.unreadable, act: () => this.#applyRow(row) };
      }),
      ...inOrder.map((request) => {
        const key = { table: "status_requests" as const, k0: request.id, k1: "" };
        return { key, unreadable: request.unreadable, act: () => this.#applyRequest(request) };
      }),
    ];
    return each.map(({ key, unreadable, act }) =>
      unreadable === undefined ? { key, act } : { key, act: () => this.#refuse(key, unreadable) },
    );
  }

  #refuse(key: Omit<Verdict, "error">, error: string): Verdict {
    addCount(this.counts, "refused");
    return { ...key, error };
  }

  #finish(): void {
    const { rows, outcomesOf, upNo, ended, turn } = this.#round;
    noteOutcomes(this.#store, outcomesOf);
    if (ended !== undefined) endWalk(this.#store, ended);
    if (upNo !== undefined) saveMirrorState(this.#store, "up_no", String(upNo));
    // A PostgreSQL restored to before it may lack these rows.
    saveMirrorState(this.#store, "turn", String(turn));
    const used = loadUsed(this.#store);
    const came = rows.filter(({ unreadable }) => unreadable === undefined);
    const now = ERP_TABLE_NAMES.filter((table) => used.includes(table) || came.some((row) => row.table === table));
    if (now.length > used.length) saveMirrorState(this.#store, "up", JSON.stringify(now));
  }

  #applyRow(touched: TouchedRow): Verdict | undefined {
    const { changed, error } = unlessRefused(this.#store, () => applyRow(this.#store, touched, this.#round));
    if (changed) addCount(this.counts, "erpRows");
    else if (error === null) this.#noteWrite(touched);
    if (error !== null) addCount(this.counts, "refused");
    const { table, k0, k1, row } = touched;
    return row === null || row.error === error ? undefined : { table, k0, k1, error };
  }

  /** An ERP that writes equal values is not silent. The marks of orders have no feed. */
  #noteWrite(touched: TouchedRow): void {
    const { table } = touched;
    if (!this.#round.isWrite || table === "erp_orders") return;
    // Each image, because its file may be another one.
    if (table !== "images" && this.#rewritten.has(table)) return;
    // A trigger of the ERP's may refuse it; the row itself is accepted.
    const { changed } = unlessRefused(this.#store, () => rewriteRow(this.#store, table, touched));
    if (changed) this.#rewritten.add(table);
  }

  #applyRequest(touched: TouchedRequest): Verdict | undefined {
    const rules = {
      isAgain: this.#round.isAgain,
      statusMap: this.#statusMap,
      at: isoTime(this.#context.clock.nowMs()),
    };
    const { reason, isNew } = this.#refusedOr(touched, rules);
    if (isNew) addCount(this.counts, "erpRequests");
    if (reason !== null) addCount(this.counts, "refused");
    const { id, request } = touched;
    return request === null || request.error === reason
      ? undefined
      : { table: "status_requests", k0: id, k1: "", error: reason };
  }

  #refusedOr(touched: TouchedRequest, rules: Parameters<typeof applyRequest>[2]): ReturnType<typeof applyRequest> {
    let outcome = { reason: null as string | null, isNew: false };
    const { error } = unlessRefused(this.#store, () => {
      outcome = applyRequest(this.#store, touched, rules);
      return outcome.isNew;
    });
    return error === null ? outcome : { reason: error, isNew: false };
  }
}

/** Inside the transaction that ends the walk. */
function endWalk(store: Store, walk: Walk): void {
  saveMirrorState(store, "kept", JSON.stringify(keptAfter(walk, loadTableCounts(store, "kept"))));
  if (walk.because === "remote") forgetMirrorState(store, "restored");
  if (walk.hasZeros) forgetMirrorState(store, "unsure");
  if (walk.triggers !== undefined) saveMirrorState(store, "triggers", walk.triggers);
  if (walk.because === "approved") forgetMirrorState(store, "approved");
}

/** Tables that have ever received rows from PostgreSQL. */
export function loadUsed(store: Store): ErpTable[] {
  return (JSON.parse(loadMirrorState(store, "up") ?? "[]") as string[]).filter(isErpTable);
}
