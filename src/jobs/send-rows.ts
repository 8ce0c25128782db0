/*
 * Sends rows of a feed in one request and finds out which of them the service has: all, none, single ones, or nobody
 * knows. Every outcome is committed before the next request, so that a crash anywhere leaves each row acknowledged,
 * in doubt, refused or waiting, and never forgotten.
 */
import { hash } from "node:crypto";
import type { ServiceAnswer } from "../api/client.ts";
import { sendImport } from "../api/imports.ts";
import { UNREADABLE_WORDS } from "../domain/acceptance.ts";
import { BridgeError } from "../domain/errors.ts";
import { type FeedRules, referenceOf } from "../domain/feed.ts";
import { readImportResult } from "../domain/import-result.ts";
import { isLive } from "../domain/plan-feed.ts";
import { isoTime } from "../domain/ports.ts";
import { ServiceError } from "../domain/service-error.ts";
import {
  loadDoubtful,
  loadPresent,
  loadRefused,
  loadRefusedChildren,
  markInDoubt,
  markRefused,
  markRefusedWaiting,
  type OutboxRow,
  saveAcceptance,
  saveAcknowledged,
  saveDoubtEnd,
  saveRefused,
  unmarkInDoubt,
} from "../store/feed-outbox.ts";
import { loadFeed, loadKeyState, saveFeedChunk } from "../store/feeds.ts";
import { saveHold } from "../store/holds.ts";
import { saveQuarantined } from "../store/quarantine.ts";
import type { FeedContext } from "./absorb-feed.ts";
import { commit } from "./commit.ts";

/** So many single records refused, and none ever accepted: the template is wrong, not the records. */
const REFUSED_ALONE_MAX = 3;
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

type Refusal = Entry & { words: string };

type Outcome =
  /** `isHeld`: single records were refused, and the feed is held for it. */
  { kind: "accepted"; isHeld: boolean } | Refused;

interface Refused {
  kind: "refused";
  status: number;
  words: string;
}

export class SendRows {
  readonly #context: FeedContext;
  readonly #options: SendOptions;

