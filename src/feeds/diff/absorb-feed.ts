/*
 * Turns dirty keys into rows of the outbox. Reading the ERP's row, deciding, writing and deleting the dirty key are one
 * IMMEDIATE transaction: no write of the ERP can fall in between, and after a crash the key is still dirty.
 */

import type { Store } from "../../database/store.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { commit } from "../../pass/commit.ts";
import { addCount } from "../../pass/counts.ts";
import type { JobContext } from "../../pass/job.ts";
import { releaseRow, saveQuarantinedRow } from "../../pass/quarantine-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedRules } from "../feed.ts";
import { parentOf, type SourceRow, tooLarge } from "../feed-record.ts";
import { beginErpWatch, deleteQueued, type QueuedRow, saveErpWrite, saveParent, saveQueued } from "../feed-rows.ts";
import type { ImageFiles } from "../images/find-images.ts";
import { leaveArticles, leaveKept } from "../rekey/former-rows.ts";
import { referenceOf } from "../row-reference.ts";
import {
  deleteDirtyKey,
  type KeyValues,
  loadDirtyKeys,
  loadRowsOf,
  loadUnnamedRows,
  textsOf,
} from "../source/feed-source.ts";
import { diffKeys, type FoundKey, isHeld, payloadOf } from "./diff.ts";
import { releaseUnnamed, saveUnsendable } from "./unsendable-rows.ts";

/** Keys that are compared and written as a set in one transaction: some fifteen milliseconds of the write lock. */
export const KEYS_PER_COMMIT = 1_000;
/** Keys whose rows are looked up one by one, in the same time. */
const DIRTY_PER_COMMIT = 500;
/** Transactions of one pass. An ERP that writes faster than the bridge reads must not keep it from sending. */
const COMMITS_MAX = 10_000;
/** An ERP that writes in every second must not cost a transaction each: the shortest `write_within` is a minute. */
const NOTED_EVERY_MS = 15_000;

/** Rows without a key that are kept as examples: they say that something is wrong, and more of them say no more. */
export const UNNAMED_MAX = 100;

/** A pass of a feed: what it has counted, and what ends it early. Handed on from step to step. */
export interface FeedPass {
  readonly counts: Record<string, number>;
  /** Wall clock: what a pass finds gone to zero or away counts as gone at one time, however long the pass takes. */
  readonly startedAt: string;
  readonly signal: AbortSignal;
}

export function count({ counts }: FeedPass, name: string, by: number): void {
  addCount(counts, name, by);
}

/** `files`: what looks at the files that rows name, where the feed has any. */
export type FeedContext = JobContext & { files?: ImageFiles };

/** One transaction. */
interface Step {
  store: Store;
  rules: FeedRules;
  at: string;
  nowMs: number;
  droppedAt: string;
  /** Hashes of rows that no key can name. */
  unnamed: Buffer[];
}

interface Absorbed {
  queued: number;
  bad: number;
  unseen: readonly FoundKey[];
  left: readonly FoundKey[];
}

/** Rows of one transaction. */
export interface Work<F extends FoundKey> {
  /** Called inside the transaction. */
  load: () => readonly F[];
  /** Called for each key that was dealt with. */
  markAbsorbed?: (found: F) => void;
  /** Finds the rows of a key that cannot be sent, of which `load` may have come upon one of two. */
  rowsOf?: (key: readonly string[]) => readonly SourceRow[];
  /** The ERP wrote them, and has not fallen silent. */
  isWrite?: boolean;
  /** Nothing is known of any key: each row goes. */
  isFirst?: boolean;
}

/**
 * Reads every key that is dirty now. Yields between transactions, so that orders never wait for it. Returns false where keys stay
 * dirty although they were dealt with: reading them once more would change nothing.
 */
export async function absorbDirty(context: FeedContext, rules: FeedRules, pass: FeedPass): Promise<boolean> {
  const { store } = context;
  for (let commits = 0; commits < COMMITS_MAX && !context.isStopping(); commits++) {
    const keys = loadDirtyKeys(store, rules, DIRTY_PER_COMMIT);
    if (keys.length === 0) break;
    await lookAtFiles(context, rules, pass, keys);
    const { unseen, deleted } = await absorbKeys(context, rules, pass, { keys, unnamed: [], isWrite: true });
    // Rows that were given another file between the look and the transaction: the next pass looks again.
    if (unseen === keys.length) break;
    if (deleted === 0) return false;
    await context.clock.sleep(0, pass.signal);
  }
  return true;
}

