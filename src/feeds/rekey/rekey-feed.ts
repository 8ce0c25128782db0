/*
 * Applies a change of a feed's key columns. Acknowledgements are moved to the new keys, so that no row goes to zero because
 * of the change and the guard's counts stay correct. Rows without a new key stay as rows of their former key, and are
 * deleted like others or wait for a person: see `planName`.
 */
import { m } from "../../messages/messages.ts";
import { commit, commitUntilDone } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedPass } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import { renderDeletion } from "../feed-record.ts";
import { loadFormerLevels } from "../feed-rows.ts";
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

/** Renames all rows where that is due. @throws BridgeError where the source cannot be read: nothing is moved then */
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
 * For a key that is changed again before the last change was complete. If all rows have their new keys, they are moved back
 * first; else the renamed ones become rows of a former key, and the others are renamed from the key that they still have.
 * @param between the rules of the incomplete change
 * @returns the rules under which the remaining rows are keyed
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

/** Deletes rows of former keys: by a person's decision, or because their article has not returned to the source. */
export async function settleFormer(
  context: JobContext,
  rules: FeedRules,
  pass: Pick<FeedPass, "signal" | "startedAt">,
): Promise<void> {
  const { store, clock } = context;
  const { signal } = pass;
  const awayBefore = isoTime(clock.nowMs() - rules.deleteAfterMs);
  if (!hasDueFormer(store, rules, awayBefore)) return;
  for (const from of listFormerKeys(store, rules.feedId)) {
    await withNames(context, rules, from, signal, async (rename) => {
      let after: string | undefined;
      await commitUntilDone(context, signal, () => {
        const rows = listFormerRows(store, rules, { from, after, limit: ROWS_PER_COMMIT });
        const due = rows.filter((row) => isDue(row, awayBefore));
        const named = due.flatMap((row) => settleRow(context, rules, row, { from, rename, pass }));
        handOver(store, rules, named, handedAt(context, pass));
        after = rows.at(-1)?.keyText;
        return rows.length;
      });
    });
  }
}

/** Returns what to transfer where the source has the row's article by now; otherwise queues its deletion or keeps it. */
function settleRow(
  { store, clock }: JobContext,
  rules: FeedRules,
  row: FormerRow,
  { from, rename, pass }: { from: FormerKey; rename: Rename; pass: Pick<FeedPass, "startedAt"> },
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
    saveFormerState(store, rules, from, { key: row.key, state: "waiting", at: pass.startedAt });
    return [];
  }
  const deletion = renderDeletion(rules, row.record, loadFormerLevels(store, rules));
  // Deleted rows send nothing, so neither does this one.
  if (deletion === undefined) saveFormerState(store, rules, from, { key: row.key, state: "kept", at: pass.startedAt });
  else {
    const [at, nowMs] = [isoTime(clock.nowMs()), clock.monotonicMs()];
    queueFormer(store, rules, from, { ...row, deletion, at, nowMs, droppedAt: pass.startedAt });
  }
  return [];
}
