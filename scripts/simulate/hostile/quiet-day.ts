/*
 * The oracle of lasting damage: after the last fault a day goes by in which the ERP, the customers and the service do
 * what they do, and no person does anything but approve what the guard holds. Then nothing of the trouble is left.
 */

import { readOrderId } from "../../../src/answers/uuid.ts";
import { approveGuarded } from "../../../src/feeds/guard/guard-rows.ts";
import { measureAges } from "../../../src/health/conditions.ts";
import { loadFacts } from "../../../src/health/fact-rows.ts";
import type { Facts } from "../../../src/health/facts.ts";
import { describeStatus } from "../../../src/health/status.ts";
import { writeTimestamp } from "../../../src/sandbox/timestamps.ts";
import { createOrder, endFaults } from "../deeds.ts";
import {
  confirmedMs,
  isBehindUntold,
  isSeenAhead,
  missingOrders,
  OWED,
  ROW_OF,
  ROWS,
  staleOrders,
  unitOf,
  WAITING,
} from "../differences.ts";
import { fillCatalog, type Losses, showLimit } from "../ending.ts";
import { KEYS, LAST_KEY } from "../erp.ts";
import { feedsOf, TRANSITIONS } from "../forms.ts";
import { SENDERS } from "../invariants/discipline.ts";
import { isUnsendable } from "../invariants/pushes.ts";
import type { FeedName } from "../schedule.ts";
import type { World } from "../world.ts";
import { mendValues, reload } from "./deeds.ts";
import { HOUR_MS, MINUTE_MS } from "./grammar.ts";
import { asJson, isNearJson, numberIn } from "./lies.ts";

/** Longer than the longest wait that any answer may ask for, and the next one. */
const SETTLED_MS = 70 * MINUTE_MS;
/** A change that old is known here where the service tells of changes. */
const UNKNOWN_MS = 10 * MINUTE_MS;
/** How much earlier a change must be to be known as one from before a request left, with what its way took. */
const CLOCKS_MS = 30_000;
const REST_SECONDS_MAX = 900;
const DAY_MS = 24 * HOUR_MS;
/** An older version of an order counts where nothing else tells once it was read for a day, every hour; the rounds of a day are too few. */
const INSISTED_HOURS = 36;
const DAY_HOURS = 24;
const ROUNDS_PER_HOUR = 3;
/** A day, of which an hour or two may be without an answer. */
const DOUBT_HOURS_MAX = 27;
/** An endpoint that answers four requests a minute answers hundreds in an hour, and in three rounds no more than twelve. */
const ROUNDS_PER_HOUR_LIMITED = 20;
/** A position that a service refuses for its age is asked for nearer with each probe, five minutes apart. */
const NEARER_MS = 40 * MINUTE_MS;
/** One life in so many goes on until history is too old to be kept. */
const YEAR_EVERY = 16;
const YEAR_MS = 400 * DAY_MS;
/** By these a service says something about the status that it is asked for. */
const SAID_OF_STATUS: ReadonlySet<number | null> = new Set([400, 409, 422]);
const NO_LOSSES: Losses = { count: 0, rescued: 0, told: 0, untold: 0 };

export async function endQuietly(world: World): Promise<Losses> {
  endFaults(world);
  fillCatalog(world);
  world.service.setOptions({ updates: { pageLimit: world.forms.page } });
  if (Object.keys(world.changed).length > 0) reload(world, {});
  // In the other half the service keeps its absurd records: they wait in quarantine, and nothing else waits for them.
  if (world.seed % 2 === 0) mendValues(world);
  await showLimit(world);
  const begunMs = world.time.elapsedMs;
  live(world);
  await goOn(world, 3 * MINUTE_MS, 18);
  await goOn(world, 12 * MINUTE_MS, 1);
  await goOn(world, SETTLED_MS, 4);
  expectLateKnown(world);
  await changeMany(world);
  await changeLate(world);
  await changeAfterSkew(world);
  const doubtedMs = await outlastDoubt(world);
  // From here on nothing is left to wait for.
  world.quietMs = world.time.elapsedMs;
  live(world);
  await goOn(world, 11 * MINUTE_MS, 1);
  await night(world);
  excuseHidden(world);
  await goOn(world, 12 * MINUTE_MS, 1);
  live(world);
  // An order that alone asks for a wait for ever is told from the service by asking it again.
  // What stands in a queue has its day after that.
  const untilMs = Math.max(begunMs + doubtedMs, world.queuedUntilMs) + DAY_MS;
  await changeNear(world, untilMs - 5 * MINUTE_MS);
  await goOn(world, untilMs - world.time.elapsedMs - 5 * MINUTE_MS, world.queuedUntilMs > begunMs ? 15 : 5);
  live(world);
  // What the queue has carried out in one moment may be more than a page of changes can tell apart.
  if (world.queuedUntilMs > begunMs) await night(world);
  const owed = world.auditor.prepare("SELECT order_id FROM owed_reads").pluck();
  // What a restored service has lost shows in its orders, also in those of which it had said something lasting before.
  const isOwed = () =>
    (owed.all() as string[]).some((id) => world.versions.isRestored(id) || !(isNamed(world, id) || isBad(world, id)));
  // A status waits as long for the read of an order that has become absurd: a day of such answers, each asked for an hour after the one before.
  // Where few orders are read a minute, the reads before statuses take as many rounds.
  const isSlow = world.forms.limited === "snapshot";
  const isWaiting = () =>
    waitingStatuses(world).some((id) => isSlow || world.versions.odd.has(orderOfRequest(world, id)));
  const rounds = world.forms.limited === "none" ? ROUNDS_PER_HOUR : ROUNDS_PER_HOUR_LIMITED;
  const insist = async () => {
    for (let hours = 1; hours <= INSISTED_HOURS && (isOwed() || isWaiting()); hours++) {
      await goOn(world, HOUR_MS, rounds);
      if (hours % DAY_HOURS !== 0) continue;
      // A day more: the ERP takes what is there, and the night compares, as on any day.
      world.erp.take();
      await night(world);
    }
  };
  await insist();
  if (world.forms.sinceAgeMax !== null) await goOn(world, NEARER_MS, 16);
  // What was confirmed in doubt is settled by ten polls over an hour, and a day has fewer rounds.
  if (world.auditor.prepare("SELECT id FROM batches WHERE state = 'stored'").all().length > 0)
    await goOn(world, SETTLED_MS, 12);
  // A pass that failed last goes again within five minutes, and what was asked for meanwhile with it.
  const settle = () => goOn(world, 7 * MINUTE_MS, 4);
  await settle();
  // Where nothing shows that the service has moved an order on, it is read again ten minutes later.
  if (world.forms.movesOn) await goOn(world, 12 * MINUTE_MS, 4);
  // A time that was ahead when the service wrote it may have come in these minutes alone: from then on its changes list that version as the
  // latest of an order that has another one, which looks as a replica does that lags.
  if ((world.skewOverMs ?? world.wrong) !== undefined && isOwed()) {
    await insist();
    await settle();
  }
  await rest(world);
  if (world.violation === undefined) check(world);
  if (world.violation === undefined && world.seed % YEAR_EVERY === 5) await passYear(world);
  return NO_LOSSES;
}

