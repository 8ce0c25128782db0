import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { PATIENT } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";

const SETTINGS = { orders: { schedule: "* * * * * *" } };

/** Orders that the service was told are safe, and that are not in the database. */
function lost(shop: Shop): string[] {
  const kept = new Set(shop.rows<{ id: string }>("SELECT order_id AS id FROM orders").map(({ id }) => id));
  return [...shop.sandbox.ledger.confirmedOrderIds()].filter((id) => !kept.has(id));
}

async function confirmed(shop: Shop, count: number): Promise<void> {
  while (shop.sandbox.ledger.confirmedOrderIds().size < count) await new Promise((resolve) => setTimeout(resolve, 20));
}

function addOrders(shop: Shop, count: number): void {
  for (let made = 0; made < count; made++) shop.sandbox.service.createOrder();
}

async function startDaemon(settings = {}) {
  const shop = await startShop({ settings: { ...SETTINGS, ...settings } });
  addOrders(shop, 10);
  const program = shop.start("run");
  await program.says("erp-bridge is running");
  await confirmed(shop, 10);
  return { shop, program };
}

describe("a running daemon", PATIENT, () => {
  it.each(["-wal", "-shm"])("loses nothing where %s is removed, and begins anew by itself", async (suffix) => {
    const { shop, program } = await startDaemon();
    rmSync(`${shop.database}${suffix}`);
    addOrders(shop, 10);
    await program.says("begins anew");
    await confirmed(shop, 20);
    addOrders(shop, 5);
    await confirmed(shop, 25);
    await program.kill();
    expect(lost(shop)).toEqual([]);
    expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });

  it("ends with the reason where another program keeps the removed log, and starts when that is closed", async () => {
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
  });

  it("makes a new lock where its own is removed", async () => {
    const { shop, program } = await startDaemon();
    rmSync(`${shop.database}.lock`);
    await program.says("begins anew");
    await confirmed(shop, 10);
    while (!existsSync(`${shop.database}.lock`)) await new Promise((resolve) => setTimeout(resolve, 20));
    const second = shop.start("run");
    expect((await second.exited).code).toBe(75);
  });

  it.each(["removed", "replaced"])("saves what it holds where the database is %s, and ends", async (how) => {
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
    const restored = shop.start("restore", path.join(shop.folder, saved), "--yes");
    expect((await restored.exited).code, restored.stderr()).toBe(2);
    expect(lost(shop)).toEqual([]);
    addOrders(shop, 5);
    const third = shop.start("run");
    await third.says("erp-bridge is running");
    await confirmed(shop, 15);
    await third.kill();
    expect(lost(shop)).toEqual([]);
  });

  it("stays with its database where a reload names one that is not there", async () => {
    const { shop, program } = await startDaemon();
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
