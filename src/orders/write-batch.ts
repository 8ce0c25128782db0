/* The transactions of one batch that was read. The row that makes it due to be confirmed is written in the last of them. */

import { digestInSlices } from "../answers/digest.ts";
import {
  type BatchRow,
  claimBatch,
  loadBatch,
  loadBatchOf,
  loadNewestUnjournaled,
  renameBatch,
  reopenBatch,
  saveStoredBatch,
  saveUnjournaled,
  unmarkJournaledElsewhere,
} from "../batches/batch-rows.ts";
import { closeDelivery, moveDue, settleDelivery } from "../batches/delivery-rows.ts";
import type { JournalBatches } from "../batches/journal-batches.ts";
import { isSameBody, withLargeKept, writeBody } from "../batches/keep-body.ts";
import { keptHead } from "../batches/kept-answers.ts";
import { deleteUnread, loadFirstDate, loadKeptUnder, markUnreadUntried, saveUnreadBody } from "../batches/kept-rows.ts";
import { count, type PullPass, type StoredBatch } from "../batches/pull-pass.ts";
import { countEmptyRecords } from "../completeness/list-metadata.ts";
import { confirmNamesOrders } from "../confirm/confirm-form.ts";
import { noteName } from "../confirm/reused-names.ts";
import type { BodyPlace } from "../database/body-parts.ts";
import { commit } from "../pass/commit.ts";
import { firstPosition } from "../pass/first-position.ts";
import { deleteHold } from "../pass/hold-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { noteNewOrder } from "../pass/orders-behind.ts";
import { loadNewestTimestamp, loadWatermark, saveWatermark, UPDATES_STREAM } from "../pass/position-rows.ts";
import { readInTurns } from "../pass/read-in-turns.ts";
import { saveMatchedPaths } from "../records/check-paths.ts";
import { newestInSlices } from "../records/newest-records.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import { withUnstored } from "../records/unstored-records.ts";
import { keyOfBatch, noteEmptyHeld, settleEmpty } from "./empty-records.ts";
import { type IngestResult, isUnchanged } from "./ingest-options.ts";
import { ingestRecord } from "./ingest-orders.ts";
import type { OrderRules } from "./order-rules.ts";
import type { ReadBatch } from "./read-batch.ts";
import { RepeatedBatches } from "./repeated-batches.ts";

/** What one transaction stores at most: the write lock is then held for tens of milliseconds, not for seconds. */
const ORDERS_PER_COMMIT = 200;
const BYTES_PER_COMMIT = 2 * 1024 * 1024;

/** The row under which the body of a batch is kept while it is stored. */
interface KeptAs {
  id: number;
  place: BodyPlace;
}

/** Whether the first attempt to confirm a batch begins with its commit. */
export type ConfirmFollows = (batch: Pick<BatchRow, "batchId">) => boolean;

/** Where a batch comes from. */
export interface Origin {
  /** The service has just given it; false for a kept body, and where a cache has. */
  fresh: boolean;
  /** A stale copy, in whose place the service may have delivered a batch. */
  mayHaveAsked?: boolean;
  /** The `Date` header of the answer; undefined where it is old. */
  date: string | undefined;
  /** When it was asked for, by the service's clock. */
  askedAt: string | undefined;
  at: string;
  /** Who served it. */
  account: string | null;
  /** The kept body that this batch is read from. */
  unread?: KeptAs | undefined;
  confirmFollows: ConfirmFollows;
  /** The body is in the journal. */
  isJournaled?: boolean;
  /** The first page of the batch, of which this is another one. */
  first?: ReadBatch;
}

/** What is known of a batch before its first transaction. */
interface Writing {
  read: ReadBatch;
  origin: Origin;
  /** Its records by transactions. */
  parts: readonly (readonly AnswerRecord[])[];
  /** Orders of which it has several versions, none of which is the newest. */
  ambiguous: ReadonlySet<string>;
  /** When it began, on the monotonic clock. */
  machineMs: number;
  known: BatchRow | undefined;
  /** There may be more in it than is shown: its orders are stored, and it is not. */
  isPartial: boolean;
  digest: string | undefined;
  /** The kept body of a giant batch. */
  unread: KeptAs | undefined;
  isJournaled: boolean;
  /** Served again: what is newer in it goes to the journal. */
  mayBeNewer: boolean;
  /** What waits for the journal, where the batch has something that the journal lacks. */
  unjournaled: Parameters<typeof saveUnjournaled>[1] | undefined;
}

/** What the transactions so far have found. */
interface Progress {
  isAppended: boolean;
  isNew: boolean;
  hasCreated: boolean;
}

