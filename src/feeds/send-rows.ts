/*
 * Sends rows of a feed and finds out which single ones the service refuses: a refused chunk is divided until each refused
 * record stands alone. Every outcome is committed, so that after a crash the next pass goes on from there.
 */
import { m } from "../messages/messages.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { commit } from "../pass/commit.ts";
import { ServiceError } from "../service/service-error.ts";
import type { FeedContext, FeedPass } from "./absorb-feed.ts";
import { partKeyOf } from "./count-probe.ts";
import { countUnproven, type OutboxRow } from "./feed-outbox.ts";
import { loadFeed, saveFeedChunk } from "./feed-rows.ts";
import { isOfRecord, RefusalTrial, type RefusedAlone, wordsOf } from "./refusal-trial.ts";
import type { Outcome, Refused, SendOptions, SendPass } from "./send-pass.ts";
import { inFlight, SendRequest } from "./send-request.ts";
import { sendWhole } from "./send-whole.ts";
import { SettleRefusals } from "./settle-refusals.ts";

export class SendRows {
  readonly request: SendRequest;
  readonly #context: FeedContext;
  readonly #options: SendOptions;
  readonly #refusals: SettleRefusals;
  /** Halved where requests of several records fail one after the other, doubled by each acceptance of as many. */
  #chunkAfterFailure = Number.POSITIVE_INFINITY;
  /** The last request of several records failed: one failure alone passes by itself. */
  #hasFailed = false;

  constructor(context: FeedContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
    this.request = new SendRequest(context, options);
    this.#refusals = new SettleRefusals(context, options.rules);
  }

  /** Records in a request after others have failed: one record may be what the service fails at. */
  get chunkAfterFailure(): number {
    return this.#chunkAfterFailure;
  }

