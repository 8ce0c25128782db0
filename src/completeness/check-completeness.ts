/*
 * Compares the fields beside the list in an endpoint's answers with their usual values ({@link learnMetadata}). No
 * position depends on what is learned, so after a crash it is learned again from the same answer.
 */

import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import { ContradictedAnswer } from "../pass/contradicted-answer.ts";
import type { JobContext } from "../pass/job.ts";
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import {
  adoptUnusual,
  describeBeside,
  findUnusual,
  isAdopted,
  isStanding,
  learnEmpty,
  NO_EMPTY,
  noteRecords,
  noteUnusual,
} from "./empty-form.ts";
import { isNothing, learnEmptyName, learnServedName, mayBeBatches } from "./empty-names.ts";
import { findLacks, ignoreLacks, type Lack, learnWhole } from "./lacks.ts";
import { acceptDoubted, doubtFields, ignoreFields, type LearnedMetadata, listDoubted } from "./learned-metadata.ts";
import { withEmptyRecords } from "./list-metadata.ts";
import { LISTS, withShortBatch } from "./list-rows.ts";
import {
  describeFields,
  keyOf,
  type ListMetadata,
  type MetadataField,
  NO_METADATA,
  namesOrders,
} from "./metadata-fields.ts";
import { type NamedOrder, OrdersBesideList } from "./orders-beside-list.ts";
import { findContradictions, findMoreAfterEnd, learnMetadata, saysMore } from "./plan-completeness.ts";
import {
  ANY_BATCH,
  findShortfall,
  learnShort,
  learnSizes,
  mayCountWaiting,
  noteEmptyRecords,
  waitForRest,
} from "./shortfall.ts";

type Endpoint = "orders" | "updates";

/** An order that the service temporarily cannot write may come with the same batch later. */
const EMPTY_WAIT_MS = HOUR_MS;
const EMPTY_TIMES_MAX = 100;
/** A new form of empty answers may disappear with the next answer. */
const UNUSUAL_WAIT_MS = 600_000;
const NO_NAME = { name: undefined, state: undefined };
const NO_IDS: ReadonlySet<string> = new Set();

type Ids = Pick<ReadonlySet<string>, "has">;

interface ServedBatch {
  /** Identifies the batch. */
  batch: string;
  /** Identifies the batch with the orders that are in it now. */
  fingerprint: string;
  /** The number of records without content. */
  empty: number;
  /**
   * The confirm covers only its records, or it was stored as it is: only clear statements that it is a part are used.
   */
  isSettled: boolean;
  /** The ids of its records. */
  listed: () => Ids;
  /** Its next page has not been requested yet. */
  isNextDue?: boolean;
}

/** The list of an answer is empty, and the answer does not have the usual form of empty answers. */
export class UnusualEmptyError extends ContradictedAnswer {
  /** It has lasted only a few minutes, and is not reported yet. */
  readonly isBrief: boolean;

  constructor(text: Message, { hint, isBrief }: { hint: Message; isBrief: boolean }) {
    super(text, { hint });
    this.isBrief = isBrief;
  }
}

/** See {@link CompletenessCheck.judge}. */
interface JudgeOptions {
  mustList?: (isStanding: boolean) => boolean;
}

export interface NamedEmpty {
  /** A digest. */
  name: string;
  /** The state of the row in which it was stored as a batch of its own. */
  state: string | undefined;
}

export class CompletenessCheck {
  readonly #context: JobContext;
  readonly #endpoint: Endpoint;
  /** The path of the list, for a message. */
  readonly #path: string;
  /** Keyed by batch and start time; values on the monotonic clock. */
  readonly #emptySinceMs = new Map<string, number>();
  readonly #named: OrdersBesideList;
  /** The name of the last batch with orders. */
  #servedName: string | undefined;

  constructor(context: JobContext, endpoint: Endpoint, path: string) {
    this.#context = context;
    this.#named = new OrdersBesideList(context);
    this.#endpoint = endpoint;
    this.#path = path;
  }

