/*
 * Compares the answers of one endpoint with those that it usually gives. What is known stands in the database, so that a
 * person may change it; how long ago a new form came last is counted on the monotonic clock while the process lives.
 */

import { shortWords } from "../answers/inert-text.ts";
import { textOf } from "../answers/json-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { isoTime } from "../platform/ports.ts";
import type { Acceptance } from "../service/acceptance.ts";
import {
  type AnswerCounts,
  type CountedOtherwise,
  countsChanges,
  findExcessCount,
  findShortCount,
  type LearnedCounts,
  learnCountOfChanges,
  learnCountOfTaken,
  learnCounts,
} from "../service/answer-counts.ts";
import {
  findDoubtedSince,
  formOf,
  isUnusual,
  learnDisproved,
  learnProved,
  learnUnusual,
  learnUsual,
  withShown,
} from "../service/answer-form.ts";
import { type AnswerForm, describeForm, type LearnedForms, NOTHING_LEARNED } from "../service/known-forms.ts";
import { findOdd, hasSettled, NOTHING_SAID, readSaid, type SentRecord, wordsOf } from "../service/said-of-records.ts";
import type { JobContext } from "./job.ts";
import { LearnedTopic } from "./learned-rows.ts";

/** By endpoint. Written in the transaction that settles the request; after a crash before it the request goes again and its answer is read anew. */
export const FORMS = new LearnedTopic<LearnedForms>("forms", NOTHING_LEARNED);

export interface JudgedAnswer {
  form: AnswerForm;
  isUnusual: boolean;
  /** Of these records of the request it says something else than usually of a record. */
  odd: readonly { index: number; words: string }[];
  /** For a person, where it is: what came, and what usually does. */
  words: string;
  usual: string | undefined;
}

/**
 * What the time of a new form proves, in which nothing else was answered. `nothing`: something else shows what became of a request.
 * `little`: it counts where the form has a sign of an acceptance. `enough`: a request that was not acted on shows, and
 * goes again.
 */
export type TimeProves = "nothing" | "little" | "enough";

/** What is known after an answer. */
export interface Learned {
  isUsual: boolean;
  /** Acceptances since then, by this machine's clock, are in doubt; `""`: all of them. */
  doubtedSince?: string;
}

const SEEN_MAX = 20;
/** What the counts of an endpoint follow. */
const COUNTS = new LearnedTopic<LearnedCounts>("counts", {});

export class AnswerForms {
  readonly #context: JobContext;
  readonly #endpoint: string;
  readonly #timeProves: TimeProves;
  /** Monotonic time of the last answer in each new form. */
  readonly #seenMs = new Map<string, number>();

  /** @param endpoint method and path as they are configured */
  constructor(context: JobContext, endpoint: string, timeProves: TimeProves) {
    this.#context = context;
    this.#endpoint = endpoint;
    this.#timeProves = timeProves;
  }

  get #learned(): LearnedForms {
    return FORMS.load(this.#context.store, this.#endpoint);
  }

  get #counts(): LearnedCounts {
    return COUNTS.load(this.#context.store, this.#endpoint);
  }

  get hasFresh(): boolean {
    return this.#learned.fresh.length > 0;
  }

  /** Whether another answer in a usual form teaches nothing. */
  get isSettled(): boolean {
    const { known, since, fresh, records } = this.#learned;
    return (
      hasSettled(records ?? NOTHING_SAID) &&
      since !== null &&
      fresh.length === 0 &&
      known.every(({ isReplacement }) => isReplacement === undefined)
    );
  }

