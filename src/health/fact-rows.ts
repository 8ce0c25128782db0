/*
 * Reads the facts for `status`: read-only, on any connection, beside a running daemon. SQL names the index, so that no
 * read scans orders or batches.
 */

import path from "node:path";
import { eq, getViewSelectedFields } from "drizzle-orm";
import { isUnreadForm, parseTimestamp } from "../answers/timestamp.ts";
import { type DiskSpace, readDiskSpace } from "../backup/space-rule.ts";
import { LARGER, UNNAMED } from "../confirm/confirm-record.ts";
import { journalSince } from "../database/file/foreign-journal.ts";
import { problemOf } from "../database/log/progress.ts";
import { progressOf, readNote } from "../database/log/progress-note.ts";
import { describeOwn, inspectOwn, ownObjects, schemaVersion } from "../database/objects/own-objects.ts";
import { onlyRow, onlyValue } from "../database/only-row.ts";
import { type Query, select } from "../database/queries.ts";
import { batches, feeds, flows, orders, queuedReads, syncStatus } from "../database/schema.ts";
import { faultCodeOf } from "../database/sqlite-errors.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { describeFenced, loadMirrorFacts } from "../mirror/mirror-state.ts";
import { loadHolds } from "../pass/hold-rows.ts";
import { AREA_FLOWS } from "../pass/job-names.ts";
import { loadNotices } from "../pass/notices.ts";
import {
  loadLearned,
  loadReadsPerHour,
  UNLISTED,
  type UnlistedChanges,
  WIDE_FAILURE,
} from "../updates/times/learned-rows.ts";
import { isHeldBy } from "./conditions.ts";
import type { Facts, FlowFacts } from "./facts.ts";
import { CHANNELS, PAGE_SILENCE } from "./health-rows.ts";

/** Longer lists are counted up to this number. */
const LISTED_MAX = 10_000;
/** Longer than any timestamp. */
const TIMESTAMP_MAX = 100;
/** Changes may be listed late; the longest delay that is learned is minutes (`updates/times/change-lag.ts`). */
const LISTED_WITHIN_MS = 3_600_000;

/**
 * By the ids of batches, which grow with time; `max(received_at)` would read every batch. After a takeover from
 * PostgreSQL alone there are orders and no batch.
 */
function loadLastOrderAt(store: Store): string | null {
  const batch = select(store, batches, ["receivedAt"], "WHERE state <> 'unread' ORDER BY id DESC LIMIT 1").get();
  const last = batch ?? select(store, orders, ["receivedAt"], "ORDER BY order_key DESC LIMIT 1").get();
  return last?.receivedAt ?? null;
}

/** Bodies that could not be read, without those that are still being stored in parts. */
const UNREAD = `SELECT count(*) AS count, min(received_at) AS since FROM batches INDEXED BY batches_unread
  WHERE state = 'unread' AND last_error IS NOT NULL`;

/** Batches of another account are not confirmed now, so they do not count. */
const OF_ACCOUNT = "(account IS NULL OR account = (SELECT value FROM meta WHERE key = 'account'))";

/** Batches that are not confirmed, whether their confirm has failed or waits, and when the oldest of them was received. */
const OPEN_CONFIRMS = `SELECT count(*) AS count, min(received_at) AS since FROM batches INDEXED BY batches_stored
  WHERE state = 'stored' AND ${OF_ACCOUNT}`;

/** Batches whose confirm waits for the journal. */
const UNJOURNALED = "SELECT count(DISTINCT fingerprint) AS count, min(received_at) AS since FROM unjournaled_bodies";

const REFUSED_REQUESTS =
  "SELECT count(*) AS count FROM status_requests INDEXED BY status_requests_refused WHERE state = 'refused'";

/**
 * Orders that do not show a status which the service has accepted. Counts only statuses that other orders have shown:
 * some services show none.
 */
const UNSHOWN = `SELECT count(DISTINCT lower(order_id)) AS count, min(unshown_since) AS since FROM (
    SELECT r.order_id, r.unshown_since FROM status_requests r INDEXED BY status_requests_unshown
    WHERE r.unshown_since IS NOT NULL AND r.state = 'sent' AND EXISTS (
      SELECT 1 FROM status_requests s INDEXED BY status_requests_shown
      WHERE s.status_sent = r.status_sent AND s.shown_at IS NOT NULL)
    LIMIT ${LISTED_MAX})`;

function countSince(store: Store, sql: string): { count: number; since: string | null } {
  return onlyRow(store.prepare<{ count: number; since: string | null }>(sql).get());
}