  /** @param control a row from elsewhere, to find out whether the service takes anything at all */
  begin(pass: FeedPass, control: SendPass["control"]): SendPass {
    const unproven = countUnproven(this.#context.store, this.#options.rules, FAILURES_IN_ROW_MAX - 1);
    return {
      ...pass,
      control,
      trial: new RefusalTrial(unproven),
      before: new Map(),
      short: new Map(),
      divided: new Map(),
      undecided: new Set(),
      lastAccepted: undefined,
      lastRefused: undefined,
      failure: undefined,
    };
  }

  /**
   * Sends the rows, halving what is refused: about 2·log2(n) requests for one bad record.
   * @throws ServiceError where the feed or the way to the service fails, or every record is refused; rows are then
   *   waiting, or their outcome is unknown.
   */
  async send(pass: SendPass, rows: readonly OutboxRow[]): Promise<void> {
    if (this.#options.rules.scope === "whole") {
      const outcome = await sendWhole(this.#context, this.#options.rules, { request: this.request, pass, rows });
      return await this.#settle(pass, outcome);
    }
    const { trial } = pass;
    for (const row of rows) if (!pass.before.has(row.id)) pass.before.set(row.id, row);
    const sizes = { refused: false, alone: false, largest: 0, short: 0 };
    // The last part goes first. A record that the service has failed at goes by itself, after all others.
    for (const row of rows) if (hasFailedAlone(row)) trial.add([row]);
    const others = rows.filter((row) => !hasFailedAlone(row));
    if (others.length > 0) trial.add(others);
    for (;;) {
      const step = await trial.next(pass.control);
      if (step.kind === "done") break;
      if (step.kind === "trouble") {
        // Where nothing else is left, rows that were refused before just go on waiting: nothing good is kept back.
        const isLeft = trial.hasPending || (await pass.control()) !== undefined;
        if (isLeft || this.#mustHold(pass)) throw pass.failure ?? this.#trouble(pass);
        return;
      }
      const part = step.rows;
      const outcome = await this.#sendPart(pass, part);
      if (outcome === undefined) continue;
      if (outcome.kind === "accepted") {
        if (outcome.accepted > 0) sizes.largest = Math.max(sizes.largest, part.length);
        await this.#settle(pass, outcome);
        continue;
      }
      if (outcome.kind === "partial") {
        // An all-or-nothing service takes the others without the named ones, and every other service takes them twice.
        const { rest, refused } = splitNamed(part, outcome);
        pass.lastRefused = refusedOf(outcome);
        await this.#refusals.setAside(pass, trial.refuseEach(refused));
        trial.add(rest);
        continue;
      }
      pass.lastRefused = outcome;
      const standing = part.map(inFlight);
      // Whether changes are counted is known once the other half was answered.
      if (outcome.short?.isEarly) {
        trial.postpone(standing);
        continue;
      }
      if (outcome.short !== undefined) sizes.short += 1;
      if (outcome.status === 413 || outcome.short !== undefined) sizes[part.length === 1 ? "alone" : "refused"] = true;
      if (outcome.short !== undefined && outcome.short.taken > 0) {
        // Of these only some were counted.
        const divided = { name: outcome.short.name, taken: outcome.short.taken, counted: 0, left: 2 };
        for (const half of trial.divide(standing)) pass.divided.set(partKeyOf(half), divided);
        continue;
      }
      const refusal = { status: outcome.status, words: wordsOf(outcome) };
      await this.#refusals.setAside(pass, trial.refuse(standing, refusal));
    }
    // A record that is too large by itself says nothing of the others, nor does one request that was counted short.
    if (sizes.refused && sizes.short !== 1 && !sizes.alone && sizes.largest > 0)
      await this.#learnChunk(pass, sizes.largest);
  }

  /**
   * Sends a part of a chunk. A part that the service fails at is not divided at once, because each of its rows may have been
   * taken: after its time it goes again in smaller parts.
   * @returns undefined where the service fails at this one record and takes others: it is set aside.
   */
  async #sendPart(pass: SendPass, part: readonly OutboxRow[]): Promise<Outcome | undefined> {
    const [row] = part;
    try {
      const outcome = await this.request.send(pass, part);
      if (outcome.kind === "accepted") {
        this.#hasFailed = false;
        if (part.length >= this.#chunkAfterFailure) this.#chunkAfterFailure *= 2;
      }
      return outcome;
    } catch (error) {
      if (row === undefined || !isFailure(error)) throw error;
      if (part.length > 1) {
        if (this.#hasFailed) this.#chunkAfterFailure = Math.ceil(part.length / 2);
        this.#hasFailed = true;
      }
      if (part.length > 1 || !(await this.#isAboutRow(pass, row))) throw error;
      pass.failure = error;
      const flightUntilMs = this.#context.clock.monotonicMs() + this.#options.timeoutMs;
      const { status = 0, words = "", message } = error;
      const failed = { ...row, flightRecord: row.record, flightUntilMs };
      const refused = { row: failed, status, words: status === 0 ? message : wordsOf({ status, words }) };
      await this.#refusals.setAside(pass, pass.trial.refuseEach([refused]));
      return undefined;
    }
  }

  /** The service has failed at this record alone. Does it take others, or has it failed at it while it took others before? */
  async #isAboutRow(pass: SendPass, row: OutboxRow): Promise<boolean> {
    if (pass.trial.hasAccepted || hasFailedAlone(row)) return true;
    const control = await pass.control();
    if (control === undefined) return false;
    const outcome = await this.request.send(pass, [control]);
    if (outcome.kind !== "accepted" || outcome.accepted === 0) return false;
    await this.#settle(pass, outcome);
    return true;
  }

  /** The pass has sent what there was. What it accepted proves what it refused. */
  async end(pass: SendPass): Promise<void> {
    const { suspects, hasAccepted } = pass.trial;
    if (suspects.length === 0) return;
    const isGeneral = suspects.some(({ status }) => !isOfRecord(status));
    if (!hasAccepted && isGeneral && this.#mustHold(pass)) throw this.#trouble(pass);
    const proven = hasAccepted ? pass.trial.accept() : suspects.filter(({ row }) => row.wasProven);
    await this.#prove(pass, proven);
  }

  /** Those of which nobody can tell yet whether they were taken are tried again beside what is accepted. */
  async #prove(pass: SendPass, refused: readonly RefusedAlone<OutboxRow>[]): Promise<void> {
    const proven = refused.filter(({ row }) => !pass.undecided.has(row.id));
    if (proven.length > 0) await this.#refusals.prove(pass, proven);
  }

  /** Something was accepted, or each record was refused by name. */
  async #settle(pass: SendPass, outcome: Outcome & { kind: "accepted" }): Promise<void> {
    const { status, accepted, named } = outcome;
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

  /** What was refused for the first time, or under a template that was never accepted, holds the feed. */
  #mustHold(pass: SendPass): boolean {
    const { acceptedAt } = loadFeed(this.#context.store, this.#options.rules.name);
    return acceptedAt === null || pass.trial.suspects.some(({ row }) => row.tries === 0);
  }

  /** Nothing that is sent is accepted: no record is blamed for it. */
  #trouble(pass: SendPass): ServiceError {
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

/** It was set aside after the service had failed at it alone, and has not changed since. */
function hasFailedAlone({ tries, flightRecord, flightUntilMs }: OutboxRow): boolean {
  return tries > 0 && flightRecord !== null && (flightUntilMs ?? 0) > 0;
}

/** The service may have acted, and has said nothing of when to come back: an internal error, a reset, no answer in time. */
function isFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.effect === "unknown" && error.retryAfterMs === undefined;
}
