/*
 * Advances one status request by one step: decides the next request to the service, and marks what is sent. `sending`
 * is committed with the order's status before the request is sent, so that nothing is repeated blindly;
 * `answered-status.ts` interprets the answer.
 */

import { isStrictlyNewer } from "../answers/timestamp.ts";
import { isSameName } from "../database/same-name.ts";
import { m } from "../messages/messages.ts";
import { requestReadInAnHour } from "../orders/later-reads.ts";
import { requestUnstored } from "../orders/unstored-requests.ts";
import { commit, commitAtOnce } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import { asksAllToWait, isAnswered } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { hasSucceeded, loadFollowedAt, loadNewestRun } from "../pass/runs.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { Turn } from "../service/client.ts";
import { turnOfStatus } from "../service/orders.ts";
import type { KeptWord } from "../updates/reads/kept-words.ts";
import type { OrderReader, SeenOrder } from "../updates/reads/read-order.ts";
import type { ReadableOrder } from "../updates/reads/read-snapshot.ts";
import { AnsweredStatus } from "./answered-status.ts";
import { planStatus, type RequestedOrder, type StatusPlan } from "./plan-status.ts";
import { isOwnUnread, loadHappenedSince, loadOrderMoves, loadRequestedOrder } from "./requested-order-rows.ts";
import type { Sent, SettleOptions, Step } from "./resolve-status.ts";
import { failureOf, refused } from "./status-failures.ts";
import {
  beginAnew,
  isFollowedSince,
  isReplaced,
  loadLeftAt,
  loadOpenRequest,
  markEchoesRead,
  markPendingAgain,
  markRequestRefused,
  markSending,
  markSent,
  type StatusRequest,
  saveRequestError,
} from "./status-rows.ts";

/** Limit of remembered orders; a forgotten one costs one more read. */
const LOOKED_MAX = 10_000;
/** How old the last pass over changes may be as a status is sent whose order cannot be read. */
const KNOWN_FOR_MS = 10_000;
/** How long a read of the order counts: where few requests are allowed, the status waits for its turn after the read. */
const READ_FOR_MS = 5 * 60_000;
/** After so many failed reads of the order a pass over changes counts as long as a read. */
const UNREAD_MAX = 4;

interface Begun {
  request: StatusRequest;
  plan: StatusPlan;
  order: RequestedOrder | undefined;
  isLookedAt: boolean;
  /** The order must be read before its status is sent. */
  isReadFirst: boolean;
  /** The time of a change that is not stored and gives the order the status that is sent. */
  listed: string | undefined;
}

export class StatusSettler {
  readonly #context: JobContext;
  readonly #options: SettleOptions;
  readonly #reader: OrderReader;
  /** Requests whose order was read since they were refused, each with the change in its status that was listed by then. */
  readonly #looked = new Map<bigint, string | undefined>();
  /** Requests whose order was read before its status is sent, and when (monotonic). */
  readonly #readFirst = new Map<bigint, number>();
  /** What the requests were as they were decided the last time. */
  readonly #decided = new Map<bigint, { asked: string; orderId: string }>();
  /** Number of the newest run at the start. */
  readonly #runAtStart: number;
  readonly #answered: AnsweredStatus;

  constructor(context: JobContext, options: SettleOptions, reader: OrderReader) {
    this.#context = context;
    this.#options = options;
    this.#reader = reader;
    this.#runAtStart = loadNewestRun(context.store);
    this.#answered = new AnsweredStatus(context, options, { reader, looked: this.#looked });
  }

  /** Number of statuses that the service accepted since the start. */
  get accepted(): number {
    return this.#answered.accepted;
  }

  /** How statuses are sent under this configuration. */
  get signature(): string {
    const { method, path, body, map } = this.#options.rules;
    return JSON.stringify([method, path, body, map]);
  }

  /** Whether a refused request is due immediately. */
  isEvidenced(id: bigint): boolean {
    return this.#answered.isEvidenced(id);
  }

  /** To be called for requests that are no longer open. */
  forget(id: bigint): void {
    this.#decided.delete(id);
    this.#readFirst.delete(id);
    this.#answered.forget(id);
  }

