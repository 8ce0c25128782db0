/*
 * Stored results of examined image files. Only a cache: a missing or outdated row costs another reading of its file. Rows
 * of the feed are planned from it inside the transaction that writes the outbox, so that both are of the same snapshot.
 */

import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import type { ImageFacts } from "./image-file.ts";

/** `identity`: equal texts mean that the file was not written since; null where it must be examined again. */
export interface ImageFile extends ImageFacts {
  path: string;
  identity: string | null;
}

const COLUMNS = "path, identity, size, sha256, type, problem";

export function loadImageFile(store: Store, path: string): ImageFile | undefined {
  return store.prepare<ImageFile>(`SELECT ${COLUMNS} FROM image_files WHERE path = ?`).get(path);
}

/** Files with this content, under any name. */
export function loadFilesOf(store: Store, sha256: string, limit: number): ImageFile[] {
  return store
    .prepare<ImageFile>(`SELECT ${COLUMNS} FROM image_files WHERE sha256 = ? ORDER BY path LIMIT ?`)
    .all(sha256, limit);
}

export function saveImageFile(store: Store, file: ImageFile): void {
  store
    .prepare(
      `INSERT INTO image_files (${COLUMNS}) VALUES (@path, @identity, @size, @sha256, @type, @problem)
       ON CONFLICT (path) DO UPDATE SET identity = excluded.identity, size = excluded.size, sha256 = excluded.sha256,
         type = excluded.type, problem = excluded.problem`,
    )
    .run({ ...file });
}

/** Makes a file be read again, even if its times are unchanged, because its bytes have changed. */
export function markFileUnknown(store: Store, path: string): void {
  store.prepare("UPDATE image_files SET identity = NULL WHERE path = ?").run(path);
}

/** Deletes files that no row of the whole table names, according to `temp.named_files`. */
export function deleteUnnamedFiles(store: Store): number {
  return store.prepare("DELETE FROM image_files WHERE path NOT IN (SELECT path FROM temp.named_files)").run().changes;
}

/** The next keys of refused rows after `afterId`: their files may have been corrected without a write to the row. */
export function loadRefusedKeys(
  store: Store,
  rules: FeedRules,
  options: { afterId: number; limit: number },
): { id: number; key: string[] }[] {
  return store
    .prepare<[number, string, string, string, string]>(
      `SELECT id, k0, k1, k2, k3 FROM feed_outbox INDEXED BY feed_outbox_refused
       WHERE feed_id = ? AND state = 'refused' AND id > ? ORDER BY id LIMIT ?`,
    )
    .raw(true)
    .all(rules.feedId, options.afterId, options.limit)
    .map(([id, ...key]) => ({ id, key: key.slice(0, rules.keys.length) }));
}
