import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { lookAtNewestCopy } from "../backup/backup-files.ts";
import { ordersOfCopy, readOwnerOfCopy } from "../backup/copy-owner.ts";
import { CarryReport } from "../backup/rows.ts";
import { markAcknowledgedUnknown, markRequestsUnknown } from "../backup/settle.ts";
import type { LoadedConfig } from "../config/load.ts";
import { mirrorRouteOf } from "../config/route.ts";
import { accountMark, accountOf } from "../daemon/account.ts";
import { lookElsewhere, settleElsewhere } from "../daemon/newer-elsewhere.ts";
import { openReadOnly } from "../database/connection.ts";
import { acquireInstanceLock } from "../database/file/instance-lock.ts";
import { deleteMeta, saveMeta } from "../database/meta.ts";
import { MIGRATIONS_FOLDER } from "../database/migrations.ts";
import { openStore } from "../database/open.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { bringOrders, queueMirroredRead } from "../mirror/claim/bring-orders.ts";
import { liftFence } from "../mirror/claim/fenced.ts";
import { claimTakeover, lookAtShop, type ShopStanding } from "../mirror/claim/take-over.ts";
import { MirrorLink } from "../mirror/connection.ts";
import { countOwnOrders } from "../mirror/down/down-rows.ts";
import { describeFenced, isThisHost, loadKnown, loadMirrorFacts, loadMirrorState } from "../mirror/mirror-state.ts";
import { verifySchema } from "../mirror/schema/schema-version.ts";
import { raiseRevisions } from "../orders/order-rows.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import { freshName, removeName } from "../platform/fresh-file.ts";
import { createTerminalLog } from "../platform/logger.ts";
import { isoTime } from "../platform/ports.ts";
import { VERSION } from "../platform/version.ts";
import { asTyped } from "./call.ts";
import { type Call, isYes, load } from "./command.ts";
import { type LongCall, withProgress } from "./progress.ts";
import { requireCopy, restoreDatabase } from "./restore-bridge.ts";
import { replayJournal } from "./restore-journal.ts";
import { jsonLine } from "./terminal.ts";

const START = "systemctl enable --now erp-bridge";
/**
 * A server that wrote to PostgreSQL within this time still reads it every few seconds, so it notices the takeover and
 * ends by itself.
 */
const HEARD_WITHIN_S = 60;

export interface TakeoverOptions {
  from?: string;
  yes?: boolean;
}

/** What the shop's database is made from. */
type Source =
  /** The database on this machine. */
  | { kind: "here" }
  | { kind: "copy"; file: string }
  /** PostgreSQL alone: there is neither a copy nor a database. */
  | { kind: "mirror" };

/** Makes this machine the one that works for the shop. Only a person starts this; there is no automatic takeover. */
export const takeover = withProgress<TakeoverOptions>(async (call, { from, yes }) => {
  const loaded = await load(call);
  const route = mirrorRouteOf(loaded.config);
  if (loaded.mirrorTrouble !== undefined)
    throw new BridgeError("mirror_access", loaded.mirrorTrouble, { hint: m.mirror.noAddressHint });
  if (route === undefined)
    throw new BridgeError("usage", m.mirror.takeoverNoMirror, { hint: m.mirror.takeoverNoMirrorHint });
  const isAsking = yes !== true;
  if (isAsking && call.terminal.input?.isInteractive !== true) {
    throw new BridgeError("usage", m.mirror.takeoverNobodyToAsk, { hint: m.restore.sayYes });
  }
  const { schema, timeout } = loaded.config.mirror;
  const place = { ...route, schema, timeoutMs: timeout };
  const link = new MirrorLink({ ...place, verify: (query) => verifySchema(query, place) });
  try {
    const { shop } = route;
    const standing = await lookAtShop(link, shop);
    if (standing === undefined) {
      throw new BridgeError("usage", m.mirror.takeoverUnknownShop({ shop }), {
        hint: m.mirror.takeoverUnknownShopHint,
      });
    }
    refuseOtherAccount(loaded, shop, standing);
    const source = findSource(loaded, standing, from);
    if (source.kind === "here" && hasShop(loaded, standing)) return reportOwn(call, loaded, shop, standing);
    for (const line of describePlan(shop, standing, source)) call.terminal.err(line);
    if (isAsking && !isYes(await call.terminal.input?.ask(m.restore.goOn))) {
      call.terminal.err(m.restore.nothingChanged);
      return EXIT.failed;
    }
    return await takeOver({ call, loaded, link, shop, standing, source });
  } finally {
    link.close();
  }
});

