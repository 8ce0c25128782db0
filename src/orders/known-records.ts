/* Recognises records that came before, by the hashes of the last record of each source. */
import { hash } from "node:crypto";
import { canonicalJson } from "../answers/json-value.ts";
import { scanJson } from "../answers/scan-json.ts";
import type { Store } from "../database/store.ts";
import type { OrderSource } from "../records/order-mapping.ts";
import type { GoodRecord, IngestOptions } from "./ingest-options.ts";
import { type OrderMark, saveSourceHash } from "./order-rows.ts";

/**
 * Whether the record is the last one of its source. For a snapshot only the stored payload counts: an order may return
 * to an earlier state, and the newest read decides.
 */
export function isOldNews(mark: OrderMark, recordHash: Buffer, source: OrderSource): boolean {
  if (source === "snapshot") return mark.removedAt === null && mark.payloadHash.equals(recordHash);
  const last = source === "batch" ? mark.batchHash : mark.updateHash;
  return last?.equals(recordHash) ?? false;
}

/** The same without key order and white space, because some services change the order of keys in each answer. */
export function isOldContent(
  mark: OrderMark,
  {
    contentHash,
    payloadContentHash,
    source,
  }: { contentHash: Buffer; payloadContentHash: Buffer | null; source: OrderSource },
): boolean {
  if (source === "snapshot") return false;
  const last = source === "batch" ? mark.batchContentHash : mark.updateContentHash;
  return (last ?? (mark.payloadSource === source ? payloadContentHash : null))?.equals(contentHash) ?? false;
}

/**
 * Returns the content hash of the stored payload; null where the row has it already, or the payload is not the source's
 * last record. A new order is stored without it: computing it costs as much as writing the order, and most records
 * never come again. It is computed once another record is compared with it.
 */
export function hashPayloadContent(mark: OrderMark, payload: string): Buffer | null {
  const isBatch = mark.payloadSource === "batch";
  const lastHash = isBatch ? mark.batchHash : mark.updateHash;
  const isKnown = (isBatch ? mark.batchContentHash : mark.updateContentHash) !== null;
  if (mark.payloadSource === "snapshot" || isKnown || !lastHash?.equals(mark.payloadHash)) return null;
  const bytes = Buffer.from(payload);
  if (!hash("sha256", bytes, "buffer").equals(mark.payloadHash)) return null;
  return hash("sha256", canonicalJson(bytes, scanJson(bytes)), "buffer");
}

/** To be called before the payload is replaced, after which the hash could not be computed. */
export function keepContentHash(
  store: Store,
  { orderKey, payloadSource, payloadHash }: OrderMark,
  contentHash: Buffer | null,
): void {
  if (contentHash !== null) saveSourceHash(store, { orderKey, source: payloadSource, hash: payloadHash, contentHash });
}

export function hashContent({ bytes }: IngestOptions, record: GoodRecord): Buffer {
  return hash("sha256", canonicalJson(bytes, record.span), "buffer");
}
