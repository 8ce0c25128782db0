import { defaultOptions, type SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import type { ChangePatch } from "../../src/sandbox/order-draft.ts";
import { integerBetween, pickOne } from "../../src/sandbox/random.ts";
import { readTimestamp, writeTimestamp } from "../../src/sandbox/timestamps.ts";
import { KEYS } from "./erp.ts";
import { type Forms, namesZone, SAYS_PLAINLY } from "./forms.ts";
import { actHostile, reload } from "./hostile/deeds.ts";
import { countsChanges } from "./invariants/counts.ts";
import { type Deed, STATUSES, type Switch, type TimestampFault } from "./schedule.ts";
import type { World } from "./world.ts";

/** The property with a customer's request. */
export const REQUESTED = "cancel_requested";
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
/** So far ahead are times from the future. */
const FUTURE_MS = 24 * HOUR_MS;

const BAD_RECORDS: Record<string, (number: number) => string> = {
  "no id": (number) => `{"number":"bad ${number}","status":"new","items":[]}`,
  "no uuid": (number) => `{"order_id":"not-a-uuid-${number}","status":"new","items":[]}`,
  "wrong types": (number) => `{"order_id":${9000 + number},"status":{"is":"new"},"items":7}`,
  "two statuses": (number) =>
    `{"order_id":"00000000-0000-4000-8000-${String(number).padStart(12, "0")}","status":"new","status":"paid","items":[]}`,
  "no status": (number) => `{"order_id":"00000000-0000-4000-8000-${String(number).padStart(12, "0")}","items":[]}`,
};

const SWITCHED_ON: Record<Switch, SandboxOptionsPatch> = {
  "orders refused": { refuse: ["1c"] },
  "imports refused": { refuse: ["import"] },
  unpaid: { paid: false },
  "record refused": { reject: { skus: [KEYS[0]] } },
  "all records refused": { reject: { skus: "all" } },
  "small bodies": { limits: { maxBodyBytes: 120 } },
  "few requests": { limits: { requestsPerMinute: 3 } },
  "same page": { updates: { stuck: "same-page" } },
  "empty feed": { updates: { stuck: "empty" } },
  "no date": { dateHeader: false },
};

const PRECISIONS = ["min", "s", "ms", "us"] as const;

function finerOf(wanted: Forms["precision"], { service }: World): Forms["precision"] {
  const now = PRECISIONS.find((each) => each === service.options.precision) ?? wanted;
  return PRECISIONS.indexOf(wanted) < PRECISIONS.indexOf(now) ? now : wanted;
}

/** Performs one step of the service, its customers, the ERP, the network or the machine. */
export function act(world: World, deed: Deed) {
  world.trace(`* ${JSON.stringify(deed)}`);
  world.coverage.count("deed", deed.do);
  switch (deed.do) {
    case "orders":
      for (let made = 0; made < deed.count; made++) createOrder(world);
      return;
    case "bad order":
      return createBadOrder(world, deed.what);
    case "change":
      return changeOrder(world, deed);
    case "burst":
      for (let made = 0; made < deed.count; made++) {
        changeOrder(world, { order: integerBetween(world.random, 0, 30), what: "status", timestamp: "now" });
      }
      return;
    case "race":
      world.races.push(() => changeOrder(world, { order: deed.order, what: "status", timestamp: "now" }));
      world.racesAfter.push(() => changeOrder(world, { order: deed.order + 1, what: "lines", timestamp: "now" }));
      return;
    case "delete":
      return deleteOrder(world, deed.order);
    case "net":
      return void world.fates.push({ on: deed.on, fate: deed.fate });
    case "crash":
      if (deed.at !== "idle") return void world.crashes.push({ at: deed.at, skip: deed.skip, reboot: deed.reboot });
      world.coverage.count("crash", "idle");
      if (deed.reboot) world.coverage.count("crash", "with the machine");
      return world.kill("idle", deed.reboot);
    case "stop":
      return world.stop();
    case "night":
      return night(world);
    case "clock":
      world.machine.wallOffsetMs += deed.ms;
      return;
    case "service clock":
      // Without `Date` the clock cannot be noticed.
      if (!world.service.options.dateHeader) return;
      world.service.setOptions({ clockOffsetMs: world.service.options.clockOffsetMs + deed.ms });
      return;
    case "switch":
      return turn(world, deed.what, deed.ms);
    case "leave out":
      return leaveOut(world, deed);
    case "read only":
      return readOnly(world, deed.ms);
    case "empty batch":
      return world.service.createEmptyBatch();
    case "skew":
      return skew(world, deed.ms, deed.forMs);
    case "forget confirms":
      world.service.setOptions({ confirmsForgotten: true });
      return void world.time.at(deed.ms, () => world.service.setOptions({ confirmsForgotten: false }));
    case "links elsewhere": {
      world.service.setOptions({ batchPages: { link: deed.link } });
      const { link } = world.forms;
      return void world.time.at(deed.ms, () => world.service.setOptions({ batchPages: { link } }));
    }
    case "mistype":
      world.coverage.count("mistype", deed.slip);
      return world.database.checkMistyped(deed);
    case "times":
      world.coverage.count("times", deed.form);
      // What a service has written more exactly it does not write less exactly later: its orders would get other times.
      return world.service.setOptions({ timestamps: deed.form, precision: finerOf(deed.precision, world) });
    case "times back":
      world.coverage.count("times back", deed.minutes);
      return world.service.setOptions({ timesBackMinutes: deed.minutes });
    case "move":
      world.isElsewhereReady = deed.to === "nothing";
      // How its answers say so of a record is not known there, nor at first where it comes back to.
      turnOff(world, "record refused");
      reload(world, { isMoved: true });
      return void world.time.at(deed.ms, () => reload(world, {}));
    case "other path":
      turnOff(world, "record refused");
      reload(world, { otherPath: true });
      return void world.time.at(deed.ms, () => reload(world, {}));
    case "one id":
      return createUnderOneId(world, deed);
    case "cancel":
      return cancelOrder(world, deed);
    case "cancel unseen":
      return cancelUnseen(world, deed);
    case "move on":
      return moveOn(world, deed);
    case "wait":
      return;
    case "lie":
    case "value":
    case "mend":
    case "page":
    case "flood":
    case "odd status":
    case "empty":
    case "journal":
    case "journal folder":
    case "person":
    case "reload":
    case "restore":
      return actHostile(world, deed);
    default:
      return actAsErp(world, deed);
  }
}

type ErpDeed = Extract<
  Deed,
  {
    do:
      | ("write" | "set back" | "remove" | "odd value" | "rewrite" | "rollback" | "lock" | "take" | "anew" | "ask")
      | ("remake" | "own order" | "refer" | "cut key" | "second row" | "respell" | "odd trigger");
  }
>;

function actAsErp(world: World, deed: ErpDeed) {
  const { erp, versions } = world;
  const keyOf = (key: number) => KEYS[key % KEYS.length] ?? KEYS[0];
  switch (deed.do) {
    case "write": {
      const { feed, how } = deed;
      const key = keyOf(deed.key);
      if (how === "in flight") return void world.inFlight.push(() => erp.write(feed, key, "upsert"));
      return how === "zero" ? erp.write(feed, key, "upsert", 0) : erp.write(feed, key, how);
    }
    case "second row":
      return writeSecond(world, deed);
    case "respell":
      return respell(world, deed);
    case "set back":
      return erp.setBack(deed.feed, keyOf(deed.key));
    case "remove":
      return erp.remove(deed.feed, keyOf(deed.key));
    case "odd value":
      return erp.writeOdd(deed.feed, keyOf(deed.key), deed.value);
    case "rewrite":
      return erp.rewrite(deed.feed);
    case "rollback":
      return erp.rollback(deed.feed);
    case "lock":
      erp.lock();
      world.statuses.lockedUntilMs = world.time.elapsedMs + deed.ms;
      world.time.at(deed.ms, () => erp.unlock());
      return;
    case "remake":
      return deed.key === undefined ? erp.remake(deed.feed) : erp.remakeWhole(deed.feed, keyOf(deed.key));
    case "own order":
      return erp.orderItself();
    case "cut key":
      return deed.isGone ? erp.removeCut(deed.feed, deed.key) : erp.writeCut(deed.feed, deed.key);
    case "refer":
      return erp.refer();
    case "odd trigger":
      erp.addTrigger();
      return void world.time.at(deed.ms, () => erp.dropTrigger());
    case "take":
      return asErp(world, () => erp.take());
    case "anew":
      return asErp(world, () => erp.makeAnew(deed.table));
    case "ask": {
      const open = deed.isOpen === true ? versions.ids.filter(isOpenIn(world)) : [];
      const ids = open.length > 0 ? open : versions.ids;
      const orderId = ids[deed.order % Math.max(1, ids.length)];
      if (orderId !== undefined) erp.ask(orderId, deed.status);
    }
  }
}

/** Only where the service is not told by what the ERP knows its rows. */
function writeSecond({ erp, forms, coverage }: World, { key, how, other }: Extract<Deed, { do: "second row" }>): void {
  if (forms.shared === "no") return;
  coverage.count("second row", how);
  const [own, another] = [key, other].map((at) => KEYS[at % KEYS.length] ?? KEYS[0]) as [string, string];
  if (how === "remove") erp.removeSecond(own);
  else if (how === "other") erp.writeSecond(own, another);
  else erp.writeSecond(own, own, how === "zero" ? 0 : erp.nextValue());
}

/** Only where the site takes the rows for one article. */
function respell({ erp, forms, coverage }: World, { key, to, how, isEach }: Extract<Deed, { do: "respell" }>): void {
  if (forms.ignores === "nothing") return;
  coverage.count("respelled", how);
  for (const article of isEach ? KEYS : KEYS.slice(key % KEYS.length, (key % KEYS.length) + 1)) {
    if (how === "zero") erp.leaveOthers(article, "zero");
    else if (how === "drop") erp.leaveOthers(article, "remove");
    else erp.respell(article, to, how);
  }
}

/** After a table was recreated, the ERP can read nothing until the next pass has begun. */
function asErp(world: World, act: () => void) {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Error) || !/no such table: main\.former/.test(error.message)) throw error;
    world.coverage.count("anew", "nothing to read");
  }
}

