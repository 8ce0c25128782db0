/*
 * Finds out whether an order by itself lacks a part that all others have. Once: the order is read without it, another
 * order is answered with it, and the order is read without it again. A second such sequence, at least ten minutes
 * later, proves that the order has no such part, and so does the last of a day's reads. The first one is a row
 * (`lost_values`), which any good record of the order deletes; after a crash it is repeated.
 */
import { judgeLook, type LostPart, loadFirstLook, saveFirstLook } from "../../completeness/lost-values.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import type { OrderReader, Refreshed } from "./read-order.ts";
import type { ReadPass } from "./read-pass.ts";

export class LostLooks {
  readonly #context: JobContext;
  readonly #reader: OrderReader;

  constructor(context: JobContext, reader: OrderReader) {
    this.#context = context;
    this.#reader = reader;
  }

  /**
   * Reads the order, and again where it lacks a part.
   * @param read reads and stores the order once; the part `believed` may be missing from it
   * @param isLast the order was read for a day
   */
  async read<T extends { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" })>(
    orderId: string,
    read: (acceptedLoss?: LostPart) => Promise<{ value: T } | undefined>,
    { reads, isLast = false, signal }: { reads: ReadPass; isLast?: boolean; signal: AbortSignal },
  ): Promise<{ value: T } | undefined> {
    const { store, clock } = this.#context;
    const first = await read();
    const lost = this.#lostOf(first?.value);
    if (lost === undefined) return first;
    const look = judgeLook(loadFirstLook(store, orderId), clock.monotonicMs());
    if ((look === "vain" && !isLast) || !(await reads.shows(lost, orderId))) return first;
    const again = await read();
    if (this.#lostOf(again?.value) !== lost) return again;
    // Read once more, because another machine of the service may answer now.
    if (look === "second" || isLast) return await read(lost);
    await commit(this.#context, signal, () => saveFirstLook(store, orderId, clock.monotonicMs()));
    return again;
  }

  #lostOf(value: { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" }) | undefined): LostPart | undefined {
    return value?.kind === "order" ? this.#reader.lostOf(value.answer) : undefined;
  }
}