/** Looks at the files that the rows of these keys name. */
async function lookAtFiles(
  { store, files }: FeedContext,
  rules: FeedRules,
  { signal }: FeedPass,
  keys: readonly KeyValues[],
): Promise<void> {
  if (files === undefined) return;
  for (let left = keys; left.length > 0; ) {
    const some = loadRowsOf(store, rules, left);
    const rows = some.flatMap((one) => one.rows);
    await files.lookAt(rows, signal);
    left = left.slice(some.length);
  }
}

/** Notes that rows of a table with triggers were updated, to whatever values. */
export async function noteTableWrites(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  const nowMs = clock.nowMs();
  const at = isoTime(nowMs);
  // A time after the present one is of a clock that was set back.
  const isDue = store
    .prepare<number>(
      `SELECT f.touched_at IS NULL OR f.touched_at NOT BETWEEN @since AND @at AND w.feed_id IS NOT NULL
       FROM feeds f LEFT JOIN feed_writes w USING (feed_id) WHERE f.feed_id = @feed`,
    )
    .pluck()
    .get({ feed: rules.feedId, since: isoTime(nowMs - NOTED_EVERY_MS), at });
  if (isDue === 1)
    await commit(context, signal, () => {
      beginErpWatch(store, rules, at);
      saveErpWrite(store, rules, at);
    });
}

/**
 * Reads some keys of a table of this database, as triggers note them or the table holds them: in one transaction, or in
 * several where the rows are large. Returns how many were not looked at, and how many dirty keys that settled.
 */
export async function absorbKeys(
  context: JobContext,
  rules: FeedRules,
  pass: FeedPass,
  { keys, unnamed, isWrite = false }: { keys: readonly KeyValues[]; unnamed: Buffer[]; isWrite?: boolean },
): Promise<{ unseen: number; deleted: number }> {
  const { store, clock } = context;
  const all = { unseen: 0, deleted: 0 };
  for (let waiting = keys; waiting.length > 0; ) {
    let [bad, deleted, taken] = [0, 0, 0];
    const load = () => {
      const found = loadRowsOf(store, rules, waiting);
      [bad, deleted, taken] = [0, 0, found.length];
      return found.flatMap(({ key: values, rows }) => {
        const key = textsOf(values);
        if (key !== undefined) return [{ key, rows, values }];
        bad += Number(absorbUnnamed(stepOf(context, rules, pass, unnamed), values, rows));
        deleted += deleteDirtyKey(store, rules, values);
        return [];
      });
    };
    const markAbsorbed = ({ values }: { values: KeyValues }) => {
      deleted += deleteDirtyKey(store, rules, values);
    };
    const { unseen, left } = await absorb(context, rules, pass, { load, markAbsorbed, isWrite });
    count(pass, "unsendable", bad);
    all.unseen += unseen;
    all.deleted += deleted;
    waiting = [...left.map(({ values }) => values), ...waiting.slice(taken)];
    if (waiting.length > 0) await clock.sleep(0, pass.signal);
  }
  return all;
}

/**
 * Stores what was found, in one transaction: no write of the ERP falls between reading a row and deciding. Returns how
 * many were not looked at, and those that are left for another transaction.
 */
export async function absorb<F extends FoundKey>(
  context: JobContext,
  rules: FeedRules,
  pass: FeedPass,
  { load, markAbsorbed, rowsOf, isWrite = false, isFirst = false }: Work<F>,
): Promise<{ unseen: number; left: F[] }> {
  let found: readonly F[] = [];
  const { queued, bad, unseen, left } = await commit(context, pass.signal, () => {
    const step = stepOf(context, rules, pass, []);
    found = load();
    const done = absorbFound(step, found, { rowsOf, isFirst });
    if (markAbsorbed !== undefined) {
      const rest = keysOf([...done.unseen, ...done.left]);
      for (const one of found) if (!rest.has(one.key)) markAbsorbed(one);
    }
    if (isWrite || done.queued > 0) saveErpWrite(context.store, rules, step.at);
    return done;
  });
  count(pass, "changed", queued);
  count(pass, "unsendable", bad);
  const rest = keysOf(left);
  return { unseen: unseen.length, left: rest.size > 0 ? found.filter(({ key }) => rest.has(key)) : [] };
}

function keysOf(found: readonly FoundKey[]): ReadonlySet<FoundKey["key"]> {
  return new Set(found.map(({ key }) => key));
}

function stepOf(
  { store, clock }: JobContext,
  rules: FeedRules,
  { startedAt }: Pick<FeedPass, "startedAt">,
  unnamed: Buffer[],
): Step {
  return { store, rules, at: isoTime(clock.nowMs()), nowMs: clock.monotonicMs(), droppedAt: startedAt, unnamed };
}