/**
 * Batches whose confirm was refused, counting separately those without ids and those whose confirm is too large; and
 * how often at least the service has served the last one without ids.
 */
function countRefusedBatches(store: Store): Pick<Facts, "refusedBatches" | "largeConfirms" | "unnamedBatches"> {
  const facts = { refusedBatches: 0, largeConfirms: 0, unnamedBatches: { count: 0, times: 1 } };
  const rows = store
    .prepare<{ why: string | null; count: number; newest: number }>(
      `SELECT last_error AS why, count(*) AS count, max(id) AS newest FROM batches INDEXED BY batches_refused
       WHERE state = 'refused' AND ${OF_ACCOUNT} GROUP BY last_error`,
    )
    .all();
  for (const { why, count, newest } of rows) {
    if (why === String(m.orders.unnamedBatch)) {
      const served = UNNAMED.load(store);
      facts.unnamedBatches = { count, times: served?.batch === newest ? served.times : 1 };
    } else if (why === String(m.orders.confirmTooLarge)) facts.largeConfirms = count;
    else facts.refusedBatches += count;
  }
  return facts;
}

const QUEUED_READS = (query: Query) => {
  const { since, lastError, orderId, dueAt } = queuedReads;
  return query
    .select({ since, why: lastError, dueAt })
    .from(queuedReads)
    .orderBy(since, orderId)
    .limit(LISTED_MAX)
    .prepare();
};

/** Since when each read is due, oldest first, and the last failure of the oldest, or that few reads are made. */
function loadQueuedReads(store: Store): NonNullable<Facts["queuedReads"]> {
  const rows = store.prepared(QUEUED_READS).all();
  const untried = rows.filter(({ dueAt }) => dueAt === null).map(({ since }) => since);
  const perHour = loadReadsPerHour(store);
  const why = store.messageOf(rows[0]?.why ?? null) ?? (perHour === undefined ? null : m.updates.fewReads({ perHour }));
  return { times: rows.map(({ since }) => since), untried, why };
}

/** Open requests that were sent before: when each was first sent, oldest first. */
function listUnsettledSince(store: Store): string[] {
  return store
    .prepare<string>(
      `SELECT first_sent_at FROM status_requests INDEXED BY status_requests_open
       WHERE state IN ('pending', 'sending') AND first_sent_at IS NOT NULL ORDER BY first_sent_at LIMIT ${LISTED_MAX}`,
    )
    .pluck()
    .all();
}

/** Requests for orders that are not stored: when each was made, oldest first. */
function listUnstoredSince(store: Store): string[] {
  return store
    .prepare<string>(
      `SELECT substr(requested_at, 1, ${TIMESTAMP_MAX}) FROM status_requests INDEXED BY status_requests_open
       WHERE state IN ('pending', 'sending') AND requested_at IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.order_id = lower(status_requests.order_id))
       ORDER BY requested_at LIMIT ${LISTED_MAX}`,
    )
    .pluck()
    .all();
}

/** Feeds that are switched on and have a configured limit for the ERP's silence. */
function loadErpWrites(store: Store) {
  return store
    .prepare<{ feed: string; since: string; withinS: number }>(
      `SELECT f.name AS feed, f.touched_at AS since, f.write_within_s AS withinS FROM feeds f JOIN flows w ON w.flow = f.name
       WHERE w.enabled AND f.touched_at IS NOT NULL AND f.write_within_s IS NOT NULL ORDER BY f.feed_id`,
    )
    .all();
}

/** Since when each row waits whose last request has an unknown outcome, oldest first, without those that are set aside. */
function loadUnansweredRows(store: Store): NonNullable<Facts["unansweredRows"]> {
  const times = store
    .prepare<string>(
      `SELECT waiting_since FROM feed_outbox INDEXED BY feed_outbox_doubt WHERE feed_id = ? AND doubt_record IS NOT NULL
         AND doubt_until_ms > 0 AND state = 'waiting' AND refusal IS NULL ORDER BY waiting_since LIMIT ${LISTED_MAX}`,
    )
    .pluck();
  const all = select(store, feeds, ["feedId", "name"], "ORDER BY feed_id").all();
  return all.map(({ feedId, name }) => ({ feed: name, times: times.all(feedId) }));
}

/** Number of keys in a sentence. */
const KEYS_NAMED = 5;

