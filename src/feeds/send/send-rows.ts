/*
 * Sends rows of a feed and finds out which of them the service refuses: a refused chunk is divided until each refused
 * record is sent alone. Every outcome is committed, so that after a crash the next pass continues from there.
 */
import { isDeepStrictEqual } from "node:util";
import { MetaValue } from "../../database/meta.ts";
import { m } from "../../messages/messages.ts";
import { FAILURES_IN_ROW_MAX } from "../../pass/breaker.ts";
import { commit } from "../../pass/commit.ts";
import { asksAllToWait } from "../../pass/holds.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { ServiceError } from "../../service/service-error.ts";
import type { FeedContext, FeedPass } from "../diff/absorb-feed.ts";
import { countUnproven, type OutboxRow } from "../feed-outbox.ts";
import { loadFeed, saveFeedChunk } from "../feed-rows.ts";
import { partKeyOf } from "./count-probe.ts";
import { inFlight } from "./flights.ts";
import {
  inChunks,
  inParts,
  isDenial,
  isHeldAsDenied,
  isOfRecord,
  planParts,
  RefusalTrial,
  type RefusedAlone,
  wordsOf,
} from "./refusal-trial.ts";
import { saveProbed } from "./refused-rows.ts";
import type { Outcome, Refused, SendOptions, SendPass } from "./send-pass.ts";
import { SendRequest } from "./send-request.ts";
import { sendWhole } from "./send-whole.ts";
import { SettleRefusals } from "./settle-refusals.ts";

/** What the last requests of a feed showed. */
interface FailedRequests {
  /** How many failed since the last acceptance. */
  inRow: number;
  /** Halved where consecutive ones fail, doubled by each acceptance of as many; null: as many as configured. */
  chunk: number | null;
  /** When the outcomes of an outage's requests were no longer open, on the monotonic clock: several failed in a row. */
  outageUntilMs: number;
  /** The most records that were accepted together, as far as is known. */
  taken: number;
  /** Since when each request was answered with a wait, by this machine's clock; null: the last one was not. */
  waitsSinceMs: number | null;
}

/** What the requests of a chunk show of its size. */
interface Sizes {
  /** A request of several records was too large, or counted short. */
  refused: boolean;
  /** One of a single record was. */
  alone: boolean;
  /** The most records that were accepted together. */
  largest: number;
  /** Requests of which the service has counted a part. */
  short: number;
  /** As many records as it had counted then, and requests of so many that were accepted since. */
  parts: number;
  full: number;
}

/** So many parts of an equal size, each accepted as a whole, show that the service takes no more records a request. */
const FULL_MIN = 3;

/** After so long a request is answered with a wait for its size, although as many records were accepted before. */
const WAITS_MS = 30 * MINUTE_MS;

const NONE_FAILED: FailedRequests = { inRow: 0, chunk: null, outageUntilMs: 0, taken: 0, waitsSinceMs: null };

/** By feed. Former versions stored fewer properties. */
const FAILED = new MetaValue<Partial<Record<string, Partial<FailedRequests>>>>("failed_requests", {});

export class SendRows {
  readonly request: SendRequest;
  readonly #context: FeedContext;
  readonly #options: SendOptions;
  readonly #refusals: SettleRefusals;
  #failed: FailedRequests;

  constructor(context: FeedContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
    this.request = new SendRequest(context, options);
    this.#refusals = new SettleRefusals(context, options.rules);
    this.#failed = { ...NONE_FAILED, ...FAILED.load(context.store)[options.rules.name] };
  }

  /** Maximum records per request after failures: a single record may be the cause. */
  get chunkAfterFailure(): number {
    return this.#failed.chunk ?? Number.POSITIVE_INFINITY;
  }

