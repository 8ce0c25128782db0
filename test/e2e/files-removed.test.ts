import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { PATIENT } from "../support/program.ts";
import {
  addOrders,
  backUpTo,
  bringIn,
  confirmed,
  freePort,
  lost,
  startAgain,
  startDaemon,
  startOrRestore,
  startReading,
  stop,
  stored,
  until,
} from "../support/running-shop.ts";
import type { Shop } from "../support/shop.ts";
import { askPort } from "../support/web.ts";
import { inWhole, itSome, itWhole, some } from "../support/whole.ts";

const whole = inWhole(
  "database/log-keeper",
  "database/progress-note",
  "database/database-check",
  "daemon/newer-elsewhere",
  "e2e/signals",
);

describe("a running daemon", PATIENT, () => {
  itWhole.each(some(["-wal", "-shm"], 1))(
    "loses nothing where %s is removed, and begins anew by itself",
    async (suffix) => {
      const { shop, program } = await startDaemon();
      // The first passes of a start open the file a second time, for a feed and for a copy: another log would begin then.
      await until(() => shop.rows("SELECT 1 FROM flows WHERE enabled = 1 AND last_success_at IS NULL").length === 0);
      rmSync(`${shop.database}${suffix}`);
      addOrders(shop, 10);
      await program.says("begins anew");
      await confirmed(shop, 20);
      addOrders(shop, 5);
      await confirmed(shop, 25);
      await program.kill();
      expect(lost(shop)).toEqual([]);
      expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    },
  );

  whole.it(
    "ends with the reason where another program keeps the removed log, and starts when that is closed",
    async () => {
      const { shop, program } = await startDaemon();
      const erp = new Database(shop.database);
      onTestFinished(() => void erp.close());
      erp.prepare("SELECT count(*) FROM orders").get();
      rmSync(`${shop.database}-wal`);
      expect((await program.exited).code).toBe(1);
      expect(program.stderr()).toContain("another program still has the database open");
      erp.prepare("INSERT INTO stock (sku, quantity) VALUES ('kept', 1)").run();
      erp.close();
      addOrders(shop, 5);
      const again = shop.start("run");
      await again.says("erp-bridge is running");
      await confirmed(shop, 15);
      await again.kill();
      expect(lost(shop)).toEqual([]);
      expect(shop.rows("SELECT sku FROM stock")).toEqual([{ sku: "kept" }]);
    },
  );

  itWhole("makes a new lock where its own is removed", async () => {
    const { shop, program } = await startDaemon();
    rmSync(`${shop.database}.lock`);
    await program.says("begins anew");
    await confirmed(shop, 10);
    await until(() => existsSync(`${shop.database}.lock`));
    const second = shop.start("run");
    expect((await second.exited).code).toBe(75);
  });

  whole.it.each(["removed", "replaced"])("saves what it holds where the database is %s, and ends", async (how) => {
    const { shop, program } = await startDaemon();
    if (how === "removed") rmSync(shop.database);
    else {
      writeFileSync(`${shop.database}.other`, "");
      renameSync(`${shop.database}.other`, shop.database);
    }
    expect((await program.exited).code).toBe(78);
    const [saved = ""] = readdirSync(shop.folder).filter((name) => /^bridge\.saved-.*\.db$/.test(name));
    expect(program.stderr()).toContain(saved);
    const again = shop.start("run");
    expect((await again.exited).code).toBe(78);
    expect(again.stderr()).toContain(`erp-bridge restore ${path.join(shop.folder, saved)}`);
    const restored = await shop.command("restore", path.join(shop.folder, saved), "--yes");
    expect(restored.code, restored.err).toBe(2);
    expect(lost(shop)).toEqual([]);
    addOrders(shop, 5);
    const third = shop.start("run");
    await third.says("erp-bridge is running");
    await confirmed(shop, 15);
    await third.kill();
    expect(lost(shop)).toEqual([]);
  });

  itWhole("goes on by itself where its folder is away for a moment", async () => {
    const { shop, program } = await startDaemon();
    const { folder } = shop;
    renameSync(folder, `${folder}.away`);
    await program.says("waiting for them");
    renameSync(`${folder}.away`, folder);
    await program.says("are back");
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await stop(program);
    expect(lost(shop)).toEqual([]);
  });

  whole.it("is started again by systemd where its folder stays away", async () => {
    const { shop, program } = await startDaemon();
    const { folder } = shop;
    renameSync(folder, `${folder}.away`);
    expect((await program.exited).code, program.stderr()).toBe(1);
    renameSync(`${folder}.away`, folder);
    const again = shop.start("run");
    await again.says("erp-bridge is running");
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await stop(again);
    expect(lost(shop)).toEqual([]);
  });

  whole.it("says that a reload failed until one succeeds", async () => {
    const port = await freePort();
    const { shop, program } = await startDaemon({ http: { listen: `127.0.0.1:${port}` } });
    const secret = path.join(shop.folder, "client-secret");
    const health = async () =>
      JSON.parse((await askPort(port, "/health")).body) as { healthy: boolean; attention: string[] };
    renameSync(secret, `${secret}.away`);
    program.child.kill("SIGHUP");
    await until(async () => (await health()).attention[0]?.includes("was not taken over") === true);
    expect(await health()).toMatchObject({ healthy: true });
    rmSync(`${shop.database}.lock`); // beginning anew for another reason changes nothing
    await program.says("begins anew");
    await until(async () => (await askPort(port, "/health").catch(() => undefined)) !== undefined);
    expect((await health()).attention[0]).toContain("was not taken over");
    renameSync(`${secret}.away`, secret);
    program.child.kill("SIGHUP");
    await program.says("is in force");
    await until(async () => (await askPort(port, "/health").catch(() => undefined)) !== undefined);
    expect((await health()).attention.join()).not.toContain("was not taken over");
    await stop(program);
  });

  whole.it(
    "ends with its reason where a reload is refused and the old configuration cannot be started either",
    async () => {
      const { shop, program } = await startDaemon();
      shop.writeConfig({ service: { client_id: "another" } });
      expect((await shop.command("resume", "account")).code).toBe(0);
      shop.writeConfig();
      program.child.kill("SIGHUP");
      expect((await program.exited).code, program.stderr()).toBe(78);
      expect(program.stderr()).toContain("belongs to another account");
      shop.writeConfig({ service: { client_id: "another" } });
      const again = shop.start("run");
      await again.says("erp-bridge is running");
      await stop(again);
    },
  );

  whole.it("waits with a new configuration, or a new beginning, while the ERP holds the write lock", async () => {
    const port = await freePort();
    const { shop, program } = await startDaemon({ http: { listen: `127.0.0.1:${port}` } });
    const erp = new Database(shop.database);
    onTestFinished(() => void erp.close());
    const changed = { orders: { query: { warehouse: "north" } } };
    const asked = new Promise<void>((resolve) => {
      shop.hooks.onRequest = ({ path }) => {
        if (path === "/api/v1/1c/orders?warehouse=north") resolve();
      };
    });
    erp.exec("BEGIN IMMEDIATE");
    shop.writeConfig({ ...changed, http: { listen: `127.0.0.1:${port}` } });
    program.child.kill("SIGHUP");
    await program.says("holds the database's write lock");
    // The old one works on.
    expect((await askPort(port, "/health")).status).toBe(200);
    erp.exec("COMMIT");
    await program.says("is in force");
    await asked;

    erp.exec("BEGIN IMMEDIATE");
    rmSync(`${shop.database}.lock`);
    await program.says("begins anew");
    await until(() => program.stderr().split("begins anew")[1]?.includes("holds the database's write lock") === true);
    erp.exec("COMMIT");
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await stop(program);
    expect(lost(shop)).toEqual([]);
  });

  whole.it("works on with the old configuration where the database has a second name at a reload", async () => {
    const port = await freePort();
    const { shop, program } = await startDaemon({ http: { listen: `127.0.0.1:${port}` } });
    const second = path.join(shop.folder, "second.db");
    linkSync(shop.database, second);
    program.child.kill("SIGHUP");
    await program.says("was not taken over");
    expect(JSON.parse((await askPort(port, "/health")).body)).toMatchObject({ attention: expect.any(Array) });
    rmSync(second);
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await stop(program);
    expect(lost(shop)).toEqual([]);
  });

  whole.it("stays with its database where a reload names one that is not there", async () => {
    const { shop, program } = await startDaemon();
    const copies = path.join(shop.folder, "backups");
    const isCopied = () => readdirSync(copies).some((name) => /^bridge-\d+T\d+Z\.db$/.test(name));
    await until(() => existsSync(copies) && isCopied());
    shop.writeConfig({ database: { path: "mistyped.db" } });
    program.child.kill("SIGHUP");
    await program.says("was not taken over");
    expect(existsSync(path.join(shop.folder, "mistyped.db"))).toBe(false);
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await program.kill();
    const again = shop.start("run");
    expect((await again.exited).code).toBe(78);
    expect(again.stderr()).toContain("is gone, and there was one before");
    expect(existsSync(path.join(shop.folder, "mistyped.db"))).toBe(false);
  });
});