/** @throws BridgeError `account_changed` where the mirror's orders belong to another account */
function refuseOtherAccount({ config }: LoadedConfig, shop: string, { account, orders }: ShopStanding): void {
  if (account === null || account === accountMark(config)) return;
  const { base_url: url, client_id: id } = config.service;
  throw new BridgeError("account_changed", m.mirror.takeoverOtherAccount({ shop, id, url, orders }), {
    hint: m.mirror.takeoverOtherAccountHint,
  });
}

/** @throws BridgeError `mirror_database` where the path has another shop's database, `usage` where `from` is no file that can be read */
function findSource({ config }: LoadedConfig, { databaseId }: ShopStanding, from: string | undefined): Source {
  const database = config.database.path;
  if (existsSync(database)) {
    if (readOwnerOfCopy(database).database === databaseId) return { kind: "here" };
    throw new BridgeError("mirror_database", m.mirror.takeoverOtherDatabase({ database }), {
      hint: m.mirror.takeoverOtherDatabaseHint,
    });
  }
  if (from !== undefined) {
    const file = path.resolve(from);
    // Before the shop is claimed: a wrong path must change nothing.
    requireCopy(file);
    return { kind: "copy", file };
  }
  const copy = lookAtNewestCopy(config.backup.dir, databaseId);
  return copy === undefined ? { kind: "mirror" } : { kind: "copy", file: copy.file };
}

/** Whether the newest claim was made with this database, and PostgreSQL has no orders that it lacks. */
function hasShop({ config }: LoadedConfig, { writer, takeoverNo, orders }: ShopStanding): boolean {
  using store = openReadOnly(config.database.path);
  const known = Number(loadMirrorState(store, "takeover_no") ?? 0);
  const claims = loadKnown(store).claims ?? [];
  const isOwn =
    describeFenced(store) === undefined && known >= takeoverNo && writer !== null && claims.includes(writer);
  return isOwn && orders <= countOwnOrders(store) && !((loadMirrorFacts(store)?.extra ?? 0) > 0);
}

function reportOwn(call: Call, { config }: LoadedConfig, shop: string, { takeoverNo }: ShopStanding): ExitCode {
  const database = config.database.path;
  const report = { shop, database, source: "here", takeover: takeoverNo, orders: 0, unread: 0 };
  if (call.json) call.terminal.out(jsonLine(report));
  else call.terminal.out(m.mirror.takeoverIsOwn({ shop, database }));
  return EXIT.ok;
}

function describePlan(shop: string, { host, heardAt, heardS, orders }: ShopStanding, source: Source): Message[] {
  const server = { shop, host: host ?? "?", isHere: isThisHost(host), at: heardAt };
  const isHeard = heardS <= HEARD_WITHIN_S;
  const from = {
    here: m.mirror.takeoverFromHere,
    copy: m.mirror.takeoverFromCopy({ file: source.kind === "copy" ? source.file : "" }),
    mirror: m.mirror.takeoverFromMirror({ orders }),
  };
  return [
    isHeard ? m.mirror.takeoverIsHeard(server) : m.mirror.takeoverIsSilent(server),
    from[source.kind],
    isHeard ? m.mirror.takeoverStopIt : m.mirror.takeoverIsItOff,
  ];
}

interface Takeover {
  call: LongCall;
  loaded: LoadedConfig;
  link: MirrorLink;
  shop: string;
  standing: ShopStanding;
  source: Source;
}

