/*
 * Finds out by reads what became of a status whose request has left. What was read is stored in the transaction that settles the
 * request; after a crash it is found `sending`, and read anew. What was answered in a new form has come, and is sent again twice at most, unless another one is accepted after that.
 */

import { isSameName } from "../database/same-name.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { AnswerForms } from "../pass/answer-forms.ts";
import type { JobContext } from "../pass/job.ts";
import { leastAgoMs } from "../pass/machine-clock.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import type { ServiceError } from "../service/service-error.ts";
import type { OrderReader, SeenOrder } from "../updates/reads/read-order.ts";
import { compareShown, isMadeAfter, MOVED_AGAIN_MS, planUnseen, statusRetryMs } from "./judge-status.ts";
import type { RequestedOrder, StatusRules } from "./plan-status.ts";
import { loadOrderMoves } from "./requested-order-rows.ts";
import { changedMeanwhile, failureOf, noStatus, notSeen, refused } from "./status-failures.ts";
import {
  type AskedStatus,
  hasOtherRequest,
  isReplaced,
  loadLeftAt,
  loadLostMs,
  loadNewForm,
  loadUnshownSince,
  markPendingAgain,
  markRequestRefused,
  markSent,
  type NewFormAnswer,
  noteOtherAccepted,
  saveLostMs,
  saveNewForm,
  saveRequestError,
  saveUnshownSince,
} from "./status-rows.ts";

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
  /** It has not left: its order is to be read before. */
  | { kind: "waits" }
  /** It may still take effect (`mayArrive`), or was read from a copy that lags: to be looked at again then. */
  | { kind: "lost"; untilMs: number; error: unknown; mayArrive: boolean }
  /** It failed, without an effect or with one that a read must show; the attempt is counted. */
  | { kind: "failed"; error: unknown }
  /** The path was never right under this configuration: no other request can do better. */
  | { kind: "wrong path"; error: unknown };

/** A request that has left, with the order it is for. */
export interface Sent extends AskedStatus {
  statusSent: string | null;
  statusBefore: string | null;
  order: RequestedOrder;
}

/** What is known of a request before its order is read. */
interface KnownOfRequest {
  /** The service has answered, in a form that is not known. */
  isAnswered: boolean;
  /** When its answer was found missing (monotonic). */
  lostMs: number;
  /** The request can no longer take effect later. */
  isQuiet: boolean;
  /** When its order was first found changed by another client (monotonic). */
  movedAtMs: number;
  answered: NewFormAnswer | undefined;
  /** Another status than the one that was sent, which the answer shows that just came. */
  shownNow: string | undefined;
  /** A new form of answer that the order may prove or disprove. */
  unusual: AnswerForm | undefined;
}

/** A message: refused for this reason. `replaced`: another request has the id. */
type Verdict = "sent" | "again" | "replaced" | "lost" | "lagging" | "moved" | { waitMs: number } | Message;

export class StatusResolver {
  readonly #context: JobContext;
  readonly #options: SettleOptions;
  readonly #reader: OrderReader;
  readonly #forms: AnswerForms;
  /** Monotonic time at which the order of a request was first found changed by another client. */
  readonly #movedAtMs = new Map<bigint, number>();
  /** Requests that a new form was answered to without effect: each counts once, so that one order hides no proof of others. */
  readonly #disproved = new Set<bigint>();

  constructor(
    context: JobContext,
    options: SettleOptions,
    { reader, forms }: { reader: OrderReader; forms: AnswerForms },
  ) {
    this.#context = context;
    this.#options = options;
    this.#reader = reader;
    this.#forms = forms;
  }

  forget(id: bigint): void {
    this.#movedAtMs.delete(id);
    this.#disproved.delete(id);
  }

