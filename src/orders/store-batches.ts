/*
 * Makes batches durable. Keeps the guarantee that nothing is confirmed before it is on disk, and that an answer that
 * is not understood is kept: when `store` returns, the batch is committed and fsynced; a throw confirms nothing.
 * After a crash between the parts of a giant batch its body is still there, and is read first.
 */

import { closeDelivery, loadDelivery, UNANSWERED } from "../batches/delivery-rows.ts";
import type { JournalBatches } from "../batches/journal-batches.ts";
import { readBody } from "../batches/keep-body.ts";
import { KeptAnswers } from "../batches/kept-answers.ts";
import { loadUnreadBody, markUnreadTried } from "../batches/kept-rows.ts";
import type { PullPass, StoredBatch } from "../batches/pull-pass.ts";
import { headOfText } from "../completeness/head-metadata.ts";
import type { Query } from "../completeness/next-page.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { loadWatermark, UPDATES_STREAM } from "../pass/position-rows.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { FormerPages } from "./former-pages.ts";
import type { OrderRules } from "./order-rules.ts";
import { BatchReader, type OnNamed, type ReadBatch, type ReadNothing } from "./read-batch.ts";
import { BatchPagesReader, type ReadPages, UnreadPageError } from "./read-batch-pages.ts";
import { BatchWriter, type ConfirmFollows, type Origin } from "./write-batch.ts";

export class StoreBatches {
  readonly #context: JobContext;
  readonly #rules: OrderRules;
  readonly #journal: JournalBatches;
  /** What is kept because it could not be read. */
  readonly kept: KeptAnswers;
  readonly #reader: BatchReader;
  readonly #writer: BatchWriter;
  readonly #former: FormerPages;
  #waiting: ServiceAnswer | undefined;

  /** @param options see `BatchReader` */
  constructor(
    context: JobContext,
    { rules, query, onNamed }: { rules: OrderRules; query?: Query; onNamed?: OnNamed },
    journal: JournalBatches,
  ) {
    this.#context = context;
    this.#rules = rules;
    this.#journal = journal;
    const onKept = () => {
      this.#waiting = undefined;
    };
    this.#writer = new BatchWriter(context, { rules, onKept }, journal);
    this.kept = new KeptAnswers(context, rules);
    this.#reader = new BatchReader(context, { rules, query, onNamed });
    this.#former = new FormerPages(context.store);
  }

  /**
   * An answer that has come and could not be written, because the disk is full or the program that holds the lock
   * went on for too long. It goes first: a service that delivers each batch once would never serve it again.
   */
  get waiting(): ServiceAnswer | undefined {
    return this.#waiting;
  }

