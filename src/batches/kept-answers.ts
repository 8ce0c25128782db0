/*
 * Settles kept answers that nobody can read, once they hold nothing that is missing: their orders have been stored since by
 * other answers, or the service, asked for each, does not have them. The answer stays in `quarantine` as released, in
 * the transaction that takes it out of the way; after a crash it is looked at again.
 */

import { digestInSlices } from "../answers/digest.ts";
import { idsByPathInSlices, type PathIds } from "../answers/ids-by-path.ts";
import type { JsonPath } from "../answers/json-path.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { hasPassed } from "../pass/moment.ts";
import { loadAwaited, requestRead } from "../pass/position-rows.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import { isoTime } from "../platform/ports.ts";
import { depthOfRecords, readMendedInSlices } from "../records/read-answer.ts";
import { readBody } from "./keep-body.ts";
import { type KeptBody, loadKeptAfter, loadNewestKeptDate, saveKeptAsked, settleKept } from "./kept-rows.ts";

const LOOK_EVERY_MS = 60_000;
/** Read in one look, but for one body at least. */
const BYTES_PER_LOOK = 4 * 1024 * 1024;
/** Orders of a kept answer are asked for one by one where the service could be read for so long without serving them. */
const ASK_AFTER_MS = 3_600_000;
/** The same where none of the ids in it is an order that is known: they may be anything. */
const ASK_UNKNOWN_AFTER_MS = 12 * 3_600_000;
/** Orders asked for because of one answer and at one time; where none is known, of each path and in all. */
const ASKED_MAX = 200;
const SAMPLE_PER_PATH = 20;

/** How answers are read at present. */
interface KeptRules {
  batchOrders: JsonPath;
  signature: string;
}

export class SettleKept {
  readonly #context: JobContext;
  readonly #rules: KeptRules;
  #lookAtMs = 0;
  /** The kept answer that was looked at last. */
  #after = 0;
  /** Monotonic: every answer that has come since then could be read. */
  #readableSinceMs: number;
  /** This process has had an answer that could not be read. */
  #hasMetUnread = false;

  constructor(context: JobContext, rules: KeptRules) {
    this.#context = context;
    this.#rules = rules;
    this.#readableSinceMs = context.clock.monotonicMs();
  }

  /** An answer could not be read. */
  noteUnread(): void {
    this.#hasMetUnread = true;
    this.#readableSinceMs = this.#context.clock.monotonicMs();
  }

  /** Looks at some of the kept answers, after the service has been read well. Returns how many were settled. */
  async settle(signal: AbortSignal): Promise<number> {
    const { store, clock } = this.#context;
    if (clock.monotonicMs() < this.#lookAtMs) return 0;
    this.#lookAtMs = clock.monotonicMs() + LOOK_EVERY_MS;
    let settled = 0;
    for (let bytes = 0; bytes < BYTES_PER_LOOK && !this.#context.isStopping(); ) {
      const kept = loadKeptAfter(store, this.#after, this.#rules.signature);
      this.#after = kept?.id ?? 0;
      if (kept === undefined) break;
      const body = await readBody(this.#context, kept, signal);
      bytes += body.length;
      settled += Number(await this.#look(kept, body, signal));
    }
    return settled;
  }

  async #look(kept: KeptBody, body: Buffer, signal: AbortSignal): Promise<boolean> {
    const { store, clock, log } = this.#context;
    const depth = depthOfRecords(this.#rules.batchOrders);
    const json = readMendedInSlices({ contentType: "application/json", body }, depth);
    const read = await readInTurns(clock, {}, json, signal);
    const paths = await readInTurns(clock, {}, idsByPathInSlices(read.body, read.root), signal);
    const hash = await readInTurns(clock, {}, digestInSlices(body), signal);
    return await commit(this.#context, signal, () => {
      const at = isoTime(clock.nowMs());
      const known = loadKnownOrders(store, allIds(paths));
      const ofOrders = paths.filter(({ ids }) => [...ids.keys()].some((id) => known.has(id)));
      const wanted = ofOrders.length > 0 ? wholePaths(ofOrders) : samplePaths(paths);
      const missing = [...wanted].filter(([id]) => !known.has(id));
      if (missing.length > 0 || ofOrders.length === 0) {
        if (!this.#wasReadableFor(ofOrders.length > 0 ? ASK_AFTER_MS : ASK_UNKNOWN_AFTER_MS)) return false;
        if (!this.#isAskedFor(kept, missing, at)) return false;
      }
      for (const [orderId, serviceId] of wanted) {
        const changedAt = known.get(orderId);
        if (changedAt !== undefined && changedAt < kept.receivedAt) requestRead(store, { orderId, serviceId }, at);
      }
      const reason = reasonOf(known.size, missing.length);
      if (!settleKept(store, kept, { reason, at, hash })) return false;
      log.info({ batch: kept.id, orders: known.size, unknown: missing.length }, reason);
      return true;
    });
  }

  /** Asks for orders that were not asked for before. Returns whether the service has answered of each that it has none such. */
  #isAskedFor(kept: KeptBody, missing: readonly (readonly [string, string])[], at: string): boolean {
    const { store } = this.#context;
    const asked = new Set(kept.asked);
    const next = missing.filter(([id]) => !asked.has(id)).slice(0, ASKED_MAX);
    if (
      loadAwaited(
        store,
        missing.flatMap(([id]) => (asked.has(id) ? [id] : [])),
      )
    )
      return false;
    if (next.length === 0) return true;
    for (const [orderId, serviceId] of next) requestRead(store, { orderId, serviceId }, at);
    saveKeptAsked(store, kept.id, [...asked, ...next.map(([id]) => id)]);
    return false;
  }

  /** Whether every answer of this time could be read. */
  #wasReadableFor(ms: number): boolean {
    const { store, clock, client } = this.#context;
    const now = { monotonicMs: clock.monotonicMs(), serviceDate: client.serviceNow ?? null };
    const own = { monotonicMs: this.#readableSinceMs, serviceDate: null };
    if (hasPassed(own, now, ms)) return true;
    // What came before a restart is timed by the service.
    const noted = { monotonicMs: undefined, serviceDate: loadNewestKeptDate(store) };
    return !this.#hasMetUnread && hasPassed(noted, now, ms);
  }
}

function allIds(paths: readonly PathIds[]): string[] {
  return paths.flatMap(({ ids }) => [...ids.keys()]);
}

function wholePaths(paths: readonly PathIds[]): Map<string, string> {
  return new Map(paths.flatMap(({ ids }) => [...ids]));
}

function samplePaths(paths: readonly PathIds[]): Map<string, string> {
  return new Map(paths.flatMap(({ ids }) => [...ids].slice(0, SAMPLE_PER_PATH)).slice(0, ASKED_MAX));
}

function reasonOf(orders: number, unknown: number): Message {
  if (orders === 0 && unknown === 0) return m.orders.keptNamesNone;
  if (orders === 0) return m.orders.keptUnknown;
  return m.orders.keptStored;
}