/** Rows that were sent under a former key and wait for a person's decision, and the first of their keys. */
function loadFormerRows(store: Store): NonNullable<Facts["formerRows"]> {
  const named = store
    .prepare<string>(
      `SELECT key FROM feed_former INDEXED BY feed_former_state
       WHERE feed_id = ? AND state = 'waiting' ORDER BY since, key LIMIT ${KEYS_NAMED}`,
    )
    .pluck();
  return store
    .prepare<{ id: number; feed: string; count: number; since: string }>(
      `SELECT feed_id AS id, name AS feed, count(*) AS count, min(since) AS since
       FROM feed_former JOIN feeds USING (feed_id) WHERE state = 'waiting' GROUP BY feed_id`,
    )
    .all()
    .map(({ id, count, ...rest }) => {
      const keys = named.all(id).map((text) => (JSON.parse(text) as string[]).filter((part) => part !== "").join("/"));
      return { ...rest, count, keys: keys.join(", ") + (count > keys.length ? ", …" : "") };
    });
}

/**
 * Since when the newest request waits for a daemon that shows no other sign of life, even where its command has given
 * up. Undefined while another request is being answered, because this one waits for it.
 */
function loadUnansweredSince(store: Store): string | undefined {
  return store
    .prepare<string>(
      `SELECT requested_at FROM (SELECT * FROM sync_requests ORDER BY id DESC LIMIT 1)
       WHERE taken_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM flows WHERE last_run_at > requested_at)
         AND NOT EXISTS (SELECT 1 FROM sync_requests INDEXED BY sync_requests_open
                         WHERE finished_at IS NULL AND taken_at IS NOT NULL)`,
    )
    .pluck()
    .get();
}

function loadDiskSpace(store: Store): DiskSpace | undefined {
  try {
    return readDiskSpace(path.dirname(store.path));
  } catch {
    return undefined;
  }
}

function loadDatabaseProblem(store: Store): Facts["databaseProblem"] {
  const note = readNote(store.path);
  const kind = problemOf(progressOf(store.db, note), note);
  return kind === undefined || note === undefined ? undefined : { kind, since: note.at };
}

const FLOWS = (query: Query) => {
  const { erpWroteAt, isErpSilent, ...status } = getViewSelectedFields(syncStatus);
  const { staleAfterS, firstPassSince } = flows;
  const isOf = eq(flows.flow, syncStatus.flow);
  return query
    .select({ ...status, staleAfterS, firstPassSince })
    .from(syncStatus)
    .leftJoin(flows, isOf)
    .prepare();
};

function loadFlows(store: Store): Facts["flows"] {
  const rows = store.prepared(FLOWS).all();
  return rows.map(({ error, staleAfterS, ...flow }) => ({
    ...flow,
    error: store.messageOf(error),
    staleAfterS: staleAfterS ?? 0,
  }));
}

const looks = new WeakMap<Store, { schema: number; changed: string }>();

/**
 * Objects of the bridge's own that another program has removed or changed. Inspected again only when the schema
 * changes.
 */
function loadChanged(store: Store): string {
  const schema = schemaVersion(store);
  const known = looks.get(store);
  if (known?.schema === schema) return known.changed;
  const changed = describeOwn(inspectOwn(store.db, ownObjects(store.db)));
  looks.set(store, { schema, changed });
  return changed;
}

/** What a flow said about a hold, with its next try, is no longer true once the hold has ended, although no pass has followed. */
function withoutEndedHold(flow: FlowFacts, holds: Facts["holds"]): FlowFacts {
  if (flow.errorCode !== "held" || holds.some((hold) => isHeldBy(hold, flow.flow))) return flow;
  return { ...flow, errorCode: null, error: m.pass.holdEnded };
}

/** A hold of something that is switched off stops nothing, and no command ends it. */
function isOff({ area }: { area: string }, flows: Facts["flows"]): boolean {
  const names: readonly string[] = Object.hasOwn(AREA_FLOWS, area) ? AREA_FLOWS[area as "orders"] : [area];
  return names.every((name) => flows.some(({ flow, enabled }) => flow === name && !enabled));
}

const NONE = { count: 0, since: null };

function loadUnlisted(store: Store): NonNullable<Facts["unlisted"]> {
  const found = UNLISTED.load(store);
  if (found === undefined) return NONE;
  const now = onlyRow(
    store
      .prepare<{ position: string | null; followedAt: string | null }>(
        `SELECT (SELECT value FROM watermarks WHERE stream = 'updates') AS position,
           (SELECT last_success_at FROM flows WHERE flow = 'updates') AS followedAt`,
      )
      .get(),
  );
  return isListSilent(found, now) ? { count: found.count, since: found.since } : NONE;
}

