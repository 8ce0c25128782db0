import { clearDelivery, loadDelivery } from "../../src/batches/delivery-rows.ts";
import { approveGuarded } from "../../src/feeds/guard/guard-rows.ts";
import { changeOrder, createOrder, endFaults } from "./deeds.ts";
import {
  CONFIRMS,
  type Difference,
  differencesOf,
  isListed,
  isOfFailing,
  isServedOlder,
  unitOf,
  WAITING,
} from "./differences.ts";
import { KEYS, LAST_KEY } from "./erp.ts";
import { feedsOf, isUnsafe, namesBatches } from "./forms.ts";
import { countsChanges, isSilentlyLimited } from "./invariants/counts.ts";
import type { FeedName } from "./schedule.ts";
import { nameOfRow } from "./spellings.ts";
import type { World } from "./world.ts";

const MINUTE_MS = 60_000;
/** Longer than the longest wait that an answer may request. */
const LONGEST_HOLD_MS = 61 * MINUTE_MS;
/**
 * Polls after the faults within which everything must be settled: a missing order is requested twice, ten minutes
 * apart.
 */
const POLLS_MAX = 15;
/** The number of ways to end. Each schedule uses one: a poisoned feed, a check that nothing changes, or none. */
const LATE_LOOKS = 12;
/** Some requests for one order, each of which ends only after a day. */
const REFUSED_HOURS_MAX = 120;
/** After a day, and the hour of the batch, an empty answer of a form that none had before is usual. */
const EMPTY_HOURS_MAX = 27;
/** A day, of which one hour may be without an answer. */
const DOUBT_HOURS_MAX = 27;
/** A pass that takes longer is stuck. */
const SECONDS_MAX = 600;

export interface Losses {
  /** Orders that the service counts as delivered, and that the bridge never received whole. */
  count: number;
  rescued: number;
  /** Not recovered, but reported by a failed pull or a hold. */
  told: number;
  /** Not recovered, and not visible to the bridge. */
  untold: number;
}

/** Ends the faults. Within a limited number of polls the disk must equal the service, and nothing may wait. */
export async function end(world: World): Promise<Losses> {
  endFaults(world);
  fillCatalog(world);
  // A killed program starts again; one that was asked to stop ends.
  await world.time.pass(MINUTE_MS / 2);
  world.isTicking = false;
  await rest(world);
  world.time.skip(LONGEST_HOLD_MS);
  world.isTicking = true;
  resume(world);
  touchRefused(world);
  // A hold ends with the next accepted request.
  for (const feed of feedsOf(world.forms)) world.erp.write(feed, LAST_KEY, "upsert");
  await outlastUnknown(world);
  await showLimit(world);
  // Where a confirm names nothing, only a further answer shows that nothing is missing.
  createOrder(world);
  await waitForEmpty(world);
  await outlastDoubt(world);
  await poll(world, "polls", (each) => each.isExpectedByPolls);
  await waitForRefusals(world);
  const losses = await settleLosses(world);
  if (world.violation !== undefined) return losses;
  await sellOutBeside(world);
  if (world.violation !== undefined) return losses;
  // Expensive checks run for a share of the seeds each, where nothing fails for ever.
  const turn = world.lies.standing.length > 0 ? 0 : world.seed % LATE_LOOKS;
  if (turn === 1 || turn === 2) await lookBack(world);
  if (turn === 1 && !world.forms.whole && world.violation === undefined) await endWithPoison(world);
  if (turn === 2) await expectQuiet(world);
  world.orders.checkImage();
  world.database.checkImage();
  const wrong = world.statuses.listWrong();
  if (wrong.length > 0) world.fail(12, wrong.join("; "));
  return losses;
}

/**
 * Requests of all articles, twice, and of single ones: from these it is known that a service takes no more records of a request, if its
 * answers are all that says so. What they brought in vain themselves goes again as well.
 */
export async function showLimit(world: World): Promise<void> {
  if (!isSilentlyLimited(world.forms)) return;
  for (const keys of [KEYS, KEYS, KEYS.slice(0, 1), KEYS.slice(1, 2)]) {
    for (const feed of feedsOf(world.forms)) for (const key of keys) world.erp.write(feed, key, "upsert");
    await world.time.pass(2 * MINUTE_MS);
    await rest(world);
  }
}

