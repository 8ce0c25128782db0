/*
 * What is stored of the files that images are read from. A cache and nothing more: a row that is missing or old
 * costs one more reading of its file. What becomes of a row of the feed is decided from it inside the transaction that writes
 * the outbox, so that both are of one moment.
 */

import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import type { ImageFacts } from "./image-file.ts";

/** `identity`: the same text means that the file was not written since; null where it has to be looked at again. */
export interface ImageFile extends ImageFacts {
  path: string;
  identity: string | null;
}

const COLUMNS = "path, identity, size, sha256, type, problem";

export function loadImageFile(store: Store, path: string): ImageFile | undefined {
  return store.prepare<ImageFile>(`SELECT ${COLUMNS} FROM image_files WHERE path = ?`).get(path);
}

/** Files with this content, whatever their names. */
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

/** Its bytes are not what was found before: it is read again, whatever its times say. */
export function markFileUnknown(store: Store, path: string): void {
  store.prepare("UPDATE image_files SET identity = NULL WHERE path = ?").run(path);
}

/** Files that no row named in a look at the whole table, as listed in `temp.named_files`. */
export function deleteUnnamedFiles(store: Store): number {
  return store.prepare("DELETE FROM image_files WHERE path NOT IN (SELECT path FROM temp.named_files)").run().changes;
}

/** Keys of refused rows, after `afterId`, in steps: their files may have become good without the row being written. */
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
