import { existsSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { readOwnerOfCopy } from "../../src/backup/copy-owner.ts";
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

  it("leave each other's only copy alone, and name it", async () => {
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
