/*
 * A feed whose key columns were changed: what was acknowledged keeps its meaning under the new names, so that nothing
 * goes to zero for the change and the guard counts what it counted before. What nothing names stays as a row of its
 * former key, and goes away as any other, or waits for a person: see `planName`.
 */
import { m } from "../messages/messages.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { isoTime } from "../platform/ports.ts";
import { type FeedRules, renderDeletion } from "./feed.ts";
import {
  forgetFormerNames,
  leaveMoved,
  loadRekey,
  moveBack,
  moveFormer,
  moveQueued,
  moveSent,
  type Rekey,
  saveRekey,
} from "./feed-rekey.ts";
import { loadFormerLevels } from "./feed-rows.ts";
import type { FormerKey } from "./former-key.ts";
import { type Rename, withNames } from "./former-names.ts";
import {
  countFormerWaiting,
  deleteFormer,
  type FormerRow,
  hasDueFormer,
  isDue,
  listFormerKeys,
  listFormerRows,
  queueFormer,
  saveFormerState,
} from "./former-rows.ts";
import { handedAt } from "./hand-over.ts";
import { type Handed, handOver } from "./handed-rows.ts";

/** Rows moved in one transaction. */
const ROWS_PER_COMMIT = 500;

/** Names everything anew where that is due. @throws BridgeError where the source cannot be read: nothing is moved then. */
export async function rekeyFeed(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, log, clock } = context;
  const rekey = loadRekey(store, rules);
  if (rekey === undefined) return;
  const { from } = rekey;
  const inSteps = (step: () => number) => commitUntilDone(context, signal, step);
  if (!rekey.isMoved) {
    const at = isoTime(clock.nowMs());
    for (const former of listFormerKeys(store, rules.feedId)) {
      await withNames(context, rules, former, signal, async (rename) => {
        let after: string | undefined;
        const step = () => ({ rename, from: former, at, limit: ROWS_PER_COMMIT, after });
        await inSteps(() => {
          after = moveFormer(store, rules, step());
          return after === undefined ? 0 : 1;
        });
      });
    }
    await withNames(context, rules, from, signal, async (rename) => {
      const step = { rename, from, at, limit: ROWS_PER_COMMIT };
      await inSteps(() => moveSent(store, rules, step));
      await inSteps(() => moveQueued(store, rules, step));
    });
    await commit(context, signal, () => {
      forgetFormerNames(store, rules);
      saveRekey(store, rules, { from, isMoved: true });
    });
  }
  await inSteps(() => moveBack(store, rules, ROWS_PER_COMMIT));
  await commit(context, signal, () => saveRekey(store, rules, null));
  log.info({ feed: rules.name, key: rules.keys }, m.feeds.rekeyed({ name: rules.name, columns: rules.keys }));
  const rows = countFormerWaiting(store, rules);
  if (rows > 0) log.warn({ feed: rules.name, rows }, m.feeds.formerRows({ name: rules.name, rows }));
}

/**
 * A key that was changed once more before all rows had their names. Where they had, they go back to their place first; else those that
 * had are named with the rows of former keys, and the others from the name that they still have.
 * @param between the rules in between
 * @returns under which rules the rows in their place are named
 */
export async function endRekey(
  context: JobContext,
  rules: FeedRules,
  between: FormerKey,
  signal: AbortSignal,
): Promise<FormerKey> {
  const { store, clock } = context;
  const rekey: Rekey | undefined = loadRekey(store, rules);
  if (rekey === undefined) return between;
  if (rekey.isMoved) {
    await commitUntilDone(context, signal, () => moveBack(store, rules, ROWS_PER_COMMIT));
    return between;
  }
  const step = { from: between, at: isoTime(clock.nowMs()), limit: ROWS_PER_COMMIT };
  await commitUntilDone(context, signal, () => leaveMoved(store, rules, step));
  return rekey.from;
}

/** Rows of former keys that go away: a person said so, or their article has not come back. */
export async function settleFormer(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  const awayBefore = isoTime(clock.nowMs() - rules.deleteAfterMs);
  if (!hasDueFormer(store, rules, awayBefore)) return;
  for (const from of listFormerKeys(store, rules.feedId)) {
    await withNames(context, rules, from, signal, async (rename) => {
      let after: string | undefined;
      await commitUntilDone(context, signal, () => {
        const rows = listFormerRows(store, rules, { from, after, limit: ROWS_PER_COMMIT });
        const due = rows.filter((row) => isDue(row, awayBefore));
        const named = due.flatMap((row) => settleRow(context, rules, row, { from, rename }));
        handOver(store, rules, named, handedAt(context));
        after = rows.at(-1)?.keyText;
        return rows.length;
      });
    });
  }
}

/** Gives what the site has of the row where the source has its article by now, under a name that was not known before: then it is that row. */
function settleRow(
  { store, clock }: JobContext,
  rules: FeedRules,
  row: FormerRow,
  { from, rename }: { from: FormerKey; rename: Rename },
): Handed[] {
  const naming = rename(row.key, row.record);
  if (naming.kind === "named" && naming.isPresent) {
    deleteFormer(store, rules, from, row.key);
    return [{ ...row, key: naming.key, flightRecord: null, flightUntilMs: null }];
  }
  if (rules.keepsShared && from.of === "record") {
    deleteFormer(store, rules, from, row.key);
    return [];
  }
  if (row.state === "away" && naming.kind === "waiting") {
    saveFormerState(store, rules, from, { key: row.key, state: "waiting" });
    return [];
  }
  const deletion = renderDeletion(rules, row.record, loadFormerLevels(store, rules));
  // Nothing is sent of a row that is gone, and nothing of this one.
  if (deletion === undefined) saveFormerState(store, rules, from, { key: row.key, state: "kept" });
  else {
    const [at, nowMs] = [isoTime(clock.nowMs()), clock.monotonicMs()];
    queueFormer(store, rules, from, { ...row, deletion, at, nowMs });
  }
  return [];
}