  /**
   * Reads the order to learn what became of a request. Before the quiet time is over only the wanted status counts, and
   * not even that where another request waits and no answer came: a status that another client set looks the same, and one that
   * arrives late would then take the place of the one asked for after it. That another client has changed the order is read twice,
   * with time between: one answer may come from a replica that lags.
   * @param shownNow another status than the one that was sent, which the answer shows that just came
   */
  async resolve(
    sent: Sent,
    { error, shownNow }: { error: unknown; shownNow?: string | undefined },
    signal: AbortSignal,
  ): Promise<Step> {
    const { store, clock } = this.#context;
    const { id } = sent;
    const nowMs = clock.monotonicMs();
    const lostMs = loadLostMs(store, id) ?? nowMs;
    const quietInMs = this.#options.quietMs - leastAgoMs(lostMs, nowMs);
    const answered = loadNewForm(store, id);
    const known: KnownOfRequest = {
      // What was answered travels no more.
      isAnswered: error instanceof BridgeError && error.code === "answer_unknown",
      lostMs,
      isQuiet: shownNow !== undefined || quietInMs <= 0,
      movedAtMs: this.#movedAtMs.get(id) ?? this.#loadMovedAtMs(id),
      answered,
      shownNow,
      unusual: answered?.shown === undefined ? answered?.form : undefined,
    };
    const verdict = await this.#reader.read(
      { ...sent.order, statusSent: sent.statusSent, leftAt: loadLeftAt(store, id) },
      (seen, at) => {
        if (isReplaced(store, sent)) return "replaced";
        if (seen.kind === "gone") return this.#settleGone(id, seen.error, at);
        return seen.kind === "doubted" ? seen.error : this.#settleRead(sent, { seen, at }, known);
      },
      signal,
    );
    if (verdict instanceof BridgeError) throw verdict;
    if (verdict === "replaced") {
      this.forget(id);
      // What may still arrive would take the place of what is asked for now.
      if (known.isQuiet || known.isAnswered) return { kind: "again" };
      return { kind: "lost", untilMs: nowMs + quietInMs, error, mayArrive: true };
    }
    if (known.unusual !== undefined && verdict === "again") this.#disproved.add(id);
    if (verdict === "lost") return { kind: "lost", untilMs: nowMs + quietInMs, error, mayArrive: true };
    const quiet = { kind: "lost", error: undefined, mayArrive: false } as const;
    if (verdict === "moved") return { ...quiet, untilMs: known.movedAtMs + MOVED_AGAIN_MS };
    const waits = verdict === "lagging" ? { waitMs: statusRetryMs(1) } : verdict;
    if (typeof waits === "object" && "waitMs" in waits)
      return { ...quiet, untilMs: clock.monotonicMs() + waits.waitMs };
    this.#movedAtMs.delete(id);
    if (waits === "again") return { kind: "again" };
    return waits === "sent" ? { kind: "settled", as: "sent" } : refused(this.#context, id, waits);
  }

