/*
 * Copies the rows that the ERP writes in PostgreSQL to the shop's tables, and outcomes back, in rounds:
 *
 * 1. One statement reads notes of touched keys, joined with the current values (PostgreSQL).
 * 2. The values are committed together with the number of the round (SQLite).
 * 3. Exactly the notes that were read are deleted; refusals and the number are written with them (PostgreSQL).
 *
 * A crash between two steps repeats a round with equal or newer values. Step 3 of a round and step 1 of the next are one
 * transaction. After an error no state of a round is kept in memory.
 */

import type { Expression } from "../../answers/expression.ts";
import type { Store } from "../../database/store.ts";
import { commit } from "../../pass/commit.ts";
import { addCount, addCounts, type Counts } from "../../pass/counts.ts";
import { isoTime } from "../../platform/ports.ts";
import type { MirrorTx } from "../connection.ts";
import { readQueue } from "../down/down-rows.ts";
import { refreshQueue } from "../down/write-down.ts";
import {
  addRefused,
  countApproved,
  forgetMirrorState,
  loadMirrorState,
  loadTableCounts,
  noteRestored,
  type Refused,
  saveMirrorState,
} from "../mirror-state.ts";
import type { MirrorPart, MirrorSession, PartResult } from "../part.ts";
import { type Position, type Seen, savePosition } from "../position.ts";
import { StepSize } from "../step-size.ts";
import { deleteOutcomeNotes, hasOutcomes, listOpenRequests, listOutcomes, listRequestIds } from "./apply-requests.ts";
import { Application, loadUsed, type Round, type Save } from "./apply-round.ts";
import { listKeys } from "./apply-rows.ts";
import { ERP_TABLE_NAMES, isErpTable } from "./erp-tables.ts";
import { addFormerOrders } from "./former-orders.ts";
import {
  advance,
  isApprovedStep,
  planTruncated,
  planWalk,
  RAISED,
  type Tables,
  unlessMore,
  type Walk,
  type WalkStep,
  whoWentBack,
} from "./plan-walk.ts";
import { isRaised, soldOf } from "./raised-stock.ts";
import { isOfValue, mayBeOfValue } from "./read-readable.ts";
import {
  addNotes,
  countRefused,
  deleteTouched,
  findAbsent,
  findFilled,
  findUnnoted,
  forgetNotes,
  NOTES_MAX,
  type Reading,
  readOpenRequests,
  readPage,
  readTouched,
  type Verdict,
  writeErrors,
  writeOutcomes,
} from "./remote-rows.ts";

/** Outcomes written at a time. */
const OUTCOMES_MAX = 500;
/** Requests per transaction whose outcomes are written again. */
const KEYS_MAX = 2_000;

/** A failure that took longer is one of the pass, so that `status` shows it while the row is isolated. */
const SLOW_MS = 3_000;

/** The result of a round in SQLite, to be written to PostgreSQL. */
interface Settled {
  ids: readonly string[];
  verdicts: readonly Verdict[];
  /** Orders whose rows in `erp_orders` were applied. */
  marked: readonly string[];
  upNo: number | undefined;
}

/** The result of one transaction in PostgreSQL. */
interface Turn {
  round: Round | undefined;
  /** Notes in SQLite of outcomes that were written, or that PostgreSQL refuses (the next comparison tries these again). */
  outcomes: readonly number[];
  refused: string | undefined;
  /** Number of deleted notes, minus those that were inserted again. */
  deleted: number;
  /** Rows that PostgreSQL refused. */
  unreturned: readonly Refused[];
  /** A walk through all rows and requests begins: everything refused before is written again. */
  isWalkBegun: boolean;
}

const EMPTY = {
  ...{ rows: [], requests: [], ids: [], outcomesOf: [] },
  ...{ isWrite: false, isAgain: false, leavesZeros: false, upNo: undefined, ended: undefined },
};

export class Up implements MirrorPart {
  readonly name = "up";
  readonly #statusMap: Readonly<Record<string, string>>;
  readonly #sold: Expression;
  #walk: Walk | undefined;
  #isComparisonDue = false;
  /** The triggers in PostgreSQL, before anything of this turn is read. */
  #triggers = "";
  readonly #size = new StepSize();
  /** PostgreSQL could not return a value, or not in time: rows are read so that it is isolated. */
  #isCareful = false;
  #settled: Settled | undefined;

