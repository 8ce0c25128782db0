import { textOf } from "../answers/json-text.ts";
import { SLICE_RECORDS, type Slices } from "../answers/slices.ts";
import { parseTimestamp } from "../answers/timestamp.ts";
import { type OrderMapping, readOrderValues, readTimestampText } from "./order-mapping.ts";
import type { AnswerRecord } from "./read-records.ts";
import { isOtherOrder } from "./same-order.ts";

export interface NewestRecords {
  /** One usable record for each order, several only where they are different orders under one id; then all that cannot be used and are not superseded. */
  records: AnswerRecord[];
  /** Orders that were served twice without a sign which record counts: the last one is stored, and the order is read whole. */
  doubtful: ReadonlySet<string>;
}

interface Reading {
  mapping: OrderMapping;
  /** Zone of timestamps that name none. */
  timezone: string;
}

type Named = AnswerRecord & { ok: true };

interface Candidate {
  record: Named;
  /** Undefined: it has none that can be read, so it may be newer than any other. */
  instantNs: bigint | undefined;
  isUsable: boolean;
}

/**
 * Chooses among the records of one answer where an order is served more than once: the newest timestamp counts, and
 * where the timestamps do not show it, the last record. A record that cannot be read never hides one that can, nor does an order one
 * that bears its id.
 */
export function* newestInSlices(
  bytes: Buffer,
  records: readonly AnswerRecord[],
  reading: Reading,
): Slices<NewestRecords> {
  const named = records.filter((record) => record.ok);
  const repeated = yield* repeatedOf(named);
  if (repeated.size === 0 && named.length === records.length) return { records: named, doubtful: repeated };
  const chosen = new Set<AnswerRecord>(named.filter(({ orderId }) => !repeated.has(orderId)));
  const unusable = new Set<AnswerRecord>(records.filter((record) => !record.ok));
  const doubtful = new Set<string>();
  const groups = Map.groupBy(
    named.filter(({ orderId }) => repeated.has(orderId)),
    (record) => record.orderId,
  );
  for (const [orderId, group] of groups) {
    for (const versions of ordersAmong(bytes, group, reading)) {
      const choice = chooseNewest(bytes, versions, reading);
      if (choice.chosen !== undefined) chosen.add(choice.chosen);
      for (const record of choice.unusable) unusable.add(record);
      if (choice.isDoubtful) doubtful.add(orderId);
    }
  }
  // Storing a good record settles what is held of its order, so what is newer and bad comes after it.
  const picked = [chosen, unusable].flatMap((set) => records.filter((record) => set.has(record)));
  return { records: picked, doubtful };
}

/** Orders that are served more than once: in nearly every answer none. */
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

/** The versions of each order that bears the id: usually there is one. */
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
): { chosen: Named | undefined; unusable: Named[]; isDoubtful: boolean } {
  const [only, ...others] = withoutRepeats(group);
  if (others.length === 0) return { chosen: only, unusable: [], isDoubtful: false };
  const candidates = [only!, ...others].map((record) => candidateOf(bytes, record, reading));
  const usable = withoutOlder(candidates.filter(({ isUsable }) => isUsable));
  const chosen = usable.at(-1);
  const unusable = candidates.filter(
    (candidate) =>
      !candidate.isUsable && (chosen === undefined || withoutOlder([chosen, candidate]).includes(candidate)),
  );
  return { chosen: chosen?.record, unusable: unusable.map(({ record }) => record), isDoubtful: usable.length > 1 };
}

function candidateOf(bytes: Buffer, record: Named, { mapping, timezone }: Reading): Candidate {
  const timestamp = readTimestampText(bytes, record.span, mapping);
  return {
    record,
    instantNs: timestamp === null ? undefined : parseTimestamp(timestamp, timezone)?.instantNs,
    isUsable: !("reason" in readOrderValues(bytes, record.span, mapping)),
  };
}

/** Those that no other is known to be newer than. */
function withoutOlder(candidates: readonly Candidate[]): Candidate[] {
  const newest = candidates.reduce<bigint | undefined>(
    (max, { instantNs }) => (instantNs !== undefined && (max === undefined || instantNs > max) ? instantNs : max),
    undefined,
  );
  return candidates.filter(({ instantNs }) => instantNs === undefined || instantNs === newest);
}

/** The same text twice is one record, where it stood last. */
function withoutRepeats(group: readonly Named[]): Named[] {
  const last = new Map<string, Named>();
  for (const record of group) {
    const key = record.hash.toString("latin1");
    last.delete(key);
    last.set(key, record);
  }
  return [...last.values()];
}
