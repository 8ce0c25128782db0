import { CLOSED, type Forms, isUnsafe } from "./forms.ts";
import { countsChanges } from "./invariants/counts.ts";
import { isBefore } from "./versions.ts";
import type { World } from "./world.ts";

export interface Difference {
  what: string;
  /** Of one order. */
  orderId?: string;
  /** The polls alone must settle it. */
  isExpectedByPolls: boolean;
  /** The sweep must settle it. */
  isExpectedBySweep: boolean;
}

interface StoredOrder {
  order_id: string;
  payload: string;
  /** Later than the payload's own where only the status of a change was stored. */
  service_updated_at: string | null;
  removed_at: string | null;
}

interface StoredLine {
  order_id: string;
  sku: string;
  quantity: string;
}

const MINUTE_MS = 60_000;
const READS = "reads are owed";
export const WAITING = "statuses wait";
export const ROWS = "rows wait to be pushed";
export const CONFIRMS = "confirms are owed";
const OPEN = "a hand-out is open";
const HOLDS = "holds stand";
/**
 * The order is answered with an older version than the stored one: that counts once it was answered so for a day, and until then says nothing.
 * A request may wait for the read itself or, where that version is cancelled, for the read that a change has asked for.
 */
const SERVED_OLDER = `SELECT lower(order_id) FROM status_requests r WHERE id = ? AND EXISTS (SELECT 1 FROM status_requests b
  WHERE b.order_id = r.order_id AND b.id <= r.id AND b.state IN ('pending', 'sending') AND (b.last_error LIKE '%is older than what is stored%'
    OR (b.last_error LIKE '%waiting to be read since%' AND EXISTS (SELECT 1 FROM owed_reads o
      WHERE o.order_id = r.order_id AND o.last_error LIKE '%is older than what is stored%'))))`;
/** Rows that say that something is still to be done. */
export const OWED: readonly [sql: string, what: string][] = [
  ["SELECT order_id FROM owed_reads", READS],
  ["SELECT id FROM batches WHERE state = 'stored'", CONFIRMS],
  // One that the service refuses is asked again later, until another one was accepted meanwhile.
  [
    `SELECT id FROM status_requests r WHERE state IN ('pending', 'sending') AND NOT EXISTS (
       SELECT 1 FROM status_requests b WHERE b.order_id = r.order_id AND b.id <= r.id
         AND b.state = 'pending' AND b.last_error LIKE '%cannot become%')`,
    WAITING,
  ],
  ["SELECT id FROM feed_outbox WHERE state <> 'refused'", ROWS],
  ["SELECT opened_at FROM pull_mark WHERE lost = 1 OR is_open = 1", OPEN],
  // A hold that ends with the next request stands where nobody has anything to ask, or asks only at night.
  ["SELECT area || ' ' || reason FROM holds WHERE area NOT IN ('statuses', 'reconcile')", HOLDS],
];

/** Everything in which the disk is not yet what the service and the ERP say. */
export function differencesOf(world: World): Difference[] {
  const { auditor, pushes } = world;
  const always = { isExpectedByPolls: true, isExpectedBySweep: true };
  // A read may wait for its time, up to an hour, where the orders themselves are as they should be: those are compared below.
  const owed = OWED.filter(([, what]) => what !== READS).flatMap(([sql, what]) => {
    const rows = auditor
      .prepare(sql)
      .pluck()
      .all()
      .filter((row) => (what !== WAITING || !waitsLonger(world, row)) && !isOfFailing(world, what, row));
    return rows.length === 0 ? [] : [{ what: `${what} (${rows.join(", ")})`, ...always }];
  });
  const failing = world.lies.failing();
  const isOfOne = (what: string) => [...failing].some((name) => what.startsWith(`${name}:`));
  const pushed = pushes.differences().flatMap((what) => (isOfOne(what) ? [] : [{ what, ...always }]));
  return withoutDown(world, [...owed, ...pushed, ...missingOrders(world), ...staleOrders(world)]);
}

/** What does not depend on an endpoint that answers nothing any more. */
function withoutDown({ lies, forms }: World, differences: Difference[]): Difference[] {
  const { down } = lies;
  // A batch is served until it is confirmed, or behind it no others come.
  const isServed = !down.has("orders") && (!down.has("confirm") || forms.redeliver === "cycle");
  return differences.filter(({ what, orderId }) => {
    if (what.startsWith("not stored")) return isServed;
    if (orderId !== undefined) return !down.has("updates");
    return ![...down].some((each) => what.startsWith(`${each} `));
  });
}

