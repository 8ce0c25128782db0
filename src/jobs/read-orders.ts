/*
 * Reads orders whole that a change or a doubtful record announced. Each read is a row (`owed_reads`) until the
 * transaction that stores its snapshot; after a crash it is simply read again. One order that cannot be read never
 * keeps the others waiting.
 */

import type { ServiceAnswer } from "../api/client.ts";
import { fetchSnapshot } from "../api/orders.ts";
import { asError, BridgeError } from "../domain/errors.ts";
import { stopsPass } from "../domain/holds.ts";
import { resolvePath } from "../domain/json-path.ts";
import type { Span } from "../domain/json-text.ts";
import { describeMiss } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { readJson, readRecords } from "../domain/read-answer.ts";
import type { ScannedJson } from "../domain/scan-json.ts";
import { ServiceError } from "../domain/service-error.ts";
import { loadOrderMark, markOrderRemoved, saveSourceHash } from "../store/orders.ts";
import {
  countOwedReads,
  deleteOwedRead,
  hasPathMatched,
  loadOwedReads,
  markOwedReadFailed,
  type OwedRead,
  savePathMatched,
} from "../store/positions.ts";
import { releaseQuarantined, saveQuarantined } from "../store/quarantine.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { takeRecord } from "./take-orders.ts";

const READS_PER_PASS = 200;
/** After so many failures in a row it is the service, not the orders. */
const FAILURES_IN_ROW_MAX = 3;
/** An order that failed so often says nothing about the service any more; it is tried on, and shown as waiting. */
const ATTEMPTS_OF_NOTE = 5;