/** As in the usual world. Returns how long it took. */
async function outlastDoubt(world: World): Promise<number> {
  const begunMs = world.time.elapsedMs;
  const held = world.auditor.prepare("SELECT 1 FROM holds WHERE reason = 'answer'");
  for (let hours = 0; hours < DOUBT_HOURS_MAX && world.counts.isAmbiguous && held.get() !== undefined; hours++) {
    for (const feed of feedsOf(world.forms)) world.erp.write(feed, LAST_KEY, "upsert");
    await goOn(world, HOUR_MS, ROUNDS_PER_HOUR);
  }
  return world.time.elapsedMs - begunMs;
}

/** What changed in an order before the service listed its changes is known soon after its confirm, and not by the comparison of the night. */
function expectLateKnown(world: World): void {
  const { auditor, forms, service, versions } = world;
  if (forms.scope !== "confirmed" || world.violation !== undefined) return;
  const waits = auditor.prepare("SELECT 1 FROM owed_reads WHERE order_id = ? AND attempts > 0").pluck();
  const stale = staleOrders(world).filter(({ isExpectedByPolls, orderId: id = "" }) => {
    const confirmed = confirmedMs(service, id);
    const isBefore = (versions.newest(id)?.madeMs ?? 0) <= confirmed && confirmed < service.now() - UNKNOWN_MS;
    const isLate = isExpectedByPolls && isBefore && versions.hasOtherSince(id) && waits.get(id) === undefined;
    return isLate && !lacksPricesAlone(world, id);
  });
  if (stale.length > 0) world.fail(16, `unknown since the confirm: ${stale.map(({ what }) => what).join("; ")}`);
}

/**
 * What is stored is the newest version, which the service answered without prices for so long that it counts without them: nothing that the
 * changes left out, and the comparison of the night finds it.
 */
function lacksPricesAlone({ auditor, service }: World, id: string): boolean {
  const payload = auditor.prepare("SELECT payload FROM orders WHERE order_id = ?").pluck().get(id) as string;
  const [own, newest] = [payload, service.newestText(id) ?? "{}"].map((text) => {
    const { status, items = [] } = JSON.parse(text) as { status?: string; items?: { price: unknown }[] };
    return {
      prices: items.map(({ price }) => price),
      others: [status, items.map((item) => ({ ...item, price: null }))],
    };
  });
  if (own === undefined || newest === undefined || !own.prices.includes(null)) return false;
  return JSON.stringify(own.others) === JSON.stringify(newest.others);
}

/** Fewer changes are in some order by chance. */
const FEW_MIN = 3;
/** A page holds so many of them more than once. */
const BULK_PAGES = 3;

/** Orders that have gone back with a restored service show it until they change again or are deleted: by now each was compared. */
function excuseHidden({ restored, versions, service, pushes }: World): void {
  for (const { atMs, madeMs, orders } of restored) {
    const isSame = (id: string) => !versions.hasMoreSince(id, madeMs, service.now());
    const shown = orders.filter((id) => service.statusOf(id) !== undefined && isSame(id));
    if (shown.length < 2) pushes.excuseSince(atMs);
  }
}

/**
 * More changes in a moment than a page holds, of a service that shows the newest, or those of the first ids: all of them are known long before the night,
 * when everything is compared.
 */
