import { clearDelivery } from "../../src/batches/delivery-rows.ts";
import { approveGuarded } from "../../src/feeds/feed-rows.ts";
import { changeOrder, createOrder, endFaults } from "./deeds.ts";
import { type Difference, differencesOf, isServedOlder, unitOf } from "./differences.ts";
import { KEYS, LAST_KEY } from "./erp.ts";
import { isUnsafe, namesBatches } from "./forms.ts";
import type { FeedName } from "./schedule.ts";
import type { World } from "./world.ts";

const MINUTE_MS = 60_000;
/** Longer than the longest wait that any answer may ask for. */
const LONGEST_HOLD_MS = 61 * MINUTE_MS;
/** Polls after the faults within which everything must have come to rest: an order that is missing is asked for twice, ten minutes apart. */
const POLLS_MAX = 15;
/** Ways to end, of which a schedule sees one: one sees a poisoned feed, one that nothing moves, the others look no further. */
const LATE_LOOKS = 12;
/** Some requests of one order, each of which is given up only after a day. */
const REFUSED_HOURS_MAX = 120;
const EMPTY_HOURS_MAX = 3;
/** A pass that takes longer than this has lost its way. */
const SECONDS_MAX = 600;

export interface Losses {
  /** Orders that the service thinks were taken, and that the bridge never got whole. */
  count: number;
  rescued: number;
  /** Not rescued; a failed pull or a hold tells of it. */
  told: number;
  /** Nothing that the bridge can see tells of it. */
  untold: number;
}

/** The faults stop, and within a bounded number of polls the disk equals the service and nothing waits. */
export async function end(world: World): Promise<Losses> {
  endFaults(world);
  // One that was killed starts again; one that was told to stop ends.
  await world.time.pass(MINUTE_MS / 2);
  world.isTicking = false;
  await rest(world);
  world.time.skip(LONGEST_HOLD_MS);
  world.isTicking = true;
  resume(world);
  touchRefused(world);
  // A hold ends with the next request that is let in.
  for (const feed of feedsOf(world)) world.erp.write(feed, LAST_KEY, "upsert");
  // Where a confirm names nothing, only a further answer tells that none is missing any more.
  createOrder(world);
  await waitForEmpty(world);
  await poll(world, "polls", (each) => each.isExpectedByPolls);
  await waitForRefusals(world);
  const losses = await settleLosses(world);
  if (world.violation !== undefined) return losses;
  // Looks that cost more than all the rest take turns: each has its share of the seeds.
  const turn = world.seed % LATE_LOOKS;
  if (turn === 1 || turn === 2) await lookBack(world);
  if (turn === 1 && !world.forms.whole && world.violation === undefined) await endWithPoison(world);
  if (turn === 2) await expectQuiet(world);
  world.orders.checkImage();
  world.database.checkImage();
  const wrong = world.statuses.listWrong();
  if (wrong.length > 0) world.fail(12, wrong.join("; "));
  return losses;
}

/** Nobody can tell at once whether a batch has lost its orders, or is how the service says nothing: that takes an hour. */
async function waitForEmpty(world: World): Promise<void> {
  for (let hours = 0; hours < EMPTY_HOURS_MAX && world.service.hasEmptyBatch; hours++) {
    await world.time.pass(2 * MINUTE_MS);
    world.isTicking = false;
    await rest(world);
    world.time.skip(LONGEST_HOLD_MS);
    world.isTicking = true;
    await world.time.pass(3 * MINUTE_MS);
    await rest(world);
  }
  if (world.service.hasEmptyBatch && world.emptiness.isBatchKnown)
    world.fail(4, "a batch without orders is not confirmed, and keeps others back");
}

/** A status that the service refuses is asked again until it has accepted another one meanwhile. */
async function waitForRefusals(world: World): Promise<void> {
  const open = world.auditor.prepare("SELECT id FROM status_requests WHERE state IN ('pending', 'sending')").pluck();
  const waiting = () => open.all().filter((id) => !isServedOlder(world, id));
  for (let hours = 0; hours < REFUSED_HOURS_MAX && waiting().length > 0; hours++) {
    if (world.violation !== undefined) return;
    createOrder(world);
    await world.time.pass(2 * MINUTE_MS);
    askAcceptable(world);
    await world.time.pass(MINUTE_MS);
    world.isTicking = false;
    await rest(world);
    // A service that keeps orders for minutes must still have the order by whose status it is seen to be well.
    world.time.skip((world.forms.retention ? 10 : 60) * MINUTE_MS);
    world.isTicking = true;
    await world.time.pass(2 * MINUTE_MS);
  }
  const left = waiting();
  if (left.length > 0) world.fail(4, `statuses that the service refuses still wait (${left.join(", ")})`);
}

/** The newest order that was asked nothing is given a status that the service accepts. */
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

/** One record that the service refuses for good never keeps the others of its feed away. */
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
  // What only the comparison could put right, the updates may have brought back meanwhile.
  await poll(world, "refusals", (each) => each.isExpectedBySweep);
}

