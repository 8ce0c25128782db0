/*
 * Answers to pulls that could not be read. One that may hold orders is kept, because the service may never serve it
 * again. It is read again after the mapping was changed (`orders/store-batches.ts`). It is settled once nothing in it
 * is missing: other answers have brought its orders since, or the service does not have them when they are requested
 * one by one. A settled answer moves to `quarantine` as released, in one transaction; after a crash before that it is
 * checked again.
 */

import { hash } from "node:crypto";
import { digestInSlices } from "../answers/digest.ts";
import { withoutSecretsInSlices } from "../answers/hide-in-body.ts";
import { idsByPathInSlices, type PathIds, recordIdsOf } from "../answers/ids-by-path.ts";
import type { JsonPath } from "../answers/json-path.ts";
import { type AnswerHead, headText } from "../completeness/head-metadata.ts";
import type { BodyPlace } from "../database/body-parts.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { commit } from "../pass/commit.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import { HOLDS } from "../pass/hold-reasons.ts";
import { saveHold } from "../pass/hold-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { leastAgoMs } from "../pass/machine-clock.ts";
import { loadAwaited, requestRead } from "../pass/position-rows.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import type { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import { type AnswerJson, depthOfRecords, mayHoldRecordsInSlices, readMendedInSlices } from "../records/read-list.ts";
import type { ServiceAnswer, ServiceClient } from "../service/client.ts";
import { closeDelivery } from "./delivery-rows.ts";
import { isSameBody, readBody, writeBody } from "./keep-body.ts";
import {
  countUnread,
  type KeptBody,
  loadKeptAfter,
  loadKeptUnder,
  loadUnreadableMs,
  saveKeptAsked,
  saveUnreadBody,
  settleKept,
} from "./kept-rows.ts";

/** From so many unreadable bodies pulling is held, and one request every five minutes is the probe. */
const UNREAD_MAX = 20;
/**
 * Limit of bodies kept by these probes, about a day of them: a service that delivers each batch once never serves it
 * again.
 */
const UNREAD_HELD_MAX = 300;
const UNREAD_BYTES_MAX = 256_000_000;

const LOOK_EVERY_MS = 60_000;
/** Read in one check, and always at least one body. */
const BYTES_PER_LOOK = 4 * 1024 * 1024;
/** A kept answer's orders are requested one by one once all other answers were readable for so long without them. */
const ASK_AFTER_MS = 3_600_000;
/** The same where none of its ids is a known order, because they may be ids of anything. */
const ASK_UNKNOWN_AFTER_MS = 12 * 3_600_000;
/** Limits of orders requested for one answer at a time; where none of its ids is known, per path and in total. */
const ASKED_MAX = 200;
const SAMPLE_PER_PATH = 20;

/** How answers are read with the present configuration. */
interface KeptRules {
  account: string;
  batchOrders: JsonPath;
  batch: OrderMapping;
  signature: string;
}

export class KeptAnswers {
  readonly #context: JobContext;
  readonly #rules: KeptRules;
  #lookAtMs = 0;
  /** When an answer to this process was unreadable (monotonic); of an earlier process only that of the newest kept answer is known. */
  #unreadableMs: number | undefined;
  /** Row id of the kept answer that was checked last. */
  #after = 0;

  constructor(context: JobContext, rules: KeptRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /**
   * Keeps an answer of unknown shape that may hold orders, because it may never be served again. Returns whether it is
   * kept.
   */
  async keep(answer: ServiceAnswer, error: BridgeError, signal: AbortSignal): Promise<boolean> {
    const { store, clock, client } = this.#context;
    if (error.code !== "answer_shape") return false;
    this.#unreadableMs = clock.monotonicMs();
    const depth = depthOfRecords(this.#rules.batchOrders);
    const read = await readInTurns(clock, answer, readMendedInSlices(answer, depth), signal);
    if (!(await readInTurns(clock, answer, mayHoldRecordsInSlices(read.body, read.root), signal))) return false;
    const fingerprint = await this.#fingerprintOf(answer, read, signal);
    const at = isoTime(clock.nowMs());
    const nextProbeAt = isoTime(clock.nowMs() + HOLDS.unread.blocks.probeMs);
    const shown = await readInTurns(clock, answer, withoutSecretsInSlices(answer.body, client.hideSecrets), signal);
    const isRoom = () => {
      const { count, bytes } = countUnread(store);
      return count < UNREAD_HELD_MAX && bytes + shown.length <= UNREAD_BYTES_MAX;
    };
    const place = isRoom() ? await this.#placeOf(shown, fingerprint, at, signal) : undefined;
    return await commit(this.#context, signal, () => {
      const hasRoom = place !== undefined && isRoom();
      if (hasRoom) {
        saveUnreadBody(store, {
          fingerprint,
          place,
          date: answer.date,
          head: keptHead(client, answer),
          mapping: this.#rules.signature,
          error: withTexts(error.text, client.hideSecrets),
          at,
          account: this.#rules.account,
          unreadableMs: clock.monotonicMs(),
        });
        // The body is committed, so this delivery is not lost.
        closeDelivery(store);
      }
      const now = countUnread(store).count;
      if (hasRoom && now < UNREAD_MAX) return true;
      const detail = hasRoom ? m.orders.keptUnread({ count: now }) : m.orders.keptUnreadFull({ count: now, at });
      saveHold(store, { area: "orders", reason: "unread", since: at, nextProbeAt, detail });
      return hasRoom;
    });
  }

  /** Answers with the same orders share one kept body: a time that changes in each must not fill the database. */
  async #fingerprintOf(answer: ServiceAnswer, { body, root }: AnswerJson, signal: AbortSignal): Promise<string> {
    const { clock } = this.#context;
    const paths = await readInTurns(clock, answer, idsByPathInSlices(body, root), signal);
    const ids = recordIdsOf(paths, String(this.#rules.batch.paths.order_id.steps.at(-1)));
    if (ids !== undefined) return `ids:${hash("sha256", JSON.stringify(ids), "hex")}`;
    return `body:${(await readInTurns(clock, answer, digestInSlices(answer.body), signal)).toString("hex")}`;
  }

  /** A body that is already kept under the fingerprint is not written again. */
  async #placeOf(body: Buffer, fingerprint: string, at: string, signal: AbortSignal): Promise<BodyPlace> {
    const standing = loadKeptUnder(this.#context.store, fingerprint, at);
    const stays =
      standing !== undefined && (standing.isNew || (await isSameBody(this.#context, standing, body, signal)));
    return stays ? standing : await writeBody(this.#context, body, signal);
  }

  /**
   * Checks some of the kept answers; to be called after the service was read successfully. Returns how many were
   * settled.
   */
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

  /**
   * Queues reads of orders not requested before. Returns whether the service has answered that it has none of the
   * missing ones.
   */
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

  /** Inside a transaction: whether all answers of the last `ms` were readable. */
  #wasReadableFor(ms: number): boolean {
    const { store, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    return leastAgoMs(this.#unreadableMs ?? loadUnreadableMs(store), nowMs) >= ms;
  }
}

/** The head of an answer as it is kept with the body, without secrets. */
export function keptHead({ hideSecrets }: Pick<ServiceClient, "hideSecrets">, answer: AnswerHead): string | null {
  const text = headText(answer);
  return text === null ? null : hideSecrets(text);
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
