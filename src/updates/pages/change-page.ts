/*
 * Reads pages of changes without the database. Most polls bring the same bytes as the last one: such a page is
 * recognised by its hash and head, and the earlier result is used. This is only a cache, which starts empty.
 */

import { digestInSlices, digestOf } from "../../answers/digest.ts";
import type { JsonPath } from "../../answers/json-path.ts";
import type { Span } from "../../answers/json-text.ts";
import { canonicalJson } from "../../answers/json-value.ts";
import type { Slices } from "../../answers/slices.ts";
import { readTimestamp, type ServedTimestamp } from "../../answers/timestamp.ts";
import type { TimestampForm } from "../../answers/timestamp-form.ts";
import { headText, readHeadMetadata } from "../../completeness/head-metadata.ts";
import { readMetadataInSlices } from "../../completeness/list-metadata.ts";
import type { ListMetadata } from "../../completeness/metadata-fields.ts";
import { KeySet } from "../../feeds/diff/key-set.ts";
import { readInTurns } from "../../pass/read-in-turns.ts";
import { type ChangeKey, changeKey } from "../../pass/seen-changes.ts";
import type { Clock } from "../../platform/ports.ts";
import { type OrderMapping, readTimestampText } from "../../records/order-mapping.ts";
import { type AnswerList, readListInSlices } from "../../records/read-list.ts";
import { type AnswerRecord, readRecordsInSlices } from "../../records/read-records.ts";
import type { ServiceAnswer, ServiceClient } from "../../service/client.ts";
import { type Anchor, addAnchor } from "./page-cover.ts";

/** A record of the page; its `span` points into the page's body. */
export interface ServedChange {
  record: AnswerRecord;
  timestamp: ServedTimestamp | undefined;
  /** Hash of the content, without key order and white space. */
  contentHash: Buffer;
  /** The key under which the change is remembered; undefined where the record names no order. */
  key: ChangeKey | undefined;
}

export interface ChangeRules {
  mapping: OrderMapping;
  /** Path of the list. */
  changes: JsonPath;
  /** Path of the next position. */
  next: JsonPath | null;
  /** Zone of timestamps without one. */
  timezone: string;
}

/** Limit of cached changes: the window of a busy shop, about 20 MB. */
const CHANGES_MAX = 20_000;

/**
 * One page, read in steps, because thousands of changes must not delay the pull of orders. Of a page too large for the
 * cache only the timestamps are kept, to spare the garbage collector.
 */
export class ChangePage {
  readonly list: AnswerList;
  /** The metadata beside the list. */
  readonly metadata: ListMetadata;
  /** The repaired body, where single records are no JSON. */
  readonly mended: Buffer | undefined;
  readonly elements: readonly Span[];
  readonly #rules: ChangeRules;
  readonly #isKept: boolean;
  readonly #changes: ServedChange[] = [];
  readonly #timestamps: (ServedTimestamp | undefined)[] = [];
  readonly #seen = { read: 0, unread: 0 };
  #form: TimestampForm | undefined;
  readonly #newest: Anchor[] = [];
  readonly #keys: string[] = [];
  /** Keys of this page, with counts of those that occur several times. */
  readonly #met = new KeySet();
  readonly #times = new Map<string, number>();

  constructor(list: AnswerList, metadata: ListMetadata, rules: ChangeRules) {
    this.list = list;
    this.metadata = metadata;
    this.mended = list.mended?.bytes;
    this.elements = list.elements ?? [];
    this.#rules = rules;
    this.#isKept = this.elements.length <= CHANGES_MAX;
  }