  /** Inside a transaction. Returns the reason of a refusal. */
  #settleGone(id: bigint, error: ServiceError, at: string): "sent" | Message {
    const { store } = this.#context;
    if (loadOrderMoves(store, id, null).hasComeBack) {
      markSent(store, id, { httpStatus: null, at });
      return "sent";
    }
    return this.#refuse(id, { reason: failureOf(error).reason, httpStatus: error.status ?? null, at });
  }

  /**
   * Inside the transaction that has stored the order. Returns the reason of a refusal, or the error with which the pass
   * fails.
   */
  #settleRead(
    sent: Sent,
    { seen, at }: { seen: SeenOrder & { kind: "order" }; at: string },
    { isAnswered, lostMs, isQuiet, movedAtMs, answered, shownNow, unusual }: KnownOfRequest,
  ): Verdict | BridgeError {
    const { store, clock } = this.#context;
    const { timezone, rules } = this.#options;
    const { id } = sent;
    const isAgain = clock.monotonicMs() >= movedAtMs + MOVED_AGAIN_MS;
    const isMove = !isSameName(sent.statusSent, sent.statusBefore);
    const moves = loadOrderMoves(store, id, seen.status);
    const { compared: shows, named } = compareShown(
      seen,
      sent,
      {
        moves,
        shown: shownNow ?? answered?.shown,
        place: answered?.form.shown ?? undefined,
        isAgain,
        // One that is repeated leaves after a read of its order: what is newer than that read was made since.
        isReadBefore: answered !== undefined && answered.repeats > 0,
        cancelled: rules.cancelled,
      },
      timezone,
    );
    // A request for the status that the order already had is not settled by that status, unless the service has answered
    // it or the order was changed since.
    const isShown = isMove || isAnswered || answered !== undefined || shownNow !== undefined;
    const isProven = isShown || isMadeAfter(seen.timestamp, { ...moves, isReadBefore: false }, timezone);
    const compared = shows === "wanted" && !isProven ? "former" : shows;
    if (named !== undefined && answered !== undefined) saveNewForm(store, id, { ...answered, shown: named });
    if (compared === "nothing") return noStatus(sent.order.orderId, seen.status);
    if (!isQuiet && (compared !== "wanted" || (!isAnswered && hasOtherRequest(store, id)))) {
      saveLostMs(store, id, lostMs);
      return "lost";
    }
    if (compared === "lagging") {
      saveRequestError(store, id, m.statuses.beforeAccepted);
      this.#saveMovedAtMs(id, movedAtMs);
      return "lagging";
    }
    if (compared === "wanted") {
      if (unusual !== undefined && isMove) this.#forms.saveProof(unusual, true);
      markSent(store, id, { httpStatus: null, at });
      if (shownNow !== undefined) noteOtherAccepted(store, id);
      return "sent";
    }
    if (compared === "former" && answered?.refusedWith !== undefined) {
      const reason = this.#answeredStatus(answered.refusedWith, answered.shown ?? "");
      return this.#refuse(id, { reason, httpStatus: answered.refusedWith, at });
    }
    const unseen = compared === "former" && answered !== undefined ? this.#planUnseen(id, answered, shownNow) : "again";
    if (unseen !== "again") return unseen;
    if (unusual !== undefined && !this.#disproved.has(id)) this.#forms.saveProof(unusual, false);
    if (compared === "former") {
      markPendingAgain(store, id, null);
      return "again";
    }
    const reason = changedMeanwhile(sent, seen.status);
    if (isAgain) return this.#refuse(id, { reason, httpStatus: null, at });
    saveRequestError(store, id, m.statuses.readAgain({ reason }));
    this.#saveMovedAtMs(id, movedAtMs);
    return "moved";
  }

  #refuse(id: bigint, refusal: { reason: Message; httpStatus: number | null; at: string }): Message {
    markRequestRefused(this.#context.store, id, { ...refusal, mayArrive: true });
    return refusal.reason;
  }

  /** Now, where it was never found so; by the stored time where a process before this one has found it. */
  #loadMovedAtMs(id: bigint): number {
    const { store, clock } = this.#context;
    const sinceMs = clock.nowMs() - Date.parse(loadUnshownSince(store, id) ?? "");
    return clock.monotonicMs() - (sinceMs > 0 ? sinceMs : 0);
  }

  /** Inside a transaction. A time that the clock has not reached, because it was set back, begins anew. */
  #saveMovedAtMs(id: bigint, movedAtMs: number): void {
    const { store, clock } = this.#context;
    if (this.#movedAtMs.has(id)) return;
    this.#movedAtMs.set(id, movedAtMs);
    saveUnshownSince(store, id, isoTime(clock.nowMs() - (clock.monotonicMs() - movedAtMs)));
  }

  #answeredStatus(status: number, shown: string): Message {
    const { method, path } = this.#options.rules;
    return m.statuses.answeredStatus({ method, path, status, words: this.#context.client.hideSecrets(shown) });
  }

  /**
   * Inside the transaction that has stored its order, which has the former status: what becomes of a status that was answered in a new
   * form. An answer that makes an acceptance doubtful proves nothing, and the status goes again; not at once after one that shows its order.
   */
  #planUnseen(
    id: bigint,
    answered: NewFormAnswer,
    shownNow: string | undefined,
  ): { waitMs: number } | "sent" | "again" {
    const { store, clock } = this.#context;
    const { form, at, repeats, isRepeating = false, shown, isOtherAccepted = false } = answered;
    if (shown === undefined && !this.#forms.isNew(form)) {
      markSent(store, id, { httpStatus: null, at: isoTime(clock.nowMs()) });
      return "sent";
    }
    const plan = planUnseen({ sinceMs: Math.max(0, clock.nowMs() - Date.parse(at)), repeats, isOtherAccepted });
    const isDoubted = form.doubt !== null && form.doubt !== "code" && shown === undefined && shownNow === undefined;
    if (isDoubted || isRepeating || plan.kind === "repeat") {
      if (!isRepeating && plan.kind === "repeat")
        saveNewForm(store, id, { ...answered, repeats: repeats + 1, isRepeating: true });
      return "again";
    }
    saveRequestError(store, id, notSeen(answered, plan.repeatMs));
    return { waitMs: plan.ms };
  }
}
