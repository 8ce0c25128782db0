/*
 * Orders named in the answer to a confirm. A service that confirms more than it delivered, such as an order that joined
 * the batch later, may mention it only here: the order is never delivered and its changes are never listed. So unknown
 * ids are read.
 */
import { idsByPathInSlices, type PathIds } from "../answers/ids-by-path.ts";
import type { Span } from "../answers/json-text.ts";
import { commit } from "../pass/commit.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { requestRead } from "../pass/position-rows.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import { isoTime } from "../platform/ports.ts";
import type { ServiceAnswer } from "../service/client.ts";

/** Per answer. */
const ASKED_PER_ANSWER = 200;
const ASKED_MAX = 20_000;
/**
 * At a path that has never held the id of a known order only so many ids are read: they may be ids of something else.
 */
const TRIED_MAX = 3;

export class ConfirmedOrders {
  readonly #context: JobContext;
  /** Ids already queued for a read. */
  readonly #asked = new Set<string>();
  /** By path: how many ids were queued from it without a known order beside them. */
  readonly #tried = new Map<string, number>();

  constructor(context: JobContext) {
    this.#context = context;
  }

  /** Returns how many orders the answer names at one place, all of which are stored or will be read. */
  async readUnknown(answer: ServiceAnswer, root: Span, signal: AbortSignal): Promise<number> {
    const { clock } = this.#context;
    const paths = await readInTurns(clock, answer, idsByPathInSlices(answer.body, root), signal);
    const lists = paths.filter(isList);
    const due = lists.flatMap((path) => this.#unknownOf(path)).slice(0, ASKED_PER_ANSWER);
    if (due.length > 0) await this.#request(due, signal);
    return Math.max(0, ...lists.map((path) => this.#countFound(path)));
  }

  async #request(due: readonly [string, string][], signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      for (const [orderId, serviceId] of due) requestRead(store, { orderId, serviceId }, at);
    });
    if (this.#asked.size + due.length > ASKED_MAX) this.#asked.clear();
    for (const [orderId] of due) this.#asked.add(orderId);
  }

  #countFound({ ids }: PathIds): number {
    const known = loadKnownOrders(this.#context.store, [...ids.keys()]);
    return [...ids.keys()].every((id) => known.has(id) || this.#asked.has(id)) ? ids.size : 0;
  }

  #unknownOf({ path, ids }: PathIds): [string, string][] {
    const known = loadKnownOrders(this.#context.store, [...ids.keys()]);
    const unknown = [...ids].filter(([id]) => !known.has(id) && !this.#asked.has(id));
    if (known.size > 0) return unknown;
    const tried = this.#tried.get(path) ?? 0;
    const due = unknown.slice(0, Math.max(TRIED_MAX - tried, 0));
    this.#tried.set(path, tried + due.length);
    return due;
  }
}

/** A single value is the id of the batch or of the request. */
function isList({ isInList, key }: PathIds): boolean {
  return isInList || key === "{}";
}
