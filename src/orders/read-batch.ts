/*
 * Reads what `GET /orders` has answered: a batch with its records, its name and where it goes on, or nothing. Nothing here
 * writes orders; `store-batches` makes durable what is read.
 */

import { hash } from "node:crypto";
import { resolvePath } from "../answers/json-path.ts";
import { kindOf, type Span, textOf } from "../answers/json-text.ts";
import { atOnce } from "../answers/slices.ts";
import { loadBatch } from "../batches/batch-rows.ts";
import { CompletenessCheck, type UnusualEmptyError } from "../completeness/check-completeness.ts";
import { type AnswerHead, readHeadMetadata } from "../completeness/head-metadata.ts";
import { countEmptyRecords, readMetadataInSlices } from "../completeness/list-metadata.ts";
import type { ListMetadata, MetadataField } from "../completeness/metadata-fields.ts";
import {
  type BatchPages,
  findNextPage,
  type NextPage,
  type Query,
  type UnreadPage,
  withNextPage,
  withPages,
} from "../completeness/next-page.ts";
import type { NamedOrder } from "../completeness/orders-beside-list.ts";
import { confirmNamesOrders } from "../confirm/confirm-form.ts";
import { m } from "../messages/messages.ts";
import type { JobContext } from "../pass/job.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { findMatchedPaths } from "../records/check-paths.ts";
import { describeMiss, type OrderField } from "../records/order-mapping.ts";
import { type AnswerList, readListInSlices, refuseRepeated, reportedError } from "../records/read-list.ts";
import { type AnswerRecord, fingerprintInSlices, idsInSlices, readRecordsInSlices } from "../records/read-records.ts";
import { withUnstored } from "../records/unstored-records.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { queryOfBatch } from "../service/orders.ts";
import { isNothing } from "../service/outcome/reported-errors.ts";
import type { OrderRules } from "./order-rules.ts";
import { loadOther } from "./other-order.ts";

/** An answer without orders. */
export interface ReadNothing {
  isNothing: true;
  /** It is none that usually means that there is nothing. */
  unusual: UnusualEmptyError | undefined;
  /** It names a batch, which waits to be confirmed. */
  waits?: BridgeError;
}

export interface ReadBatch {
  isNothing?: never;
  /** As it was sent. */
  body: Buffer;
  /** Of its head, what is kept with the body. */
  head: AnswerHead;
  /** What the records point into: the body, or what was made of it where records of it are no JSON. */
  bytes: Buffer;
  records: AnswerRecord[];
  /** JSON literal of the batch's id, or null where the answer names none. */
  batchId: string | null;
  fingerprint: string;
  /** Every id served, as a JSON array of the literals that the service wrote. */
  orderIds: string;
  /** Paths that matched for the first time, to be stored with the batch. */
  matched: OrderField[];
  /** What the answer says beside its orders: an error, or that there are more of them. */
  error: BridgeError | undefined;
  /** Number of orders that the answer names beside its list; with any it shows nothing of what else was served. */
  ordersBeside?: number;
  /** Where the batch goes on, of which the confirm covers the whole. */
  next: Query | undefined;
  /** Asks for its first page once more, where its pages are counted. */
  again?: Query | undefined;
  /** Records without content, on all pages of it that were read. */
  empty?: number;
  /** So many pages there are, where their number alone says that another one follows. */
  last?: number | undefined;
  /** A link names the next page at another address, so that another batch under its number does not stand for it. */
  isElsewhere?: true | undefined;
}

/** A page that follows the first one of a batch. */
export interface ReadPage extends ReadBatch {
  beside: readonly MetadataField[];
  /** Records that hold nothing. */
  empty: number;
}

export type OnNamed = (orders: readonly NamedOrder[]) => void;

export class BatchReader {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #query: Query | undefined;
  readonly #onNamed: OnNamed | undefined;
  readonly #completeness: CompletenessCheck;

  /**
   * @param options.query of each request for a batch; without it batches come from the journal, where they were found whole before
   * @param options.onNamed gets the orders that a batch from the journal names beside its list
   */
  constructor(
    context: JobContext,
    { rules, query, onNamed }: { rules: OrderRules; query: Query | undefined; onNamed?: OnNamed | undefined },
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#query = query;
    this.#onNamed = onNamed;
    this.#completeness = new CompletenessCheck(context, "orders", rules.batchOrders.text);
  }