async function changeMany(world: World): Promise<void> {
  const { forms, service, versions, auditor, lies, position } = world;
  // Where the position is ahead of all clocks, and no date shows it, changes are known at night: the program says so.
  if (position.aheadMs !== undefined) return;
  if (forms.keeps === "oldest" || (forms.carry === "changes" && !forms.lines)) return;
  // One that waits for its next read, whatever for, has it within the hour.
  const sql =
    "SELECT order_id FROM orders WHERE removed_at IS NULL AND order_id NOT IN (SELECT order_id FROM owed_reads)";
  const stored = auditor.prepare(sql).pluck().all() as string[];
  const ids = stored.filter((id) => {
    const place = versions.ids.indexOf(id);
    const isTold = lies.standing.some(({ lie: { of } }) => of === "half" || (typeof of === "object" && place >= 0));
    // A version that bears an earlier time than one before it counts once it was read for a day.
    return service.statusOf(id) !== undefined && !versions.odd.has(id) && !versions.isMisleading(id) && !isTold;
  });
  const change = async (id: string, sku: string) => {
    service.changeOrder(id, { lines: [{ sku, quantity: 1 }] });
    versions.note(id);
    // Each with a time of its own, whatever the precision.
    await world.time.pass(1_100);
  };
  // What is known already tells that there is more than a page shows. In some lives it is only what the life has brought, and the page itself.
  const isFirst = forms.keeps === "newest" && forms.page >= FEW_MIN && world.seed % 2 === 1;
  for (const id of isFirst ? [] : ids.slice(0, forms.page)) await change(id, "first");
  await goOn(world, 3 * MINUTE_MS, 3);
  const many = ids.slice(0, forms.page * BULK_PAGES);
  for (const id of many) await change(id, "bulk");
  const lateMs = countedLateMs(world);
  if (lateMs > 0) await goOn(world, lateMs, 3);
  await goOn(world, UNKNOWN_MS, 10);
  const payload = auditor.prepare("SELECT payload FROM orders WHERE order_id = ?").pluck();
  // What shares its timestamp with a full page of changes cannot be asked for. This change may itself bear an earlier time than one that the
  // order has from hours when the service's clock was ahead.
  const reachable = many.filter((id) => versions.tieSize(id, unitOf(forms)) < forms.page && !versions.isMisleading(id));
  // Where so few orders may be read at a time that they are not through yet, it is known which are left.
  const waits = auditor.prepare("SELECT 1 FROM owed_reads WHERE order_id = ?").pluck();
  const isKnown = (id: string) =>
    String(payload.get(id)).includes('"bulk"') || (forms.limited === "snapshot" && waits.get(id) !== undefined);
  const unknown = reachable.filter((id) => !isKnown(id));
  world.coverage.count("newest first", many.length > forms.page ? "more than a page" : "one page");
  if (unknown.length > 0 && world.violation === undefined)
    world.fail(16, `changes that a page has left out are unknown: ${unknown.join(", ")}`);
}

/**
 * How much later changes count than they are made: once a time ahead was proved wrong, and no answer names the service's, what lies ahead of a machine's
 * clock that is behind may be another such time. Until that clock has come to it, changes are stored, the position stays, and no page is judged.
 */
function countedLateMs({ forms, machine, auditor, service, time }: World): number {
  const behindMs = service.now() - time.trueMs - machine.wallOffsetMs;
  const isUnclear = !forms.date && behindMs > 0 && behindMs <= HOUR_MS;
  return isUnclear && auditor.prepare(IS_PROVEN).get() !== undefined ? behindMs : 0;
}

/** By so many changes it is known how much later than the orders the changes are written. */
const LATE_CHANGES = 5;

/** Changes bear the timestamps of their own entries: from some on a read made after one is what it announced, and no other is owed. */
async function changeLate(world: World): Promise<void> {
  const { forms, service, versions, auditor, lies, position } = world;
  if (forms.lagMs === 0 || forms.lagStamp === "order" || forms.limited !== "none") return;
  if (position.aheadMs !== undefined || lies.standing.length > 0) return;
  const stored = auditor.prepare("SELECT order_id FROM orders WHERE removed_at IS NULL").pluck().all() as string[];
  const id = stored.findLast((each) => service.statusOf(each) !== undefined && !versions.odd.has(each));
  if (id === undefined) return;
  for (let made = 1; made <= LATE_CHANGES; made++) {
    service.changeOrder(id, { lines: [{ sku: "late", quantity: made }] });
    versions.note(id);
    await goOn(world, forms.lagMs + 2 * MINUTE_MS, 3);
  }
  await goOn(world, UNKNOWN_MS, 10);
  const owed = auditor.prepare("SELECT last_error FROM owed_reads WHERE order_id = ?").pluck().get(id);
  world.coverage.count("late list", "a change and its order");
  if (owed !== undefined && world.violation === undefined)
    world.fail(16, `order ${id} is read again and again for a change that it shows: ${String(owed)}`);
}

/** The service's clock was wrong, and no answer tells what it shows: a change is known long before the night all the same. */
async function changeAfterSkew(world: World): Promise<void> {
  if (world.skewOverMs === undefined || !isSeenAhead(world) || !isEachChangeShown(world)) return;
  const { id, isKnown } = await changeOne(world, "after skew");
  if (id === undefined) return;
  world.coverage.count("skewed", "a change after it");
  if (!isKnown) world.fail(16, `order ${id} has changed after the service's clock was wrong, and that is unknown`);
}

/** So long before a wrong time comes, its coming is to move no position. */
const NEAR_MS = 40 * MINUTE_MS;
const IS_PROVEN = "SELECT 1 FROM meta WHERE key = 'ahead' AND value ->> '$.isProven'";

