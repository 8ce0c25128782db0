/*
 * Reads the pages of a batch that follow the first one, each of which is stored as a part of the batch before the next is asked for. A batch
 * in counted pages is read until two readings agree.
 */
import { createHash } from "node:crypto";
import type { MetadataField } from "../completeness/metadata-fields.ts";
import type { BatchPages, Query } from "../completeness/next-page.ts";
import { m } from "../messages/messages.ts";
import { ContradictedAnswer } from "../pass/contradicted-answer.ts";
import { stopsPass } from "../pass/holds.ts";
import type { JobContext } from "../pass/job.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { fetchBatch } from "../service/orders.ts";
import { FormerPages } from "./former-pages.ts";
import type { BatchReader, ReadBatch, ReadPage } from "./read-batch.ts";

/** Pages of one batch: more than a batch of any size has. */
const PAGES_MAX = 200;
/** Of counted pages, after the first time: orders that leave a batch are few. */
const READINGS_MAX = 4;

export interface ReadPages extends BatchPages {
  /** Ids of them, however the service writes them. */
  orders: Set<string>;
  /** Digests of its records. */
  records: Set<string>;
  /** Digests of the records of each page. */
  bodies: Set<string>;
  /** The first page as it was served again under another name, which is the one to confirm. */
  renamed: ServiceAnswer | undefined;
}

/** The next page of a batch could not be read. */
export class UnreadPageError extends ContradictedAnswer {
  /** It is known to be there, or the service could not answer. */
  readonly isMissing: boolean;

  constructor(cause: unknown, { size, isMissing }: { size: number; isMissing: boolean }) {
    super(m.orders.nextPageUnread({ size, reason: asError(cause).text }), {
      cause,
      hint: m.orders.compareAnswer({ area: "orders" }),
    });
    this.isMissing = isMissing;
  }
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
  readonly #former: FormerPages;
  #hasOthers = false;

  constructor({ client, store }: JobContext, reader: BatchReader, pages: PageStore, signal: AbortSignal) {
    this.#client = client;
    this.#former = new FormerPages(store);
    this.#reader = reader;
    this.#pages = pages;
    this.#signal = signal;
  }

