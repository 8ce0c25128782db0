/*
 * Tells the service which batches are safe. Only batches that are durable get here; after a crash their rows in
 * `batches` say which confirms are still owed, so a confirm is repeated and never forgotten.
 */
import { confirmBatch } from "../api/orders.ts";
import { readAcceptance, UNREADABLE_WORDS } from "../domain/acceptance.ts";
import { type ConfirmForm, classifyConfirmFailure, confirmNames, renderConfirm } from "../domain/confirm.ts";
import { asError, BridgeError } from "../domain/errors.ts";
import { stopsPass } from "../domain/holds.ts";
import { isoTime } from "../domain/ports.ts";
import { ServiceError } from "../domain/service-error.ts";
import {
  type BatchRow,
  countUnread,
  loadJournalOwed,
  loadPullMark,
  loadRefusedConfirms,
  loadUnconfirmed,
  markAllConfirmed,
  markConfirmBegun,
  markConfirmed,
  markConfirmFailed,
  markConfirmRefused,
} from "../store/batches.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
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

type Outcome = { verdict: "confirmed" } | { verdict: "refused" | "retry"; failure: BridgeError };

export class ConfirmBatches {
  readonly #context: JobContext;
  readonly #form: ConfirmForm;
  /** The confirmed batch that is served again and again. */
  #again = { fingerprint: "", times: 0 };
  /** Monotonic time from which refused confirms are tried again. */
  #refusedAgainMs: number;

  constructor(context: JobContext, form: ConfirmForm) {
    this.#context = context;
    this.#form = form;
    this.#refusedAgainMs = context.clock.monotonicMs() + REFUSED_AGAIN_MS;
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
    const owed = loadUnconfirmed(this.#context.store, limit);
    for (const row of owed) await this.confirm({ row, seenBefore: true }, pass);
    await this.#retryRefused(pass);
    return owed.length === CONFIRMS_PER_PASS;
  }

  async #retryRefused(pass: PullPass): Promise<void> {
    const { store, clock } = this.#context;
    if (clock.monotonicMs() < this.#refusedAgainMs || pass.confirmsFailed > 0) return;
    this.#refusedAgainMs = clock.monotonicMs() + REFUSED_AGAIN_MS;
    const limit = confirmNames(this.#form) ? REFUSED_PER_PASS : 1;
    for (const row of loadRefusedConfirms(store, { triesMax: REFUSED_TRIES_MAX, limit }))
      await this.confirm({ row, seenBefore: true }, pass);
  }

  /**
   * Tells the service that a stored batch is safe. Ends as `confirmed` or `refused`, or is noted in the pass to be tried
   * again. The attempt is committed before the request leaves, because "not found" means "confirmed earlier" only
   * for a batch that was tried.
   * @throws where the whole service is out: credentials, rate limit, no way to it.
   */
  async confirm({ row, seenBefore, isServed = false }: StoredBatch, pass: PullPass): Promise<void> {
    const { store } = this.#context;
    if (pass.confirmsFailed >= FAILURES_IN_ROW_MAX || pass.attempted.has(row.id) || row.journalOwed) return;
    if (!confirmNames(this.#form) && !this.#isAllStored()) return;
    pass.attempted.add(row.id);
    const isCounted = !seenBefore && confirmNames(this.#form);
    // Of a refused one that is served again every attempt would be a write.
    if (row.state === "stored" ? !isCounted : row.state === "refused" && !isServed)
      await commit(this.#context, pass.signal, () => markConfirmBegun(store, row.id));
    // The service forgets what it hears of: from here on the orders are in the database file, whatever becomes of its log.
    store.secure();
    const wasTried = row.state === "confirmed" || (row.state === "stored" && row.confirmAttempts > (isCounted ? 1 : 0));
    const outcome = await this.#send(row, wasTried, pass.signal);
    await this.#note(row, outcome, pass);
  }

  async #send(row: BatchRow, wasTried: boolean, signal: AbortSignal): Promise<Outcome> {
    try {
      const body = renderConfirm(this.#form, { batchId: row.batchId, orderIds: row.orderIds ?? "[]" });
      const acceptance = readAcceptance(await confirmBatch(this.#context.client, body, signal));
      if (acceptance.kind === "accepted") return { verdict: "confirmed" };
      if (acceptance.kind === "error") {
        return {
          verdict: "refused",
          failure: new BridgeError("request_refused", `The confirm was refused: ${acceptance.words}`),
        };
      }
      return {
        verdict: "retry",
        failure: new BridgeError(
          "answer_unreadable",
          `The confirm was answered with ${UNREADABLE_WORDS[acceptance.kind]}.`,
        ),
      };
    } catch (error) {
      const failure = asError(error);
      if (failure.code === "stopped") throw failure;
      // Only our own words are no ServiceError here: what cannot be written for this batch never can be.
      const verdict = failure instanceof ServiceError ? classifyConfirmFailure(failure, wasTried) : "refused";
      return verdict === "confirmed" ? { verdict } : { verdict, failure };
    }
  }

  async #note(row: BatchRow, outcome: Outcome, pass: PullPass): Promise<void> {
    const { store, clock, client } = this.#context;
    const at = isoTime(clock.nowMs());
    if (outcome.verdict === "confirmed") {
      pass.confirmsFailed = 0;
      const confirmed = await commit(this.#context, pass.signal, () =>
        confirmNames(this.#form) ? Number(markConfirmed(store, row, at)) : markAllConfirmed(store, at),
      );
      count(pass, "confirmed", confirmed);
      this.#noticeServedAgain(row);
      return;
    }
    const { verdict, failure } = outcome;
    const error = client.hideSecrets(failure.message);
    if (verdict === "refused") {
      const isNews = await commit(this.#context, pass.signal, () => markConfirmRefused(store, row.id, error));
      count(pass, "refused", Number(isNews));
      return;
    }
    const reached = !(failure instanceof ServiceError && failure.effect === "none" && failure.status === undefined);
    await commit(this.#context, pass.signal, () => markConfirmFailed(store, row.id, { error, reached }));
    if (endsPull(failure)) throw failure;
    pass.failure ??= failure;
    pass.confirmsFailed += failure.code === "timed_out" ? FAILURES_IN_ROW_MAX : 1;
  }

  /** A confirm that names nothing covers whatever was handed out: all of it must be stored, read and journaled. */
  #isAllStored(): boolean {
    const { store } = this.#context;
    return loadPullMark(store) === undefined && countUnread(store).count === 0 && loadJournalOwed(store) === undefined;
  }

  #noticeServedAgain(row: BatchRow): void {
    if (row.state !== "confirmed") return;
    const times = this.#again.fingerprint === row.fingerprint ? this.#again.times + 1 : 1;
    this.#again = { fingerprint: row.fingerprint, times };
    if (times !== SERVED_AGAIN_MAX) return;
    this.#context.log.warn(
      { batch: row.batchId, times },
      "The service accepts the confirm of a batch and serves it again all the same: is orders.confirm.body what it expects?",
    );
  }
}

/** Failures that concern the service as a whole; with the others, batches may still be pulled. */
function endsPull(failure: BridgeError): boolean {
  if (failure.code === "timed_out") return false;
  return stopsPass(failure);
}