/** A time of a change that was ahead of all clocks was proved wrong: in the hour before it comes, changes are known as soon as before. */
async function changeNear(world: World, untilMs: number): Promise<void> {
  const { wrong, auditor, machine, service, time, versions } = world;
  if (wrong === undefined || service.statusOf(wrong.orderId) === undefined) return;
  const leftMs = wrong.atMs - NEAR_MS - service.now();
  if (leftMs < 0 || leftMs > untilMs - time.elapsedMs) return;
  await goOn(world, leftMs, 5);
  const areClocksRight = machine.wallOffsetMs === 0 && service.options.clockOffsetMs === 0;
  const isProven = auditor.prepare(IS_PROVEN).get() !== undefined;
  if (!areClocksRight || !isProven || !isEachChangeShown(world)) return;
  // It may be listed no more, because the order has changed since.
  service.changeOrder(wrong.orderId, { timestampText: writeTimestamp(wrong.atMs * 1000, service.options) });
  versions.note(wrong.orderId);
  await goOn(world, 3 * MINUTE_MS, 3);
  const { id, isKnown } = await changeOne(world, "near", wrong.orderId);
  if (id === undefined) return;
  world.coverage.count("wrong time", "a change before it comes");
  if (!isKnown) world.fail(16, `order ${id} has changed shortly before a wrong time comes, and that is unknown`);
}

/** Whether the polls show each change of whatever order. */
function isEachChangeShown({ forms, lies, restored, versions }: World): boolean {
  if (lies.standing.length > 0 || restored.length > 0 || versions.everOdd.size > 0) return false;
  if (forms.keeps !== "oldest" || forms.sinceAgeMax !== null || forms.limited !== "none" || forms.page < 10)
    return false;
  return !versions.hasTieOver(forms.page, unitOf(forms)) && (forms.carry !== "changes" || forms.lines);
}

/** Changes an order, and whether that is known long before the night. */
async function changeOne(
  world: World,
  sku: string,
  but?: string,
): Promise<{ id: string | undefined; isKnown: boolean }> {
  const { service, versions, auditor } = world;
  const sql =
    "SELECT order_id FROM orders WHERE removed_at IS NULL AND order_id NOT IN (SELECT order_id FROM owed_reads)";
  const stored = auditor.prepare(sql).pluck().all() as string[];
  const isMeant = (each: string) =>
    each !== but && service.statusOf(each) !== undefined && !versions.isMisleading(each);
  const id = stored.findLast(isMeant);
  if (id === undefined) return { id, isKnown: true };
  service.changeOrder(id, { lines: [{ sku, quantity: 1 }] });
  versions.note(id);
  await goOn(world, UNKNOWN_MS, 10);
  const payload = auditor.prepare("SELECT payload FROM orders WHERE order_id = ?").pluck().get(id);
  return { id, isKnown: world.violation !== undefined || String(payload).includes(JSON.stringify(sku)) };
}

/** Time with so many rounds of passes. */
async function goOn(world: World, ms: number, rounds: number): Promise<void> {
  if (world.violation !== undefined) return;
  world.setPace(ms, rounds);
  approve(world);
  await world.time.pass(ms);
  await rest(world);
}

async function rest(world: World): Promise<void> {
  for (let seconds = 0; seconds < REST_SECONDS_MAX && world.life?.isBusy !== false; seconds++) {
    await world.time.pass(1_000);
    if (world.violation !== undefined) return;
  }
  if (world.life?.isBusy !== false) world.fail(15, "a pass does not end");
}

/** What happens on any day: an order, a change of each table, a status, and the ERP takes what is there. */
function live(world: World): void {
  const { erp, auditor, service, versions, lies } = world;
  createOrder(world);
  for (const feed of feedsOf(world.forms)) erp.write(feed, LAST_KEY, "upsert");
  erp.take();
  const stored = auditor
    .prepare("SELECT order_id FROM orders WHERE removed_at IS NULL ORDER BY order_key")
    .pluck()
    .all();
  const wasAsked = (orderId: string) => erp.asked.some((each) => each.orderId === orderId);
  const id = (stored as string[]).findLast((each) => {
    const place = versions.ids.indexOf(each);
    const isTold = lies.standing.some(
      ({ lie }) => typeof lie.of === "object" && "nth" in lie.of && lie.of.nth === place,
    );
    const isWell = service.statusOf(each) !== undefined && !versions.odd.has(each) && !isTold && !wasAsked(each);
    return isWell && Object.hasOwn(TRANSITIONS, service.statusOf(each) ?? "");
  });
  const next = TRANSITIONS[service.statusOf(id ?? "") as keyof typeof TRANSITIONS]?.[0];
  if (id !== undefined && next !== undefined) erp.ask(id, next);
}

/** What the guard holds waits for a person, rightly. */
function approve({ life, erp, auditor, guard }: World): void {
  if (life === undefined || erp.isLocking) return;
  const held = auditor.prepare("SELECT area FROM holds WHERE reason = 'guard'").pluck().all() as FeedName[];
  for (const area of held) {
    if (area === "stocks") guard.onApprove();
    life.store.write(() => {
      approveGuarded(life.store, area);
      life.store.prepare("DELETE FROM holds WHERE area = ? AND reason = 'guard'").run(area);
    });
  }
}

