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

/** Why a content is held: a part that it lacks although the order had it before, or the other order that it is. */
export type Doubt = LostPart | `other ${string}`;

export interface IngestOptions {
  store: Store;
  rules: OrderRules;
  mapping: OrderMapping;
  /** Body of the answer, into which the records' spans point. */
  bytes: Buffer;
  at: string;
  /** The present time in milliseconds since the machine's start. */
  machineMs: number;
  /** When the answer was requested, by the service's clock; undefined: long ago. */
  askedAt?: string | undefined;
  /** Counts, because repeated reads have shown that it is so. */
  accepted?: Doubt | undefined;
  /** The stored payload is damaged: it is replaced, and the columns are compared instead. */
  isDamaged?: boolean | undefined;
}

export type GoodRecord = AnswerRecord & { ok: true };