function absorbFound(
  step: Step,
  found: readonly FoundKey[],
  how: { rowsOf?: Work<FoundKey>["rowsOf"]; isFirst: boolean },
): Absorbed {
  const { store, rules } = step;
  const { differences, unseen, left } = diffKeys(store, rules, found, how.isFirst);
  const queued: QueuedRow[] = [];
  const settled: (readonly string[])[] = [];
  const again: FoundKey[] = [];
  let bad = 0;
  for (const { found: one, plan, known, former } of differences) {
    const { key, rows } = one;
    if (how.rowsOf !== undefined && known.outbox?.record === "null") {
      again.push({ key, rows: how.rowsOf(key) });
      continue;
    }
    const lastError = known.outbox?.lastError ?? null;
    const parent = parentOf(rules, rows[0]);
    if (former.length > 0) leaveArticles(store, rules, key, { records: former, at: step.at });
    if (rules.keepsShared && rows.length === 0)
      leaveKept(store, rules, key, { flightRecord: known.outbox?.flightRecord ?? null, at: step.at });
    if (plan.kind === "keep") {
      if (known.outbox?.gone === false && known.outbox.parent !== parent) saveParent(store, rules, key, parent);
      continue;
    }
    if (plan.kind === "bad") {
      bad += Number(quarantineRow(step, { key, rows, reason: plan.reason, lastError }));
      continue;
    }
    if (plan.kind === "settled") settled.push(key);
    else queued.push({ ...plan, key, parent });
    // Only a refused row has anything in quarantine; looking each time would cost every change a search there.
    if (known.outbox?.state === "refused") releaseRow(store, rules.name, referenceOf(key));
  }
  deleteQueued(store, rules, settled);
  saveQueued(store, rules, queued, step);
  const more = again.length > 0 ? absorbFound(step, again, { isFirst: false }) : { queued: 0, bad: 0, left: [] };
  return { queued: queued.length + more.queued, bad: bad + more.bad, unseen, left: [...left, ...more.left] };
}

/** Rows that no key can name, at most {@link UNNAMED_MAX}; and what is held of such rows that are gone. */
export async function settleUnnamed(
  context: JobContext,
  rules: FeedRules,
  pass: FeedPass,
  { rows, unnamed }: { rows: readonly SourceRow[]; unnamed: Buffer[] },
): Promise<void> {
  if (rows.length >= UNNAMED_MAX) return count(pass, "unsendable", rows.length);
  const bad = await commit(context, pass.signal, () => {
    const step = stepOf(context, rules, pass, unnamed);
    const held = rows.filter((row) => quarantineUnnamed(step, row)).length;
    releaseUnnamed(context.store, rules, unnamed);
    return held;
  });
  count(pass, "unsendable", bad);
}

/** A row that has a name but cannot be rendered. False where it is held already. */
function quarantineRow(
  { store, rules, at }: Step,
  bad: FoundKey & { reason: Message; lastError: string | null },
): boolean {
  if (isHeld(store, rules, bad)) return false;
  const { key, rows, reason } = bad;
  const reference = referenceOf(key);
  const { payload, digest } = payloadOf(rows);
  saveUnsendable(store, rules, { key, reason: store.textOf(reason), at });
  saveQuarantinedRow(store, { kind: rules.name, reference, reason, payload, hash: digest, at });
  return true;
}

/** A key that nothing can be called by is dirty: the row itself where it can be found, else any that have none. */
function absorbUnnamed(step: Step, key: KeyValues, rows: readonly SourceRow[]): boolean {
  const { store, rules } = step;
  const isUnread = key.some((value) => value === null || (Buffer.isBuffer(value) && value.length === 0));
  const found = rows.length > 0 || !isUnread ? rows : loadUnnamedRows(store, rules, UNNAMED_MAX);
  return found.filter((row) => quarantineUnnamed(step, row)).length > 0;
}

/** True where it was not known. */
function quarantineUnnamed({ store, rules, at, unnamed }: Step, row: SourceRow): boolean {
  const isNull = rules.keys.some((column) => row[column] === null);
  const reason =
    tooLarge(row) ??
    (isNull ? m.feeds.keyIsNull({ columns: rules.keys }) : m.feeds.keyIsBinary({ columns: rules.keys }));
  const { payload, digest } = payloadOf([row]);
  unnamed.push(digest);
  return saveQuarantinedRow(store, {
    kind: rules.name,
    reference: null,
    reason,
    payload,
    hash: digest,
    at,
  });
}
