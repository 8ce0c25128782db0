/*
 * Finds out whether an order has by itself what puts its answer in doubt: it lacks a part that all others have, or it is
 * another order than the stored one. Once: the order is read so, another order is answered without such a doubt, and the
 * order is read so again. A second such sequence, at least ten minutes later, proves it, and for a part so does the last of
 * a day's reads. The first one is a row (`first_looks`), which any good record of the order deletes; after a crash it is
 * repeated.
 */
import type { Doubt } from "../../orders/ingest-options.ts";
import { isOtherDoubt } from "../../orders/other-order.ts";
import { commit } from "../../pass/commit.ts";
import { judgeLook, loadFirstLook, saveFirstLook } from "../../pass/first-looks.ts";
import type { JobContext } from "../../pass/job.ts";
import type { OrderReader, Refreshed } from "./read-order.ts";
import type { ReadPass } from "./read-pass.ts";

export class RepeatedReads {
  readonly #context: JobContext;
  readonly #reader: OrderReader;

  constructor(context: JobContext, reader: OrderReader) {
    this.#context = context;
    this.#reader = reader;
  }

  /**
   * Reads the order, and again where its answer is in doubt.
   * @param read reads and stores the order once; a content with the doubt `accepted` counts
   * @param isLast the order was read for a day
   */
  async read<T extends { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" })>(
    orderId: string,
    read: (accepted?: Doubt) => Promise<{ value: T } | undefined>,
    { reads, isLast = false, signal }: { reads: ReadPass; isLast?: boolean; signal: AbortSignal },
  ): Promise<{ value: T } | undefined> {
    const { store, clock } = this.#context;
    const first = await read();
    const doubt = this.#doubtOf(first?.value);
    if (doubt === undefined) return first;
    const look = judgeLook(loadFirstLook(store, orderId, doubt), clock.monotonicMs());
    const counts = look === "second" || (isLast && !isOtherDoubt(doubt));
    if ((look === "vain" && !counts) || !(await reads.shows(doubt, orderId))) return first;
    const again = await read();
    if (this.#doubtOf(again?.value) !== doubt) return again;
    // Read once more, because another machine of the service may answer now.
    if (counts) return await read(doubt);
    await commit(this.#context, signal, () => saveFirstLook(store, orderId, { doubt, machineMs: clock.monotonicMs() }));
    return again;
  }

  #doubtOf(value: { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" }) | undefined): Doubt | undefined {
    return value?.kind === "order" ? this.#reader.doubtOf(value.answer) : undefined;
  }
}