/** Where nothing shows which rows were left out, a count says nothing any more after a day in which other records were counted. */
async function outlastDoubt(world: World): Promise<void> {
  const held = world.auditor.prepare("SELECT 1 FROM holds WHERE reason = 'answer'");
  for (let hours = 0; hours < DOUBT_HOURS_MAX && world.counts.isAmbiguous && held.get() !== undefined; hours++) {
    for (const feed of feedsOf(world.forms)) world.erp.write(feed, LAST_KEY, "upsert");
    await world.time.pass(2 * MINUTE_MS);
    world.isTicking = false;
    await rest(world);
    world.time.skip(58 * MINUTE_MS);
    world.isTicking = true;
  }
}

/** Whether a batch has lost its orders, or is the service's usual empty answer, is known only after an hour. */
async function waitForEmpty(world: World): Promise<void> {
  if (world.lies.down.size > 0) return;
  for (let hours = 0; hours < EMPTY_HOURS_MAX && world.service.hasEmptyBatch; hours++) {
    await world.time.pass(2 * MINUTE_MS);
    world.isTicking = false;
    await rest(world);
    world.time.skip(LONGEST_HOLD_MS);
    world.isTicking = true;
    await world.time.pass(3 * MINUTE_MS);
    await rest(world);
  }
  if (world.service.hasEmptyBatch) world.fail(4, "a batch without orders is not confirmed, and keeps others back");
}

/** A status that the service refuses is repeated until it has accepted another one. */
async function waitForRefusals(world: World): Promise<void> {
  const open = world.auditor.prepare("SELECT id FROM status_requests WHERE state IN ('pending', 'sending')").pluck();
  const waiting = () => open.all().filter((id) => !isServedOlder(world, id) && !isOfFailing(world, WAITING, id));
  for (let hours = 0; hours < REFUSED_HOURS_MAX && waiting().length > 0; hours++) {
    if (world.violation !== undefined) return;
    createOrder(world);
    await world.time.pass(2 * MINUTE_MS);
    askAcceptable(world);
    await world.time.pass(MINUTE_MS);
    world.isTicking = false;
    await rest(world);
    // A service that keeps orders for minutes must still have the order whose status shows that it works.
    world.time.skip((world.forms.retention ? 10 : 60) * MINUTE_MS);
    world.isTicking = true;
    await world.time.pass(2 * MINUTE_MS);
  }
  const left = waiting();
  if (left.length > 0) world.fail(4, `statuses that the service refuses still wait (${left.join(", ")})`);
}

/** Requests a status that the service accepts, for the newest order without a request. */
function askAcceptable({ auditor, erp, service }: World): void {
  const stored = auditor
    .prepare("SELECT order_id FROM orders WHERE removed_at IS NULL ORDER BY order_key")
    .pluck()
    .all() as string[];
  const id = stored.findLast(
    (each) => service.statusOf(each) === "new" && !erp.asked.some(({ orderId }) => orderId === each),
  );
  if (id !== undefined) erp.ask(id, "accepted");
}

/**
 * A row that sells out says nothing of the others that are the same article for the site, which may have sold of them: none of them goes again. Once it
 * is deleted, the site shows what is for sale.
 */
async function sellOutBeside(world: World): Promise<void> {
  const { forms, erp, service, lies } = world;
  if (forms.ignores === "nothing" || forms.guard || lies.standing.length > 0) return;
  const [article] = KEYS;
  erp.write("stocks", article, "upsert");
  await world.time.pass(2 * MINUTE_MS);
  erp.respell(article, 1 + erp.keyOfWritten(article), "beside");
  await world.time.pass(2 * MINUTE_MS);
  await poll(world, "rows beside", (each) => each.isExpectedByPolls);
  const { length } = service.ledger.entries;
  const sold = erp.leaveOthers(article, "zero");
  await world.time.pass(4 * MINUTE_MS);
  await rest(world);
  const sent = service.ledger.entries.slice(length).flatMap(({ effect }) => {
    return effect?.kind === "import" && effect.feed === "stocks" ? effect.accepted.map(({ record }) => record) : [];
  });
  const others = sent.filter((record) => world.pushes.levelOf(record) !== 0);
  if (others.length > 0 || sent.length > sold) world.fail(9, `a row has sold out, and others go: ${sent.join(" ")}`);
  erp.leaveOthers(article, "remove");
  await poll(world, "rows", (each) => each.isExpectedByPolls);
}