  /**
   * @param pages all pages of the batch, once the others are stored; or that the next one cannot be read
   * @throws BridgeError `answer_shape`, `answer_unreadable`: what came may hold orders, and is to be kept
   */
  async read(
    answer: Pick<
      ServiceAnswer,
      "status" | "listHeaders" | "contentType" | "body" | "limits" | "readWithinMs" | "oldBy"
    > & {
      isKept?: boolean;
    },
    signal: AbortSignal,
    pages?: BatchPages | UnreadPage,
  ): Promise<ReadBatch | ReadNothing> {
    const rules = this.#rules;
    const { clock, store } = this.#context;
    const list = await readInTurns(clock, answer, readListInSlices(answer, rules.batchOrders), signal);
    const { body } = answer;
    const bytes = list.mended?.bytes ?? body;
    const metadata = await this.#readMetadata(answer, list, signal);
    if (list.elements === undefined) {
      const unusual = await this.#completeness.judge(metadata, signal);
      await this.#completeness.readNamed(metadata, () => new Set(), signal);
      const isServed = answer.oldBy === undefined && answer.isKept !== true;
      if (unusual !== undefined || !isServed) return { isNothing: true, unusual };
      return await this.#readEmpty({ body, head: answer, bytes, root: list.root }, signal);
    }
    const batchId = readBatchId(bytes, list.root, rules);
    const read = await this.#readRecords(answer, { ...list, elements: list.elements, batchId }, signal);
    const next = this.#findNext(metadata, batchId);
    const isRead = pages !== undefined && "count" in pages;
    const empty = countEmptyRecords(bytes, list.elements) + (isRead ? pages.empty : 0);
    const named = next === undefined ? metadata : withNextPage(metadata, next, isRead ? undefined : pages);
    const judged = next !== undefined && isRead ? withPages(metadata, next, pages) : named;
    // What can be read is not waited for.
    const isNextDue = next?.query !== undefined && pages === undefined;
    // What is learned of the answer is written first, and the ERP may hold the write lock.
    const unstored = { source: "batch" as const, bytes, records: read.records, at: isoTime(clock.nowMs()) };
    const shortfall = await withUnstored(store, unstored, async () => {
      await this.#completeness.judge(metadata, signal);
      return await this.#judgeBatch(read, { metadata: judged, empty, isNextDue }, signal);
    });
    const error = list.error === undefined ? shortfall : reportedError(list.error);
    const orderIds = isRead ? `[${[...pages.ids].join()}]` : read.orderIds;
    const { query, first: again, last, isElsewhere } = next ?? {};
    const beside = this.#completeness.others(metadata, () => listedIn(read.records));
    this.#onNamed?.(beside);
    const ordersBeside = beside.length;
    return { ...read, orderIds, head: answer, error, ordersBeside, empty, next: query, again, last, isElsewhere };
  }

