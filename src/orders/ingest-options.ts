/* What an ingest needs, and what it results in. */
import type { LostPart } from "../completeness/lost-values.ts";
import type { Store } from "../database/store.ts";
import type { OrderMapping } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";
import type { OrderRules } from "./order-rules.ts";

/**
 * `owed`: a read of the order was queued. `refreshed`: only ignored fields, such as the timestamp, differ; the payload
 * was replaced without a new revision. Runs store their counts under these names.
 */
export type IngestResult = "created" | "changed" | "refreshed" | "same" | "owed" | "quarantined";

/** Whether the order has no new revision. */
export function isUnchanged(result: IngestResult): boolean {
  return result === "same" || result === "refreshed";
}

export interface IngestOptions {
  store: Store;
  rules: OrderRules;
  mapping: OrderMapping;
  /** Body of the answer, into which the records' spans point. */
  bytes: Buffer;
  at: string;
  /** When the answer was requested, by the service's clock; undefined: long ago. */
  askedAt?: string | undefined;
  /** A part that the order may lack although it had it before: repeated reads have shown that this is so. */
  acceptedLoss?: LostPart | undefined;
  /** The stored payload is damaged: it is replaced, and the columns are compared instead. */
  isDamaged?: boolean | undefined;
}

export type GoodRecord = AnswerRecord & { ok: true };