/** Whether it waits for the one record with which every request fails. A status may wait for its order's confirm. */
export function isOfFailing({ auditor, forms, lies }: World, what: string, row: unknown): boolean {
  const failing = [...lies.failing()];
  const { down } = lies;
  if (DOWN_OF[what]?.some((each) => down.has(each))) return true;
  if (what === HOLDS && isHeldForFailing(forms, failing, String(row))) return true;
  if (what === HOLDS) return [...down].some((each) => AREAS_OF[each]?.test(String(row)));
  const sql = FAILING_OF[what];
  if ((failing.length === 0 && down.size === 0) || sql === undefined) return false;
  const text = String(auditor.prepare(sql).pluck().get(row)).toLowerCase();
  if (what === ROWS && [...down].some((feed) => text.startsWith(`${feed} `))) return true;
  return failing.some((name) => (what === ROWS ? text === name.toLowerCase() : text.includes(name)));
}

/**
 * Where fewer changes were counted than there were, a process of its own does not know which rows were answered so: all of unknown outcome may be,
 * and so may be one that always fails.
 */
function isHeldForFailing(forms: Forms, failing: readonly string[], hold: string): boolean {
  const [feed, reason] = hold.split(" ");
  return reason === "answer" && countsChanges(forms) && failing.some((name) => name.startsWith(`${feed} `));
}

export const ROW_OF =
  "SELECT f.name || ' ' || x.k0 FROM feed_outbox x JOIN feeds f ON f.feed_id = x.feed_id WHERE x.id = ?";
/** What waits while an endpoint is down. */
const DOWN_OF: Readonly<Record<string, readonly string[]>> = {
  [CONFIRMS]: ["confirm", "orders"],
  // The order may be missing here, or the service accepts no status of one that is not confirmed.
  [WAITING]: ["status", "orders", "confirm"],
  [OPEN]: ["orders", "confirm"],
};
/** Areas and flows that may be held for it. */
const AREAS_OF: Readonly<Record<string, RegExp>> = {
  orders: /^orders /,
  confirm: /^orders /,
  updates: /^updates /,
  stocks: /^(imports|stocks) /,
  prices: /^(imports|prices) /,
  catalog: /^(imports|catalog) /,
};
const FAILING_OF: Readonly<Record<string, string>> = {
  [CONFIRMS]: "SELECT order_ids FROM batches WHERE id = ?",
  [WAITING]: "SELECT order_id FROM status_requests WHERE id = ?",
  [ROWS]: ROW_OF,
};

function waitsLonger(world: World, request: unknown): boolean {
  return (
    isServedOlder(world, request) ||
    isGoneWithAll(world, request) ||
    isMissingAnew(world, request) ||
    isMovedOnUnshown(world, request)
  );
}

/**
 * The service has moved the order on at once to the status that it had before, within one unit of its timestamps, or had under a later
 * time than the last one, or its timestamps name no seconds, so that the move may have been made before the request: that looks as the order does at
 * a service that sets statuses later, and the request is repeated after an hour.
 */
function isMovedOnUnshown({ erp, forms, statuses, versions }: World, request: unknown): boolean {
  const place = erp.asked.findIndex(({ id }) => id === request);
  const orderId = erp.asked[place]?.orderId;
  if (orderId === undefined || !statuses.hasMovedOn(place + 1)) return false;
  if (versions.isHidden(orderId) || versions.isMisleading(orderId)) return true;
  return unitOf(forms) === MINUTE_MS && !versions.isStatusNew(orderId);
}

/** A log that goes on listing the newer version keeps such an order as it is stored. */
export function isServedOlder({ auditor, versions }: World, request: unknown): boolean {
  const orderId = auditor.prepare(SERVED_OLDER).pluck().get(request) as string | undefined;
  return orderId !== undefined && versions.isMisleading(orderId);
}

const GONE = `SELECT lower(order_id) FROM status_requests r WHERE id = ? AND EXISTS (SELECT 1 FROM status_requests b
  WHERE b.order_id = r.order_id AND b.id <= r.id AND b.state = 'pending'
    AND (b.last_error LIKE '%is kept no longer%' OR b.last_error LIKE '%there is no such order%'))`;

