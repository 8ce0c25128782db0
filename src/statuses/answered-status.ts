/*
 * Interprets the answer to a sent status: accepted, refused, or to be decided by reading the order
 * (`resolve-status.ts`). After a lost answer or a refusal the order is read, so that no refusal counts if the order has
 * the status. A refused request is sent again; the time of its last refusal is saved, because each pass may be a process
 * of its own. One whose answer shows another status is sent again at long intervals, which is saved too.
 */

import { isConfirmPending } from "../confirm/due-rows.ts";
import { isSameName } from "../database/same-name.ts";
import { m } from "../messages/messages.ts";
import { AnswerForms, unknownForm } from "../pass/answer-forms.ts";
import { commit, commitEnd } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import type { JobContext } from "../pass/job.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { ServiceAnswer, Turn } from "../service/client.ts";
import { sendStatus } from "../service/orders.ts";
import { type Acceptance, readAcceptance, UNREADABLE_WORDS } from "../service/outcome/acceptance.ts";
import { Answer } from "../service/outcome/answer.ts";
import { findShortCount, readCounts, unknownByCount } from "../service/outcome/answer-counts.ts";
import { ENDPOINT } from "../service/outcome/answer-form.ts";
import type { AnswerForm } from "../service/outcome/known-forms.ts";
import { readFailureCode } from "../service/outcome/unknown-outcome.ts";
import { learnCounts } from "../service/outcome/usual-counts.ts";
import { ServiceError } from "../service/service-error.ts";
import type { OrderReader } from "../updates/reads/read-order.ts";
import { classifyStatusFailure, compareStatus, isMadeAfter, isRefusalProven } from "./judge-status.ts";
import type { StatusPlan } from "./plan-status.ts";
import { isStatusOfOrders, loadOrderMoves } from "./requested-order-rows.ts";
import { type Sent, type SettleOptions, StatusResolver, type Step } from "./resolve-status.ts";
import { failureOf, refused, type StatusFailure, withWrongPath, wrongPath } from "./status-failures.ts";
import {
  hasStatusPathMatched,
  isAcceptedSinceRefusal,
  isReplaced,
  loadLeftAt,
  loadNewForm,
  markPendingAgain,
  markRequestRefused,
  markSent,
  noteOtherAccepted,
  saveNewForm,
  saveRequestError,
  saveStatusPathMatched,
} from "./status-rows.ts";

export class AnsweredStatus {
  readonly #context: JobContext;
  readonly #options: SettleOptions;
  readonly #reader: OrderReader;
  readonly #looked: Map<bigint, string | undefined>;
  readonly #forms: AnswerForms;
  readonly #resolver: StatusResolver;
  /** Refused requests that are sent again before the refusal counts. */
  readonly #refusals = new Map<bigint, { times: number; accepted: number; askedAt: number }>();
  #accepted = 0;

  /** @param looked requests whose order was read since they were refused */
  constructor(
    context: JobContext,
    options: SettleOptions,
    { reader, looked }: { reader: OrderReader; looked: Map<bigint, string | undefined> },
  ) {
    this.#context = context;
    this.#options = options;
    this.#reader = reader;
    this.#looked = looked;
    this.#forms = new AnswerForms(context, ENDPOINT.status(options.rules), "nothing");
    this.#resolver = new StatusResolver(context, options, { reader, forms: this.#forms });
  }

  /** Number of statuses that the service accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Whether a refused request is due immediately, because another one was accepted since. */
  isEvidenced(id: bigint): boolean {
    return this.#accepted > (this.#refusals.get(id)?.askedAt ?? Number.POSITIVE_INFINITY);
  }

  /** To be called for requests that are no longer open. */
  forget(id: bigint): void {
    this.#resolver.forget(id);
    this.#refusals.delete(id);
    this.#looked.delete(id);
  }

  /** A refused request is tried again now. */
  noteAsked(id: bigint): void {
    const refusals = this.#refusals.get(id);
    if (refusals !== undefined) refusals.askedAt = this.#accepted;
  }

