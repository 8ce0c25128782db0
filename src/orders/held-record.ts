/** A held record as it would be stored with the present mapping. Writes nothing. */

import { JsonSyntaxError } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import type { Message } from "../messages/message.ts";
import { exactPayload, type QuarantinedRecord } from "../pass/held-rows.ts";
import { type OrderMapping, type OrderValues, readOrderValues } from "../records/order-mapping.ts";
import { type AnswerRecord, readRecords } from "../records/read-records.ts";
import type { OrderRules } from "./order-rules.ts";

interface HeldRecord {
  record: AnswerRecord & { ok: true };
  values: OrderValues;
  bytes: Buffer;
  mapping: OrderMapping;
}

/** Otherwise, why it cannot be stored. */
export function readHeldRecord(rules: OrderRules, row: QuarantinedRecord): HeldRecord | Message {
  const bytes = exactPayload(row);
  if (bytes === undefined) return row.reason;
  const mapping = row.kind === "change" ? rules.update : row.kind === "snapshot" ? rules.snapshot : rules.batch;
  try {
    const root = scanJson(bytes);
    const [record] = readRecords(bytes, { root, elements: [root] }, mapping);
    if (record === undefined) return row.reason;
    if (!record.ok) return record.reason;
    const read = readOrderValues(bytes, record.span, mapping);
    return "reason" in read ? read.reason : { record, bytes, mapping, values: read.values };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return row.reason;
  }
}