/** Lets minutes pass until nothing differs, and one hour where reads of orders wait that long. What still differs then is a violation. */
async function poll(world: World, by: string, counts: (difference: Difference) => boolean): Promise<void> {
  await rest(world);
  let left = await settle(world, counts);
  if (left.some(({ orderId }) => orderId !== undefined && isReadLater(world, orderId))) {
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

/** Until nothing is on its way. */
async function rest(world: World): Promise<void> {
  for (let seconds = 0; seconds < SECONDS_MAX && world.life?.isBusy !== false; seconds++) await world.time.pass(1_000);
}

/** What a person does who reads `status`: put right what was wrong, approve, resume. */
function resume(world: World): void {
  const { life, erp } = world;
  if (life === undefined || erp.isLocking) return;
  const { store } = life;
  if (!namesBatches(world.forms)) store.write(() => store.prepare("DELETE FROM batches WHERE state = 'unread'").run());
  const held = store.prepare("SELECT area, reason FROM holds WHERE next_probe_at IS NULL").all() as {
    area: "stocks" | "prices";
    reason: string;
  }[];
  for (const { area, reason } of held) {
    world.coverage.count("resumed", reason);
    world.told.add(`hold ${reason}`);
    // The service comes round by itself, and then the hold must end by itself.
    if (reason === "hand-out lost" && !isUnsafe(world.forms)) continue;
    world.discipline.reopen();
    store.write(() => {
      if (reason === "guard" && area === "stocks") world.guard.onApprove();
      if (reason === "guard") approveGuarded(store, area);
      if (reason === "hand-out lost") clearDelivery(store);
      store.prepare("DELETE FROM holds WHERE area = ? AND reason = ?").run(area, reason);
    });
  }
}

/**
 * A record that was refused is tried again when its row changes; nothing else is, or what was forgotten would be mended.
 * Values that no record can carry are put right in every second life, and stay in quarantine in the others.
 */
function touchRefused({ erp, auditor, seed }: World): void {
  const refused = auditor
    .prepare("SELECT feed_id, k0 FROM feed_outbox WHERE state = 'refused' AND (record <> 'null' OR ?)")
    .all(seed % 2) as { feed_id: number; k0: string }[];
  for (const { feed_id, k0 } of refused) erp.touch(feed_id === 1 ? "stocks" : "prices", k0);
}

function feedsOf({ forms }: World): readonly FeedName[] {
  return forms.prices ? ["stocks", "prices"] : ["stocks"];
}

/** Under an unsafe reading: what became of the orders that no client could have kept. */
async function settleLosses(world: World): Promise<Losses> {
  const losses: Losses = { count: 0, rescued: 0, told: 0, untold: 0 };
  if (!isUnsafe(world.forms)) return losses;
  const { service, versions, orders, forms } = world;
  const missing = () => versions.ids.filter((id) => service.statusOf(id) !== undefined && !orders.isKept(id));
  const lost = missing();
  losses.count = lost.length;
  // An order goes on living at the service: the next change of it tells.
  for (const id of lost) {
    world.orders.losses.add(id);
    changeOrder(world, { order: indexOf(world, id), what: "lines", timestamp: "now" });
    // One that fills a page with changes of one time hides the next.
    await world.time.pass(Math.max(2_000, unitOf(forms)));
  }
  for (let polls = 0; polls < POLLS_MAX && missing().length > 0; polls++) await world.time.pass(MINUTE_MS);
  // The changes are no news to a position that is ahead of them, and are left to the sweep.
  if (missing().length > 0 && world.position.aheadMs !== undefined) await runNightly(world, "updates");
  const left = missing();
  losses.rescued = lost.length - left.length;
  for (const id of left) {
    const isShown = forms.scope === "all" || service.ledger.handedOutOrderIds().has(id);
    if (isShown) world.fail(4, `order ${id}, which no batch brought, was not rescued by its next change`);
    if (world.told.size > 0) losses.told += 1;
    else losses.untold += 1;
  }
  return losses;
}

function indexOf({ service, versions }: World, id: string): number {
  return versions.ids.filter((each) => service.statusOf(each) !== undefined).indexOf(id);
}

/** The wider looks back find what appeared late; the comparison with the service finds the rest. */
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

/** A pass as the schedule of the night lets it begin. */
async function runNightly(world: World, name: string): Promise<void> {
  const { life, time } = world;
  const entry = life?.entries.find(
    ({ before, runner }) => runner.name === name && (before !== undefined || name === "reconcile"),
  );
  if (life === undefined || entry === undefined) return;
  life.triggerNightly(entry);
  await time.pass(1_000);
  await rest(world);
}

/** The same answers again are no news: nothing is written but what happened when. */
async function expectQuiet(world: World): Promise<void> {
  if (world.violation !== undefined) return;
  // A status whose order was answered with an older version than the stored one goes once more whenever its wait is over.
  if (world.auditor.prepare("SELECT 1 FROM status_requests WHERE state IN ('pending', 'sending')").get() !== undefined)
    return;
  // What the comparisons changed is met once more by what the feed says, and an answer that is older than what is stored
  // counts only once the service has insisted on it.
  await world.time.pass(8 * MINUTE_MS);
  await rest(world);
  // An order that the service does not have is asked for again ten minutes later, and then marked as removed.
  const missing = world.auditor.prepare("SELECT 1 FROM missing_orders JOIN owed_reads USING (order_id)");
  for (let polls = 0; polls < POLLS_MAX && missing.get() !== undefined; polls++) await world.time.pass(MINUTE_MS);
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
    // A service that keeps orders for a while goes on losing them. One is noted once another is read in the same pass.
    const isKeptNoLonger = (row: string) => world.forms.retention && row.startsWith("missing_orders ");
    const made = [...are].filter((row) => !were.has(row) && !isKeptNoLonger(row)).map((row) => `+ ${row}`);
    if (gone.length + made.length > 0)
      world.fail(14, `written though nothing happened: ${[...gone, ...made].join("; ").slice(0, 6_000)}`);
  }
  if (posts().length > count) world.fail(14, `sent though nothing happened: ${posts().at(-1)?.requestBody}`);
}