export function createOrder(world: World) {
  const id = world.service.createOrder({ status: "new" });
  world.versions.note(id);
}

function createBadOrder(world: World, what: string) {
  const { service, versions, forms } = world;
  // Where a confirm names orders, one without a usable id keeps its batch open forever, whatever a client does.
  const namesOrders = forms.confirm === "order_ids" || forms.batchId === "none";
  const kind = what === "no id" && namesOrders ? "no uuid" : what;
  const raw = (BAD_RECORDS[kind] ?? BAD_RECORDS["no uuid"])?.(versions.bad.size + 1) ?? "{}";
  world.coverage.count("bad order", kind);
  versions.bad.set(service.createOrder({ raw }), raw);
}

export const NIL = "00000000-0000-0000-0000-000000000000";
/** The interval between two orders: longer than the coarsest resolution of timestamps. */
const APART_MS = 150_000;
/** Two records with one id and the same creation time may be one order that was rewritten. */
const NEAR_MS = 60_000;

/** Creates whole orders with one id, each with its own number, time and lines, as a faulty deployment does. */
function createUnderOneId(world: World, { what, count, laterMs }: Extract<Deed, { do: "one id" }>) {
  const { service, versions, auditor, time } = world;
  // Between a timestamp with a zone and one without, different creation times on one day cannot be distinguished.
  const [hadZone, hasZone] = [world.forms.timestamps, service.options.timestamps].map((timestamps) =>
    namesZone({ timestamps }),
  );
  if (what === "known" && hadZone !== hasZone) return;
  const stored = auditor.prepare("SELECT order_id FROM orders WHERE removed_at IS NULL").pluck().all() as string[];
  const id = stored.find((each) => service.statusOf(each) !== undefined && !versions.odd.has(each));
  const text = id === undefined ? undefined : service.newestText(id);
  if (text === undefined) return;
  const { created_at: created } = JSON.parse(text) as { created_at?: unknown };
  const knownMs = (readTimestamp(String(created), "any", service.options) ?? 0) / 1_000;
  const create = () => {
    const { order_id, number, items, ...rest } = JSON.parse(text) as Record<string, unknown>;
    const nth = versions.bad.size + 1;
    const lines = [{ line_id: nth, sku: `one-${nth}`, name: "X", quantity: 1, price: 5 }];
    const record = { ...rest, order_id: what === "nil" ? NIL : order_id, number: `${number}-${nth}`, items: lines };
    const atMs = service.now() - nth * APART_MS;
    const isNear = what === "known" && Math.abs(atMs - knownMs) <= NEAR_MS;
    const at = writeTimestamp((isNear ? atMs - APART_MS / 2 : atMs) * 1000, service.options);
    const raw = Object.entries({ ...record, status: "new", created_at: at, updated_at: at }).map(
      ([key, value]) => `${JSON.stringify(key)}:${key.endsWith("_at") ? at : JSON.stringify(value)}`,
    );
    versions.bad.set(service.createOrder({ raw: `{${raw.join(",")}}` }), `{${raw.join(",")}}`);
    world.coverage.count("one id", what);
  };
  for (let made = 0; made < count; made++) time.at(made < count / 2 ? 0 : laterMs, create);
}

