/*
 * Pulls batches of new orders. Keeps the first guarantee: an order is on disk before the service is told that it may
 * forget it. After a crash anywhere, the service still has the batch, or `batches` says which confirm is owed, or the
 * committed mark of the pull says that an answer may be missing.
 */
import { hash } from "node:crypto";
import { confirmBatch, fetchBatch } from "../api/orders.ts";
import type { ServiceAnswer } from "../api/client.ts";
import { readAcceptance } from "../domain/acceptance.ts";
import { classifyConfirmFailure, confirmNames, renderConfirm } from "../domain/confirm.ts";
import { asError, BridgeError } from "../domain/errors.ts";
import { type Span, textOf } from "../domain/json-text.ts";
import { resolvePath } from "../domain/json-path.ts";
import { describeMiss, type OrderField, readStampText } from "../domain/order-mapping.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import { type AnswerRecord, batchFingerprint, mayHoldRecords, readJson, readList, readRecords } from "../domain/read-answer.ts";
import { ServiceError } from "../domain/service-error.ts";
import { isStrictlyNewer } from "../domain/stamp.ts";
import {
  type BatchRow,
  clearPullMark,
  closePullMark,
  countUnread,
  deleteUnread,
  loadBatch,
  loadPullMark,
  loadUnconfirmed,
  loadUnreadBody,
  markAllConfirmed,
  markConfirmBegun,
  markConfirmed,
  markConfirmFailed,
  markUnreadTried,
  openPullMark,
  saveStoredBatch,
  saveUnreadBody,
} from "../store/batches.ts";
import { deleteHold, saveHold } from "../store/holds.ts";
import { loadWatermark, saveWatermark } from "../store/positions.ts";
import { findMatchedPaths, saveMatchedPaths } from "./check-paths.ts";
import { commit } from "./commit.ts";
import type { Job, JobContext, JobReport } from "./job.ts";
import { takeRecord } from "./take-orders.ts";

/** Orders stored in one transaction: the write lock is then held for tens of milliseconds, not for seconds. */
const ORDERS_PER_COMMIT = 500;
/** Batches in one pass; the next pass follows at once, and a stop is noticed in between. */
const BATCHES_PER_PASS = 50;
const CONFIRMS_PER_PASS = 200;
/** Bodies that could not be read are kept up to here. Beyond it pulling waits: dropping one would lose orders. */
const UNREAD_MAX = 20;
const UNREAD_BYTES_MAX = 256 * 1024 * 1024;
/** A larger body is not copied into the database while it is stored in parts; the service still has it then. */
const PARTED_BODY_BYTES_MAX = 64 * 1024 * 1024;

export interface PullOptions {
  rules: OrderRules;
  query: readonly (readonly [string, string])[];
}

interface StorePass {
  /** The answer has just come; false for a kept body. */
  fresh: boolean;
  /** The `Date` header of the answer. */
  date: string | undefined;
  at: string;
  counts: Record<string, number>;
  signal: AbortSignal;
  /** The kept body that this batch is read from. */
  unreadId?: number | undefined;
}

interface StoredBatch {
  row: BatchRow;
  /** It was stored before this pass: the service has come round. */
  seenBefore: boolean;
}

export class PullOrders implements Job {
  readonly name = "orders";
  readonly areas = ["orders"];
  readonly #context: JobContext;
  readonly #options: PullOptions;

  constructor(context: JobContext, options: PullOptions) {
    this.#context = context;
    this.#options = options;
  }

  async runOnce(signal: AbortSignal): Promise<JobReport> {
    const counts: Record<string, number> = {};
    await this.#readKept(counts, signal);
    let drained = false;
    let failure: unknown;
    try {
      drained = await this.#drain(counts, signal);
    } catch (error) {
      // Confirms of batches that are durable do not wait for the next good answer, unless the service itself is out.
      if (!isOfThisAnswer(error)) throw error;
      failure = error;
    }
    await this.#confirmOwed(counts, signal);
    if (failure !== undefined) throw failure;
    const worked = Object.values(counts).some((count) => count > 0);
    return { outcome: worked ? (drained ? "done" : "more") : "idle", counts };
  }