  /**
   * Call for each answer. Returns an error where its list is empty and the form of the answer is unusual.
   * @param options.mustList whether an empty answer should hold records; `isStanding`: the one before has an unusual form too
   * @throws BridgeError `answer_shape` where its list is empty and a field beside it contradicts that.
   */
  async judge(
    metadata: ListMetadata,
    signal: AbortSignal,
    options: JudgeOptions = {},
  ): Promise<UnusualEmptyError | undefined> {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    const found = metadata.size === 0 ? findContradictions(learned, metadata) : [];
    const next = learnMetadata(learned, metadata);
    const judged = found.length === 0 ? this.#judgeForm(next, metadata, options) : { learned: next };
    await this.#save(learned, judged.learned, signal);
    if (found.length === 0) return judged.unusual;
    const text = m.orders.emptyContradicted({ path: this.#path, what: this.#describe(found) });
    throw new ContradictedAnswer(text, { hint: this.#hint });
  }

  #judgeForm(
    learned: LearnedMetadata,
    { size, besideEmpty = [] }: ListMetadata,
    { mustList }: JudgeOptions,
  ): { learned: LearnedMetadata; unusual?: UnusualEmptyError } {
    const { clock, log } = this.#context;
    const { empty = NO_EMPTY, names = {} } = learned;
    const how = { mustList: mustList?.(isStanding(empty)) === true, areBatches: mayBeBatches(names) };
    const found = size === 0 ? findUnusual(empty, besideEmpty, how) : [];
    if (found.length === 0) {
      const next = size === 0 ? learnEmpty(empty, besideEmpty) : noteRecords(empty);
      return { learned: next === empty ? learned : { ...learned, empty: next } };
    }
    const noted = noteUnusual(empty, besideEmpty, isoTime(clock.nowMs()));
    const forMs = this.#passedMs("empty", noted.unusual?.since ?? "", DAY_MS);
    const what = this.#hide(describeBeside(found));
    const text = m.orders.emptyUnusual({ path: this.#path, what });
    if (isAdopted(noted, forMs)) {
      log.warn({ area: this.#endpoint }, m.orders.emptyAdopted({ path: this.#path, what }));
      return { learned: { ...learned, empty: adoptUnusual(noted) } };
    }
    if (empty.unusual === undefined) log.warn({ area: this.#endpoint }, text);
    const unusual = new UnusualEmptyError(text, { hint: this.#hint, isBrief: forMs < UNUSUAL_WAIT_MS });
    return { learned: { ...learned, empty: noted }, unusual };
  }

  /** Call for an answer with orders; `name` is the name of its batch. */
  async noteServedName(name: string, signal: AbortSignal): Promise<void> {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    const { names = {} } = learned;
    this.#servedName = name;
    const next = learnServedName(names, name);
    if (next !== names) await this.#save(learned, { ...learned, names: next }, signal);
  }

  /**
   * Call for an answer without orders in a usual form. An answer with a name is a batch, unless the service names its
   * empty answers. `due`: the batch, or only such batches, have been served for an hour, and it is to be confirmed.
   * Returns an error for a batch that waits.
   */
  async judgeNamed(named: NamedEmpty | undefined, signal: AbortSignal): Promise<"nothing" | "due" | BridgeError> {
    const before = LISTS.load(this.#context.store, this.#endpoint);
    // The name of the last batch with orders means that there is no new batch.
    const { name, state } = named === undefined || named.name === this.#servedName ? NO_NAME : named;
    const { names: namesBefore = {} } = before;
    let names = learnEmptyName(namesBefore, name, state === "confirmed" || state === "refused");
    const hasEmpty = name !== undefined && !isNothing(names);
    const isTrial = hasEmpty && names.usual === "named";
    const note = { batch: name ?? "", hasEmpty, at: isoTime(this.#context.clock.nowMs()) };
    const learned = noteEmptyRecords(before, note);
    const sinceMs = hasEmpty ? this.#waitedMs(learned, note.batch) : 0;
    const isDue = sinceMs >= EMPTY_WAIT_MS;
    // The service now names its empty answers: this was confirmed, or is, and is still served a day later.
    if (isDue && state !== undefined && sinceMs >= DAY_MS) names = { usual: "named" };
    else if (isDue && isTrial) names = { ...names, trials: (names.trials ?? 0) + 1 };
    // The next name comes after this one was confirmed, so it proves nothing, unless other batches wait.
    else if (isDue && names.usual === undefined && names.isReturned === undefined) names = {};
    const isNews = JSON.stringify(names) !== JSON.stringify(namesBefore);
    // The next trial comes an hour later: the confirm may be lost.
    const waiting = isDue && isTrial ? noteEmptyRecords(learned, { ...note, hasEmpty: false }) : learned;
    const next = isNews ? { ...waiting, names } : waiting;
    // The empty answers so far were this batch: what it looks like says nothing of others.
    const isBatch = isDue && (isTrial || names.usual === undefined);
    await this.#save(before, isBatch ? { ...next, empty: NO_EMPTY } : next, signal);
    if (isDue && (isTrial || names.usual !== "named")) return "due";
    const isReported = names.usual === "none" && sinceMs >= UNUSUAL_WAIT_MS;
    return isReported
      ? new BridgeError("answer_shape", m.orders.emptyBatch, { hint: m.orders.emptyBatchHint })
      : "nothing";
  }

  /**
   * Call for the last page.
   * @throws BridgeError `answer_shape` where it states that there are more pages and former last pages did not.
   */
  async judgeEnd(metadata: ListMetadata, signal: AbortSignal): Promise<void> {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    const found = findMoreAfterEnd(learned, metadata);
    await this.#save(
      learned,
      found.length === 0 ? learnMetadata(learned, metadata, true) : doubtFields(learned, found),
      signal,
    );
    if (found.length === 0) return;
    const text = m.orders.moreAfterEnd({ what: this.#describe(found), path: this.#path });
    throw new ContradictedAnswer(text, { hint: this.#hint });
  }

  /**
   * Call for each batch. Returns an error where the answer states that the batch contains more records than its list:
   * the records are stored, but a confirm that names only the batch would cover the missing ones.
   */
  async judgeBatch(metadata: ListMetadata, served: ServedBatch, signal: AbortSignal): Promise<BridgeError | undefined> {
    const { store, clock, log } = this.#context;
    const before = LISTS.load(store, this.#endpoint);
    const { batch, isSettled } = served;
    const empty = isSettled ? 0 : served.empty;
    const all = { learned: before, answer: withEmptyRecords(metadata, this.#path, empty) };
    const { learned, answer, missing } = all.answer.fields.some(namesOrders)
      ? await this.#named.find(all, served, signal)
      : { ...all, missing: [] };
    const sizes = learnShort(learnSizes(learned, answer), answer, served.fingerprint);
    const found = [...findShortfall(learned, answer), ...missing].filter((field) => {
      if (field.kind !== "ids" && !mayCountWaiting(learned, field)) return true;
      return !isSettled && sizes.known[keyOf(field)]?.state !== "free";
    });
    const waits = found.map((field) => waitForRest(learned, answer, field));
    const note = { batch, hasEmpty: found.length > 0, at: isoTime(clock.nowMs()) };
    const after = isSettled ? sizes : noteEmptyRecords(sizes, note);
    const waitMs = Math.max(...waits);
    const isPassed = found.length > 0 && served.isNextDue !== true && this.#waitedMs(after, batch) >= waitMs;
    const passed = [...missing, ...found.filter(({ kind }) => kind === "number")];
    const isEmpty = found.every((field) => field.empty !== undefined);
    const next = isPassed ? ignore(after, passed) : after;
    const what = `${metadata.size}: ${this.#describe(found)}`;
    const saved = isPassed && !isEmpty ? withShortBatch(next, { at: note.at, what }) : next;
    await this.#save(before, saved, signal);
    if (found.length === 0) return undefined;
    if (isPassed) {
      const passedWords = this.#endpoint === "orders" ? m.orders.emptyConfirmed : m.updates.emptyPassed;
      const words = isEmpty
        ? passedWords
        : m.orders.partConfirmed({ size: metadata.size, what: this.#describe(found), hours: waitMs / HOUR_MS });
      log.warn({ empty, size: metadata.size }, words);
      return undefined;
    }
    if (!isEmpty)
      return new ContradictedAnswer(
        m.orders.batchNotWhole({
          size: metadata.size,
          what: this.#describe(found),
          ...(Number.isFinite(waitMs) && { hours: waitMs / HOUR_MS }),
        }),
        { hint: this.#hint },
      );
    const emptyWords = this.#endpoint === "orders" ? m.orders.emptyRecords : m.updates.emptyRecords;
    return new ContradictedAnswer(emptyWords({ empty, size: metadata.size }), {
      hint: m.orders.emptyMeansNothing({ area: this.#endpoint }),
    });
  }

  /**
   * Call for each page of changes. Returns an error where records have no content: the position then stays for an hour.
   */
  judgePage(
    since: string,
    empty: number,
    { metadata, signal }: { metadata: ListMetadata; signal: AbortSignal },
  ): Promise<BridgeError | undefined> {
    const served = { batch: since, fingerprint: since, empty, isSettled: false, listed: () => NO_IDS };
    return this.judgeBatch({ ...NO_METADATA, size: metadata.size }, served, signal);
  }

  /** Reads the orders that an answer names beside its list and that are not in the list. */
  async readNamed(metadata: ListMetadata, listed: () => Ids, signal: AbortSignal): Promise<void> {
    if (!metadata.fields.some(namesOrders)) return;
    const before = LISTS.load(this.#context.store, this.#endpoint);
    const all = { learned: before, answer: metadata };
    const { learned } = await this.#named.find(all, { listed, isChange: this.#endpoint === "updates" }, signal);
    await this.#save(before, learned, signal);
  }

  /** The orders that the answer names beside its list and that are not in it. */
  others(answer: ListMetadata, listed: () => Ids): NamedOrder[] {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    return this.#named.others({ learned, answer }, listed);
  }

  /** Whether pages of a batch have borne its name, so that one with another name is none of it, and no batch of its own either. */
  get arePagesNamed(): boolean {
    return LISTS.load(this.#context.store, this.#endpoint).pagesNamed === true;
  }

  /** Call for a page with records that has the name of its batch. */
  async notePageName(signal: AbortSignal): Promise<void> {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    if (learned.pagesNamed !== true) await this.#save(learned, { ...learned, pagesNamed: true }, signal);
  }

  /** How long this batch, or only batches with empty records, have been served, in milliseconds. */
  #waitedMs({ emptySince = {} }: LearnedMetadata, batch: string): number {
    const times = [batch, ANY_BATCH].map((key) => {
      const since = emptySince[key];
      return since === undefined ? 0 : this.#passedMs(key, since, DAY_MS);
    });
    return Math.max(...times);
  }

  /** Measured on the monotonic clock while the process runs. */
  #passedMs(key: string, since: string, maxMs: number): number {
    const { clock } = this.#context;
    const beforeMs = Math.min(Math.max(clock.nowMs() - Date.parse(since), 0), maxMs);
    const sinceMs = this.#emptySinceMs.get(`${key} ${since}`) ?? clock.monotonicMs() - beforeMs;
    if (this.#emptySinceMs.size >= EMPTY_TIMES_MAX) this.#emptySinceMs.clear();
    this.#emptySinceMs.set(`${key} ${since}`, sinceMs);
    return clock.monotonicMs() - sinceMs;
  }

  /** The fields which show that a page of changes lacks changes that are due. */
  findLacks(metadata: ListMetadata): readonly Lack[] {
    return findLacks(LISTS.load(this.#context.store, this.#endpoint), metadata);
  }

  /** Call for a page with all changes that were due. */
  async learnWhole(metadata: ListMetadata, signal: AbortSignal): Promise<void> {
    const learned = LISTS.load(this.#context.store, this.#endpoint);
    await this.#save(learned, learnWhole(learned, metadata), signal);
  }

  /** Without fields that do not link to the next page, and that have stood beside empty lists too. */
  withoutFree(answer: ListMetadata): ListMetadata {
    const { known } = LISTS.load(this.#context.store, this.#endpoint);
    const isFree = (field: MetadataField) => field.turn !== undefined && known[keyOf(field)]?.state === "free";
    return { ...answer, fields: answer.fields.filter((field) => !isFree(field)) };
  }

  /** Whether a page states that another one follows. */
  saysMore(metadata: ListMetadata): boolean {
    return saysMore(LISTS.load(this.#context.store, this.#endpoint), metadata);
  }

  get #hint(): Message {
    return m.orders.compareAnswer({ area: this.#endpoint });
  }

  #describe(metadata: Parameters<typeof describeFields>[0]): string {
    return this.#hide(describeFields(metadata));
  }

  #hide(text: string): string {
    return this.#context.client.hideSecrets(text);
  }

  async #save(before: LearnedMetadata, after: LearnedMetadata, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    if (after !== before) await commit(this.#context, signal, () => LISTS.save(store, this.#endpoint, after));
  }
}

function ignore(learned: LearnedMetadata, fields: readonly MetadataField[]): LearnedMetadata {
  return fields.length === 0 ? learned : ignoreFields(learned, fields.map(keyOf));
}

/** What contradicts an area's answers and waits to be accepted by a person. */
export function listContradictions(store: Store, area: string): string[] {
  return area === "orders" || area === "updates" ? listDoubted(LISTS.load(store, area)) : [];
}

/** A person has checked the answers. */
export function acceptMetadata(store: Store, area: string): void {
  if (area !== "orders" && area !== "updates") return;
  const learned = LISTS.load(store, area);
  const accepted = acceptDoubted(learned);
  if (accepted !== learned) LISTS.save(store, area, accepted);
}

/** Nothing was missing although these fields stated so. */
export function acceptLacks(store: Store, keys: readonly string[]): void {
  LISTS.save(store, "updates", ignoreLacks(LISTS.load(store, "updates"), keys));
}
