/*
 * Sends rows of a feed in one request and finds out which of them the service has: all, none, single ones, or nobody
 * knows. Every outcome is committed before the next request, so that a crash anywhere leaves each row acknowledged,
 * in doubt, refused or waiting, and never forgotten.
 */
import { hash } from "node:crypto";
import { m } from "../messages/messages.ts";
import { AnswerForms, type JudgedAnswer, type Learned, unknownForm } from "../pass/answer-forms.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import { deleteHold, saveHold } from "../pass/hold-rows.ts";
import { releaseQuarantined, saveQuarantinedRow } from "../pass/quarantine-rows.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { UNREADABLE_WORDS } from "../service/acceptance.ts";
import type { AnswerCounts, ShortCount } from "../service/answer-counts.ts";
import { ENDPOINT } from "../service/answer-form.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { sendImport } from "../service/imports.ts";
import { ServiceError } from "../service/service-error.ts";
import type { FeedContext } from "./absorb-feed.ts";
import { type FeedRules, referenceOf } from "./feed.ts";
import {
  countUnproven,
  hasDoubt,
  loadDoubtful,
  loadPresent,
  loadRefusedChildren,
  markInFlight,
  markRefused,
  markRefusedWaiting,
  type OutboxRow,
  saveAcceptance,
  saveAcknowledged,
  saveFlightEnd,
  savePassingRefusal,
  saveRefused,
  saveRetryTime,
  saveSetAside,
  unmarkInFlight,
  wakeSetAside,
} from "./feed-outbox.ts";
import { doubtAcknowledged, loadFeed, loadFeedsOfPath, loadKeyState, saveFeedChunk } from "./feed-rows.ts";
import { readImportResult } from "./import-result.ts";
import { isLive } from "./plan-feed.ts";
import {
  isOfRecord,
  type Refusal,
  RefusalTrial,
  type RefusedAlone,
  retryRefusedMs,
  setAsideMs,
} from "./refusal-trial.ts";

/** Requests of one retry of quarantined rows: about a dozen bad ones stand alone by then, and all good ones are through. */
const RETRY_REQUESTS_MAX = 20;
/** Quarantined rows that a retry did not get to are tried again after this time. */
const RETRY_REST_MS = 3_600_000;
/** Rows that are remembered; of others an acceptance says nothing about a new form. */
const UNUSUAL_MAX = 10_000;
/** Rows marked in one transaction; a table that is sent whole may have any number. */
const ROWS_PER_COMMIT = 2_000;

export interface SendOptions {
  rules: FeedRules;
  timeoutMs: number;
}

/** One record of a request. Without a row it is there because the service wants the table whole. */
interface Entry {
  key: readonly string[];
  record: string;
  row: OutboxRow | undefined;
}

type Named = Entry & { words: string };

type Outcome =
  /** `named`: records that the answer reports as refused. */
  | { kind: "accepted"; status: number; accepted: number; named: readonly Named[] }
  /** What became of the records that are not named is unknown. */
  | { kind: "partial"; status: number; words: string; named: readonly Named[] }
  | Refused;

type Refused = Refusal & {
  kind: "refused";
  code: "request_refused" | "redirected";
  /** The service has counted fewer records than were sent. `isEarly`: of a half, before the other one was sent. */
  short?: ShortCount & { isEarly: boolean };
};

export class SendRows {
  readonly #context: FeedContext;
  readonly #options: SendOptions;
  /** What this pass has found out of the service and of single rows. */
  #trial: RefusalTrial<OutboxRow>;
  #lastRefused: Refused | undefined;
  /** The rows of this pass as they were before their first request. */
  readonly #before = new Map<number, OutboxRow>();
  /** What the service failed with at a record alone, in this pass. */
  #failure: ServiceError | undefined;
  /** Halved where requests of several records fail one after the other, doubled by each acceptance of as many. */
  #chunkAfterFailure = Number.POSITIVE_INFINITY;
  readonly #forms: AnswerForms;
  /** Rows that an answer in a new form leaves in doubt. */
  readonly #unusual = new Set<number>();
  /** Rows of requests of which the service has counted only a part, in this pass. */
  readonly #short = new Set<number>();
  /** Halves of such requests that were not answered since, with what was counted before and after. */
  readonly #divided = new Map<string, { name: string; count: number; counted: number; left: number }>();
  /** The last request of several records failed: one failure alone passes by itself. */
  #hasFailed = false;