/** The jobs of the night, one after the other. */
async function night(world: World): Promise<void> {
  const { life } = world;
  // A round that the trouble has interrupted is finished first; what could not be read in it has its turn in the next.
  const again = life?.entries.filter(({ runner }) => runner.name === "reconcile") ?? [];
  for (const { before, runner } of [...(life?.entries ?? []), ...again]) {
    if (world.violation !== undefined) return;
    if (before === undefined && runner.name !== "reconcile" && runner.name !== "upkeep") continue;
    await rest(world);
    const isNightly = before !== undefined;
    const entry = world.life?.entries.find(
      (each) => each.runner.name === runner.name && (each.before !== undefined) === isNightly,
    );
    if (entry !== undefined) world.triggerNightly(entry);
    await rest(world);
    if (world.forms.cron) await goOn(world, 2 * MINUTE_MS, 1);
  }
}

/** What is over leaves no rows for ever: they are gone when they are older than they are to be kept. */
async function passYear(world: World): Promise<void> {
  const { auditor, time, machine, service } = world;
  // Where the clocks do not agree history stays.
  if (machine.wallOffsetMs !== 0 || service.options.clockOffsetMs !== 0 || !service.options.dateHeader) return;
  const left = auditor.prepare(OVER);
  // What there is now is noted, and is old a year later.
  await rest(world);
  world.life?.trigger(({ runner }) => runner.name === "upkeep");
  await time.pass(1_000);
  await rest(world);
  const before = (left.all() as { name: string; id: number | null }[]).filter(({ id }) => id !== null);
  world.isTicking = false;
  await rest(world);
  time.skip(YEAR_MS);
  world.isTicking = true;
  await goOn(world, 5 * MINUTE_MS, 2);
  world.life?.trigger(({ runner }) => runner.name === "upkeep");
  await time.pass(1_000);
  await rest(world);
  const after = left.all() as typeof before;
  for (const { name, id } of after) {
    const was = before.find((each) => each.name === name)?.id ?? null;
    if (id !== null && was !== null && id <= was) world.fail(16, `row ${id} of ${name} is over and stays for ever`);
  }
}

/** The oldest row of each that nothing waits for any more. */
const OVER = `SELECT 'batches' AS name, min(id) AS id FROM batches WHERE state = 'confirmed' AND id < (SELECT max(id) FROM batches)
  UNION ALL SELECT 'status_requests', min(id) FROM status_requests r WHERE state = 'sent' AND echo IS NULL
    AND id < (SELECT max(l.id) FROM status_requests l WHERE l.order_id = r.order_id AND l.state = 'sent')`;

// --------------------------------------------------------------------------------------------------------- checks

function check(world: World): void {
  const left = [
    ...listRemoved(world),
    ...listRefusedRequests(world),
    ...world.statuses.listWrong(),
    ...listQuarantined(world),
    ...listOwed(world),
    ...listDifferent(world),
    ...listForgotten(world),
    ...(world.service.hasEmptyBatch ? ["a batch without orders"] : []),
  ];
  if (left.length > 0) world.fail(16, `left after a quiet day: ${left.join("; ")}`);
  world.orders.checkImage();
  world.database.checkImage();
  if (world.violation === undefined) checkStatus(world);
}

/** Orders and rows about which the service has said something that may last, or says it still. */
function isNamed({ lies, versions }: World, text: string): boolean {
  const names = [...lies.lasting(), ...versions.odd];
  return names.some((name) => text.includes(name));
}

function listRemoved(world: World): string[] {
  const { auditor, service, lies } = world;
  const lasting = lies.namedBy(({ span }) => span === "for ever");
  const removed = auditor.prepare("SELECT order_id FROM orders WHERE removed_at IS NOT NULL").pluck().all() as string[];
  return removed
    .filter((id) => service.statusOf(id) !== undefined && !lasting.has(id))
    .map((id) => `order ${id} is marked as removed, and the service has it`);
}

/** Orders whose only record is bad: they are read again, in vain. */
function isBad({ versions }: World, orderId: string): boolean {
  return [...versions.bad.values()].some((raw) => raw.includes(orderId));
}

interface RefusedRequest {
  id: number;
  order_id: string;
  status: string;
  http_status: number | null;
  last_error: string | null;
}

function listRefusedRequests(world: World): string[] {
  return refusedRequests(world)
    .filter((row) => !isRightlyRefused(world, row))
    .map(
      ({ id, order_id, status, http_status, last_error }) =>
        `request ${id} (${order_id} ${status}) is refused: ${http_status} ${last_error}`,
    );
}

function refusedRequests({ auditor }: World): RefusedRequest[] {
  const sql = "SELECT id, order_id, status, http_status, last_error FROM status_requests WHERE state = 'refused'";
  return auditor.prepare(sql).all() as RefusedRequest[];
}

