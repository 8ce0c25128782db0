/*
 * What the answer to a status shows: whether it was taken, is refused, or is to be looked up in the order (`resolve-status.ts`). After a lost
 * answer or a refusal the order is read, so that no refusal counts of a status that the order has. What was refused in words how often is kept
 * in memory alone: such a request is sent again, and after a restart it is found out anew. What shows another status is sent again seldom, and is stored.
 */

import { isConfirmPending } from "../confirm/confirm-rows.ts";
import { m } from "../messages/messages.ts";
import { AnswerForms, unknownForm } from "../pass/answer-forms.ts";
import { commit, commitEnd } from "../pass/commit.ts";
import { addCount } from "../pass/counts.ts";
import type { JobContext } from "../pass/job.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Acceptance, readAcceptance, UNREADABLE_WORDS } from "../service/acceptance.ts";
import { doubtOf, readCounts } from "../service/answer-counts.ts";
import { ENDPOINT } from "../service/answer-form.ts";
import type { ServiceAnswer, Turn } from "../service/client.ts";
import type { AnswerForm } from "../service/known-forms.ts";
import { sendStatus } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import type { OrderReader } from "../updates/read-order.ts";
import { classifyStatusFailure, compareStatus, isMadeAfter, isRefusalBelieved } from "./judge-status.ts";
import type { StatusPlan } from "./plan-status.ts";
import { isStatusOfOrders, loadOrderMoves } from "./requested-order-rows.ts";
import { type Sent, type SettleOptions, StatusResolver, type Step } from "./resolve-status.ts";
import { failureOf, refused, type StatusFailure, withWrongPath, wrongPath } from "./status-failures.ts";
import {
  hasStatusPathMatched,
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
  readonly #looked: Set<bigint>;
  readonly #forms: AnswerForms;
  readonly #resolver: StatusResolver;
  /** Requests that the service has refused and that are sent again before the refusal counts. */
  readonly #refusals = new Map<bigint, { times: number; accepted: number; askedAt: number }>();
  #accepted = 0;

  /** @param looked requests whose order was read since they were refused */
  constructor(
    context: JobContext,
    options: SettleOptions,
    { reader, looked }: { reader: OrderReader; looked: Set<bigint> },
  ) {
    this.#context = context;
    this.#options = options;
    this.#reader = reader;
    this.#looked = looked;
    this.#forms = new AnswerForms(context, ENDPOINT.status(options.rules), "nothing");
    this.#resolver = new StatusResolver(context, options, { reader, forms: this.#forms });
  }

  /** How many statuses the service has accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Whether a request that was refused is worth asking again at once: another one has been accepted since. */
  isEvidenced(id: bigint): boolean {
    return this.#accepted > (this.#refusals.get(id)?.askedAt ?? Number.POSITIVE_INFINITY);
  }

  /** Nothing is remembered of requests that are not open any more. */
  forget(id: bigint): void {
    this.#resolver.forget(id);
    this.#refusals.delete(id);
    this.#looked.delete(id);
  }

  /** A request that was refused is looked at once more. */
  noteAsked(id: bigint): void {
    const refusals = this.#refusals.get(id);
    if (refusals !== undefined) refusals.askedAt = this.#accepted;
  }

  noteLost(id: bigint): void {
    this.#resolver.noteLost(id);
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
    store.secure();
    let answer: ServiceAnswer;
    try {
      answer = await sendStatus(client, { method, path: plan.path, body: plan.body, signal, turn });
    } catch (error) {
      return await this.#afterFailure(sent, error, counts, signal);
    }
    const acceptance = readAcceptance(answer);
    if (acceptance.kind === "html" || acceptance.kind === "cut") {
      const what = UNREADABLE_WORDS[acceptance.kind];
      const error = new BridgeError("answer_unreadable", m.statuses.answeredWith({ method, path: plan.path, what }));
      return await this.resolve(sent, error, counts, signal);
    }
    const shown = acceptance.root && this.#reader.statusIn(sent.order, { body: answer.body, root: acceptance.root });
    const another = shown === plan.status ? undefined : shown;
    if (another !== undefined && this.#isStatus(sent, another, acceptance))
      return await this.#resolveShown(sent, { answer, acceptance, shown: another }, counts, signal);
    if (acceptance.kind === "error") {
      // An answer may repeat the order, whose own status may be called "failed": the order shows which it was.
      const words = client.hideSecrets(acceptance.words);
      const error = new ServiceError(
        "request_refused",
        m.statuses.answered({ method, path: plan.path, status: answer.status, words }),
        { ...about, status: answer.status, effect: "none", words },
      );
      return await this.#askOrder(sent, { error, isNowhere: false }, counts, signal);
    }
    const numbers = readCounts(answer.body, acceptance.root);
    const short = this.#forms.findShort(numbers, { size: 1, isPart: true, needs: "one size" });
    const counted = short === undefined ? acceptance : { ...acceptance, doubt: doubtOf(short) };
    const judged = this.#forms.judge(answer.body, counted, new Set([plan.status]), { shown: another });
    if (judged.isUnusual && !(await commit(this.#context, signal, () => this.#saveUnusual(sent.id, judged.form)))) {
      const what = unknownForm(method, plan.path, judged);
      const error = new ServiceError("answer_unknown", what, { ...about, effect: "unknown" });
      return await this.resolve(sent, error, counts, signal, another);
    }
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      if (!judged.isUnusual) this.#forms.saveUsual(judged.form, { endsDoubt: true });
      this.#forms.saveCounts(numbers, 1);
      markSent(store, sent.id, { httpStatus: answer.status, at });
      noteOtherAccepted(store, sent.id);
      if (!hasStatusPathMatched(store, this.#place)) saveStatusPathMatched(store, this.#place, at);
    });
    this.forget(sent.id);
    this.#accepted += 1;
    return { kind: "settled", as: "sent" };
  }

  /** Whether a word in an answer is the status of the order, rather than one of the answer's own for an acceptance. */
  #isStatus({ statusBefore }: Sent, shown: string, acceptance: Acceptance): boolean {
    if (acceptance.kind === "error") return acceptance.words.endsWith(`: ${shown}`);
    return shown === statusBefore || isStatusOfOrders(this.#context.store, shown);
  }

  /**
   * The answer shows the order in another status: it may be of before, of a service that carries the request out later, or of after, of one that
   * has moved the order on at once. The order shows which; one that is as before goes again at the pace of a queue, and is refused where it
   * is so answered again, after another one was accepted.
   */
  async #resolveShown(
    sent: Sent,
    { answer, acceptance, shown }: { answer: ServiceAnswer; acceptance: Acceptance; shown: string },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Step> {
    const { store, clock } = this.#context;
    const { id } = sent;
    const plain = acceptance.kind === "accepted" ? acceptance : ({ kind: "accepted" } as const);
    const form = { ...this.#forms.judge(answer.body, plain, new Set([sent.statusSent ?? ""]), { shown }).form };
    await commit(this.#context, signal, () => {
      const { at = isoTime(clock.nowMs()), repeats = 0, isOtherAccepted } = loadNewForm(store, id) ?? {};
      // What is said of an order that was not confirmed says nothing of it afterwards.
      const isBelieved = isOtherAccepted && !isConfirmPending(store, sent.order);
      saveNewForm(store, id, { form, at, repeats, shown, ...(isBelieved ? { refusedWith: answer.status } : {}) });
    });
    return await this.resolve(sent, undefined, counts, signal, shown);
  }

  /** Inside a transaction. Returns whether the form counts as an acceptance all the same. */
  #saveUnusual(id: bigint, form: AnswerForm): boolean {
    const { store, clock } = this.#context;
    if (this.#forms.saveUnusual(form).isUsual) return true;
    const { at = isoTime(clock.nowMs()), repeats = 0 } = loadNewForm(store, id) ?? {};
    saveNewForm(store, id, { form, at, repeats });
    return false;
  }

  /** The method and the path as they are configured. */
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
        await this.#putBack(sent.id, failureOf(error), signal);
        return { kind: "failed", error };
      case "later":
        return { kind: "failed", error };
    }
  }

  /**
   * The service refuses the status, or says that there is nothing under the path. The order shows whether it has the
   * status all the same, and whether there is one; the request waits unless that settles it.
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
    const isOwed = isConfirmPending(store, sent.order);
    const isBelieved =
      !isNowhere && !isOwed && isRefusalBelieved({ times, acceptedSince: this.#accepted - refusals.accepted });
    const isWrongPath = isNowhere && !hasStatusPathMatched(store, this.#place);
    const reason = isWrongPath ? withWrongPath(failure.reason) : failure.reason;

    addCount(counts, "requests");
    let found: "sent" | "refused" | "waits" | "unknown" | "moved";
    try {
      found = await this.#reader.read(
        { ...sent.order, statusSent: sent.statusSent },
        (seen, at) => {
          if (seen.kind === "order") {
            const moves = loadOrderMoves(store, sent.id, seen.status);
            const { timezone } = this.#options;
            const shows = compareStatus(seen, sent, moves, timezone);
            // A request that says more about a status which the order had before is not answered by that status.
            if (shows === "wanted" && sent.statusSent !== sent.statusBefore) {
              markSent(store, sent.id, { httpStatus: null, at });
              return "sent";
            }
            // Changed since the request left, or nothing shows that it was before: it may have been taken and moved on at once, whatever the answer says.
            const isMoved = shows === "another" || (shows === "moved" && moves.isSameContent);
            // Under a wrong path nothing is taken: only what was certainly changed since counts.
            if (isMoved && (!isWrongPath || isMadeAfter(seen.timestamp, { ...moves, isReadBefore: false }, timezone))) {
              saveRequestError(store, sent.id, reason);
              return "moved";
            }
          }
          if (seen.kind === "gone") {
            if (sent.statusSent !== sent.statusBefore && loadOrderMoves(store, sent.id, null).hasComeBack) {
              markSent(store, sent.id, { httpStatus: null, at });
              return "sent";
            }
            // With the status by which the request is found where the order comes back.
            markRequestRefused(store, sent.id, { ...failureOf(seen.error), at, mayArrive: true });
            return "refused";
          }
          if (seen.kind === "order" && isBelieved) {
            markRequestRefused(store, sent.id, { ...failure, at });
            return "refused";
          }
          markPendingAgain(store, sent.id, seen.kind === "order" ? { ...failure, reason } : failure);
          if (seen.kind === "order") this.#looked.add(sent.id);
          return seen.kind === "order" ? "waits" : "unknown";
        },
        signal,
      );
    } catch (readError) {
      await this.#putBack(sent.id, failure, signal);
      throw readError;
    }
    if (found === "sent" || found === "refused") {
      this.forget(sent.id);
      return found === "sent" ? { kind: "settled", as: "sent" } : refused(this.#context, sent.id, failure.reason);
    }
    // One that is left as of unknown outcome counts no refusal, and what is said of an order that was not confirmed says nothing of it afterwards.
    if (isOwed) this.#refusals.delete(sent.id);
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
    // Just now: one whose answer was lost may have been accepted before the service's trouble began.
    if (step.as === "sent" && shown !== undefined) this.#accepted += 1;
    return step;
  }

  /** The request cannot have had an effect. */
  async #putBack(id: bigint, failure: StatusFailure, signal: AbortSignal): Promise<void> {
    await commitEnd(this.#context, signal, () => markPendingAgain(this.#context.store, id, failure));
  }
}