  constructor(context: FeedContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
    this.#forms = new AnswerForms(context, ENDPOINT.import(options.rules.path), "little");
    this.#trial = new RefusalTrial(0);
  }

  /** Whether the service has accepted something in this pass. */
  get hasAccepted(): boolean {
    return this.#trial.hasAccepted;
  }

  /** Records in a request after others have failed: one record may be what the service fails at. */
  get chunkAfterFailure(): number {
    return this.#chunkAfterFailure;
  }

  /** A pass begins: what the service says of a record counts together with what it says of others in the same pass. */
  begin(): void {
    const { store } = this.#context;
    this.#trial = new RefusalTrial(countUnproven(store, this.#options.rules, FAILURES_IN_ROW_MAX - 1));
    this.#lastRefused = undefined;
    this.#failure = undefined;
    this.#before.clear();
    this.#short.clear();
    this.#divided.clear();
  }

  /**
   * Sends the rows, halving what is refused until each refused record stands alone: about 2·log2(n) requests for one
   * bad record.
   * @param lastInQueue a row from elsewhere, to find out whether the service takes anything at all
   * @throws ServiceError where the feed or the way to the service is ill, or every record is refused; rows are then
   *   waiting or in doubt.
   */
  async send(
    rows: readonly OutboxRow[],
    lastInQueue: () => Promise<OutboxRow | undefined>,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#options.rules.scope === "whole") return await this.#sendWhole(rows, counts, signal);
    const trial = this.#trial;
    for (const row of rows) if (!this.#before.has(row.id)) this.#before.set(row.id, row);
    const sizes = { refused: false, alone: false, largest: 0, short: 0 };
    // The last part goes first. A record that the service has failed at goes by itself, after all others.
    for (const row of rows) if (hasFailedAlone(row)) trial.add([row]);
    const others = rows.filter((row) => !hasFailedAlone(row));
    if (others.length > 0) trial.add(others);
    for (;;) {
      const step = await trial.next(lastInQueue);
      if (step.kind === "done") break;
      if (step.kind === "trouble") {
        // Where nothing else is left, rows that were refused before just go on waiting: nothing good is kept back.
        const isLeft = trial.hasPending || (await lastInQueue()) !== undefined;
        if (isLeft || this.#mustHold()) throw this.#failure ?? this.#trouble();
        return;
      }
      const part = step.rows;
      const outcome = await this.#sendPart(part, lastInQueue, counts, signal);
      if (outcome === undefined) continue;
      if (outcome.kind === "accepted") {
        if (outcome.accepted > 0) sizes.largest = Math.max(sizes.largest, part.length);
        await this.#settle(outcome, counts, signal);
        continue;
      }
      if (outcome.kind === "partial") {
        // An all-or-nothing service takes the others without the named ones, and every other service takes them twice.
        const { rest, refused } = splitNamed(part, outcome);
        this.#lastRefused = refusedOf(outcome);
        await this.#setAside(trial.refuseEach(refused), signal);
        trial.add(rest);
        continue;
      }
      this.#lastRefused = outcome;
      const standing = part.map(inFlight);
      // Whether changes are counted is known once the other half was answered.
      if (outcome.short?.isEarly) {
        trial.postpone(standing);
        continue;
      }
      if (outcome.short !== undefined) sizes.short += 1;
      if (outcome.status === 413 || outcome.short !== undefined) sizes[part.length === 1 ? "alone" : "refused"] = true;
      if (outcome.short !== undefined && outcome.short.count > 0) {
        this.#divide(standing, outcome.short);
        continue;
      }
      const refusal = { status: outcome.status, words: wordsOf(outcome) };
      await this.#setAside(trial.refuse(standing, refusal), signal);
    }
    // A record that is too large by itself says nothing of the others, nor does one request that was counted short.
    if (sizes.refused && sizes.short !== 1 && !sizes.alone && sizes.largest > 0)
      await this.#learnChunk(sizes.largest, signal);
  }

  /**
   * Sends a part of a chunk. A part that the service fails at is not divided at once, because each of its rows may have been
   * taken: after its time it goes again in smaller parts.
   * @returns undefined where the service fails at this one record and takes others: it is set aside.
   */
  async #sendPart(
    part: readonly OutboxRow[],
    lastInQueue: () => Promise<OutboxRow | undefined>,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Outcome | undefined> {
    const [row] = part;
    try {
      const outcome = await this.#sendOnce(part, (standing) => standing.map(entryOf), counts, signal);
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
      if (part.length > 1 || !(await this.#isAboutRow(row, lastInQueue, counts, signal))) throw error;
      this.#failure = error;
      const failed = {
        ...row,
        doubtRecord: row.record,
        doubtUntilMs: this.#context.clock.monotonicMs() + this.#options.timeoutMs,
      };
      const { status = 0, words = "", message } = error;
      const refused = { row: failed, status, words: status === 0 ? message : wordsOf({ status, words }) };
      await this.#setAside(this.#trial.refuseEach([refused]), signal);
      return undefined;
    }
  }

  /** The service has failed at this record alone. Does it take others, or has it failed at it while it took others before? */
  async #isAboutRow(
    row: OutboxRow,
    lastInQueue: () => Promise<OutboxRow | undefined>,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#trial.hasAccepted || hasFailedAlone(row)) return true;
    const control = await lastInQueue();
    if (control === undefined) return false;
    const outcome = await this.#sendOnce([control], (standing) => standing.map(entryOf), counts, signal);
    if (outcome.kind !== "accepted" || outcome.accepted === 0) return false;
    await this.#settle(outcome, counts, signal);
    return true;
  }

  /** The pass has sent what there was. What it accepted proves what it refused. */
  async end(counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { suspects, hasAccepted } = this.#trial;
    if (suspects.length === 0) return;
    const isGeneral = suspects.some(({ status }) => !isOfRecord(status));
    if (!hasAccepted && isGeneral && this.#mustHold()) throw this.#trouble();
    await this.#prove(hasAccepted ? this.#trial.accept() : suspects.filter(({ row }) => row.wasProven), counts, signal);
  }

  /** What was refused for the first time, or under a template that was never accepted, holds the feed. */
  #mustHold(): boolean {
    const { acceptedAt } = loadFeed(this.#context.store, this.#options.rules.name);
    return acceptedAt === null || this.#trial.suspects.some(({ row }) => row.tries === 0);
  }

  /** Nothing that is sent is accepted: no record is blamed for it. */
  #trouble(): ServiceError {
    const { name, path } = this.#options.rules;
    const last = this.#lastRefused ?? { code: "request_refused" as const, status: 400, words: "" };
    const { status } = last;
    const { acceptedAt } = loadFeed(this.#context.store, name);
    const words = wordsOf(last);
    return new ServiceError(
      last.code,
      acceptedAt === null ? m.feeds.neverAccepted({ path, words, name }) : m.feeds.allRefused({ path, words }),
      { area: "imports", method: "POST", path, status, words: last.words, effect: "none" },
    );
  }

  /** Each request is the complete table: what was acknowledged, overlaid by what is owed. It is never split. */
  async #sendWhole(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    let outcome = await this.#sendOnce(rows, (standing) => this.#wholeTable(standing), counts, signal);
    if (outcome.kind === "partial") {
      const { named } = outcome;
      const names = new Set(named.map(({ key }) => JSON.stringify(key)));
      const isUnnamed = ({ key }: { key: readonly string[] }) => !names.has(JSON.stringify(key));
      const entriesOf = (standing: readonly OutboxRow[]) => this.#wholeTable(standing).filter(isUnnamed);
      outcome = await this.#sendOnce(rows.filter(isUnnamed), entriesOf, counts, signal);
      if (outcome.kind === "accepted") outcome = { ...outcome, named: [...named, ...outcome.named] };
      if (outcome.kind === "partial") outcome = refusedOf(outcome);
    }
    if (outcome.kind === "accepted" && outcome.accepted > 0) return await this.#settle(outcome, counts, signal);
    const refused: Refusal =
      outcome.kind === "refused" ? outcome : { status: outcome.status, words: outcome.named[0]?.words ?? "" };
    const { path } = this.#options.rules;
    throw new ServiceError(
      outcome.kind === "refused" ? outcome.code : "request_refused",
      m.feeds.wholeRefused({ path, words: wordsOf(refused) }),
      { area: "imports", method: "POST", path, ...refused, effect: "unknown" },
    );
  }

  /**
   * Tries quarantined rows again, in a few requests: the way back of what was refused in bad times. A refusal changes
   * nothing, whatever the cause.
   * @returns how many the service has taken.
   */
  async retry(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    // Before anything is asked: whatever happens on the way, the next try is not at once.
    const restAtMs = clock.monotonicMs() + RETRY_REST_MS;
    await commit(this.#context, signal, () => saveRetryTime(store, rows, { atMs: restAtMs, isTried: false }));
    const parts: (readonly OutboxRow[])[] = [rows];
    let taken = 0;
    for (let requests = 0; requests < RETRY_REQUESTS_MAX; requests++) {
      const part = parts.pop();
      if (part === undefined) break;
      const entriesOf = (standing: readonly OutboxRow[]) =>
        rules.scope === "whole" ? this.#wholeTable(standing) : standing.map(entryOf);
      const outcome = await this.#sendOnce(part, entriesOf, counts, signal);
      if (outcome.kind === "refused" && part.length > 1 && rules.scope !== "whole") {
        const half = Math.ceil(part.length / 2);
        parts.push(part.slice(half), part.slice(0, half));
        continue;
      }
      const named = new Set(outcome.kind === "refused" ? [] : outcome.named.map(({ row }) => row?.id));
      const isWhole = outcome.kind === "refused" || (outcome.kind === "partial" && rules.scope === "whole");
      const refused = isWhole ? part : part.filter(({ id }) => named.has(id));
      if (outcome.kind === "partial" && !isWhole) {
        parts.push(splitNamed(part, outcome).rest);
        taken -= part.length - refused.length;
      }
      taken += part.length - refused.length;
      await commit(this.#context, signal, () => {
        const nowMs = clock.monotonicMs();
        for (const row of refused)
          saveRetryTime(store, [row], { atMs: nowMs + retryRefusedMs(row.tries + 1), isTried: true });
      });
    }
    return taken;
  }

  #wholeTable(owing: readonly OutboxRow[]): Entry[] {
    const { store } = this.#context;
    const { rules } = this.#options;
    const seen = new Set(owing.map(({ key }) => JSON.stringify(key)));
    const isNew = ({ key }: { key: readonly string[] }) =>
      !seen.has(JSON.stringify(key)) && seen.add(JSON.stringify(key));
    // What may be on the site stays there until its own time to go: acknowledged rows, and those whose answer never came.
    const kept = [...loadPresent(store, rules), ...loadDoubtful(store, rules)].filter(isNew);
    const entries = [
      ...kept.map((entry) => ({ ...entry, row: undefined })),
      ...parentsFirst(owing.filter((row) => !row.gone)).map(entryOf),
    ];
    if (entries.length > 0) return entries;
    throw new BridgeError("table_missing", m.feeds.nothingSendable({ name: rules.name }));
  }

  async #sendOnce(
    rows: readonly OutboxRow[],
    entriesOf: (rows: readonly OutboxRow[]) => Entry[],
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { rules } = this.#options;
    const entries = entriesOf(rows);
    await this.#begin(rows, signal);
    add(counts, "requests", 1);
    const answer = await this.#ask(rows, entries, signal);
    if ("kind" in answer) {
      // Some may have been taken before the bad one was met, and a service out of order says no to what it has done.
      await this.#end(rows, "over");
      return answer;
    }
    const result = readImportResult(
      answer,
      entries.map(({ key }) => key),
      rules.result,
    );
    if (result.kind === "html" || result.kind === "cut") {
      await this.#end(rows, "unknown");
      const what = UNREADABLE_WORDS[result.kind];
      throw new BridgeError("answer_unreadable", m.feeds.answered({ path: rules.path, what }));
    }
    if (result.kind === "refused") {
      await this.#end(rows, "over");
      const words = this.#context.client.hideSecrets(result.words);
      return { kind: "refused", code: "request_refused", status: answer.status, words };
    }
    const named = result.rejected.flatMap(({ index, message }) => {
      const entry = entries[index];
      return entry === undefined
        ? []
        : [
            {
              ...entry,
              row: entry.row === undefined ? undefined : inFlight(entry.row),
              words: this.#context.client.hideSecrets(message),
            },
          ];
    });
    if (result.kind === "partial") {
      await this.#end(rows, "over");
      const words = this.#context.client.hideSecrets(result.words);
      return { kind: "partial", status: answer.status, words, named };
    }
    const counted = { counts: result.counts ?? {}, size: entries.length - named.length };
    const short = await this.#findShort(rows, counted, signal);
    if (short !== undefined && rules.scope !== "whole") {
      await this.#end(rows, "over");
      for (const { id } of rows) this.#short.add(id);
      const words = this.#context.client.hideSecrets(`${short.name}: ${short.count} of ${counted.size}`);
      return { kind: "refused", code: "request_refused", status: answer.status, words, short };
    }
    const acceptance =
      short === undefined || result.acceptance === undefined
        ? result.acceptance
        : { ...result.acceptance, doubt: { why: "counts" as const, words: `${short.name}: ${short.count}` } };
    const own = new Set(entries.flatMap(({ key }) => key));
    const judged = acceptance === undefined ? undefined : this.#forms.judge(answer.body, acceptance, own);
    if (judged?.isUnusual && !(await this.#waitsLongEnough(judged, signal))) {
      await this.#end(rows, "unknown");
      for (const { id } of rows) if (this.#unusual.size < UNUSUAL_MAX) this.#unusual.add(id);
      throw new ServiceError("answer_unknown", unknownForm("POST", rules.path, judged), {
        area: "imports",
        method: "POST",
        path: rules.path,
        effect: "unknown",
      });
    }
    await this.#acknowledge(rows, { refusals: named, told: result.told, judged, counted }, counts, signal);
    return { kind: "accepted", status: answer.status, accepted: entries.length - named.length, named };
  }

  /**
   * What says that the service has taken fewer records than were sent. Some count only what was changed by them: then both
   * halves of such a request together are counted less when they go again.
   */
  async #findShort(
    rows: readonly OutboxRow[],
    { counts, size }: { counts: AnswerCounts; size: number },
    signal: AbortSignal,
  ): Promise<(ShortCount & { isEarly: boolean }) | undefined> {
    const { log } = this.#context;
    const { name } = this.#options.rules;
    const divided = this.#divided.get(partKeyOf(rows));
    this.#divided.delete(partKeyOf(rows));
    if (divided !== undefined) {
      divided.counted += counts[divided.name] ?? size;
      divided.left -= 1;
      if (divided.left === 0 && divided.counted < divided.count)
        await commit(this.#context, signal, () => this.#forms.saveCountOfChanges(divided.name));
    }
    const isPart = rows.length > 0 && rows.every(({ id }) => this.#short.has(id));
    const short = this.#forms.findShort(counts, { size, isPart });
    if (short === undefined) return undefined;
    const said = `${short.name}: ${short.count}`;
    if (this.#short.size === 0) log.warn({ feed: name, size }, m.feeds.countedShort({ name, size, said }));
    return { ...short, isEarly: short.count === 0 && divided?.left === 1 };
  }

  /** The halves of a part of which only some rows were counted. */
  #divide(part: readonly OutboxRow[], { name, count }: ShortCount): void {
    const divided = { name, count, counted: 0, left: 2 };
    for (const half of this.#trial.divide(part)) this.#divided.set(partKeyOf(half), divided);
  }

  /** Nobody knows what an answer in a new form says, until all of them have been in it for long enough. */
  async #waitsLongEnough(judged: JudgedAnswer, signal: AbortSignal): Promise<boolean> {
    const { store, clock, log } = this.#context;
    const { name, path } = this.#options.rules;
    const detail = unknownForm("POST", path, judged);
    let isNews = false;
    const isUsual = await commit(this.#context, signal, () => {
      const learned = this.#forms.saveUnusual(judged.form);
      this.#doubtAccepted(learned);
      if (learned.isUsual) deleteHold(store, name, "answer");
      else
        isNews = saveHold(store, {
          area: name,
          reason: "answer",
          since: isoTime(clock.nowMs()),
          nextProbeAt: null,
          detail,
        });
      return learned.isUsual;
    });
    if (isNews) log.warn({ feed: name }, `${name}: ${detail}`);
    if (isUsual) log.info({ feed: name }, m.feeds.formAdopted({ name }));
    return isUsual;
  }

  /** Nothing waits any more: what was answered in a new form was settled. */
  async settleForms(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    if (!this.#forms.hasFresh || hasDoubt(store, this.#options.rules)) return;
    this.#unusual.clear();
    await commit(this.#context, signal, () => {
      this.#forms.dropFresh();
      deleteHold(store, this.#options.rules.name, "answer");
    });
  }

  /** Something was accepted, or each record was refused by name. */
  async #settle(
    outcome: Outcome & { kind: "accepted" },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const { status, accepted, named } = outcome;
    const rows = named.flatMap(({ row, words }) => (row === undefined ? [] : [{ row, words, status }]));
    if (accepted === 0 && named.length > 0) {
      this.#lastRefused = { kind: "refused", code: "request_refused", status, words: named[0]?.words ?? "" };
      return await this.#setAside(this.#trial.refuseEach(rows), signal);
    }
    const isFirst = !this.#trial.hasAccepted;
    const proven = [...this.#trial.accept(), ...rows];
    await this.#prove(proven, counts, signal);
    const kept = named.filter(({ row }) => row === undefined);
    if (kept.length > 0) {
      await commit(this.#context, signal, () => {
        const at = isoTime(clock.nowMs());
        const retryMs = clock.monotonicMs() + retryRefusedMs(0);
        for (const { key, record, words } of kept) {
          saveRefused(store, rules, { key, record, error: words, at, retryMs });
          this.#quarantine({ key, record, words }, at);
        }
      });
      add(counts, "refused", kept.length);
    }
    if (isFirst && countUnproven(store, rules, 1) > 0) {
      const options = { nowMs: clock.monotonicMs(), limit: ROWS_PER_COMMIT };
      await commitUntilDone(this.#context, signal, () => wakeSetAside(store, rules, options));
    }
  }

  /** Refused alone: the rows wait until something proves that it was about them. */
  async #setAside(refused: readonly RefusedAlone<OutboxRow>[], signal: AbortSignal): Promise<void> {
    if (refused.length === 0) return;
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => {
      const nowMs = clock.monotonicMs();
      for (const { row, status, words } of refused) {
        const retryMs = nowMs + setAsideMs(row.tries);
        saveSetAside(store, row, { error: words, retryMs, isForGood: isOfRecord(status) });
      }
    });
  }

  /** The service took others in the same pass: what it refuses for good goes to quarantine, what it may take later waits. */
  async #prove(
    refused: readonly RefusedAlone<OutboxRow>[],
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    if (refused.length === 0) return;
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => {
      const at = isoTime(clock.nowMs());
      for (const { row, status, words } of refused) {
        if (!isOfRecord(status)) {
          savePassingRefusal(store, row.id);
          continue;
        }
        const tries = row.wasProven ? row.tries + 1 : 0;
        const retryMs = clock.monotonicMs() + retryRefusedMs(tries);
        markRefused(store, this.#withDoubt(row, status), { error: words, retryMs, tries });
        this.#quarantine({ key: row.key, record: row.record, words }, at);
      }
    });
    add(counts, "refused", refused.filter(({ status }) => isOfRecord(status)).length);
  }

  /**
   * What may still be on the site of a record that the service has refused by right: where it never had the article, it has
   * nothing of it, and a row that goes away then needs no request. Where it has, the refusal need not be true.
   */
  #withDoubt(row: OutboxRow, status: number): OutboxRow {
    const { store } = this.#context;
    const isKnown = status < 300 || loadKeyState(store, this.#options.rules, row.key).sent !== undefined;
    return isKnown ? row : (this.#before.get(row.id) ?? row);
  }

  #quarantine({ key, record, words }: { key: readonly string[]; record: string; words: string }, at: string): void {
    const { store } = this.#context;
    saveQuarantinedRow(store, {
      kind: this.#options.rules.name,
      reference: referenceOf(key),
      reason: words,
      payload: record,
      hash: hash("sha256", record, "buffer"),
      at,
    });
  }

  /** The answer of a 2xx, or the refusal of the records. Every other failure is thrown, its rows settled before. */
  async #ask(
    rows: readonly OutboxRow[],
    entries: readonly Entry[],
    signal: AbortSignal,
  ): Promise<ServiceAnswer | Refused> {
    const { rules, timeoutMs } = this.#options;
    const records = entries.map(({ record }) => record);
    const request = this.#context.files?.bodyOf(records) ?? {
      body: `{${JSON.stringify(rules.property)}:[${records.join(",")}]}`,
    };
    try {
      return await sendImport(this.#context.client, {
        path: rules.path,
        ...request,
        totalTimeoutMs: timeoutMs,
        signal,
      });
    } catch (error) {
      const refused = refusalOf(error);
      if (refused !== undefined) return refused;
      await this.#end(rows, effectOf(error));
      throw error;
    }
  }

  /** Before the request leaves: whatever happens to it, these rows will be sent again unless an answer settles them. */
  async #begin(rows: readonly OutboxRow[], signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    for (const some of inSteps(rows)) await commit(this.#context, signal, () => markInFlight(store, some));
    store.secure();
  }

  /** The request has ended without an acceptance. */
  async #end(rows: readonly OutboxRow[], effect: "nothing" | "over" | "unknown"): Promise<void> {
    const { store, clock } = this.#context;
    const untilMs = effect === "unknown" ? clock.monotonicMs() + this.#options.timeoutMs : 0;
    // Not aborted by the caller's signal: the program may be stopping, and this is the last thing to write.
    const last = AbortSignal.timeout(2_000);
    for (const some of inSteps(rows)) {
      await commit(this.#context, last, () => {
        if (effect === "nothing") unmarkInFlight(store, some);
        else saveFlightEnd(store, some, untilMs);
      });
    }
  }

  async #acknowledge(
    rows: readonly OutboxRow[],
    outcome: {
      refusals: readonly Named[];
      told: "status" | "records";
      judged: JudgedAnswer | undefined;
      counted: { counts: AnswerCounts; size: number };
    },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const refused = new Set(outcome.refusals.map(({ key }) => JSON.stringify(key)));
    const isRefused = ({ key }: OutboxRow) => refused.size > 0 && refused.has(JSON.stringify(key));
    const accepted = rows.filter((row) => !isRefused(row));
    const { judged } = outcome;
    for (const [index, some] of inSteps(accepted).entries()) {
      await commit(this.#context, signal, () => {
        this.#saveAccepted(some, outcome.told);
        if (index === 0 && judged !== undefined && !judged.isUnusual) this.#saveUsual(accepted, judged);
        if (index === 0 && refused.size === 0) this.#forms.saveCounts(outcome.counted.counts, outcome.counted.size);
      });
    }
    if (refused.size > 0) await this.#end(rows.filter(isRefused), "over");
    add(counts, "sent", accepted.length);
  }

  /** What was left in doubt by another form and is accepted in the usual one: the other form was trouble. */
  #saveUsual(rows: readonly OutboxRow[], { form }: JudgedAnswer): void {
    const endsDoubt = rows.some(({ id }) => this.#unusual.delete(id));
    this.#doubtAccepted(this.#forms.saveUsual(form, { endsDoubt }));
    if (!endsDoubt) return;
    this.#unusual.clear();
    deleteHold(this.#context.store, this.#options.rules.name, "answer");
  }

  /** Inside a transaction: what was taken for an acceptance has turned out to be none. */
  #doubtAccepted({ doubtedSince: since }: Learned): void {
    if (since === undefined) return;
    const { store, clock, log } = this.#context;
    const { name, path } = this.#options.rules;
    const because = String(m.feeds.outageAccepted);
    doubtAcknowledged(store, loadFeedsOfPath(store, path), { since, at: isoTime(clock.nowMs()), because });
    log.warn({ feed: name, since }, m.feeds.acceptancesDoubted({ name }));
  }

  #saveAccepted(rows: readonly OutboxRow[], told: "status" | "records"): void {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const nowMs = clock.nowMs();
    const at = isoTime(nowMs);
    const accepted = rows.map((row) => ({ ...row, live: isLive(rules, row) }));
    const before = saveAcknowledged(store, rules, accepted, at);
    const liveChange = accepted.filter(({ live }) => live).length - before.size;
    const drops = accepted.filter(({ live, approved }, index) => before.has(index) && !live && !approved).length;
    for (const { key, isRefused } of rows) if (isRefused) releaseQuarantined(store, [rules.name], referenceOf(key));
    for (const { key } of rules.parent === null ? [] : rows) this.#retryChildren(key);
    saveAcceptance(store, rules, { at, told, liveChange, drops, dropsSince: isoTime(nowMs - rules.guard.overMs) });
  }

  /** What was refused below a row that is on the site now may have been refused for its sake. */
  #retryChildren(key: readonly string[]): void {
    const { rules } = this.#options;
    for (const { id, key: child } of loadRefusedChildren(this.#context.store, rules, key))
      markRefusedWaiting(this.#context.store, rules, { id, reference: referenceOf(child) });
  }

  async #learnChunk(chunk: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { name } = this.#options.rules;
    await commit(this.#context, signal, () => saveFeedChunk(store, name, chunk));
    log.info({ feed: name, chunk }, m.feeds.chunkLearned({ name, chunk }));
  }
}

function entryOf(row: OutboxRow): Entry {
  return { key: row.key, record: row.record, row };
}

/** The service may have taken it, and nothing of that request is still on its way. */
function inFlight(row: OutboxRow): OutboxRow {
  return { ...row, doubtRecord: row.record, doubtUntilMs: 0 };
}

function splitNamed(
  rows: readonly OutboxRow[],
  { named, status }: Outcome & { kind: "partial" },
): { rest: OutboxRow[]; refused: RefusedAlone<OutboxRow>[] } {
  const refused = named.flatMap(({ row, words }) => (row === undefined ? [] : [{ row, words, status }]));
  const ids = new Set(refused.map(({ row }) => row.id));
  return { rest: rows.filter(({ id }) => !ids.has(id)).map(inFlight), refused };
}

function refusedOf({ status, words }: Outcome & { kind: "partial" }): Refused {
  return { kind: "refused", code: "request_refused", status, words };
}

/** The same rows, each after the row that must be on the site before it; rows that are their own ancestors come as they are. */
export function parentsFirst(rows: readonly OutboxRow[]): OutboxRow[] {
  const byKey = new Map(rows.flatMap((row) => (row.key.length === 1 ? [[row.key[0] ?? "", row] as const] : [])));
  const ordered = new Set<OutboxRow>();
  for (const row of rows) {
    const above: OutboxRow[] = [];
    const path = new Set<OutboxRow>();
    for (let at: OutboxRow | undefined = row; at !== undefined && !ordered.has(at) && !path.has(at); ) {
      path.add(at);
      above.push(at);
      at = at.parent === null ? undefined : byKey.get(at.parent);
    }
    for (const one of above.reverse()) ordered.add(one);
  }
  return [...ordered];
}

function partKeyOf(rows: readonly OutboxRow[]): string {
  return `${rows[0]?.id} ${rows.length}`;
}

function inSteps(rows: readonly OutboxRow[]): (readonly OutboxRow[])[] {
  const steps: (readonly OutboxRow[])[] = [];
  for (let from = 0; from < rows.length; from += ROWS_PER_COMMIT) steps.push(rows.slice(from, from + ROWS_PER_COMMIT));
  return steps;
}

/** It was set aside after the service had failed at it alone, and has not changed since. */
function hasFailedAlone({ tries, doubtRecord, doubtUntilMs }: OutboxRow): boolean {
  return tries > 0 && doubtRecord !== null && (doubtUntilMs ?? 0) > 0;
}

/** Only a request that nobody has answered and that found no connection has certainly done nothing. */
function effectOf(error: unknown): "nothing" | "over" | "unknown" {
  if (!(error instanceof ServiceError) || error.effect === "unknown") return "unknown";
  return error.status === undefined ? "nothing" : "over";
}

/** The service may have acted, and has said nothing of when to come back: an internal error, a reset, no answer in time. */
function isFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.effect === "unknown" && error.retryAfterMs === undefined;
}

/** Most refusals may be about a record; credentials, payment, patience and an ill service are about the feed or the way. */
function refusalOf(error: unknown): Refused | undefined {
  if (!(error instanceof ServiceError) || error.status === undefined) return undefined;
  const { code, status } = error;
  if (code !== "request_refused" && code !== "redirected") return undefined;
  return { kind: "refused", code, status, words: error.words ?? "" };
}

function wordsOf({ status, words }: Refusal): string {
  return words === "" ? String(status) : `${status}: ${words}`;
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}