  async send(
    sent: Sent,
    { plan, turn }: { plan: StatusPlan & { kind: "send" }; turn: Turn },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store, client, clock } = this.#context;
    const { method } = this.#options.rules;
    const about = { area: "orders", target: "order", method, path: plan.path } as const;
    addCount(counts, "requests");
    // The order matters:
    // 1. `sending` is committed (`StatusSettler`), so that the request is not repeated blindly after a crash.
    // 2. It is flushed to the database file, so that it survives a power cut.
    // 3. The request is sent.
    store.secure();
    let answer: ServiceAnswer;
    try {
      answer = await sendStatus(client, { method, path: plan.path, body: plan.body, signal, turn });
    } catch (error) {
      return await this.#afterFailure(sent, error, counts, signal);
    }
    const found = readAcceptance(answer);
    if (found.kind === "html" || found.kind === "cut") {
      const what = UNREADABLE_WORDS[found.kind];
      const error = new BridgeError("answer_unreadable", m.statuses.answeredWith({ method, path: plan.path, what }));
      return await this.resolve(sent, error, counts, signal);
    }
    const { body, root } = found.answer;
    const shown = root && this.#reader.statusIn(sent.order, { body, root });
    const another = isSameName(shown, plan.status) ? undefined : shown;
    if (another !== undefined && this.#isStatus(sent, another, found))
      return await this.#resolveShown(sent, { answer, acceptance: found, shown: another }, counts, signal);
    const isOwn =
      found.kind === "error" && shown !== undefined && another === undefined && this.#isOwnWord(sent, found.words);
    const acceptance = isOwn ? ({ kind: "accepted", answer: found.answer } satisfies Acceptance) : found;
    if (acceptance.kind === "error") {
      // The text may be the order's own status, such as "failed", in a repeated order: a read decides.
      const words = client.hideSecrets(acceptance.words);
      const error = new ServiceError(
        "request_refused",
        m.statuses.answered({ method, path: plan.path, status: answer.status, words }),
        { ...about, status: answer.status, effect: "none", words },
      );
      return await this.#askOrder(sent, { error, isNowhere: false }, counts, signal);
    }
    const numbers = readCounts(acceptance.answer);
    const short = findShortCount(this.#forms.counts, numbers, { size: 1, isPart: true, needs: "one size" });
    // Where the answer shows the order, a number may be its status.
    const code = shown === undefined ? readFailureCode(acceptance.answer) : undefined;
    const unknown = short === undefined ? (acceptance.unknown ?? code) : unknownByCount(short);
    const counted = unknown === undefined ? acceptance : { ...acceptance, unknown };
    // The status that was set, also as the service spells it.
    const own = [plan.status, ...(shown === undefined || another !== undefined ? [] : [shown])];
    // An answer that shows no status of the order reports what became of the request, in words that are learned.
    const record = JSON.stringify({ status: plan.status });
    const report = shown === undefined && { sent: [{ key: [sent.order.serviceId], record }], isBrief: true };
    const judged = this.#forms.judge(counted, new Set(own), { shown: another, ...report });
    if (judged.isUnusual && !(await commit(this.#context, signal, () => this.#saveUnusual(sent, judged.form)))) {
      const what = unknownForm(method, plan.path, judged);
      const error = new ServiceError("answer_unknown", what, { ...about, effect: "unknown" });
      return await this.resolve(sent, error, counts, signal, another);
    }
    const at = isoTime(clock.nowMs());
    const isOther = await commit(this.#context, signal, () => {
      if (!judged.isUnusual) this.#forms.saveUsual(judged.form, { endsDoubt: true });
      this.#forms.saveCounts((known) => learnCounts(known, numbers, 1));
      const isOther = isReplaced(store, sent);
      if (!isOther) markSent(store, sent.id, { httpStatus: answer.status, at });
      noteOtherAccepted(store, sent.id);
      if (!hasStatusPathMatched(store, this.#place)) saveStatusPathMatched(store, this.#place, at);
      return isOther;
    });
    this.forget(sent.id);
    this.#accepted += 1;
    if (isOther) {
      // What is stored is from before: the request that has the id now is decided by what the order is.
      addCount(counts, "requests");
      await this.#reader.read(sent.order, () => true, signal);
      return { kind: "again" };
    }
    return { kind: "settled", as: "sent" };
  }

  /** Whether a word of an answer is a status of the order, and not the answer's own word for an acceptance. */
  #isStatus({ statusBefore }: Sent, shown: string, acceptance: Acceptance): boolean {
    if (acceptance.kind === "error") return acceptance.words.endsWith(`: ${shown}`);
    return isSameName(shown, statusBefore) || isStatusOfOrders(this.#context.store, shown);
  }

  /** Whether an error in an answer that shows the order in the new status was in the order before, such as a declined payment. */
  #isOwnWord({ order, statusSent, statusBefore }: Sent, words: string): boolean {
    if (isSameName(statusSent, statusBefore)) return false;
    const body = this.#reader.payloadOf(order);
    const stored = body === undefined ? undefined : readAcceptance({ contentType: "application/json", body });
    return stored?.kind === "error" && stored.words === words;
  }

  /**
   * The answer shows the order in another status. It may be the former one, if the service applies statuses with a
   * delay, or a later one, if it moved the order on immediately. A read of the order decides. If the order is
   * unchanged, the request is sent again at long intervals, and is refused if it is answered so again after another
   * request was accepted.
   */
  async #resolveShown(
    sent: Sent,
    { answer, acceptance, shown }: { answer: ServiceAnswer; acceptance: Acceptance; shown: string },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store, clock } = this.#context;
    const { id } = sent;
    const plain =
      acceptance.kind === "accepted" ? acceptance : ({ kind: "accepted", answer: new Answer(answer.body) } as const);
    const form = { ...this.#forms.judge(plain, new Set([sent.statusSent ?? ""]), { shown }).form };
    await commit(this.#context, signal, () => {
      if (isReplaced(store, sent)) return;
      const { at = isoTime(clock.nowMs()), repeats = 0, isOtherAccepted } = loadNewForm(store, id) ?? {};
      // An answer from before the confirm of the order proves nothing about the time after it.
      const isRefusal = isOtherAccepted && !isConfirmPending(store, sent.order);
      saveNewForm(store, id, { form, at, repeats, shown, ...(isRefusal ? { refusedWith: answer.status } : {}) });
    });
    return await this.resolve(sent, undefined, counts, signal, shown);
  }

  /** Saves a new form of answer, inside a transaction. Returns whether the form counts as an acceptance. */
  #saveUnusual(sent: Sent, form: AnswerForm): boolean {
    const { store, clock } = this.#context;
    if (this.#forms.saveUnusual(form).isUsual) return true;
    if (isReplaced(store, sent)) return false;
    const { at = isoTime(clock.nowMs()), repeats = 0 } = loadNewForm(store, sent.id) ?? {};
    saveNewForm(store, sent.id, { form, at, repeats });
    return false;
  }

  /** The configured method and path. */
  get #place(): string {
    const { method, path } = this.#options.rules;
    return `${method} ${path}`;
  }

