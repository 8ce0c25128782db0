/*
 * Follows later changes of orders. Keeps the second guarantee: the watermark moves only in the transaction that
 * stores the last of the changes it covers, or owes a read for them. After a crash the older watermark asks again,
 * and what is stored already is recognised without a write.
 */
import type { ServiceAnswer } from "../api/client.ts";
import { fetchUpdates } from "../api/orders.ts";
import { type Asked, type FollowRules, type High, isLater, type Learned, planFirstAsk, planNextPage, raiseHigh } from "../domain/follow.ts";
import { resolvePath } from "../domain/json-path.ts";
import type { Span } from "../domain/json-text.ts";
import { type OrderField, readScalar, readStampText } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { BridgeError } from "../domain/errors.ts";
import { type AnswerRecord, readList, readRecords } from "../domain/read-answer.ts";
import { saveHold } from "../store/holds.ts";
import { loadLearned, saveLearned } from "../store/meta.ts";
import { loadOrderMark } from "../store/orders.ts";
import { loadWatermark, saveWatermark } from "../store/positions.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import type { ReadOrders } from "./read-orders.ts";
import { takeChange, takeRecord } from "./take-orders.ts";

const STREAM = "updates";
/** Bounds a pass against a service that brings something new for ever. The watermark stays, so nothing is skipped. */
const PAGES_MAX = 10_000;
const RECORDS_PER_COMMIT = 500;
/** Changes of a pass wait in memory until its end, because only the last one of an order counts; beyond this they are stored early. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

export interface FollowOptions {
  rules: OrderRules;
  follow: FollowRules;
  sweepOverlapMs: number;
}

/** The last record of an order in this pass; without bytes where it is known already. */
type Waiting = { record: AnswerRecord; bytes: Buffer } | "known";

interface Pass {
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  learned: Learned;
  high: High | undefined;
  seen: Set<string>;
  waiting: Map<string, Waiting>;
  waitingBytes: number;
  matched: Set<OrderField>;
}

export class FollowUpdates implements Job {
  readonly name = "updates";
  readonly areas = ["orders", "updates"];
  readonly #context: JobContext;
  readonly #options: FollowOptions;
  readonly #readOrders: ReadOrders;
  #sweepWanted = false;

  constructor(context: JobContext, options: FollowOptions, readOrders: ReadOrders) {
    this.#context = context;
    this.#options = options;
    this.#readOrders = readOrders;
  }

  /** The next pass looks back further, for changes that appeared late. */
  requestSweep(): void {
    this.#sweepWanted = true;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const counts: Record<string, number> = {};
    const isSweep = this.#sweepWanted;
    let failure: unknown;
    try {
      await this.#follow(isSweep, counts, signal);
      if (isSweep) this.#sweepWanted = false;
    } catch (error) {
      // Orders that are owed a read do not wait for the next good answer of another path.
      if (!(error instanceof BridgeError) || !error.code.startsWith("answer_")) throw error;
      failure = error;
    }
    const left = await this.#readOrders.readOwed(counts, signal);
    if (failure !== undefined) throw failure;
    const worked = Object.values(counts).some((count) => count > 0);
    return { outcome: worked ? (left > 0 ? "more" : "done") : "idle", counts };
  }

