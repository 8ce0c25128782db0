/*
 * What the next passes would send, from the database alone. Makes no request and writes nothing, so it may run beside a
 * daemon at any time. Uses the same pure decisions as the jobs.
 */

import { hasUnjournaled } from "../batches/batch-rows.ts";
import { loadUnconfirmed } from "../confirm/confirm-rows.ts";
import { loadMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { KNOWN, localRow } from "../feeds/diff/diff.ts";
import { type FeedKeyState, type LocalRow, planRow, type RowPlan } from "../feeds/diff/plan-feed.ts";
import { type FeedRules, keyTexts, referenceOf, renderDeletion, type SourceRow } from "../feeds/feed.ts";
import { loadKnownKeys } from "../feeds/feed-outbox.ts";
import { loadFormerLevels, loadKeyState } from "../feeds/feed-rows.ts";
import { listFormer } from "../feeds/rekey/former-rows.ts";
import { loadSourcePage, loadSourceRows, type PageEnd } from "../feeds/source/feed-source.ts";
import { readSourceKind } from "../feeds/source/feed-triggers.ts";
import { openSource } from "../feeds/source/source-reader.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
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
  /** The level drops to zero or the row is deleted, which the guard counts. */
  isDrop: boolean;
  /** When that was found; not set: now. */
  droppedAt?: string | null;
}

/**
 * @param onRow called for each row of the source, unchanged ones too
 * @throws BridgeError `table_missing`, `database_busy`
 */
export function* previewFeed(store: Store, rules: FeedRules, onRow?: () => void): Generator<PreviewRow> {
  const isTracked = readSourceKind(store, rules) === "tracked";
  const seen = new Set<string>();
  for (const row of isTracked ? trackedRows(store, rules) : scannedRows(store, rules)) {
    onRow?.();
    const key = keyTexts(rules, row);
    if (key === undefined) {
      yield { key: "?", old: null, new: null, why: m.sync.namelessRow, isDrop: false };
      continue;
    }
    if (!isTracked) seen.add(JSON.stringify(key));
    const local = localRow(store, rules, [row]);
    if (local.kind !== "unseen") yield* previewRow(store, rules, key, local);
    else {
      const why = m.sync.fileNotLooked;
      yield { key: referenceOf(key), old: null, new: null, why, isDrop: false };
    }
  }
  for (const table of KNOWN) {
    for (let after: string[] | undefined; ; ) {
      const known = loadKnownKeys(store, rules, { table, after, limit: ROWS_PER_READ });
      if (known.length === 0) break;
      after = known.at(-1);
      for (const padded of known) {
        const key = padded.slice(0, rules.keys.length);
        const isThere = isTracked ? loadSourceRows(store, rules, key).length > 0 : seen.has(JSON.stringify(key));
        // A key that is both acknowledged and in the outbox is in both lists.
        if (isThere || (table === "feed_outbox" && loadKeyState(store, rules, key).sent?.gone === false)) continue;
        yield* previewRow(store, rules, key, { kind: "absent" });
      }
    }
  }
  for (const { name: key, record, state } of listFormer(store, rules.name)) {
    const deletion = renderDeletion(rules, record, loadFormerLevels(store, rules));
    if (deletion === undefined || (state !== "gone" && state !== "away")) continue;
    yield { key, old: record, new: deletion, why: m.sync.gone, isDrop: true };
  }
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

function* previewRow(
  store: Store,
  rules: FeedRules,
  key: readonly string[],
  local: LocalRow,
): Generator<PreviewRow, void> {
  const known = loadKeyState(store, rules, key);
  const plan = planRow(rules, local, known);
  const old = known.sent === undefined || known.sent.gone ? null : known.sent.record;
  const droppedAt = known.outbox?.droppedAt ?? null;
  const row = (record: string | null, why: Message, isDrop = false): PreviewRow => ({
    key: referenceOf(key),
    old,
    new: record,
    why,
    isDrop,
    droppedAt,
  });
  if (plan.kind === "send") yield row(plan.record, whySent(plan, known), plan.isDrop);
  if (plan.kind === "bad") yield row(null, m.sync.unsendable({ reason: plan.reason }));
  const { outbox } = known;
  if (plan.kind !== "keep" || outbox === undefined) return;
  if (outbox.state === "refused") yield row(null, m.sync.refused({ why: store.messageOf(outbox.lastError ?? "") }));
  else yield row(outbox.record, whySent({ gone: outbox.gone }, known), droppedAt !== null);
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
