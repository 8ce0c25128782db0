/*
 * Sends the statuses that the ERP asked for, an order's one strictly after the other. Keeps the rule that a request
 * whose outcome is unknown is never repeated blindly. After a crash anywhere a request is `pending` and has not left,
 * or `sending` and its order is read first. A request that cannot be settled waits until it is due again, which no pass
 * does: orders that fail never keep others waiting. When each is due is known to the process alone; after a restart all
 * of them are.
 */

import type { Store } from "../database/store.ts";
import { withTexts } from "../messages/pack.ts";
import { Breaker } from "../pass/breaker.ts";
import { commit } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import { isAnswered, reachOf } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { hasUnstored } from "../records/unstored-records.ts";
import { ServiceError } from "../service/service-error.ts";
import type { OrderReader, ReadableOrder } from "../updates/read-order.ts";
import { ReadPass } from "../updates/read-pass.ts";
import { statusRetryMs } from "./judge-status.ts";
import { loadRequestedOrder } from "./requested-order-rows.ts";
import type { Step } from "./resolve-status.ts";
import type { StatusSettler } from "./settle-status.ts";
import {
  forgetOldEchoes,
  loadNextRequests,
  loadOpenRequest,
  loadOwedEchoes,
  markUnsettled,
  type StatusRequest,
  saveRequestError,
} from "./status-rows.ts";

const STEPS_PER_PASS = 200;
const ECHOES_PER_PASS = 100;

/** A request that waits for its next try. */
interface Waiting {
  /** Monotonic. */
  untilMs: number;
  /** Statuses that the service had accepted when it first failed. */
  accepted: number;
  /** The service said that it has nothing there: the order, once that is known. */
  nowhere: string | undefined;
  /** Waits for a read of its order. */
  unread?: Unread;
}

interface Unread {
  /** How often it was found so. */
  times: number;
  orderId: string;
  /** How the order stood. */
  revision: number | undefined;
  isQueued: boolean;
}

interface Pass {
  counts: Record<string, number>;
  signal: AbortSignal;
  breaker: Breaker;
  /** Reads of orders whose status was accepted; they fail no request. */
  echoBreaker: Breaker;
  /** Reads of orders before a request is settled. */
  reads: ReadPass;
  steps: number;
  settled: number;
  /** Requests that failed, and steps in which the service answered something well. */
  failed: number;
  answered: number;
  /** Requests whose orders are to be read before. */
  waiting: number;
  failure: unknown;
  /** Of a read: the order's own where the service answers for another one. */
  readFailure: unknown;
}

export class SendStatuses implements Job {
  readonly name = "statuses";
  readonly areas = ["orders", "statuses"];
  readonly #context: JobContext;
  readonly #settler: StatusSettler;
  readonly #reader: OrderReader;
  readonly #waiting = new Map<bigint, Waiting>();
  /** Orders that could not be read back: how often, and until when each waits (monotonic). */
  readonly #unread = new Map<string, { times: number; untilMs: number }>();

  constructor(context: JobContext, settler: StatusSettler, reader: OrderReader) {
    this.#context = context;
    this.#settler = settler;
    this.#reader = reader;
  }

