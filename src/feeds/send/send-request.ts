/*
 * Sends rows of a feed in one request and finds out which of them the service has accepted: all, none, single ones, or an
 * unknown part. After a crash each row is still acknowledged, in flight, refused or waiting.
 */

import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { AnswerForms, type JudgedAnswer, type Learned, unknownForm } from "../../pass/answer-forms.ts";
import { commit } from "../../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../../pass/hold-rows.ts";
import { releaseRow } from "../../pass/quarantine-rows.ts";
import { BridgeError } from "../../platform/errors.ts";
import { isoTime } from "../../platform/ports.ts";
import type { ServiceAnswer } from "../../service/client.ts";
import { sendImport, turnOfImport } from "../../service/imports.ts";
import { UNREADABLE_WORDS } from "../../service/outcome/acceptance.ts";
import { countsBeside, findFewChanges, findShortCount, unknownByCount } from "../../service/outcome/answer-counts.ts";
import { ENDPOINT } from "../../service/outcome/answer-form.ts";
import { readImportResult, withDoubt } from "../../service/outcome/import-result.ts";
import { saysYes } from "../../service/outcome/unknown-outcome.ts";
import { learnCounts, learnLack, takenBy } from "../../service/outcome/usual-counts.ts";
import { ServiceError } from "../../service/service-error.ts";
import { invalidateAcknowledged, loadFeedsOfPath } from "../acknowledged-rows.ts";
import { count, type FeedContext } from "../diff/absorb-feed.ts";
import { isLive } from "../diff/plan-feed.ts";
import { loadKnownKeys, type OutboxRow, saveAcceptance, saveAcknowledged } from "../feed-outbox.ts";
import { saveOpenTables } from "../feed-rows.ts";
import { namesOf } from "../record-identity.ts";
import { referenceOf } from "../row-reference.ts";
import { CountProbe, isPartOfShort } from "./count-probe.ts";
import { hasUnknownOutcome, loadSentOtherwise, loadUnknownOutcomes } from "./flight-rows.ts";
import { type FlightEnd, Flights } from "./flights.ts";
import { LackingChanges, type ReadChanges } from "./lacking-changes.ts";
import { effectOf, isAboutRows, namedOf, refusalOf, withNamed } from "./read-refusal.ts";
import { retryChildren, retryOfNew } from "./refused-rows.ts";
import type { Counted, Entry, Named, Outcome, Refused, SendOptions, SendPass, Short } from "./send-pass.ts";
import { forgetAbsent } from "./whole-rows.ts";

/** Limit of the remembered rows; an acceptance of other rows is no evidence about a new form. */
const UNUSUAL_MAX = 10_000;
/** Number of rows that suffices to see which key column distinguishes them. */
const KNOWN_KEYS = 200;

interface Sent {
  rows: readonly OutboxRow[];
  entries: readonly Entry[];
  answer: ServiceAnswer;
}

export class SendRequest {
  readonly flights: Flights;
  readonly lacking: LackingChanges;
  readonly #context: FeedContext;
  readonly #options: SendOptions;
  readonly #forms: AnswerForms;
  readonly #counts: CountProbe;
  /** Rows whose last request was answered in a new form; of another process, all that may be such rows. */
  readonly #unusual = new Set<number>();
  #isRecalled = false;

