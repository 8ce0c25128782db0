import { textOf } from "../answers/json-text.ts";
import { SLICE_RECORDS, type Slices } from "../answers/slices.ts";
import { parseTimestamp } from "../answers/timestamp.ts";
import { type OrderMapping, readOrderValues, readTimestampText } from "./order-mapping.ts";
import type { AnswerRecord } from "./read-records.ts";
import { isOtherOrder } from "./same-order.ts";

export interface NewestRecords {
  /**
   * One usable record of each order, several only of different orders under one id; then all unusable ones that are not
   * superseded.
   */
  records: AnswerRecord[];
  /**
   * Orders served more than once without a sign of which record is newest: the last one is stored, and the order is
   * read.
   */
  ambiguous: ReadonlySet<string>;
}

interface Reading {
  mapping: OrderMapping;
  /** Zone of timestamps without one. */
  timezone: string;
}

type Named = AnswerRecord & { ok: true };

interface Candidate {
  record: Named;
  /** Undefined where no timestamp can be read, so that it may be newer than any other. */
  instantNs: bigint | undefined;
  isUsable: boolean;
}

/**
 * Chooses among the records of one answer where an order is served more than once: the newest by timestamp, or the last
 * where timestamps do not decide. An unusable record does not replace a usable one, nor a record of another order with
 * the same id.
 */
export function* newestInSlices(
  bytes: Buffer,
  records: readonly AnswerRecord[],
  reading: Reading,
): Slices<NewestRecords> {
  const named = records.filter((record) => record.ok);
  const repeated = yield* repeatedOf(named);
  if (repeated.size === 0 && named.length === records.length) return { records: named, ambiguous: repeated };
  const chosen = new Set<AnswerRecord>(named.filter(({ orderId }) => !repeated.has(orderId)));
  const unusable = new Set<AnswerRecord>(records.filter((record) => !record.ok));
  const ambiguous = new Set<string>();
  const groups = Map.groupBy(
    named.filter(({ orderId }) => repeated.has(orderId)),
    (record) => record.orderId,
  );
  for (const [orderId, group] of groups) {
    for (const versions of ordersAmong(bytes, group, reading)) {
      const choice = chooseNewest(bytes, versions, reading);
      if (choice.chosen !== undefined) chosen.add(choice.chosen);
      for (const record of choice.unusable) unusable.add(record);
      if (choice.isAmbiguous) ambiguous.add(orderId);
    }
  }
  // Unusable ones come last, because storing a good record releases the held ones of its order.
  const picked = [chosen, unusable].flatMap((set) => records.filter((record) => set.has(record)));
  return { records: picked, ambiguous };
}

/** Ids that occur more than once; in nearly every answer none. */
function* repeatedOf(named: readonly Named[]): Slices<Set<string>> {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [index, { orderId }] of named.entries()) {
    if (index % SLICE_RECORDS === SLICE_RECORDS - 1) yield;
    if (seen.has(orderId)) repeated.add(orderId);
    else seen.add(orderId);
  }
  return repeated;
}

/** The records grouped by order: usually one order has the id. */
function ordersAmong(bytes: Buffer, group: readonly Named[], { mapping, timezone }: Reading): Named[][] {
  const orders: { text: string; versions: Named[] }[] = [];
  for (const record of group) {
    const text = textOf(bytes, record.span);
    const own = orders.find((order) => !isOtherOrder({ text, mapping }, { text: order.text, mapping }, timezone));
    if (own === undefined) orders.push({ text, versions: [record] });
    else own.versions.push(record);
  }
  return orders.map(({ versions }) => versions);
}

function chooseNewest(
  bytes: Buffer,
  group: readonly Named[],
  reading: Reading,
): { chosen: Named | undefined; unusable: Named[]; isAmbiguous: boolean } {
  const [only, ...others] = withoutRepeats(group);
  if (others.length === 0) return { chosen: only, unusable: [], isAmbiguous: false };
  const candidates = [only!, ...others].map((record) => candidateOf(bytes, record, reading));
  const usable = withoutOlder(candidates.filter(({ isUsable }) => isUsable));
  const chosen = usable.at(-1);
  const unusable = candidates.filter(
    (candidate) =>
      !candidate.isUsable && (chosen === undefined || withoutOlder([chosen, candidate]).includes(candidate)),
  );
  return { chosen: chosen?.record, unusable: unusable.map(({ record }) => record), isAmbiguous: usable.length > 1 };
}

function candidateOf(bytes: Buffer, record: Named, { mapping, timezone }: Reading): Candidate {
  const timestamp = readTimestampText(bytes, record.span, mapping);
  return {
    record,
    instantNs: timestamp === null ? undefined : parseTimestamp(timestamp, timezone)?.instantNs,
    isUsable: !("reason" in readOrderValues(bytes, record.span, mapping)),
  };
}

/** Without records that another one is known to be newer than. */
function withoutOlder(candidates: readonly Candidate[]): Candidate[] {
  const newest = candidates.reduce<bigint | undefined>(
    (max, { instantNs }) => (instantNs !== undefined && (max === undefined || instantNs > max) ? instantNs : max),
    undefined,
  );
  return candidates.filter(({ instantNs }) => instantNs === undefined || instantNs === newest);
}

/** Of equal texts only the last one stays. */
function withoutRepeats(group: readonly Named[]): Named[] {
  const last = new Map<string, Named>();
  for (const record of group) {
    const key = record.hash.toString("latin1");
    last.delete(key);
    last.set(key, record);
  }
  return [...last.values()];
}