export function changeOrder(
  world: World,
  change: Pick<Extract<Deed, { do: "change" }>, "order" | "what" | "timestamp">,
) {
  const { service, versions, random } = world;
  const living = versions.ids.filter((id) => service.statusOf(id) !== undefined);
  const id = living[change.order % Math.max(1, living.length)];
  if (id === undefined) return;
  const content: ChangePatch =
    change.what === "status"
      ? { status: pickOne(random, STATUSES) }
      : change.what === "back"
        ? { status: "new" }
        : change.what === "lines"
          ? { lines: [{ sku: `s-${integerBetween(random, 1, 5)}`, quantity: integerBetween(random, 1, 900) }] }
          : change.what === "request"
            ? { extra: { ...extraOf(service.newestText(id)), [REQUESTED]: "true" } }
            : {};
  world.coverage.count("timestamp", change.timestamp);
  const timestamp = timestampOf(world, change.timestamp);
  const timestampMs = timestamp.keepTimestamp
    ? versions.newest(id)?.timestampMs
    : versions.timestampNow - (timestamp.lateByMs ?? 0);
  service.changeOrder(id, { ...content, ...timestamp });
  versions.note(id, timestampMs);
  if (change.timestamp === "future" && !service.options.dateHeader)
    world.wrong = { orderId: id, atMs: service.now() + FUTURE_MS };
}