  /**
   * @param statusMap the service's names of statuses, by those of the ERP
   * @param available what the feed of stock calculates
   */
  constructor(statusMap: Readonly<Record<string, string>>, available: string | null) {
    this.#statusMap = statusMap;
    this.#sold = soldOf(available);
  }

  hasWork(store: Store, seen: Seen): boolean {
    if (seen.isTouched || whoWentBack({ local: loadUpNo(store), remote: seen.upNo }) !== undefined) return true;
    if (loadMirrorState(store, "triggers") !== seen.triggers) return true;
    if (["restored", "approved"].some((key) => loadMirrorState(store, key as "restored") !== undefined)) return true;
    return this.#settled !== undefined || this.#walk !== undefined || this.#isComparisonDue || hasOutcomes(store);
  }

  /** Makes the next passes compare all rows of PostgreSQL, including those without a note and refused ones. */
  compareAll(): void {
    this.#isComparisonDue = true;
  }

  async turn(session: MirrorSession, seen: Seen, signal: AbortSignal): Promise<PartResult> {
    const counts: Counts = {};
    const { clock } = session.context;
    const beganMs = clock.monotonicMs();
    try {
      await noteWentBack(session, this.#settled?.upNo ?? seen.upNo, signal);
      // Of a PostgreSQL that was other than this one: ids of its notes may be those of others here.
      if (isBehind(session.context.store)) this.#forgetRound();
      await this.#noteTriggers(session, seen, signal);
      const more = await this.#runRound(session, signal, counts);
      if (!this.#isCareful) this.#size.noteDone();
      return { counts, more };
    } catch (error) {
      const isValue = isOfValue(error);
      this.#size.noteFailed(error, { isOfValue: isValue });
      this.#forgetRound();
      const isFirst = !this.#isCareful;
      this.#isCareful ||= mayBeOfValue(error);
      // Tries again at once, so that the row is isolated.
      if (isFirst && isValue && clock.monotonicMs() - beganMs < SLOW_MS) return { counts: {}, more: true };
      throw error;
    }
  }

  #forgetRound(): void {
    // An interrupted nightly comparison restarts; other walks are found to be due again.
    this.#isComparisonDue ||= this.#walk?.because === "night";
    this.#walk = undefined;
    this.#settled = undefined;
  }

  /** Rows written while a trigger was missing or disabled have no note: after a change of the triggers all rows are compared. */
  async #noteTriggers({ context }: MirrorSession, { triggers }: Seen, signal: AbortSignal): Promise<void> {
    const { store } = context;
    const known = loadMirrorState(store, "triggers");
    this.#triggers = triggers;
    if (known === undefined) await commit(context, signal, () => saveMirrorState(store, "triggers", triggers));
    else if (known !== triggers && this.#walk?.triggers !== triggers) this.#isComparisonDue = true;
  }

  /** Returns whether another round should follow at once. */
  async #runRound(session: MirrorSession, signal: AbortSignal, counts: Counts): Promise<boolean> {
    const { context, self } = session;
    const isFirst = this.#settled === undefined || this.#walk !== undefined;
    const turn = await session.transact((tx, position) => this.#turn(tx, position, context.store, self.shop));
    this.#settled = undefined;
    const { round, outcomes, refused, deleted, unreturned, isWalkBegun } = turn;
    addCount(counts, "outcomes", outcomes.length);
    addCount(counts, "unwritten", unreturned.length);
    const save: Save = (act) => commit(context, signal, act);
    const isNews = refused !== undefined && refused !== loadMirrorState(context.store, "refused_rows");
    if (outcomes.length > 0 || unreturned.length > 0 || isNews || isWalkBegun) {
      await save(() => {
        if (isWalkBegun) forgetMirrorState(context.store, "unreturned");
        // Notes that the ERP writes from now on are newer than the restore, also where the walk is interrupted.
        if (isWalkBegun) forgetMirrorState(context.store, "behind");
        saveMirrorState(context.store, "turn", String(turn.turn));
        deleteOutcomeNotes(context.store, outcomes);
        addRefused(context.store, "unreturned", unreturned);
        if (isNews) saveMirrorState(context.store, "refused_rows", refused);
      });
    }
    // Not earlier: after a failed turn the rows of the turn before are read again.
    if (round === undefined) this.#isCareful = false;
    // Refused rows are a condition, which the direction `down` writes.
    if (round === undefined) return isNews || outcomes.length === OUTCOMES_MAX;
    const application = new Application(context, { ...round, turn: turn.turn }, this.#statusMap);
    const verdicts = await application.apply(save);
    addCounts(counts, application.counts);
    const marked = round.rows.filter(({ table }) => table === "erp_orders").map(({ k0 }) => k0);
    this.#settled = { ids: round.ids, verdicts, marked, upNo: round.upNo };
    // Where only notes of locked rows are left, the next pass is early enough.
    return isFirst || deleted > 0 || this.#walk !== undefined;
  }

  async #turn(tx: MirrorTx, position: Position, store: Store, shop: string): Promise<Turn & { turn: number }> {
    const { deleted, refused, unreturned } = await this.#settle(tx, { shop, store });
    const local = loadUpNo(store);
    const remote = this.#settled?.upNo ?? position.upNo;
    // PostgreSQL's outcomes may be later than those of a database that was restored, and are read first.
    const isLate = whoWentBack({ local, remote }) === "local";
    const waiting = isLate ? { noteIds: [], unreturned: [] } : await writeWaitingOutcomes(tx, store, shop);
    const isWalkBegun = await this.#planWalk(tx, { store, shop, local, remote });
    const upNo = Math.max(local, remote) + 1;
    const page = { store, shop, limit: this.#size.of(NOTES_MAX), isCareful: this.#isCareful, upNo };
    const round = this.#walk === undefined ? await this.#readTouched(tx, page) : await this.#step(tx, this.#walk, page);
    // Interrupted rounds that were applied count: otherwise two in a row would look like a restore of PostgreSQL.
    const known = whoWentBack({ local, remote }) === undefined ? Math.max(local, remote) : remote;
    const turn = await savePosition(tx, shop, { upNo: known });
    return {
      ...{ round, refused, deleted, isWalkBegun, turn },
      outcomes: waiting.noteIds,
      unreturned: [...unreturned, ...waiting.unreturned],
    };
  }

  /** Step 3. */
  async #settle(tx: MirrorTx, { shop, store }: Place): Promise<Pick<Turn, "deleted" | "refused" | "unreturned">> {
    if (this.#settled === undefined) return { deleted: 0, refused: undefined, unreturned: [] };
    const { ids, verdicts, marked } = this.#settled;
    const unreturned: Refused[] = [];
    let held = 0;
    for (const [table, ofTable] of Map.groupBy(verdicts, (verdict) => verdict.table)) {
      const { locked, refused } = await writeErrors(tx, shop, table, ofTable);
      unreturned.push(...refused.map(({ row, why }) => ({ key: `${table} ${row.k0} ${row.k1}`.trim(), why })));
      // Notes of locked rows move to the end of the queue.
      if (locked.length > 0) await addNotes(tx, shop, table, locked);
      held += locked.length;
    }
    await deleteTouched(tx, shop, ids);
    if (marked.length > 0) await refreshQueue(tx, shop, readQueue(store, { ids: marked }));
    // A refused row may have been deleted or rewritten.
    const isCounted = verdicts.length > 0 || Object.keys(loadTableCounts(store, "refused_rows")).length > 0;
    const refused = isCounted ? JSON.stringify(await countRefused(tx, shop)) : undefined;
    return { deleted: ids.length - held, refused, unreturned };
  }

  /** Returns whether a walk begins. */
  async #planWalk(tx: MirrorTx, now: Place & { local: number; remote: number }): Promise<boolean> {
    if (this.#walk !== undefined) return false;
    const because = whyToWalk(now) ?? (this.#isComparisonDue ? "night" : undefined);
    if (because === undefined) return false;
    const filled = await findFilled(tx, now.shop);
    const hasZeros = isUnsure(now.store) ? !isStockWaiting(now.store) : undefined;
    const walk = planWalk(because, { filled, used: loadUsed(now.store), ...loadHeld(now.store), hasZeros });
    this.#walk = { ...walk, triggers: this.#triggers };
    // Deletions among them may be older than rows that PostgreSQL has lost. Otherwise all of them are the ERP's newest.
    if (because === "remote" && isBehind(now.store)) await forgetNotes(tx, now.shop);
    this.#isComparisonDue = false;
    return true;
  }

  /** Step 1. */
  async #readTouched(tx: MirrorTx, { store, upNo, ...place }: Page & { upNo: number }): Promise<Round | undefined> {
    const { rows, requests, whole } = await readTouched(tx, place);
    const ids = [...rows, ...requests].flatMap((each) => each.ids);
    const emptied = ERP_TABLE_NAMES.filter((table) => whole.some((each) => each.table === table));
    const wholeIds = whole.flatMap((each) => each.ids);
    if (emptied.length > 0)
      this.#walk = planTruncated(emptied, { used: loadUsed(store), ...loadHeld(store) }, wholeIds);
    else ids.push(...wholeIds);
    if (ids.length === 0 && this.#walk === undefined) return undefined;
    return { ...EMPTY, rows, requests, ids, upNo, isWrite: true, leavesZeros: isUnsure(store) };
  }

  /** The same for the next step of a walk. */
  async #step(tx: MirrorTx, planned: Walk, place: Page & { upNo: number }): Promise<Round> {
    const walk = isApprovedStep(planned.steps[0]) ? unlessMore(planned, countApproved(place.store)) : planned;
    const [step] = walk.steps;
    if (step === undefined) {
      this.#walk = undefined;
      return { ...EMPTY, ids: walk.ids, upNo: place.upNo, ended: walk };
    }
    const { round, next, kept } = await readStep(tx, step, { ...place, sold: this.#sold });
    this.#walk = advance(walk, next, kept);
    const leavesZeros = walk.because !== "night" && isUnsure(place.store);
    if (walk.because === "local") return { ...EMPTY, ...round, leavesZeros };
    // `erp_orders` and requests do not wait for the end of the walk, unless a request may have been sent before.
    const { rows, requests } = await readTouched(tx, place, { ofOrders: true });
    const ids = [...rows, ...requests].flatMap((each) => each.ids);
    // Notes of single rows may have been folded into one of the whole table.
    const of = { ...EMPTY, ...round, leavesZeros, isWrite: walk.because === "truncated" };
    return {
      ...of,
      rows: [...of.rows, ...rows],
      requests: [...of.requests, ...requests],
      ids,
      upNo: ids.length > 0 ? place.upNo : undefined,
    };
  }
}

/** What waits for an approval. */
function loadHeld(store: Store): Pick<Tables, "held" | "isRaised"> {
  const kept = Object.keys(loadTableCounts(store, "kept"));
  return { held: kept.filter(isErpTable), isRaised: kept.includes(RAISED) };
}

interface Place {
  store: Store;
  shop: string;
}

/** `limit`: keys at a time. */
type Page = Place & Reading;

async function readStep(
  tx: MirrorTx,
  step: WalkStep,
  { store, sold, ...reading }: Page & { sold: Expression },
): Promise<{ round: Partial<Round>; next: WalkStep | undefined; kept?: number }> {
  switch (step.kind) {
    case "remote":
    case "raised": {
      const rows = await readPage(tx, reading, step);
      const after = rows.at(-1);
      return { round: { rows }, next: after && { ...step, after } };
    }
    case "lower": {
      const rows = await readPage(tx, reading, step);
      const after = rows.at(-1);
      const raised = new Set(rows.filter((row) => isRaised(store, sold, row)));
      // What the ERP has written since has a note, and is applied after the walk.
      const isHeld = loadHeld(store).isRaised;
      const kept = await findUnnoted(tx, reading.shop, { table: step.table, keys: [...raised], isHeld });
      const round = { rows: rows.filter((row) => !raised.has(row)) };
      return { round, next: after && { ...step, after }, kept: kept.length };
    }
    case "local":
    case "kept": {
      const { table } = step;
      const keys = listKeys(store, table, step.after, reading.limit);
      const after = keys.at(-1);
      const found = after === undefined ? [] : await findAbsent(tx, reading.shop, table, keys);
      const raw = keys.filter(({ stored }) => stored !== undefined);
      const absent = found.map((one) => raw.find(({ k0, k1 }) => k0 === one.k0 && k1 === one.k1) ?? one);
      if (step.kind === "kept") {
        const isHeld = loadTableCounts(store, "kept")[table] !== undefined;
        const kept = await findUnnoted(tx, reading.shop, { table, keys: found, isHeld });
        return { round: {}, next: after && { ...step, after }, kept: kept.length };
      }
      return {
        round: { rows: absent.map((key) => ({ ...key, table, row: null })) },
        next: after && { ...step, after },
      };
    }
    case "requests": {
      const ids = step.isAgain ? listOpenRequests(store) : [];
      const requests = await readOpenRequests(tx, reading, { after: step.after, ids });
      const last = requests.at(-1);
      const round = { requests: step.isAgain ? await addFormerOrders(tx, reading.shop, requests) : requests };
      return { round: { ...round, isAgain: step.isAgain }, next: last && { ...step, after: last.seq } };
    }
    case "outcomes": {
      const outcomesOf = listRequestIds(store, step.after, KEYS_MAX);
      const after = outcomesOf.at(-1);
      return { round: { outcomesOf }, next: after === undefined ? undefined : { ...step, after } };
    }
  }
}

async function writeWaitingOutcomes(
  tx: MirrorTx,
  store: Store,
  shop: string,
): Promise<{ noteIds: number[]; unreturned: Refused[] }> {
  const waiting = listOutcomes(store, OUTCOMES_MAX);
  const outcomes = waiting.map(({ outcome }) => outcome);
  const { written, refused } = await writeOutcomes(tx, shop, outcomes);
  const done = new Set([...written, ...refused.map(({ row }) => row.id)]);
  return {
    noteIds: waiting.filter(({ outcome }) => done.has(outcome.id)).map(({ noteId }) => noteId),
    unreturned: refused.map(({ row, why }) => ({ key: `status_requests ${row.id}`, why })),
  };
}

/** Why a walk must run before anything else; after a crash it restarts. */
function whyToWalk(now: Place & { local: number; remote: number }) {
  const because = whoWentBack(now);
  if (because !== undefined) return because;
  if (loadMirrorState(now.store, "restored") !== undefined) return "remote";
  return loadMirrorState(now.store, "approved") === undefined ? undefined : "approved";
}

/** Stored before the walk, which a crash may interrupt. */
async function noteWentBack({ context }: MirrorSession, remote: number, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  const at = isoTime(clock.nowMs());
  switch (whoWentBack({ local: loadUpNo(store), remote })) {
    case "remote":
      if (loadMirrorState(store, "restored") !== undefined) return;
      return await commit(context, signal, () => noteRestored(store, at, { isBehind: true }));
    case "local":
      if (!isUnsure(store)) await commit(context, signal, () => saveMirrorState(store, "unsure", at));
  }
}

/** Whether PostgreSQL may have lost rows that are newer than its notes. */
function isBehind(store: Store): boolean {
  return loadMirrorState(store, "behind") !== undefined;
}

/** Whether the site may sell rows that this database never had. */
function isUnsure(store: Store): boolean {
  return loadMirrorState(store, "unsure") !== undefined;
}

/** Whether zeros may still wait to be sent. */
function isStockWaiting(store: Store): boolean {
  const sql =
    "SELECT 1 FROM feed_outbox o JOIN feeds f USING (feed_id) WHERE f.name = 'stocks' AND o.state = 'waiting' LIMIT 1";
  return store.prepare(sql).get() !== undefined;
}

/** Number of the last applied round. */
function loadUpNo(store: Store): number {
  return Number(loadMirrorState(store, "up_no") ?? 0);
}