/** The daemon starts, goes on, and says that orders may be missing; once. */
async function expectTold(shop: Shop, words: string) {
  const again = shop.start("run");
  await again.says("erp-bridge is running");
  expect(again.stderr()).toContain(words);
  const before = shop.sandbox.ledger.confirmedOrderIds().size;
  addOrders(shop, 5);
  await confirmed(shop, before + 5);
  const told = await shop.command("status", "--json");
  expect(told.code).toBe(2);
  const isHeld = expect.arrayContaining([
    expect.objectContaining({ area: "orders", reason: "restored" }),
    expect.objectContaining({ area: "stocks", reason: "unrestored" }),
  ]);
  expect(JSON.parse(told.out)).toMatchObject({ holds: isHeld });
  await again.kill();
  const third = shop.start("run");
  await third.says("erp-bridge is running");
  expect(third.stderr()).not.toContain(words);
  await third.kill();
  expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
}

describe("a log that is truncated under the daemon", PATIENT, () => {
  whole.it("ends it before anything is added or confirmed, and what may be missing is told", async () => {
    const { shop, program } = await startDaemon();
    const erp = startReading(shop);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    mkdirSync(path.join(shop.folder, "backups"), { recursive: true });
    const copy = path.join(shop.folder, "backups", "bridge-20260301T024100000Z.db");
    await backUpTo(shop, copy);
    addOrders(shop, 10);
    await confirmed(shop, 30);
    truncateSync(`${shop.database}-wal`);
    addOrders(shop, 5);
    expect((await program.exited).code).toBe(1);
    expect(program.stderr()).toContain("was truncated or overwritten by another program");
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(30);
    erp.close();
    const last = await startOrRestore(shop, { copy, words: "the last changes may be missing" });
    await confirmed(shop, 35);
    await last.kill();
    expect(lost(shop).length).toBeLessThanOrEqual(20);
    expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });
});