  /**
   * Reads up to `count` changes from index `from`. Every change before `from` must have been read; of a large page none
   * is read twice.
   */
  *read(body: Buffer, from: number, count: number): Slices<readonly ServedChange[]> {
    const elements = this.elements.slice(this.#timestamps.length, from + count);
    const { mapping } = this.#rules;
    const records = yield* readRecordsInSlices(body, { ...this.list, elements }, mapping);
    const fresh = records.map((record) => this.#readChange(body, record));
    for (const { timestamp } of fresh) this.#timestamps.push(timestamp);
    if (!this.#isKept) return fresh;
    for (const change of fresh) this.#changes.push(change);
    return this.#changes.slice(from, from + count);
  }

  /** How many timestamps could be read, and how many could not. */
  get seen(): { read: number; unread: number } {
    return this.#seen;
  }

  get timestamps(): readonly (ServedTimestamp | undefined)[] {
    return this.#timestamps;
  }

  /** Keys of the changes; of one without a readable time its order id, or its hash. */
  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Some of the newest changes, in any order. */
  get newest(): readonly Anchor[] {
    return this.#newest;
  }

  #inOneForm(timestamp: ServedTimestamp | undefined): ServedTimestamp | undefined {
    if (timestamp === undefined) return undefined;
    if (this.#form === undefined || !isSameForm(timestamp.form, this.#form)) this.#form = timestamp.form;
    return { ...timestamp, form: this.#form };
  }

  #readChange(body: Buffer, record: AnswerRecord): ServedChange {
    const { mapping, timezone } = this.#rules;
    // Of a record over the limit only the id is read.
    const hasTimestamp = record.ok || !record.isLarge || record.reference !== null;
    const text = hasTimestamp ? readTimestampText(body, record.span, mapping) : null;
    const timestamp = this.#inOneForm(readTimestamp(text, timezone));
    if (text !== null) this.#seen[timestamp === undefined ? "unread" : "read"] += 1;
    const contentHash = record.ok ? digestOf(canonicalJson(body, record.span)) : record.hash;
    if (!record.ok) {
      if (this.#isKept) this.#keys.push(contentHash.toString("base64"));
      return { record, timestamp, contentHash, key: undefined };
    }
    if (timestamp !== undefined) addAnchor(this.#newest, { orderId: record.orderId, ns: timestamp.instantNs });
    const first = `${record.orderId}${changeKey(timestamp?.instantNs, contentHash, 0)}`;
    if (this.#isKept) this.#keys.push(timestamp === undefined ? record.orderId : first);
    const nth = this.#met.add([first]) ? 0 : (this.#times.get(first) ?? 0) + 1;
    if (nth > 0) this.#times.set(first, nth);
    return { record, timestamp, contentHash, key: changeKey(timestamp?.instantNs, contentHash, nth) };
  }
}

/** Nearly all timestamps of a page have one form, which is stored once. */
function isSameForm(a: TimestampForm, b: TimestampForm): boolean {
  return (
    a.kind === b.kind &&
    a.precision === b.precision &&
    a.fraction === b.fraction &&
    a.point === b.point &&
    a.zone === b.zone &&
    a.separator === b.separator &&
    a.hour === b.hour
  );
}

/** Caches the pages of this pass and the one before. */
export class KnownPages {
  readonly #rules: ChangeRules;
  readonly #clock: Clock;
  readonly #hideSecrets: (text: string) => string;
  /** By the hash of the body and what the head states. */
  #before = new Map<string, ChangePage>();
  #served = new Map<string, ChangePage>();
  #changes = 0;

  constructor(rules: ChangeRules, { clock, client }: { clock: Clock; client: Pick<ServiceClient, "hideSecrets"> }) {
    this.#rules = rules;
    this.#clock = clock;
    this.#hideSecrets = client.hideSecrets;
  }

  beginPass(): void {
    this.#before = this.#served;
    this.#served = new Map();
    this.#changes = 0;
  }

  /** @throws BridgeError `answer_unreadable`, `answer_shape` */
  async open(answer: ServiceAnswer, signal: AbortSignal): Promise<ChangePage> {
    const digest = await readInTurns(this.#clock, answer, digestInSlices(answer.body), signal);
    const text = `${digest.toString("base64")}${headText(answer) ?? ""}`;
    const served = this.#served.get(text);
    if (served !== undefined) return served;
    const page = this.#before.get(text) ?? (await this.#read(answer, signal));
    this.#changes += page.elements.length;
    if (this.#changes <= CHANGES_MAX) this.#served.set(text, page);
    return page;
  }

  async #read(answer: ServiceAnswer, signal: AbortSignal): Promise<ChangePage> {
    const list = await readInTurns(this.#clock, answer, readListInSlices(answer, this.#rules.changes), signal);
    const { changes, mapping, next } = this.#rules;
    const size = list.elements?.length ?? 0;
    const head = readHeadMetadata(answer);
    const hideSecrets = this.#hideSecrets;
    const beside = { list: changes, mapping, ignored: next === null ? [] : [next], head, hideSecrets };
    const metadata = readMetadataInSlices(list.mended?.bytes ?? answer.body, { root: list.root, size }, beside);
    return new ChangePage(list, await readInTurns(this.#clock, answer, metadata, signal), this.#rules);
  }
}
