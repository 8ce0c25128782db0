/*
 * Confirms to the service which batches are safe. Only batches that are durable get here; after a crash their rows in
 * `batches` say which confirms are still owed, so a confirm is repeated and never forgotten.
 */

import { elementsInSlices, type Span } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { atOnce } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { AnswerForms, unknownForm } from "../pass/answer-forms.ts";
import { commit } from "../pass/commit.ts";
import { asksAllToWait, planHold, stopsPass } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { type Acceptance, readAcceptance, UNREADABLE_WORDS } from "../service/acceptance.ts";
import { type AnswerCounts, readCounts } from "../service/answer-counts.ts";
import { type AnswerForm, ENDPOINT } from "../service/answer-form.ts";
import { confirmBatch } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import {
  type BatchRow,
  type ConfirmTimes,
  countUnread,
  loadBatchOf,
  loadConfirmTimes,
  loadDelivery,
  loadJournalOwed,
  loadRefusedConfirms,
  loadServedUnnamed,
  loadUnconfirmed,
  markAllConfirmed,
  markConfirmBegun,
  markConfirmed,
  markConfirmFailed,
  markConfirmRefused,
  markCoveredConfirmed,
  saveConfirmTimes,
  saveServedUnnamed,
  saveUnconfirmedIds,
} from "./batch-rows.ts";
import {
  type ConfirmForm,
  classifyConfirmFailure,
  confirmNames,
  confirmNamesOrders,
  renderConfirm,
} from "./confirm.ts";
import { count, type PullPass, type StoredBatch } from "./pull-pass.ts";

const CONFIRMS_PER_PASS = 200;
/** After so many failures in a row it is the service, not the batches; pulling goes on, confirms wait for the next pass. */
const FAILURES_IN_ROW_MAX = 3;
/**
 * What was refused may have been refused by a service that was out of order: it is tried again, so seldom, so many at a
 * time and so often. Later a person decides.
 */
const REFUSED_AGAIN_MS = 3_600_000;
const REFUSED_PER_PASS = 20;
const REFUSED_TRIES_MAX = 48;
/** A service that keeps serving what it accepted the confirm of has a confirm that does nothing: worth a line. */
const SERVED_AGAIN_MAX = 5;
/** After so long the orders behind it are missed: the pass fails. */
const SERVED_AGAIN_MS = 15 * 60_000;

/** How often a batch that no confirm can name is served before that is noted; then each time it has doubled. */
const UNNAMED_NOTED = 16;

/** A batch whose confirm is refused while all else is answered waits by itself, and is told as refused after so many tries. */
const WAIT_FIRST_MS = 60_000;
const WAIT_MAX_MS = 3_600_000;
const FORBIDDEN_TRIES_MAX = 4;
const WAITS_MAX = 500;
/** A batch whose confirm has failed so often while orders were answered waits by itself: it is not the service. */
const FAILURES_OF_ONE_MAX = 3;
/**
 * What is refused after an attempt of unknown outcome was confirmed by that attempt, once the service was asked well so often
 * and for so long without serving any of it again.
 */
const UNSERVED_POLLS = 10;
const UNSERVED_MS = 3_600_000;
const DOUBTS_MAX = 200;
/** Parts of confirms that are sent in one pass; the rest of a batch waits for the next one. */
const PARTS_PER_PASS = 500;
/** For so long no confirm names more ids than were accepted at last: the limit of a gateway passes seldom, its failure soon. */
const IDS_MAX_FOR_MS = 24 * 3_600_000;

const TOO_LARGE = 413;

/** `isSaid`: the service itself has refused this confirm, and has not acted on it. */
type Outcome =
  | { verdict: "confirmed"; usual?: AnswerForm; counts?: AnswerCounts }
  | { verdict: "refused" | "retry"; failure: BridgeError; isSaid: boolean; because?: DoubtedFor };

/** What of an answer speaks against its acceptance: a new form, or the name of a count that was smaller than the batch. */
interface DoubtedFor {
  form?: AnswerForm | undefined;
  count?: string | undefined;
}