whole.describe("a file that is no database any more", PATIENT, () => {
  it("is refused with the newest copy of the account in the way out", async () => {
    const { shop, program } = await startDaemon();
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await stop(program);
    const copies = path.join(shop.folder, "backups");
    mkdirSync(copies, { recursive: true });
    const copy = path.join(copies, "bridge-20260301T024100000Z.db");
    await backUpTo(shop, copy);
    writeFileSync(shop.database, Buffer.alloc(statSync(shop.database).size, "x"));
    const again = shop.start("run");
    expect((await again.exited).code).toBe(78);
    expect(again.stderr()).toContain(`erp-bridge restore ${copies}`);
  });
});

whole.describe("a copy that is written over the database in place under the daemon", PATIENT, () => {
  it("ends it before anything more is confirmed, and the next start refuses or tells it", async () => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "backups", "bridge-20260301T024100000Z.db");
    mkdirSync(path.dirname(copy), { recursive: true });
    addOrders(shop, 50);
    await confirmed(shop, 60);
    await backUpTo(shop, copy);
    addOrders(shop, 60);
    await confirmed(shop, 120);
    copyFileSync(copy, shop.database);
    addOrders(shop, 20);
    expect((await program.exited).code).toBe(1);
    expect(program.stderr()).toContain("was overwritten by another program");
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(120);
    const last = await startOrRestore(shop, {
      copy,
      words: "was truncated or overwritten while the daemon was running",
    });
    await confirmed(shop, 140);
    await last.kill();
    expect(lost(shop).length).toBeLessThanOrEqual(60);
    expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });
});

