import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Settings } from "../support/bridge.ts";
import { PATIENT, type Program } from "../support/program.ts";
import { addOrders, confirmed, freePort, stored, until } from "../support/running-shop.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole } from "../support/whole.ts";

const whole = inWhole(
  "platform/helper-process",
  "backup/journal",
  "feeds/push-sources",
  "feeds/images/push-image-trouble",
);
const EVERY_SECOND = "* * * * * *";
const SOURCE = path.join(import.meta.dirname, "..", "support", "dead-disk.c");
const hasCompiler = process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0;
const PNG = Buffer.from("89504e470d0a1a0a0000000d4948445200000001000000010806000000", "hex");

interface Scene {
  shop: Shop;
  program: Program;
  port: number;
  die: () => void;
  revive: () => void;
}

/** A shop whose folder `net` lies on a disk that can stop to answer; it has confirmed three orders. */
async function startOnNet(settings: Settings): Promise<Scene> {
  const folder = tempFolder("net");
  const library = path.join(folder, "dead-disk.so");
  const built = spawnSync("gcc", ["-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], { encoding: "utf8" });
  expect(built.status, built.stderr).toBe(0);
  const net = path.join(folder, "net");
  mkdirSync(net);
  const erp = new Database(path.join(net, "erp.db"));
  erp.exec("CREATE TABLE goods (sku TEXT PRIMARY KEY, quantity); INSERT INTO goods VALUES ('A', 5)");
  erp.close();
  writeFileSync(path.join(net, "a.png"), PNG);
  const flag = path.join(folder, "dead");
  const port = await freePort();
  const shop = await startShop({
    folder,
    settings: { orders: { schedule: EVERY_SECOND }, http: { listen: `127.0.0.1:${port}` }, ...settings },
    env: { LD_PRELOAD: library, DEAD_PREFIX: net, DEAD_FLAG: flag },
  });
  writeFileSync(path.join(net, "client-secret"), `${shop.sandbox.clientSecret}\n`, { mode: 0o600 });
  addOrders(shop, 3);
  const program = shop.start("run");
  await program.says("erp-bridge is running");
  await confirmed(shop, 3);
  return { shop, program, port, die: () => writeFileSync(flag, ""), revive: () => rmSync(flag) };
}

async function stopsInTime(program: Program): Promise<void> {
  const startedMs = performance.now();
  program.child.kill("SIGTERM");
  expect(await program.exited, program.stderr()).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedMs).toBeLessThan(10_000);
}

const prices = { prices: { path: "/api/v1/import/prices", schedule: EVERY_SECOND } };
const setPrice = (shop: Shop, price: string) =>
  shop.write(
    "INSERT INTO prices (sku, price_type, price) VALUES ('A', '', ?) ON CONFLICT DO UPDATE SET price = excluded.price",
    price,
  );
const priceOf = (shop: Shop) => [...shop.sandbox.service.imported("prices").values()].join();

const describeHere = hasCompiler ? whole.describe : describe.skip;

describeHere("a disk that does not answer (needs gcc)", PATIENT, () => {
  it("under a feed's file, the images, the copies and the configuration's secret stops nothing else, nor the end", async () => {
    const { shop, program, port, die } = await startOnNet({
      backup: { dir: "net/copies", schedule: "*/2 * * * * *" },
      imports: {
        stocks: {
          schedule: EVERY_SECOND,
          file: "net/erp.db",
          table: "goods",
          key: ["sku"],
          available: "quantity",
          record: { sku: "{sku}", quantity: "{available|number}" },
        },
        images: {
          path: "/api/v1/import/images",
          schedule: EVERY_SECOND,
          send: "base64",
          folder: "net",
          record: { sku: "{sku}", position: "{position|number}", content: "{file.base64}" },
        },
        ...prices,
      },
    });
    await until(() => shop.sandbox.service.imported("stocks").size === 1);
    die();
    shop.write("INSERT INTO images (sku, position, source) VALUES ('A', 1, 'a.png')");
    for (let round = 1; round <= 3; round++) {
      addOrders(shop, 2);
      setPrice(shop, `${round}.50`);
      await confirmed(shop, 3 + 2 * round);
      await until(() => priceOf(shop).includes(`${round}.5`));
    }
    expect(stored(shop).size).toBe(9);
    expect(shop.sandbox.service.imported("images").size).toBe(0);
    expect([200, 503]).toContain((await fetch(`http://127.0.0.1:${port}/health`)).status);
    shop.writeConfig({ service: { client_secret_file: "net/client-secret" } });
    program.child.kill("SIGHUP");
    addOrders(shop, 1);
    await confirmed(shop, 10);
    await stopsInTime(program);
  });

  it("under the journal keeps orders unconfirmed, and everything goes on with it", async () => {
    const { shop, program, die, revive } = await startOnNet({ backup: { journal: "net/journal" }, imports: prices });
    die();
    addOrders(shop, 2);
    setPrice(shop, "7.50");
    await until(() => priceOf(shop).includes("7.5"));
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(3);
    revive();
    await confirmed(shop, 5);
    die();
    addOrders(shop, 1);
    await until(() => stored(shop).size >= 5);
    await stopsInTime(program);
    revive();
    const again = shop.start("run");
    await again.says("erp-bridge is running");
    await confirmed(shop, 6);
    await stopsInTime(again);
  });
});
