/*
 * Sends the ERP's status requests, one at a time per order. A request whose outcome is unknown is never repeated
 * blindly. After a crash a request is `pending` and was not sent, or `sending`, and its order is read first. A request
 * that cannot be settled waits for a time of its own, without delaying others (`waiting-requests.ts`).
 */

import type { Store } from "../database/store.ts";
import { withTexts } from "../messages/pack.ts";
import { hasFound, reopenFound } from "../orders/unstored-requests.ts";
import { Breaker } from "../pass/breaker.ts";
import { commit } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import { isAnswered, reachOf } from "../pass/holds.ts";
import type { Job, JobContext, JobReport } from "../pass/job.ts";
import { loadQueuedRead } from "../pass/position-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { hasUnstored } from "../records/unstored-records.ts";
import { askedWaitMs, ServiceError } from "../service/service-error.ts";
import type { OrderReader } from "../updates/reads/read-order.ts";
import { ReadPass } from "../updates/reads/read-pass.ts";
import type { ReadableOrder } from "../updates/reads/read-snapshot.ts";
import { statusRetryMs } from "./judge-status.ts";
import { loadRequestedOrder } from "./requested-order-rows.ts";
import type { Step } from "./resolve-status.ts";
import type { StatusSettler } from "./settle-status.ts";
import {
  forgetOldEchoes,
  isReplaced,
  loadDueEchoes,
  loadNextRequests,
  loadOpenRequest,
  markUnsettled,
  type StatusRequest,
  saveRequestError,
} from "./status-rows.ts";
import { type Unread, WaitingRequests } from "./waiting-requests.ts";

const STEPS_PER_PASS = 200;
const ECHOES_PER_PASS = 100;
/** So many steps of one request are taken before others have their turn. */
const AT_ONCE_MAX = 4;

interface Pass {
  counts: Record<string, number>;
  signal: AbortSignal;
  breaker: Breaker;
  /** Counts failed reads of orders whose status was accepted; they fail no request. */
  echoBreaker: Breaker;
  /** Reads of orders before their request is settled. */
  reads: ReadPass;
  steps: number;
  settled: number;
  /** Requests that failed; `answered`: steps that the service answered well. */
  failed: number;
  answered: number;
  /** Requests that wait for a read of their order. */
  waiting: number;
  failure: unknown;
  /** Failure of a read: it concerns the order alone if the service answers for another one. */
  readFailure: unknown;
}

export class SendStatuses implements Job {
  readonly name = "statuses";
  readonly areas = ["orders", "statuses"];
  readonly #context: JobContext;
  readonly #settler: StatusSettler;
  readonly #reader: OrderReader;
  readonly #waiting: WaitingRequests;
  /** Orders that could not be read back: number of tries, and until when each waits (monotonic). */
  readonly #unread = new Map<string, { times: number; untilMs: number }>();

  constructor(context: JobContext, settler: StatusSettler, reader: OrderReader) {
    this.#context = context;
    this.#settler = settler;
    this.#reader = reader;
    this.#waiting = new WaitingRequests(context, { accepted: () => settler.accepted, signature: settler.signature });
  }