  async #judgeBatch(
    { records, batchId, fingerprint }: Pick<ReadBatch, "records" | "batchId" | "fingerprint">,
    { metadata, ...others }: { metadata: ListMetadata; empty: number; isNextDue: boolean },
    signal: AbortSignal,
  ): Promise<BridgeError | undefined> {
    const served = {
      ...others,
      batch: batchId === null ? fingerprint : hash("sha256", batchId, "hex"),
      fingerprint,
      isSettled: this.#isSettled(batchId, fingerprint),
      listed: () => listedIn(records),
    };
    if (batchId !== null) await this.#completeness.noteServedName(served.batch, signal);
    const isWhole = this.#query === undefined;
    return isWhole ? undefined : await this.#completeness.judgeBatch(metadata, served, signal);
  }

  /** What the answer says beside its list. */
  async #readMetadata(
    answer: Parameters<typeof readHeadMetadata>[0] & Pick<ServiceAnswer, "body" | "limits" | "readWithinMs">,
    { root, elements, mended }: AnswerList,
    signal: AbortSignal,
  ): Promise<ListMetadata> {
    const { batchOrders: list, batch: mapping, batchId } = this.#rules;
    const { hideSecrets } = this.#context.client;
    const places = { list, mapping, ignored: [batchId], head: readHeadMetadata(answer), hideSecrets };
    const reading = readMetadataInSlices(mended?.bytes ?? answer.body, { root, size: elements?.length ?? 0 }, places);
    return await readInTurns(this.#context.clock, answer, reading, signal);
  }

  async #readRecords(
    answer: Pick<ServiceAnswer, "body" | "limits" | "readWithinMs">,
    list: Pick<AnswerList, "root" | "mended"> & { elements: Span[]; batchId: string | null },
    signal: AbortSignal,
  ): Promise<Omit<ReadBatch, "head" | "error" | "next">> {
    const { clock, store } = this.#context;
    const { batchId, elements } = list;
    const mapping = this.#rules.batch;
    const { body } = answer;
    const bytes = list.mended?.bytes ?? body;
    const matched = findMatchedPaths(store, { bytes, records: elements, mapping });
    const records = await readInTurns(clock, answer, readRecordsInSlices(bytes, list, mapping), signal);
    const fingerprint = await readInTurns(clock, answer, fingerprintInSlices(bytes, batchId, records), signal);
    const orderIds = await readInTurns(clock, answer, idsInSlices(records), signal);
    return { body, bytes, records, batchId, fingerprint, orderIds, matched };
  }

  /** Another page of a batch that a confirm covers as a whole, also where it covers everything delivered. */
  #findNext(metadata: ListMetadata, batchId: string | null): NextPage | undefined {
    const { client } = this.#context;
    const { confirm } = this.#rules;
    if (this.#query === undefined || confirmNamesOrders(confirm, batchId)) return undefined;
    const shown = this.#completeness.withoutFree(metadata);
    return findNextPage(shown, { asked: this.#query, queryOf: (link) => queryOfBatch(client, link) });
  }

  /**
   * Another page of a batch. One without a list is empty as well: the page before named it, so that it counts as a record that the
   * service could not write.
   */
  async readPage(answer: ServiceAnswer, signal: AbortSignal): Promise<ReadPage> {
    const { clock } = this.#context;
    const rules = this.#rules;
    const list = await readInTurns(clock, answer, readListInSlices(answer, rules.batchOrders), signal);
    const { elements = [] } = list;
    const bytes = list.mended?.bytes ?? answer.body;
    const batchId = readBatchId(bytes, list.root, { ...rules, batchIdRequired: false });
    const read = await this.#readRecords(answer, { ...list, elements, batchId }, signal);
    const { fields: beside, ...metadata } = await this.#readMetadata(answer, list, signal);
    const next = this.#findNext({ ...metadata, fields: beside }, batchId ?? "");
    const error = list.error === undefined ? partOf(next) : reportedError(list.error);
    const empty = elements.length === 0 ? 1 : countEmptyRecords(bytes, elements);
    const { query, last, isElsewhere } = next ?? {};
    return { ...read, head: answer, error, next: query, last, isElsewhere, beside, empty };
  }

  /** Requests a batch, or its first page; undefined where batches come from the journal. */
  get query(): Query | undefined {
    return this.#query;
  }

  /** Whether a page holds a record with the id of a stored order that is another order: of a page before it, or of an earlier batch. */
  hasOthers({ bytes, records }: ReadBatch): boolean {
    const { batch: mapping } = this.#rules;
    const options = { store: this.#context.store, rules: this.#rules };
    return records.some((record) => record.ok && loadOther(options, { record, bytes, mapping }) !== undefined);
  }

  /** See {@link CompletenessCheck.arePagesNamed}. */
  get arePagesNamed(): boolean {
    return this.#completeness.arePagesNamed;
  }

  notePageName(signal: AbortSignal): Promise<void> {
    return this.#completeness.notePageName(signal);
  }

  /** An answer without orders: nothing, or a batch that has lost them, which is served until it is confirmed by its name. */
  async #readEmpty(
    answer: Pick<ReadBatch, "body" | "head" | "bytes"> & { root: Span },
    signal: AbortSignal,
  ): Promise<ReadBatch | ReadNothing> {
    const { store } = this.#context;
    const { root, ...head } = answer;
    const batchId = readNameOfEmpty(answer.bytes, root, this.#rules);
    const name = batchId === undefined ? undefined : hash("sha256", batchId, "hex");
    const fingerprint = atOnce(fingerprintInSlices(answer.bytes, batchId ?? null, []));
    const state = name === undefined ? undefined : loadBatch(store, fingerprint)?.state;
    const verdict = await this.#completeness.judgeNamed(name === undefined ? undefined : { name, state }, signal);
    if (verdict !== "due" || batchId === undefined)
      return { isNothing: true, unusual: undefined, ...(verdict instanceof BridgeError && { waits: verdict }) };
    const read = { ...head, records: [], batchId, fingerprint, orderIds: "[]", matched: [] };
    return { ...read, error: undefined, next: undefined };
  }

  /** Whether what is missing beside the records says nothing: no confirm covers them, or the batch was stored as it is. */
  #isSettled(batchId: string | null, fingerprint: string): boolean {
    return (
      confirmNamesOrders(this.#rules.confirm, batchId) || loadBatch(this.#context.store, fingerprint) !== undefined
    );
  }
}

/** Why a page that is not the last of its batch is none by itself. */
function partOf(next: NextPage | undefined): BridgeError {
  const isCut = next !== undefined && next.query === undefined;
  return new BridgeError("answer_shape", isCut ? m.orders.pageElsewhere : m.orders.pagePart);
}

function readBatchId(body: Buffer, root: Span, rules: OrderRules): string | null {
  refuseRepeated(body, root, rules.batchId);
  const found = resolvePath(body, root, rules.batchId);
  if (found.state === "value") return textOf(body, found.span);
  if (!rules.batchIdRequired) return null;
  const what = found.state === "null" ? m.orders.itIsNull : describeMiss(body, root, rules.batchId);
  throw new BridgeError("answer_shape", m.orders.noBatchId({ path: rules.batchId.text, what }), {
    hint: m.orders.fixBatchId,
  });
}

/** The name of a batch in an answer without orders, where a confirm would bear it; an empty list of orders may be understood as all. */
function readNameOfEmpty(body: Buffer, root: Span, { batchId, confirm }: OrderRules): string | undefined {
  if (kindOf(body, root) !== "object" || (!confirm.auto && confirm.names === "orders")) return undefined;
  const found = resolvePath(body, root, batchId);
  if (found.state !== "value" || isNothing(body, found.span)) return undefined;
  const kind = kindOf(body, found.span);
  return kind === "string" || kind === "number" ? textOf(body, found.span) : undefined;
}

function listedIn(records: readonly AnswerRecord[]): ReadonlySet<string> {
  return new Set(records.flatMap((record) => (record.ok ? record.orderId : (record.reference ?? []))));
}
