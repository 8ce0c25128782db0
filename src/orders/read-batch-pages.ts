/*
 * Reads the pages of a batch that follow the first one, each of which is stored as a part of the batch before the next is asked for. A batch
 * in counted pages is read until two readings agree.
 */
import { createHash } from "node:crypto";
import type { Query } from "../completeness/next-page.ts";
import { m } from "../messages/messages.ts";
import { stopsPass } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { fetchBatch } from "../service/orders.ts";
import type { BatchPages, BatchReader, ReadBatch } from "./read-batch.ts";

/** Pages of one batch: more than a batch of any size has. */
const PAGES_MAX = 200;
/** Of counted pages, after the first time: orders that leave a batch are few. */
const READINGS_MAX = 4;

export interface ReadPages extends BatchPages {
  /** Ids of them, however the service writes them. */
  orders: Set<string>;
  /** Digests of the records of each page. */
  bodies: Set<string>;
  /** The first page as it was served again under another name, which is the one to confirm. */
  renamed: ServiceAnswer | undefined;
}

/** What becomes of the pages as they come. */
export interface PageStore {
  store(page: ReadBatch, answer: ServiceAnswer): Promise<void>;
  /** The answer that is not stored yet and may not be served again; undefined where there is none. */
  wait(answer: ServiceAnswer | undefined): void;
}

export class BatchPagesReader {
  readonly #client: JobContext["client"];
  readonly #reader: BatchReader;
  readonly #pages: PageStore;
  readonly #signal: AbortSignal;

  constructor({ client }: JobContext, reader: BatchReader, pages: PageStore, signal: AbortSignal) {
    this.#client = client;
    this.#reader = reader;
    this.#pages = pages;
    this.#signal = signal;
  }

  /**
   * Reads the other pages of a batch, each of which is stored as a part of it.
   * @throws BridgeError `answer_shape` where one of them cannot be read; what keeps all requests waiting is thrown as it is.
   */
  async read(first: ReadBatch, next: Query): Promise<ReadPages> {
    const { length: size } = first.records;
    try {
      return await this.#readPages(first, next);
    } catch (error) {
      if (stopsPass(error)) throw error;
      throw new BridgeError("answer_shape", m.orders.nextPageUnread({ size, reason: asError(error).text }), {
        cause: error,
        hint: m.orders.compareAnswer({ area: "orders" }),
      });
    }
  }

  /**
   * What leaves a batch moves up all that follows it, so that the first of the next page stands on a page that was read already: counted
   * pages are read until they hold the same orders twice.
   */
  async #readPages(first: ReadBatch, next: Query): Promise<ReadPages> {
    let before = await this.#readOnce({ batch: first, first, query: next });
    for (let readings = 0; first.again !== undefined; readings++) {
      if (readings === READINGS_MAX) throw new BridgeError("answer_shape", m.orders.pagesDiffer);
      const now = await this.#readOnce({ batch: first, before, query: first.again });
      if (now.orders.size === before.orders.size && isIn(before.orders, now.orders)) return now;
      before = now;
    }
    return before;
  }

  /** Reads a page and all that follow it. Undefined `first`: it is the first page, of which the service may make another batch. */
  async #readOnce({
    batch,
    before,
    ...reading
  }: {
    batch: ReadBatch;
    before?: ReadPages;
    first?: ReadBatch;
    query: Query | undefined;
  }): Promise<ReadPages> {
    let { first, query } = reading;
    const seen = new Set<string>();
    const read = { size: 0, ids: new Set<string>(), orders: new Set<string>(), bodies: new Set<string>() };
    const add = (page: ReadBatch) => {
      seen.add(page.fingerprint);
      read.bodies.add(digestOf(page));
      read.size += page.records.length;
      for (const record of page.records) {
        const id = record.ok ? record.orderId : record.reference;
        if (id !== null) read.orders.add(id);
        if (record.idLiteral !== null) read.ids.add(record.idLiteral);
      }
    };
    if (first !== undefined) add(first);
    let renamed: ServiceAnswer | undefined;
    while (query !== undefined) {
      if (seen.size > PAGES_MAX) throw new BridgeError("answer_shape", m.orders.pagesEndless);
      const answer: ServiceAnswer = await fetchBatch(this.#client, query, this.#signal);
      if (answer.oldBy !== undefined) throw new BridgeError("answer_unreadable", m.orders.pageOld);
      // Until it is known to be of this batch, it is as any other answer that may not be served again.
      if (first === undefined) this.#pages.wait(answer);
      const page = await this.#reader.readPage(answer, this.#signal);
      if (first === undefined && page !== undefined && isAnother(page, batch))
        throw new BridgeError("answer_shape", m.orders.pagesDiffer);
      if (page !== undefined && seen.has(page.fingerprint))
        throw new BridgeError("answer_shape", m.orders.pageRepeated);
      const isStored = page === undefined || before?.bodies.has(digestOf(page));
      if (!isStored) await this.#pages.store(page, answer);
      this.#pages.wait(undefined);
      if (page === undefined) break;
      if (page.error !== undefined && page.error.text !== m.orders.pagePart) throw page.error;
      // A batch of its own, which is served as one.
      if (first !== undefined && page.batchId !== null && page.batchId !== (first.batchId ?? batch.batchId)) break;
      if (first === undefined && page.batchId !== null && page.batchId !== batch.batchId) renamed = answer;
      add(page);
      first ??= page;
      query = page.next;
    }
    return { ...read, renamed };
  }
}

function isIn(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  return [...some].every((id) => all.has(id));
}

function digestOf({ records }: ReadBatch): string {
  const sum = createHash("sha256");
  for (const { hash } of records) sum.update(hash);
  return sum.digest("hex");
}

/** Whether what was served for the first page of a batch is another batch. */
function isAnother(page: ReadBatch, batch: ReadBatch): boolean {
  const ids = new Set(batch.records.map(({ idLiteral }) => idLiteral));
  return page.batchId !== batch.batchId && page.batchId !== null && !page.records.some((one) => ids.has(one.idLiteral));
}
