/*
 * Answer bodies that are too large for one statement, whose write lock and memory would grow with the body. Each part is
 * written in its own transaction before any row references the body, so that a crash leaves either a complete body or
 * unreferenced parts. SQL, because lengths are computed inside SQLite and several tables reference bodies.
 */
import { onlyValue } from "./only-row.ts";
import { findRow, insertRow } from "./queries.ts";
import type { NamedRow } from "./row.ts";
import { type batches, bodyParts } from "./schema.ts";
import type { Store } from "./store.ts";

/** Larger bodies are stored in parts of this size. */
export const BODY_PART_BYTES = 1024 * 1024;

/** Where a body is stored: in the row itself (`body`), or in parts (`bodyId`). */
export type BodyPlace = NamedRow<typeof batches, "body" | "bodyId">;

/** An SQL expression for the length in bytes; `row` is an alias of a table with the columns `body` and `body_id`. */
export const bodyLength = (row: string) =>
  `coalesce(length(${row}.body), (SELECT sum(length(p.bytes)) FROM body_parts p WHERE p.body_id = ${row}.body_id))`;

/** An id that no body uses. */
export function nextBodyId(store: Store): number {
  return onlyValue(
    store,
    `SELECT 1 + max((SELECT coalesce(max(body_id), 0) FROM body_parts),
       (SELECT coalesce(max(body_id), 0) FROM batches WHERE body_id IS NOT NULL),
       (SELECT coalesce(max(body_id), 0) FROM unjournaled_bodies WHERE body_id IS NOT NULL),
       (SELECT coalesce(max(body_id), 0) FROM quarantine WHERE body_id IS NOT NULL))`,
  );
}

export function saveBodyPart(store: Store, bodyId: number, part: number, bytes: Buffer): void {
  insertRow(store, bodyParts, { bodyId, part, bytes });
}

/** Lengths of the parts in bytes, in order. */
export function loadPartLengths(store: Store, bodyId: number): number[] {
  return store
    .prepare<number>("SELECT length(bytes) FROM body_parts WHERE body_id = ? ORDER BY part")
    .pluck()
    .all(bodyId);
}

export function loadBodyPart(store: Store, bodyId: number, part: number): Buffer {
  return findRow(store, bodyParts, { bodyId, part })?.bytes ?? Buffer.alloc(0);
}

/** Reads the whole body into memory: only for commands that run alone. */
export function loadBody(store: Store, { body, bodyId }: BodyPlace): Buffer {
  if (bodyId === null) return body ?? Buffer.alloc(0);
  return Buffer.concat(loadPartLengths(store, bodyId).map((_, part) => loadBodyPart(store, bodyId, part)));
}

/**
 * Deletes up to `limit` parts that no row references.
 * @param open ids of bodies that are still being written
 * @returns how many parts were deleted
 */
export function deleteUnnamedParts(store: Store, limit: number, open: Iterable<number>): number {
  return store
    .prepare(
      `DELETE FROM body_parts WHERE rowid IN (SELECT p.rowid FROM body_parts p
         WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.body_id = p.body_id)
           AND NOT EXISTS (SELECT 1 FROM unjournaled_bodies u WHERE u.body_id = p.body_id)
           AND NOT EXISTS (SELECT 1 FROM quarantine q WHERE q.body_id = p.body_id)
           AND p.body_id NOT IN (SELECT value FROM json_each(?)) LIMIT ?)`,
    )
    .run(JSON.stringify([...open]), limit).changes;
}