/** A batch that was refused after an attempt of unknown outcome, answered in a new form, or counted in part. */
interface Doubt extends DoubtedFor {
  row: BatchRow;
  orderIds: ReadonlySet<string>;
  sinceMs: number;
  polls: number;
}

interface Wait {
  tries: number;
  untilMs: number;
  /** What the service has refused is not asked again before, whatever else happens. */
  refusedUntilMs: number;
}

export class ConfirmBatches {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  readonly #forms: AnswerForms;
  /** The confirmed batch that is served again and again. */
  #again = { fingerprint: "", times: 0, sinceMs: 0 };
  /** By batch; monotonic. */
  readonly #waits = new Map<number, Wait>();
  /** Batches whose confirm was refused, without one accepted since, and when one may be tried again. */
  #forbidden = { batches: new Set<number>(), untilMs: 0 };
  readonly #doubts = new Map<number, Doubt>();
  /** The new form in which the confirm of a batch was answered last. */
  readonly #unusual = new Map<number, AnswerForm>();
  /** Batches of which the service has counted a part. */
  readonly #short = new Set<number>();
  /** Batches that this process has seen refused without any doubt. */
  readonly #refused = new Set<number>();
  /** How often the connection broke off in the confirm of a batch, or was never made, while orders were answered. */
  readonly #unreached = new Map<number, number>();
  /** The batch that came last and that no confirm can name. */
  #unnamed: { batch: number; times: number } | undefined;
  /** Monotonic time from which refused confirms are tried again. */
  #refusedAgainMs: number;
  /** A confirm that names more ids is too large for the service; until when that counts, monotonic. */
  #idsMax: { size: number; untilMs: number } | undefined;

  constructor(context: JobContext, form: ConfirmForm) {
    this.#context = context;
    this.#form = form;
    this.#forms = new AnswerForms(context, ENDPOINT.confirm, confirmNames(form) ? "nothing" : "enough");
    this.#refusedAgainMs = context.clock.monotonicMs() + REFUSED_AGAIN_MS;
    this.#recall();
  }

