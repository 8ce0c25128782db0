/*
 * Notices what is new about the service's orders: fields that nothing reads, names of statuses, optional paths that no
 * longer match. Follows the history of orders, apart from pulling, so that no order waits for it; a pass is bounded,
 * known names are cached, and nothing is written twice. After a crash it checks the orders since its position again and
 * finds nothing new in them.
 */

import { Buffer } from "node:buffer";
import { scanJson } from "../answers/scan-json.ts";
import { m } from "../messages/messages.ts";
import { loadNewestTimestamps } from "../orders/order-rows.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { noteLongSteps } from "./long-steps.ts";
import type { Observation } from "./observation.ts";
import {
  loadObservations,
  loadObservedMark,
  loadOrdersSince,
  markObservationOver,
  OBSERVED_MARK,
  type ObservedMark,
  type ObservedOrder,
  saveObservation,
} from "./observations.ts";
import { type Misses, type ObserveRules, observeFields, observePaths, observeStatus } from "./observe.ts";
import { findLongSteps } from "./plan-long-steps.ts";

/** Orders per pass: some milliseconds of reading. */
const ORDERS_PER_PASS = 200;
/** Newest orders whose timestamps are compared. */
const TIMESTAMPS_COMPARED = 50;
/** Limit for stored names: a service that generates names of fields must not fill the table. */
const NAMES_MAX = 300;

export class ObserveOrders {
  readonly #context: JobContext;
  readonly #rules: ObserveRules;
  #known: Set<string> | undefined;
  #mark: ObservedMark | undefined;

  constructor(context: JobContext, rules: ObserveRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** One bounded pass. Returns how many things were noticed for the first time. */
  async look(signal: AbortSignal): Promise<number> {
    const { store, clock, log } = this.#context;
    this.#mark ??= loadObservedMark(store);
    const orders = loadOrdersSince(store, this.#mark.seq, ORDERS_PER_PASS);
    const last = orders.at(-1);
    if (last === undefined) return 0;
    const { fresh, back, misses } = this.#readAll(orders, this.#mark.misses);
    const mark = { seq: last.seq, misses };
    const at = isoTime(clock.nowMs());
    const saved = await commit(this.#context, signal, () => {
      for (const name of back) markObservationOver(store, "path", name);
      OBSERVED_MARK.save(store, mark);
      if (noteLongSteps(store, findLongSteps(loadNewestTimestamps(store, TIMESTAMPS_COMPARED)), at))
        log.info({ kind: "steps" }, m.probe.noticedNew({ kind: "steps" }));
      return fresh.filter((observation) => saveObservation(store, observation, at));
    });
    this.#mark = mark;
    for (const name of back) this.#names().delete(keyOf({ kind: "path", name }));
    for (const observation of fresh) this.#names().add(keyOf(observation));
    for (const { kind, name, sample } of saved) log.info({ kind, name, sample }, m.probe.noticedNew({ kind }));
    return saved.length;
  }

  #readAll(orders: readonly ObservedOrder[], before: Misses): { fresh: Observation[]; back: string[]; misses: Misses } {
    const fresh = new Map<string, Observation>();
    const back: string[] = [];
    let misses = before;
    for (const order of orders) {
      const bytes = Buffer.from(order.payload, "utf8");
      const root = scanJson(bytes);
      const paths = observePaths(bytes, root, this.#rules.mappings[order.source], misses);
      misses = paths.misses;
      back.push(...paths.back);
      const found = [...observeFields(bytes, root, this.#rules), ...observeStatus(order.status, this.#rules)];
      for (const observation of [...found, ...paths.stopped]) {
        const key = keyOf(observation);
        if (this.#names().size + fresh.size >= NAMES_MAX) break;
        if (!this.#names().has(key)) fresh.set(key, observation);
      }
    }
    return { fresh: [...fresh.values()], back, misses };
  }

  /** Loaded once; a path that is over may be noticed again. */
  #names(): Set<string> {
    this.#known ??= new Set(
      loadObservations(this.#context.store)
        .filter(({ state }) => state !== "over")
        .map(keyOf),
    );
    return this.#known;
  }
}

function keyOf({ kind, name }: Pick<Observation, "kind" | "name">): string {
  return `${kind}\n${name}`;
}
