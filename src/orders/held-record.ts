/** Reads a held record with the present mapping. Writes nothing. */

import { hash } from "node:crypto";
import { JsonSyntaxError, type Span } from "../answers/json-text.ts";
import { JsonDepthError } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import type { Message } from "../messages/message.ts";
import type { QuarantinedRecord } from "../pass/held-rows.ts";
import { contentDigest } from "../records/compare-snapshot.ts";
import { type OrderMapping, type OrderValues, readOrderValues } from "../records/order-mapping.ts";
import { type AnswerRecord, readRecords } from "../records/read-records.ts";
import type { OrderRules } from "./order-rules.ts";

interface HeldRecord {
  record: AnswerRecord & { ok: true };
  values: OrderValues;
  bytes: Buffer;
  mapping: OrderMapping;
}

/** Returns the reason where the record cannot be stored. */
export function readHeldRecord(rules: OrderRules, row: QuarantinedRecord): HeldRecord | Message {
  if (row.payload === null) return row.reason;
  const bytes = Buffer.from(row.payload, "utf8");
  const mapping = row.kind === "change" ? rules.update : row.kind === "snapshot" ? rules.snapshot : rules.batch;
  try {
    const root = scanJson(bytes);
    if (!isAsItCame(row, { bytes, root })) return row.reason;
    const [record] = readRecords(bytes, { root, elements: [root] }, mapping);
    if (record === undefined) return row.reason;
    if (!record.ok) return record.reason;
    const read = readOrderValues(bytes, record.span, mapping);
    return "reason" in read ? read.reason : { record, bytes, mapping, values: read.values };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError || error instanceof JsonDepthError)) throw error;
    return row.reason;
  }
}

/**
 * False where the payload is not the original bytes, because these are no UTF-8. Some records are named by the hash of
 * their content.
 */
function isAsItCame(
  { payload, payloadHash }: QuarantinedRecord,
  { bytes, root }: { bytes: Buffer; root: Span },
): boolean {
  if (hash("sha256", bytes, "buffer").equals(payloadHash)) return true;
  return payload?.includes("\ufffd") === false && contentDigest(bytes, root, []).equals(payloadHash);
}