/** Whether an order is in a batch that is formed and not confirmed. */
function isOpenIn({ service, forms }: World): (id: string) => boolean {
  const isServed = (each: { handedOut: boolean }) => each.handedOut || forms.formedMs !== null;
  const open = service.orders().flatMap((each) => (isServed(each) && !each.confirmed ? each.id : []));
  return (id) => open.includes(id);
}

function cancelOrder(world: World, { order, askedAfterMs, slow, slowMs, isOpen }: Extract<Deed, { do: "cancel" }>) {
  const { service, versions, erp, time } = world;
  const isMeant = isOpen === true ? isOpenIn(world) : () => true;
  const living = versions.ids.filter((id) => service.statusOf(id) !== undefined && isMeant(id));
  const id = living[order % Math.max(1, living.length)];
  if (id === undefined) return;
  service.changeOrder(id, { status: "cancelled" });
  versions.note(id);
  world.statuses.onCalledCancelled(id, () => {
    world.coverage.count("cancelled", "before it is stored");
    if (slowMs > 0) world.fates.unshift({ on: slow, fate: { kind: "slow", ms: slowMs } });
    time.at(askedAfterMs, () => {
      erp.ask(id, "accepted");
      world.life?.trigger(({ runner }) => runner.name === "statuses");
    });
  });
}