/** A record that the service refuses permanently must not block the others of its feed. */
async function endWithPoison(world: World): Promise<void> {
  const { reject } = world.service.options;
  world.service.setOptions({ reject: { skus: [LAST_KEY], how: world.forms.rejectHow } });
  for (const key of [LAST_KEY, ...KEYS]) world.erp.write("stocks", key, "upsert");
  const others = () => world.pushes.differences();
  for (let polls = 0; polls < POLLS_MAX && others().length > 0; polls++) {
    await world.time.pass(MINUTE_MS);
    await rest(world);
    resume(world);
  }
  if (others().length > 0) world.fail(10, `beside one refused record: ${others().join("; ")}`);
  world.service.setOptions({ reject });
  touchRefused(world);
  // The updates may have restored what otherwise only the comparison finds.
  await poll(world, "refusals", (each) => each.isExpectedBySweep);
}

/** Polls until nothing differs, for an hour longer where reads of orders or confirms wait that long. A remaining difference is a violation. */
async function poll(world: World, by: string, counts: (difference: Difference) => boolean): Promise<void> {
  await rest(world);
  let left = await settle(world, counts);
  const isConfirmedLater = left.some(({ what }) => what.startsWith(CONFIRMS)) && isSetBack(world);
  if (isConfirmedLater || left.some(({ orderId }) => orderId !== undefined && isReadLater(world, orderId))) {
    world.time.skip(LONGEST_HOLD_MS);
    left = await settle(world, counts);
  }
  if (left.length > 0) world.fail(4, `after all ${by}: ${left.map(({ what }) => what).join("; ")}`);
}

async function settle(world: World, counts: (difference: Difference) => boolean): Promise<Difference[]> {
  let left = differencesOf(world).filter(counts);
  for (let polls = 0; polls < POLLS_MAX && left.length > 0 && world.violation === undefined; polls++) {
    await world.time.pass(MINUTE_MS);
    await rest(world);
    resume(world);
    left = differencesOf(world).filter(counts);
  }
  return left;
}

/** Whether the order has failed before: a new change of it is read at its time, up to an hour later. */
function isReadLater({ auditor }: World, orderId: string): boolean {
  return auditor.prepare("SELECT 1 FROM owed_reads WHERE order_id = ? AND attempts > 0").get(orderId) !== undefined;
}

/** Whether batches came again as from a service that was set back: confirms of earlier ones wait for an hour without these. */
function isSetBack({ auditor }: World): boolean {
  const sign = "SELECT 1 FROM meta WHERE key = 'unanswered' AND value ->> '$.loss.upTo' > 0";
  return auditor.prepare(sign).get() !== undefined;
}

/** Waits until nothing is in flight. */
async function rest(world: World): Promise<void> {
  for (let seconds = 0; seconds < SECONDS_MAX && world.life?.isBusy !== false; seconds++) await world.time.pass(1_000);
}

/** The actions of a person who reads `status`: fix what was wrong, approve, resume. */
function resume(world: World): void {
  const { life, erp } = world;
  if (life === undefined || erp.isLocking) return;
  const { store } = life;
  if (!namesBatches(world.forms)) store.write(() => store.prepare("DELETE FROM batches WHERE state = 'unread'").run());
  const held = store.prepare("SELECT area, reason FROM holds WHERE next_probe_at IS NULL").all() as {
    area: FeedName;
    reason: string;
  }[];
  for (const { area, reason } of held) {
    world.coverage.count("resumed", reason);
    world.told.add(`hold ${reason}`);
    // The service recovers by itself, and then the hold must end by itself.
    if (reason === "hand-out lost" && !isUnsafe(world.forms) && !waitsForClock(world)) continue;
    if (reason === "answer" && countsChanges(world.forms)) continue;
    world.discipline.reopen();
    store.write(() => {
      if (reason === "guard" && area === "stocks") world.guard.onApprove();
      if (reason === "guard") approveGuarded(store, area);
      if (reason === "hand-out lost") clearDelivery(store);
      store.prepare("DELETE FROM holds WHERE area = ? AND reason = ?").run(area, reason);
    });
  }
  // The hold of this loss begins with the next poll only.
  if (waitsForClock(world) && loadDelivery(store)?.lost === true) {
    world.told.add("hold hand-out lost");
    store.write(() => clearDelivery(store));
  }
}