  /** True where nothing more waits at the service. */
  async #drain(counts: Record<string, number>, signal: AbortSignal): Promise<boolean> {
    for (let batches = 0; batches < BATCHES_PER_PASS; batches++) {
      const batch = await this.#pullOne(counts, signal);
      if (batch === undefined || batch.seenBefore) return true;
      if (this.#context.isStopping()) return false;
    }
    return false;
  }

  /**
   * Pulls, stores and confirms one batch. The order of these steps is the guarantee; none may move.
   */
  async #pullOne(counts: Record<string, number>, signal: AbortSignal): Promise<StoredBatch | undefined> {
    // 1. Where a confirm names nothing, a committed mark says that a hand-out is open. Without it a crash after the
    //    hand-out would be forgotten, and the next confirm would confirm a batch that nobody has.
    await this.#openMark(signal);
    // 2. Ask once. Never repeated here: a second call may hand out the following batch.
    const answer = await this.#fetch(signal);
    // 3. Read and store: orders, lines, events, quarantine, batch, first watermark and the mark's end. When this
    //    returns, everything is committed and fsynced. A throw confirms nothing.
    const stored = await this.#store(answer, counts, signal);
    if (stored === undefined) return undefined;
    // 4. Only now tell the service. Before the commit, a power cut would lose orders that it will not serve again.
    await this.#confirm(stored, counts, signal);
    return stored;
  }

  async #openMark(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    this.#refuseWhenFull();
    if (confirmNames(this.#options.rules.confirm)) return;
    const at = isoTime(clock.nowMs());
    const mark = await commit(this.#context, signal, () => openPullMark(store, at));
    if (!mark.lost || clock.nowMs() - Date.parse(mark.openedAt) < this.#options.rules.confirmWaitMs) return;
    await commit(this.#context, signal, () =>
      saveHold(store, {
        area: "orders",
        reason: "hand-out lost",
        since: at,
        nextProbeAt: null,
        detail:
          `An answer of GET /orders was lost at ${mark.openedAt} and has not been served again. Confirms wait, because ` +
          "they would confirm it unseen. Compare the orders on the site with the database, then: erp-bridge resume orders",
      }),
    );
  }

  #refuseWhenFull(): void {
    const unread = countUnread(this.#context.store);
    if (unread.count < UNREAD_MAX && unread.bytes < UNREAD_BYTES_MAX) return;
    throw new BridgeError(
      "answer_shape",
      `${unread.count} batches could not be read and are kept; no further one is asked for until they are.`,
      { hint: "Put orders.batch and orders.fields right: the kept batches are then read first, and nothing is lost." },
    );
  }

  async #fetch(signal: AbortSignal): Promise<ServiceAnswer> {
    try {
      return await fetchBatch(this.#context.client, this.#options.query, signal);
    } catch (error) {
      // A refusal and a connection that was never made hand out nothing; everything else may have.
      if (error instanceof ServiceError && error.effect === "none") await this.#closeMark(signal);
      throw error;
    }
  }

  async #closeMark(signal: AbortSignal): Promise<void> {
    if (confirmNames(this.#options.rules.confirm)) return;
    await commit(this.#context, signal, () => closePullMark(this.#context.store));
  }

  /** Undefined: the answer was empty. */
  async #store(answer: ServiceAnswer, counts: Record<string, number>, signal: AbortSignal): Promise<StoredBatch | undefined> {
    const at = isoTime(this.#context.clock.nowMs());
    let read: ReadBatch | undefined;
    try {
      read = this.#read(answer);
    } catch (error) {
      await this.#keepUnread(answer, asError(error), signal);
      throw error;
    }
    if (read === undefined) {
      await commit(this.#context, signal, () => {
        this.#saveFirstWatermark(answer.date, at);
        if (!confirmNames(this.#options.rules.confirm)) closePullMark(this.#context.store);
      });
      return undefined;
    }
    return await this.#storeRead(read, { fresh: true, date: answer.date, at, counts, signal });
  }

  #read(answer: Pick<ServiceAnswer, "status" | "contentType" | "body">): ReadBatch | undefined {
    const { rules } = this.#options;
    const list = readList(answer, rules.batchOrders);
    if (list.elements === undefined) return undefined;
    const { body } = answer;
    const matched = findMatchedPaths(this.#context.store, { bytes: body, records: list.elements, mapping: rules.batch });
    const records = readRecords(body, list.elements, rules.batch);
    return { body, records, batchId: readBatchId(body, list.root, rules), matched };
  }

  /**
   * Stores a batch in transactions of a bounded size; it turns `stored` in the last one. A giant batch is kept as a
   * body first, so that a crash between its parts loses nothing where the service hands out each batch once.
   */
  async #storeRead(read: ReadBatch, pass: StorePass): Promise<StoredBatch> {
    const { store } = this.#context;
    const { rules } = this.#options;
    const { counts, signal, at } = pass;
    const options = { store, rules, mapping: rules.batch, bytes: read.body, at };
    const fingerprint = batchFingerprint(read.body, read.batchId, read.records);
    const { records, doubtful } = newestOfEach(read, rules);
    const unreadId = pass.unreadId ?? (await this.#keepGiant(read, { fingerprint, at, signal }));
    for (let from = 0; ; from += ORDERS_PER_COMMIT) {
      const part = records.slice(from, from + ORDERS_PER_COMMIT);
      const isLast = from + ORDERS_PER_COMMIT >= records.length;
      const done = await commit(this.#context, signal, () => {
        saveMatchedPaths(store, { mapping: rules.batch, matched: read.matched, at });
        const taken = part.map((record) => takeRecord(options, record, doubtful));
        return { taken, stored: isLast ? this.#saveBatch(read, { ...pass, fingerprint, unreadId }) : undefined };
      });
      for (const what of done.taken) if (what !== "same") add(counts, what, 1);
      if (done.stored === undefined) continue;
      if (!done.stored.seenBefore) add(counts, "batches", 1);
      return done.stored;
    }
  }

  async #keepGiant(
    read: ReadBatch,
    batch: { fingerprint: string; at: string; signal: AbortSignal },
  ): Promise<number | undefined> {
    const { store } = this.#context;
    const { body } = read;
    if (read.records.length <= ORDERS_PER_COMMIT || body.length > PARTED_BODY_BYTES_MAX) return undefined;
    if (loadBatch(store, batch.fingerprint) !== undefined) return undefined;
    const unread = { fingerprint: bodyFingerprint(body), body, mapping: null, error: null, at: batch.at };
    return await commit(this.#context, batch.signal, () => saveUnreadBody(store, unread));
  }

  /** The last step of a batch's last transaction. */
  #saveBatch(read: ReadBatch, batch: StorePass & { fingerprint: string; unreadId: number | undefined }): StoredBatch {
    const { store } = this.#context;
    const named = confirmNames(this.#options.rules.confirm);
    this.#saveFirstWatermark(batch.date, batch.at);
    if (batch.unreadId !== undefined) deleteUnread(store, batch.unreadId);
    const orderIds = idsAsWritten(read.records);
    const known = loadBatch(store, batch.fingerprint);
    if (batch.fresh && !named) {
      closePullMark(store);
      // The service has come round to what is stored: no answer is missing any more.
      if (known !== undefined) clearPullMark(store);
      if (known !== undefined) deleteHold(store, "orders", "hand-out lost");
    }
    if (known !== undefined) return { row: { ...known, orderIds }, seenBefore: true };
    const row = saveStoredBatch(store, {
      fingerprint: batch.fingerprint,
      batchId: read.batchId,
      orderCount: read.records.length,
      orderIds,
      at: batch.at,
      confirmAttempts: named ? 1 : 0,
    });
    return { row, seenBefore: false };
  }

  #saveFirstWatermark(date: string | undefined, at: string): void {
    const { store } = this.#context;
    if (date !== undefined && loadWatermark(store, "updates") === undefined) saveWatermark(store, "updates", date, at);
  }

  /** Keeps a JSON body whose shape is not understood: the service may never serve it again. */
  async #keepUnread(answer: ServiceAnswer, error: BridgeError, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    if (error.code !== "answer_shape") return;
    if (!mayHoldRecords(answer.body, readJson(answer))) return;
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      saveUnreadBody(store, {
        fingerprint: bodyFingerprint(answer.body),
        body: answer.body,
        mapping: this.#options.rules.signature,
        error: error.message,
        at,
      });
      // The body is on disk: this hand-out is not lost, only unread.
      closePullMark(store);
    });
  }

  /** Reads kept bodies that the present configuration has not been tried on, before anything new is asked for. */
  async #readKept(counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const { signature } = this.#options.rules;
    for (let tries = 0; tries < UNREAD_MAX; tries++) {
      const kept = loadUnreadBody(store, signature);
      if (kept === undefined) return;
      const at = isoTime(clock.nowMs());
      try {
        const read = this.#read({ status: 200, contentType: "application/json", body: kept.body });
        if (read === undefined) throw new BridgeError("answer_shape", "Under this configuration the batch is empty.");
        const stored = await this.#storeRead(read, { fresh: false, date: undefined, at, counts, signal, unreadId: kept.id });
        await this.#confirm(stored, counts, signal);
      } catch (error) {
        const { code, message } = asError(error);
        if (code !== "answer_shape") throw error;
        await commit(this.#context, signal, () => markUnreadTried(store, kept.id, signature, message));
      }
    }
  }

  // ------------------------------------------------------------------------------------------------- confirming

  /** Confirms that are owed from earlier passes or an earlier life of the program. */
  async #confirmOwed(counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const named = confirmNames(this.#options.rules.confirm);
    // One confirm that names nothing covers them all.
    const owed = loadUnconfirmed(this.#context.store, named ? CONFIRMS_PER_PASS : 1);
    for (const row of owed) await this.#confirm({ row, seenBefore: true }, counts, signal);
  }

  /**
   * Tells the service that a stored batch is safe. Ends as `confirmed` or `refused`; throws where it is to be tried
   * again. The attempt is committed before the request leaves, because "not found" means "confirmed earlier" only
   * for a batch that was tried; the first attempt was counted when the batch was stored.
   */
  async #confirm(batch: StoredBatch, counts: Record<string, number>, signal: AbortSignal): Promise<void> {
    const { store, clock, client } = this.#context;
    const { row } = batch;
    const named = confirmNames(this.#options.rules.confirm);
    if (!named && !this.#mayConfirmAll()) return;
    const isCounted = named && !batch.seenBefore;
    if (row.state === "stored" && !isCounted) await commit(this.#context, signal, () => markConfirmBegun(store, row.id));
    const wasTried = row.state === "confirmed" || (row.state === "stored" && row.confirmAttempts > (isCounted ? 1 : 0));
    const { verdict, failure } = await this.#sendConfirm(row, wasTried, signal);
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      if (verdict !== "confirmed") {
        const error = client.hideSecrets(failure?.message ?? "");
        markConfirmFailed(store, row.id, { refused: verdict === "refused", error });
      } else if (named) markConfirmed(store, row.id, at);
      else markAllConfirmed(store, at);
    });
    if (verdict === "retry") throw failure;
    if (verdict !== row.state) add(counts, verdict, 1);
  }

  async #sendConfirm(
    row: BatchRow,
    wasTried: boolean,
    signal: AbortSignal,
  ): Promise<{ verdict: "confirmed" | "refused" | "retry"; failure?: BridgeError }> {
    try {
      const body = renderConfirm(this.#options.rules.confirm, { batchId: row.batchId, orderIds: row.orderIds ?? "[]" });
      const acceptance = readAcceptance(await confirmBatch(this.#context.client, body, signal));
      if (acceptance.kind === "accepted") return { verdict: "confirmed" };
      return acceptance.kind === "error"
        ? { verdict: "refused", failure: new BridgeError("request_refused", `The confirm was refused: ${acceptance.words}`) }
        : { verdict: "retry", failure: new BridgeError("answer_unreadable", "The confirm was answered with a web page.") };
    } catch (error) {
      return { verdict: classifyConfirmFailure(error, wasTried), failure: asError(error) };
    }
  }

  /** A confirm that names nothing covers whatever was handed out: all of it must be stored and read. */
  #mayConfirmAll(): boolean {
    const { store } = this.#context;
    return loadPullMark(store) === undefined && countUnread(store).count === 0;
  }
}

interface ReadBatch {
  body: Buffer;
  records: AnswerRecord[];
  /** JSON literal of the batch's id, or null where the answer names none. */
  batchId: string | null;
  /** Paths that matched for the first time, to be remembered with the batch. */
  matched: OrderField[];
}

function readBatchId(body: Buffer, root: Span, rules: OrderRules): string | null {
  const found = resolvePath(body, root, rules.batchId);
  if (found.state === "value") return textOf(body, found.span);
  if (found.state === "absent" && rules.batchIdWritten) {
    throw new BridgeError("answer_shape", `The answer has no ${rules.batchId.text} (batch id): ${describeMiss(body, root, rules.batchId)}.`);
  }
  return null;
}

/**
 * One record for each order of a batch. Where an order is served twice, the one with the newest stamp counts; where
 * the stamps do not tell, the last one, and the order is `doubtful`: it is read whole as well.
 */
function newestOfEach(read: ReadBatch, rules: OrderRules): { records: AnswerRecord[]; doubtful: ReadonlySet<string> } {
  const chosen = new Map<string, AnswerRecord>();
  const doubtful = new Set<string>();
  const stampOf = (record: AnswerRecord) => readStampText(read.body, record.span, rules.batch);
  for (const record of read.records) {
    if (!record.ok) continue;
    const other = chosen.get(record.orderId);
    if (other === undefined || other.hash.equals(record.hash)) {
      chosen.set(record.orderId, other ?? record);
    } else if (!isStrictlyNewer(stampOf(other), stampOf(record), rules.plan.timezone)) {
      if (!isStrictlyNewer(stampOf(record), stampOf(other), rules.plan.timezone)) doubtful.add(record.orderId);
      chosen.set(record.orderId, record);
    }
  }
  const records = read.records.filter((record) => !record.ok || chosen.get(record.orderId) === record);
  return { records, doubtful };
}

/** Every id served, quarantined ones too, as a JSON array in the service's own spelling. */
function idsAsWritten(records: readonly AnswerRecord[]): string {
  const ids = records.flatMap((record) => (record.ok ? [record.serviceId] : record.reference === null ? [] : [record.reference]));
  return JSON.stringify([...new Set(ids)]);
}

function bodyFingerprint(body: Buffer): string {
  return `body:${hash("sha256", body, "hex")}`;
}

/** Errors that concern one answer, not the service as a whole. */
function isOfThisAnswer(error: unknown): boolean {
  return error instanceof BridgeError && (error.code === "answer_shape" || error.code === "answer_unreadable" || error.code === "answer_too_large");
}

function add(counts: Record<string, number>, name: string, count: number): void {
  counts[name] = (counts[name] ?? 0) + count;
}
