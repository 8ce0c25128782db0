/*
 * Brings one status request one step further: decides, sends, and finds out what became of it. `sending` is committed
 * with the status then known before the request leaves; after a lost answer or a crash the order is read, and what was
 * read is stored in the transaction that settles the request, so that nothing is ever sent again blindly.
 */
import type { ServiceAnswer } from "../api/client.ts";
import { sendStatus } from "../api/orders.ts";
import { readAcceptance, UNREADABLE_WORDS } from "../domain/acceptance.ts";
import { BridgeError } from "../domain/errors.ts";
import {
  classifyStatusFailure,
  compareStatus,
  planStatus,
  type RequestedOrder,
  type StatusPlan,
  type StatusRules,
} from "../domain/plan-status.ts";
import { isoTime } from "../domain/ports.ts";
import { ServiceError } from "../domain/service-error.ts";
import {
  hasOtherRequest,
  loadOpenRequest,
  loadOrderMoves,
  loadRequestedOrder,
  markEchoesRead,
  markPendingAgain,
  markRequestRefused,
  markSending,
  markSent,
  type StatusRequest,
} from "../store/status-requests.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import type { OrderReader, ReadableOrder } from "./read-order.ts";

/** For the last thing to write when the program is stopping and its signal is aborted already. */
const LAST_WRITE_MS = 2_000;

export interface SettleOptions {
  rules: StatusRules;
  /**
   * How long a lost request may still take effect: before that it is not sent again, not given up, and followed by no
   * other for its order. The time within which the service is to answer.
   */
  quietMs: number;
  /** Of service times that name no zone. */
  timezone: string;
}

export type Step =
  | { kind: "settled"; as: "sent" | "already" | "refused" }
  /** Something is known that was not known before: the request can be looked at again at once. */
  | { kind: "again" }
  /** It may still take effect: to be looked at again when the quiet time is over. */
  | { kind: "lost"; untilMs: number; error: unknown }
  /** The service has said something that concerns every request. */
  | { kind: "stop"; error: unknown };

/** A request that has left, with the order it is for. */
interface Sent {
  id: bigint;
  statusSent: string | null;
  statusBefore: string | null;
  order: RequestedOrder;
}

/** A refusal that came with a success status, to be believed where the order shows no effect. */
interface Doubt {
  refusal?: { httpStatus: number; reason: string };
  error?: unknown;
}

export class StatusSettler {
  readonly #context: JobContext;
  readonly #options: SettleOptions;
  readonly #reader: OrderReader;
  /** Monotonic time at which the answer to a request was found missing. */
  readonly #lostAtMs = new Map<bigint, number>();

  constructor(context: JobContext, options: SettleOptions, reader: OrderReader) {
    this.#context = context;
    this.#options = options;
    this.#reader = reader;
  }

  /** @throws what concerns this order alone, and what stops the program or the database. */
  async take(request: StatusRequest, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    if (request.state === "sending") return await this.#resolveFound(request, counts, signal);
    // Reads, decides and writes in one transaction; only then does anything leave.
    const begun = await commit(this.#context, signal, () => this.#begin(request.id));
    if (begun === undefined) return { kind: "again" };
    const { plan, order } = begun;
    if (plan.kind === "refuse") return this.#refused(request.id, plan.reason);
    if (plan.kind === "done") return { kind: "settled", as: "already" };
    if (order === undefined) throw new BridgeError("internal", "A status was planned for an order that is not stored.");
    if (plan.kind === "read") {
      await this.readBack(order, counts, signal);
      return { kind: "again" };
    }
    const sent: Sent = { id: request.id, statusSent: plan.status, statusBefore: order.status, order };
    return await this.#send(sent, plan, counts, signal);
  }

  /** Reads an order whose new status was accepted, so that its echo is known. */
  async readBack(order: ReadableOrder, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    add(counts, "requests");
    await this.#reader.read(
      order,
      (seen) => markEchoesRead(store, order.orderId, seen.kind === "order" ? seen.status : null),
      signal,
    );
  }