async function takeOver(all: Takeover) {
  const { call, loaded, link, shop, standing, source } = all;
  const database = loaded.config.database.path;
  // Fails before anything is claimed where a daemon uses the database.
  acquireInstanceLock(database, { command: "takeover" }).release();
  const by = { writer: randomUUID(), host: os.hostname(), version: VERSION, account: accountMark(loaded.config) };
  const takeoverNo = await claimTakeover(link, shop, by);
  if (source.kind !== "here") await makeDatabase(all, source);
  const lock = acquireInstanceLock(database, { command: "takeover" });
  try {
    const store = openStore({ path: database, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" });
    try {
      const at = isoTime(systemClock.nowMs());
      store.write(() => raiseEvents(store, standing.eventsSeq));
      if (source.kind === "here") await catchUp(all, store, at);
      const brought = await bringOrders(link, shop, { store, at });
      store.write(() => {
        raiseRevisions(store);
        liftFence(store, takeoverNo, by.writer);
        // Another machine has disks of its own.
        if (source.kind !== "here")
          for (const key of ["journal_mark", "journal_folder", "copies"] as const) deleteMeta(store, key);
      });
      const report = { shop, database, source: source.kind, takeover: takeoverNo, ...brought };
      if (call.json) call.terminal.out(jsonLine(report));
      else call.terminal.out(m.mirror.takeoverDone({ shop, database, ...brought, command: asTyped(START, call) }));
    } finally {
      store.close();
    }
  } finally {
    lock.release();
  }
  return EXIT.ok;
}

/**
 * Restores a copy, or an empty database where there is none, like any other restore: with the journal, and reporting
 * what may be missing.
 */
async function makeDatabase({ call, loaded, standing }: Takeover, source: Source): Promise<void> {
  const database = loaded.config.database.path;
  const empty = freshName(database, "takeover");
  try {
    if (source.kind === "mirror") makeEmpty(empty, loaded, standing);
    await restoreDatabase({
      loaded,
      file: source.kind === "copy" ? source.file : empty,
      migrationsFolder: MIGRATIONS_FOLDER,
      ...stepsOf(call, loaded),
      agree: async () => true,
      isFollowedByMirror: true,
    });
  } finally {
    for (const suffix of ["", "-wal", "-shm"]) removeName(`${empty}${suffix}`);
  }
}

function stepsOf(call: LongCall, loaded: LoadedConfig) {
  return {
    clock: systemClock,
    log: createTerminalLog(loaded.config, call.terminal),
    onStep: (what: Message) => {
      if (!call.progress.announce(what)) call.terminal.err(m.progress.step({ what }));
    },
  };
}

function makeEmpty(file: string, { config }: LoadedConfig, { databaseId, heardAt }: ShopStanding): void {
  const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  try {
    store.write(() => {
      saveMeta(store, "account", accountOf(config));
      saveMeta(store, "database", databaseId);
      store.prepare("INSERT INTO meta (key, value) VALUES ('copied_at', ?)").run(heardAt);
    });
  } finally {
    store.close();
  }
}

/**
 * For a database of this machine, after another one worked for the shop: what the service accepted from here may have
 * changed. What that machine left in the journal and in copies is brought over before PostgreSQL's rows, so that the
 * next start has nothing to report.
 */
async function catchUp({ call, loaded }: Takeover, store: Store, at: string): Promise<void> {
  markAcknowledgedUnknown(store, m.mirror.takeoverWasElsewhere);
  markRequestsUnknown(store, loaded.config.statuses.map);
  const { entry, copy } = lookElsewhere(store, loaded);
  await replayJournal({ loaded, store, ...stepsOf(call, loaded) }, new CarryReport());
  const missing = copy === undefined ? undefined : listMissing(store, copy.file);
  store.write(() => {
    for (const order of missing ?? []) queueMirroredRead(store, order, at);
    settleElsewhere(store, { entry, copy: missing === undefined ? undefined : copy });
  });
}

/**
 * Orders that a copy has beyond this database; undefined where it cannot be read, and then the next start reports what
 * it has more.
 */
function listMissing(store: Store, copy: string) {
  const known = store.prepare("SELECT 1 FROM orders WHERE order_id = ?");
  try {
    return ordersOfCopy(copy)
      .filter(({ orderId }) => known.get(orderId) === undefined)
      .toArray();
  } catch {
    return undefined;
  }
}

/** Numbers of events that PostgreSQL has must not be assigned again. */
function raiseEvents(store: Store, seq: number): void {
  const raised = store
    .prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'order_event_rows'")
    .run(seq).changes;
  if (raised === 0) store.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('order_event_rows', ?)").run(seq);
}