export class ReadOrders {
  readonly #context: JobContext;
  readonly #rules: OrderRules;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Reads what is owed, bounded; what failed least often comes first. Returns how many reads are left that the next
   * pass should begin at once.
   */
  async readOwed(counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store, client } = this.#context;
    let inRow = 0;
    let failed = 0;
    for (const owed of loadOwedReads(store, READS_PER_PASS)) {
      if (this.#context.isStopping()) return 0;
      try {
        await this.#readOne(owed, counts, signal);
        inRow = 0;
      } catch (error) {
        if (!isOfThisOrder(error)) throw error;
        const reason = client.hideSecrets(asError(error).message);
        await commit(this.#context, signal, () => markOwedReadFailed(store, owed.orderId, reason));
        inRow += 1;
        failed += 1;
        if (inRow < FAILURES_IN_ROW_MAX) continue;
        if (owed.attempts < ATTEMPTS_OF_NOTE) throw error;
        return 0;
      }
    }
    return countOwedReads(store) - failed;
  }

  async #readOne(owed: OwedRead, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    let answer: ServiceAnswer;
    const before = loadOrderMark(this.#context.store, owed.orderId)?.payloadHash;
    try {
      answer = await fetchSnapshot(this.#context.client, owed.serviceId, signal);
    } catch (error) {
      if (!(error instanceof ServiceError) || (error.status !== 404 && error.status !== 410)) throw error;
      await this.#settleUnknown(owed, error, counts, signal);
      return;
    }
    await this.#settle(owed, { answer, before }, counts, signal);
  }

  /**
   * One transaction: the snapshot, the hash of the record that asked for it, and the end of the debt. Where something
   * of the order was stored while the answer was on its way, that may be newer: the read stays owed.
   */
  async #settle(
    owed: OwedRead,
    { answer, before }: { answer: ServiceAnswer; before: Buffer | undefined },
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const mapping = this.#rules.snapshot;
    const { body } = answer;
    const { root, order } = this.#findOrder(owed, answer);
    const matched = findMatchedPaths(store, { bytes: body, records: [order], mapping });
    const [record] = readRecords(body, { root, elements: [order] }, mapping);
    if (record === undefined) return;
    const named = record.ok ? record.orderId : record.reference?.toLowerCase();
    if (named !== owed.orderId) {
      const what = named === undefined && !record.ok ? record.reason : `it answered with another order (${named})`;
      throw new BridgeError("answer_unreadable", `GET /orders/${owed.orderId}: ${what}.`);
    }
    const at = isoTime(clock.nowMs());
    const taken = await commit(this.#context, signal, () => {
      const now = loadOrderMark(store, owed.orderId)?.payloadHash;
      if (before === undefined ? now !== undefined : now?.equals(before) !== true) return "overtaken";
      saveMatchedPaths(store, { mapping, matched, at });
      savePathMatched(store, { source: "snapshot", field: "root", path: this.#rules.snapshotRoot.text, at });
      const what = takeRecord({ store, rules: this.#rules, mapping, bytes: body, at }, record);
      if (what === "quarantined") this.#keepChange(owed, "its snapshot could not be used", at);
      else releaseQuarantined(store, ["order", "change", "snapshot"], owed.orderId);
      this.#endDebt(owed);
      return what;
    });
    if (taken === "overtaken") return;
    const name = taken === "created" ? "rescued" : taken;
    if (name !== "same") counts[name] = (counts[name] ?? 0) + 1;
    counts["read"] = (counts["read"] ?? 0) + 1;
  }

  /** Where the answer keeps the order. A path that never matched is a wrong configuration; later it is this answer's fault. */
  #findOrder(owed: OwedRead, answer: ServiceAnswer): { root: ScannedJson; order: Span } {
    const { snapshotRoot } = this.#rules;
    const root = readJson(answer);
    const found = resolvePath(answer.body, root, snapshotRoot);
    if (found.state === "value") return { root, order: found.span };
    const isProven = hasPathMatched(this.#context.store, "snapshot", "root", snapshotRoot.text);
    const miss = found.state === "null" ? "it is null" : describeMiss(answer.body, root, snapshotRoot);
    throw new BridgeError(
      isProven ? "answer_unreadable" : "answer_shape",
      `The answer of GET /orders/${owed.orderId} has no ${snapshotRoot.text} (updates.snapshot): ${miss}.`,
      isProven ? {} : { hint: "Put updates.snapshot right; the reads that are owed wait until then." },
    );
  }

  /** 404 or 410: a stored order is kept and marked; a change of an order nobody knows is kept as it came. */
  async #settleUnknown(
    owed: OwedRead,
    error: ServiceError,
    counts: Record<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const at = isoTime(clock.nowMs());
    const removed = await commit(this.#context, signal, () => {
      const mark = loadOrderMark(store, owed.orderId);
      if (mark === undefined) this.#keepChange(owed, `the service does not know this order (${error.status})`, at);
      const isRemoved = mark !== undefined && markOrderRemoved(store, mark.orderKey, at);
      this.#endDebt(owed);
      return isRemoved;
    });
    if (removed) counts["removed"] = (counts["removed"] ?? 0) + 1;
  }

  /** The same record must be recognised the next time, or it would be asked for at every poll. */
  #endDebt(owed: OwedRead): void {
    const { store } = this.#context;
    const mark = loadOrderMark(store, owed.orderId);
    if (mark !== undefined) {
      saveSourceHash(store, {
        orderKey: mark.orderKey,
        source: owed.source,
        hash: owed.recordHash,
        contentHash: owed.contentHash,
      });
    }
    deleteOwedRead(store, owed.orderId, owed.recordHash);
  }

  #keepChange(owed: OwedRead, reason: string, at: string): void {
    saveQuarantined(this.#context.store, {
      kind: owed.source === "update" ? "change" : "order",
      reference: owed.orderId,
      reason,
      payload: owed.record,
      hash: owed.recordHash,
      at,
    });
  }
}

/**
 * Whether a failed read may be this order's own fault, so that the others are tried. A wrong configuration, refused
 * credentials, a service that cannot be reached or asks for patience, and the machine's own faults concern them all.
 */
function isOfThisOrder(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return error instanceof BridgeError && error.code === "answer_unreadable";
  if (error.retryAfterMs !== undefined) return false;
  // Some services break off or never answer where one order is too much for them.
  if (error.code === "unreachable" || error.code === "timed_out") return error.effect === "unknown";
  return !stopsPass(error);
}
