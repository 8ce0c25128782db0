/*
 * Sends the statuses that the ERP asked for, an order's one strictly after the other. Keeps the rule that a request
 * whose outcome is unknown is never repeated blindly. After a crash anywhere a request is `pending` and has not left,
 * or `sending` and its order is read first. Orders that cannot be settled are left to the next pass and never keep
 * others waiting.
 */
import { asError, BridgeError } from "../domain/errors.ts";
import { stopsPass } from "../domain/holds.ts";
import { isoTime } from "../domain/ports.ts";
import { ServiceError } from "../domain/service-error.ts";
import {
  forgetOldEchoes,
  hasStatusWork,
  loadNextRequests,
  loadOwedEchoes,
  loadRequestedOrder,
  markUnsettled,
  type StatusRequest,
} from "../store/status-requests.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import type { ReadableOrder } from "./read-order.ts";
import type { StatusSettler } from "./settle-status.ts";

const STEPS_PER_PASS = 200;
const ECHOES_PER_PASS = 100;
/** After so many failures in a row it is the service, not the orders. */
const FAILURES_IN_ROW_MAX = 3;
/** A request that failed so often says nothing about the service any more; it is tried on, and shown as waiting. */
const ATTEMPTS_OF_NOTE = 5;
/** How often a pass that waits looks whether the program is to end. */
const LOOK_MS = 250;

interface Pass {
  counts: Record<string, number>;
  signal: AbortSignal;
  /** Requests that this pass does not touch again. */
  leftAlone: Set<bigint>;
  /** Requests that may still take effect, and until when. */
  quietUntilMs: Map<bigint, number>;
  hasWaited: boolean;
  steps: number;
  settled: number;
  failuresInRow: number;
  failure: unknown;
}

export class SendStatuses implements Job {
  readonly name = "statuses";
  readonly areas = ["orders", "statuses"];
  readonly #context: JobContext;
  readonly #settler: StatusSettler;

  constructor(context: JobContext, settler: StatusSettler) {
    this.#context = context;
    this.#settler = settler;
  }

