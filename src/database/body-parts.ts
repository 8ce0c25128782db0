/*
 * Bodies of answers that are too large for one statement: its write lock and its memory would grow with the body. Their
 * parts are written in transactions of their own before anything names them, so that after a crash there is a whole body
 * or one that nothing names. SQL, because megabytes are counted where they are and several tables name them.
 */
import { onlyValue } from "./only-row.ts";
import { findRow, insertRow } from "./queries.ts";
import type { NamedRow } from "./row.ts";
import { type batches, bodyParts } from "./schema.ts";
import type { Store } from "./store.ts";

/** Larger bodies are stored in parts of this size. */
export const BODY_PART_BYTES = 1024 * 1024;

/** Where a body stands: in its row itself, or under a number in parts. */
export type BodyPlace = NamedRow<typeof batches, "body" | "bodyId">;

/** In bytes, of a row of `batches` or another that has these two columns. */
export const bodyLength = (row: string) =>
  `coalesce(length(${row}.body), (SELECT sum(length(p.bytes)) FROM body_parts p WHERE p.body_id = ${row}.body_id))`;

/** A number that no body has. */
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

/** The length of each part, in their order. */
export function loadPartLengths(store: Store, bodyId: number): number[] {
  return store
    .prepare<number>("SELECT length(bytes) FROM body_parts WHERE body_id = ? ORDER BY part")
    .pluck()
    .all(bodyId);
}

export function loadBodyPart(store: Store, bodyId: number, part: number): Buffer {
  return findRow(store, bodyParts, { bodyId, part })?.bytes ?? Buffer.alloc(0);
}

/** The whole body, for commands that run alone. */
export function loadBody(store: Store, { body, bodyId }: BodyPlace): Buffer {
  if (bodyId === null) return body ?? Buffer.alloc(0);
  return Buffer.concat(loadPartLengths(store, bodyId).map((_, part) => loadBodyPart(store, bodyId, part)));
}

/** Removes some parts that nothing names. Returns how many. `open`: bodies that are being written. */
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