  constructor(context: FeedContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
    this.#forms = new AnswerForms(context, ENDPOINT.import(options.rules.path), "little");
    const ask = (entry: Entry, signal: AbortSignal) => this.#ask([], [entry], signal);
    this.#counts = new CountProbe(context, { rules: options.rules, forms: this.#forms, ask });
    this.lacking = new LackingChanges(context, options.rules, this.#forms);
    this.flights = new Flights(context, options.timeoutMs);
  }

  /** @throws ServiceError where the feed or the connection fails; the rows are then waiting, or their outcome is unknown */
  async send(
    pass: SendPass,
    rows: readonly OutboxRow[],
    entries: readonly Entry[] = rows.map(entryOf),
  ): Promise<Outcome> {
    await this.#saveOpenTables("+ 1", pass.signal);
    await this.flights.begin(rows, pass.signal);
    count(pass, "requests", 1);
    const { rules } = this.#options;
    const mayBeDenied = () => rules.scope !== "whole" && isAboutRows(pass, rows);
    const answer = await this.#ask(rows, entries, pass.signal, mayBeDenied);
    const { hideSecrets } = this.#context.client;
    const outcome =
      "kind" in answer
        ? withNamed(answer, entries, { rules, hideSecrets, names: () => this.#namesOf(entries) })
        : await this.#read(pass, { rows, entries, answer });
    // Some may have been accepted before the bad one, or the service may report an error for what it has done.
    if (outcome.kind !== "accepted") await this.#end(rows, "over", pass.signal);
    else if (outcome.accepted > 0) await this.#saveOpenTables("* 0", pass.signal);
    return outcome;
  }

  /** To be called before a pass marks rows as in flight: reads what another process has left. */
  recall(): void {
    if (this.#isRecalled) return;
    this.#isRecalled = true;
    if (!this.#isHeld) return;
    for (const id of loadUnknownOutcomes(this.#context.store, this.#options.rules, UNUSUAL_MAX)) this.#unusual.add(id);
  }

  get #isHeld(): boolean {
    const { store } = this.#context;
    return loadHoldsOf(store, this.#options.rules.name).some(({ reason }) => reason === "answer");
  }

  /** The request has ended without an acceptance, and was not answered in a new form. */
  async #end(rows: readonly OutboxRow[], how: FlightEnd, signal: AbortSignal): Promise<void> {
    for (const { id } of rows) this.#unusual.delete(id);
    await this.flights.end(rows, how, signal);
  }

  /** In its own transaction: a crash before it makes the table be sent again. */
  async #saveOpenTables(change: Parameters<typeof saveOpenTables>[2], signal: AbortSignal): Promise<void> {
    const { rules } = this.#options;
    if (rules.scope !== "whole") return;
    await this.flights.flush(signal);
    await commit(this.#context, signal, () => saveOpenTables(this.#context.store, rules, change));
  }

  /** Returns a 2xx answer, or a refusal of the records. Other failures are thrown after their rows were settled. */
  async #ask(
    rows: readonly OutboxRow[],
    entries: readonly Entry[],
    signal: AbortSignal,
    mayBeDenied = () => false,
  ): Promise<ServiceAnswer | Refused> {
    const { client, files } = this.#context;
    const { rules, timeoutMs } = this.#options;
    const records = entries.map(({ record }) => record);
    const request = files?.bodyOf(records) ?? { body: `{${JSON.stringify(rules.property)}:[${records.join(",")}]}` };
    try {
      const turn = await turnOfImport(client, { path: rules.path, signal });
      this.flights.secureMarks();
      return await sendImport(client, { path: rules.path, ...request, totalTimeoutMs: timeoutMs, signal, turn });
    } catch (error) {
      const refused = refusalOf(error, mayBeDenied());
      if (refused !== undefined) return refused;
      const end = effectOf(error);
      await this.#end(rows, end, signal);
      if (end === "nothing") await this.#saveOpenTables("- 1", signal);
      throw error;
    }
  }

  #refused(status: number, words: string): Refused {
    return { kind: "refused", code: "request_refused", status, words: this.#context.client.hideSecrets(words) };
  }

  async #read(pass: SendPass, { rows, entries, answer }: Sent): Promise<Outcome> {
    const { hideSecrets } = this.#context.client;
    const { rules } = this.#options;
    const { status } = answer;
    const keys = this.#namesOf(entries);
    const result = readImportResult(answer, keys, rules.result);
    if (result.kind === "html" || result.kind === "cut") {
      await this.#end(rows, "unknown", pass.signal);
      const what = UNREADABLE_WORDS[result.kind];
      throw new BridgeError("answer_unreadable", m.feeds.answered({ path: rules.path, what }));
    }
    if (result.kind === "error") return this.#refused(status, result.words);
    const named = result.rejected.length === 0 ? [] : namedOf(result.rejected, entries, hideSecrets);
    if (result.kind === "partial") return { kind: "partial", status, words: hideSecrets(result.words), named };
    const { acceptance, reportedBy, counts = {} } = result;
    const size = entries.length - named.length;
    const isYes = acceptance !== undefined && saysYes(acceptance.answer);
    const at = isoTime(this.#context.clock.nowMs());
    const counted = { counts: countsBeside(counts, named.length), size, isYes, at };
    const mayLack = acceptance !== undefined && rules.scope !== "whole";
    const isFew = findFewChanges(this.#forms.counts, counted.counts, size) !== undefined;
    const changes = mayLack && (isFew || this.lacking.hadAny) ? await this.lacking.read(pass, rows, counted) : {};
    const { found, short, lack } = await this.#findShort(pass, rows, { counted, changes, mayLack });
    if (short !== undefined && (short.parts !== undefined || (lack !== undefined && short.isEarly)))
      return this.#countedShort(status, short, size);
    // A count that no other answer has explained may be usual: a person can accept it.
    if (short !== undefined && !short.isFirst && lack === undefined && rules.scope !== "whole") {
      if (mayLack && !isPartOfShort(pass, rows)) await this.lacking.note(pass, rows, short);
      for (const { id } of rows) pass.short.set(id, short.name);
      return this.#countedShort(status, short, size);
    }
    const sent = entries.map(({ record, row }, at) => {
      const mayBeThere = () => row === undefined || this.#counts.mayBeThere(pass, row);
      return { record, key: keys[at] ?? [], mayBeThere };
    });
    const judged =
      acceptance &&
      this.#forms.judge(withDoubt(acceptance, { short, sent: entries }), new Set(keys.flat()), {
        ...{ sent, isShort: lack !== undefined },
      });
    // An unusual report about some of the records is resolved by sending these records separately.
    const odd = judged?.odd.length ?? 0;
    if (judged !== undefined && odd > 0 && odd < entries.length && rules.scope !== "whole")
      return this.#refused(status, judged.words);
    if (judged?.isUnusual && !(await this.#isAdopted(judged, pass.signal)))
      throw await this.#unusualAnswer(judged, rows, pass.signal);
    await this.#accept(pass, rows, { named, reportedBy, judged, counted, lack: lack ?? changes.lacks });
    if (found === undefined && named.length === 0) {
      pass.lastAccepted = entries.at(-1);
      if (this.#counts.openCount !== undefined) await this.#counts.settleOpen(pass);
    }
    return { kind: "accepted", status, accepted: size, named };
  }

  #countedShort(status: number, short: Short, size: number): Refused {
    return { ...this.#refused(status, `${unknownByCount(short).words} of ${size}`), short };
  }

  /**
   * `found`: a count smaller than the request; `short`: the same, unless it means that nothing has changed; `lack`: its name
   * where it is one of fewer changes than there were.
   */
  async #findShort(
    pass: SendPass,
    rows: readonly OutboxRow[],
    { counted, changes, mayLack }: { counted: Counted; changes: ReadChanges; mayLack: boolean },
  ): Promise<{ found?: Short | undefined; short?: Short | undefined; lack?: string }> {
    if (changes.short !== undefined) {
      this.#warnOf(pass, changes.short, counted);
      return { found: changes.short, short: changes.short, lack: changes.short.name };
    }
    if (changes.isAll) return {};
    // The full evaluation is needed only after another short count, of which this request may be a part.
    const found: Short | undefined =
      pass.short.size > 0
        ? await this.#counts.findShort(pass, rows, counted)
        : findShortCount(this.#forms.counts, counted.counts, { ...counted, isPart: false });
    const isSame = found?.mayBeSame && (await this.#isSame(pass, rows, found));
    if (found !== undefined && !isSame) {
      this.#warnOf(pass, found, counted);
      return { found, short: found };
    }
    // It may be known only now that changes are counted.
    if (mayLack && (isSame || pass.short.size > 0)) {
      const { short } = await this.lacking.read(pass, rows, counted, { isSettled: true });
      if (short !== undefined) return { found: short, short, lack: short.name };
    }
    return { found };
  }

  /** An answer that was read is no lost one, also where the service does not answer what was asked about it. */
  async #isSame(pass: SendPass, rows: readonly OutboxRow[], found: Short): Promise<boolean> {
    try {
      return await this.#counts.isSame(pass, rows, found);
    } catch (error) {
      const uncounted = rows.filter((row) => !this.#counts.mayBeThere(pass, row));
      await this.#end(uncounted, "over", pass.signal);
      throw error;
    }
  }

  #warnOf(pass: SendPass, short: Short, { size }: Counted): void {
    if (pass.short.size > 0 || pass.late.size > 0) return;
    const { name } = this.#options.rules;
    const said = unknownByCount(short).words;
    this.#context.log.warn({ feed: name, size }, m.feeds.countedShort({ name, size, said }));
  }

  #namesOf(entries: readonly Entry[]): readonly (readonly string[])[] {
    const { store } = this.#context;
    const { rules } = this.#options;
    const known = { table: "feed_sent", after: undefined, limit: KNOWN_KEYS } as const;
    return namesOf(rules, entries, () => loadKnownKeys(store, rules, known));
  }

  /** Whether a new form has become usual; until then the outcome of its answers is unknown. */
  async #isAdopted(judged: JudgedAnswer, signal: AbortSignal): Promise<boolean> {
    const { store, clock, log } = this.#context;
    const { name, path } = this.#options.rules;
    const detail = unknownForm("POST", path, judged);
    let isNews = false;
    const isUsual = await commit(this.#context, signal, () => {
      const learned = this.#forms.saveUnusual(judged.form);
      this.#doubtAccepted(learned);
      if (learned.isUsual) deleteHold(store, name, "answer");
      else {
        const since = isoTime(clock.nowMs());
        isNews = saveHold(store, { area: name, reason: "answer", since, nextProbeAt: null, detail });
      }
      return learned.isUsual;
    });
    if (isNews) log.warn({ feed: name }, m.common.about({ subject: name, text: detail }));
    if (isUsual) log.info({ feed: name }, m.feeds.formAdopted({ name }));
    return isUsual;
  }

  async #unusualAnswer(judged: JudgedAnswer, rows: readonly OutboxRow[], signal: AbortSignal): Promise<ServiceError> {
    const { path } = this.#options.rules;
    await this.flights.end(rows, "unknown", signal);
    for (const { id } of rows) if (this.#unusual.size < UNUSUAL_MAX) this.#unusual.add(id);
    const effect = { area: "imports", method: "POST", path, effect: "unknown" } as const;
    return new ServiceError("answer_unknown", unknownForm("POST", path, judged), effect);
  }

  /** Drops new forms once no outcome is unknown: their rows were settled, by this process or a former one. */
  async settleForms(signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const { rules } = this.#options;
    // New forms may be dropped before the hold: their endpoint has got a usual form, or another feed has settled them.
    if (!(this.#forms.hasFresh || this.#isHeld) || hasUnknownOutcome(store, rules)) return;
    this.#unusual.clear();
    await commit(this.#context, signal, () => {
      this.#forms.dropFresh();
      if (this.lacking.hadAny) this.lacking.clear();
      deleteHold(store, rules.name, "answer");
    });
  }

  async #accept(
    pass: SendPass,
    rows: readonly OutboxRow[],
    outcome: {
      named: readonly Named[];
      reportedBy: "status" | "records";
      judged: JudgedAnswer | undefined;
      counted: Counted;
      /** A count of fewer changes than there were. */
      lack: string | undefined;
    },
  ): Promise<void> {
    const { named, reportedBy, judged, counted, lack } = outcome;
    const refused = new Set(named.map(({ key }) => JSON.stringify(key)));
    const isRefused = ({ key }: OutboxRow) => refused.size > 0 && refused.has(JSON.stringify(key));
    const accepted = rows.filter((row) => !isRefused(row));
    const taught = this.#withoutExplained(rows, counted);
    const save = (some: readonly OutboxRow[]) => this.#saveAccepted(some, reportedBy);
    const also = () => {
      if (judged !== undefined && !judged.isUnusual) this.#saveUsual(accepted, judged);
      if (this.lacking.hadAny) this.lacking.forget(accepted);
      if (refused.size === 0) this.#saveCounts(taught);
      if (lack !== undefined) this.#forms.saveCounts((known) => learnLack(known, lack));
    };
    const mayWait =
      refused.size === 0 && judged?.isUnusual !== true && this.#forms.isSettled && this.#unusual.size === 0;
    if (accepted.length > 0) await this.flights.accept({ rows: accepted, save, also }, mayWait, pass.signal);
    if (refused.size > 0) await this.flights.end(rows.filter(isRefused), "over", pass.signal);
    count(pass, "sent", accepted.length);
  }

  /**
   * Where a row answered in a new form is accepted in the usual one, the new form was an outage. The same if another row is
   * accepted and the last answer to each of those rows was no longer in a new form.
   */
  #saveUsual(rows: readonly OutboxRow[], { form }: JudgedAnswer): void {
    // Which of the rows were left out where too few changes were counted is shown by counts alone.
    const lacking = new Set(this.lackingAmong(rows));
    if (this.lacking.hadAny) this.lacking.forget(rows);
    const answered = rows.filter((row) => this.#unusual.delete(row.id) && !lacking.has(row));
    if (answered.length > 0) this.#forgetUnusual();
    const isOver =
      this.#unusual.size === 0 &&
      !(this.lacking.hadAny && this.lacking.isOpen) &&
      deleteHold(this.#context.store, this.#options.rules.name, "answer");
    this.#doubtAccepted(this.#forms.saveUsual(form, { endsDoubt: answered.length > 0 || isOver }));
  }

  /** The rows of requests of which too few changes were counted. */
  lackingAmong<R extends { id: number }>(rows: readonly R[]): R[] {
    return this.lacking.hadAny ? this.lacking.among(rows) : [];
  }

  #forgetUnusual(): void {
    const open = this.lackingAmong([...this.#unusual].map((id) => ({ id })));
    this.#unusual.clear();
    for (const { id } of open) this.#unusual.add(id);
  }

  /**
   * The site may have the values already, where an answer was lost or nothing is acknowledged: that none was counted, or one beside lost answers,
   * shows nothing of the count. Larger counts are kept, because what was accepted with them may have to go again.
   */
  #withoutExplained(rows: readonly OutboxRow[], counted: Counted): Counted {
    const { counts, size } = counted;
    const lower = Object.entries(counts).filter(([name, count]) => count <= 1 && takenBy(name, count, size) < size);
    if (lower.length === 0) return counted;
    const isLost = rows.some(({ flightRecord }) => flightRecord !== null);
    const isKnown = !isLost && loadSentOtherwise(this.#context.store, this.#options.rules, rows).size === rows.length;
    const explained = new Set(lower.flatMap(([name, count]) => (isLost || (count === 0 && !isKnown) ? name : [])));
    return { ...counted, counts: Object.fromEntries(Object.entries(counts).filter(([name]) => !explained.has(name))) };
  }

  #saveCounts({ counts, size, at }: Counted): void {
    const since = this.#forms.saveCounts((known) => learnCounts(known, counts, size, at));
    this.#doubtSince(since, m.feeds.shortAccepted, m.feeds.shortDoubted);
  }

  #doubtAccepted({ unknownSince }: Learned): void {
    this.#doubtSince(unknownSince, m.feeds.outageAccepted, m.feeds.acceptancesDoubted);
  }

  /** Invalidates acknowledgements whose answers turned out to be no acceptances. Inside a transaction. */
  #doubtSince(since: string | undefined, because: Message, news: typeof m.feeds.shortDoubted): void {
    if (since === undefined) return;
    const { store, clock, log } = this.#context;
    const { name, path } = this.#options.rules;
    invalidateAcknowledged(store, loadFeedsOfPath(store, path), { since, at: isoTime(clock.nowMs()), because });
    log.warn({ feed: name, since }, news({ name }));
  }

  #saveAccepted(rows: readonly OutboxRow[], reportedBy: "status" | "records"): void {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const at = isoTime(clock.nowMs());
    const accepted = rows.map((row) => ({ id: row.id, gone: row.gone, live: isLive(rules, row) }));
    if (rules.dependents.length > 0) retryOfNew(store, rules, accepted);
    const before = saveAcknowledged(store, rules, accepted, at);
    if (rules.scope === "whole") forgetAbsent(store, rules, at);
    const liveChange = accepted.filter(({ live }) => live).length - before.size;
    const drops = new Map<string, number>();
    for (const [index, { id, approved, droppedAt }] of rows.entries()) {
      if (accepted[index]?.live || approved) continue;
      // What was on sale is acknowledged, or may be by a request whose outcome is unknown.
      if (!before.has(id) && droppedAt === null) continue;
      const time = droppedAt ?? at;
      drops.set(time, (drops.get(time) ?? 0) + 1);
    }
    for (const { key, isRefused } of rows) if (isRefused) releaseRow(store, rules.name, referenceOf(key));
    for (const { key } of rules.parent === null ? [] : rows) retryChildren(store, rules, key);
    saveAcceptance(store, rules, { at, reportedBy, liveChange, drops });
  }
}

export function entryOf(row: OutboxRow): Entry {
  return { key: row.key, record: row.record, row };
}
