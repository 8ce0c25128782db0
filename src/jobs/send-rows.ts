/*
 * Sends rows of a feed in one request and finds out which of them the service has: all, none, single ones, or nobody
 * knows. Every outcome is committed before the next request, so that a crash anywhere leaves each row acknowledged,
 * in doubt, refused or waiting, and never forgotten.
 */
import { hash } from "node:crypto";
import type { sendImport } from "../api/imports.ts";
import { BridgeError } from "../domain/errors.ts";
import type { FeedRules } from "../domain/feed.ts";
import { readImportResult } from "../domain/import-result.ts";
import { isLive } from "../domain/plan-feed.ts";
import { isoTime } from "../domain/ports.ts";
import { ServiceError } from "../domain/service-error.ts";
import {
  loadFeed,
  loadKeyState,
  loadRefused,
  loadWholeRecords,
  markInDoubt,
  markRefused,
  markRefusedWaiting,
  type OutboxRow,
  saveAcceptance,
  saveAcknowledged,
  saveFeedChunk,
  unmarkInDoubt,
} from "../store/feeds.ts";
import { saveHold } from "../store/holds.ts";
import { releaseQuarantined, saveQuarantined } from "../store/quarantine.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** So many single records refused, and none ever accepted: the template is wrong, not the records. */
const REFUSED_ALONE_MAX = 3;

export interface SendOptions {
  rules: FeedRules;
  timeoutMs: number;
  sendImport: typeof sendImport;
}

type Outcome =
  | { kind: "accepted"; rejected: { index: number; message: string }[]; told: "status" | "records" }
  | { kind: "refused"; status: number; words: string };

export class SendRows {
  readonly #context: JobContext;
  readonly #options: SendOptions;

  constructor(context: JobContext, options: SendOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Sends the rows, halving what is refused until each refused record stands alone: about 2·log2(n) requests for one
   * bad record. Throws where the feed or the way to the service is ill; rows are then waiting or in doubt.
   */
  async send(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { rules } = this.#options;
    const pending: (readonly OutboxRow[])[] = [rows];
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      const outcome = await this.#sendOnce(part, counts, signal);
      if (outcome.kind === "accepted") continue;
      if (part.length === 1 || rules.scope === "whole") {
        const isHeld = await this.#refuse(part, outcome, counts, signal);
        if (isHeld) return;
        continue;
      }
      const half = Math.ceil(part.length / 2);
      if (outcome.status === 413) await this.#learnChunk(half, signal);
      // The stack's end goes first: the first half, so that rows keep their order of urgency.
      pending.push(part.slice(half), part.slice(0, half));
    }
  }