  isNew(form: AnswerForm): boolean {
    return isUnusual(this.#learned, form);
  }

  /**
   * @param sent the records of the request, where it is one of records: what the answer says of each of them counts
   * @param shown the status of the order in the answer, where that is another than the one that was sent
   */
  judge(
    body: Buffer,
    acceptance: Acceptance & { kind: "accepted" },
    own?: ReadonlySet<string>,
    { sent, shown }: { sent?: readonly SentRecord[]; shown?: string | undefined } = {},
  ): JudgedAnswer {
    const learned = this.#learned;
    const { doubt, ...plain } = acceptance;
    const isOfChanges = doubt?.why === "counts" && countsChanges(this.#counts);
    const shape = formOf(body, { ...(isOfChanges ? plain : acceptance), size: sent?.length }, own);
    const said =
      sent &&
      readSaid(acceptance.root === undefined ? body.toString() : JSON.parse(textOf(body, acceptance.root)), sent);
    const whole = shown === undefined ? shape : withShown(shape, shown);
    const form = said === undefined ? whole : { ...whole, said: wordsOf(said) };
    const odd = said === undefined ? [] : findOdd(learned.records ?? NOTHING_SAID, said);
    const usual = learned.known[0];
    const isNew = isUnusual(learned, form);
    const [first] = odd;
    const named = first && `${sent?.[first.index]?.key.filter((part) => part !== "").join("/")}: ${first.words}`;
    const told = acceptance.doubt?.words ?? named ?? describeForm(form);
    const words = isNew || odd.length > 0 ? shortWords(this.#context.client.hideSecrets(told)) : "";
    return { form, isUnusual: isNew, odd, words, usual: usual === undefined ? undefined : describeForm(usual) };
  }

  /** A count that says that fewer were taken than were sent. */
  findShort(counts: AnswerCounts, sent: Parameters<typeof findShortCount>[2]): CountedOtherwise | undefined {
    return findShortCount(this.#counts, counts, sent);
  }

  /** A count that says that more were taken than were sent. */
  findExcess(counts: AnswerCounts, size: number): CountedOtherwise | undefined {
    return findExcessCount(this.#counts, counts, size);
  }

  /** Inside the transaction that settles what was accepted, all of it. */
  saveCounts(counts: AnswerCounts, size: number): void {
    COUNTS.save(this.#context.store, this.#endpoint, learnCounts(this.#counts, counts, size));
  }

  /** Inside a transaction: this one counts what was changed, or what was taken, changed or not. */
  saveCountOf(what: "changes" | "taken", name: string): void {
    const learn = what === "changes" ? learnCountOfChanges : learnCountOfTaken;
    COUNTS.save(this.#context.store, this.#endpoint, learn(this.#counts, name));
  }

  /**
   * Inside the transaction that settles what was accepted.
   * @param is.endsDoubt whether something was accepted whose outcome was unknown before: the new forms were trouble
   * @param is.isRepeat whether it was accepted before, and nothing was settled
   */
  saveUsual(form: AnswerForm, is: { endsDoubt: boolean; isRepeat?: boolean }): Learned {
    return this.#learn(form, (learned) => learnUsual(learned, form, { at: this.#at, ...is }));
  }

  /** Inside a transaction. */
  saveUnusual(form: AnswerForm): Learned {
    const { clock } = this.#context;
    const key = JSON.stringify(form);
    const nowMs = clock.monotonicMs();
    const seenMs = this.#seenMs.get(key);
    if (this.#seenMs.size >= SEEN_MAX) this.#seenMs.clear();
    this.#seenMs.set(key, nowMs);
    const stepMs = this.#timeProves === "nothing" ? null : seenMs === undefined ? undefined : nowMs - seenMs;
    const times = { ms: Date.parse(this.#at), at: this.#at, localAt: isoTime(clock.nowMs()), stepMs };
    const needsSign = this.#timeProves !== "enough";
    return this.#learn(form, (learned) => learnUnusual(learned, form, { ...times, needsSign }));
  }

  /** Inside a transaction: what was answered in an unusual form has taken effect, or has not. */
  saveProof(form: AnswerForm, hasEffect: boolean): void {
    const ms = Date.parse(this.#at);
    this.#save((learned) => (hasEffect ? learnProved(learned, form, ms) : learnDisproved(learned, form)));
  }

  /** Inside a transaction: nothing is open that was answered in a new form. */
  dropFresh(): void {
    this.#save((learned) => (learned.fresh.length === 0 ? learned : { ...learned, fresh: [] }));
  }

  #learn(form: AnswerForm, change: (learned: LearnedForms) => LearnedForms): Learned {
    const before = this.#learned;
    const after = this.#save(change);
    const doubtedSince = findDoubtedSince(before, after);
    return { isUsual: !isUnusual(after, form), ...(doubtedSince === undefined ? {} : { doubtedSince }) };
  }

  #save(change: (learned: LearnedForms) => LearnedForms): LearnedForms {
    const learned = this.#learned;
    const next = change(learned);
    if (next !== learned) FORMS.save(this.#context.store, this.#endpoint, next);
    return next;
  }

  get #at(): string {
    const { client, clock } = this.#context;
    return isoTime(client.serviceNow === undefined ? clock.nowMs() : Date.parse(client.serviceNow));
  }
}

export function unknownForm(method: string, path: string, { words, usual }: JudgedAnswer): Message {
  if (usual === undefined) return m.pass.unknownForm({ method, path, words });
  return m.pass.unknownFormUsual({ method, path, words, usual });
}
