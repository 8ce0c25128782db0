import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { copyDatabase } from "../../src/backup/copy-database.ts";
import { readJournal } from "../../src/backup/journal-files.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { copiesToRemove, copyName, findCopies, isCopyLate } from "../../src/database/file/copy-names.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { collectingLog, configFor, FakeClock, startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { HAS_OTHER_DISK, OTHER_DISK, tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const DAY_MS = 86_400_000;
const GB = 1024 ** 3;

function copies(folder: string): string[] {
  return readdirSync(path.join(folder, "backups"))
    .filter((name) => name.endsWith(".db"))
    .sort();
}

describe("scheduled copies", () => {
  itWhole(
    "are whole, readable alone, named by their time, and the oldest beyond keep go with their configuration",
    async () => {
      const folder = tempFolder("backup");
      const { bridge, clock, sandbox, run, rows } = await startTestBridge({
        folder,
        settings: { backup: { keep: 3 } },
      });
      for (let day = 0; day < 5; day++) {
        sandbox.service.createOrder();
        await run("orders");
        expect(await bridge.runJob("backup")).toMatchObject({ error: null, outcome: "done", counts: { copies: 1 } });
        clock.advance(DAY_MS);
      }
      expect(copies(folder).map((name) => name.slice(0, 22))).toEqual(
        ["03", "04", "05"].map((day) => `bridge-202603${day}T120000`),
      );
      expect(readdirSync(path.join(folder, "backups"))).toHaveLength(6);
      const db = new Database(path.join(folder, "backups", copies(folder)[1]!), { readonly: true });
      expect(db.prepare("SELECT count(*) FROM orders").pluck().get()).toBe(4);
      expect(db.pragma("journal_mode", { simple: true })).toBe("delete");
      expect(db.prepare("SELECT value FROM meta WHERE key = 'copied_at'").pluck().get()).toMatch(
        /^2026-03-04T12:00:00/,
      );
      db.close();
      const config = path.join(folder, "backups", `${copies(folder)[0]}.config.yaml`);
      expect(statSync(config).mode & 0o077).toBe(0);
      expect(rows("SELECT enabled, failing_since FROM sync_status WHERE flow = 'backup'")).toEqual([
        { enabled: 1, failing_since: null },
      ]);
    },
  );

  it.skipIf(!HAS_OTHER_DISK)("are not made on the database's disk where their own disk is gone", async () => {
    const folder = tempFolder("backup");
    const disk = tempFolder("copies", OTHER_DISK);
    const name = path.join(folder, "disk");
    symlinkSync(disk, name);
    const { bridge, clock } = await startTestBridge({ folder, settings: { backup: { dir: "disk/copies" } } });
    expect(await bridge.runJob("backup")).toMatchObject({ error: null, counts: { copies: 1 } });
    rmSync(name);
    clock.advance(DAY_MS);
    expect(await bridge.runJob("backup")).toMatchObject({ error: { code: "disk_failed" } });
    expect(existsSync(name)).toBe(false);
    symlinkSync(disk, name);
    clock.advance(DAY_MS);
    expect(await bridge.runJob("backup")).toMatchObject({ error: null, counts: { copies: 1 } });
  });

  it.skipIf(!HAS_OTHER_DISK)(
    "do not shorten a journal on another disk where they are lost with the database",
    async () => {
      const journal = tempFolder("journal", OTHER_DISK);
      const { bridge, clock, sandbox, run } = await startTestBridge({
        folder: tempFolder("backup"),
        settings: { backup: { keep: 2, journal } },
      });
      const backUp = async () => {
        clock.advance(DAY_MS);
        sandbox.service.createOrder();
        await run("orders");
        expect(await bridge.runJob("backup")).toMatchObject({ error: null });
        return [...readJournal(journal)].flatMap(({ entries }) => entries).length;
      };
      for (const nights of [1, 2, 3, 4, 5]) expect(await backUp()).toBe(nights);
      // Batches that the database itself has no longer are not needed, except the last two.
      bridge.store.write(() => bridge.store.db.exec("DELETE FROM batches WHERE id <= 3"));
      expect(await backUp()).toBe(5);
    },
  );

  itWhole("go in the order of what they hold, whatever the clock said when they were made", async () => {
    const folder = tempFolder("backup");
    const settings = { backup: { keep: 3, journal: "journal" } };
    const { bridge, clock, sandbox, run } = await startTestBridge({ folder, settings });
    const made: string[] = [];
    mkdirSync(path.join(folder, "backups"));
    const backUp = async (offsetMs = 0) => {
      clock.advance(DAY_MS);
      sandbox.service.createOrder();
      await run("orders");
      const before = copies(folder);
      clock.jump(offsetMs);
      expect(await bridge.runJob("backup")).toMatchObject({ error: null });
      clock.jump(-offsetMs);
      made.push(copies(folder).find((name) => !before.includes(name))!);
    };
    const told = () => loadFacts(bridge.store).notices?.find(({ name }) => name === "copy_names")?.names;
    await backUp();
    await backUp(400 * DAY_MS);
    expect(told()).toBeUndefined();
    await backUp(-4_000 * DAY_MS);
    expect(told()).toBe(made[2]);
    // What the earliest copy that is kept lacks is in the journal, although a later one is named as if it were earlier.
    const inJournal = [...readJournal(path.join(folder, "journal"))].flatMap(({ entries }) => entries);
    expect(inJournal).toHaveLength(3);
    await backUp();
    expect(copies(folder)).toEqual([made[1], made[2], made[3]].sort());
    expect(told()).toBe(made[3]);
    await backUp();
    expect(copies(folder)).toEqual([made[2], made[3], made[4]].sort());
    expect(told()).toBeUndefined();
    await backUp();
    expect(copies(folder)).toEqual([made[3], made[4], made[5]].sort());
  });

  itWhole("are kept beside those of a wrong clock, which are told of", async () => {
    const folder = tempFolder("backup");
    const { bridge, clock, logs } = await startTestBridge({ folder, settings: { backup: { keep: 2 } } });
    const false_ = ["bridge-20990101T024100000Z.db", "bridge-20990102T024100000Z.db"];
    mkdirSync(path.join(folder, "backups"));
    for (const name of false_) writeFileSync(path.join(folder, "backups", name), "");
    for (let day = 0; day < 4; day++) {
      expect(await bridge.runJob("backup")).toMatchObject({ error: null });
      clock.advance(DAY_MS);
    }
    expect(copies(folder).map((name) => name.slice(0, 15))).toEqual([
      "bridge-20260303",
      "bridge-20260304",
      "bridge-20990101",
      "bridge-20990102",
    ]);
    const told = logs.filter(({ message }) => message.includes("a later time in its name"));
    expect(told).toEqual([expect.objectContaining({ level: "warn" })]);
    const newest = copies(folder)[1]!;
    expect(loadFacts(bridge.store).notices).toMatchObject([{ name: "copy_names", names: newest }]);
  });

  itWhole("show one moment while other programs write all the time", async () => {
    const folder = tempFolder("backup");
    const { bridge } = await startTestBridge({ folder });
    bridge.store.db.exec("CREATE TABLE pairs (a INTEGER, b INTEGER, filler TEXT) STRICT");
    const write = bridge.store.db.transaction((n: number) => {
      for (let row = 0; row < 200; row++)
        bridge.store.db.prepare("INSERT INTO pairs VALUES (?, ?, ?)").run(n, row, "x".repeat(900));
    });
    for (let n = 0; n < 40; n++) write(n);
    let written = 40;
    const erp = new Database(bridge.store.path);
    erp.pragma("journal_mode = WAL");
    const writer = setInterval(() => {
      erp.transaction(() => {
        for (let row = 0; row < 200; row++) erp.prepare("INSERT INTO pairs VALUES (?, ?, 'y')").run(written, row);
      })();
      written += 1;
    }, 1);
    const result = await bridge.runJob("backup");
    clearInterval(writer);
    erp.close();
    expect(result.error).toBeNull();
    expect(written).toBeGreaterThan(45);
    const db = new Database(path.join(folder, "backups", copies(folder)[0]!), { readonly: true });
    const counts = db.prepare("SELECT a, count(*) AS n FROM pairs GROUP BY a HAVING n <> 200").all();
    expect(counts).toEqual([]);
    db.close();
  });

  // A collection of garbage that other tests have left takes as long.
  itWhole("never stop the event loop for long while a large database is copied", { retry: 2 }, async () => {
    const folder = tempFolder("backup");
    const { bridge } = await startTestBridge({ folder });
    bridge.store.db.exec("CREATE TABLE large (a INTEGER PRIMARY KEY, b BLOB) STRICT");
    bridge.store.db.exec(
      "INSERT INTO large (b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT randomblob(1000000) FROM n",
    );
    // Time on the processor: a busy machine takes as much of the clock's as it likes.
    let longestMs = 0;
    let last = process.threadCpuUsage();
    const timer = setInterval(() => {
      const { user, system } = process.threadCpuUsage(last);
      longestMs = Math.max(longestMs, (user + system) / 1_000);
      last = process.threadCpuUsage();
    }, 5);
    expect(await bridge.runJob("backup")).toMatchObject({ error: null });
    clearInterval(timer);
    expect(longestMs).toBeLessThan(1_000);
  });

  itWhole("that fail are visible, are not tried again at once, and stop nothing else", async () => {
    const folder = tempFolder("backup");
    writeFileSync(path.join(folder, "backups"), "a file in the folder's place");
    const { bridge, clock, sandbox, run, rows, logs } = await startTestBridge({ folder });
    const ids = createOrders({ sandbox }, 3);
    expect(await bridge.runJob("backup")).toMatchObject({ outcome: "failed" });
    expect(await run("orders")).toMatchObject({ error: null });
    expect([...sandbox.ledger.confirmedOrderIds()].sort()).toEqual(ids.sort());
    expect(rows("SELECT failing_since IS NOT NULL AS failing FROM sync_status WHERE flow = 'backup'")).toEqual([
      { failing: 1 },
    ]);
    expect(logs.filter(({ level }) => level === "error")).toHaveLength(1);
    clock.advance(2 * 3_600_000);
    expect((await bridge.runJob("backup")).outcome).toBe("failed");
  });

  itWhole("are not begun where the disk has no room for them", async () => {
    const folder = tempFolder("backup");
    const { bridge, sandbox } = await startTestBridge({ folder });
    await bridge.stop();
    const loaded = configFor(sandbox, folder);
    const clock = new FakeClock();
    let free = 100_000;
    const small = new Bridge(
      { loaded, clock, log: collectingLog([]), readSpace: () => ({ free, total: 100 * GB }) },
      "test",
    );
    const failed = await small.runJob("backup");
    expect(failed.error?.message).toMatch(/A copy needs .* are free in .*, the database's own disk/);
    expect(copies(folder)).toEqual([]);
    free = 50 * GB;
    expect(await small.runJob("backup")).toMatchObject({ outcome: "failed" });
    clock.advance(3_600_000);
    expect(await small.runJob("backup")).toMatchObject({ outcome: "done" });
    await small.stop();
  });

  itWhole("that were interrupted are removed by the next one, and nothing of anybody else's is", async () => {
    const folder = tempFolder("backup");
    const { bridge } = await startTestBridge({ folder });
    const place = path.join(folder, "backups");
    mkdirSync(place);
    const others = [
      "bridge-20260101T000000000Z.db.old",
      "other-20260101T000000000Z.db",
      "bridge-notes.db",
      "bridge-20260101T000000000Z.txt.partial",
    ];
    const ours = [
      "bridge-20260101T000000000Z.db.partial",
      "bridge-20260101T000000000Z.db.partial-journal",
      "bridge-20260101T000000000Z.db.config.yaml",
    ];
    for (const name of [...others, ...ours]) writeFileSync(path.join(place, name), "x");
    // Former versions' names do not tell who makes the copy.
    for (const name of ours) utimesSync(path.join(place, name), 1, 1);
    await bridge.runJob("backup");
    const left = readdirSync(place);
    expect(left).toEqual(expect.arrayContaining(others));
    expect(left.filter((name) => ours.includes(name))).toEqual([]);
  });

  itWhole("are broken off at once when the program ends", async () => {
    const folder = tempFolder("backup");
    const { bridge } = await startTestBridge({ folder });
    bridge.store.db.exec("CREATE TABLE large (a INTEGER PRIMARY KEY, b BLOB) STRICT");
    bridge.store.db.exec(
      "INSERT INTO large (b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT randomblob(1000000) FROM n",
    );
    const pass = bridge.runJob("backup");
    await bridge.stop();
    expect((await pass).outcome).toBe("stopped");
    expect(readdirSync(path.join(folder, "backups"))).toEqual([]);
  });
});

describe("a copy by name", () => {
  it("never writes over anything", async () => {
    const folder = tempFolder("backup");
    const { bridge } = await startTestBridge({ folder });
    const order = {
      source: bridge.store.path,
      at: "2026-03-01T12:00:00.000Z",
      configText: "a: 1\n",
      signal: new AbortController().signal,
    };
    const target = path.join(folder, "copy.db");
    writeFileSync(target, "mine");
    await expect(copyDatabase({ ...order, target })).rejects.toMatchObject({ code: "usage" });
    await expect(copyDatabase({ ...order, target: path.join(folder, "none", "copy.db") })).rejects.toMatchObject({
      code: "database_refused",
    });
    expect(statSync(target).size).toBe(4);
    const progress: string[] = [];
    await copyDatabase({
      ...order,
      target: path.join(folder, "second.db"),
      onProgress: ({ step }) => void progress.push(step),
    });
    expect(progress.at(-1)).toBe("verifying");
  });

  itWhole("is thrown away where it is found damaged, also where every page can be read", async () => {
    const folder = tempFolder("backup");
    const { bridge, run } = await startTestBridge({ folder });
    await run("orders");
    const file = path.join(folder, "damaged.db");
    bridge.store.db.prepare("VACUUM INTO ?").run(file);
    const db = new Database(file, { readonly: true });
    const page = db.prepare("SELECT pageno FROM dbstat WHERE name = 'runs_job'").pluck().get() as number;
    db.close();
    // The index names a job that its table does not.
    const at = readFileSync(file).indexOf("orders", (page - 1) * 4096);
    const fd = openSync(file, "r+");
    writeSync(fd, "orderz", at);
    closeSync(fd);
    const order = { at: "2026-03-01T12:00:00.000Z", configText: "", signal: new AbortController().signal };
    await expect(copyDatabase({ ...order, source: file, target: path.join(folder, "copy.db") })).rejects.toMatchObject({
      code: "database_corrupt",
    });
    expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual([]);
  });
});

describe("the names of copies", () => {
  it("give their time back, and the newest is never removed whatever the clock says", () => {
    const named = [1e12, 2e12, 3e12].map((ms) => copyName("bridge", ms));
    expect(findCopies("bridge", [...named].reverse()).map(({ madeMs }) => madeMs)).toEqual([1e12, 2e12, 3e12]);
    expect(
      findCopies("bridge", ["bridge-20261340T000000000Z.db", "bridge-2.db", "bridges-20260101T000000000Z.db"]),
    ).toEqual([]);
    const all = findCopies("bridge", named);
    expect(copiesToRemove(all, { keep: 2, made: named[0]!, nowMs: 4e12 }).map(({ madeMs }) => madeMs)).toEqual([2e12]);
    expect(copiesToRemove(all, { keep: 1, made: named[2]!, nowMs: 4e12 }).map(({ madeMs }) => madeMs)).toEqual([
      1e12, 2e12,
    ]);
    expect(copiesToRemove(all, { keep: 5, made: named[2]!, nowMs: 4e12 })).toEqual([]);
  });

  it("that lie after the present time count for nothing", () => {
    const all = findCopies(
      "bridge",
      [1e12, 2e12, 3e12, 8e12, 9e12].map((ms) => copyName("bridge", ms)),
    );
    const options = { keep: 2, made: copyName("bridge", 3e12), nowMs: 3e12 };
    expect(copiesToRemove(all, options).map(({ madeMs }) => madeMs)).toEqual([1e12]);
  });

  it("tell whether a start should make up for one", () => {
    expect(isCopyLate(undefined, 5 * DAY_MS, DAY_MS)).toBe(true);
    expect(isCopyLate(4.5 * DAY_MS, 5 * DAY_MS, DAY_MS)).toBe(false);
    expect(isCopyLate(3 * DAY_MS, 5 * DAY_MS, DAY_MS)).toBe(true);
    expect(isCopyLate(9 * DAY_MS, 5 * DAY_MS, DAY_MS)).toBe(true);
  });
});
