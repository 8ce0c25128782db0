/*
 * Finds and repairs what no change has announced: orders that differ from the service's, orders that it no longer has,
 * and damaged payloads. One round processes a bounded part of the orders, in turn, and sends requests at half the
 * permitted rate at most, so that pulling and following never wait for it. Positions are saved as it proceeds; after a
 * crash a few orders are processed twice.
 */

import { m } from "../messages/messages.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { commit } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import { loadHeldReferences } from "../pass/held-rows.ts";
import { isAnswered, reachOf } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { loadQueuedRead, requestRead } from "../pass/position-rows.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { ServiceError } from "../service/service-error.ts";
import { BackgroundReads } from "../updates/reads/background-reads.ts";
import { type Candidate, loadToCompare } from "../updates/reads/control-rows.ts";
import { OrderReader } from "../updates/reads/read-order.ts";
import { ReadPass } from "../updates/reads/read-pass.ts";
import { type Compared, CompareOrders } from "./compare-orders.ts";
import {
  loadCandidate,
  loadReconcileState,
  loadRemoved,
  loadRemovedSince,
  PHASES,
  RECONCILE_STATE,
  type ReconcileState,
  type Round,
} from "./reconcile-rows.ts";
import { requestHeldReads } from "./request-held-reads.ts";
import { scrubPayloads } from "./scrub-payloads.ts";

/** Orders read per pass. The next pass follows at once, and a stop or a hold is noticed in between. */
const READS_PER_PASS = 100;
const READS_PER_SAVE = 20;
/** Where only some orders an hour may be read, those that a record names have the other half. */
const PART_OF_BUDGET = 0.5;
/** Payloads checked per round: a million orders take three weeks. */
const SCRUB_PER_ROUND = 50_000;
const SCRUB_BYTES_PER_ROUND = 512 * 1024 * 1024;
const SCRUBS_PER_PASS = 100;
const DAMAGED_PER_ROUND = 200;
/** Removed orders read per round: those of the last days, where an error is still fresh, and all others in turn. */
const LATELY_PER_ROUND = 300;
const LATELY_MS = 3 * 86_400_000;
const REMOVED_PER_ROUND = 20;

/** Outcomes without a change. */
const QUIET: ReadonlySet<Compared> = new Set<Compared>(["same", "skipped", "gone"]);

export interface ReconcileOptions {
  rules: OrderRules;
  /** Orders read per round: limit for open ones, and number of others. */
  open: number;
  sample: number;
  /** The minimum time between two requests. */
  gapMs: number;
}

interface Pass {
  state: ReconcileState;
  round: Round;
  signal: AbortSignal;
  reads: number;
  /** No more orders may be read for now. */
  isOut: boolean;
  seen: ReadPass;
  /** Orders that have failed since the last good answer. */
  failed: Candidate[];
}

export class Reconcile implements Job {
  readonly name = "reconcile";
  readonly areas = ["orders", "reconcile"];
  readonly #context: JobContext;
  readonly #options: ReconcileOptions;
  readonly #reader: OrderReader;
  readonly #compare: CompareOrders;
  readonly #background: BackgroundReads;

  constructor(context: JobContext, options: ReconcileOptions) {
    this.#context = context;
    this.#options = options;
    this.#reader = new OrderReader(context, options.rules);
    this.#compare = new CompareOrders(context, options.rules, this.#reader);
    this.#background = new BackgroundReads(context, PART_OF_BUDGET);
  }