/** The next answer with changes is slow, so that the status may be sent before it arrives. */
function cancelUnseen(world: World, { order, isStopped }: Extract<Deed, { do: "cancel unseen" }>) {
  const { auditor, service, versions, erp } = world;
  const cancel = () => {
    const stored = auditor.prepare("SELECT order_id FROM orders WHERE removed_at IS NULL").pluck().all() as string[];
    const wasAsked = (id: string) => erp.asked.some(({ orderId }) => orderId === id);
    const ids = stored.filter((id) => service.statusOf(id) === "new" && !versions.odd.has(id) && !wasAsked(id));
    const id = ids[order % Math.max(1, ids.length)];
    if (id === undefined) return;
    service.changeOrder(id, { status: "cancelled" });
    versions.note(id);
    erp.ask(id, "accepted");
    world.statuses.onUnseen(id, isStopped);
    if (isStopped) world.fates.unshift({ on: "updates", fate: { kind: "slow", ms: 5 * SECOND_MS } });
    world.life?.trigger(({ runner }) => runner.name === "statuses");
  };
  if (isStopped) world.stop(cancel);
  else cancel();
}

function moveOn(
  { service, versions, time, coverage }: World,
  { order, to, afterMs }: Extract<Deed, { do: "move on" }>,
) {
  const living = versions.ids.filter((id) => service.statusOf(id) !== undefined);
  const id = living[order % Math.max(1, living.length)];
  if (id === undefined) return;
  const give = (status: string) => {
    service.changeOrder(id, { status });
    versions.note(id);
  };
  give("cancelled");
  time.at(afterMs, () => {
    // Not where it was changed or deleted meanwhile.
    if (service.statusOf(id) !== "cancelled") return;
    coverage.count("moved on", to);
    give(to);
  });
}

/** The properties of an order beyond the common ones. */
function extraOf(text = "{}"): Record<string, string> {
  const { order_id, number, status, created_at, updated_at, currency, total, items, ...extra } = JSON.parse(
    text,
  ) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, JSON.stringify(value)]));
}

function timestampOf({ service }: World, fault: TimestampFault): ChangePatch {
  switch (fault) {
    case "tied":
      return { keepTimestamp: true };
    case "late":
      return { lateByMs: 8 * SECOND_MS };
    case "very late":
      return { lateByMs: 2 * HOUR_MS };
    case "future":
      return { timestampText: writeTimestamp((service.now() + FUTURE_MS) * 1000, service.options) };
    case "missing":
      return { timestampText: null };
    case "now":
      return {};
  }
}

function deleteOrder({ service, versions }: World, order: number) {
  const living = versions.ids.filter((id) => service.statusOf(id) !== undefined);
  const id = living[order % Math.max(1, living.length)];
  // The last ones stay: a service without any of its orders looks like a fault.
  if (id !== undefined && living.length > 2) service.deleteOrder(id);
}

/** The nightly jobs: the wide re-poll, the comparison of all rows, and the check of stored orders. */
function night(world: World) {
  const { life } = world;
  if (life === undefined) return;
  for (const entry of life.entries) {
    const isNightly = entry.before !== undefined || entry.runner.name === "reconcile";
    if (isNightly) world.triggerNightly(entry);
  }
}