  async prepare(): Promise<{ counts: Record<string, number>; hasWork: boolean }> {
    return { counts: {}, hasWork: hasStatusWork(this.#context.store) };
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const pass: Pass = {
      counts: {},
      signal,
      leftAlone: new Set(),
      quietUntilMs: new Map(),
      hasWaited: false,
      steps: 0,
      settled: 0,
      failuresInRow: 0,
      failure: undefined,
    };
    await this.#settleAll(pass);
    await this.#waitUntilQuiet(pass);
    await this.#settleAll(pass);
    await this.#readBackOwed(pass);
    const { failure } = pass;
    if (failure !== undefined && (pass.settled === 0 || asError(failure).code === "internal")) throw failure;
    const isFull = pass.steps >= STEPS_PER_PASS && pass.settled > 0;
    const worked = Object.keys(pass.counts).length > 0;
    return { outcome: isFull ? "more" : worked ? "done" : "idle", counts: pass.counts };
  }

  /** Takes the next request of each order until every one is settled or left alone. */
  async #settleAll(pass: Pass): Promise<void> {
    for (;;) {
      const asideCount = pass.leftAlone.size + pass.quietUntilMs.size;
      const next = loadNextRequests(this.#context.store, STEPS_PER_PASS + asideCount).filter(
        ({ id }) => !pass.leftAlone.has(id) && !pass.quietUntilMs.has(id),
      );
      if (next.length === 0) return;
      for (const request of next) {
        if (pass.steps >= STEPS_PER_PASS || this.#context.isStopping()) return;
        pass.steps += 1;
        await this.#settleOne(request, pass);
      }
    }
  }

  async #settleOne(request: StatusRequest, pass: Pass): Promise<void> {
    let step: Awaited<ReturnType<StatusSettler["take"]>>;
    try {
      step = await this.#settler.take(request, pass.counts, pass.signal);
    } catch (error) {
      await this.#leaveAlone(request, error, pass);
      return;
    }
    if (step.kind === "stop") throw step.error;
    if (step.kind === "lost") {
      if (pass.hasWaited) await this.#leaveAlone(request, step.error, pass);
      else pass.quietUntilMs.set(request.id, step.untilMs);
      return;
    }
    pass.failuresInRow = 0;
    if (step.kind === "again") return;
    pass.settled += 1;
    pass.counts[step.as] = (pass.counts[step.as] ?? 0) + 1;
    const order = step.as === "sent" ? loadRequestedOrder(this.#context.store, request.orderId) : undefined;
    if (order?.echo === "owed") await this.#readBack(order, pass);
  }

  /** What is this order's own is noted with the request; what concerns all of them ends the pass. */
  async #leaveAlone(request: StatusRequest, error: unknown, pass: Pass): Promise<void> {
    if (error !== undefined && !isOfOneOrder(error)) throw error;
    const { store, client } = this.#context;
    pass.leftAlone.add(request.id);
    const reason = error === undefined ? "the outcome is not known yet" : client.hideSecrets(asError(error).message);
    await commit(this.#context, pass.signal, () => markUnsettled(store, request.id, reason));
    if (error === undefined) return;
    const isDefect = asError(error).code === "internal";
    if (request.attempts >= ATTEMPTS_OF_NOTE && !isDefect) return;
    pass.failure = error;
    pass.failuresInRow += 1;
    if (pass.failuresInRow >= FAILURES_IN_ROW_MAX) throw error;
  }

  /** Once a pass: everything else has been done by then, and what is still on its way gets the time to arrive. */
  async #waitUntilQuiet(pass: Pass): Promise<void> {
    const { clock, isStopping } = this.#context;
    pass.hasWaited = true;
    const untilMs = Math.max(...pass.quietUntilMs.values());
    for (
      let leftMs = untilMs - clock.monotonicMs();
      leftMs > 0 && !isStopping();
      leftMs = untilMs - clock.monotonicMs()
    ) {
      try {
        await clock.sleep(Math.min(leftMs, LOOK_MS), pass.signal);
      } catch (cause) {
        throw new BridgeError("stopped", "Stopped while waiting for a lost status to arrive.", { cause });
      }
    }
    pass.quietUntilMs.clear();
  }

  async #readBackOwed(pass: Pass): Promise<void> {
    const { store, clock, isStopping } = this.#context;
    const owed = loadOwedEchoes(store, ECHOES_PER_PASS);
    if (owed.length === 0) return;
    await commit(this.#context, pass.signal, () => forgetOldEchoes(store, isoTime(clock.nowMs())));
    for (const order of owed) {
      if (isStopping()) return;
      await this.#readBack(order, pass);
    }
  }

  /** The status has arrived; that the order cannot be read back now is no failure of the request. */
  async #readBack(order: ReadableOrder, pass: Pass): Promise<void> {
    try {
      await this.#settler.readBack(order, pass.counts, pass.signal);
    } catch (error) {
      if (!isOfOneOrder(error)) throw error;
      const { code, message } = asError(error);
      this.#context.log.debug(
        { orderId: order.orderId, errorCode: code },
        `The order could not be read back: ${message}`,
      );
    }
  }
}

/**
 * Whether a failure may be one order's own fault, so that the others are tried. Refused credentials, a service that
 * cannot be reached or asks for patience, a wrong configuration and the machine's own faults concern them all.
 */
function isOfOneOrder(error: unknown): boolean {
  if (!(error instanceof BridgeError)) return true;
  if (!(error instanceof ServiceError)) return error.code === "answer_unreadable" || error.code === "internal";
  // Some services break off or never answer where one order is too much for them.
  if (error.code === "unreachable" || error.code === "timed_out") return error.effect === "unknown";
  return !stopsPass(error);
}
