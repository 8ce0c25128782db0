/*
 * Compares the answers of one endpoint with its usual ones. The usual forms are stored in the database, where a person can
 * change them; the age of a new form is counted on the monotonic clock of this process.
 */

import { textOf } from "../answers/json-text.ts";
import { shortWords } from "../messages/inert-text.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { isoTime } from "../platform/ports.ts";
import type { Acceptance } from "../service/outcome/acceptance.ts";
import {
  type AnswerCounts,
  type CountedOtherwise,
  countsChanges,
  type FewChanges,
  findExcessCount,
  findFewChanges,
  findShortCount,
  findShortSince,
  isEqualOften,
  type LearnedCounts,
  learnCountOfChanges,
  learnCountOfTaken,
  learnCounts,
  learnLack,
} from "../service/outcome/answer-counts.ts";
import { formOf, withShown } from "../service/outcome/answer-form.ts";
import { type AnswerForm, describeForm, type LearnedForms, NOTHING_LEARNED } from "../service/outcome/known-forms.ts";
import type { SentRecord } from "../service/outcome/named-records.ts";
import { readSaid } from "../service/outcome/record-reports.ts";
import {
  findUnknownSince,
  isUnusual,
  learnDisproved,
  learnProved,
  learnUnusual,
  learnUsual,
} from "../service/outcome/usual-forms.ts";
import { briefWordsOf, findOdd, hasSettled, NOTHING_SAID, wordsOf } from "../service/outcome/usual-reports.ts";
import { areTextsKnown, findUnusualText, NO_TEXTS } from "../service/outcome/usual-texts.ts";
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
  unknownSince?: string;
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

  get #counts(): LearnedCounts {
    return COUNTS.load(this.#context.store, this.#endpoint);
  }

  get hasFresh(): boolean {
    return this.#learned.fresh.length > 0;
  }

  /** Whether the usual form is settled: another such answer changes nothing that is stored. */
  get isSettled(): boolean {
    const { known, since, fresh, records = NOTHING_SAID, texts = NO_TEXTS } = this.#learned;
    return (
      hasSettled(records) &&
      (areTextsKnown(texts) || known.every(({ kind }) => kind !== "object")) &&
      since !== null &&
      fresh.length === 0 &&
      known.every(({ isReplacement, doubt }) => isReplacement === undefined && doubt !== "list")
    );
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
    body: Buffer,
    acceptance: Acceptance & { kind: "accepted" },
    own?: ReadonlySet<string>,
    {
      sent,
      shown,
      isShort = false,
      isBrief = false,
    }: { sent?: readonly SentRecord[]; shown?: string | undefined; isShort?: boolean; isBrief?: boolean } = {},
  ): JudgedAnswer {
    const learned = this.#learned;
    const { unknown, ...plain } = acceptance;
    const isOfChanges = !isShort && unknown?.why === "counts" && countsChanges(this.#counts);
    const read = { ...(isOfChanges ? plain : acceptance), size: sent?.length };
    const { records = NOTHING_SAID } = learned;
    const withoutOwn = formOf(body, read);
    // A key that is a word of the usual answer, such as `ok` or `200`, is no news there.
    const shape = learned.since !== null && !isUnusual(learned, withoutOwn) ? withoutOwn : formOf(body, read, own);
    const answer = () => (acceptance.root === undefined ? body.toString() : JSON.parse(textOf(body, acceptance.root)));
    const reports = sent && readSaid(answer(), sent, records);
    const whole = shown === undefined ? shape : withShown(shape, shown);
    const form = reports ? { ...whole, said: isBrief ? briefWordsOf(reports) : wordsOf(reports) } : whole;
    if (reports !== undefined) this.#ordinary.set(form, reports.ordinary);
    const odd = reports === undefined || isBrief ? [] : findOdd(records, reports);
    const usual = learned.known[0];
    const isNew = isUnusual(learned, form);
    const [first] = odd;
    const named = first && `${sent?.[first.index]?.key.filter((part) => part !== "").join("/")}: ${first.words}`;
    const text = findUnusualText(learned.texts ?? NO_TEXTS, form.texts ?? {});
    const said = acceptance.unknown?.words ?? named ?? text ?? describeForm(form);
    const words = isNew || odd.length > 0 ? shortWords(this.#context.client.hideSecrets(said)) : "";
    return { form, isUnusual: isNew, odd, words, usual: usual === undefined ? undefined : describeForm(usual) };
  }

  /** The count in the answer that is lower than the number of records sent. */
  findShort(counts: AnswerCounts, sent: Parameters<typeof findShortCount>[2]): CountedOtherwise | undefined {
    return findShortCount(this.#counts, counts, sent);
  }

  /** The count of changes that is lower than the number of records sent. */
  findFewChanges(counts: AnswerCounts, size: number): FewChanges | undefined {
    return findFewChanges(this.#counts, counts, size);
  }

  /** Whether a count was equal to the number of records so often that fewer of it mean something. */
  isEqualOften(name: string): boolean {
    return isEqualOften(this.#counts[name]);
  }

  /** The count in the answer that is higher than the number of records sent. */
  findExcess(counts: AnswerCounts, size: number): CountedOtherwise | undefined {
    return findExcessCount(this.#counts, counts, size);
  }

  /**
   * Inside the transaction that settles the request as accepted in full.
   * @param at when it was answered, where what was accepted can be sent again
   * @returns since when the outcome of acceptances is unknown, because a count is now known to be of records
   */
  saveCounts(counts: AnswerCounts, size: number, at?: string): string | undefined {
    const before = this.#counts;
    const after = learnCounts(before, counts, size, at);
    if (after === before) return undefined;
    COUNTS.save(this.#context.store, this.#endpoint, after);
    return findShortSince(before, after);
  }

  /** Inside the transaction that settles a request of which fewer changes were counted than there were. */
  saveLack(name: string): void {
    COUNTS.save(this.#context.store, this.#endpoint, learnLack(this.#counts, name));
  }

  /** Inside a transaction: notes whether the endpoint counts changed records, or all accepted ones. */
  saveCountOf(what: "changes" | "taken", name: string): void {
    const learn = what === "changes" ? learnCountOfChanges : learnCountOfTaken;
    COUNTS.save(this.#context.store, this.#endpoint, learn(this.#counts, name));
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
    this.#save((learned) => (learned.fresh.length === 0 ? learned : { ...learned, fresh: [] }));
  }

  #learn(form: AnswerForm, change: (learned: LearnedForms) => LearnedForms): Learned {
    const before = this.#learned;
    const after = this.#save(change);
    const unknownSince = findUnknownSince(before, after);
    return { isUsual: !isUnusual(after, form), ...(unknownSince === undefined ? {} : { unknownSince }) };
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
