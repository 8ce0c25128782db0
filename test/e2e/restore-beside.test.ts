import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished } from "vitest";
import { PATIENT } from "../support/program.ts";
import { addOrders } from "../support/running-shop.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

const LIBRARY = createRequire(import.meta.url).resolve("better-sqlite3");

/** A shop with a copy, after which it took up another order. */
async function scene(): Promise<{ shop: Shop; copy: string }> {
  const shop = await startShop();
  addOrders(shop, 2);
  await shop.command("sync", "orders");
  const copy = path.join(shop.folder, "copy.db");
  expect((await shop.command("backup", copy)).code).toBe(0);
  addOrders(shop, 1);
  await shop.command("sync", "orders");
  return { shop, copy };
}

/** Another program that executes this, says so, and keeps its connection. */
async function open(shop: Shop, sql: string) {
  const program = `const db = new (require(${JSON.stringify(LIBRARY)}))(${JSON.stringify(shop.database)});
    db.exec(${JSON.stringify(sql)}); console.log("open"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

const restore = async ({ shop, copy }: { shop: Shop; copy: string }) => {
  const { code, out, err } = await shop.command("restore", copy, "--yes");
  return { code, said: out + err };
};

describe.skipIf(process.platform !== "linux")("restore beside another program", PATIENT, () => {
  itSome(1)([
    ["has the database open", "SELECT count(*) FROM orders"],
    ["is in the middle of a transaction", "BEGIN IMMEDIATE; INSERT INTO stock (sku, quantity) VALUES ('A', 0)"],
  ])("that %s refuses, names it and changes nothing", async (_, sql) => {
    const at = await scene();
    const other = await open(at.shop, sql);
    const { code, said } = await restore(at);
    expect(code, said).toBe(75);
    expect(said).toContain(`is open in node (process ${other.pid}); nothing was changed.`);
    expect(readdirSync(at.shop.folder).filter((name) => /replaced|restor/.test(name))).toEqual([]);
    other.kill("SIGKILL");
    await once(other, "exit");
    expect((await restore(at)).code).toBe(0);
    expect(at.shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 3 }]);
  });

  itWhole("that was overlooked makes that program's next statement fail", async () => {
    const { shop, copy } = await scene();
    // This process itself: its own connections are not looked for.
    const erp = new Database(shop.database);
    erp.prepare("SELECT count(*) FROM orders").get();
    expect((await shop.command("restore", copy, "--yes")).code).toBe(0);
    expect(() => erp.prepare("SELECT count(*) FROM orders").get()).toThrow("unable to open database file");
    expect(() => erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)")).toThrow("unable to open database file");
    erp.close();
    const [replaced] = readdirSync(shop.folder).filter((name) => /replaced-\w+$/.test(name));
    const kept = new Database(path.join(shop.folder, replaced!), { readonly: true });
    expect(kept.prepare("SELECT count(*) FROM orders").pluck().get()).toBe(3);
    kept.close();
    expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 3 }]);
  });
});