  /** @throws what concerns this order alone, and what stops the program or the database */
  async take(request: StatusRequest, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    this.#answered.noteAsked(request.id);
    if (request.state === "sending" && this.#isOther(request)) {
      await commit(this.#context, signal, () => this.#loadPresent(request.id));
      return { kind: "again" };
    }
    if (request.state === "sending") return await this.#resolveFound(request, counts, signal);
    const planned = await commit(this.#context, signal, () => this.#begin(request.id, { mayLeave: false }));
    if (planned?.plan.kind !== "send" || planned.isLookedAt || planned.isReadFirst)
      return await this.#act(planned, counts, signal);
    const { method } = this.#options.rules;
    const turn = await turnOfStatus(this.#context.client, { method, path: planned.plan.path, signal });
    // Decides again, because other jobs may have stored changes during the wait. The order matters:
    // 1. The decision and the mark `sending` are committed in one transaction.
    // 2. Only then the request is sent (`#act`), with nothing in between.
    const begun = commitAtOnce(this.#context, () => this.#begin(request.id, { mayLeave: true }));
    if (begun === undefined) return { kind: "again" };
    return await this.#act(begun.value, counts, signal, turn);
  }

  /** @param turn given where the request was marked as `sending` */
  async #act(
    begun: Begun | undefined,
    counts: Record<string, number>,
    signal: AbortSignal,
    turn?: Turn,
  ): Promise<Step> {
    if (begun === undefined) return { kind: "again" };
    const { request, plan, order } = begun;
    if (plan.kind === "refuse" || (plan.kind === "done" && !begun.isLookedAt)) this.forget(request.id);
    if (plan.kind === "wait" || plan.kind === "find") return { kind: "waits" };
    if (plan.kind === "refuse") return refused(this.#context, request.id, plan.reason);
    if (plan.kind === "done" && !begun.isLookedAt) return { kind: "settled", as: "already" };
    if (order === undefined) throw new Error("A status was planned for an order that is not stored.");
    if (plan.kind === "read") {
      await this.readBack(order, counts, signal);
      return { kind: "again" };
    }
    if (begun.isReadFirst) return await this.#readBefore(request.id, order, counts, signal);
    if (plan.kind === "done") return await this.#lookAtDone(begun, plan.status, order, counts, signal);
    if (begun.isLookedAt || turn === undefined)
      return await this.#look(begun, request.statusSent, order, counts, signal);
    const { id, asked } = request;
    const sent: Sent = { id, asked, statusSent: plan.status, statusBefore: order.status, order };
    return await this.#answered.send(sent, { plan, turn }, counts, signal);
  }

  /**
   * Reads the order. Either an earlier attempt was refused, and the refusal, if it is not from the service itself, may
   * hide that the order has the status; or the stored order has the status, and the order may have changed since.
   */
  async #look(
    { request, listed }: Begun,
    status: string | null,
    order: RequestedOrder,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store } = this.#context;
    const { id } = request;
    addCount(counts, "requests");
    const found = await this.#reader.read(
      { ...order, statusSent: status, leftAt: loadLeftAt(store, id) },
      (seen, at) => {
        if (isReplaced(store, request)) return "replaced";
        if (seen.kind === "doubted") return seen.error;
        if (seen.kind === "gone") {
          const { httpStatus, reason } = failureOf(seen.error);
          markRequestRefused(store, id, { httpStatus, reason, at });
          return reason;
        }
        // The order may have had the status since, and have been moved on.
        const isShown =
          isSameName(seen.status, status) ||
          loadOrderMoves(store, id, null).statusesSince.some((since) => isSameName(since, status));
        if (!isShown) return "again";
        markSent(store, id, { httpStatus: null, at });
        return request.state === "pending" && !request.wasAnswered ? "already" : "sent";
      },
      signal,
    );
    if (found instanceof BridgeError) throw found;
    if (found === "replaced") return { kind: "again" };
    if (found === "again") {
      this.#noteLooked(id, listed);
      return { kind: "again" };
    }
    this.forget(id);
    return found === "sent" || found === "already" ? { kind: "settled", as: found } : refused(this.#context, id, found);
  }

  /** The stored order has the status already. Where it cannot be read, what the list of changes has shown since the request counts. */
  async #lookAtDone(
    begun: Begun,
    status: string | null,
    order: RequestedOrder,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    try {
      return await this.#look(begun, status, order, counts, signal);
    } catch (error) {
      const { id } = begun.request;
      if (!isOfOrderAlone(error) || !isFollowedSince(this.#context.store, id)) throw error;
      this.#noteLooked(id, begun.listed);
      return { kind: "again" };
    }
  }

  #noteLooked(id: bigint, listed: string | undefined): void {
    if (this.#looked.size >= LOOKED_MAX) this.#looked.clear();
    this.#looked.set(id, listed);
  }

  /**
   * Reads and stores the order, which may have been cancelled; then the request is decided again. Where it cannot be read, what the list
   * of changes has just shown counts.
   */
  async #readBefore(
    id: bigint,
    order: RequestedOrder,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    addCount(counts, "requests");
    try {
      const read = (seen: SeenOrder) => (seen.kind === "doubted" ? seen.error : undefined);
      const doubt = await this.#reader.read(order, read, signal);
      if (doubt !== undefined && !this.#isFollowed(KNOWN_FOR_MS)) throw doubt;
    } catch (error) {
      if (!isOfOrderAlone(error) || !this.#isFollowed(KNOWN_FOR_MS)) throw error;
    }
    if (this.#readFirst.size >= LOOKED_MAX) this.#readFirst.clear();
    this.#readFirst.set(id, this.#context.clock.monotonicMs());
    return { kind: "again" };
  }

  /** Reads an order whose new status was accepted, so that the change counts as the ERP's own. */
  async readBack(order: ReadableOrder, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    addCount(counts, "requests");
    await this.#reader.read(
      order,
      (seen, at) => {
        const isShown = markEchoesRead(store, order.orderId, seen.kind === "order" ? seen.status : null);
        if (!isShown) requestReadInAnHour(store, order.orderId, at);
      },
      signal,
    );
  }

  /**
   * To be called inside a transaction: decides, and settles what needs no request. Where `mayLeave`, a request to be
   * sent is marked as `sending`.
   */
  #begin(id: bigint, { mayLeave }: { mayLeave: boolean }): Begun | undefined {
    const { store, clock, client } = this.#context;
    const request = this.#loadPresent(id);
    if (request?.state !== "pending") return undefined;
    const at = isoTime(clock.nowMs());
    const { rules } = this.#options;
    const kept = this.#keptWordsOf(request.orderId, at);
    const order = loadRequestedOrder(store, request.orderId);
    const since = loadHappenedSince(store, id, rules.cancelled);
    // Decides what is sent.
    const plan = planStatus({ ...request, ...since, kept }, order, rules);
    if (plan.kind === "wait" || plan.kind === "find") saveRequestError(store, id, plan.reason);
    if (plan.kind === "find") requestUnstored(store, request.orderId, at);
    if (plan.kind === "refuse") markRequestRefused(store, id, { httpStatus: null, reason: plan.reason, at });
    const isUnproven = plan.kind === "done" && !this.#looked.has(id);
    if (plan.kind === "done" && !isUnproven) markSent(store, id, { httpStatus: null, at });
    const listed = plan.kind === "send" ? findListed(kept, plan.status) : undefined;
    const isLookedAt = isUnproven || (plan.kind === "send" && isToBeRead(request, plan.status, this.#looked, listed));
    const isReadFirst = plan.kind === "send" && !isLookedAt && this.#isReadFirst(request);
    if (mayLeave && plan.kind === "send" && order !== undefined && !isLookedAt && !isReadFirst) {
      const before = { ...order, ...lastSaid(kept, plan.status, this.#options.timezone) };
      const leftMs = Date.parse(client.serviceNow ?? "");
      const leftAt = Number.isNaN(leftMs) ? null : isoTime(leftMs);
      markSending(store, id, { status: plan.status, before, leftAt, at });
      this.#looked.delete(id);
      this.#readFirst.delete(id);
      return { request, plan, order: before, isLookedAt, isReadFirst, listed };
    }
    return { request, plan, order, isLookedAt, isReadFirst, listed };
  }

  /** The open request that has the id. Inside a transaction: one that has taken the place of another begins anew. */
  #loadPresent(id: bigint): StatusRequest | undefined {
    const { store } = this.#context;
    const request = loadOpenRequest(store, id);
    if (request === undefined) return undefined;
    const former = this.#decided.get(id);
    const { asked, orderId } = request;
    if (former === undefined && this.#decided.size >= LOOKED_MAX) this.#decided.clear();
    this.#decided.set(id, { asked, orderId });
    if (former === undefined || former.asked === asked) return request;
    beginAnew(store, id, former);
    this.#readFirst.delete(id);
    this.#answered.forget(id);
    return loadOpenRequest(store, id);
  }

  /** Whether the row was another request when it was decided. */
  #isOther({ id, asked }: StatusRequest): boolean {
    return (this.#decided.get(id)?.asked ?? asked) !== asked;
  }

  /**
   * Somebody may have cancelled the order, and the list of changes may show it later than the order does: a status is sent only after
   * a read of its order. Before the first pass over changes orders are as new as their batches.
   */
  #isReadFirst({ id, attempts }: StatusRequest): boolean {
    const { store, clock } = this.#context;
    const readMs = this.#readFirst.get(id);
    if (readMs !== undefined && clock.monotonicMs() - readMs < READ_FOR_MS) return false;
    if (!hasSucceeded(store, "updates")) return false;
    return attempts < UNREAD_MAX || !this.#isFollowed(READ_FOR_MS);
  }

  /** Whether the newest pass over changes is no older. */
  #isFollowed(withinMs: number): boolean {
    const { store, clock } = this.#context;
    const agoMs = clock.nowMs() - Date.parse(loadFollowedAt(store, { sinceRun: this.#runAtStart }) ?? "");
    return agoMs >= 0 && agoMs < withinMs;
  }

  /** Without our own statuses, which are not another client's. */
  #keptWordsOf(orderId: string, at: string): KeptWord[] {
    const { store } = this.#context;
    const order = loadRequestedOrder(store, orderId);
    if (order === undefined) return [];
    return this.#reader.keptWordsOf(order, at).filter(({ status }) => !isOwnUnread(store, order.orderId, status));
  }

  /** A request in state `sending`, left by a crash, a stop or a failed read. */
  async #resolveFound(request: StatusRequest, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    const { store, clock } = this.#context;
    const order = loadRequestedOrder(store, request.orderId);
    if (order === undefined || request.statusSent === null) {
      await commit(this.#context, signal, () => {
        if (isReplaced(store, request)) return;
        // We sent no request for it: another client wrote the state.
        if (request.statusSent === null) return markPendingAgain(store, request.id, null);
        // As after a restore: the order shows what became of it.
        saveRequestError(store, request.id, m.statuses.notStored);
        requestUnstored(store, request.orderId, isoTime(clock.nowMs()));
      });
      return { kind: request.statusSent === null ? "again" : "waits" };
    }
    const { id, asked, statusSent, statusBefore } = request;
    return await this.#answered.resolve({ id, asked, statusSent, statusBefore, order }, undefined, counts, signal);
  }
}

/** Whether the service answered for this order, and makes no other request wait. */
function isOfOrderAlone(error: unknown): boolean {
  return isAnswered(error) && !asksAllToWait(error);
}

/**
 * The last status from the service that could not be stored before the request is sent: if a read shows it afterwards,
 * it is no change since. The status to be sent is left out, because it shows that the request has arrived.
 */
function lastSaid(
  kept: readonly KeptWord[],
  sent: string,
  timezone: string,
): { status: string | null; updatedAt: string | null } | undefined {
  const said = kept.filter(({ status, isCancelled }) => !isCancelled && !isSameName(status, sent));
  const last = said.reduce<KeptWord | undefined>(
    (newest, word) => (isStrictlyNewer(newest?.updatedAt ?? null, word.updatedAt, timezone) ? newest : word),
    undefined,
  );
  return last && { status: last.status, updatedAt: last.updatedAt };
}

/** The time of a change that could not be stored and gives the order this status. */
function findListed(kept: readonly KeptWord[], status: string): string | undefined {
  const word = kept.find(({ status: listed, isCancelled }) => !isCancelled && isSameName(listed, status));
  return word?.updatedAt ?? undefined;
}

/**
 * Whether a request was refused, but may have set the status after all, so that the order must be read. Where a change has listed the
 * status since, one that was lost as well: whatever was read before may have been a copy. A request for the status that the order
 * already had cannot be recognised by it.
 */
function isToBeRead(
  request: StatusRequest,
  status: string,
  looked: ReadonlyMap<bigint, string | undefined>,
  listed: string | undefined,
): boolean {
  const { id, wasAnswered, statusSent, statusBefore } = request;
  if (!isSameName(statusSent, status) || isSameName(statusSent, statusBefore)) return false;
  return listed === undefined ? wasAnswered && !looked.has(id) : looked.get(id) !== listed;
}
