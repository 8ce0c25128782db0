/*
 * The order of the reads of a pass: urgent ones first, and a share for those that wait longest, so that a stream of
 * urgent ones never keeps them waiting for ever. The turn passes on from one pass to the next, because a service may
 * answer so few requests that a pass is over after one.
 */

import type { QueuedRead } from "../../pass/position-rows.ts";

/** So many urgent reads in a row come before the one that waits longest. */
const URGENT_IN_ROW = 3;

type Read = Pick<QueuedRead, "orderId">;

export class ReadTurns {
  /** Urgent reads since the one that waits longest was last read. */
  #urgent = 0;

  /** @param reads the first due reads by urgency, and as many by age: the same ones where all are as urgent */
  *inTurns<R extends Read>({ urgent, oldest }: { urgent: readonly R[]; oldest: readonly R[] }): Generator<R> {
    const begun = new Set<string>();
    const firstOf = (reads: readonly R[]) => reads.find(({ orderId }) => !begun.has(orderId));
    while (begun.size < urgent.length) {
      const [first, eldest] = [firstOf(urgent), firstOf(oldest)];
      const next = this.#urgent >= URGENT_IN_ROW ? (eldest ?? first) : first;
      if (next === undefined) return;
      this.#urgent = next.orderId === eldest?.orderId ? 0 : this.#urgent + 1;
      begun.add(next.orderId);
      yield next;
    }
  }
}
