/*
 * A feed whose key columns were changed: what was acknowledged keeps its meaning under the new names, so that nothing
 * goes to zero for the change and the guard counts what it counted before. The source tells both names of a row where
 * it still has the former columns; otherwise the former key and the record that was sent do.
 */
import { m } from "../messages/messages.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { type FeedRules, keyText, keyTexts } from "./feed.ts";
import {
  forgetFormerNames,
  forgetMoved,
  loadRekey,
  moveBack,
  moveQueued,
  moveSent,
  NameList,
  type Rename,
  saveRekey,
} from "./feed-rekey.ts";
import { MissingColumns } from "./feed-triggers.ts";
import { renameBy } from "./former-key.ts";
import { openRows, type SourceRows } from "./source-rows.ts";

/** Rows moved in one transaction. */
const ROWS_PER_COMMIT = 500;

/** Names everything anew where that is due. @throws BridgeError where the source cannot be read: nothing is moved then. */
export async function rekeyFeed(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, log } = context;
  const rekey = loadRekey(store, rules);
  if (rekey === undefined) return;
  const { from } = rekey;
  const inSteps = (step: () => number) => commitUntilDone(context, signal, step);
  if (!rekey.isMoved) {
    const names = new NameList(store, rules);
    names.open();
    try {
      if (rules.keys.some((column) => !from.keys.includes(column)))
        await listNames(context, rules, from.keys, names, signal);
      const byRecord = renameBy(from, rules.keys);
      const rename: Rename = (key, record) => names.find(key)?.slice(0, rules.keys.length) ?? byRecord(key, record);
      const step = { rename, formerKeys: from.keys.length, limit: ROWS_PER_COMMIT };
      let lost = 0;
      await inSteps(() => {
        const done = moveSent(store, rules, step);
        lost += done.lost;
        return done.moved;
      });
      await inSteps(() => moveQueued(store, rules, step));
      if (lost > 0) {
        log.warn({ feed: rules.name, rows: lost }, m.feeds.rowsLost({ name: rules.name, rows: lost }));
      }
    } finally {
      names.close();
    }
    await commit(context, signal, () => {
      forgetFormerNames(store, rules);
      saveRekey(store, rules, { from, isMoved: true });
    });
  }
  await inSteps(() => moveBack(store, rules, ROWS_PER_COMMIT));
  await commit(context, signal, () => saveRekey(store, rules, null));
  log.info({ feed: rules.name, key: rules.keys }, m.feeds.rekeyed({ name: rules.name, columns: rules.keys }));
}

/** A key that was changed once more before the rows had their names: what stands aside is found anew. */
export async function dropMoved(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  await commitUntilDone(context, signal, () => forgetMoved(context.store, rules, ROWS_PER_COMMIT));
}

async function listNames(
  context: JobContext,
  rules: FeedRules,
  former: readonly string[],
  names: NameList,
  signal: AbortSignal,
): Promise<void> {
  const reader = await openNames(context, { ...rules, columns: [...new Set([...former, ...rules.keys])] });
  if (reader === undefined) return;
  try {
    for await (const step of reader.steps(false, ROWS_PER_COMMIT)) {
      const pairs = step.flatMap((row) => {
        const was = former.map((column) => keyText(row[column] ?? null));
        const present = keyTexts(rules, row);
        return present === undefined || !was.every((part) => part !== undefined) ? [] : [{ former: was, present }];
      });
      names.add(pairs);
      await context.clock.sleep(0, signal);
    }
  } finally {
    reader.close();
  }
}

/** Undefined where the source has the former columns no more. */
async function openNames({ store, isStopping }: JobContext, rules: FeedRules): Promise<SourceRows | undefined> {
  try {
    return await openRows(rules, { databasePath: store.path, isStopping });
  } catch (error) {
    if (error instanceof MissingColumns) return undefined;
    throw error;
  }
}