  #begin(id: bigint): { plan: StatusPlan; order: RequestedOrder | undefined } | undefined {
    const { store, clock } = this.#context;
    const request = loadOpenRequest(store, id);
    if (request?.state !== "pending") return undefined;
    const order = loadRequestedOrder(store, request.orderId);
    const plan = planStatus(request, order, this.#options.rules);
    const at = isoTime(clock.nowMs());
    if (plan.kind === "refuse") markRequestRefused(store, id, { httpStatus: null, reason: plan.reason, at });
    if (plan.kind === "done") markSent(store, id, { httpStatus: null, at });
    if (plan.kind === "send") markSending(store, id, { status: plan.status, before: order });
    return { plan, order };
  }

  async #send(
    sent: Sent,
    plan: StatusPlan & { kind: "send" },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store, client, clock } = this.#context;
    const { method } = this.#options.rules;
    add(counts, "requests");
    store.secure();
    let answer: ServiceAnswer;
    try {
      answer = await sendStatus(client, { method, path: plan.path, body: plan.body, signal });
    } catch (error) {
      return await this.#afterFailure(sent, error, counts, signal);
    }
    const acceptance = readAcceptance(answer);
    if (acceptance.kind === "html" || acceptance.kind === "cut") {
      const what = UNREADABLE_WORDS[acceptance.kind];
      const error = new BridgeError("answer_unreadable", `${method} ${plan.path} was answered with ${what}.`);
      return await this.#resolve(sent, { error }, counts, signal);
    }
    if (acceptance.kind === "error") {
      // An answer may repeat the order, whose own status may be called "failed": the order tells which it was.
      const reason = `${answer.status}: ${client.hideSecrets(acceptance.words)}`;
      return await this.#resolve(sent, { refusal: { httpStatus: answer.status, reason } }, counts, signal);
    }
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => markSent(store, sent.id, { httpStatus: answer.status, at }));
    return { kind: "settled", as: "sent" };
  }

  async #afterFailure(sent: Sent, error: unknown, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    const { store, clock } = this.#context;
    const failure = failureOf(error);
    switch (classifyStatusFailure(error)) {
      case "refused": {
        const at = isoTime(clock.nowMs());
        await commit(this.#context, signal, () => markRequestRefused(store, sent.id, { ...failure, at }));
        return this.#refused(sent.id, failure.reason);
      }
      case "nowhere":
        return await this.#findOut(sent, error as ServiceError, counts, signal);
      case "unknown":
        return await this.#resolve(sent, { error }, counts, signal);
      case "untouched":
        await this.#putBack(sent.id, failure);
        return { kind: "stop", error };
      case "later":
        return { kind: "stop", error };
    }
  }

  /** 404, 405 and 410 say that there is nothing under the path: because of the order, or because of the path. */
  async #findOut(sent: Sent, error: ServiceError, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    const { store } = this.#context;
    const failure = failureOf(error);
    add(counts, "requests");
    let found: "sent" | "refused" | "wrong path" | "doubted";
    try {
      found = await this.#reader.read(
        sent.order,
        (seen, at) => {
          if (seen.kind === "gone") {
            markRequestRefused(store, sent.id, { ...failure, at });
            return "refused";
          }
          if (seen.kind === "doubted") return "doubted";
          if (seen.status !== sent.statusSent) return "wrong path";
          markSent(store, sent.id, { httpStatus: null, at });
          return "sent";
        },
        signal,
      );
    } catch (readError) {
      await this.#putBack(sent.id, failure);
      throw readError;
    }
    if (found === "refused") return this.#refused(sent.id, failure.reason);
    if (found === "sent") return { kind: "settled", as: "sent" };
    if (found === "doubted") {
      await this.#putBack(sent.id, failure);
      return { kind: "lost", untilMs: this.#context.clock.monotonicMs(), error: undefined };
    }
    const what = "the order exists, so statuses.path or statuses.method is wrong";
    await this.#putBack(sent.id, { ...failure, reason: `${failure.reason}; ${what}` });
    return { kind: "stop", error: wrongPath(error, what) };
  }

  /** A request that was found `sending`: a crash, a stop or a failed read has left it so. */
  async #resolveFound(request: StatusRequest, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    const { store, clock } = this.#context;
    const order = loadRequestedOrder(store, request.orderId);
    if (order === undefined || request.statusSent === null) {
      // No request of ours has left for it: somebody else wrote the state.
      await commit(this.#context, signal, () => markPendingAgain(store, request.id, null));
      return { kind: "again" };
    }
    if (!this.#lostAtMs.has(request.id)) this.#lostAtMs.set(request.id, clock.monotonicMs());
    const { id, statusSent, statusBefore } = request;
    return await this.#resolve({ id, statusSent, statusBefore, order }, {}, counts, signal);
  }

  /**
   * Reads the order to learn what became of a request. Before the quiet time is over only the wanted status tells, and
   * not even that where another request waits: a status that somebody else set looks the same, and one that arrives
   * late would then take the place of the one asked for after it.
   */
  async #resolve(sent: Sent, doubt: Doubt, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    const { store, clock } = this.#context;
    const { id } = sent;
    const lostAtMs = this.#lostAtMs.get(id) ?? clock.monotonicMs();
    this.#lostAtMs.set(id, lostAtMs);
    const untilMs = lostAtMs + this.#options.quietMs;
    const isQuiet = clock.monotonicMs() >= untilMs;
    let reason = doubt.refusal?.reason ?? "";
    add(counts, "requests");
    const verdict = await this.#reader.read(
      sent.order,
      (seen, at) => {
        if (seen.kind === "gone") {
          reason = failureOf(seen.error).reason;
          markRequestRefused(store, id, { httpStatus: seen.error.status ?? null, reason, at });
          return "refused";
        }
        if (seen.kind === "doubted") return "lost";
        const moves = loadOrderMoves(store, id);
        const compared = compareStatus(seen.status, sent, moves, this.#options.timezone);
        const mayArrive = !isQuiet && doubt.refusal === undefined;
        if (mayArrive && (compared !== "wanted" || hasOtherRequest(store, id))) return "lost";
        if (compared === "wanted") {
          markSent(store, id, { httpStatus: null, at });
          return "sent";
        }
        if (compared === "former" && doubt.refusal === undefined) {
          markPendingAgain(store, id, null);
          return "again";
        }
        if (doubt.refusal === undefined) reason = changedMeanwhile(sent, seen.status);
        markRequestRefused(store, id, { httpStatus: doubt.refusal?.httpStatus ?? null, reason, at });
        return "refused";
      },
      signal,
    );
    if (verdict === "lost") return { kind: "lost", untilMs, error: doubt.error };
    this.#lostAtMs.delete(id);
    if (verdict === "again") return { kind: "again" };
    return verdict === "sent" ? { kind: "settled", as: "sent" } : this.#refused(id, reason);
  }

  /** The request cannot have had an effect. Not aborted by the caller's signal: it may be the last thing to write. */
  async #putBack(id: bigint, failure: { httpStatus: number | null; reason: string }): Promise<void> {
    await commit(this.#context, AbortSignal.timeout(LAST_WRITE_MS), () =>
      markPendingAgain(this.#context.store, id, failure),
    );
  }

  #refused(id: bigint, reason: string): Step {
    this.#context.log.warn({ request: String(id) }, `Status request ${id} is refused: ${reason}.`);
    return { kind: "settled", as: "refused" };
  }
}

function failureOf(error: unknown): { httpStatus: number | null; reason: string } {
  if (!(error instanceof ServiceError))
    return { httpStatus: null, reason: error instanceof Error ? error.message : String(error) };
  if (error.status === undefined) return { httpStatus: null, reason: error.message };
  return { httpStatus: error.status, reason: `${error.status}: ${error.words ?? ""}`.replace(/: $/, "") };
}

function wrongPath({ message, area, target, method, path, status }: ServiceError, what: string): ServiceError {
  const details = { area, target, method, path, effect: "none" as const, ...(status === undefined ? {} : { status }) };
  return new ServiceError("request_refused", `${message}; ${what}`, details);
}

function changedMeanwhile({ statusSent, statusBefore }: Sent, now: string | null): string {
  const sent = named(statusSent);
  if (now === statusBefore) {
    return `changed meanwhile: the order is ${named(now)} again and was changed in between; whether ${sent} was there is not known`;
  }
  return `changed meanwhile: the order was ${named(statusBefore)} and is ${named(now)} now; whether ${sent} was there in between is not known`;
}

function named(status: string | null): string {
  return status === null ? "without a status" : JSON.stringify(status);
}

function add(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
