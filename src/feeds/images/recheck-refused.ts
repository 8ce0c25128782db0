/*
 * A row whose file was missing or wrong is not written again when the file becomes right. So each pass looks at the files
 * of some refused rows, in turn, and marks those rows as dirty whose answer would be another one now. Nothing is
 * decided here: after a crash the next pass looks again.
 */

import { commit } from "../../pass/commit.ts";
import type { FeedContext } from "../absorb-feed.ts";
import { keysToTakeUp } from "../diff.ts";
import { type FeedRules, keyTexts } from "../feed.ts";
import { loadSourceRows, markKeyDirty } from "../feed-source.ts";
import { loadRefusedKeys } from "./image-rows.ts";

/** Looked at in one pass: some ten milliseconds, while a folder that lost all its files is still gone through in hours. */
const ROWS_PER_PASS = 500;

/** @returns the row after which the next pass goes on. */
export async function recheckRefused(
  context: FeedContext,
  rules: FeedRules,
  afterId: number,
  signal: AbortSignal,
): Promise<number> {
  const { store, files } = context;
  if (files === undefined) return afterId;
  const refused = loadRefusedKeys(store, rules, { afterId, limit: ROWS_PER_PASS });
  const found = refused.flatMap(({ key }) => {
    const rows = loadSourceRows(store, rules, key);
    return rows[0] === undefined || keyTexts(rules, rows[0]) === undefined ? [] : [{ key, rows }];
  });
  await files.lookAt(
    found.flatMap(({ rows }) => rows),
    signal,
  );
  const changed = keysToTakeUp(store, rules, found);
  if (changed.length > 0) {
    await commit(context, signal, () => {
      for (const { key } of changed) markKeyDirty(store, rules, key);
    });
  }
  return refused.length < ROWS_PER_PASS ? 0 : (refused.at(-1)?.id ?? 0);
}
