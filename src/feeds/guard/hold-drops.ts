/*
 * The guard: rows that go to zero or away wait for a person where too many went within `guard.over`; other rows are sent. The
 * number of the hold is stored before its rows are marked: an approval in between covers fewer rows than were shown, or is refused.
 */
import { m } from "../../messages/messages.ts";
import { commit, commitUntilDone } from "../../pass/commit.ts";
import { deleteHold, loadHoldsOf, saveHold } from "../../pass/hold-rows.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedRules } from "../feed.ts";
import type { SendLimits } from "../feed-outbox.ts";
import { type FeedRow, loadFeed } from "../feed-rows.ts";
import { ROWS_PER_COMMIT } from "../send/flights.ts";
import {
  type DropGroup,
  deleteSentDrops,
  endLaterDrops,
  hasLaterDrops,
  loadDrops,
  loadSentDrops,
  markShown,
  saveGuard,
} from "./guard-rows.ts";
import { forgetNamed, noteNamed } from "./guard-shown.ts";
import { heldTimes, spentTimes } from "./plan-guard.ts";

/** Times of sent rows that are kept: beyond that those are deleted that count no more, so that a hold that nobody ends slows no pass. */
const SENT_DROPS_MAX = 2_000;

/** @param times.after from when on times of drops are wrong, other than `at`, the present one */
export async function correctDropTimes(
  context: JobContext,
  rules: FeedRules,
  times: { after: string; at: string },
  signal: AbortSignal,
): Promise<void> {
  const { store } = context;
  if (!hasLaterDrops(store, rules, times)) return;
  const options = { ...times, limit: ROWS_PER_COMMIT };
  await commitUntilDone(context, signal, () => endLaterDrops(store, rules, options));
}

/** Counts the rows that wait, and holds or lets go what `limits` do not decide. */
export async function holdDrops(
  context: JobContext,
  rules: FeedRules,
  { limits, at, signal }: { limits: SendLimits; at: string; signal: AbortSignal },
): Promise<void> {
  const { store } = context;
  const feed = loadFeed(store, rules.name);
  const groups = loadDrops(store, rules, limits);
  const held = groups.length === 0 ? new Set() : await loadHeldTimes(context, rules, { groups, feed, signal });
  const isHeld = ({ at }: DropGroup) => held.has(Date.parse(at));
  const pending = groups.filter(isHeld).reduce((sum, { due }) => sum + due, 0);
  await saveGuardHold(context, rules, { pending, feed, at, signal });
  const isWrong = (group: DropGroup) => (isHeld(group) ? (group.isShown ? group.early : group.due) > 0 : group.isShown);
  const wrong = Map.groupBy(groups.filter(isWrong), isHeld);
  if (wrong.size === 0) return;
  const timesOf = (are: boolean) => [...new Set(wrong.get(are)?.map(({ at }) => at))];
  const options = {
    held: timesOf(true),
    free: timesOf(false),
    awayBeforeMs: limits.awayBeforeMs,
    limit: ROWS_PER_COMMIT,
  };
  await commitUntilDone(context, signal, () => markShown(store, rules, options));
}

/** The times of waiting rows that the guard holds. */
async function loadHeldTimes(
  context: JobContext,
  rules: FeedRules,
  { groups, feed, signal }: { groups: readonly DropGroup[]; feed: FeedRow; signal: AbortSignal },
): Promise<ReadonlySet<number>> {
  const { store, clock } = context;
  const due = groups.map(({ at, due }) => ({ atMs: Date.parse(at), count: due }));
  const sent = loadSentDrops(store, rules);
  if (sent.length > SENT_DROPS_MAX) {
    const spent = spentTimes({ sent, waiting: due }, { overMs: rules.guard.overMs, nowMs: clock.nowMs() });
    if (spent.length > 0) await commit(context, signal, () => deleteSentDrops(store, rules, spent.map(isoTime)));
  }
  return heldTimes(rules.guard, { waiting: due.filter(({ count }) => count > 0), sent, live: feed.liveCount });
}

/** Stores that so many rows are held, or that none is, where that is news. */
async function saveGuardHold(
  context: JobContext,
  { name }: FeedRules,
  { pending, feed, at, signal }: { pending: number; feed: FeedRow; at: string; signal: AbortSignal },
): Promise<void> {
  const { store, log } = context;
  const { guardSince, liveCount: live } = feed;
  const standing = loadHoldsOf(store, name).find(({ reason }) => reason === "guard");
  if (pending === 0) {
    if (guardSince === null && standing === undefined) return;
    return await commit(context, signal, () => {
      saveGuard(store, name, null);
      deleteHold(store, name, "guard");
      forgetNamed(store, name);
    });
  }
  // A time after the present one is of a clock that was set back.
  const since = guardSince === null || guardSince > at ? at : guardSince;
  const detail = m.feeds.guarded({ pending, live, name });
  if (since === guardSince && String(standing?.detail) === String(detail)) return;
  await commit(context, signal, () => {
    saveGuard(store, name, since);
    saveHold(store, { area: name, reason: "guard", since, nextProbeAt: null, detail });
    noteNamed(store, name, { rows: pending, nowMs: Date.parse(at) });
  });
  if (guardSince === null) log.warn({ feed: name, rows: pending, live }, m.feeds.rowsGuarded({ name }));
}
