import { createHash } from "node:crypto";
import { digestInSlices, digestOf } from "../answers/digest.ts";
import { kindWords } from "../answers/json-path.ts";
import {
  depthOf,
  isUtf8Span,
  kindOf,
  MEMBERS_MAX,
  SLICE_BYTES,
  type Span,
  TEXT_BYTES_MAX,
  textOf,
} from "../answers/json-text.ts";
import { canonicalJson, DEPTH_MAX } from "../answers/json-value.ts";
import type { BrokenRecord, MendedJson } from "../answers/mend-json.ts";
import { type ScannedJson, scanJson } from "../answers/scan-json.ts";
import { atOnce, SLICE_RECORDS, type Slices } from "../answers/slices.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type OrderMapping, readRecordId } from "./order-mapping.ts";

/** One record of an answer, still a span of it: most are known already and are not read further. */
export type AnswerRecord =
  | {
      ok: true;
      span: Span;
      /** In lower case, as stored. */
      orderId: string;
      /** In the service's own case, for the path of a request. */
      serviceId: string;
      /** The id's JSON literal, for a confirm. */
      idLiteral: string;
      hash: Buffer;
    }
  | {
      ok: false;
      span: Span;
      reason: Message;
      /** The record's own id, where it has one. */
      reference: string | null;
      /** The literal at the id's path, which a confirm names even if it is no id; null where there is none. */
      idLiteral: string | null;
      /**
       * Hash of the content, without key order and white space, where it can be parsed: the only way to recognise the
       * record.
       */
      hash: Buffer;
      /** Too large for one statement: its bytes are stored in parts. */
      isLarge: boolean;
      /** The id of its parts, once they are written. */
      bodyId?: number;
      /** Set where the record by itself is no JSON. */
      broken?: {
        /** The original bytes; `span` points to a repaired text. */
        raw: Buffer;
        /** Its id, where that is readable. */
        order: { orderId: string; serviceId: string } | undefined;
      };
    };

/** A record with more values is no order, and comparing it would take hundreds of megabytes. */
const RECORD_VALUES_MAX = MEMBERS_MAX;
/** A larger record is no order either: reading and writing it takes several times its size. */
export const RECORD_BYTES_MAX = TEXT_BYTES_MAX;
/** Ids and hashes of an answer's records. A record without a usable id has the reason. */
export function readRecords(
  bytes: Buffer,
  list: { root: ScannedJson; elements: readonly Span[]; mended?: MendedJson | undefined },
  mapping: OrderMapping,
): AnswerRecord[] {
  return atOnce(readRecordsInSlices(bytes, list, mapping));
}

/** The same in slices. */
export function* readRecordsInSlices(
  bytes: Buffer,
  { root, elements, mended }: { root: ScannedJson; elements: readonly Span[]; mended?: MendedJson | undefined },
  mapping: OrderMapping,
): Slices<AnswerRecord[]> {
  // Checked once for the whole answer, which is faster than for each record.
  const isSound = root.utf8 && root.depth <= DEPTH_MAX && root.values <= RECORD_VALUES_MAX;
  const records: AnswerRecord[] = [];
  let pauseAt = root.start + SLICE_BYTES;
  for (const span of elements) {
    if (span.end > pauseAt && records.length > 0) {
      yield;
      pauseAt = span.end + SLICE_BYTES;
    }
    const broken = mended?.broken.get(span.start);
    if (broken !== undefined) records.push(readBroken(bytes, span, { mapping, broken }));
    else
      records.push(
        span.end - span.start > RECORD_BYTES_MAX
          ? yield* readLargeRecord(bytes, span, mapping)
          : readRecord(bytes, span, { mapping, isSound }),
      );
  }
  return records;
}

/** Reads only the id, so that the order can be requested by it. */
function* readLargeRecord(bytes: Buffer, span: Span, mapping: OrderMapping): Slices<AnswerRecord> {
  const digest = yield* digestInSlices(bytes.subarray(span.start, span.end));
  const id = kindOf(bytes, span) === "object" ? readRecordId(bytes, span, mapping) : undefined;
  const reference = id === undefined ? null : "reason" in id ? id.reference : id.orderId;
  const reason = m.orders.recordTooLarge({ max: RECORD_BYTES_MAX });
  return { ok: false, span, reason, reference, idLiteral: id?.idLiteral ?? null, hash: digest, isLarge: true };
}