  /** Kept for the next process: where each pass is one, the request would otherwise fail as a whole for ever. */
  async #saveFailed(changed: Partial<FailedRequests>, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const failed = { ...this.#failed, ...changed };
    if (isDeepStrictEqual(failed, this.#failed)) return;
    this.#failed = failed;
    const all = { ...FAILED.load(store), [this.#options.rules.name]: failed };
    await commit(this.#context, signal, () => FAILED.save(store, all));
  }

  async #saveFailure(size: number, signal: AbortSignal): Promise<void> {
    const { inRow, chunk } = this.#failed;
    const half = size > 1 && inRow > 0 ? Math.ceil(size / 2) : chunk;
    await this.#saveFailed({ inRow: inRow + 1, chunk: half }, signal);
  }

  /**
   * The service asks to wait. One that counts records never accepts a request with more of them than it grants at a time, so that further ones
   * are smaller; not below what it has accepted, because one that counts requests needs large ones.
   */
  async #saveWait(size: number, signal: AbortSignal): Promise<void> {
    const { waitsSinceMs, taken } = this.#failed;
    const nowMs = this.#context.clock.nowMs();
    const sinceMs = waitsSinceMs ?? nowMs;
    const isTooLarge = waitsSinceMs !== null && (size > taken || nowMs - sinceMs >= WAITS_MS);
    const smaller = { chunk: Math.ceil(size / 2), taken: Math.min(taken, size - 1) };
    await this.#saveFailed({ waitsSinceMs: sinceMs, ...(isTooLarge && smaller) }, signal);
  }

  /** The service has answered a request with `size` records well. */
  async #saveWell(size: number, signal: AbortSignal): Promise<void> {
    const { inRow, chunk } = this.#failed;
    const { rules, timeoutMs } = this.#options;
    const next = chunk !== null && size >= chunk ? chunk * 2 : chunk;
    const isOutage = inRow >= FAILURES_IN_ROW_MAX;
    const outage = isOutage ? { outageUntilMs: this.#context.clock.monotonicMs() + timeoutMs } : {};
    const shown = { inRow: 0, waitsSinceMs: null, taken: Math.max(this.#failed.taken, size) };
    await this.#saveFailed({ ...shown, chunk: next === null || next >= rules.chunk ? null : next, ...outage }, signal);
  }

  /** @param given.control returns a control row: shows whether the service accepts anything at all */
  begin(pass: FeedPass, given: Pick<SendPass, "control" | "hasOthers" | "heldFor">): SendPass {
    this.request.recall();
    const unproven = countUnproven(this.#context.store, this.#options.rules, FAILURES_IN_ROW_MAX - 1, "service");
    return {
      ...pass,
      ...given,
      trial: new RefusalTrial(unproven),
      before: new Map(),
      short: new Map(),
      divided: new Map(),
      late: new Set(),
      undecided: new Set(),
      deniedInRow: 0,
      lastAccepted: undefined,
      lastRefused: undefined,
      failure: undefined,
    };
  }

  /**
   * Sends the rows and halves refused parts: about 2·log2(n) requests for one bad record.
   * @throws ServiceError where the feed or the connection fails, or every record is refused; rows are then waiting, or
   *   their outcome is unknown
   */
  async send(pass: SendPass, rows: readonly OutboxRow[]): Promise<void> {
    if (this.#options.rules.scope === "whole") {
      const outcome = await sendWhole(this.#context, this.#options.rules, { request: this.request, pass, rows });
      return await this.#settle(pass, outcome);
    }
    const { trial } = pass;
    for (const row of rows) if (!pass.before.has(row.id)) pass.before.set(row.id, row);
    const sizes: Sizes = { refused: false, alone: false, largest: 0, short: 0, parts: 0, full: 0 };
    // As a probe one of these may be all that there is.
    const areApart = trial.hasAccepted || !isHeldAsDenied(pass.heldFor);
    const together = rows.filter(({ isDenied }) => !(isDenied && areApart));
    // The last part added is sent first: a record at which the service has failed is sent alone, after all others.
    for (const row of together) if (hasFailedAlone(row)) trial.add([row]);
    const others = together.filter((row) => !hasFailedAlone(row));
    const doubted = this.request.lackingAmong(others);
    const rest = others.filter((row) => !doubted.includes(row));
    for (const part of inParts(doubted).reverse()) trial.add(part);
    for (const part of planParts(rest, this.#failed.outageUntilMs).reverse()) trial.add(part);
    for (;;) {
      const step = await trial.next(pass.control);
      if (step.kind === "done") break;
      if (step.kind === "trouble") {
        // Where nothing else is left, rows that were refused before keep waiting: no good row is delayed.
        const isLeft = trial.hasPending || pass.hasOthers();
        if (isLeft || this.#mustHold(pass)) throw pass.failure ?? (await this.#trouble(pass));
        return;
      }
      const outcome = await this.#sendPart(pass, step.rows);
      if (outcome !== undefined) await this.#judge(pass, { part: step.rows, outcome, sizes });
    }
    const apart = rows.filter(({ isDenied }) => isDenied && areApart);
    await this.#sendDenied(pass, apart, sizes);
    // A single record that is too large is no evidence about the chunk size, nor is a single short count.
    if (sizes.refused && sizes.short !== 1 && !sizes.alone && sizes.largest > 0)
      await this.#learnChunk(pass, sizes.largest);
    if (sizes.full >= FULL_MIN) await this.#learnChunk(pass, sizes.parts);
  }

  /**
   * Rows that were denied before go alone, after all others, because the request that has one is denied whole. Where the
   * credentials are wrong, this is seen at the others: while nothing is accepted, one of these is tried and the rest waits.
   */
  async #sendDenied(pass: SendPass, denied: readonly OutboxRow[], sizes: Sizes): Promise<void> {
    const rows = denied.toSorted((a, b) => a.tries - b.tries);
    for (const [at, row] of rows.entries()) {
      if (!pass.trial.hasAccepted && pass.deniedInRow > 0) return await this.#refusals.postpone(pass, rows.slice(at));
      if (pass.deniedInRow >= FAILURES_IN_ROW_MAX) return;
      const outcome = await this.#sendPart(pass, [row]);
      if (outcome === undefined) continue;
      if (outcome.kind !== "refused" || !isDenial(outcome.status)) {
        pass.deniedInRow = 0;
        await this.#judge(pass, { part: [row], outcome, sizes });
        continue;
      }
      pass.deniedInRow += 1;
      const refused = [{ row: inFlight(row), status: outcome.status, words: wordsOf(outcome) }];
      await this.#refusals.setAside(pass, refused);
      await this.#refusals.prove(pass, refused);
    }
  }

  /** Settles what was accepted, and divides what was refused. */
  async #judge(
    pass: SendPass,
    { part, outcome, sizes }: { part: readonly OutboxRow[]; outcome: Outcome; sizes: Sizes },
  ): Promise<void> {
    const { trial } = pass;
    if (outcome.kind === "accepted") {
      if (outcome.accepted > 0) sizes.largest = Math.max(sizes.largest, part.length);
      if (part.length === sizes.parts && !pass.late.has(partKeyOf(part))) sizes.full += 1;
      return await this.#settle(pass, outcome);
    }
    if (outcome.kind === "partial") {
      // The others are sent again without the named ones: needed if the service is all-or-nothing, harmless otherwise.
      const { rest, refused } = splitNamed(part, outcome);
      pass.lastRefused = refusedOf(outcome);
      await this.#refusals.setAside(pass, trial.refuseEach(refused));
      return trial.add(rest);
    }
    pass.lastRefused = outcome;
    const standing = part.map(inFlight);
    const { short, status } = outcome;
    // Whether the count is one of changes is known once the other half was answered.
    if (short?.isEarly) return trial.postpone(standing);
    if (short?.parts !== undefined) {
      sizes.parts = short.parts;
      for (const some of inChunks(standing, short.parts).reverse()) trial.add(some);
      return;
    }
    if (short !== undefined) sizes.short += 1;
    if (status === 413 || short !== undefined) sizes[part.length === 1 ? "alone" : "refused"] = true;
    if (short !== undefined && short.taken > 0) {
      // Only some of these records were counted.
      const divided = { name: short.name, taken: short.taken, counted: 0, left: 2 };
      for (const half of trial.divide(standing)) pass.divided.set(partKeyOf(half), divided);
      return;
    }
    await this.#refusals.setAside(pass, trial.refuse(standing, { status, words: wordsOf(outcome) }));
  }

  /**
   * Sends a part of a chunk. After a failure it is not divided at once, because each of its rows may have been accepted:
   * once the outcome's time is over, the rows are sent again in smaller parts ({@link planParts}).
   * @returns undefined where the service fails at this single record and accepts others: the row is set aside
   */
  async #sendPart(pass: SendPass, part: readonly OutboxRow[]): Promise<Outcome | undefined> {
    const [row] = part;
    try {
      return await this.request.send(pass, part);
    } catch (error) {
      if (row === undefined) throw error;
      if (part.length === 1 && isDenied(error)) await this.#noteProbe(pass, row);
      if (part.length > 1 && asksAllToWait(error)) await this.#saveWait(part.length, pass.signal);
      if (!isFailure(error)) throw error;
      const { hasAccepted, suspects } = pass.trial;
      const isOne = hasAccepted && suspects.length < FAILURES_IN_ROW_MAX;
      const isKnown = part.length === 1 && (isOne || hasFailedAlone(row));
      if (!isKnown) await this.#saveFailure(part.length, pass.signal);
      if (!(isKnown || (part.length === 1 && (await this.#acceptsOther(pass))))) throw error;
      pass.failure = error;
      const flightUntilMs = this.#context.clock.monotonicMs() + this.#options.timeoutMs;
      const { status = 0, words = "", message } = error;
      const failed = { ...row, flightRecord: row.record, flightUntilMs };
      const refused = { row: failed, status, words: status === 0 ? message : wordsOf({ status, words }) };
      await this.#refusals.setAside(pass, pass.trial.refuseEach([refused]));
      return undefined;
    }
  }

  /** The next probe takes another row than the one with which this one was refused. */
  async #noteProbe({ heldFor, signal }: SendPass, row: OutboxRow): Promise<void> {
    const { store } = this.#context;
    if (isHeldAsDenied(heldFor)) await commit(this.#context, signal, () => saveProbed(store, row.id));
  }

  /** Whether the service accepts another row, so that a failure is about a record. */
  async #acceptsOther(pass: SendPass): Promise<boolean> {
    const control = await pass.control();
    if (control === undefined) return false;
    const outcome = await this.request.send(pass, [control]);
    if (outcome.kind !== "accepted" || outcome.accepted === 0) return false;
    await this.#settle(pass, outcome);
    return true;
  }

  /** Ends the pass: refusals are proven where something was accepted. */
  async end(pass: SendPass): Promise<void> {
    const { suspects, hasAccepted } = pass.trial;
    if (suspects.length === 0) return;
    if (!hasAccepted && this.#isTrouble(pass)) throw await this.#trouble(pass);
    const proven = hasAccepted ? pass.trial.accept() : suspects.filter(({ row }) => row.wasProven);
    await this.#prove(pass, proven);
  }

  /** Quarantines proven refusals, except for rows that may have been accepted unchanged: these are tried again. */
  async #prove(pass: SendPass, refused: readonly RefusedAlone<OutboxRow>[]): Promise<void> {
    const proven = refused.filter(({ row }) => !pass.undecided.has(row.id));
    if (proven.length > 0) await this.#refusals.prove(pass, proven);
  }

  /** Settles an answer that accepted something, or refused each record by name. */
  async #settle(pass: SendPass, outcome: Outcome & { kind: "accepted" }): Promise<void> {
    const { status, accepted, named } = outcome;
    await this.#saveWell(accepted + named.length, pass.signal);
    if (accepted === 0 && named.length > 0) {
      pass.lastRefused = { kind: "refused", code: "request_refused", status, words: named[0]?.words ?? "" };
      return await this.#refusals.setAside(pass, pass.trial.refuseEach(refusedAlone(outcome)));
    }
    const isFirst = !pass.trial.hasAccepted;
    const proven = [...pass.trial.accept(), ...refusedAlone(outcome)];
    await this.#prove(pass, proven);
    if (named.length > 0) await this.#refusals.refuseKept(pass, named);
    if (isFirst && countUnproven(this.#context.store, this.#options.rules, 1) > 0) await this.#refusals.wake(pass);
  }

  /** Whether refusals, with nothing accepted, are of the service, although few rows wait. */
  #isTrouble(pass: SendPass): boolean {
    const { suspects } = pass.trial;
    // A refusal that refuses a record for good shows that payment and credentials are in order.
    if (suspects.some(({ status }) => !isOfRecord(status))) return this.#mustHold(pass);
    return pass.heldFor.includes("refused") && suspects.some(({ row }) => !row.wasProven);
  }

  /** Whether the feed is held: it is already, a row was refused for the first time, or nothing was ever accepted with this template. */
  #mustHold(pass: SendPass): boolean {
    const { acceptedAt } = loadFeed(this.#context.store, this.#options.rules.name);
    return pass.heldFor.length > 0 || acceptedAt === null || pass.trial.suspects.some(({ row }) => row.tries === 0);
  }

  /** The error where nothing is accepted, and no single record is the cause. The hold sets the times of the next tries. */
  async #trouble(pass: SendPass): Promise<ServiceError> {
    await this.#refusals.wake(pass);
    const { name, path } = this.#options.rules;
    const last = pass.lastRefused ?? { code: "request_refused" as const, status: 400, words: "" };
    const words = wordsOf(last);
    const { acceptedAt } = loadFeed(this.#context.store, name);
    return new ServiceError(
      last.code,
      acceptedAt === null ? m.feeds.neverAccepted({ path, words, name }) : m.feeds.allRefused({ path, words }),
      { area: "imports", method: "POST", path, status: last.status, words: last.words, effect: "none" },
    );
  }

  async #learnChunk({ signal }: SendPass, chunk: number): Promise<void> {
    const { store, log } = this.#context;
    const { name } = this.#options.rules;
    await commit(this.#context, signal, () => saveFeedChunk(store, name, chunk));
    log.info({ feed: name, chunk }, m.feeds.chunkLearned({ name, chunk }));
  }
}

function splitNamed(
  rows: readonly OutboxRow[],
  outcome: Outcome & { kind: "partial" },
): { rest: OutboxRow[]; refused: RefusedAlone<OutboxRow>[] } {
  const refused = refusedAlone(outcome);
  const ids = new Set(refused.map(({ row }) => row.id));
  return { rest: rows.filter(({ id }) => !ids.has(id)).map(inFlight), refused };
}

function refusedAlone({ named, status }: Exclude<Outcome, Refused>): RefusedAlone<OutboxRow>[] {
  return named.flatMap(({ row, words }) => (row === undefined ? [] : [{ row, words, status }]));
}

function refusedOf({ status, words }: Outcome & { kind: "partial" }): Refused {
  return { kind: "refused", code: "request_refused", status, words };
}

/** Whether the row was set aside after a failure at it alone, and has not changed since. */
function hasFailedAlone({ tries, flightRecord, flightUntilMs }: OutboxRow): boolean {
  return tries > 0 && flightRecord !== null && (flightUntilMs ?? 0) > 0;
}

/** Refused credentials or a refused payment. */
function isDenied(error: unknown): boolean {
  return error instanceof ServiceError && isDenial(error.status ?? 0);
}

/** A failure after which the service may have acted, without `Retry-After`: a 5xx, a reset, a timeout. */
function isFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.effect === "unknown" && error.retryAfterMs === undefined;
}