function isRightlyRefused(
  { erp, statuses, service, lies, versions, forms }: World,
  { id, order_id, http_status, last_error }: RefusedRequest,
): boolean {
  // An absurd record is served as it stands and shows no status that its order was given: a refusal in words is all there is.
  if (versions.odd.has(order_id) && SAID_OF_STATUS.has(http_status)) return true;
  if (last_error?.startsWith("there is no order") === true) return true;
  const number = erp.asked.findIndex((each) => each.id === id) + 1;
  const isOfCancellation = /^the (order was cancelled after|service has named the status "cancelled")/.test(
    last_error ?? "",
  );
  if (isOfCancellation && versions.hadStatus(order_id, "cancelled")) return true;
  if (erp.asked[number - 1]?.isOdd === true) return true;
  const isGone = service.statusOf(order_id) === undefined;
  // Somebody else has given the order another status meanwhile: the request is not sent again.
  // So has somebody whose change was not known here yet when the request left, unless its timestamp shows that it was made before.
  const sentMs = statuses.leftAtMs(number) ?? Number.NEGATIVE_INFINITY;
  const isTimeTold = forms.date && service.options.dateHeader && service.options.clockOffsetMs === 0;
  const leftMs = sentMs - (isTimeTold ? CLOCKS_MS : UNKNOWN_MS);
  const isOvertaken =
    statuses.wasUnknown(number) && versions.mayHideSince(order_id, { sinceMs: sentMs - UNKNOWN_MS, leftMs });
  // Where it left for a place that gave no time, nothing shows that a change which became known afterwards was made before.
  const blindMs = (statuses.blindAtMs(number) ?? Number.POSITIVE_INFINITY) - UNKNOWN_MS;
  const isHidden = versions.mayHideSince(order_id, { sinceMs: blindMs, leftMs: blindMs });
  return (
    isGone ||
    statuses.hasMovedOn(number) ||
    statuses.refused.has(number) ||
    isOvertaken ||
    isHidden ||
    lies.lasting().has(order_id)
  );
}

/** Whether the service has refused rows of the feed, or does still. */
function isRowNamed({ lies, hadRefusedRecords }: World, feed: string): boolean {
  return hadRefusedRecords || [...lies.lasting()].some((name) => name.startsWith(`${feed} `));
}

interface Quarantined {
  kind: string;
  reference: string | null;
  reason: string;
  payload: string | null;
}

function quarantined({ auditor }: World): Quarantined[] {
  return auditor
    .prepare("SELECT kind, reference, reason, payload FROM quarantine WHERE state = 'held'")
    .all() as Quarantined[];
}

function listQuarantined(world: World): string[] {
  return quarantined(world)
    .filter((row) => !isRightlyQuarantined(world, row))
    .map(({ kind, reference, reason }) => `${kind} ${reference} is in quarantine: ${reason}`);
}

function isRightlyQuarantined(world: World, { kind, reference, payload }: Quarantined): boolean {
  const { versions, erp, lies, hadRefusedRecords } = world;
  if (kind === "stocks" || kind === "prices" || kind === "catalog") {
    if (reference === null) return erp.countCut(kind) > 0;
    const { exists, value } = erp.current(kind, reference);
    if (exists && isUnsendable(kind, value)) return true;
    const named = [reference, ...erp.articlesOf(kind, reference)];
    const lasting = lies.lasting();
    return named.some((name) => lasting.has(`${kind} ${name}`) || (hadRefusedRecords && name === KEYS[0]));
  }
  if (versions.bad.has(reference ?? "")) return true;
  // The service was restored to a time before the order: no answer brings a record of it that can be used in place of the held one.
  if (kind === "order" && reference !== null && world.service.statusOf(reference) === undefined) return true;
  if ([...versions.bad.values()].some((raw) => versions.isOfBad(raw, payload ?? ""))) return true;
  // What a lie took the id from, or wrote it otherwise in, may be an absurd record, which its order shows to this day. Or the order is refused to this day, and the
  // changes of that time as well: nothing shows whose record it is.
  const refused = lies.namedBy(({ on, span }) => on === "snapshot" && span === "for ever");
  const orders = [...versions.odd, ...(world.forms.sinceAgeMax === null ? [] : refused)];
  const names = orders.flatMap((id) => [id, numberIn(world.service.newestText(id)) ?? id]);
  const isUnnamed = reference === null || readOrderId(reference) === undefined;
  if (isUnnamed && names.some((name) => payload?.toLowerCase().includes(name.toLowerCase()))) return true;
  return versions.odd.has(reference ?? "") || lies.lasting().has(reference ?? "");
}

/** Requests that nothing lasting keeps from being settled. */
function waitingStatuses(world: World): number[] {
  const [sql, what] = OWED.find((each) => each[1] === WAITING) as (typeof OWED)[number];
  const rows = world.auditor.prepare(sql).pluck().all() as number[];
  return rows.filter((row) => !isOfLasting(world, what, row));
}

function orderOfRequest({ erp }: World, request: string | number): string {
  return erp.asked.find(({ id }) => id === request)?.orderId ?? "";
}

function listOwed(world: World): string[] {
  const { auditor } = world;
  const rows = [...OWED.filter(([, what]) => what !== "holds stand"), HOLDS, UNREAD];
  return rows.flatMap(([sql, what]) =>
    (auditor.prepare(sql).pluck().all() as (string | number)[])
      .filter((row) => !isOfLasting(world, what, row))
      .map((row) => `${what} (${row})`),
  );
}

const HOLDS = ["SELECT area || ' ' || reason || ' ' || coalesce(detail, '') FROM holds", "a hold stands"] as const;
const UNREAD = [
  "SELECT coalesce(last_error, '?') || ': ' || substr(CAST(body AS TEXT), 1, 120) FROM kept_bodies",
  "a body is kept",
] as const;