whole.describe("a database that was damaged while the daemon was dead", PATIENT, () => {
  it("is refused at the start, and the newest copy is named; a restore then says what may be missing", async () => {
    const { shop, program } = await startDaemon();
    const erp = startReading(shop);
    const copies = path.join(shop.folder, "backups");
    await until(() => existsSync(copies) && readdirSync(copies).some((name) => name.endsWith(".db")));
    await program.kill();
    erp.close();
    const left = new Database(shop.database);
    const page = left.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'batches_fingerprint'").pluck().get();
    const size = left.pragma("page_size", { simple: true }) as number;
    left.exec("CREATE TABLE erp_own (a)"); // what a killed program leaves in the log
    copyFileSync(`${shop.database}-wal`, path.join(shop.folder, "log"));
    left.close();
    const bytes = readFileSync(shop.database);
    bytes.writeUInt16BE(0, ((page as number) - 1) * size + 3); // an index that has lost its rows
    writeFileSync(shop.database, bytes);
    copyFileSync(path.join(shop.folder, "log"), `${shop.database}-wal`);
    const { program: again, code } = await startAgain(shop);
    expect(code, again.stderr()).toBe(78);
    expect(again.stderr()).toContain("is damaged");
    const [, copy = ""] = /erp-bridge restore (\S+\.db)/.exec(again.stderr()) ?? [];
    expect(path.dirname(copy)).toBe(copies);
    const restored = await shop.command("restore", copy, "--yes");
    expect(restored.code, restored.err).toBe(2);
    expect(restored.out).toMatch(/is damaged \(.*batches_fingerprint/);
  });
});

describe("a database that is not the one that was there last", PATIENT, () => {
  const WORDS = "is older than what was confirmed to the service";

  itWhole("is told after an earlier copy was put over it", async () => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await stop(program);
    copyFileSync(copy, shop.database);
    const before = await shop.command("status");
    expect(before.code, before.err).toBe(2);
    expect(before.out).toContain(WORDS);
    await expectTold(shop, WORDS);
    expect(lost(shop)).toHaveLength(10);
  });

  whole.it.each([false, true])("is refused or told beside a newer log, shared memory kept: %s", async (isShmKept) => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await program.kill();
    copyFileSync(copy, shop.database);
    const { mtimeMs } = statSync(`${shop.database}-wal`);
    utimesSync(shop.database, mtimeMs / 1000 + 300, mtimeMs / 1000 + 300);
    if (!isShmKept) rmSync(`${shop.database}-shm`, { force: true });
    const { program: again, code } = await startAgain(shop);
    if (code === undefined) expect(lost(shop).length === 0 || again.stderr().includes(WORDS)).toBe(true);
    else expect(code).toBe(78);
  });

  whole.it("is told after its log was removed while the daemon was dead", async () => {
    const { shop, program } = await startDaemon();
    await until(() => stored(shop).size > 0);
    const erp = startReading(shop);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await program.kill();
    // The reader's process ends with it, as in a restart of the machine, and the log is cleaned up.
    copyFileSync(shop.database, `${shop.database}.kept`);
    erp.close();
    renameSync(`${shop.database}.kept`, shop.database);
    for (const suffix of ["-wal", "-shm"]) rmSync(`${shop.database}${suffix}`, { force: true });
    const { program: again, code } = await startAgain(shop);
    await again.kill();
    if (code === undefined) expect(again.stderr()).toContain(WORDS);
    else expect(code).toBe(78);
  });

  whole.it.each(["with no more orders", "where more orders come at once"])(
    "is noticed while the daemon runs: a copy brought in through SQLite, %s",
    async (how) => {
      const { shop, program } = await startDaemon();
      const copy = path.join(shop.folder, "monday.db");
      await backUpTo(shop, copy);
      addOrders(shop, 10);
      await confirmed(shop, 20);
      await bringIn(copy, shop.database);
      addOrders(shop, how === "with no more orders" ? 0 : 30);
      await program.says("The daemon begins anew");
      if (how !== "with no more orders") await confirmed(shop, 50);
      await expectHeld(shop);
      expect(lost(shop)).toHaveLength(10);
      await stop(program);
      await expectQuiet(shop, WORDS);
      await expectHeld(shop);
    },
  );

  whole.it("is noticed while the daemon runs: orders deleted", async () => {
    const { shop, program } = await startDaemon();
    shop.write("DELETE FROM orders");
    await program.says("The daemon begins anew");
    addOrders(shop, 5);
    await confirmed(shop, 15);
    await expectHeld(shop);
    expect(lost(shop)).toHaveLength(10);
    await program.kill();
  });

  whole.it("is no database of which SQLite's own counters were reset", async () => {
    const { shop, program } = await startDaemon();
    const sequences = () =>
      shop.rows("SELECT * FROM sqlite_sequence WHERE name IN ('batches', 'order_event_rows') ORDER BY name");
    const before = sequences();
    shop.write("DELETE FROM sqlite_sequence");
    await until(() => sequences().length === 2);
    expect(sequences()).toEqual(before);
    await stop(program);
    shop.write("UPDATE sqlite_sequence SET seq = 0");
    await expectQuiet(shop, WORDS);
    expect(shop.rows("SELECT * FROM holds")).toEqual([]);
    // The order that came since has the numbers behind them.
    expect(sequences()).toEqual(before.map(({ name, seq }) => ({ name, seq: Number(seq) + 1 })));
  });
});

