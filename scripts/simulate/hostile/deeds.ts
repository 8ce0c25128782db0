/* Steps that happen only in the hostile world. */

import { retryRecords } from "../../../src/daemon/repair.ts";
import { approveGuarded } from "../../../src/feeds/guard/guard-rows.ts";
import { loadHeldAfter, loadUnreadBatches, markUnreadUntried } from "../../../src/pass/held-rows.ts";
import { planLift } from "../../../src/pass/hold-reasons.ts";
import { truncateUs, writeTimestamp } from "../../../src/sandbox/timestamps.ts";
import { KEYS } from "../erp.ts";
import type { Changed } from "../forms.ts";
import { BATCHES, type HostileDeed, type OddStatus, type PersonDeed, type Reload } from "../schedule.ts";
import type { World } from "../world.ts";
import { EXTREMES, withValue } from "./values.ts";

/** Small enough that all changes of a flood are within the look-back interval. */
const FLOOD_GAP_MS = 800;

/** SQL literals. */
const ODD_LITERALS: Record<Exclude<OddStatus, "the same">, string> = {
  "no UTF-8": "CAST(x'eef2eff0e0e2ebe5ed' AS TEXT)",
  number: "17",
  blob: "x'7061636b6564'",
  empty: "''",
};

const RELOADS: Record<Reload, Changed & { secret?: string }> = {
  "wrong secret": { secret: "another" },
  "other template": { unit: true },
  "other key": { otherKey: true },
  "small chunks": { chunk: 1 },
  "other overlap": { overlapMs: 120_000 },
};

export function actHostile(world: World, deed: HostileDeed) {
  const { coverage, service } = world;
  switch (deed.do) {
    case "lie":
      // Something may have kept the batches back from which it is known what the field counts.
      if (deed.lie.body === "part" && countBatches(world) < BATCHES.length) return;
      return world.lies.begin(deed.lie, world.time.elapsedMs);
    case "value":
      coverage.count("value", deed.value);
      coverage.count("value in", deed.field);
      return setValue(world, deed);
    case "mend":
      return mendValues(world);
    case "page":
      service.setOptions({ updates: { pageLimit: deed.limit } });
      return void world.time.at(deed.ms, () => service.setOptions({ updates: { pageLimit: world.forms.page } }));
    case "odd status":
      coverage.count("odd status", deed.what);
      return askOddly(world, deed.order, deed.what);
    case "empty":
      for (const key of KEYS.slice(deed.from, deed.to)) {
        if (deed.how === "zero") world.erp.write("stocks", key, "upsert", 0);
        else world.erp.remove("stocks", key);
      }
      return;
    case "journal":
      world.journal.isFull = true;
      return void world.time.at(deed.ms, () => {
        world.journal.isFull = false;
      });
    case "journal folder": {
      const configure = () => {
        world.journalFolder = deed.folder;
      };
      world.stop(configure);
      return void world.time.at(10_000, configure);
    }
    case "flood":
      return flood(world, deed.count);
    case "person":
      coverage.count("person", deed.what);
      try {
        return actAsPerson(world, deed.what, deed.name);
      } catch (error) {
        // The program was killed during the command's own commit.
        if (world.life !== undefined) throw error;
        return;
      }
    case "restore":
      return restore(world, service.now() - deed.ms);
    case "reload":
      coverage.count("reload", deed.what);
      // Rows have other names in quarantine meanwhile.
      if (deed.what === "other key") world.hadRejects = true;
      reload(world, RELOADS[deed.what]);
      return void world.time.at(deed.ms, () => reload(world, {}));
  }
}

function setValue(world: World, deed: { order: number; isNew: boolean; field: string; value: string }): void {
  const { service, versions } = world;
  const value = EXTREMES[deed.value] ?? "null";
  if (deed.isNew) {
    const id = service.createOrder({ status: "new" });
    versions.note(id);
    service.changeOrder(id, { raw: withValue(service.newestText(id) ?? "{}", deed.field, value), keepTimestamp: true });
    versions.note(id);
    versions.odd.add(id);
    versions.everOdd.add(id);
    return;
  }
  const living = versions.ids.filter((each) => service.statusOf(each) !== undefined);
  const id = living[deed.order % Math.max(1, living.length)];
  const text = id === undefined ? undefined : service.newestText(id);
  if (id === undefined || text === undefined) return;
  const timestamp = Math.floor(service.now());
  // In the service's own precision: a finer timestamp would be later than that of the next change.
  const writtenUs = truncateUs(timestamp * 1000, service.options.precision);
  const stamped = withValue(text, "updated_at", writeTimestamp(writtenUs, service.options));
  service.changeOrder(id, { raw: withValue(stamped, deed.field, value), timestamp });
  versions.note(id);
  versions.odd.add(id);
  versions.everOdd.add(id);
}

