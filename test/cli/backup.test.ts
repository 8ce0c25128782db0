import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { expectConverged } from "../support/ledger.ts";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

describe("erp-bridge backup", () => {
  itWhole("copies beside a running daemon, with a configuration that holds no secret", async () => {
    const shop = await startShop();
    for (let n = 0; n < 5; n++) shop.sandbox.service.createOrder();
    const daemon = shop.start("run");
    await daemon.says("5 created");
    const copy = path.join(shop.folder, "copy.db");
    const made = await shop.command("backup", copy, "--json");
    expect(made.code).toBe(0);
    expect(JSON.parse(made.out)).toMatchObject({ version: 1, file: copy });
    const db = new Database(copy, { readonly: true });
    expect(db.prepare("SELECT count(*) FROM orders").pluck().get()).toBe(5);
    db.close();
    const config = readFileSync(`${copy}.config.yaml`, "utf8");
    expect(config).toContain(shop.sandbox.url);
    expect(config).not.toContain(shop.sandbox.clientSecret);
    expect(statSync(copy).mode & 0o007).toBe(0);
    const again = await shop.command("backup", copy);
    expect(again).toMatchObject({ code: 64 });
    expect(again.err).toContain("exists already");
    const refused = await shop.command("restore", copy, "--yes");
    expect(refused.code).toBe(75);
    daemon.child.kill("SIGTERM");
    expect(await daemon.exited).toMatchObject({ code: 0 });
  });

  it("refuses a database that is a symbolic link, as the daemon does", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const real = path.join(shop.folder, "real.db");
    renameSync(shop.database, real);
    symlinkSync(real, shop.database);
    const { code, err } = await shop.command("backup", path.join(shop.folder, "copy.db"));
    expect(code).toBe(78);
    expect(err).toContain("bridge.db is a symbolic link.");
  });

  itWhole("says plainly where there is nothing to copy or no place for it", async () => {
    const shop = await startShop();
    expect((await shop.command("backup", path.join(shop.folder, "copy.db"))).code).toBe(78);
    await shop.command("sync", "orders");
    const nowhere = await shop.command("backup", path.join(shop.folder, "none", "copy.db"));
    expect(nowhere.code).toBe(64);
    expect(nowhere.err).toContain(`the folder ${path.join(shop.folder, "none")} is not there`);
    expect(nowhere.err).not.toContain("    at ");
    expect(readdirSync(shop.folder).filter((name) => name.includes("partial"))).toEqual([]);
  });
});

describe("erp-bridge restore", PATIENT, () => {
  itWhole("asks, and without anybody to ask needs to be told", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const copy = path.join(shop.folder, "copy.db");
    await shop.command("backup", copy);
    expect(await shop.command("restore", copy)).toMatchObject({ code: 64 });
    expect(await shop.command("restore", path.join(shop.folder, "none.db"), "--yes")).toMatchObject({ code: 64 });
    writeFileSync(path.join(shop.folder, "text.db"), "no database at all");
    expect(await shop.command("restore", path.join(shop.folder, "text.db"), "--yes")).toMatchObject({ code: 78 });
  });

  itWhole("brings a copy back under the daemon, which goes on where the service is", async () => {
    const shop = await startShop();
    for (let n = 0; n < 3; n++) shop.sandbox.service.createOrder();
    await shop.command("sync", "orders", "updates");
    const copy = path.join(shop.folder, "copy.db");
    await shop.command("backup", copy);
    for (let n = 0; n < 4; n++) shop.sandbox.service.createOrder();
    await shop.command("sync", "orders", "updates");
    const restored = await shop.command("restore", copy, "--yes", "--json");
    expect(restored.code).toBe(0);
    expect(JSON.parse(restored.out)).toMatchObject({ version: 1, complete: true, gap: null, carried: { orders: 4 } });
    await shop.command("sync", "orders", "updates");
    expectConverged(shop);
    expect(readdirSync(shop.folder).filter((name) => name.includes(".replaced-") && name.endsWith("Z"))).toHaveLength(
      1,
    );
  });

  itWhole("ends with 2 and the gap in words where the replaced file is gone, until a person has looked", async () => {
    const shop = await startShop();
    for (let n = 0; n < 3; n++) shop.sandbox.service.createOrder();
    await shop.command("sync", "orders", "updates");
    const copy = path.join(shop.folder, "copy.db");
    await shop.command("backup", copy);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${shop.database}${suffix}`, { force: true });
    const restored = await shop.command("restore", copy, "--yes");
    expect(restored.code).toBe(2);
    expect(restored.out).toContain("Restored at ");
    expect(existsSync(shop.database)).toBe(true);
    const status = await shop.command("status");
    expect(status.code).toBe(2);
    expect(status.out).toContain("restored");
    const synced = await shop.command("sync", "orders", "updates");
    expect(synced.out).not.toMatch(/failed|held:/);
    await shop.command("resume", "orders");
    await shop.command("resume", "stocks", "--hold", "unrestored");
    expect(shop.rows("SELECT * FROM holds")).toEqual([]);
  });

  inWhole("backup/restore-damage").it(
    "leaves the old database where it is killed in the middle, and a second try works",
    PATIENT,
    async () => {
      const shop = await startShop();
      for (let n = 0; n < 3; n++) shop.sandbox.service.createOrder();
      await shop.command("sync", "orders", "updates");
      const copy = path.join(shop.folder, "copy.db");
      await shop.command("backup", copy);
      for (let n = 0; n < 3; n++) {
        const restoring = shop.start("restore", copy, "--yes");
        await restoring.says(["Verifying", "Bringing over", "Verifying the result"][n] ?? "");
        await restoring.kill();
        expect((await shop.command("sync", "orders", "updates")).code).toBe(0);
        expectConverged(shop);
      }
      expect((await shop.command("restore", copy, "--yes")).code).toBe(0);
      expect(readdirSync(shop.folder).filter((name) => name.includes("restor"))).toEqual([]);
    },
  );
});