function isOfLasting(world: World, what: string, row: string | number): boolean {
  const { auditor, erp, lies, versions, forms, service, statuses } = world;
  // Behind positions of the service's own no order is looked for because of a full page of one timestamp. Otherwise it is settled once
  // no late change can join it.
  if (what === "a hold stands" && String(row).startsWith("updates tie"))
    return forms.next !== "none" || isTieOpen(world);
  // Behind a page that one absurd record fills no change is certain.
  if (what === "a hold stands" && String(row).startsWith("updates cut"))
    return isBehindUntold(world, service.now() - DAY_MS);
  // An endpoint with a limit of its own asks to wait whenever more is wanted of it.
  if (what === "a hold stands" && forms.limited !== "none" && / rate limit /.test(String(row))) return true;
  // An order that is always refused, or asks to wait, ends the comparison of a night. The daemon goes on after it soon, cron the
  // night after.
  if (what === "a hold stands" && forms.cron && String(row).startsWith("reconcile ")) return true;
  // A row that goes to zero, is let go and is refused waits for a person once more.
  const [, guarded] = /^(\w+) guard /.exec(what === "a hold stands" ? String(row) : "") ?? [];
  if (guarded !== undefined) return [...lies.lasting()].some((name) => name.startsWith(`${guarded} `));
  if (what === "reads are owed") return isNamed(world, String(row)) || isBad(world, String(row));
  if (what === WAITING) {
    const orderId = orderOfRequest(world, row);
    // An absurd record is served as it stands, and shows no status that was carried out from a queue; nor does one that the queue refused.
    // It waits for its order, whose absurd record is in quarantine.
    if (versions.odd.has(orderId) && auditor.prepare(IS_HERE).get(orderId) === undefined) return true;
    const isUnshown = statuses.wasQueued(orderId, { isInVain: !versions.odd.has(orderId) });
    if (isUnshown || lies.lasting().has(orderId)) return true;
    // Nor one to which it was moved on at once. The answers name that status, the order the one of before: until it was repeated after an hour and a
    // day, and another status accepted, the service may be one that carries them out later.
    const number = erp.asked.findIndex(({ id }) => id === row) + 1;
    if (versions.odd.has(orderId) && statuses.hasMovedOn(number) && !isAnsweredLast(auditor, Number(row))) return true;
    // What was asked for after it does not overtake it.
    const ahead = auditor.prepare(AHEAD_OF).pluck().get(row) as number | null;
    if (ahead !== null && isOfLasting(world, what, ahead)) return true;
    // Of a request whose outcome is unknown only the order tells, and the order is no JSON, or what stands for its status is no text.
    return versions.odd.has(orderId) && showsNoStatus(service.newestText(orderId), isUnsettled(auditor, row));
  }
  if (what !== ROWS) return false;
  const key = auditor.prepare(ROW_OF).pluck().get(row);
  return lies.lasting().has(String(key));
}

const TIE_OVER = "SELECT value ->> '$[2]' FROM meta WHERE key = 'tie' AND value ->> '$[3]' = 'late'";
/** Longer than the overlap, within which a change may appear late. */
const LATE_MS = 11 * MINUTE_MS;

/** Whether the orders of a full page of one timestamp were read, and are read once more when the overlap after it is over: in some minutes. */
function isTieOpen({ auditor, service }: World): boolean {
  const overNs = auditor.prepare(TIE_OVER).pluck().get() as string | null | undefined;
  if (overNs === null || overNs === undefined) return false;
  const leftMs = Number(BigInt(overNs) / 1_000_000n) - service.now();
  return leftMs > 0 && leftMs <= LATE_MS;
}

const IS_HERE = "SELECT 1 FROM orders WHERE order_id = ?";
const AHEAD_OF = `SELECT max(e.id) FROM status_requests r JOIN status_requests e ON lower(e.order_id) = lower(r.order_id)
  AND e.id < r.id AND e.state = 'sending' WHERE r.id = ?`;

/** Whether a request that is answered with another status than its own has gone for the last time, and another one was accepted since. */
function isAnsweredLast(auditor: World["auditor"], request: number): boolean {
  const sql =
    "SELECT new_form ->> '$.repeats' >= 2 AND new_form ->> '$.isOtherAccepted' FROM status_requests WHERE id = ?";
  return auditor.prepare(sql).pluck().get(request) === 1;
}

/** Whether the request has left, and it is not known what became of it. */
function isUnsettled(auditor: World["auditor"], request: string | number): boolean {
  return auditor.prepare("SELECT state FROM status_requests WHERE id = ?").pluck().get(request) === "sending";
}

/**
 * Whether the service answers with no text where the status of the order should stand. A number there, where statuses are words, shows nothing of a
 * request whose outcome is unknown (`isUnsettled`), and is no status that another one could not be sent after.
 */
function showsNoStatus(text: string | undefined, isUnsettled: boolean): boolean {
  if (text === undefined) return false;
  if (isNearJson(text)) return true;
  const { status } = JSON.parse(asJson(text)) as { status?: unknown };
  return (typeof status === "object" && status !== null) || (isUnsettled && typeof status === "number");
}

function listDifferent(world: World): string[] {
  const orders = [...missingOrders(world), ...staleOrders(world), ...lackingOrders(world)].map(({ what }) => what);
  const rows = world.pushes.differences().filter((what) => !(world.hadRefusedRecords && what.includes(KEYS[0])));
  return [...orders, ...rows].filter((what) => !isNamed(world, what));
}