/** The first answer that says that the order is gone; -1: none. */
function findGone(entries: World["service"]["ledger"]["entries"], orderId: string): number {
  return entries.findIndex(
    ({ kind, path, status }) => kind === "snapshot" && status !== 200 && path.toLowerCase().includes(orderId),
  );
}

/** So long an order must be missing, and another one be read at both ends of that time. */
const MISSING_FOR_MS = 10 * MINUTE_MS;
/** Statuses of several such orders in a row hold the others, and only after so long one of them is tried. */
const PROBE_MS = 5 * MINUTE_MS;

/**
 * The service has the order no longer, nor others, and since it says so it has not answered for orders at two times that far apart: a
 * service out of order looks the same. Failed passes tell of it; the next orders that can be read settle the request, once it is tried.
 */
function isGoneWithAll({ auditor, service, forms }: World, request: unknown): boolean {
  const orderId = forms.retention ? (auditor.prepare(GONE).pluck().get(request) as string | undefined) : undefined;
  if (orderId === undefined) return false;
  const { entries } = service.ledger;
  const gone = findGone(entries, orderId);
  if (gone < 0) return false;
  const untilMs = service.now() - PROBE_MS;
  const read = entries
    .slice(gone)
    .filter(({ kind, status, at }) => kind === "snapshot" && status === 200 && at <= untilMs);
  return (read.at(-1)?.at ?? 0) - (read[0]?.at ?? 0) < MISSING_FOR_MS;
}

const MISSING = `SELECT m.order_id AS orderId, m.since FROM status_requests r JOIN missing_orders m ON m.order_id = lower(r.order_id)
  WHERE r.id = ?`;

/** The service has the order no longer, and after it said so the changes have listed the order: the time for which it must be missing begins anew. */
function isMissingAnew({ auditor, service, forms, time, machine }: World, request: unknown): boolean {
  const row = auditor.prepare(MISSING).get(request) as { orderId: string; since: string } | undefined;
  if (!forms.retention || row === undefined) return false;
  const { entries } = service.ledger;
  const gone = findGone(entries, row.orderId);
  const isListed = entries
    .slice(Math.max(gone, 0))
    .some(({ kind, servedIds }) => kind === "updates" && servedIds.includes(row.orderId));
  const sinceMs = time.trueMs + machine.wallOffsetMs - Date.parse(row.since);
  return gone >= 0 && isListed && sinceMs < MISSING_FOR_MS;
}

const READ_OLDER = `SELECT 1 FROM owed_reads WHERE order_id = ? AND last_error LIKE '%is older than what is stored%'`;

const DAY_MS = 24 * 3_600_000;

/** Whether the order was read since, and a day later as well: what the changes list as later all that time stays, and the reads end. */
function isReadForDay({ ledger }: World["service"], id: string, sinceMs = Number.POSITIVE_INFINITY): boolean {
  const { entries } = ledger;
  // Times of a clock that was ahead come before the one at which it was right again.
  const setBack = entries.findLastIndex(({ at }, place) => at < (entries[place - 1]?.at ?? 0) - DAY_MS);
  const reads = entries.filter(
    ({ kind, at, status, servedIds }, place) =>
      kind === "snapshot" && place >= setBack && at >= sinceMs && status === 200 && servedIds.includes(id),
  );
  return (reads.at(-1)?.at ?? 0) - (reads[0]?.at ?? 0) >= DAY_MS;
}

/**
 * The newest version bears an earlier timestamp than one before it, and the bridge met both at once: a log lists the other too, as it
 * would where the order's own answer came from a replica that lags. That answer counts once it was read for a day. Who knew the
 * later timestamp before, and had asked for changes since, is told by the change; an answer that does not go by what was asked tells nothing,
 * nor does one to a program that was killed meanwhile.
 */