  async prepare(): Promise<{ counts: Record<string, number>; hasWork: boolean }> {
    const { store } = this.#context;
    for (const id of this.#waiting.all.keys()) if (loadOpenRequest(store, id) === undefined) this.#forget(id);
    const isDue = this.#loadDue(1).length > 0 || this.#loadDueEchoes().length > 0 || hasFound(store);
    return { counts: {}, hasWork: isDue };
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
    const { store } = this.#context;
    if (hasFound(store)) await commit(this.#context, signal, () => reopenFound(store));
    try {
      await this.#settleAll(pass);
    } finally {
      if (!signal.aborted) await this.#waiting.save(signal);
    }
    await this.#readBackDue(pass);
    const { counts } = pass;
    const failure = pass.failure ?? (await this.#findReadFailure(pass));
    if (failure !== undefined && (pass.settled === 0 || isDefect(failure))) throw ofOneOrder(failure);
    const isFull = pass.steps >= STEPS_PER_PASS && pass.settled > 0;
    const outcome = isFull ? "more" : Object.keys(counts).length > 0 ? "done" : "idle";
    const dueInMs = this.#waiting.nextDueInMs();
    const isLetIn = pass.answered > 0 || pass.failed + pass.waiting === 0;
    return { outcome, counts, isLetIn, ...(dueInMs === undefined ? {} : { dueInMs }) };
  }

  /** Failed reads of single orders do not fail the pass while the service answers for another order. */
  async #findReadFailure({ readFailure, settled, reads }: Pass): Promise<unknown> {
    if (readFailure === undefined || settled > 0) return undefined;
    return (await reads.findHealth()) === "well" ? undefined : readFailure;
  }

  /** Processes the next request of each order until all are settled or wait. */
  async #settleAll(pass: Pass): Promise<void> {
    for (;;) {
      const next = this.#loadDue(STEPS_PER_PASS);
      if (next.length === 0) return;
      for (const request of next) {
        // One that was read first is sent before the others are looked at: what one of them meets may end the pass.
        let present: StatusRequest | undefined = request;
        for (let times = 0; times < AT_ONCE_MAX && present !== undefined; times++) {
          if (pass.steps >= STEPS_PER_PASS || this.#context.isStopping()) return;
          pass.steps += 1;
          const isAgain = await this.#settleOne(present, pass);
          present = isAgain ? loadOpenRequest(this.#context.store, request.id) : undefined;
        }
      }
    }
  }

  /**
   * Decides what is sent now: the next request of each order that is due, least tried first. What failed since the start comes after
   * the others, in the order in which it became due.
   */
  #loadDue(limit: number): StatusRequest[] {
    const nowMs = this.#context.clock.monotonicMs();
    const dueMs = ({ id }: StatusRequest) => this.#waiting.get(id)?.untilMs ?? 0;
    return loadNextRequests(this.#context.store, limit + this.#waiting.all.size)
      .filter((request) => this.#isDue(request, nowMs))
      .sort((a, b) => dueMs(a) - dueMs(b))
      .slice(0, limit);
  }

  #isDue({ id, asked }: StatusRequest, nowMs: number): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting?.asked !== undefined && waiting.asked !== asked) {
      // Another request has the id.
      this.#waiting.delete(id);
      return true;
    }
    if (waiting === undefined || waiting.untilMs <= nowMs || this.#settler.isEvidenced(id)) return true;
    const { nowhere, unread, seen } = waiting;
    if (unread !== undefined) return this.#isSettled(unread);
    const { store } = this.#context;
    // What it waits to see may have come, and its order's other requests wait for it.
    if (seen !== undefined && loadRequestedOrder(store, seen.orderId)?.revision !== seen.revision) return true;
    return nowhere !== undefined && loadRequestedOrder(store, nowhere)?.isRemoved === true;
  }

  /**
   * Whether the order has changed or was read since its request began to wait. One that was read and could not be stored
   * is asked for again when the wait is over.
   */
  #isSettled({ orderId, revision, isQueued }: Unread): boolean {
    const { store } = this.#context;
    if (isQueued && revision !== undefined && !isAwaited(store, orderId)) return true;
    return loadRequestedOrder(store, orderId)?.revision !== revision;
  }

  #forget(id: bigint): void {
    this.#waiting.delete(id);
    this.#settler.forget(id);
  }

  /** Returns whether it is to be decided again. */
  async #settleOne(request: StatusRequest, pass: Pass): Promise<boolean> {
    const accepted = this.#settler.accepted;
    let step: Step;
    try {
      step = await this.#settler.take(request, pass.counts, pass.signal);
    } catch (error) {
      // A step that was aborted by a stop does not count as a failure.
      if (pass.signal.aborted) throw error;
      await this.#noteUnread(request, error, pass);
      return false;
    }
    if (step.kind === "waits") {
      this.#postponeUnread(request);
      pass.steps -= 1;
      pass.waiting += 1;
      return false;
    }
    if (step.kind !== "failed") pass.answered += 1;
    switch (step.kind) {
      case "again":
        return true;
      case "wrong path":
        // The service may answer so for this order alone: the next probe is made with another one.
        this.#waiting.postpone(request.id, { ms: 0, asked: request.asked });
        throw step.error;
      case "failed":
        this.#noteFailure(request, step.error, pass);
        return false;
      case "lost":
        await this.#noteLost(request, step, pass);
        return false;
      case "settled": {
        this.#waiting.delete(request.id);
        pass.settled += 1;
        addCount(pass.counts, step.as);
        if (this.#settler.accepted > accepted) pass.breaker.succeed();
        const order = step.as === "sent" ? loadRequestedOrder(this.#context.store, request.orderId) : undefined;
        if (order?.echo === "owed") await this.#readBack(order, pass);
        return false;
      }
    }
  }

  /**
   * The status may still arrive: no other request of the order is sent before then, and each known failure doubles the
   * wait.
   */
  async #noteLost(request: StatusRequest, step: Step & { kind: "lost" }, pass: Pass): Promise<void> {
    const { untilMs, error, mayArrive } = step;
    const { store, clock, client } = this.#context;
    const quietMs = untilMs - clock.monotonicMs();
    if (error === undefined) {
      const ms = quietMs > 0 ? quietMs : statusRetryMs(request.attempts);
      const { orderId, asked } = request;
      const seen = { orderId, revision: loadRequestedOrder(store, orderId)?.revision };
      this.#waiting.postpone(request.id, mayArrive ? { ms } : { ms, asked, seen });
      return;
    }
    const reason = withTexts(asError(error).text, client.hideSecrets);
    const { id, asked } = request;
    await commit(this.#context, pass.signal, () => {
      if (!isReplaced(store, { id, asked })) saveRequestError(store, id, reason);
    });
    this.#noteFailure(request, error, pass, quietMs);
  }