  /**
   * Reads the other pages of a batch, each of which is stored as a part of it.
   * Gives an error where one of them cannot be read; what keeps all requests waiting is thrown.
   */
  async read(first: ReadBatch, next: Query): Promise<ReadPages | UnreadPageError> {
    const { length: size } = first.records;
    try {
      return await this.#readPages(first, next);
    } catch (error) {
      if (stopsPass(error)) throw error;
      const { code, text } = asError(error);
      // A number of pages names none by itself: the service may not turn pages, and count all that waits.
      const isNone = first.last !== undefined && (text === m.orders.pageRepeated || code === "request_refused");
      return new UnreadPageError(error, { size, isMissing: this.#hasOthers || !isNone });
    }
  }

  /**
   * What leaves a batch moves up all that follows it, so that the first of the next page stands on a page that was read already: counted
   * pages are read until they hold the same orders twice. So is a batch that another one follows: the service may have made that one of the
   * other pages of this batch meanwhile, and serves it in its place then.
   */
  async #readPages(first: ReadBatch, next: Query): Promise<ReadPages> {
    let before = await this.#readOnce({ batch: first, first, query: next });
    // The confirm may cover an order that has left the pages meanwhile.
    const ids = new Set(before.ids);
    const again = first.again ?? (before.isFollowed ? this.#reader.query : undefined);
    for (let readings = 0; again !== undefined; readings++) {
      if (readings === READINGS_MAX) throw new BridgeError("answer_shape", m.orders.pagesDiffer);
      const now = await this.#readOnce({ batch: first, before, query: again });
      for (const id of now.ids) ids.add(id);
      const isSame = now.orders.size === before.orders.size && isIn(before.orders, now.orders);
      if (isSame && now.isFollowed === before.isFollowed) return { ...now, ids };
      before = now;
    }
    return { ...before, ids };
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
    const beside: MetadataField[] = [];
    const sets = {
      ids: new Set<string>(),
      orders: new Set<string>(),
      records: new Set<string>(),
      bodies: new Set<string>(),
    };
    const read = { size: 0, count: 0, emptyPages: 0, empty: 0, isFollowed: false, isAmbiguous: false, beside, ...sets };
    const add = (page: ReadBatch | ReadPage) => {
      read.bodies.add(digestOf(page));
      read.count += 1;
      if (page.records.length === 0) read.emptyPages += 1;
      read.size += page.records.length;
      if (read.count > 1 && "beside" in page) {
        beside.push(...page.beside);
        read.empty += page.empty;
      }
      read.isAmbiguous ||= hasOneIdTwice(page);
      for (const record of page.records) {
        const id = idOf(record);
        if (id !== null) read.orders.add(id);
        read.records.add(keyOf(record));
        if (record.idLiteral !== null) read.ids.add(record.idLiteral);
      }
    };
    if (first !== undefined) add(first);
    let isElsewhere = first?.isElsewhere === true;
    let renamed: ServiceAnswer | undefined;
    let besideFirst: readonly MetadataField[] | undefined;
    while (query !== undefined) {
      if (read.count > PAGES_MAX) throw new BridgeError("answer_shape", m.orders.pagesEndless);
      const answer: ServiceAnswer = await fetchBatch(this.#client, query, this.#signal);
      if (answer.oldBy !== undefined) throw new BridgeError("answer_unreadable", m.orders.pageOld);
      // Until it is known to be of this batch, it is as any other answer that may not be served again.
      if (first === undefined) this.#pages.wait(answer);
      const served = await this.#reader.readPage(answer, this.#signal);
      if (first === undefined && isAnother(served, batch)) throw new BridgeError("answer_shape", m.orders.pagesDiffer);
      if (this.#isRepeated(served, read)) throw new BridgeError("answer_shape", m.orders.pageRepeated);
      const isFormer = first !== undefined && this.#former.has(digestOf(served), digestOf(first));
      // A page of a former batch holds nothing of this one.
      const page = isFormer ? { ...served, records: [], empty: 1 } : served;
      const isEmpty = page.records.length === 0;
      const isStored = isEmpty || before?.bodies.has(digestOf(page));
      if (!isStored) await this.#pages.store(page, answer);
      this.#pages.wait(undefined);
      // Nothing where the batch was: the number of a page is not what the service takes it for.
      if (isEmpty && first === undefined) throw new BridgeError("answer_shape", m.orders.pagesDiffer);
      if (page.error !== undefined && page.error.text !== m.orders.pagePart) throw page.error;
      // A page without records may be of any batch.
      const name = isEmpty || first === undefined ? null : page.batchId;
      const isOther = name !== null && name !== (first?.batchId ?? batch.batchId);
      if (isOther && isElsewhere) throw new BridgeError("answer_shape", m.orders.pageElsewhere);
      if (name !== null && !isOther) await this.#reader.notePageName(this.#signal);
      // A batch of its own, which is served as one. Where pages have the name of their batch, the service has made another batch meanwhile: the
      // page holds nothing of this one.
      read.isFollowed = isOther && !this.#reader.arePagesNamed;
      if (isOther && !read.isFollowed) read.empty += 1;
      if (isOther) break;
      if (first === undefined && page.batchId !== null && page.batchId !== batch.batchId) renamed = answer;
      if (first === undefined) besideFirst = page.beside;
      add(page);
      this.#hasOthers ||= first !== undefined;
      first ??= page;
      isElsewhere = page.isElsewhere === true;
      query = read.count < (page.last ?? Number.POSITIVE_INFINITY) ? page.next : undefined;
    }
    // A page without records does not show which page it is.
    return { ...read, count: read.count - read.emptyPages, renamed, ...(besideFirst !== undefined && { besideFirst }) };
  }

  /**
   * Whether a page has nothing that those before it do not have: the service does not turn it, or counts what it has read. Ids decide, because an
   * order may change between two requests. Where this page or one before gives one id to different orders, a page without any record that was
   * read is another one.
   */
  #isRepeated(
    page: ReadBatch,
    read: Pick<ReadPages, "bodies" | "orders" | "records"> & { isAmbiguous: boolean },
  ): boolean {
    const { records } = page;
    if (read.bodies.has(digestOf(page))) return true;
    if (records.length === 0 || records.some((record) => !read.orders.has(idOf(record) ?? ""))) return false;
    if (records.some((record) => read.records.has(keyOf(record)))) return true;
    return !read.isAmbiguous && !hasOneIdTwice(page) && !this.#reader.hasOthers(page);
  }
}

function isIn(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  return [...some].every((id) => all.has(id));
}

/** Whether different records of a page bear one id. */
function hasOneIdTwice({ records }: ReadBatch): boolean {
  const byId = new Map<string, string>();
  return records.some((record) => {
    const id = idOf(record);
    if (id === null) return false;
    const known = byId.get(id);
    byId.set(id, keyOf(record));
    return known !== undefined && known !== keyOf(record);
  });
}

function idOf(record: AnswerRecord): string | null {
  return record.ok ? record.orderId : record.reference;
}

function keyOf({ hash }: AnswerRecord): string {
  return hash.toString("base64");
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