  /**
   * Stores the batch of an answer. Undefined: the answer was empty.
   * @throws BridgeError `answer_shape`, `answer_unreadable`; what may hold orders is kept by then. `unavailable` where the
   * answer reports an error; orders that came beside it are stored by then, and their batch is not to be confirmed.
   * @param options.pages all pages of the batch, once the others are stored; or why the next one could not be read
   * @param options.isPart the batch holds more than the answer: its orders are stored, and it is not to be confirmed
   */
  async store(
    answer: ServiceAnswer,
    pass: PullPass,
    confirmFollows: ConfirmFollows,
    {
      pages,
      account = this.#rules.account,
      isPart = false,
    }: { pages?: ReadPages | UnreadPageError; account?: string | undefined; isPart?: boolean | undefined } = {},
  ): Promise<StoredBatch | undefined> {
    this.#waiting = answer;
    const at = isoTime(this.#context.clock.nowMs());
    let read: ReadBatch | ReadNothing;
    try {
      read = await this.#reader.read(answer, pass.signal, pages);
      if (isPart && !read.isNothing) read.error ??= new BridgeError("answer_shape", m.orders.pagePart);
    } catch (error) {
      pass.isAccounted = await this.kept.keep(answer, asError(error), pass.signal);
      this.#waiting = undefined;
      throw error;
    }
    if (pages instanceof UnreadPageError && !read.isNothing && read.error !== undefined) {
      // What came is stored.
      this.#waiting = undefined;
      throw pages.isMissing ? pages : read.error;
    }
    const fresh = answer.oldBy === undefined;
    const { askedAt } = answer;
    const mayHaveAsked = answer.mayHaveAsked === true;
    const date = fresh ? answer.date : undefined;
    const origin = { fresh, mayHaveAsked, date, askedAt, at, account, confirmFollows };
    const stored = read.isNothing
      ? await this.#noteEmpty(read, origin, pass)
      : await this.#writer.write(read, origin, pass);
    this.#waiting = undefined;
    if (stored !== undefined && pages !== undefined && !(pages instanceof UnreadPageError))
      await commit(this.#context, pass.signal, () => this.#former.save(pages.bodies, stored.row.id));
    if (read.isNothing || read.error === undefined) return stored;
    if (stored === undefined && fresh && read.next !== undefined && pages === undefined) {
      const others = await this.#storePages(read, read.next, pass);
      const served = others instanceof UnreadPageError ? answer : (others.renamed ?? answer);
      return await this.store(served, pass, confirmFollows, { pages: others, account });
    }
    if (stored === undefined) throw read.error;
    pass.failure ??= read.error;
    return stored;
  }

  /**
   * Reads the next kept body that the present configuration has not been tried on. `none`: there is no such;
   * `unread`: it still cannot be read and stays, or its orders are stored and its batch is not to be confirmed.
   */
  async storeKept(pass: PullPass, confirmFollows: ConfirmFollows): Promise<StoredBatch | "unread" | "none"> {
    const { store, clock, client } = this.#context;
    const { signature } = this.#rules;
    const kept = loadUnreadBody(store, signature);
    if (kept === undefined) return "none";
    let read: ReadBatch | ReadNothing;
    try {
      const body = await readBody(this.#context, kept, pass.signal);
      const answer = { ...headOfText(kept.head), contentType: "application/json", body, isKept: true };
      read = await this.#reader.read(answer, pass.signal);
      if (read.isNothing) throw new BridgeError("answer_shape", m.orders.emptyNow);
    } catch (error) {
      const { code, text } = asError(error);
      if (code !== "answer_shape" && code !== "unavailable") throw error;
      await commit(this.#context, pass.signal, () =>
        markUnreadTried(store, kept.id, signature, withTexts(text, client.hideSecrets)),
      );
      return "unread";
    }
    const at = isoTime(clock.nowMs());
    const origin = {
      fresh: false,
      date: kept.date ?? undefined,
      askedAt: kept.date ?? undefined,
      at,
      account: kept.account,
      unread: { id: kept.id, place: kept },
      confirmFollows,
    };
    return (await this.#writer.write(read, origin, pass)) ?? "unread";
  }

  /** Stores the other pages of a batch, as parts of it. Gives why one of them could not be read. */
  async #storePages(first: ReadBatch, next: Query, pass: PullPass): Promise<ReadPages | UnreadPageError> {
    const pages = {
      store: async (page: ReadBatch, answer: ServiceAnswer) => await this.#storePage({ page, first }, answer, pass),
      wait: (answer: ServiceAnswer | undefined) => {
        this.#waiting = answer;
      },
    };
    return await new BatchPagesReader(this.#context, this.#reader, pages, pass.signal).read(first, next);
  }

  async #storePage(
    { page, first }: { page: ReadBatch; first: ReadBatch },
    { date, askedAt }: ServiceAnswer,
    pass: PullPass,
  ): Promise<void> {
    const at = isoTime(this.#context.clock.nowMs());
    const note = { receivedAt: at, fingerprint: page.fingerprint, date, isPart: true as const };
    if (!(await this.#journal.keep(page.body, note, pass))) throw pass.failure;
    const { account } = this.#rules;
    const origin = { fresh: true, date, askedAt, at, account, confirmFollows: () => false, isJournaled: true };
    await this.#writer.write(page, { ...origin, first }, pass);
  }

  async #noteEmpty({ unusual, waits }: ReadNothing, origin: Origin, pass: PullPass): Promise<undefined> {
    const { store } = this.#context;
    if (unusual !== undefined) {
      pass.isUnusual = true;
      if (!unusual.isBrief) pass.failure ??= unusual;
      return;
    }
    pass.failure ??= waits;
    if (origin.mayHaveAsked === true) return;
    pass.isAccounted = true;
    const isOpen = loadDelivery(store) !== undefined || UNANSWERED.load(store)?.due !== undefined;
    if (!isOpen && (origin.date === undefined || loadWatermark(store, UPDATES_STREAM) !== undefined)) return;
    await commit(this.#context, pass.signal, () => {
      this.#writer.saveFirstWatermark(origin);
      closeDelivery(store);
    });
  }
}
