import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { copyDatabase } from "../../src/backup/copy-database.ts";
import { readOwnerOfCopy } from "../../src/backup/copy-owner.ts";
import { unfinishedName } from "../../src/backup/unfinished-copy.ts";
import { loadMeta } from "../../src/database/meta.ts";
import { isForeign } from "../../src/platform/owner.ts";
import { createOrders } from "../support/pull.ts";
import { drain, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("backup/shared-folders");

describe("whose a copy or an entry is", () => {
  const own = { account: "a", database: "1" };
  itSome(1)([
    [{ account: "a", database: "1" }, false],
    [{ account: "b", database: "1" }, false], // the same shop under another address
    [{ account: "a", database: "2" }, false], // the shop's former database
    [{ account: "b", database: "2" }, true],
    [{ account: "b", database: undefined }, true],
    [{ account: undefined, database: undefined }, false], // made by an older version
  ])("%j", (made, foreign) => expect(isForeign(made, own)).toBe(foreign));
});

describe("two shops that share the folders of copies and of the journal", () => {
  async function startTwo() {
    const shared = tempFolder("shared");
    const backup = { dir: path.join(shared, "backups"), journal: path.join(shared, "journal"), keep: 1 };
    const north = await startScene({ backup });
    const south = await startScene({ backup, service: { client_id: "south" } }, { sandbox: { clientId: "south" } });
    return { north, south, ...backup };
  }

  itWhole("leave each other's only copy alone, and name it", async () => {
    const { north, south, dir } = await startTwo();
    expect((await north.run("backup")).error).toBeNull();
    const [first = ""] = readdirSync(dir).filter((name) => name.endsWith(".db"));
    for (let night = 0; night < 3; night++) {
      south.clock.advance(86_400_000);
      expect((await south.run("backup")).error).toBeNull();
    }
    const copies = readdirSync(dir).filter((name) => name.endsWith(".db"));
    expect(copies).toContain(first);
    expect(copies).toHaveLength(2);
    expect(south.logs.map(({ message }) => message)).toContainEqual(expect.stringContaining(`left alone: ${first}`));
    expect(readOwnerOfCopy(path.join(dir, first)).account).toContain("sandbox");
  });

  itWhole("leave alone what the other is making, until nobody can be making it any more", async () => {
    const { north, south, dir } = await startTwo();
    mkdirSync(dir);
    const [own, theirs] = [south, north].map(({ bridge }) => loadMeta(bridge.store, "database"));
    let day = 10;
    const leave = (database: string | undefined, { pid = process.pid, isOld = false } = {}) => {
      const target = path.join(dir, `bridge-202601${day++}T000000000Z.db`);
      const file = unfinishedName(target, database).replace(`-${process.pid}.`, `-${pid}.`);
      const names = [file, `${file}-journal`, `${target}.config.yaml`];
      for (const name of names) writeFileSync(name, "x");
      if (isOld) for (const name of names) utimesSync(name, Date.now() / 1_000 - 90_000, Date.now() / 1_000 - 90_000);
      return names;
    };
    const ended = spawnSync(process.execPath, ["--version"]).pid;
    const kept = [leave(theirs), leave(theirs, { pid: ended }), leave(own), leave(undefined)];
    const gone = [leave(own, { pid: ended }), leave(theirs, { isOld: true }), leave(undefined, { isOld: true })];
    expect((await south.run("backup")).error).toBeNull();
    expect(kept.flat().filter((name) => !existsSync(name))).toEqual([]);
    expect(gone.flat().filter((name) => existsSync(name))).toEqual([]);
  });

  itWhole("copy at the same time, to names of their own", async () => {
    const { north, south, dir } = await startTwo();
    const results = await Promise.all([north.run("backup"), south.run("backup")]);
    expect(results.map(({ error }) => error)).toEqual([null, null]);
    const copies = readdirSync(dir).filter((name) => name.endsWith(".db"));
    expect(new Set(copies.map((name) => readOwnerOfCopy(path.join(dir, name)).database)).size).toBe(2);
    expect(readdirSync(dir)).toHaveLength(4);
  });

  whole.it("let a copy be finished during which the other begins", async () => {
    const { north, south, dir } = await startTwo();
    north.bridge.store.db.exec("CREATE TABLE large (a INTEGER PRIMARY KEY, b BLOB) STRICT");
    north.bridge.store.db.exec(
      "INSERT INTO large (b) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80) SELECT randomblob(1000000) FROM n",
    );
    south.clock.advance(1_000);
    const pass = north.run("backup");
    const isUnderWay = (name: string) => name.endsWith(".partial") && statSync(path.join(dir, name)).size > 0;
    await expect.poll(() => existsSync(dir) && readdirSync(dir).some(isUnderWay), { interval: 5 }).toBe(true);
    expect((await south.run("backup")).error).toBeNull();
    expect((await pass).error).toBeNull();
    expect(readdirSync(dir)).toHaveLength(4);
  });

  whole.it("let two commands copy to one name: the one that ends first has it", async () => {
    const { north } = await startTwo();
    const target = path.join(north.folder, "copy.db");
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"]);
    onTestFinished(() => void other.kill());
    const database = loadMeta(north.bridge.store, "database");
    const theirs = unfinishedName(target, database).replace(`-${process.pid}.`, `-${other.pid}.`);
    const left = unfinishedName(target, database);
    for (const file of [theirs, left]) writeFileSync(file, "x");
    const { signal } = new AbortController();
    const at = new Date(north.clock.nowMs()).toISOString();
    await copyDatabase({ source: north.database, target, at, configText: "", signal });
    expect([target, theirs, left].map((file) => existsSync(file))).toEqual([true, true, false]);
  });

  itWhole("take nothing of each other's journal, and remove nothing of it", async () => {
    const { north, south, journal } = await startTwo();
    createOrders(north, 3);
    await drain(north);
    await north.backUp();
    const theirs = readdirSync(journal);
    createOrders(south, 5);
    await drain(south);
    await south.backUp();
    for (let night = 0; night < 4; night++) {
      south.clock.advance(86_400_000);
      await south.restart();
      createOrders(south, 1);
      await drain(south);
      await south.run("backup");
    }
    expect(readdirSync(journal)).toEqual(expect.arrayContaining(theirs));
    createOrders(north, 2);
    await drain(north);
    const report = await north.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${north.database}${suffix}`, { force: true });
    });
    expect(report.notes.map(String).join(" ")).toContain("Another shop's journal was left alone");
    expect(north.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 5 }]);
  });
});

whole.describe("a database that was there before and is gone", () => {
  it("is not begun anew silently: by what stays beside it, by a copy, by the journal", async () => {
    const scene = await startScene({ backup: { journal: "journal" } });
    createOrders(scene, 3);
    await drain(scene);
    await scene.run("backup");
    await scene.bridge.stop();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    const left = [`${scene.database}.id`, path.join(scene.folder, "backups"), path.join(scene.folder, "journal")];
    for (const name of left) {
      await expect(scene.restart()).rejects.toMatchObject({
        code: "database_refused",
        message: expect.stringContaining("is gone, and there was one before"),
      });
      expect(existsSync(scene.database)).toBe(false);
      // The ERP comes first: it makes a file by opening the database.
      const erp = new Database(scene.database);
      if (name.endsWith("journal")) erp.exec("CREATE TABLE own (a)");
      await expect(scene.restart()).rejects.toMatchObject({
        code: "database_refused",
        message: expect.stringContaining("another program has made this file"),
      });
      erp.close();
      rmSync(scene.database, { force: true });
      rmSync(name, { recursive: true });
    }
    await scene.restart();
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 0 }]);
  });
});

describe("credentials that were changed", () => {
  it("lift the hold of the former ones at the next start, and the same ones do not", async () => {
    const scene = await startScene();
    scene.sandbox.faults.add({ times: "forever", do: { kind: "status", status: 401 } });
    await scene.run("orders");
    const holds = () => scene.rows("SELECT area FROM holds WHERE reason = 'credentials'");
    expect(holds()).not.toEqual([]);
    await scene.restart();
    expect(holds()).not.toEqual([]);
    await scene.restart({ service: { client_secret: "the-right-one-after-all" } });
    expect(holds()).toEqual([]);
    expect(JSON.stringify(scene.rows("SELECT value FROM meta"))).not.toContain("the-right-one");
  });
});