  /** A restart tries nothing sooner than before, and forgets no wait. No clock makes one longer than it can be. */
  #recall(): void {
    const { store, clock } = this.#context;
    const times = loadConfirmTimes(store);
    if (times === undefined) return;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const untilMs = (at: string, maxMs: number) => monotonicMs + clamped(Date.parse(at) - nowMs, maxMs);
    this.#refusedAgainMs = untilMs(times.refusedAgainAt, REFUSED_AGAIN_MS);
    for (const { id, tries, dueAt, refusedUntil } of times.waits) {
      const refusedUntilMs = refusedUntil === undefined ? 0 : untilMs(refusedUntil, WAIT_MAX_MS);
      this.#waits.set(id, { tries, untilMs: untilMs(dueAt, WAIT_MAX_MS), refusedUntilMs });
    }
    for (const id of times.refused) this.#refused.add(id);
    if (times.idsMax !== undefined)
      this.#idsMax = { size: times.idsMax.size, untilMs: untilMs(times.idsMax.until, IDS_MAX_FOR_MS) };
    for (const { id, since, polls, form, count } of times.doubts) {
      const row = loadBatchOf(store, id);
      if (row?.state !== "stored") continue;
      const sinceMs = monotonicMs - clamped(nowMs - Date.parse(since), UNSERVED_MS);
      this.#doubts.set(id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls, form, count });
      if (count !== undefined) this.#short.add(id);
    }
  }

  /** Inside a transaction. */
  #saveTimes(): void {
    const { store, clock } = this.#context;
    const beginMs = clock.nowMs() - clock.monotonicMs();
    const at = (ms: number) => isoTime(Math.round(beginMs + ms));
    const times: ConfirmTimes = {
      waits: [...this.#waits].map(([id, { tries, untilMs, refusedUntilMs }]) => ({
        id,
        tries,
        dueAt: at(untilMs),
        ...(refusedUntilMs > 0 ? { refusedUntil: at(refusedUntilMs) } : {}),
      })),
      doubts: [...this.#doubts].map(([id, { sinceMs, polls, form, count }]) => ({
        id,
        since: at(sinceMs),
        polls,
        form,
        count,
      })),
      refused: [...this.#refused],
      ...(this.#idsMax === undefined ? {} : { idsMax: { size: this.#idsMax.size, until: at(this.#idsMax.untilMs) } }),
      refusedAgainAt: at(this.#refusedAgainMs),
    };
    saveConfirmTimes(store, times);
  }

  /** Where several batches in a row were refused it is the service: none is tried until a probe is due, and then one. */
  beginPass(pass: PullPass): void {
    const { batches, untilMs } = this.#forbidden;
    if (batches.size < FAILURES_IN_ROW_MAX) return;
    pass.confirmsFailed = FAILURES_IN_ROW_MAX - Number(this.#context.clock.monotonicMs() >= untilMs);
  }

  /** Whether a batch that is stored now is confirmed at once; its first attempt is counted in the storing transaction. */
  followsAtOnce(pass: PullPass): boolean {
    return confirmNames(this.#form) && pass.confirmsFailed < FAILURES_IN_ROW_MAX;
  }

  /** The service has just failed at something else: one failed confirm is then enough. */
  expectTrouble(pass: PullPass): void {
    pass.confirmsFailed = Math.max(pass.confirmsFailed, FAILURES_IN_ROW_MAX - 1);
  }

  /** Confirms that are owed from earlier passes or an earlier life of the program. True where more are left. */
  async confirmOwed(pass: PullPass): Promise<boolean> {
    // One confirm that names nothing covers them all.
    const limit = confirmNames(this.#form) ? CONFIRMS_PER_PASS : 1;
    const owed = loadUnconfirmed(this.#context.store, limit + (confirmNames(this.#form) ? this.#waits.size : 0))
      .filter((row) => !this.#isWaiting(row))
      .slice(0, limit);
    for (const row of owed) {
      // The confirm of another batch may have covered it.
      if (loadBatchOf(this.#context.store, row.id)?.state === "stored")
        await this.confirm({ row, seenBefore: true }, pass);
    }
    await this.#retryRefused(pass);
    return owed.length === CONFIRMS_PER_PASS && pass.confirmsFailed < FAILURES_IN_ROW_MAX;
  }

  /** The service has answered what it hands out, and all of it is stored. What it does not serve again it has let go. */
  async noteAnswered(pass: PullPass): Promise<void> {
    const { store, clock, log } = this.#context;
    for (const [id, doubt] of this.#doubts) {
      doubt.polls += 1;
      if (doubt.polls < UNSERVED_POLLS || clock.monotonicMs() - doubt.sinceMs < UNSERVED_MS) continue;
      const at = isoTime(clock.nowMs());
      const isNews = await commit(this.#context, pass.signal, () => {
        if (doubt.form !== undefined) this.#forms.saveProof(doubt.form, true);
        if (doubt.count !== undefined) this.#forms.saveCountOfChanges(doubt.count);
        this.#forget(id);
        this.#saveTimes();
        return markConfirmed(store, doubt.row, at);
      });
      count(pass, "confirmed", Number(isNews));
      log.info({ batch: doubt.row.batchId }, m.orders.countsAsConfirmed);
    }
  }

  async #retryRefused(pass: PullPass): Promise<void> {
    const { store, clock } = this.#context;
    if (clock.monotonicMs() < this.#refusedAgainMs || pass.confirmsFailed > 0) return;
    this.#refusedAgainMs = clock.monotonicMs() + REFUSED_AGAIN_MS;
    const limit = confirmNames(this.#form) ? REFUSED_PER_PASS : 1;
    await commit(this.#context, pass.signal, () => this.#saveTimes());
    for (const row of loadRefusedConfirms(store, { triesMax: REFUSED_TRIES_MAX, limit }))
      await this.confirm({ row, seenBefore: true }, pass);
  }

  /**
   * Confirms a stored batch to the service. Ends as `confirmed` or `refused`, or is noted in the pass to be tried
   * again. The attempt is committed before the request leaves, because "not found" means "confirmed earlier" only
   * for a batch that was tried.
   * @throws where the whole service is out: credentials, rate limit, no way to it.
   */
  async confirm({ row, seenBefore, isServed = false }: StoredBatch, pass: PullPass): Promise<void> {
    const { store } = this.#context;
    if (isServed) this.#noteServed(row);
    if (pass.confirmsFailed >= FAILURES_IN_ROW_MAX || pass.attempted.has(row.id) || row.journalOwed) return;
    if (this.#isWaiting(row, row.state === "refused" && !isServed)) return;
    if (!confirmNames(this.#form) && !this.#isAllStored()) return;
    pass.attempted.add(row.id);
    const isCounted = !seenBefore && confirmNames(this.#form);
    // Of a refused one that is served again every attempt would be a write.
    if (row.state === "stored" ? !isCounted : row.state === "refused" && !isServed)
      await commit(this.#context, pass.signal, () => markConfirmBegun(store, row.id));
    // The service forgets what it hears of: from here on the orders are in the database file, whatever becomes of its log.
    store.secure();
    const wasTried = row.state === "confirmed" || (row.state === "stored" && row.confirmAttempts > (isCounted ? 1 : 0));
    const sent = await this.#sendParts({ row, wasTried }, pass);
    if (sent === undefined) return;
    const { outcome, ...part } = sent;
    await this.#note({ row, isDoubtful: part.wasTried && row.state === "stored" }, outcome, pass);
  }

  /**
   * Sends the confirm of a batch, in parts where it names more orders than the service takes at once. A part that was accepted is
   * committed before the next one leaves: what `order_ids` still holds is to be confirmed. Gives the outcome of the last part that was
   * sent; undefined where parts are left for the next pass.
   */
  async #sendParts(
    { row, wasTried }: { row: BatchRow; wasTried: boolean },
    pass: PullPass,
  ): Promise<{ outcome: Outcome; wasTried: boolean } | undefined> {
    let [left, isRepeat, isWhole] = [row, wasTried, true];
    while (pass.parts < PARTS_PER_PASS) {
      const part = this.#partOf(left);
      const outcome = await this.#send(part.row, isRepeat, pass.signal);
      const size = idsServed(part.row);
      const large = tooLargeOf(outcome);
      if (large !== undefined) {
        if (size === 1) this.#idsMax = undefined;
        else if (this.#isDivisible(row)) {
          this.#setIdsMax(Math.ceil(size / 2));
          continue;
        }
        return { outcome: { verdict: "retry", failure: large, isSaid: true }, wasTried: isRepeat };
      }
      isWhole &&= part.rest === undefined;
      if (part.rest === undefined || outcome.verdict !== "confirmed") {
        if (isWhole || outcome.verdict !== "confirmed") return { outcome, wasTried: isRepeat };
        const { counts: _ofPart, ...confirmed } = outcome;
        return { outcome: confirmed, wasTried: isRepeat };
      }
      pass.confirmsFailed = 0;
      pass.parts += 1;
      const isLater = pass.parts >= PARTS_PER_PASS || this.#context.isStopping();
      await this.#savePart(left, { rest: part.rest, begun: !isLater }, pass.signal);
      if (isLater) break;
      left = { ...left, orderIds: part.rest };
      isRepeat = row.state === "confirmed";
    }
    return undefined;
  }

  async #savePart(row: BatchRow, part: { rest: string; begun: boolean }, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    await commit(this.#context, signal, () => {
      if (row.state !== "confirmed") saveUnconfirmedIds(store, row.id, part);
      this.#saveTimes();
    });
  }

  /** Whether the confirm names its orders alone: each part of it then covers what it names. */
  #isDivisible({ batchId }: BatchRow): boolean {
    return confirmNamesOrders(this.#form, batchId);
  }

  /** The next part that the service takes; `rest`: the ids behind it. */
  #partOf(row: BatchRow): { row: BatchRow; rest?: string } {
    const { size = 0, untilMs = 0 } = this.#idsMax ?? {};
    if (!this.#isDivisible(row) || this.#context.clock.monotonicMs() >= untilMs || idsServed(row) <= size)
      return { row };
    const [part, rest] = divideIds(row.orderIds ?? "[]", size);
    return { row: { ...row, orderIds: part }, rest };
  }

  #setIdsMax(size: number): void {
    const { clock, log } = this.#context;
    this.#idsMax = { size, untilMs: clock.monotonicMs() + IDS_MAX_FOR_MS };
    log.info({ ids: size }, m.orders.confirmDivided({ size }));
  }

  async #send(row: BatchRow, wasTried: boolean, signal: AbortSignal): Promise<Outcome> {
    try {
      const body = renderConfirm(this.#form, { batchId: row.batchId, orderIds: row.orderIds ?? "[]" });
      const answer = await confirmBatch(this.#context.client, body, signal);
      const acceptance = readAcceptance(answer);
      if (acceptance.kind === "accepted") return await this.#judge({ row, wasTried }, answer.body, acceptance, signal);
      if (acceptance.kind === "error") {
        return {
          verdict: "refused",
          failure: new BridgeError("request_refused", m.orders.confirmRefused({ words: acceptance.words })),
          isSaid: true,
        };
      }
      return {
        verdict: "retry",
        failure: new BridgeError(
          "answer_unreadable",
          m.orders.confirmAnsweredWith({ what: UNREADABLE_WORDS[acceptance.kind] }),
        ),
        isSaid: false,
      };
    } catch (error) {
      const failure = asError(error);
      if (failure.code === "stopped") throw failure;
      // Only our own words are no ServiceError here: what cannot be written for this batch never can be.
      const verdict = failure instanceof ServiceError ? classifyConfirmFailure(failure, wasTried) : "refused";
      return verdict === "confirmed" ? { verdict } : { verdict, failure, isSaid: isOwnRefusal(failure) };
    }
  }

  async #judge(
    sent: { row: BatchRow; wasTried: boolean },
    body: Buffer,
    acceptance: Acceptance & { kind: "accepted" },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { short, ...taught } = this.#findShort(sent, readCounts(body, acceptance.root));
    if (short !== undefined) return short;
    const judged = this.#forms.judge(body, acceptance);
    const { form } = judged;
    if (!judged.isUnusual) return { verdict: "confirmed", usual: form, ...taught };
    if (await commit(this.#context, signal, () => this.#forms.saveUnusual(form).isUsual))
      return { verdict: "confirmed" };
    const failure = new BridgeError("answer_unknown", unknownForm("POST", "/orders/confirm", judged));
    return { verdict: "retry", failure, isSaid: false, because: { form } };
  }

  /**
   * Whether a count of the answer that was the size of every batch is smaller. A repeat may count only what is new, and teaches
   * nothing, unless it repeats such an answer.
   */
  #findShort(
    { row, wasTried }: { row: BatchRow; wasTried: boolean },
    counts: AnswerCounts,
  ): { short?: Outcome; counts?: AnswerCounts } {
    if (row.state !== "stored" || (wasTried && !this.#short.has(row.id))) return {};
    if (!this.#mayDoubt(row)) return {};
    const size = idsServed(row);
    const short = this.#forms.findShort(counts, { size, isPart: true, needsProof: true });
    if (short === undefined) return wasTried ? {} : { counts };
    const words = m.orders.confirmCounted({ size, name: short.name, count: short.count });
    const failure = new BridgeError("answer_unknown", words);
    return { short: { verdict: "retry", failure, isSaid: false, because: { count: short.name } } };
  }

  async #note(
    { row, isDoubtful }: { row: BatchRow; isDoubtful: boolean },
    outcome: Outcome,
    pass: PullPass,
  ): Promise<void> {
    const { store, clock, client } = this.#context;
    const at = isoTime(clock.nowMs());
    if (outcome.verdict === "confirmed") {
      pass.confirmsFailed = 0;
      this.#forbidden.batches.clear();
      const { usual, counts } = outcome;
      // The service no longer knows what it was asked to forget in a new form.
      const proved = usual === undefined ? (this.#unusual.get(row.id) ?? this.#doubts.get(row.id)?.form) : undefined;
      this.#forget(row.id);
      const confirmed = await commit(this.#context, pass.signal, () => {
        const news = confirmNames(this.#form) ? Number(markConfirmed(store, row, at)) : markAllConfirmed(store, at);
        if (this.#isDivisible(row)) markCoveredConfirmed(store, row.orderIds ?? "[]", at);
        if (usual !== undefined) this.#forms.saveUsual(usual, { endsDoubt: true, isRepeat: news === 0 });
        if (proved !== undefined) this.#forms.saveProof(proved, true);
        if (counts !== undefined) this.#forms.saveCounts(counts, idsServed(row));
        return news;
      });
      count(pass, "confirmed", confirmed);
      this.#noticeServedAgain(row, pass);
      return;
    }
    const { verdict, failure, isSaid } = outcome;
    const error = withTexts(failure.text, client.hideSecrets);
    const isForbidden = verdict === "retry" && isSaid && pass.isAnswered;
    const refusedMs = isForbidden ? (planHold(failure, "orders")?.probeAfterMs ?? 0) : 0;
    if (refusedMs > 0) {
      this.#forbidden.batches.add(row.id);
      this.#forbidden.untilMs = Math.max(this.#forbidden.untilMs, clock.monotonicMs() + refusedMs);
    }
    const isWebPage = failure instanceof ServiceError && failure.isWebPage;
    if (isDoubtful && isSaid && !isWebPage && (isForbidden || verdict === "refused") && this.#mayDoubt(row)) {
      this.#doubt(row);
      this.#wait(row, refusedMs);
      await commit(this.#context, pass.signal, () => {
        this.#saveTimes();
        markConfirmFailed(store, row.id, { error, reached: false });
      });
      return;
    }
    const { because } = outcome;
    if (because?.form !== undefined) {
      if (this.#unusual.size >= WAITS_MAX) this.#unusual.clear();
      this.#unusual.set(row.id, because.form);
    }
    if (because?.count !== undefined) {
      if (this.#short.size >= WAITS_MAX) this.#short.clear();
      this.#short.add(row.id);
    }
    if (because !== undefined && row.state === "stored" && this.#mayDoubt(row)) {
      this.#doubt(row, because);
      this.#wait(row);
      await commit(this.#context, pass.signal, () => {
        this.#saveTimes();
        markConfirmFailed(store, row.id, { error, reached: true });
      });
      return;
    }
    const isFinal = isForbidden && this.#wait(row, refusedMs) >= FORBIDDEN_TRIES_MAX;
    if (verdict === "refused" || isFinal) {
      if (this.#refused.size >= WAITS_MAX) this.#refused.clear();
      this.#refused.add(row.id);
      if (failure.text === m.orders.unnamedBatch) await this.#countUnnamed(row, pass.signal);
      const isNews = await commit(this.#context, pass.signal, () => {
        if (isFinal) this.#saveTimes();
        return markConfirmRefused(store, row.id, error);
      });
      count(pass, "refused", Number(isNews));
      return;
    }
    const reached = !(failure instanceof ServiceError && failure.effect === "none");
    // That orders were answered in this pass says that the service is there: what becomes of a confirm is then the batch's own.
    const unreached = pass.isAnswered && failure.code === "unreachable" ? this.#countUnreached(row) : 0;
    const failures = unreached > 0 ? unreached : endsPull(failure) ? 0 : row.confirmAttempts;
    const isAlone = pass.isAnswered && (isWaitOfOne(failure) || failures >= FAILURES_OF_ONE_MAX);
    if (isAlone) this.#wait(row, askedWaitOf(failure));
    await commit(this.#context, pass.signal, () => {
      if (isForbidden || isAlone) this.#saveTimes();
      markConfirmFailed(store, row.id, { error, reached });
    });
    if (isForbidden || isAlone || unreached > 0) {
      pass.confirmsFailed += 1;
      return;
    }
    if (endsPull(failure)) throw failure;
    pass.confirmFailure ??= failure;
    pass.confirmsFailed += failure.code === "timed_out" ? FAILURES_IN_ROW_MAX : 1;
  }

  /** How often no answer came to the confirm of a batch. One that never left is no attempt, and counts here all the same. */
  #countUnreached(row: BatchRow): number {
    const key = this.#waitKey(row);
    const times = (this.#unreached.get(key) ?? 0) + 1;
    if (this.#unreached.size >= WAITS_MAX) this.#unreached.clear();
    this.#unreached.set(key, times);
    return times;
  }

  /** How often the service has served a batch that no confirm can name; noted ever more seldom. */
  async #countUnnamed(row: BatchRow, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const known = this.#unnamed ?? loadServedUnnamed(store);
    const served = { batch: row.id, times: (known?.batch === row.id ? known.times : 0) + 1 };
    this.#unnamed = served;
    const isRound = served.times >= UNNAMED_NOTED && Number.isInteger(Math.log2(served.times));
    if (isRound) await commit(this.#context, signal, () => saveServedUnnamed(store, served));
  }

  /** A confirm that names nothing covers more than its batch. What was refused before the doubt was not confirmed by it. */
  #mayDoubt(row: BatchRow): boolean {
    const hasRoom = this.#doubts.has(row.id) || this.#doubts.size < DOUBTS_MAX;
    return confirmNames(this.#form) && hasRoom && !this.#refused.has(row.id);
  }

  #doubt(row: BatchRow, because: DoubtedFor = {}): void {
    if (this.#doubts.has(row.id)) return;
    const sinceMs = this.#context.clock.monotonicMs();
    this.#doubts.set(row.id, { row, orderIds: new Set(idsOf(row)), sinceMs, polls: 0, ...because });
  }

  /** What is served has not been confirmed, whatever became of the attempt. */
  #noteServed(row: BatchRow): void {
    if (this.#doubts.size === 0) return;
    const served = idsOf(row);
    for (const [id, { orderIds, form, count: name }] of this.#doubts) {
      if (id !== row.id && !served.some((orderId) => orderIds.has(orderId))) continue;
      this.#doubts.delete(id);
      const wait = this.#waits.get(id);
      if (wait !== undefined) this.#waits.set(id, { ...wait, untilMs: wait.refusedUntilMs });
      if (form === undefined && name === undefined) this.#refused.add(id);
    }
  }

  /** A confirm that names nothing is one for all batches. */
  #waitKey(row: BatchRow): number {
    return confirmNames(this.#form) ? row.id : 0;
  }

  /** @param isDue its turn has come in another way: only what the service said counts */
  #isWaiting(row: BatchRow, isDue = false): boolean {
    const wait = this.#waits.get(this.#waitKey(row));
    return ((isDue ? wait?.refusedUntilMs : wait?.untilMs) ?? 0) > this.#context.clock.monotonicMs();
  }

  /**
   * Returns how often it has waited, this time included.
   * @param refusedMs how long what the service said keeps the same confirm from leaving again
   */
  #wait(row: BatchRow, refusedMs = 0): number {
    const key = this.#waitKey(row);
    const tries = (this.#waits.get(key)?.tries ?? 0) + 1;
    if (this.#waits.size >= WAITS_MAX) this.#waits.clear();
    const waitMs = Math.min(WAIT_FIRST_MS * 2 ** (tries - 1), WAIT_MAX_MS);
    const nowMs = this.#context.clock.monotonicMs();
    this.#waits.set(key, { tries, untilMs: nowMs + Math.max(waitMs, refusedMs), refusedUntilMs: nowMs + refusedMs });
    return tries;
  }

  #forget(id: number): void {
    this.#doubts.delete(id);
    this.#unusual.delete(id);
    this.#short.delete(id);
    this.#refused.delete(id);
    this.#waits.delete(confirmNames(this.#form) ? id : 0);
    this.#unreached.delete(confirmNames(this.#form) ? id : 0);
  }

  /** A confirm that names nothing covers whatever was handed out: all of it must be stored, read and journaled. */
  #isAllStored(): boolean {
    const { store } = this.#context;
    return loadDelivery(store) === undefined && countUnread(store).count === 0 && loadJournalOwed(store) === undefined;
  }

  #noticeServedAgain(row: BatchRow, pass: PullPass): void {
    if (row.state !== "confirmed") return;
    const { clock, log } = this.#context;
    const isSame = this.#again.fingerprint === row.fingerprint;
    const times = isSame ? this.#again.times + 1 : 1;
    const sinceMs = isSame ? this.#again.sinceMs : clock.monotonicMs();
    this.#again = { fingerprint: row.fingerprint, times, sinceMs };
    if (times === SERVED_AGAIN_MAX) log.warn({ batch: row.batchId, times }, m.orders.servedAgain);
    if (times < SERVED_AGAIN_MAX || clock.monotonicMs() - sinceMs < SERVED_AGAIN_MS) return;
    pass.failure ??= new BridgeError("answer_unknown", m.orders.servedAgain, { hint: m.orders.servedAgainHint });
  }
}

/** Failures that concern the service as a whole; with the others, batches may still be pulled. */
function endsPull(failure: BridgeError): boolean {
  if (failure.code === "timed_out") return false;
  return stopsPass(failure);
}

/** This batch alone is answered again and again with a wait that an answer asks everybody for. */
function isWaitOfOne(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || asksAllToWait(failure)) return false;
  return failure.code === "rate_limited" || failure.retryAfterMs !== undefined;
}

function askedWaitOf(failure: BridgeError): number {
  return failure instanceof ServiceError ? (failure.retryAfterMs ?? 0) : 0;
}

/** A refusal of this confirm alone: an answer that it was not acted on, and no wait that the service asks everybody for. */
function isOwnRefusal(failure: BridgeError): boolean {
  if (!(failure instanceof ServiceError) || failure.status === undefined || failure.effect !== "none") return false;
  return failure.code !== "rate_limited" && failure.retryAfterMs === undefined;
}

/** The orders by which two batches are known to be of the same: what is no order id may stand in any of them. */
function idsOf({ orderIds }: BatchRow): string[] {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).flatMap((id) => {
    const orderId = typeof id === "string" ? readOrderId(id) : undefined;
    return orderId ?? [];
  });
}

function idsServed({ orderIds }: BatchRow): number {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).length;
}

/** What a refusal for the size says where there is nothing left to divide. */
function tooLargeOf(outcome: Outcome): ServiceError | undefined {
  const failure = outcome.verdict === "confirmed" ? undefined : outcome.failure;
  if (!(failure instanceof ServiceError) || failure.status !== TOO_LARGE) return undefined;
  const { area, method, path, effect, isWebPage } = failure;
  const details = { area, method, path, effect, isWebPage, status: TOO_LARGE, cause: failure };
  return new ServiceError("request_refused", m.orders.confirmTooLarge, details);
}

/** The first ids of a list and the others, each as it was written. */
function divideIds(orderIds: string, size: number): [string, string] {
  const bytes = Buffer.from(orderIds);
  const elements = atOnce(elementsInSlices(bytes, scanJson(bytes)));
  const cut = elements[size] as Span;
  const last = elements[size - 1] as Span;
  return [`${bytes.toString("utf8", 0, last.end)}]`, `[${bytes.toString("utf8", cut.start)}`];
}

function clamped(ms: number, maxMs: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), maxMs) : maxMs;
}