/** The service's operator has corrected the records. The last record of a deleted order stays. */
export function mendValues({ service, versions }: World): void {
  for (const id of [...versions.odd]) {
    if (service.statusOf(id) === undefined) continue;
    service.changeOrder(id, { raw: null });
    versions.note(id);
    versions.odd.delete(id);
  }
}

/** Requests a status of a wrong type, or the current status with additional data. */
function askOddly({ erp, service, versions }: World, order: number, what: OddStatus): void {
  const orderId = versions.ids[order % Math.max(1, versions.ids.length)];
  if (orderId === undefined) return;
  if (what === "the same") erp.ask(orderId, service.statusOf(orderId) ?? "new");
  else erp.askOddly(orderId, ODD_LITERALS[what]);
}

/** Makes more changes within the look-back interval than one pass may read, each with its own timestamp. */
function flood(world: World, count: number): void {
  const { service, versions } = world;
  const [id] = versions.ids.filter((each) => service.statusOf(each) !== undefined);
  if (id === undefined) return;
  const nowMs = service.now();
  for (let made = 0; made < count; made++) {
    const timestamp = Math.floor(nowMs - (count - made) * FLOOD_GAP_MS);
    service.changeOrder(id, { status: made % 2 === 0 ? "new" : "accepted", timestamp });
    versions.note(id, timestamp);
  }
}

/** The repair commands, as they write to the database. */
function actAsPerson(world: World, what: PersonDeed, name: string) {
  const { life, erp } = world;
  if (life === undefined || erp.isLocking) return;
  const { store } = life;
  switch (what) {
    case "sync":
      return void life.entries.find(({ runner }) => runner.name === name)?.runner.runNow(life.signal);
    case "approve":
      if (name !== "prices") world.guard.onApprove();
      return store.write(() => approveGuarded(store, name === "prices" ? "prices" : "stocks"));
    case "retry":
      return store.write(() => {
        const ids = loadHeldAfter(store, 0, 100).map(({ id }) => id);
        retryRecords(store, world.loaded, ids, life.context.clock);
        for (const { id } of loadUnreadBatches(store, 100)) markUnreadUntried(store, id);
      });
    case "resume":
      world.discipline.reopen();
      return store.write(() => {
        const reasons = store.db.prepare("SELECT reason FROM holds WHERE area = ?").pluck().all(name) as string[];
        // Whether to give up a batch, and so lose its orders, is a person's decision.
        if (reasons.includes("hand-out lost")) return;
        for (const reason of planLift(reasons).lifted)
          store.db.prepare("DELETE FROM holds WHERE area = ? AND reason = ?").run(name, reason);
      });
  }
}

/** Restores the service to that time of its clock: orders, changes, statuses and the records on the site. */
function restore(world: World, atMs: number): void {
  const { service, versions, auditor, coverage, forms } = world;
  const ids = versions.ids.filter((id) => service.statusOf(id) !== undefined);
  const before = new Map(ids.map((id) => [id, service.newestText(id)]));
  service.restore(atMs, world.pushes.shownAt(atMs));
  world.pushes.forgetLeftOut();
  const stored = auditor.prepare("SELECT order_id, payload FROM orders WHERE removed_at IS NULL").raw().all();
  const changed = ids.filter((id) => service.newestText(id) !== before.get(id));
  for (const id of changed) if (service.statusOf(id) !== undefined) versions.noteRestored(id);
  world.wasMisinformed = true;
  world.statuses.forgetSince(atMs);
  // One order may have been set back by a person: two show that it was the service, where the changes go on behind what they lost.
  const isProvable =
    ((forms.page >= 10 && forms.keeps === "oldest" && forms.order === "ascending") ||
      (forms.page >= 100 && forms.keeps === "newest" && forms.order === "descending")) &&
    forms.next === "none" &&
    forms.lagMs === 0 &&
    forms.sinceAgeMax === null;
  // What the bridge never received is not missing.
  const missed = (stored as [string, string][]).filter(([id, payload]) => versions.isNewerThanServed(id, payload));
  const back = missed.map(([id]) => id);
  const isShown = isProvable && back.length >= 2;
  coverage.count("restored", isShown ? "several orders go back" : "one order goes back at most");
  if (isShown) world.restored.push({ atMs, madeMs: service.now(), orders: back });
  else world.pushes.excuseSince(atMs);
}

/** SIGHUP: the program finishes what is in progress and restarts with the current configuration. */
export function reload(world: World, changed: World["changed"]): void {
  if (world.life === undefined) {
    world.changed = changed;
    return;
  }
  world.stop(() => {
    world.changed = changed;
  });
  world.time.at(10_000, () => {
    world.changed = changed;
  });
}

/** How often orders were served in answers to `GET /orders`. */
function countBatches({ service }: World): number {
  return service.ledger.entries.filter(({ kind, servedIds }) => kind === "orders" && servedIds.length > 0).length;
}