function turn(world: World, what: Switch, ms: number) {
  world.coverage.count("switch", what);
  if (what === "record refused") world.hadRefusedRecords = true;
  const { reject } = world.service.options;
  const patch = SWITCHED_ON[what];
  if (patch.reject !== undefined) world.hadRejects = true;
  world.service.setOptions(
    patch.reject === undefined
      ? patch
      : { reject: { ...reject, ...patch.reject, how: world.forms.rejectHow, feed: null } },
  );
  world.time.at(ms, () => turnOff(world, what));
}

function skew(world: World, ms: number, forMs: number) {
  const { service, time } = world;
  const turnBy = (by: number) => service.setOptions({ clockOffsetMs: service.options.clockOffsetMs + by });
  turnBy(ms);
  world.setBackMs = Math.max(world.setBackMs, -ms);
  time.at(forMs, () => {
    turnBy(-ms);
    world.skewOverMs = service.options.clockOffsetMs === 0 ? service.now() : undefined;
  });
}

/**
 * Before some answers in the usual form nobody can tell what it says of a record that is not taken, but for a count that says so by its
 * name.
 */
function leaveOut(world: World, { keys, ms, isFirst }: Extract<Deed, { do: "leave out" }>) {
  if (!isFirst && !isToldOf(world)) return;
  if (isFirst) world.coverage.count("left out", "at first");
  const skus = keys.map((key) => KEYS[key % KEYS.length] ?? KEYS[0]);
  for (const sku of skus) world.lies.noteLeftOut(`stocks ${sku}`);
  world.coverage.count("left out", world.forms.importAnswer);
  reject(world, skus, ms);
}

/** It says nothing of single records: nothing may last. */
function readOnly(world: World, ms: number) {
  if (!isToldOf(world)) return;
  world.coverage.count("read only", world.forms.importAnswer);
  reject(world, "all", ms);
}

/** Whether the answers show that a record was not taken. */
function isToldOf(world: World): boolean {
  if (countsChanges(world.forms)) return world.counts.isSure("stocks");
  return world.isImportKnown(
    "stocks",
    isPlain(world) ? PLAIN_TIMES : world.forms.importAnswer === "bare" ? REPEATED_TIMES : undefined,
  );
}

function reject(world: World, skus: string[] | "all", ms: number) {
  world.service.setOptions({ reject: { skus, how: "said", feed: "stocks" } });
  const { reject } = world.service.options;
  world.time.at(ms, () => {
    if (world.service.options.reject === reject) turnOff(world, "record refused");
  });
}

/** The number of answers that show what a count under an unknown name means. */
const PLAIN_TIMES = 6;
/** The same of values that are repeated: the first one is 1, which may be repeated by chance. */
const REPEATED_TIMES = 4;

function isPlain({ forms }: World): boolean {
  return SAYS_PLAINLY.some((form) => form === forms.importAnswer);
}

function turnOff(world: World, what: Switch) {
  const usual = defaultOptions();
  const { updates, limits, reject, refuse, paid } = usual;
  const off: Partial<Record<Switch, SandboxOptionsPatch>> = {
    "orders refused": { refuse },
    "imports refused": { refuse },
    unpaid: { paid },
    "record refused": { reject },
    "all records refused": { reject },
    "small bodies": { limits: { maxBodyBytes: limits.maxBodyBytes } },
    "few requests": { limits: { requestsPerMinute: limits.requestsPerMinute } },
    "no date": { dateHeader: world.forms.date },
  };
  world.service.setOptions(off[what] ?? { updates: { stuck: updates.stuck } });
}

/** Ends all faults of the service, the network and the ERP's lock. */
export function endFaults(world: World) {
  world.fates.length = 0;
  world.crashes = [];
  for (const write of world.inFlight.splice(0)) write();
  world.races = [];
  world.racesAfter = [];
  world.erp.unlock();
  world.erp.dropTrigger();
  world.service.setOptions({ confirmsForgotten: false, batchPages: { link: world.forms.link } });
  world.lies.endPassing();
  for (const what of Object.keys(SWITCHED_ON) as Switch[]) turnOff(world, what);
}