function isMetInLog(world: World, id: string, updatedAt: string | null): boolean {
  const { auditor, service, versions, forms, stuckAnswers, unheardAnswers } = world;
  const newest = versions.newest(id);
  if (forms.history !== "log" || newest === undefined || !versions.isMisleading(id)) return false;
  if (auditor.prepare(READ_OLDER).get(id) === undefined && !isReadForDay(service, id, versions.madeMs(id)))
    return false;
  const laterMs = versions.laterThanNewest(id)?.madeMs ?? 0;
  const since = service.ledger.entries.filter(({ at, seq }) => at >= laterMs && !unheardAnswers.has(seq));
  const met = since.find(({ servedIds }) => servedIds.includes(id));
  const asked = since.find(
    ({ kind, status, seq }) => kind === "updates" && (status === 200 || status === 204) && !stuckAnswers.has(seq),
  );
  const isMetAtOnce = Math.max(met?.at ?? 0, asked?.at ?? 0) >= (versions.madeMs(id) ?? 0);
  return met !== undefined && isMetAtOnce && isBefore(newest.timestamp, updatedAt ?? undefined);
}

/**
 * The stored version came with its batch and was never listed as a change, and the newest one bears an earlier timestamp: that it is listed
 * no more says nothing, so that the order's own answer may as well come from a replica that lags. It counts once it was read for a day.
 */
function isOlderThanUnlisted({ auditor, service, versions }: World, id: string, payload: string): boolean {
  if (!versions.isMisleading(id) || auditor.prepare(READ_OLDER).get(id) === undefined) return false;
  const { updated_at } = JSON.parse(payload) as { updated_at?: unknown };
  const isListed = ({ kind, servedIds, responseBody }: (typeof service.ledger.entries)[number]) =>
    kind === "updates" && servedIds.includes(id) && bears(responseBody ?? "null", id, updated_at);
  return !service.ledger.entries.some(isListed);
}

/** Whether a record of the order in that answer bears the timestamp. Other records may bear it as well. */
function bears(body: string, id: string, timestamp: unknown): boolean {
  let isFound = false;
  JSON.parse(body, (_key, value) => {
    isFound ||= String(value?.order_id).toLowerCase() === id && value.updated_at === timestamp;
    return value;
  });
  return isFound;
}

/**
 * The batch that brought the order held both versions, and they are told apart by their timestamps, of which the newest version bears the
 * earlier one. The first position is the time of that batch: the change lies before it, for the sweep to find.
 */
function isMetInBatch({ service, versions, forms }: World, id: string): boolean {
  if (forms.twice !== "older" || !versions.isMisleading(id)) return false;
  const met = service.ledger.entries.find(({ servedIds }) => servedIds.includes(id));
  return met !== undefined && met.kind === "orders" && met.at >= (versions.madeMs(id) ?? 0);
}

/**
 * The same in a batch that came after the changes had listed the newest version: the batch says by its timestamps that the other one is later, and
 * no change is news any more. The comparison reads the order.
 */
function isContradictedByBatch({ service, versions, forms }: World, id: string, payload: string): boolean {
  const text = service.newestText(id);
  if (forms.twice !== "older" || !versions.isMisleading(id) || text === undefined) return false;
  const [own, newest] = [payload, text].map((each) => (JSON.parse(each) as { updated_at?: unknown }).updated_at);
  const { entries } = service.ledger;
  const shows = ({ servedIds, responseBody }: (typeof entries)[number], timestamp: unknown) =>
    servedIds.includes(id) && bears(responseBody ?? "null", id, timestamp);
  const batch = entries.findLastIndex((each) => each.kind === "orders" && shows(each, own) && shows(each, newest));
  return entries.some((each, place) => place < batch && each.kind === "updates" && shows(each, newest));
}

/**
 * A page of fewer changes than ten is full of records without a timestamp, or with an absurd one, or with one from before what was asked, which a
 * record that is served as it stands keeps however often its order changes: nothing tells it from the feed's end, or from when to go on.
 * Changes of one time beside such records tell as little: asked from that time, the service lists the same page.
 */
export function isBehindUntold({ service, versions, forms }: World, sinceMs: number): boolean {
  if (forms.page >= 10 || (versions.bad.size < forms.page && versions.everOdd.size === 0)) return false;
  return service.ledger.entries.some(
    ({ kind, at, status, servedIds, query, responseBody }) =>
      kind === "updates" &&
      at >= sinceMs &&
      status === 200 &&
      servedIds.length >= forms.page &&
      (responseBody?.match(TIME_OF_CHANGE) === null ||
        (servedIds.some((id) => versions.everOdd.has(id)) && timesSince(query, responseBody ?? "") <= 1)),
  );
}

