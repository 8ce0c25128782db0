/*
 * Finds out whether an order itself lacks what every former order had. One look: the order is read without it, another order is answered
 * with it, and the order is read without it again. The second look, ten minutes later at the earliest, makes the lack the order's own, and
 * it counts; so does the last of a day's reads of an order. The first look is a row (`lost_values`), which any good record of the order deletes; after a crash the look is repeated.
 */
import { judgeLook, type LostPart, loadFirstLook, saveFirstLook } from "../completeness/lost-values.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
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
   * Reads the order, and again where it may lack something by itself.
   * @param read reads and stores the order once; what is `believed` may be missing from it.
   * @param isLast the order was read for a day
   */
  async read<T extends { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" })>(
    orderId: string,
    read: (believed?: LostPart) => Promise<{ value: T } | undefined>,
    { reads, isLast = false, signal }: { reads: ReadPass; isLast?: boolean; signal: AbortSignal },
  ): Promise<{ value: T } | undefined> {
    const { store, client } = this.#context;
    const first = await read();
    const lost = this.#lostOf(first?.value);
    if (lost === undefined) return first;
    const look = judgeLook(loadFirstLook(store, orderId), client.serviceNow);
    if ((look === "vain" && !isLast) || !(await reads.shows(lost, orderId))) return first;
    const again = await read();
    if (this.#lostOf(again?.value) !== lost) return again;
    // Of two machines that answer in turn the other one answers now.
    if (look === "second" || isLast) return await read(lost);
    const { serviceNow } = client;
    if (serviceNow !== undefined) await commit(this.#context, signal, () => saveFirstLook(store, orderId, serviceNow));
    return again;
  }

  #lostOf(value: { kind: "unknown" } | (Refreshed<unknown> & { kind: "order" }) | undefined): LostPart | undefined {
    return value?.kind === "order" ? this.#reader.lostOf(value.answer) : undefined;
  }
}