function readRecord(
  bytes: Buffer,
  span: Span,
  { mapping, isSound }: { mapping: OrderMapping; isSound: boolean },
): AnswerRecord {
  const flaw = isSound ? undefined : flawOf(bytes, span);
  const id =
    kindOf(bytes, span) === "object"
      ? readRecordId(bytes, span, mapping)
      : {
          reason: m.orders.recordNotObject({ what: kindWords(kindOf(bytes, span)) }),
          reference: null,
          idLiteral: null,
        };
  const written = digestOf(bytes.subarray(span.start, span.end));
  const bad = (reason: Message, reference: string | null): AnswerRecord => {
    // Records nested too deep or with too many values are not parsed.
    const isReadable = flaw === undefined || flaw === m.orders.recordNotUtf8;
    const hash = isReadable ? digestOf(canonicalJson(bytes, span)) : written;
    return { ok: false, span, reason, reference, idLiteral: id.idLiteral, hash, isLarge: false };
  };
  if ("reason" in id) return bad(id.reason, id.reference);
  return flaw === undefined ? { ok: true, span, ...id, hash: written } : bad(flaw, id.orderId);
}

/** Why a record is unusable, whatever its id. */
function flawOf(bytes: Buffer, span: Span): Message | undefined {
  if (!isUtf8Span(bytes, span)) return m.orders.recordNotUtf8;
  // SQLite refuses deeper JSON: one such row would break every view over `payload`.
  if (depthOf(bytes, span) > DEPTH_MAX) return m.orders.recordTooDeep({ max: DEPTH_MAX });
  const { values } = scanJson(bytes.subarray(span.start, span.end));
  return values > RECORD_VALUES_MAX ? m.orders.recordTooManyValues({ max: RECORD_VALUES_MAX }) : undefined;
}

/** A record that is no JSON. Its id counts if the id itself is intact; nothing else of it does. */
function readBroken(
  bytes: Buffer,
  span: Span,
  { mapping, broken }: { mapping: OrderMapping; broken: BrokenRecord },
): AnswerRecord {
  const { raw, flaw, at } = broken;
  const id = kindOf(bytes, span) === "object" ? readRecordId(bytes, span, mapping) : undefined;
  const literal = id?.idLiteral ?? null;
  const idLiteral = literal !== null && raw.includes(literal) ? literal : null;
  const order = id === undefined || "reason" in id || idLiteral === null ? undefined : id;
  return {
    ok: false,
    span,
    reason: m.orders.recordNotJson({ flaw, at: at - span.start }),
    reference: order?.orderId ?? null,
    idLiteral: order === undefined ? null : idLiteral,
    hash: digestOf(raw),
    isLarge: false,
    broken: { raw, order: order === undefined ? undefined : { orderId: order.orderId, serviceId: order.serviceId } },
  };
}

/** Identifies a batch that is served again: by its id as sent, and the order ids in their order. */
export function* fingerprintInSlices(
  bytes: Buffer,
  batchId: string | null,
  records: readonly AnswerRecord[],
): Slices<string> {
  const sum = createHash("sha256").update(`[${JSON.stringify(batchId)},[`);
  for (let from = 0; from < records.length; from += SLICE_RECORDS) {
    if (from > 0) yield;
    const names = records
      .slice(from, from + SLICE_RECORDS)
      .map((record) =>
        JSON.stringify(record.ok ? record.orderId : `?${record.reference ?? beginningOf(bytes, record.span)}`),
      );
    sum.update(`${from > 0 ? "," : ""}${names.join()}`);
  }
  return sum.update("]]").digest("hex");
}

/** The first characters of a record. */
function beginningOf(bytes: Buffer, { start, end }: Span): string {
  return textOf(bytes, { start, end: Math.min(end, start + 4 * NAMED_CHARS) }).slice(0, NAMED_CHARS);
}

const NAMED_CHARS = 200;

/** Every id served, including unusable ones, as a JSON array of the original literals. */
export function* idsInSlices(records: readonly AnswerRecord[]): Slices<string> {
  const seen = new Set<string>();
  const parts: string[] = [];
  for (let from = 0; from < records.length; from += SLICE_RECORDS) {
    if (from > 0) yield;
    const fresh: string[] = [];
    for (const { idLiteral } of records.slice(from, from + SLICE_RECORDS)) {
      if (idLiteral === null || seen.has(idLiteral)) continue;
      seen.add(idLiteral);
      fresh.push(idLiteral);
    }
    if (fresh.length > 0) parts.push(fresh.join());
  }
  return `[${parts.join()}]`;
}