  async #follow(isSweep: boolean, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store, client, clock } = this.#context;
    const { follow, sweepOverlapMs } = this.#options;
    const watermark = loadWatermark(store, STREAM);
    const rules = isSweep ? { ...follow, overlapMs: Math.max(sweepOverlapMs, follow.overlapMs) } : follow;
    const learned = loadLearned(store);
    const pass: Pass = {
      at: isoTime(clock.nowMs()),
      counts,
      signal,
      learned,
      high: undefined,
      seen: new Set(),
      waiting: new Map(),
      waitingBytes: 0,
      matched: new Set(),
    };
    const asked = planFirstAsk(watermark, client.lastDate, rules, learned.form);
    let token: string | undefined;
    try {
      token = await this.#readPages(pass, asked, watermark, rules);
    } catch (error) {
      // What was read is stored; the watermark stays where it is, and the rest is asked for again.
      await this.#store(pass, undefined);
      throw error;
    }
    const position = token ?? pass.high?.text;
    const mayMove = position !== undefined && isLater(position, watermark, follow.timezone);
    await this.#store(pass, mayMove ? position : undefined);
  }

  /** Reads pages until one brings nothing new. Returns the service's own token for the next pass, if it names one. */
  async #readPages(pass: Pass, first: Asked | undefined, watermark: string | undefined, rules: FollowRules): Promise<string | undefined> {
    let asked = first;
    let token = first === undefined ? watermark : undefined;
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const answer = await fetchUpdates(this.#context.client, token ?? asked?.since ?? "", pass.signal);
      const page = await this.#readPage(pass, answer);
      const { rules: orderRules } = this.#options;
      if (orderRules.next !== null || asked === undefined) {
        const next = readToken(answer.body, page.root, orderRules);
        if (next === undefined || next === token || page.fresh === 0) return next ?? token;
        token = next;
        continue;
      }
      const planned = planNextPage({ asked, high: pass.high, learned: pass.learned }, page, rules);
      pass.learned = planned.learned;
      if (planned.verdict.next === "done") return undefined;
      if (planned.verdict.next === "step over") await this.#raiseTie(planned.verdict.stamp, page.stamps.length, pass);
      asked = planned.verdict.asked;
    }
    throw new BridgeError("answer_shape", `GET /orders/updates brought something new in each of ${PAGES_MAX} pages; the pass was ended.`);
  }

  async #readPage(
    pass: Pass,
    answer: ServiceAnswer,
  ): Promise<{ stamps: (string | null)[]; fresh: number; root: Span | undefined }> {
    const { store } = this.#context;
    const { rules } = this.#options;
    const list = readList(answer, rules.changes);
    const root = answer.status === 204 ? undefined : list.root;
    if (list.elements === undefined) return { stamps: [], fresh: 0, root };
    const { body } = answer;
    for (const field of findMatchedPaths(store, { bytes: body, records: list.elements, mapping: rules.update })) pass.matched.add(field);
    const records = readRecords(body, list.elements, rules.update);
    const stamps = records.map((record) => readStampText(body, record.span, rules.update));
    const { high, future } = raiseHigh(pass.high, stamps, answer.date, rules.plan.timezone);
    pass.high = high;
    if (future > 0) this.#context.log.warn({ future }, "Changes carry stamps from the future; the watermark leaves them out.");
    let fresh = 0;
    for (const record of records) {
      const key = record.hash.toString("latin1");
      if (!pass.seen.has(key)) fresh += 1;
      pass.seen.add(key);
      this.#remember(pass, record, body);
    }
    if (pass.waitingBytes > WAITING_BYTES_MAX) await this.#store(pass, undefined);
    return { stamps, fresh, root };
  }

  /** The last record of an order in a pass replaces the earlier ones. */
  #remember(pass: Pass, record: AnswerRecord, body: Buffer): void {
    const key = record.ok ? record.orderId : `?${record.hash.toString("latin1")}`;
    if (record.ok && loadOrderMark(this.#context.store, record.orderId)?.updateHash?.equals(record.hash)) {
      pass.waiting.set(key, "known");
      return;
    }
    // A copy, so that the whole page does not stay in memory for one record of it.
    const bytes = Buffer.from(body.subarray(record.span.start, record.span.end));
    pass.waitingBytes += bytes.length;
    pass.waiting.set(key, { bytes, record: { ...record, span: { start: 0, end: bytes.length } } });
  }

  /** Stores what waits, at most so many records a transaction; the watermark moves with the last of them. */
  async #store(pass: Pass, watermark: string | undefined): Promise<void> {
    const { store } = this.#context;
    const { rules } = this.#options;
    const waiting = [...pass.waiting.values()].filter((entry) => entry !== "known");
    pass.waiting.clear();
    pass.waitingBytes = 0;
    for (let from = 0; from < waiting.length || from === 0; from += RECORDS_PER_COMMIT) {
      const part = waiting.slice(from, from + RECORDS_PER_COMMIT);
      const isLast = from + RECORDS_PER_COMMIT >= waiting.length;
      if (part.length === 0 && watermark === undefined && !isNews(store, pass.learned)) return;
      const taken = await commit(this.#context, pass.signal, () => {
        saveMatchedPaths(store, { mapping: rules.update, matched: [...pass.matched], at: pass.at });
        const done = part.map(({ record, bytes }) => {
          const options = { store, rules, mapping: rules.update, bytes, at: pass.at };
          return rules.carry === "whole" ? takeRecord(options, record) : takeChange(options, record);
        });
        if (isLast) saveLearned(store, pass.learned);
        if (isLast && watermark !== undefined) saveWatermark(store, STREAM, watermark, pass.at);
        return done;
      });
      for (const what of taken) if (what !== "same") pass.counts[what] = (pass.counts[what] ?? 0) + 1;
    }
  }

  async #raiseTie(stamp: string, count: number, pass: Pass): Promise<void> {
    const { store, log } = this.#context;
    log.error({ stamp, count }, "A full page of changes carries one stamp; more changes with it cannot be reached.");
    await commit(this.#context, pass.signal, () =>
      saveHold(store, {
        area: "updates",
        reason: "tie",
        since: pass.at,
        nextProbeAt: null,
        detail:
          `A full page of ${count} changes carries the stamp ${stamp}. If the service had more with it, they were not ` +
          "served: compare those orders with the site, then: erp-bridge resume updates",
      }),
    );
  }
}

function isNews(store: JobContext["store"], learned: Learned): boolean {
  return JSON.stringify(loadLearned(store)) !== JSON.stringify(learned);
}

function readToken(body: Buffer, root: Span | undefined, rules: OrderRules): string | undefined {
  if (root === undefined || rules.next === null) return undefined;
  const found = resolvePath(body, root, rules.next);
  return found.state === "value" ? readScalar(body, found.span) : undefined;
}
