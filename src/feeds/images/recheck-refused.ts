/*
 * A row whose file was missing or invalid is not written again when the file is corrected. So each pass examines the files
 * of some refused rows, in turn, and marks rows as dirty whose result has changed. After a crash the next pass examines
 * them again.
 */

import { commit } from "../../pass/commit.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import { differingKeys } from "../diff/diff.ts";
import type { FeedRules } from "../feed.ts";
import { keyTexts } from "../feed-record.ts";
import { loadRowsOf, markKeyDirty } from "../source/feed-source.ts";
import { loadRefusedKeys } from "./image-rows.ts";

/** Rows examined per pass: about ten milliseconds of work, and a folder that lost all its files is still done within hours. */
const ROWS_PER_PASS = 500;

/** @returns the id of the row after which the next pass continues */
export async function recheckRefused(
  context: FeedContext,
  rules: FeedRules,
  afterId: number,
  signal: AbortSignal,
): Promise<number> {
  const { store, files } = context;
  if (files === undefined) return afterId;
  const refused = loadRefusedKeys(store, rules, { afterId, limit: ROWS_PER_PASS });
  for (let left = refused.map(({ key }) => key); left.length > 0; ) {
    const some = loadRowsOf(store, rules, left);
    left = left.slice(some.length);
    const found = some.filter(({ rows }) => rows[0] !== undefined && keyTexts(rules, rows[0]) !== undefined);
    const rows = found.flatMap((one) => one.rows);
    await files.lookAt(rows, signal);
    const changed = differingKeys(store, rules, found);
    if (changed.length > 0) {
      await commit(context, signal, () => {
        for (const { key } of changed) markKeyDirty(store, rules, key);
      });
    }
  }
  return refused.length < ROWS_PER_PASS ? 0 : (refused.at(-1)?.id ?? 0);
}