/** How many times the changes of an answer bear that do not lie before the one that it was asked from. */
function timesSince(query: string, body: string): number {
  const since = new URLSearchParams(query).get("since") ?? undefined;
  const times = [...body.matchAll(/"updated_at":(?:"([^"]*)"|(\d+))/g)].flatMap(
    ([, text, digits]) => text ?? digits ?? [],
  );
  return new Set(times.filter((time) => !isBefore(time, since))).size;
}

/** Of a year or of seconds that a service's clock may show. */
const TIME_OF_CHANGE = /"updated_at":"?(?:20\d\d-|1\d{9})/;

export function missingOrders(world: World): Difference[] {
  const { versions, service, orders, forms } = world;
  const living = versions.ids.filter((id) => service.statusOf(id) !== undefined);
  const missing = [...living, ...versions.bad.keys()].filter((id) => !orders.isKept(id) && !orders.losses.has(id));
  // Under an unsafe reading these are judged apart.
  const isCounted = !isUnsafe(forms);
  return isCounted && missing.length > 0
    ? [{ what: `not stored: ${missing.join(", ")}`, isExpectedByPolls: true, isExpectedBySweep: true }]
    : [];
}

export function staleOrders(world: World): Difference[] {
  const { auditor, versions, service, forms, position } = world;
  const lines = Map.groupBy(
    auditor.prepare("SELECT order_id, sku, quantity FROM order_lines ORDER BY order_id, line_no").all() as StoredLine[],
    ({ order_id }) => order_id,
  );
  const columns = "order_id, payload, service_updated_at, removed_at";
  const stored = auditor.prepare(`SELECT ${columns} FROM orders`).all() as StoredOrder[];
  return stored.flatMap(({ order_id: id, payload, service_updated_at, removed_at }) => {
    const text = service.newestText(id);
    if (text === undefined || forms.retention || versions.odd.has(id)) return [];
    const newest = JSON.parse(text) as { status: string; items: { sku: string; quantity: unknown }[] };
    const own = JSON.parse(payload) as typeof newest;
    const isSame =
      removed_at === null &&
      own.status === newest.status &&
      JSON.stringify(own.items) === JSON.stringify(newest.items) &&
      (lines.get(id) ?? []).map(({ sku, quantity }) => `${sku} ${Number(quantity)}`).join() ===
        newest.items.map(({ sku, quantity }) => `${sku} ${Number(quantity)}`).join();
    if (isSame || isMetInLog(world, id, service_updated_at) || isOlderThanUnlisted(world, id, payload)) return [];
    // What bears an earlier timestamp than the position is as late for the polls as what appeared late.
    const behindMs = (position.aheadMs ?? 0) - (versions.newest(id)?.timestampMs ?? 0);
    const lateMs = Math.max(versions.latenessMs(id), behindMs);
    // A sweep looks back from the position as it stands then.
    const sweptMs = (position.atMs ?? 0) - (versions.newest(id)?.timestampMs ?? 0);
    // A feed that names its own next place decides by itself what it shows; and what shares a timestamp with more changes
    // than a page holds cannot be asked for.
    const isMisled = forms.carry === "whole" && versions.isMisleading(id);
    const isHidden = forms.carry === "changes" && !forms.lines && versions.isHidden(id) && !isReadAfterUnit(world, id);
    const isSameTime = versions.tieSize(id, unitOf(forms)) > forms.page;
    const isOurs =
      isListed(world, id) &&
      forms.next !== "cursor" &&
      !isMisled &&
      !isHidden &&
      !isSameTime &&
      !isContradictedByBatch(world, id, payload) &&
      !isBehindUntold(world, versions.newest(id)?.madeMs ?? 0);
    const isOnTime =
      lateMs < forms.lookBackMs ||
      lateMs <= 0 ||
      (isSinceSkew(world, id) && isSeenAhead(world)) ||
      isAsFarBack(world, id, lateMs);
    return [
      {
        orderId: id,
        what: `order ${id} is ${removed_at === null ? own.status : "removed"} here and ${newest.status} there`,
        isExpectedByPolls: isOurs && isOnTime && !isMetInBatch(world, id) && !isClosedBefore(world, id, own.status),
        isExpectedBySweep: isOurs && Math.max(lateMs, sweptMs) < 24 * 3_600_000,
      },
    ];
  });
}

