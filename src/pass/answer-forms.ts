/*
 * Compares the answers of one endpoint with its usual ones. The usual forms are stored in the database, where a person can
 * change them; the age of a new form is counted on the monotonic clock of this process.
 */

import { textOf } from "../answers/json-text.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { isoTime } from "../platform/ports.ts";
import type { Accepted } from "../service/outcome/acceptance.ts";
import { formOf, withShown } from "../service/outcome/answer-form.ts";
import { isSettled, isUnusual, NOTHING_LEARNED } from "../service/outcome/compare-forms.ts";
import { type AnswerForm, describeForm, type LearnedForms } from "../service/outcome/known-forms.ts";
import type { SentRecord } from "../service/outcome/named-records.ts";
import { readSaid } from "../service/outcome/record-reports.ts";
import { countsChanges, findShortSince, type LearnedCounts } from "../service/outcome/usual-counts.ts";
import {
  dropFresh,
  findUnknownSince,
  learnDisproved,
  learnProved,
  learnUnusual,
  learnUsual,
} from "../service/outcome/usual-forms.ts";
import { briefWordsOf, findOdd, wordsOf } from "../service/outcome/usual-reports.ts";
import { findUnusualText } from "../service/outcome/usual-texts.ts";
import type { JobContext } from "./job.ts";
import { LearnedTopic } from "./learned-rows.ts";

/** By endpoint. Written in the transaction that settles the request; after a crash before it, the request is sent again and its answer is compared again. */
export const FORMS = new LearnedTopic<LearnedForms>("forms", NOTHING_LEARNED);

export interface JudgedAnswer {
  form: AnswerForm;
  isUnusual: boolean;
  /** Positions of the request's records about which the answer says something unusual. */
  odd: readonly { index: number; words: string }[];
  /** For a person: the unusual part of the answer beside the usual one. */
  words: string;
  usual: string | undefined;
}

/**
 * What it proves that for some time every answer had the new form. `nothing`: the outcome of a request is found in another way.
 * `little`: the form counts as an acceptance only if it contains a sign of one. `enough`: the form counts; a request that had
 * no effect is noticed later and sent again.
 */
export type TimeProves = "nothing" | "little" | "enough";

/** What is known after an answer. */
export interface Learned {
  isUsual: boolean;
  /** The outcome of acceptances since then (this machine's clock) is unknown; `""`: of all acceptances. */
  unknownSince: string | undefined;
}

const SEEN_MAX = 20;
/** What the counts in an endpoint's answers are proportional to. */
const COUNTS = new LearnedTopic<LearnedCounts>("counts", {});

export class AnswerForms {
  readonly #context: JobContext;
  readonly #endpoint: string;
  readonly #timeProves: TimeProves;
  /** Monotonic time of the last answer in each new form. */
  readonly #seenMs = new Map<string, number>();
  /** What answers of these forms have beside what they say of records. */
  readonly #ordinary = new WeakMap<AnswerForm, readonly string[]>();

  /** @param endpoint method and path as they are configured */
  constructor(context: JobContext, endpoint: string, timeProves: TimeProves) {
    this.#context = context;
    this.#endpoint = endpoint;
    this.#timeProves = timeProves;
  }

  get #learned(): LearnedForms {
    return FORMS.load(this.#context.store, this.#endpoint);
  }

  /** What is known of the endpoint's counts. */
  get counts(): LearnedCounts {
    return COUNTS.load(this.#context.store, this.#endpoint);
  }

  get hasFresh(): boolean {
    return this.#learned.fresh.length > 0;
  }

  get isSettled(): boolean {
    return isSettled(this.#learned);
  }

  isNew(form: AnswerForm): boolean {
    return isUnusual(this.#learned, form);
  }

  /**
   * @param sent the records of the request: the answer is also read record by record
   * @param isShort whether a count shows that it is no acceptance, whatever the counts usually are
   * @param isBrief of its one record only words of the outcome are compared: messages and codes may differ with each answer
   * @param shown the status of the order in the answer, if it differs from the one that was sent
   */
  judge(
    { answer, unknown }: Accepted,
    own?: ReadonlySet<string>,
    {
      sent,
      shown,
      isShort = false,
      isBrief = false,
    }: { sent?: readonly SentRecord[]; shown?: string | undefined; isShort?: boolean; isBrief?: boolean } = {},
  ): JudgedAnswer {
    const learned = this.#learned;
    const isOfChanges = !isShort && unknown?.why === "counts" && countsChanges(this.counts);
    const read = { ...(unknown && !isOfChanges && { unknown }), size: sent?.length };
    const withoutOwn = formOf(answer, read);
    // A key that is a word of the usual answer, such as `ok` or `200`, is no news there.
    const shape = learned.since !== null && !isUnusual(learned, withoutOwn) ? withoutOwn : formOf(answer, read, own);
    const { body, root } = answer;
    const parsed = () => (root === undefined ? body.toString() : JSON.parse(textOf(body, root)));
    const reports = sent && readSaid(parsed(), sent, learned.records);
    const whole = shown === undefined ? shape : withShown(shape, shown);
    const form = reports ? { ...whole, said: isBrief ? briefWordsOf(reports) : wordsOf(reports) } : whole;
    if (reports !== undefined) this.#ordinary.set(form, reports.ordinary);
    const odd = reports === undefined || isBrief ? [] : findOdd(learned.records, reports);
    const usual = learned.known[0];
    const isNew = isUnusual(learned, form);
    const [first] = odd;
    const named = first && `${sent?.[first.index]?.key.filter((part) => part !== "").join("/")}: ${first.words}`;
    const said = unknown?.words ?? named ?? findUnusualText(learned.texts, form.texts) ?? describeForm(form);
    const words = isNew || odd.length > 0 ? shortWords(this.#context.client.hideSecrets(said)) : "";
    return { form, isUnusual: isNew, odd, words, usual: usual && describeForm(usual) };
  }

  /**
   * Inside the transaction that settles the request.
   * @returns since when the outcome of acceptances is unknown, because a count is now known to be of records
   */
  saveCounts(change: (counts: LearnedCounts) => LearnedCounts): string | undefined {
    const { before, after } = COUNTS.change(this.#context.store, this.#endpoint, change);
    return findShortSince(before, after);
  }

  /**
   * Inside the transaction that settles what was accepted.
   * @param is.endsDoubt whether a request of unknown outcome was accepted now: then the new forms meant no acceptance
   * @param is.isRepeat whether the request was accepted before and settles nothing
   */
  saveUsual(form: AnswerForm, is: { endsDoubt: boolean; isRepeat?: boolean }): Learned {
    return this.#learn(form, (learned) =>
      learnUsual(learned, form, { at: this.#at, ...is, ordinary: this.#ordinary.get(form) }),
    );
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

  /** Inside a transaction: it is known now whether requests that were answered in an unusual form had an effect. */
  saveProof(form: AnswerForm, hasEffect: boolean): void {
    const ms = Date.parse(this.#at);
    this.#save((learned) => (hasEffect ? learnProved(learned, form, ms) : learnDisproved(learned, form)));
  }

  /** Inside a transaction: no request that was answered in a new form is open any more. */
  dropFresh(): void {
    this.#save(dropFresh);
  }

  #learn(form: AnswerForm, change: (learned: LearnedForms) => LearnedForms): Learned {
    const { before, after } = this.#save(change);
    return { isUsual: !isUnusual(after, form), unknownSince: findUnknownSince(before, after) };
  }

  #save(change: (learned: LearnedForms) => LearnedForms): { before: LearnedForms; after: LearnedForms } {
    return FORMS.change(this.#context.store, this.#endpoint, change);
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