/** Whether the service's clock or times, which no answer dates, were set back by more than is waited for here. */
function waitsForClock({ forms, setBackMs, service }: World): boolean {
  const backMs = Math.max(setBackMs, service.options.timesBackMinutes * MINUTE_MS);
  return !forms.date && backMs >= LONGEST_HOLD_MS - MINUTE_MS;
}

/** Whether the row was refused for its unknown article alone: it goes again once the service has that. */
function goesWithArticle({ pushes, hadRejects, lies }: World, feed: FeedName, key: string): boolean {
  return pushes.wasUnknown(feed, key) && !hadRejects && !lies.lasting().has(`${feed} ${key}`);
}

const FEED_OF: Record<number, FeedName> = { 1: "stocks", 2: "prices", 3: "catalog" };

/**
 * A refused record is retried when its row changes. Nothing else is changed, so that forgotten rows are not repaired.
 * Values that no record can contain are corrected in every second life; in the others they stay in quarantine.
 */
function touchRefused(world: World): void {
  const { erp, auditor, seed } = world;
  const refused = auditor
    .prepare("SELECT feed_id, k0, k1 FROM feed_outbox WHERE state = 'refused' AND (record <> 'null' OR ?)")
    .all(seed % 2) as { feed_id: number; k0: string; k1: string }[];
  for (const { feed_id, k0, k1 } of refused) {
    const feed = FEED_OF[feed_id] ?? "stocks";
    if (goesWithArticle(world, feed, k0)) continue;
    erp.touch(feed, feed === "stocks" ? nameOfRow({ sku: k0, warehouse: k1 }) : k0);
  }
}

/**
 * The ERP has a catalog record of each article in the end, but in some lives in which nothing shows that the service ignores the others.
 */
export function fillCatalog({ erp, forms, seed }: World): void {
  if (forms.catalog === "none") return;
  const isPart = forms.catalog === "silent" && seed % 2 === 0;
  const lacking = [...(isPart ? [] : KEYS), LAST_KEY].filter((key) => !erp.current("catalog", key).exists);
  for (const key of lacking) erp.write("catalog", key, "upsert");
}

/** A hold for stock of unknown articles ends with stock of one that the catalog has. */
async function outlastUnknown(world: World): Promise<void> {
  if (world.forms.catalog === "none") return;
  await world.time.pass(3 * MINUTE_MS);
  await rest(world);
  // Beside one article that is denied for ever the others are found one by one: a probe has one row.
  const held = world.auditor.prepare(
    "SELECT 1 FROM holds WHERE area IN ('imports', 'catalog') AND reason IN ('credentials', 'payment')",
  );
  for (let probes = 0; probes <= KEYS.length && world.lies.failing().size > 0 && held.get() !== undefined; probes++) {
    world.isTicking = false;
    await rest(world);
    world.time.skip(LONGEST_HOLD_MS);
    world.isTicking = true;
    await world.time.pass(2 * MINUTE_MS);
    await rest(world);
  }
  for (const feed of feedsOf(world.forms)) world.erp.write(feed, LAST_KEY, "upsert");
}