/**
 * Some services list changes only of orders that they have delivered, and a confirm that covers everything leaves others
 * undelivered for ever: changes of those are found by the comparison alone.
 */
export function isListed({ forms, service }: World, id: string): boolean {
  return forms.scope !== "handed-out" || service.ledger.handedOutOrderIds().has(id);
}

/**
 * The changes list an order once it is confirmed, under times that the position may have passed by then. An open order is read after such a
 * confirm; of a closed one nothing more is expected, so that what changed in it before is found by the sweep.
 */
function isClosedBefore({ forms, service, versions }: World, id: string, status: string): boolean {
  if (forms.scope !== "confirmed" || !CLOSED.includes(status)) return false;
  return (versions.newest(id)?.madeMs ?? 0) <= confirmedMs(service, id);
}

/** When the service accepted the confirm of an order, by its clock. */
export function confirmedMs({ ledger }: World["service"], id: string): number {
  const isIts = ({ effect }: (typeof ledger.entries)[number]) =>
    effect?.kind === "confirmed" && effect.orderIds.includes(id);
  return ledger.entries.find(isIts)?.at ?? Number.POSITIVE_INFINITY;
}

/** Where the program has asked for nothing so long after a minute, the comparison of the night reads its orders. */
const READ_WITHIN_MS = 15 * MINUTE_MS;

/**
 * An order that was served within the minute of its timestamp is read once more when that minute is over, by the `Date` of the service:
 * a change of the same minute that is listed in the same words is known then.
 */
function isReadAfterUnit({ versions, service, forms }: World, id: string): boolean {
  const newest = versions.newest(id);
  if (!forms.date || forms.precision !== "min" || newest === undefined) return false;
  const endMs = (Math.floor(newest.madeMs / MINUTE_MS) + 1) * MINUTE_MS;
  if (newest.madeMs < newest.timestampMs || newest.timestampMs < endMs - MINUTE_MS) return false;
  return service.ledger.entries.some(
    ({ kind, at, status }) => kind === "updates" && status === 200 && at > endMs + 2_000 && at < endMs + READ_WITHIN_MS,
  );
}

/** The position lies so far ahead of the machine's clock that this shows it. */
const SHOWN_AHEAD_MS = 3_600_000;

/**
 * The service writes all times so much too early. A new order with a time before those of former ones shows it, and what changes from then on is asked
 * for from there as well.
 */
function isAsFarBack({ service, versions }: World, id: string, lateMs: number): boolean {
  const backMs = service.options.timesBackMinutes * MINUTE_MS;
  const newest = versions.newest(id);
  if (newest === undefined || backMs === 0 || newest.timestampMs !== newest.madeMs - backMs) return false;
  const batches = service.ledger.entries.filter(({ kind, servedIds }) => kind === "orders" && servedIds.length > 0);
  const born = batches.map(({ servedIds }) => servedIds.map((each) => versions.bornMs(each)));
  const isShown = born.some((each, place) => Math.min(...each) < Math.max(...born.slice(0, place).flat()));
  return isShown && lateMs <= backMs + MINUTE_MS;
}

/** Whether the newest version was made, with the time of that moment, after the service's clock had been wrong. */
function isSinceSkew({ versions, skewOverMs }: World, id: string): boolean {
  const newest = versions.newest(id);
  if (newest === undefined || skewOverMs === undefined || newest.madeMs < skewOverMs) return false;
  return newest.timestampMs === newest.madeMs;
}

/** Whether a position that is ahead of the service can be noticed, or it is not ahead. */
export function isSeenAhead({ position, machine, time, service }: World): boolean {
  const { aheadMs } = position;
  if (machine.wallOffsetMs !== 0 || service.options.clockOffsetMs !== 0) return false;
  return aheadMs === undefined || aheadMs > time.trueMs + SHOWN_AHEAD_MS;
}

/** What `since` can tell apart, in milliseconds; 0: less than one. */
export function unitOf({ since, precision }: World["forms"]): number {
  if (precision === "min") return MINUTE_MS;
  if (since === "unix" || precision === "s") return 1_000;
  return since === "unix_ms" || precision === "ms" ? 1 : 0;
}