  /** Whether a start should run it: a round was interrupted, or the last one ended more than `withinMs` ago. */
  isDue(withinMs: number): boolean {
    const { round, finishedAt } = loadReconcileState(this.#context.store);
    return round !== null || finishedAt === null || this.#context.clock.nowMs() - Date.parse(finishedAt) > withinMs;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const state = loadReconcileState(this.#context.store);
    if (state.round === null) await requestHeldReads(this.#context, signal);
    const round = state.round ?? this.#beginPhase(state, "scrub", {});
    const pass: Pass = {
      state,
      round,
      signal,
      reads: 0,
      isOut: false,
      seen: new ReadPass(this.#context, this.#reader, { signal }),
      failed: [],
    };
    const before = { ...round.counts };
    try {
      const isOver = await this.#work(pass);
      await this.#save(pass, isOver);
      const counts = this.#countsSince(before, pass);
      const outcome = Object.values(counts).some((count) => count > 0) ? "done" : "idle";
      if (pass.isOut) return { outcome, counts, dueInMs: this.#background.moreInMs };
      if (!isOver) return { outcome: "more", counts };
      this.#logRound(pass.round.counts);
      return { outcome, counts };
    } catch (error) {
      await this.#saveQuietly(pass);
      throw error;
    }
  }

  /** Returns whether the round is over; otherwise the next pass continues it. */
  async #work(pass: Pass): Promise<boolean> {
    for (let steps = 0; steps < SCRUBS_PER_PASS; ) {
      if (this.#context.isStopping() || pass.reads >= READS_PER_PASS || pass.isOut) return false;
      const isPhaseOver = pass.round.phase === "scrub" ? await this.#scrub(pass) : await this.#compareSome(pass);
      if (pass.round.phase === "scrub") steps += 1;
      if (!isPhaseOver) continue;
      const next = PHASES[PHASES.indexOf(pass.round.phase) + 1];
      if (next === undefined) return true;
      pass.round = this.#beginPhase(pass.state, next, pass.round.counts);
    }
    return false;
  }

  #beginPhase(state: ReconcileState, phase: Round["phase"], counts: Record<string, number>): Round {
    const left = {
      scrub: SCRUB_PER_ROUND,
      damaged: DAMAGED_PER_ROUND,
      open: this.#options.open,
      others: this.#options.sample,
      lately: LATELY_PER_ROUND,
      removed: REMOVED_PER_ROUND,
    }[phase];
    const from = phase === "damaged" ? 0 : state.after[phase];
    const round = { phase, from, wrapped: false, left, bytesLeft: SCRUB_BYTES_PER_ROUND, counts };
    state.round = round;
    return round;
  }

  /** The keys that the present phase processes next. `upTo` is where the phase started, once it has wrapped. */
  #rangeOf({ state, round }: Pass): { after: number; upTo: number } {
    const after = round.phase === "damaged" ? 0 : state.after[round.phase];
    return { after, upTo: round.wrapped ? round.from : Number.MAX_SAFE_INTEGER };
  }

  /** At the end of the table, continues once from its start. Returns whether the phase is over. */
  #wrap({ state, round }: Pass): boolean {
    if (round.wrapped || round.from === 0 || round.phase === "damaged") return true;
    round.wrapped = true;
    state.after[round.phase] = 0;
    return false;
  }

  async #scrub(pass: Pass): Promise<boolean> {
    const { round, state, signal } = pass;
    if (round.left <= 0 || round.bytesLeft <= 0) return true;
    const done = await scrubPayloads(this.#context, { ...this.#rangeOf(pass), round }, signal);
    if (done.last === undefined) return this.#wrap(pass);
    state.after.scrub = done.last;
    round.left -= done.looked;
    round.bytesLeft -= done.bytes;
    addCount(round.counts, "sound", done.looked - done.damaged.length);
    addCount(round.counts, "damaged", done.damaged.length);
    await this.#context.clock.sleep(0, signal);
    return false;
  }

  async #compareSome(pass: Pass): Promise<boolean> {
    const { round } = pass;
    const orders = this.#nextOrders(pass);
    if (orders.length === 0) return round.left <= 0 || this.#wrap(pass);
    for (const [index, order] of orders.entries()) {
      pass.isOut = !(await this.#background.take(orders.length - index, pass.signal));
      if (pass.isOut) break;
      const goesOn = await this.#compareOne(pass, order);
      if (!goesOn) {
        await this.#queueReads(pass.failed, pass.signal);
        throw pass.seen.trouble;
      }
      if (this.#context.isStopping()) break;
    }
    await this.#save(pass, false);
    return round.phase === "damaged" && !pass.isOut;
  }

  /** The service failed, not these orders: they are read when it works again, and the round continues after them. */
  async #queueReads(failed: readonly Candidate[], signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => {
      for (const order of failed) requestRead(store, order, isoTime(clock.nowMs()));
    });
  }

  #nextOrders(pass: Pass): Candidate[] {
    const { store, clock } = this.#context;
    const { phase, left } = pass.round;
    if (phase === "damaged") {
      return loadHeldReferences(store, "payload", Math.min(left, DAMAGED_PER_ROUND)).flatMap(
        (id) => loadCandidate(store, id) ?? [],
      );
    }
    const limit = Math.min(left, READS_PER_SAVE, READS_PER_PASS - pass.reads);
    if (limit <= 0) return [];
    const range = { ...this.#rangeOf(pass), limit };
    if (phase === "removed") return loadRemoved(store, range);
    if (phase === "lately") return loadRemovedSince(store, isoTime(clock.nowMs() - LATELY_MS), range);
    return loadToCompare(store, { ...range, isOpen: phase === "open" });
  }

  /** Returns false where the service failed rather than the order. */
  async #compareOne(pass: Pass, order: Candidate): Promise<boolean> {
    const { clock } = this.#context;
    const { round, signal, seen } = pass;
    const startedMs = clock.monotonicMs();
    pass.reads += 1;
    let failure: unknown;
    try {
      const what = await this.#compare.compare(order, { isDamaged: round.phase === "damaged" }, signal);
      if (what instanceof ServiceError) failure = what;
      else if (what !== "gone") {
        seen.answered(order.orderKey);
        pass.failed = [];
      }
      if (what !== "skipped") addCount(round.counts, "checked", 1);
      if (typeof what !== "string") addCount(round.counts, "unknown", 1);
      else if (!QUIET.has(what)) addCount(round.counts, what, 1);
    } catch (error) {
      // Where each pass is a process of its own, the queue alone shows that the order has failed before.
      const isOwn = reachOf(error, loadQueuedRead(this.#context.store, order.orderId)?.attempts) === "record";
      // Whatever the service answered for this order, the next pass starts after it.
      if (!isOwn && isAnswered(error)) {
        this.#advance(pass, order);
        pass.failed.push(order);
        await this.#queueReads(pass.failed, pass.signal);
      }
      if (!isOwn) throw error;
      addCount(round.counts, "failed", 1);
      // A limit for single reads hits whichever order comes next, tomorrow too, so this one is queued.
      if (asError(error).code === "rate_limited") await this.#queueReads([order], signal);
      failure = error;
    }
    if (failure !== undefined) pass.failed.push(order);
    this.#advance(pass, order);
    const goesOn = failure === undefined || (await seen.failed(order.orderId, failure));
    // Waits as long as the request took, and at least leaves every other slot of the pacer to other jobs.
    const tookMs = clock.monotonicMs() - startedMs;
    await clock.sleep(Math.max(2 * this.#options.gapMs - tookMs, tookMs), signal);
    return goesOn;
  }

  #advance({ state, round }: Pass, { orderKey }: Candidate): void {
    round.left -= 1;
    if (round.phase !== "damaged") state.after[round.phase] = orderKey;
  }

  async #save(pass: Pass, isOver: boolean): Promise<void> {
    const { store, clock } = this.#context;
    const state: ReconcileState = isOver
      ? { ...pass.state, round: null, finishedAt: isoTime(clock.nowMs()) }
      : { ...pass.state, round: pass.round };
    await commit(this.#context, pass.signal, () => RECONCILE_STATE.save(store, state));
  }

  /** On the way out with an error, which must not be hidden by an error of saving. */
  async #saveQuietly(pass: Pass): Promise<void> {
    try {
      await this.#save(pass, false);
    } catch {
      // A full disk or a stop: a few orders are processed twice.
    }
  }

  /** Counts of this pass, with `checked` and `differ` first; "0 differ" is included. */
  #countsSince(before: Record<string, number>, { round }: Pass): Record<string, number> {
    const since = (name: string) => (round.counts[name] ?? 0) - (before[name] ?? 0);
    const names = [...new Set(["checked", "differ", ...Object.keys(round.counts)])].filter((name) => since(name) > 0);
    const counts = Object.fromEntries(names.map((name) => [name, since(name)]));
    return "checked" in counts ? { checked: since("checked"), differ: since("differ"), ...counts } : counts;
  }

  #logRound(counts: Record<string, number>): void {
    const {
      checked = 0,
      differ = 0,
      unknown = 0,
      returned = 0,
      sound = 0,
      damaged = 0,
      healed = 0,
      failed = 0,
    } = counts;
    const more = [
      ...(unknown > 0 ? [m.reconcile.unknown({ n: unknown })] : []),
      ...(returned > 0 ? [m.reconcile.returned({ n: returned })] : []),
      ...(failed > 0 ? [m.reconcile.unread({ n: failed })] : []),
      m.reconcile.payloads({ looked: sound + damaged, damaged }),
      ...(healed > 0 ? [m.reconcile.healed({ n: healed })] : []),
    ];
    this.#context.log.info({ job: this.name, ...counts }, m.reconcile.checked({ checked, differ, more }));
  }
}