/** With unsafe forms: determines what happened to the orders that no client could have kept. */
async function settleLosses(world: World): Promise<Losses> {
  const losses: Losses = { count: 0, rescued: 0, told: 0, untold: 0 };
  if (!isUnsafe(world.forms)) return losses;
  const { service, versions, orders, forms } = world;
  const missing = () => versions.ids.filter((id) => service.statusOf(id) !== undefined && !orders.isKept(id));
  const lost = missing();
  losses.count = lost.length;
  // The order still exists at the service: its next change reports it.
  for (const id of lost) {
    world.orders.losses.add(id);
    changeOrder(world, { order: indexOf(world, id), what: "lines", timestamp: "now" });
    // A page full of changes with one timestamp hides the next one.
    await world.time.pass(Math.max(2_000, unitOf(forms)));
  }
  // From before the position changes are asked for every twenty minutes.
  const pollsMax = service.options.timesBackMinutes > 0 ? 2 * POLLS_MAX : POLLS_MAX;
  for (let polls = 0; polls < pollsMax && missing().length > 0; polls++) await world.time.pass(MINUTE_MS);
  // A position ahead of the changes does not see them: they are left to the wide re-poll.
  if (missing().length > 0 && world.position.aheadMs !== undefined) await runNightly(world, "updates");
  const left = missing();
  losses.rescued = lost.length - left.length;
  for (const id of left) {
    if (isListed(world, id)) world.fail(4, `order ${id}, which no batch brought, was not rescued by its next change`);
    if (world.told.size > 0) losses.told += 1;
    else losses.untold += 1;
  }
  return losses;
}

function indexOf({ service, versions }: World, id: string): number {
  return versions.ids.filter((each) => service.statusOf(each) !== undefined).indexOf(id);
}

/** The wide re-polls find what was listed late; the comparison with the service finds the rest. */
async function lookBack(world: World): Promise<void> {
  const { life } = world;
  if (life === undefined) return;
  for (const { before, runner } of life.entries) {
    if (before === undefined && runner.name !== "reconcile") continue;
    await runNightly(world, runner.name);
    if (runner.name === "updates") await poll(world, "sweeps", (each) => each.isExpectedBySweep);
  }
  await poll(world, "comparisons", () => true);
}

/** Runs a pass as the nightly schedule does. */
async function runNightly(world: World, name: string): Promise<void> {
  const { life, time } = world;
  const entry = life?.entries.find(
    ({ before, runner }) => runner.name === name && (before !== undefined || name === "reconcile"),
  );
  if (life === undefined || entry === undefined) return;
  world.triggerNightly(entry);
  await time.pass(1_000);
  await rest(world);
  if (!world.forms.cron) return;
  await time.pass(MINUTE_MS);
  await rest(world);
}

/** The same answers again must cause no writes except times. */
async function expectQuiet(world: World): Promise<void> {
  if (world.violation !== undefined) return;
  // A status whose order was answered with an older version than the stored one is repeated after each wait.
  if (world.auditor.prepare("SELECT 1 FROM status_requests WHERE state IN ('pending', 'sending')").get() !== undefined)
    return;
  // Changes made by the comparisons are received again from the feed, and an answer older than the stored version
  // counts only after the service has repeated it.
  await world.time.pass(8 * MINUTE_MS);
  await rest(world);
  // What an order is read again for decides it in the end: it is marked as removed, or its older version counts.
  const owed = world.auditor.prepare("SELECT 1 FROM owed_reads");
  for (let polls = 0; polls < POLLS_MAX && owed.get() !== undefined; polls++) await world.time.pass(MINUTE_MS);
  await rest(world);
  const before = world.database.dump();
  const posts = () =>
    world.service.ledger.entries.filter(({ method, kind }) => method === "POST" && kind !== "confirm");
  const count = posts().length;
  await world.time.pass(MINUTE_MS);
  const after = world.database.dump();
  if (after !== before) {
    const [were, are] = [before, after].map((dump) => new Set(dump.split("\n"))) as [Set<string>, Set<string>];
    const gone = [...were].filter((row) => !are.has(row)).map((row) => `- ${row}`);
    // A service that keeps orders for a limited time loses more of them. One is recorded when another is read in the
    // same pass.
    const isKeptNoLonger = (row: string) => world.forms.retention && row.startsWith("missing_orders ");
    const made = [...are].filter((row) => !were.has(row) && !isKeptNoLonger(row)).map((row) => `+ ${row}`);
    if (gone.length + made.length > 0)
      world.fail(14, `written though nothing happened: ${[...gone, ...made].join("; ").slice(0, 6_000)}`);
  }
  if (posts().length > count) world.fail(14, `sent though nothing happened: ${posts().at(-1)?.requestBody}`);
}