  /** The order could not be read, so the outcome stays unknown. A failure that concerns all requests ends the pass. */
  async #noteUnread(request: StatusRequest, error: unknown, pass: Pass): Promise<void> {
    const { store, client } = this.#context;
    const reach = reachOf(error, request.attempts);
    if (reach !== "record" && !isAnswered(error)) throw error;
    const reason = withTexts(asError(error).text, client.hideSecrets);
    const { id, asked } = request;
    await commit(this.#context, pass.signal, () => {
      if (!isReplaced(store, { id, asked })) markUnsettled(store, id, reason);
    });
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

  /** @throws errors that concern all requests, and the failure of so many in a row that the service is failing */
  #noteFailure(request: StatusRequest, error: unknown, pass: Pass, leastMs = 0): void {
    pass.failed += 1;
    const reach = reachOf(error, request.attempts);
    if (reach !== "record" && !isAnswered(error)) throw error;
    const isFirst = this.#waiting.get(request.id) === undefined;
    const isOwn = this.#postponeFailed(request, error, leastMs);
    if (reach !== "record") throw error;
    if (isOwn && !isDefect(error)) return;
    // A first lost answer is no failure yet, because the status may have arrived.
    if (!isFirst || leastMs === 0 || isDefect(error)) pass.failure = error;
    if (pass.breaker.fail()) throw error;
  }

  /** Returns whether others were accepted meanwhile: then the failure is this request's own. */
  #postponeFailed(request: StatusRequest, error: unknown, leastMs = 0): boolean {
    const isFirst = this.#waiting.get(request.id) === undefined;
    // After a lost answer the order is read as soon as the request can no longer arrive; only then waits grow.
    const waitMs =
      leastMs > 0 && isFirst ? leastMs : Math.max(leastMs, askedWaitMs(error), statusRetryMs(request.attempts + 1));
    const isNowhere = error instanceof ServiceError && (error.status === 404 || error.status === 410);
    const nowhere = isNowhere ? request.orderId : undefined;
    // One that may still arrive keeps also another request waiting that takes its id.
    const asked = leastMs > 0 ? undefined : request.asked;
    return this.#waiting.postpone(request.id, { ms: waitMs, nowhere, asked });
  }

  /** Waits for a read of the order; no request was made. */
  #postponeUnread(request: StatusRequest): void {
    const { store } = this.#context;
    const order = loadRequestedOrder(store, request.orderId);
    const orderId = order?.orderId ?? request.orderId;
    const isQueued = isAwaited(store, orderId);
    // Before the first pull no order is asked for.
    const times = isQueued ? (this.#waiting.get(request.id)?.unread?.times ?? 0) + 1 : 1;
    const unread = { times, orderId, revision: order?.revision, isQueued };
    this.#waiting.postpone(request.id, { ms: statusRetryMs(times), unread, asked: request.asked });
  }

  /** Orders whose new status is due to be read back, oldest first. */
  #loadDueEchoes(): ReadableOrder[] {
    const { store, clock } = this.#context;
    const due = loadDueEchoes(store, ECHOES_PER_PASS + this.#unread.size);
    const ids = new Set(due.map(({ orderId }) => orderId));
    for (const orderId of this.#unread.keys()) if (!ids.has(orderId)) this.#unread.delete(orderId);
    const nowMs = clock.monotonicMs();
    return due
      .filter(({ orderId }) => (this.#unread.get(orderId)?.untilMs ?? nowMs) <= nowMs)
      .slice(0, ECHOES_PER_PASS);
  }

  async #readBackDue(pass: Pass): Promise<void> {
    const { store, clock, isStopping } = this.#context;
    const due = this.#loadDueEchoes();
    if (due.length === 0) return;
    await commit(this.#context, pass.signal, () => forgetOldEchoes(store, isoTime(clock.nowMs())));
    for (const order of due) {
      if (isStopping() || pass.echoBreaker.isOpen) return;
      await this.#readBack(order, pass);
    }
  }

  /** The status was accepted, so a failed read does not fail the request. */
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

/** Whether a read of the order is queued, or a record that may be of it is about to be stored. */
function isAwaited(store: Store, orderId: string): boolean {
  return loadQueuedRead(store, orderId) !== undefined || hasUnstored(store);
}

/** The error of a pass in which single orders failed and nothing else was due: it is reported and holds nothing. */
function ofOneOrder(error: unknown): BridgeError {
  const { code, text, hint } = asError(error);
  return new BridgeError(code, text, { cause: error, ...(hint === undefined ? {} : { hint }) });
}