/** It confirms an order, before which it compares everything, and says nothing of this. */
async function expectQuiet(shop: Shop, words: string) {
  const before = shop.sandbox.ledger.confirmedOrderIds().size;
  const program = shop.start("run");
  addOrders(shop, 1);
  await confirmed(shop, before + 1);
  await stop(program);
  expect(program.stderr()).not.toContain(words);
  expect(program.stderr()).not.toContain("begins anew");
}

async function expectHeld(shop: Shop) {
  await until(() => shop.rows("SELECT 1 FROM holds WHERE area = 'orders' AND reason = 'restored'").length > 0);
}

whole.describe("a database without the note that every start writes", PATIENT, () => {
  const WORDS = "may be an earlier copy";

  /** Everything of the database away, and this copy in its place. */
  function putByHand(shop: Shop, copy: string): void {
    for (const name of readdirSync(shop.folder))
      if (name.startsWith("bridge.db")) rmSync(path.join(shop.folder, name), { recursive: true });
    copyFileSync(copy, shop.database);
  }

  itSome(1)([false, true])("is told to be perhaps older, with a journal that has more: %s", async (hasJournal) => {
    const { shop, program } = await startDaemon(hasJournal ? { backup: { journal: "journal" } } : {});
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await stop(program);
    putByHand(shop, copy);
    await expectTold(shop, WORDS);
    expect(lost(shop)).toHaveLength(10);
  });

  it("is told where a newer copy has more than both it and the journal", async () => {
    const { shop, program } = await startDaemon({ backup: { journal: "journal" } });
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    cpSync(path.join(shop.folder, "journal"), path.join(shop.folder, "journal.old"), { recursive: true });
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await backUpTo(shop, path.join(shop.folder, "backups", "bridge-20990101T024100000Z.db"));
    await stop(program);
    putByHand(shop, copy);
    rmSync(path.join(shop.folder, "journal"), { recursive: true });
    renameSync(path.join(shop.folder, "journal.old"), path.join(shop.folder, "journal"));
    await expectTold(shop, WORDS);
  });

  it("is not, where the journal shows that no order is missing; its stock waits all the same", async () => {
    const { shop, program } = await startDaemon({ backup: { journal: "journal" } });
    await stop(program);
    copyFileSync(shop.database, path.join(shop.folder, "newest.db"));
    putByHand(shop, path.join(shop.folder, "newest.db"));
    await expectQuiet(shop, WORDS);
    expect(shop.rows("SELECT area, reason FROM holds")).toEqual([{ area: "stocks", reason: "unrestored" }]);
  });

  it("is not, where a former version made it, which wrote none", async () => {
    const { shop, program } = await startDaemon();
    await stop(program);
    rmSync(`${shop.database}.progress`);
    shop.write("DELETE FROM meta WHERE key = 'progress'");
    await expectQuiet(shop, WORDS);
    expect(shop.rows("SELECT * FROM holds")).toEqual([]);
  });

  it("is not what a restore or a move to another folder leaves", async () => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    addOrders(shop, 10);
    await confirmed(shop, 20);
    await stop(program);
    const restored = await shop.command("restore", copy, "--yes");
    expect(restored.code, restored.err).toBe(0);
    const told = await shop.command("status");
    expect(told.out).not.toContain("older");
    await expectQuiet(shop, "earlier copy");
    expect(lost(shop)).toEqual([]);
    const moved = path.join(shop.folder, "moved");
    mkdirSync(moved);
    for (const name of readdirSync(shop.folder))
      if (name.startsWith("bridge.db")) renameSync(path.join(shop.folder, name), path.join(moved, name));
    shop.writeConfig({ database: { path: "moved/bridge.db" } });
    const again = shop.start("run");
    await again.says("erp-bridge is running");
    expect(again.stderr()).not.toContain("earlier copy");
    await again.kill();
  });

  it("is told by a restore onto a machine that has nothing, and by nothing else", async () => {
    const { shop, program } = await startDaemon();
    const copy = path.join(shop.folder, "monday.db");
    await backUpTo(shop, copy);
    await stop(program);
    shop.writeConfig({ database: { path: "new.db" } });
    const restored = await shop.command("restore", copy, "--yes");
    expect(restored.code, restored.err).toBe(2);
    const again = shop.start("run");
    await again.says("erp-bridge is running");
    expect(again.stderr()).not.toContain("earlier copy");
    await again.kill();
  });
});