/** Whether changes were followed for long enough without a new position. `followedAt`: the last success of that. */
function isListSilent(
  { position, enoughAt }: UnlistedChanges,
  now: { position: string | null; followedAt: string | null },
): boolean {
  if (enoughAt === undefined || now.followedAt === null || position !== now.position) return false;
  return Date.parse(now.followedAt) - Date.parse(enoughAt) >= LISTED_WITHIN_MS;
}

/** So many of the newest orders show the form of timestamps. */
const TIMED_ORDERS = 20;
function countUnreadableTimes(store: Store): number {
  const texts = store
    .prepare<string>(
      `SELECT substr(service_updated_at, 1, ${TIMESTAMP_MAX}) FROM (
         SELECT service_updated_at FROM orders ORDER BY order_key DESC LIMIT ${TIMED_ORDERS})
       WHERE service_updated_at IS NOT NULL`,
    )
    .pluck()
    .all();
  const unread = texts.filter((text) => parseTimestamp(text, "UTC") === undefined).length;
  const isForm = isUnreadForm({ unread, read: texts.length - unread });
  return (isForm ? unread : 0) + (loadLearned(store).unread ?? 0);
}

/**
 * Reads all facts. Those that cannot be read because another program changed the bridge's schema are left out, and
 * `changed` names the objects.
 */
export function loadFacts(store: Store): Facts {
  const changed = loadChanged(store);
  const read = <T>(query: () => T, unknown: T): T => {
    try {
      return query();
    } catch (error) {
      if (changed === "" || faultCodeOf(error) !== "SQLITE_ERROR") throw error;
      return unknown;
    }
  };
  const count = (sql: string) => read(() => countSince(store, sql), NONE);
  const allHolds = read(() => loadHolds(store), []);
  const flows = read(() => loadFlows(store), []).map((flow) => withoutEndedHold(flow, allHolds));
  const unread = count(UNREAD);
  const unshown = count(UNSHOWN);
  return {
    ...(changed === "" ? {} : { changed }),
    flows,
    holds: allHolds.flatMap(({ nextProbeAt: _, ...hold }) => (isOff(hold, flows) ? [] : [hold])),
    lastOrderAt: read(() => loadLastOrderAt(store), null),
    orders: read(() => onlyValue<number>(store, "SELECT coalesce(max(order_key), 0) FROM orders"), 0),
    unread: unread.count,
    unreadSince: unread.since,
    unjournaled: count(UNJOURNALED),
    ...read<Pick<Facts, "refusedBatches">>(() => countRefusedBatches(store), { refusedBatches: 0 }),
    openConfirms: count(OPEN_CONFIRMS),
    largerConfirms: LARGER.load(store) ?? NONE,
    queuedReads: read(() => loadQueuedReads(store), { times: [], why: null }),
    refusedRequests: count(REFUSED_REQUESTS).count,
    unsettledRequests: read(() => listUnsettledSince(store), []),
    unstoredRequests: read(() => listUnstoredSince(store), []),
    unshown: { orders: unshown.count, since: unshown.since },
    wideFailing: WIDE_FAILURE.load(store)?.since ?? null,
    unlisted: read(() => loadUnlisted(store), NONE),
    unreadableTimes: read(() => countUnreadableTimes(store), 0),
    acceptedByStatusOnly: select(store, feeds, ["name"], "WHERE accepted_by = 'status' ORDER BY feed_id")
      .all()
      .map(({ name }) => name),
    erpWrites: read(() => loadErpWrites(store), []),
    walBytes: store.walBytes(),
    disk: loadDiskSpace(store),
    undelivered: Object.entries(CHANNELS.load(store)).flatMap(([channel, { failing }]) =>
      failing === null ? [] : [{ channel, ...failing }],
    ),
    pageSilent: PAGE_SILENCE.load(store),
    unansweredRows: read(() => loadUnansweredRows(store), []),
    formerRows: read(() => loadFormerRows(store), []),
    mirror: read(() => loadMirror(store), undefined),
    databaseProblem: loadDatabaseProblem(store),
    journalSince: journalSince(store.path),
    met: store.troubles.first,
    unanswered: read(() => loadUnansweredSince(store), undefined),
    notices: loadNotices(store),
  };
}

function loadMirror(store: Store): Facts["mirror"] {
  const facts = loadMirrorFacts(store);
  return facts === undefined ? undefined : { ...facts, fenced: describeFenced(store) };
}
