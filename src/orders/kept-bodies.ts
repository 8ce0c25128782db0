/*
 * Answers that could not be read, and the way to settle them without reading them. An answer leaves `batches` in the
 * transaction that puts it into `quarantine`; after a crash it is where it was before. SQL names the index of the few batches that are
 * unread.
 */

import type { BodyPlace } from "../database/body-parts.ts";
import { deleteRows, findRow, select, updateRows } from "../database/queries.ts";
import { batches } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";

export interface KeptBody extends BodyPlace {
  id: number;
  receivedAt: string;
  lastError: string;
  /** Ids that the service was asked for because of it. */
  asked: readonly string[];
}

/** The next kept answer that this mapping failed on; none that is being stored in parts. */
export function loadKeptAfter(store: Store, id: number, mapping: string): KeptBody | undefined {
  const rest = `INDEXED BY batches_unread
    WHERE state = 'unread' AND id > ? AND last_error IS NOT NULL AND read_with IS ? ORDER BY id LIMIT 1`;
  const names = ["id", "body", "bodyId", "receivedAt", "lastError", "orderIds"] as const;
  const row = select(store, batches, names, rest).get(id, mapping);
  if (row === undefined) return undefined;
  const { orderIds, lastError, ...kept } = row;
  return { ...kept, lastError: lastError ?? "", asked: JSON.parse(orderIds ?? "[]") as string[] };
}

/** The service's time with the newest of them. */
export function loadNewestKeptDate(store: Store): string | null {
  const rest = "INDEXED BY batches_unread WHERE state = 'unread' AND last_error IS NOT NULL ORDER BY id DESC LIMIT 1";
  return select(store, batches, ["serviceDate"], rest).get()?.serviceDate ?? null;
}

export function saveKeptAsked(store: Store, id: number, asked: readonly string[]): void {
  updateRows(store, batches, { id, state: "unread" }, { orderIds: JSON.stringify(asked) });
}

/** Takes it out of the way; it stays in the quarantine as released. False where it is no longer there. */
export function settleKept(
  store: Store,
  kept: Pick<KeptBody, "id">,
  settled: { reason: Message; at: string; hash: Buffer },
): boolean {
  return moveToQuarantine(store, kept.id, { state: "released", ...settled });
}

/** The same because a person does not want it. `hash`: SHA-256 of the body. */
export function dropKept(store: Store, id: number, dropped: { at: string; hash: Buffer }): boolean {
  return moveToQuarantine(store, id, { state: "dropped", reason: null, ...dropped });
}

function moveToQuarantine(
  store: Store,
  id: number,
  { state, reason, at, hash }: { state: "released" | "dropped"; reason: Message | null; at: string; hash: Buffer },
): boolean {
  const kept = findRow(store, batches, { id, state: "unread" });
  if (kept === undefined || kept.lastError === null) return false;
  const { body, bodyId, receivedAt, lastError } = kept;
  store
    .prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload, body_id, payload_hash, state, first_seen_at, last_seen_at)
       VALUES ('batch', ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, coalesce(reference, ''), payload_hash) DO UPDATE
       SET state = excluded.state, reason = excluded.reason, last_seen_at = excluded.last_seen_at`,
    )
    .run(
      `batch:${id}`,
      reason === null ? lastError : store.textOf(reason),
      body?.toString("utf8") ?? null,
      bodyId,
      hash,
      state,
      receivedAt,
      at,
    );
  deleteRows(store, batches, { id, state: "unread" });
  return true;
}
