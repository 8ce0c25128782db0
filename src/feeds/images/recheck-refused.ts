/*
 * A row whose file was missing or wrong is not written again when the file becomes right. So each pass looks at the files
 * of some refused rows, in turn, and notes those rows as touched whose answer would be another one now. Nothing is
 * decided here: after a crash the next pass looks again.
 */

import { commit } from "../../pass/commit.ts";
import { type FeedContext, localRow } from "../absorb-feed.ts";
import { type FeedRules, keyTexts } from "../feed.ts";
import { loadKeyState } from "../feed-rows.ts";
import { loadSourceRows } from "../feed-source.ts";
import { planRow } from "../plan-feed.ts";
import { loadRefusedKeys, markKeyTouched } from "./image-rows.ts";

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
  const rows = refused.flatMap(({ key }) => loadSourceRows(store, rules, key));
  await files.lookAt(rows, signal);
  const changed = refused.filter(({ key }) => hasChanged(context, rules, key));
  if (changed.length > 0) {
    await commit(context, signal, () => {
      for (const { key } of changed) markKeyTouched(store, rules, key);
    });
  }
  return refused.length < ROWS_PER_PASS ? 0 : (refused.at(-1)?.id ?? 0);
}

function hasChanged({ store }: FeedContext, rules: FeedRules, key: readonly string[]): boolean {
  const rows = loadSourceRows(store, rules, key);
  const [row] = rows;
  if (row === undefined || keyTexts(rules, row) === undefined) return false;
  const local = localRow(store, rules, rows);
  if (local.kind === "unseen") return false;
  const known = loadKeyState(store, rules, key);
  const plan = planRow(rules, local, known);
  return plan.kind === "bad" ? plan.reason !== known.outbox?.lastError : plan.kind !== "keep";
}