export class BatchWriter {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #journal: JournalBatches;
  readonly #repeated: RepeatedBatches;
  readonly #onKept: () => void;

  /** @param options.onKept called once the whole body of a giant batch is kept */
  constructor(
    context: JobContext,
    { rules, onKept }: { rules: OrderRules; onKept: () => void },
    journal: JournalBatches,
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#journal = journal;
    this.#onKept = onKept;
    this.#repeated = new RepeatedBatches(context.store, rules.batch);
  }

  /**
   * Stores a batch in transactions of a bounded size; it turns `stored` in the last one. A giant batch is kept as a
   * body first, so that a crash between its parts loses nothing where the service delivers each batch once.
   *
   * Undefined: the orders are stored, and their batch is not to be confirmed. Beside an error there may be more orders in
   * it than the answer shows; only a confirm that names the stored ones covers no other.
   */
  async write(read: ReadBatch, origin: Origin, pass: PullPass): Promise<StoredBatch | undefined> {
    const { bytes, records } = read;
    const { at } = origin;
    return await withUnstored(this.#context.store, { source: "batch", bytes, records, at }, () =>
      this.#storeAll(read, origin, pass),
    );
  }

  async #storeAll(read: ReadBatch, origin: Origin, pass: PullPass): Promise<StoredBatch | undefined> {
    const { clock } = this.#context;
    const { batch: mapping, plan, confirm } = this.#rules;
    const { bytes, fingerprint } = read;
    const machineMs = clock.monotonicMs();
    const newest = newestInSlices(bytes, read.records, { mapping, timezone: plan.timezone });
    const { records, ambiguous } = await readInTurns(clock, {}, newest, pass.signal);
    const digest = await this.#digest(read, origin, pass);
    const known = this.#findKnown(read, origin, digest);
    const isPartial = read.error !== undefined && !confirmNamesOrders(confirm, read.batchId);
    const ofBatch = known?.fingerprint ?? fingerprint;
    if ((known !== undefined || isPartial) && origin.unread === undefined && this.#journal.isFull(ofBatch, pass))
      return isPartial || known === undefined ? undefined : { row: known, seenBefore: true };
    const parts = partsOf(records);
    const large = records.filter((record) => !record.ok && record.isLarge);
    const isGiant = parts.length > 1 || large.length > 0;
    const unread =
      origin.unread ?? (isGiant && known === undefined ? await this.#keepGiant(read, origin, pass) : undefined);
    const journaled = await this.#keepInJournal(read, { ...origin, unread }, { known, isPartial, ofBatch }, pass);
    const batch = { read, origin, parts, ambiguous, machineMs, known, isPartial, digest, unread, ...journaled };
    if (large.length === 0) return await this.#storeParts(batch, pass);
    const served = large.map((record) => ({ record, bytes }));
    return await withLargeKept(this.#context, { source: "batch", served, signal: pass.signal }, () =>
      this.#storeParts(batch, pass),
    );
  }

  /** The body goes to the journal, or waits for it beside the orders: that of a new batch, and of one with something newer. */
  async #keepInJournal(
    read: ReadBatch,
    origin: Origin,
    { known, isPartial, ofBatch }: Pick<Writing, "known" | "isPartial"> & { ofBatch: string },
    pass: PullPass,
  ): Promise<Pick<Writing, "isJournaled" | "mayBeNewer" | "unjournaled">> {
    const isNoNews = known !== undefined || isPartial;
    const note = { receivedAt: origin.at, fingerprint: read.fingerprint, date: origin.date };
    const isJournaled = isNoNews || (await this.#journal.keep(read.body, note, pass));
    const mayBeNewer = isNoNews && origin.isJournaled !== true && (await this.#isUnjournaled(ofBatch, read, pass));
    if (isJournaled && !mayBeNewer) return { isJournaled, mayBeNewer, unjournaled: undefined };
    const place = origin.unread?.place ?? (await writeBody(this.#context, read.body, pass.signal));
    const unjournaled = {
      fingerprint: ofBatch,
      account: origin.account,
      receivedAt: origin.at,
      isPart: isPartial,
      ...place,
    };
    return { isJournaled, mayBeNewer, unjournaled };
  }

  async #storeParts(batch: Writing, pass: PullPass): Promise<StoredBatch | undefined> {
    const { read, origin, parts } = batch;
    let progress: Progress = { isAppended: false, isNew: true, hasCreated: false };
    let stored: StoredBatch | undefined;
    for (const [index, part] of parts.entries()) {
      if (index > 0) await this.#context.clock.sleep(0, pass.signal);
      const isLast = index === parts.length - 1;
      const done = await commit(this.#context, pass.signal, () => this.#storePart(batch, { part, isLast }, progress));
      progress = done.progress;
      for (const what of done.results) if (!isUnchanged(what)) count(pass, what, 1);
      if (done.stored === undefined) continue;
      pass.isAccounted = origin.fresh;
      if (!done.stored.seenBefore) {
        count(pass, "batches", 1);
        this.#repeated.note(read, done.stored.row.id);
      }
      stored = done.stored;
    }
    // A confirm covers what was newer in a batch that was served again, or was stored from a part of it, so that goes to the journal as well.
    if (progress.isAppended) await this.#journal.keepUnjournaled(pass);
    return stored;
  }

  /** One transaction: its records, and with the last of them the batch. */
  #storePart(
    batch: Writing,
    { part, isLast }: { part: readonly AnswerRecord[]; isLast: boolean },
    before: Progress,
  ): { results: IngestResult[]; progress: Progress; stored: StoredBatch | undefined } {
    const { store } = this.#context;
    const rules = this.#rules;
    const { read, origin, known, isPartial, mayBeNewer, unjournaled, unread, digest, isJournaled } = batch;
    const { bytes } = read;
    const { at, askedAt } = origin;
    saveMatchedPaths(store, { mapping: rules.batch, matched: read.matched, at });
    if (read.matched.length > 0) markUnreadUntried(store);
    const options = { store, rules, mapping: rules.batch, bytes, at, machineMs: batch.machineMs, askedAt };
    // The unknown outcome of a batch that was stored before was settled then.
    const ambiguous = known === undefined ? batch.ambiguous : undefined;
    const results = part.map((record) => ingestRecord(options, record, ambiguous));
    const emptyKey = keyOfBatch(origin.first ?? read, rules.confirm);
    const spans = part.map(({ span }) => span);
    if (countEmptyRecords(bytes, spans) > 0) noteEmptyHeld(store, emptyKey, at);
    const isNew = before.isNew && results.every(isOfNew);
    // A batch of which no record could be read may hold known orders alone.
    const hasCreated = before.hasCreated || results.includes("created");
    if (results.includes("created")) noteNewOrder(this.#context, rules.plan.timezone);
    if (isLast && isPartial && unread !== undefined) deleteUnread(store, unread.id);
    const isNewer = mayBeNewer && (isPartial ? results.some(isKept) : known !== undefined && hasNews(known, results));
    if (isNewer && known !== undefined && !isPartial) reopenBatch(store, known.id, read.orderIds);
    const isWhole = isLast && !isPartial;
    if (isWhole) settleEmpty(store, emptyKey, { hasEmpty: (read.empty ?? 0) > 0 });
    const isElsewhere = known?.journaledElsewhere === 1 && isLast;
    const isOwed = isNewer || isElsewhere || (isWhole && !isJournaled);
    const waits = unjournaled !== undefined && !before.isAppended && isOwed;
    if (waits) saveUnjournaled(store, unjournaled);
    if (isElsewhere && isWhole) unmarkJournaledElsewhere(store, known.id);
    const { fingerprint } = read;
    const saved = isWhole
      ? this.#saveBatch(read, { ...origin, fingerprint, known, unread, isJournaled, isNew: isNew && hasCreated })
      : undefined;
    if (saved?.seenBefore === false && digest !== undefined) this.#repeated.save(digest, saved.row.id);
    return { results, progress: { isAppended: before.isAppended || waits, isNew, hasCreated }, stored: saved };
  }

  /** The row of a batch that was stored before: as it is, or under another name again and again. */
  #findKnown(read: ReadBatch, { fresh }: Origin, digest: string | undefined): BatchRow | undefined {
    const { store } = this.#context;
    const known = loadBatch(store, read.fingerprint);
    const id = known === undefined && fresh ? this.#repeated.find(read, digest) : undefined;
    const row = id === undefined ? known : loadBatchOf(store, id);
    return row?.state === "unread" ? undefined : row;
  }

  /** By which a repeat of the batch is recognized later; undefined where it holds a new order, or has a row already. */
  async #digest(read: ReadBatch, { fresh }: Origin, { signal }: PullPass): Promise<string | undefined> {
    const { clock, store } = this.#context;
    if (!fresh || loadBatch(store, read.fingerprint) !== undefined) return undefined;
    return await readInTurns(clock, {}, this.#repeated.digestInSlices(read), signal);
  }

  /** Whether there is a journal, and the batch was not served last with these very bytes, which wait for it. */
  async #isUnjournaled(fingerprint: string, { body }: ReadBatch, { signal }: PullPass): Promise<boolean> {
    if (!this.#journal.isKept) return false;
    const newest = loadNewestUnjournaled(this.#context.store, fingerprint);
    return newest === undefined || !(await isSameBody(this.#context, newest, body, signal));
  }

  /** The whole body, before the first of its orders. */
  async #keepGiant({ body, head }: ReadBatch, origin: Origin, pass: PullPass): Promise<KeptAs> {
    const { store, clock } = this.#context;
    const digest = await readInTurns(clock, {}, digestInSlices(body), pass.signal);
    const fingerprint = `body:${digest.toString("hex")}`;
    const standing = loadKeptUnder(store, fingerprint, origin.at);
    const place = standing ?? (await writeBody(this.#context, body, pass.signal));
    const unread = {
      fingerprint,
      place,
      date: origin.date,
      head: keptHead(this.#context.client, head),
      mapping: null,
      error: null,
      at: origin.at,
      account: origin.account ?? this.#rules.account,
    };
    const id = await commit(this.#context, pass.signal, () => {
      closeDelivery(store);
      return saveUnreadBody(store, unread);
    });
    this.#onKept();
    return { id, place };
  }

  /** The last step of a batch's last transaction. */
  #saveBatch(
    read: ReadBatch,
    batch: Origin & { fingerprint: string; known: BatchRow | undefined; isJournaled: boolean; isNew: boolean },
  ): StoredBatch {
    const { store } = this.#context;
    this.saveFirstWatermark(batch);
    if (batch.unread !== undefined) deleteUnread(store, batch.unread.id);
    const { orderIds, batchId } = read;
    const known = batch.known === undefined ? undefined : loadBatchOf(store, batch.known.id);
    if (batch.fresh) {
      closeDelivery(store);
      const { fingerprint } = batch;
      const served = {
        fingerprint,
        known: known?.fingerprint === fingerprint ? known : undefined,
        date: batch.date,
        machineMs: this.#context.clock.monotonicMs(),
      };
      if ((read.ordersBeside ?? 0) === 0 && settleDelivery(store, served)) deleteHold(store, "orders", "hand-out lost");
    }
    if (known !== undefined) {
      const claimed = batch.fresh ? claimBatch(store, known, batch.account ?? this.#rules.account) : known;
      const named = claimed.batchId === batchId ? claimed : renameBatch(store, claimed, batchId);
      return { row: { ...named, orderIds }, seenBefore: true, isServed: batch.fresh, ordersBeside: read.ordersBeside };
    }
    if (batch.isNew && batchId !== null) noteName(store, batchId);
    const row = saveStoredBatch(store, {
      fingerprint: batch.fingerprint,
      batchId,
      orderCount: read.records.length,
      orderIds,
      at: batch.at,
      confirmAttempts: batch.isJournaled && batch.confirmFollows({ batchId }) ? 1 : 0,
      account: batch.account,
    });
    if (batch.unread !== undefined && !batch.fresh) moveDue(store, batch.unread.id, row.id);
    return { row, seenBefore: false, isServed: batch.fresh, ordersBeside: read.ordersBeside };
  }

  /**
   * Where following begins: the service's time at the first pull. Orders of a pull without a `Date` may have changed before the next one, so that
   * following begins at the beginning then.
   */
  saveFirstWatermark({ date, at, account }: Pick<Origin, "date" | "at" | "account">): void {
    const { store, clock } = this.#context;
    if (loadWatermark(store, UPDATES_STREAM) !== undefined) return;
    const pulled = loadFirstDate(store, account ?? null);
    const { timezone } = this.#rules.plan;
    const times = { nowMs: clock.nowMs(), timezone };
    const first = firstPosition(pulled === undefined ? date : (pulled ?? undefined), loadNewestTimestamp(store), times);
    if (first !== undefined) saveWatermark(store, UPDATES_STREAM, first, at);
  }
}

/** Whether the confirm of a batch that was stored before covers what was not in it then. A later timestamp alone opens no confirmed one. */
function hasNews({ state }: BatchRow, results: readonly IngestResult[]): boolean {
  return results.some((what) => !isUnchanged(what) || (what === "refreshed" && state !== "confirmed"));
}

/** Whether the record itself was stored, or quarantined. What a part of a batch has its order read for may be the same at each hand-out. */
function isKept(result: IngestResult): boolean {
  return result !== "same" && result !== "owed";
}

/** Whether the record is of an order that was not known before, as far as it could be read. */
function isOfNew(result: IngestResult): boolean {
  return result === "created" || result === "quarantined";
}

function partsOf(records: readonly AnswerRecord[]): AnswerRecord[][] {
  const parts: AnswerRecord[][] = [];
  let part: AnswerRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const length = record.span.end - record.span.start;
    if (part.length === ORDERS_PER_COMMIT || (part.length > 0 && bytes + length > BYTES_PER_COMMIT)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += length;
  }
  return [...parts, part];
}
