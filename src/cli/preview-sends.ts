/*
 * What the next passes would send, from the database alone. Makes no request and writes nothing, so it may run beside a
 * daemon at any time. Uses the same pure decisions as the jobs.
 */

import { hasUnjournaled } from "../batches/batch-rows.ts";
import { loadUnconfirmed } from "../confirm/due-rows.ts";
import { loadMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { absentKeys, diffKeys, type FoundKey } from "../feeds/diff/diff.ts";
import { KeySet } from "../feeds/diff/key-set.ts";
import { type FeedKeyState, isLive, type RowPlan } from "../feeds/diff/plan-feed.ts";
import type { FeedRules } from "../feeds/feed.ts";
import { loadKnownKeys } from "../feeds/feed-outbox.ts";
import { keyTexts, renderDeletion, type SourceRow } from "../feeds/feed-record.ts";
import { isAwaySince, loadFormerLevels, loadKeyState } from "../feeds/feed-rows.ts";
import { formerName, recordKeyOf } from "../feeds/rekey/former-key.ts";
import { listFormer } from "../feeds/rekey/former-rows.ts";
import { referenceOf } from "../feeds/row-reference.ts";
import { loadSourcePage, type PageEnd } from "../feeds/source/feed-source.ts";
import { readSourceKind } from "../feeds/source/feed-triggers.ts";
import { openSource } from "../feeds/source/source-reader.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { systemClock } from "../platform/clock.ts";
import { isoTime } from "../platform/ports.ts";
import { planStatus, type StatusRules } from "../statuses/plan-status.ts";
import { loadHappenedSince, loadRequestedOrder } from "../statuses/requested-order-rows.ts";
import { loadNextRequests } from "../statuses/status-rows.ts";

/** Rows or keys per read. */
const ROWS_PER_READ = 1_000;

export interface PreviewRow {
  key: string;
  /** What the service has, as JSON text; null where nothing is known to be there. */
  old: string | null;
  /** What would be sent, as JSON text; null where nothing would be. */
  new: string | null;
  why: Message;
  /** The guard counts it now: the level drops to zero, or the row was deleted and `delete_after` is over. */
  isDrop: boolean;
  /** When that was found; not set: now. */
  droppedAt?: string | null;
}

interface Preview {
  store: Store;
  rules: FeedRules;
  /** Monotonic time before which a row must have been deleted. */
  awayBeforeMs: number;
  /** Keys that the comparison has shown. */
  shown: KeySet;
  /** Records of articles that their row does not name any more. */
  left: string[];
  /** Articles that rows to be sent name. */
  named: Set<string>;
}

/**
 * @param onRow called for each row of the source, unchanged ones too
 * @throws BridgeError `table_missing`, `database_busy`
 */
export function* previewFeed(store: Store, rules: FeedRules, onRow?: () => void): Generator<PreviewRow> {
  const awayBeforeMs = systemClock.monotonicMs() - rules.deleteAfterMs;
  const preview: Preview = { store, rules, awayBeforeMs, shown: new KeySet(), left: [], named: new Set() };
  const present = new KeySet();
  // By their names: keys that occur more than once, and what is known of their rows; null once two were found.
  const repeated = new Map<string, FoundKey | null | undefined>();
  for (const row of sourceRows(store, rules)) {
    const key = keyTexts(rules, row);
    if (key !== undefined && !present.add(key)) repeated.set(JSON.stringify(key), undefined);
  }
  let found: FoundKey[] = [];
  for (const row of sourceRows(store, rules)) {
    onRow?.();
    const key = keyTexts(rules, row);
    if (key === undefined) {
      yield { key: "?", old: null, new: null, why: m.sync.namelessRow, isDrop: false };
      continue;
    }
    const name = JSON.stringify(key);
    const before = repeated.get(name);
    if (!repeated.has(name)) found.push({ key, rows: [row] });
    else if (before === undefined) repeated.set(name, { key, rows: [row] });
    else if (before !== null) {
      found.push({ key, rows: [...before.rows, row] });
      repeated.set(name, null);
    }
    if (found.length < ROWS_PER_READ) continue;
    yield* previewFound(preview, found);
    found = [];
  }
  // Two keys of one hash are no repeated key.
  const single = [...repeated.values()].filter((one) => one !== null && one !== undefined);
  yield* previewFound(preview, [...found, ...single]);
  for (const absent of absentKeys(store, rules, { present, isFull: true })) {
    // A key may be both acknowledged and in the outbox.
    for (const { key } of absent) present.add(key);
    yield* previewFound(preview, absent);
  }
  yield* previewWaiting(preview);
  yield* previewFormer(preview);
}

/** Keys that differ from what is acknowledged or waits. */
function* previewFound(preview: Preview, found: readonly FoundKey[]): Generator<PreviewRow, void> {
  const { store, rules, shown, named } = preview;
  for (let waiting = found; waiting.length > 0; ) {
    const { differences, unseen, left } = diffKeys(store, rules, waiting);
    for (const { key } of unseen) {
      shown.add(key);
      yield { key: referenceOf(key), old: null, new: null, why: m.sync.fileNotLooked, isDrop: false };
    }
    for (const { found: one, plan, known, former } of differences) {
      preview.left.push(...former);
      if (plan.kind === "send" && !plan.gone && rules.leavesArticles) named.add(articleOf(rules, plan.record));
      // What waits already is shown afterwards.
      if (plan.kind === "keep") continue;
      shown.add(one.key);
      if (plan.kind === "bad")
        yield rowOf(one.key, known, { new: null, why: m.sync.unsendable({ reason: plan.reason }) });
      if (plan.kind !== "send") continue;
      const isDrop = plan.isDrop && (!plan.gone || isDue(preview, one.key));
      yield rowOf(one.key, known, { new: plan.record, why: whySent(plan, known), isDrop });
    }
    waiting = left;
  }
}

/** Rows of the outbox that stay as they are. */
function* previewWaiting(preview: Preview): Generator<PreviewRow, void> {
  const { store, rules, shown } = preview;
  for (let after: string[] | undefined; ; ) {
    const keys = loadKnownKeys(store, rules, { table: "feed_outbox", after, limit: ROWS_PER_READ });
    if (keys.length === 0) return;
    after = keys.at(-1);
    for (const padded of keys) {
      const key = padded.slice(0, rules.keys.length);
      const known = loadKeyState(store, rules, key);
      const { outbox } = known;
      if (outbox === undefined || shown.has(key)) continue;
      if (outbox.state === "refused") {
        yield rowOf(key, known, { new: null, why: m.sync.refused({ why: store.messageOf(outbox.lastError ?? "") }) });
        continue;
      }
      const isDrop = (outbox.droppedAt ?? null) !== null && (!outbox.gone || isDue(preview, key));
      yield rowOf(key, known, { new: outbox.record, why: whySent(outbox, known), isDrop });
    }
  }
}

/** Articles that no row names any more. */
function* previewFormer({ store, rules, left, named }: Preview): Generator<PreviewRow, void> {
  const levels = loadFormerLevels(store, rules);
  const awayBefore = isoTime(systemClock.nowMs() - rules.deleteAfterMs);
  const leaving = left
    .filter((record) => !named.has(articleOf(rules, record)))
    .map((record) => {
      const isDrop = rules.deleteAfterMs <= 0 && isLive(rules, { record, gone: false });
      return { name: articleOf(rules, record), record, isDrop };
    });
  const standing = listFormer(store, rules.name)
    .filter(({ state }) => state === "gone" || state === "away")
    .map((row) => ({ ...row, isDrop: row.live === 1 && (row.state === "gone" || row.since <= awayBefore) }));
  for (const { name: key, record, isDrop } of [...standing, ...leaving]) {
    const deletion = renderDeletion(rules, record, levels);
    if (deletion !== undefined) yield { key, old: record, new: deletion, why: m.sync.gone, isDrop };
  }
}

function articleOf(rules: FeedRules, record: string): string {
  const { from, key } = recordKeyOf(rules, record);
  return formerName(from, key);
}

/** Whether `delete_after` lets a deletion go now. One that is found only now begins to wait. */
function isDue({ store, rules, awayBeforeMs }: Preview, key: readonly string[]): boolean {
  return rules.deleteAfterMs <= 0 || isAwaySince(store, rules, key, awayBeforeMs);
}

function rowOf(
  key: readonly string[],
  { sent, outbox }: FeedKeyState,
  row: { new: string | null; why: Message; isDrop?: boolean },
): PreviewRow {
  const old = sent === undefined || sent.gone ? null : sent.record;
  return { key: referenceOf(key), old, droppedAt: outbox?.droppedAt ?? null, isDrop: false, ...row };
}

function sourceRows(store: Store, rules: FeedRules): Generator<SourceRow> {
  return readSourceKind(store, rules) === "tracked" ? trackedRows(store, rules) : scannedRows(store, rules);
}

function* trackedRows(store: Store, rules: FeedRules): Generator<SourceRow> {
  for (let after: PageEnd | undefined; ; ) {
    const page = loadSourcePage(store, rules, after, ROWS_PER_READ);
    if (page.end === undefined) return;
    after = page.end;
    yield* page.rows;
  }
}

function* scannedRows(store: Store, rules: FeedRules): Generator<SourceRow> {
  const reader = openSource(rules, store.path);
  try {
    yield* reader.rows({ exactly: true });
  } finally {
    reader.close();
  }
}

function whySent({ gone }: Pick<RowPlan & { kind: "send" }, "gone">, { sent, outbox }: FeedKeyState): Message {
  if ((outbox?.flightRecord ?? null) !== null) return m.sync.answerUnknown;
  if (gone) return m.sync.gone;
  if (sent === undefined || sent.gone) return m.sync.new;
  return sent.current ? m.sync.changed : m.sync.notKnownThere;
}

/** The next request of each order. */
export function* previewStatuses(store: Store, rules: StatusRules, limit: number): Generator<PreviewRow> {
  for (const request of loadNextRequests(store, limit)) {
    const order = loadRequestedOrder(store, request.orderId.toLowerCase());
    const since = request.state === "pending" ? loadHappenedSince(store, request.id, rules.cancelled) : {};
    const plan = planStatus({ ...request, ...since }, order, rules);
    const old = order?.status === null || order === undefined ? null : JSON.stringify(order.status);
    const row = (status: string | null, why: Message) => ({
      key: request.orderId,
      old,
      new: status === null ? null : JSON.stringify(status),
      why,
      isDrop: false,
    });
    if (plan.kind === "refuse") yield row(null, m.sync.unsendable({ reason: plan.reason }));
    else if (request.state === "sending") yield row(request.statusSent, m.sync.statusUnknown);
    else if (plan.kind === "send") yield row(plan.status, m.sync.requested);
  }
}

/** Batches that are stored and not confirmed; none while a body is still to be journaled. */
export function* previewConfirms(store: Store, limit: number): Generator<PreviewRow> {
  if (hasUnjournaled(store)) return;
  for (const batch of loadUnconfirmed(store, { account: loadMeta(store, "account") ?? "", limit })) {
    const why = batch.confirmAttempts === 0 ? m.sync.stored : m.sync.storedTried({ tries: batch.confirmAttempts });
    yield { key: `batch:${batch.id}`, old: null, new: batch.batchId ?? batch.orderIds, why, isDrop: false };
  }
}