  async #sendOnce(rows: readonly OutboxRow[], counts: Record<string, number>, signal: AbortSignal): Promise<Outcome> {
    const { store, client, clock } = this.#context;
    const { rules, timeoutMs } = this.#options;
    const body = this.#bodyOf(rows);
    // Before the request leaves: whatever happens to it, these rows will be sent again unless an answer settles them.
    await commit(this.#context, signal, () => markInDoubt(store, rows, isoTime(clock.nowMs())));
    add(counts, "requests", 1);
    let outcome: Outcome;
    try {
      const answer = await this.#options.sendImport(client, { path: rules.path, body, totalTimeoutMs: timeoutMs, signal });
      const result = readImportResult(answer, rows.map((row) => row.key), rules.result);
      if (result.kind === "html") {
        throw new BridgeError("answer_unreadable", `POST ${rules.path} was answered with a web page, which accepts nothing.`);
      }
      outcome = result.kind === "accepted" ? result : { kind: "refused", status: 422, words: result.words };
    } catch (error) {
      const refused = refusalOf(error);
      if (refused === undefined) {
        await this.#afterFailure(rows, error);
        throw error;
      }
      outcome = refused;
    }
    if (outcome.kind === "refused") await commit(this.#context, signal, () => unmarkInDoubt(store, rows));
    else await this.#acknowledge(rows, outcome, counts, signal);
    return outcome;
  }

  #bodyOf(rows: readonly OutboxRow[]): string {
    const { rules } = this.#options;
    const records = rules.scope === "whole" ? loadWholeRecords(this.#context.store, rules, rows) : rows.map((row) => row.record);
    return `{${JSON.stringify(rules.property)}:[${records.join(",")}]}`;
  }

  /** A request that cannot have had an effect leaves its rows as they were; any other leaves them in doubt. */
  async #afterFailure(rows: readonly OutboxRow[], error: unknown): Promise<void> {
    if (!(error instanceof ServiceError) || error.effect !== "none") return;
    // Not aborted by the caller's signal: the program may be stopping, and this is the last thing to write.
    await commit(this.#context, AbortSignal.timeout(2_000), () => unmarkInDoubt(this.#context.store, rows));
  }

  async #acknowledge(
    rows: readonly OutboxRow[],
    outcome: Outcome & { kind: "accepted" },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const { rules } = this.#options;
    const rejected = new Map(outcome.rejected.map(({ index, message }) => [index, message]));
    const accepted = rows.filter((_, index) => !rejected.has(index));
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      let liveChange = 0;
      let drops = 0;
      for (const row of accepted) {
        const before = isLive(rules, loadKeyState(store, rules, row.key).sent);
        const after = isLive(rules, { record: row.record, gone: row.gone });
        liveChange += Number(after) - Number(before);
        if (before && !after && !row.approved) drops += 1;
      }
      saveAcknowledged(store, rules, accepted, at);
      if (accepted.length > 0) saveAcceptance(store, rules, { at, told: outcome.told, liveChange, drops });
      for (const [index, message] of rejected) {
        const row = rows[index];
        if (row !== undefined) this.#quarantine(row, message, at);
      }
    });
    add(counts, "sent", accepted.length);
    add(counts, "refused", rejected.size);
  }

  /** One record stands alone and is refused. True where the feed is held instead, because the template is to blame. */
  async #refuse(
    rows: readonly OutboxRow[],
    outcome: Outcome & { kind: "refused" },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { store, clock, log } = this.#context;
    const { rules } = this.#options;
    const at = isoTime(clock.nowMs());
    const words = `${outcome.status}: ${outcome.words}`;
    const isHeld = await commit(this.#context, signal, () => {
      if (rules.scope !== "whole") for (const row of rows) this.#quarantine(row, words, at);
      if (loadFeed(store, rules.name).acceptedAt !== null && rules.scope !== "whole") return false;
      const refused = loadRefused(store, rules, REFUSED_ALONE_MAX);
      if (refused.length < REFUSED_ALONE_MAX && rules.scope !== "whole") return false;
      for (const row of refused) releaseQuarantined(store, [rules.name], row.key.join(" "));
      markRefusedWaiting(store, rules);
      saveHold(store, {
        area: rules.name,
        reason: "shape",
        since: at,
        nextProbeAt: null,
        detail: `The service refuses every record (${words}). Put imports.${rules.name}.record right, or: erp-bridge resume ${rules.name}`,
      });
      return true;
    });
    if (isHeld) log.error({ feed: rules.name, status: outcome.status }, `${rules.name}: every record is refused; the template is wrong.`);
    else add(counts, "refused", rows.length);
    return isHeld;
  }

  #quarantine(row: OutboxRow, reason: string, at: string): void {
    const { store } = this.#context;
    const { name } = this.#options.rules;
    markRefused(store, row.id, reason);
    saveQuarantined(store, {
      kind: name,
      reference: row.key.join(" "),
      reason,
      payload: row.record,
      hash: hash("sha256", row.record, "buffer"),
      at,
    });
  }

  async #learnChunk(chunk: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#context;
    const { name } = this.#options.rules;
    await commit(this.#context, signal, () => saveFeedChunk(store, name, chunk));
    log.info({ feed: name, chunk }, `${name}: the service takes fewer records a request.`);
  }
}

/** 400, 413 and 422 speak of the records; every other failure of the feed, the area or the way. */
function refusalOf(error: unknown): (Outcome & { kind: "refused" }) | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  const { status } = error;
  if (status !== 400 && status !== 413 && status !== 422) return undefined;
  return { kind: "refused", status, words: error.words ?? "" };
}

function add(counts: Record<string, number>, name: string, count: number): void {
  if (count > 0) counts[name] = (counts[name] ?? 0) + count;
}