  async #afterFailure(sent: Sent, error: unknown, counts: Record<string, number>, signal: AbortSignal): Promise<Step> {
    switch (classifyStatusFailure(error)) {
      case "refused":
        return await this.#askOrder(sent, { error: error as ServiceError, isNowhere: false }, counts, signal);
      case "nowhere":
        return await this.#askOrder(sent, { error: error as ServiceError, isNowhere: true }, counts, signal);
      case "unknown":
        return await this.resolve(sent, error, counts, signal);
      case "untouched":
        await this.#putBack(sent, failureOf(error), signal);
        return { kind: "failed", error };
      case "later":
        return { kind: "failed", error };
    }
  }

  /**
   * The service refuses the status, or answers that there is nothing at the path. A read shows whether the order exists
   * and has the status; the request waits unless that settles it.
   */
  async #askOrder(
    sent: Sent,
    { error, isNowhere }: { error: ServiceError; isNowhere: boolean },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store } = this.#context;
    const failure = failureOf(error);
    const now = { times: 0, accepted: this.#accepted, askedAt: this.#accepted };
    const refusals = this.#refusals.get(sent.id) ?? now;
    const times = refusals.times + 1;
    const isUnconfirmed = isConfirmPending(store, sent.order);
    const isFinal =
      !isNowhere &&
      !isUnconfirmed &&
      (isRefusalProven({ times, acceptedSince: this.#accepted - refusals.accepted }) ||
        isAcceptedSinceRefusal(store, sent.id));
    const isWrongPath = isNowhere && !hasStatusPathMatched(store, this.#place);
    const reason = isWrongPath ? withWrongPath(failure.reason) : failure.reason;

    addCount(counts, "requests");
    let found: "sent" | "refused" | "waits" | "unknown" | "moved" | "replaced";
    try {
      found = await this.#reader.read(
        { ...sent.order, statusSent: sent.statusSent, leftAt: loadLeftAt(store, sent.id) },
        (seen, at) => {
          if (isReplaced(store, sent)) return "replaced";
          if (seen.kind === "order") {
            const moves = loadOrderMoves(store, sent.id, seen.status);
            const { timezone } = this.#options;
            const shows = compareStatus(seen, sent, moves, timezone);
            // A request for the status that the order already had is not settled by that status.
            if (shows === "wanted" && !isSameName(sent.statusSent, sent.statusBefore)) {
              markSent(store, sent.id, { httpStatus: null, at });
              return "sent";
            }
            // The order changed since the request was sent, or may have: the status may have been applied and replaced,
            // whatever the answer was.
            const isMoved = shows === "another" || (shows === "moved" && moves.isSameContent);
            // With a wrong path nothing is applied: only an order that surely changed since counts.
            if (isMoved && (!isWrongPath || isMadeAfter(seen.timestamp, { ...moves, isReadBefore: false }, timezone))) {
              saveRequestError(store, sent.id, reason);
              return "moved";
            }
          }
          if (seen.kind === "gone") {
            if (!isSameName(sent.statusSent, sent.statusBefore) && loadOrderMoves(store, sent.id, null).hasComeBack) {
              markSent(store, sent.id, { httpStatus: null, at });
              return "sent";
            }
            // `mayArrive`, so that the request is found if the order comes back.
            markRequestRefused(store, sent.id, { ...failureOf(seen.error), at, mayArrive: true });
            return "refused";
          }
          if (seen.kind === "order" && isFinal) {
            markRequestRefused(store, sent.id, { ...failure, at });
            return "refused";
          }
          const refusedAt = isNowhere || isUnconfirmed ? undefined : at;
          markPendingAgain(store, sent.id, { ...failure, ...(seen.kind === "order" ? { reason } : {}), refusedAt });
          if (seen.kind === "order") this.#looked.set(sent.id, undefined);
          return seen.kind === "order" ? "waits" : "unknown";
        },
        signal,
      );
    } catch (readError) {
      await this.#putBack(sent, failure, signal);
      throw readError;
    }
    if (found === "replaced") {
      this.forget(sent.id);
      return { kind: "again" };
    }
    if (found === "sent" || found === "refused") {
      this.forget(sent.id);
      return found === "sent" ? { kind: "settled", as: "sent" } : refused(this.#context, sent.id, failure.reason);
    }
    // No refusal is counted where the outcome is still unknown, nor before the confirm of the order.
    if (isUnconfirmed) this.#refusals.delete(sent.id);
    else if (!isNowhere && found !== "moved") this.#refusals.set(sent.id, { ...refusals, times });
    if (isWrongPath && found !== "unknown") return { kind: "wrong path", error: wrongPath(error) };
    return { kind: "failed", error };
  }

  async resolve(
    sent: Sent,
    error: unknown,
    counts: Record<string, number>,
    signal: AbortSignal,
    shown?: string,
  ): Promise<Step> {
    addCount(counts, "requests");
    const step = await this.#resolver.resolve(sent, { error, shownNow: shown }, signal);
    if (step.kind !== "settled") return step;
    this.forget(sent.id);
    // Counted only if it was accepted now: a lost answer may be from before the service's trouble began.
    if (step.as === "sent" && shown !== undefined) this.#accepted += 1;
    return step;
  }

  /** The request had no effect, so it becomes pending again. */
  async #putBack(sent: Sent, failure: StatusFailure, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    await commitEnd(this.#context, signal, () => {
      if (!isReplaced(store, sent)) markPendingAgain(store, sent.id, failure);
    });
  }
}