const LACKING = `SELECT order_id AS id, CASE WHEN number IS NULL THEN 'number' WHEN total IS NULL THEN 'total' ELSE 'price' END AS what
  FROM orders o WHERE removed_at IS NULL AND (number IS NULL OR total IS NULL OR EXISTS (
    SELECT 1 FROM order_lines l WHERE l.order_id = o.order_id AND l.price IS NULL))`;

/** Orders that were stored without a value which all of them have at the service. */
function lackingOrders({ auditor, service, versions }: World): { what: string }[] {
  const rows = auditor.prepare(LACKING).all() as { id: string; what: string }[];
  return rows
    .filter(({ id }) => service.statusOf(id) !== undefined && !versions.odd.has(id))
    .map(({ id, what }) => ({ what: `order ${id} has no ${what} here` }));
}

/** History is kept for years, whatever the machine's clock shows. */
function listForgotten({ auditor }: World): string[] {
  const sql = `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows') AS made,
    (SELECT count(*) FROM order_event_rows) AS kept`;
  const { made, kept } = auditor.prepare(sql).get() as { made: number | null; kept: number };
  return made === null || made === kept ? [] : [`${made - kept} events of ${made} are forgotten`];
}

/** Statuses that the service refuses rightly, and is asked for until that is believed. */
function hasRefusable({ auditor }: World): boolean {
  const sql = "SELECT 1 FROM status_requests WHERE state = 'pending' AND last_error LIKE '%cannot become%'";
  return auditor.prepare(sql).get() !== undefined;
}

/** Where a pass may be refused something however well the service is. */
function isRightlyFailing(world: World, flow: string): boolean {
  const { limited } = world.forms;
  const isLimited = limited !== "none" && SENDERS[limited].includes(flow);
  // Its last page is filled so that nothing leads on from it, and says that there is more: whoever asks cannot but say that something is missing.
  const isUntold = flow === "updates" && isBehindUntold(world, world.service.now() - DAY_MS);
  return isLimited || isUntold || (flow === "statuses" && hasRefusable(world));
}

/**
 * A record that is served as it stands shows no status that its order was given. Nor does an order whose status was accepted into a queue and refused
 * there: what was accepted and has had no effect stays visible until a person has dealt with it.
 */
function countUnshownRightly({ auditor, versions, statuses }: World): number {
  const sql = "SELECT DISTINCT lower(order_id) FROM status_requests WHERE unshown_since IS NOT NULL AND state = 'sent'";
  const unshown = auditor.prepare(sql).pluck().all() as string[];
  return unshown.filter((id) => versions.odd.has(id) || statuses.wasQueued(id, { isInVain: true })).length;
}

/** The longest wait between two wide re-polls that fail. */
const WIDE_WAIT_MS = HOUR_MS;

/**
 * Without a `Date` a process of its own knows no later time of the service than that of the newest change. A service that goes back for no longer
 * than a wide re-poll waits refuses the re-poll until it comes soon after a change, and the program says so.
 */
function isWideRefused({ forms }: World): boolean {
  return forms.cron && !forms.date && forms.sinceAgeMax !== null && forms.sinceAgeMax <= WIDE_WAIT_MS;
}

/** As the command tells it, less what it says rightly. */
function checkStatus(world: World): void {
  const { life } = world;
  if (life === undefined) return;
  world.database.checkLines(life);
  const nowMs = life.context.clock.nowMs();
  const loaded = measureAges(loadFacts(life.store), { nowMs, startedAtMs: nowMs });
  const rightly = quarantined(world);
  const kinds: Record<string, string> = {
    order: "orders",
    change: "updates",
    snapshot: "updates",
    payload: "reconcile",
  };
  const larger = loaded.largerConfirms ?? { count: 0, since: null };
  const facts: Facts = {
    ...loaded,
    refusedRequests: loaded.refusedRequests - refusedRequests(world).length,
    refusedBatches: world.hadRefusedConfirms ? 0 : loaded.refusedBatches,
    unshown: {
      orders: (loaded.unshown?.orders ?? 0) - countUnshownRightly(world),
      since: loaded.unshown?.since ?? null,
    },
    holds: loaded.holds.filter(({ area, reason }) => !isOfLasting(world, "a hold stands", `${area} ${reason} `)),
    erpWrites: [],
    disk: undefined,
    // A list that cannot be passed is silent about all that comes behind.
    ...(isBehindUntold(world, world.service.now() - DAY_MS) && { unlisted: { count: 0, since: null } }),
    ...(isWideRefused(world) && { wideFailing: null }),
    // What is owed without a lasting reason has failed this look before (`listOwed`).
    queuedReads: { times: [], why: null },
    unsettledRequests: [],
    unstoredRequests: [],
    // Orders that a confirm covered and that no list had shown wait for a person who compares.
    largerConfirms: { ...larger, count: Math.max(larger.count - world.orders.largerConfirms, 0) },
    flows: loaded.flows.map((flow) => ({
      ...flow,
      ...(isRightlyFailing(world, flow.flow) && { failingSince: null, isStale: false }),
      refused: isRowNamed(world, flow.flow) ? 0 : flow.refused,
      quarantined: flow.quarantined - rightly.filter(({ kind }) => (kinds[kind] ?? kind) === flow.flow).length,
    })),
  };
  const report = describeStatus(facts, { nowMs, isRunning: true }, { erpReadWithinMs: 2 * DAY_MS });
  if (report.exitCode !== 0) world.fail(16, `status after a quiet day: ${report.attention.join(" ")}`);
}