  constructor(context: FeedContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Sends the rows, halving what is refused until each refused record stands alone: about 2·log2(n) requests for one
   * bad record. Throws where the feed or the way to the service is ill; rows are then waiting or in doubt.
   * @returns whether the feed is held now, because every record is refused.
   */
  async send(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    if (this.#options.rules.scope === "whole") return await this.#sendWhole(rows, counts, signal);
    const before = new Map(rows.map((row) => [row.id, row]));
    const pending: (readonly OutboxRow[])[] = [rows];
    const sizes = { refused: false, alone: false, largest: 0 };
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      const outcome = await this.#sendOnce(part, (standing) => standing.map(entryOf), counts, signal);
      if (outcome.kind === "accepted") {
        if (outcome.isHeld) return true;
        sizes.largest = Math.max(sizes.largest, part.length);
        continue;
      }
      if (outcome.status === 413) sizes[part.length === 1 ? "alone" : "refused"] = true;
      const [row] = part;
      if (part.length === 1 && row !== undefined) {
        // What a 4xx refuses alone was taken in no larger request either.
        const as = outcome.status < 400 ? row : (before.get(row.id) ?? row);
        if (await this.#blame([{ ...entryOf(as), words: wordsOf(outcome) }], counts, signal)) return true;
        continue;
      }
      const rest = outcome.status === 413 ? part : part.map(inDoubt);
      const half = Math.ceil(part.length / 2);
      // The stack's end goes first: the first half, so that rows keep their order of urgency.
      pending.push(rest.slice(half), rest.slice(0, half));
    }
    // A record that is too large by itself says nothing of the others.
    if (sizes.refused && !sizes.alone && sizes.largest > 0) await this.#learnChunk(sizes.largest, signal);
    return false;
  }

  /** Each request is the complete table: what was acknowledged, overlaid by what is owed. It is never split. */
  async #sendWhole(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#sendOnce(rows, (standing) => this.#wholeTable(standing), counts, signal);
    if (outcome.kind === "accepted") return outcome.isHeld;
    const what = `The service refuses the table as a whole (${wordsOf(outcome)}).`;
    await commit(this.#context, signal, () => this.#saveShapeHold(what));
    return true;
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
    throw new BridgeError(
      "table_missing",
      `${rules.name}: not one record of the whole table can be sent, so nothing is.`,
    );
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
      // Of several records some may have been taken before the bad one was met.
      await this.#end(rows, answer.status === 413 ? "nothing" : "over");
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
      throw new BridgeError("answer_unreadable", `POST ${rules.path} was answered with ${what}.`);
    }
    if (result.kind === "refused") {
      await this.#end(rows, "over");
      return { kind: "refused", status: answer.status, words: this.#context.client.hideSecrets(result.words) };
    }
    const refusals = result.rejected.flatMap(({ index, message }) => {
      const entry = entries[index];
      return entry === undefined
        ? []
        : [
            {
              ...entry,
              row: entry.row === undefined ? undefined : inDoubt(entry.row),
              words: this.#context.client.hideSecrets(message),
            },
          ];
    });
    await this.#acknowledge(rows, { refusals, told: result.told }, counts, signal);
    const isHeld = refusals.length > 0 && (await this.#blame(refusals, counts, signal));
    return { kind: "accepted", isHeld };
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
      await this.#end(rows, error instanceof ServiceError && error.effect === "none" ? "nothing" : "unknown");
      throw error;
    }
  }

  /** Before the request leaves: whatever happens to it, these rows will be sent again unless an answer settles them. */
  async #begin(rows: readonly OutboxRow[], signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    for (const some of inSteps(rows)) await commit(this.#context, signal, () => markInDoubt(store, some));
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
        if (effect === "nothing") unmarkInDoubt(store, some);
        else saveDoubtEnd(store, some, untilMs);
      });
    }
  }

  async #acknowledge(
    rows: readonly OutboxRow[],
    outcome: { refusals: readonly Refusal[]; told: "status" | "records" },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const refused = new Set(outcome.refusals.map(({ key }) => JSON.stringify(key)));
    const isRefused = ({ key }: OutboxRow) => refused.size > 0 && refused.has(JSON.stringify(key));
    const accepted = rows.filter((row) => !isRefused(row));
    for (const some of inSteps(accepted)) {
      await commit(this.#context, signal, () => this.#saveAccepted(some, outcome.told));
    }
    if (refused.size > 0) await this.#end(rows.filter(isRefused), "over");
    add(counts, "sent", accepted.length);
  }

  #saveAccepted(rows: readonly OutboxRow[], told: "status" | "records"): void {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const nowMs = clock.nowMs();
    const at = isoTime(nowMs);
    let liveChange = 0;
    let drops = 0;
    const live = rows.map((row) => {
      const before = loadKeyState(store, rules, row.key).sent?.live ?? false;
      const after = isLive(rules, row);
      liveChange += Number(after) - Number(before);
      if (before && !after && !row.approved) drops += 1;
      return { ...row, live: after };
    });
    saveAcknowledged(store, rules, live, at);
    for (const { key } of rules.parent === null ? [] : rows) this.#retryChildren(key);
    saveAcceptance(store, rules, { at, told, liveChange, drops, dropsSince: isoTime(nowMs - rules.guard.overMs) });
  }

  /** What was refused below a row that is on the site now may have been refused for its sake. */
  #retryChildren(key: readonly string[]): void {
    const { rules } = this.#options;
    for (const { id, key: child } of loadRefusedChildren(this.#context.store, rules, key))
      markRefusedWaiting(this.#context.store, rules, { id, reference: referenceOf(child) });
  }

  /**
   * Records that were refused each by itself go to quarantine; where none was ever accepted under this template and
   * they are too many, the template is to blame instead. True where the feed is held for that.
   */
  async #blame(refusals: readonly Refusal[], counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    const { store, clock, log } = this.#context;
    const { rules } = this.#options;
    const at = isoTime(clock.nowMs());
    const isHeld = await commit(this.#context, signal, () => {
      for (const { row, key, record, words } of refusals) {
        if (row === undefined) saveRefused(store, rules, { key, record, error: words, at });
        else markRefused(store, row, words);
        const digest = hash("sha256", record, "buffer");
        saveQuarantined(store, {
          kind: rules.name,
          reference: referenceOf(key),
          reason: words,
          payload: record,
          hash: digest,
          at,
        });
      }
      if (loadFeed(store, rules.name).acceptedAt !== null) return false;
      const refused = loadRefused(store, rules);
      if (refused.length < REFUSED_ALONE_MAX) return false;
      for (const row of refused) markRefusedWaiting(store, rules, { id: row.id, reference: referenceOf(row.key) });
      this.#saveShapeHold(`The service refuses every record (${refusals[0]?.words ?? ""}).`);
      return true;
    });
    if (isHeld)
      log.error(
        { feed: rules.name, words: refusals[0]?.words },
        `${rules.name}: held, because every record is refused.`,
      );
    else add(counts, "refused", refusals.length);
    return isHeld;
  }

  #saveShapeHold(what: string): void {
    const { store, clock } = this.#context;
    const { name } = this.#options.rules;
    const detail = `${what} Put imports.${name} right, or: erp-bridge resume ${name}`;
    saveHold(store, { area: name, reason: "shape", since: isoTime(clock.nowMs()), nextProbeAt: null, detail });
  }

  async #learnChunk(chunk: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { name } = this.#options.rules;
    await commit(this.#context, signal, () => saveFeedChunk(store, name, chunk));
    log.info({ feed: name, chunk }, `${name}: the service takes no more than ${chunk} of these records a request.`);
  }
}

function entryOf(row: OutboxRow): Entry {
  return { key: row.key, record: row.record, row };
}

/** The service may have taken it, and nothing of that request is still on its way. */
function inDoubt(row: OutboxRow): OutboxRow {
  return { ...row, doubtRecord: row.record, doubtUntilMs: 0 };
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

function inSteps(rows: readonly OutboxRow[]): (readonly OutboxRow[])[] {
  const steps: (readonly OutboxRow[])[] = [];
  for (let from = 0; from < rows.length; from += ROWS_PER_COMMIT) steps.push(rows.slice(from, from + ROWS_PER_COMMIT));
  return steps;
}

/** 400, 413 and 422 speak of the records; every other failure of the feed, the area or the way. */
function refusalOf(error: unknown): Refused | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { status } = error;
  if (status !== 400 && status !== 413 && status !== 422) return undefined;
  return { kind: "refused", status, words: error.words ?? "" };
}

function wordsOf({ status, words }: Refused): string {
  return words === "" ? String(status) : `${status}: ${words}`;
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}