  async prepare(): Promise<{ counts: Record<string, number>; hasWork: boolean }> {
    const { store } = this.#context;
    for (const id of this.#waiting.keys()) if (loadOpenRequest(store, id) === undefined) this.#forget(id);
    return { counts: {}, hasWork: this.#loadDue(1).length > 0 || this.#loadDueEchoes().length > 0 };
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const pass: Pass = {
      counts: {},
      signal,
      breaker: new Breaker(),
      echoBreaker: new Breaker(),
      reads: new ReadPass(this.#context, this.#reader, { signal }),
      steps: 0,
      settled: 0,
      failed: 0,
      answered: 0,
      waiting: 0,
      failure: undefined,
      readFailure: undefined,
    };
    await this.#settleAll(pass);
    await this.#readBackOwed(pass);
    const { counts } = pass;
    const failure = pass.failure ?? (await this.#findReadFailure(pass));
    if (failure !== undefined && (pass.settled === 0 || isDefect(failure))) throw ofOneOrder(failure);
    const isFull = pass.steps >= STEPS_PER_PASS && pass.settled > 0;
    const outcome = isFull ? "more" : Object.keys(counts).length > 0 ? "done" : "idle";
    const dueInMs = this.#nextDueInMs();
    const isLetIn = pass.answered > 0 || pass.failed + pass.waiting === 0;
    return { outcome, counts, isLetIn, ...(dueInMs === undefined ? {} : { dueInMs }) };
  }

  /** What single orders were answered is no failure of a pass while the service answers for another one. */
  async #findReadFailure({ readFailure, settled, reads }: Pass): Promise<unknown> {
    if (readFailure === undefined || settled > 0) return undefined;
    return (await reads.findHealth()) === "well" ? undefined : readFailure;
  }

  /** Takes the next request of each order until every one is settled or waits. */
  async #settleAll(pass: Pass): Promise<void> {
    for (;;) {
      const next = this.#loadDue(STEPS_PER_PASS);
      if (next.length === 0) return;
      for (const request of next) {
        if (pass.steps >= STEPS_PER_PASS || this.#context.isStopping()) return;
        pass.steps += 1;
        await this.#settleOne(request, pass);
      }
    }
  }

  /** The next request of each order that may be tried now, least tried first. */
  #loadDue(limit: number): StatusRequest[] {
    const nowMs = this.#context.clock.monotonicMs();
    return loadNextRequests(this.#context.store, limit + this.#waiting.size)
      .filter(({ id }) => this.#isDue(id, nowMs))
      .slice(0, limit);
  }

  #isDue(id: bigint, nowMs: number): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.untilMs <= nowMs || this.#settler.isEvidenced(id)) return true;
    const { nowhere, unread } = waiting;
    if (unread !== undefined) return this.#isSettled(unread);
    return nowhere !== undefined && loadRequestedOrder(this.#context.store, nowhere)?.isRemoved === true;
  }

  /** Whether more is known of the order than when its request was found to wait for it. */
  #isSettled({ orderId, revision, isQueued }: Unread): boolean {
    const { store } = this.#context;
    if (isQueued && !isAwaited(store, orderId)) return true;
    return loadRequestedOrder(store, orderId)?.revision !== revision;
  }

  #nextDueInMs(): number | undefined {
    if (this.#waiting.size === 0) return undefined;
    const untilMs = Math.min(...[...this.#waiting.values()].map((waiting) => waiting.untilMs));
    return Math.max(0, untilMs - this.#context.clock.monotonicMs());
  }

  #forget(id: bigint): void {
    this.#waiting.delete(id);
    this.#settler.forget(id);
  }

  async #settleOne(request: StatusRequest, pass: Pass): Promise<void> {
    const accepted = this.#settler.accepted;
    let step: Step;
    try {
      step = await this.#settler.take(request, pass.counts, pass.signal);
    } catch (error) {
      // What a stop has cut off says nothing of the request.
      if (pass.signal.aborted) throw error;
      await this.#noteUnread(request, error, pass);
      return;
    }
    if (step.kind === "waits") {
      this.#postponeUnread(request);
      pass.steps -= 1;
      pass.waiting += 1;
      return;
    }
    if (step.kind !== "failed") pass.answered += 1;
    switch (step.kind) {
      case "again":
        return;
      case "wrong path":
        throw step.error;
      case "failed":
        this.#noteFailure(request, step.error, pass);
        return;
      case "lost":
        await this.#noteLost(request, step, pass);
        return;
      case "settled": {
        this.#waiting.delete(request.id);
        pass.settled += 1;
        addCount(pass.counts, step.as);
        if (this.#settler.accepted > accepted) pass.breaker.succeed();
        const order = step.as === "sent" ? loadRequestedOrder(this.#context.store, request.orderId) : undefined;
        if (order?.echo === "owed") await this.#readBack(order, pass);
      }
    }
  }

  /** It may still arrive: nothing else of this order leaves before then, and a known failure waits longer each time. */
  async #noteLost(request: StatusRequest, { untilMs, error }: Step & { kind: "lost" }, pass: Pass): Promise<void> {
    const { store, clock, client } = this.#context;
    const quietMs = untilMs - clock.monotonicMs();
    if (error === undefined) {
      this.#postpone(request, quietMs > 0 ? quietMs : statusRetryMs(request.attempts));
      return;
    }
    const reason = withTexts(asError(error).text, client.hideSecrets);
    await commit(this.#context, pass.signal, () => saveRequestError(store, request.id, reason));
    this.#noteFailure(request, error, pass, quietMs);
  }

  /** The order could not be read, so that nothing is known of the request; what concerns all of them ends the pass. */
  async #noteUnread(request: StatusRequest, error: unknown, pass: Pass): Promise<void> {
    const { store, client } = this.#context;
    const reach = reachOf(error, request.attempts);
    if (reach !== "record" && !isAnswered(error)) throw error;
    const reason = withTexts(asError(error).text, client.hideSecrets);
    await commit(this.#context, pass.signal, () => markUnsettled(store, request.id, reason));
    if (reach !== "record" || isDefect(error)) {
      this.#noteFailure(request, error, pass);
      return;
    }
    pass.failed += 1;
    if (this.#postponeFailed(request, error)) return;
    pass.readFailure = error;
    const { orderId } = loadRequestedOrder(store, request.orderId) ?? request;
    if (!(await pass.reads.failed(orderId, error))) throw pass.reads.trouble;
  }

  /** @throws what concerns every request, and what so many of them in a row failed with that it is the service's. */
  #noteFailure(request: StatusRequest, error: unknown, pass: Pass, leastMs = 0): void {
    pass.failed += 1;
    const reach = reachOf(error, request.attempts);
    if (reach !== "record" && !isAnswered(error)) throw error;
    const isFirst = !this.#waiting.has(request.id);
    const isOwn = this.#postponeFailed(request, error, leastMs);
    if (reach !== "record") throw error;
    if (isOwn && !isDefect(error)) return;
    // The first time that an answer is lost is no failure yet: it may have arrived.
    if (!isFirst || leastMs === 0 || isDefect(error)) pass.failure = error;
    if (pass.breaker.fail()) throw error;
  }

  /** Returns whether others are accepted meanwhile: then its failing says nothing about the service. */
  #postponeFailed(request: StatusRequest, error: unknown, leastMs = 0): boolean {
    const askedMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    const isFirst = !this.#waiting.has(request.id);
    // A lost answer is looked for as soon as it can arrive no more, and only then waits for longer and longer.
    const waitMs = leastMs > 0 && isFirst ? leastMs : Math.max(leastMs, askedMs, statusRetryMs(request.attempts + 1));
    const isNowhere = error instanceof ServiceError && (error.status === 404 || error.status === 410);
    return this.#postpone(request, waitMs, isNowhere);
  }

  /** Nothing was asked of the service. */
  #postponeUnread(request: StatusRequest): void {
    const { store } = this.#context;
    const times = (this.#waiting.get(request.id)?.unread?.times ?? 0) + 1;
    this.#postpone(request, statusRetryMs(times));
    const order = loadRequestedOrder(store, request.orderId);
    const orderId = order?.orderId ?? request.orderId;
    const isQueued = isAwaited(store, orderId);
    const waiting = this.#waiting.get(request.id);
    if (waiting !== undefined) waiting.unread = { times, orderId, revision: order?.revision, isQueued };
  }

  /** Returns whether another request was accepted since this one began to fail. */
  #postpone({ id, orderId }: StatusRequest, ms: number, isNowhere = false): boolean {
    const accepted = this.#waiting.get(id)?.accepted ?? this.#settler.accepted;
    this.#waiting.set(id, {
      untilMs: this.#context.clock.monotonicMs() + ms,
      accepted,
      nowhere: isNowhere ? orderId : undefined,
    });
    return this.#settler.accepted > accepted;
  }

  /** Orders whose new status is to be read back now, oldest first. */
  #loadDueEchoes(): ReadableOrder[] {
    const { store, clock } = this.#context;
    const owed = loadOwedEchoes(store, ECHOES_PER_PASS + this.#unread.size);
    const ids = new Set(owed.map(({ orderId }) => orderId));
    for (const orderId of this.#unread.keys()) if (!ids.has(orderId)) this.#unread.delete(orderId);
    const nowMs = clock.monotonicMs();
    return owed
      .filter(({ orderId }) => (this.#unread.get(orderId)?.untilMs ?? nowMs) <= nowMs)
      .slice(0, ECHOES_PER_PASS);
  }

  async #readBackOwed(pass: Pass): Promise<void> {
    const { store, clock, isStopping } = this.#context;
    const owed = this.#loadDueEchoes();
    if (owed.length === 0) return;
    await commit(this.#context, pass.signal, () => forgetOldEchoes(store, isoTime(clock.nowMs())));
    for (const order of owed) {
      if (isStopping() || pass.echoBreaker.isOpen) return;
      await this.#readBack(order, pass);
    }
  }

  /** The status has arrived; that the order cannot be read back now is no failure of the request. */
  async #readBack(order: ReadableOrder, pass: Pass): Promise<void> {
    try {
      await this.#settler.readBack(order, pass.counts, pass.signal);
      this.#unread.delete(order.orderId);
      pass.echoBreaker.succeed();
    } catch (error) {
      if (reachOf(error) !== "record") throw error;
      pass.echoBreaker.fail();
      const times = (this.#unread.get(order.orderId)?.times ?? 0) + 1;
      this.#unread.set(order.orderId, { times, untilMs: this.#context.clock.monotonicMs() + statusRetryMs(times) });
      const { code, message } = asError(error);
      this.#context.log.debug(
        { orderId: order.orderId, errorCode: code },
        `The order could not be read back: ${message}`,
      );
    }
  }
}

function isDefect(error: unknown): boolean {
  return asError(error).code === "internal";
}

/** Whether a read of the order waits, or what may be of it is about to be stored. */
function isAwaited(store: Store, orderId: string): boolean {
  return loadQueuedRead(store, orderId) !== undefined || hasUnstored(store);
}

/** The failure of a pass in which single orders failed and nothing else was to be sent: it is reported, and holds nothing. */
function ofOneOrder(error: unknown): BridgeError {
  const { code, text, hint } = asError(error);
  return new BridgeError(code, text, { cause: error, ...(hint === undefined ? {} : { hint }) });
}
