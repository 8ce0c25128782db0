import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import type { CuttingProxy } from "../../scripts/mirror/cutting-proxy.ts";
import { copyName } from "../../src/database/file/copy-names.ts";
import { initMirror, SHOP } from "../support/mirror.ts";
import { describeWithPostgres, type TestDatabase, testDatabase, testProxy } from "../support/postgres.ts";
import { PATIENT, type Program, startProgram } from "../support/program.ts";
import { addOrders, backUpTo, until } from "../support/running-shop.ts";
import { type CommandResult, runCommand, type Shop, startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const EVERY_SECOND = "* * * * * *";

interface Machines {
  shop: Shop;
  database: TestDatabase;
  /** Between the first machine and PostgreSQL. */
  proxy: CuttingProxy;
  /** The daemon of the first machine, which has stored ten orders, also in PostgreSQL. */
  first: Program;
  there(sql: string): Promise<string>;
  /** Another machine, with a folder of its own. */
  second: { database: string; command(...args: string[]): Promise<CommandResult>; start(...args: string[]): Program };
}

async function startMachines(backup: object = {}): Promise<Machines> {
  const database = await testDatabase();
  await initMirror(database);
  const proxy = await testProxy();
  const role = `erp_bridge_shop_${SHOP}`;
  const mirror = { shop: SHOP, schedule: EVERY_SECOND };
  const shop = await startShop({
    settings: {
      orders: { schedule: EVERY_SECOND },
      updates: { schedule: EVERY_SECOND },
      backup,
      mirror: { ...mirror, url: proxy.url(database.name, role) },
    },
  });
  const there = (sql: string) => database.cluster.query(database.name, `SET search_path = erp_bridge; ${sql}`);
  addOrders(shop, 10);
  const first = shop.start("run");
  await first.says("erp-bridge is running");
  await until(async () => (await there("SELECT count(*) FROM orders")) === "10");
  const folder = path.join(shop.folder, "second");
  mkdirSync(folder);
  const config = path.join(folder, "config.yaml");
  writeFileSync(path.join(folder, "client-secret"), readFileSync(path.join(shop.folder, "client-secret")), {
    mode: 0o600,
  });
  const own = readFileSync(shop.configFile, "utf8");
  writeFileSync(
    config,
    own
      .replaceAll(proxy.url(database.name, role), database.cluster.url(database.name, role))
      .replace("dir: backups", `dir: ${path.join(shop.folder, "backups")}`)
      .replace("journal: journal", `journal: ${path.join(shop.folder, "journal")}`),
  );
  const second = {
    database: path.join(folder, "bridge.db"),
    command: (...args: string[]) => runCommand([...args, "--config", config]),
    start: (...args: string[]) => startProgram([...args, "--config", config]),
  };
  return { shop, database, proxy, first, there, second };
}

function idsIn(file: string): string[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], string>("SELECT order_id FROM orders ORDER BY order_id").pluck().all();
  } finally {
    db.close();
  }
}

/** When its orders came, in the order of their keys. */
function timesIn(file: string): string[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], string>("SELECT received_at FROM orders ORDER BY order_key").pluck().all();
  } finally {
    db.close();
  }
}

const whole = inWhole("mirror/fence", "mirror/visits");

describeWithPostgres("a takeover by another machine", () => {
  whole.it.each([
    ["the newest copy and what PostgreSQL has more", true],
    ["the mirror's orders", false],
  ])(
    "goes on from %s; the former machine ends and says why",
    async (_, hasCopy) => {
      const { shop, first, there, second } = await startMachines();
      if (hasCopy) {
        const folder = path.join(shop.folder, "backups");
        mkdirSync(folder, { recursive: true });
        await backUpTo(shop, path.join(folder, copyName("bridge", Date.now())));
      }
      addOrders(shop, 3);
      await until(async () => (await there("SELECT count(*) FROM orders")) === "13");
      const ids = shop.sandbox.service.orders().map(({ id }) => id);
      await there(
        `INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 5);
         INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${ids[0]}', 1)`,
      );
      await until(async () => shop.rows("SELECT 1 FROM stock").length > 0);

      const taken = await second.command("takeover", "--yes");
      expect(taken.code, taken.err).toBe(0);
      expect(taken.err).toContain(hasCopy ? "backups" : "PostgreSQL");
      expect(idsIn(second.database)).toEqual(ids.toSorted());
      expect(timesIn(second.database)).toEqual(timesIn(second.database).toSorted());
      expect((await first.exited).code).toBe(76);
      expect(first.stderr()).toContain(`has taken over the shop ${SHOP}`);
      const before = shop.sandbox.ledger.entries.length;
      const again = shop.start("run");
      expect((await again.exited).code).toBe(76);
      expect(shop.sandbox.ledger.entries).toHaveLength(before);
      const status = await shop.command("status");
      expect(status.out + status.err).toContain(`has taken over the shop ${SHOP}`);

      const here = await second.command("status");
      expect(here.out).toMatch(/last order \d/);
      const daemon = second.start("run");
      await daemon.says("erp-bridge is running");
      addOrders(shop, 1);
      await until(async () => (await there("SELECT count(*) FROM orders")) === String(ids.length + 1));
      await until(() => idsIn(second.database).length === ids.length + 1);
      const db = new Database(second.database, { readonly: true });
      await until(() => db.prepare("SELECT 1 FROM stock WHERE sku = 'A' AND quantity = 5").get() !== undefined);
      await until(() => db.prepare("SELECT 1 FROM erp_orders WHERE seen_revision = 1").get() !== undefined);
      const revisions = db.prepare("SELECT order_id, revision FROM orders").all() as {
        order_id: string;
        revision: number;
      }[];
      expect(revisions.filter(({ order_id, revision }) => ids.includes(order_id) && revision > 1)).toEqual([]);
      // Later ones begin beyond all that the former machine can have given.
      expect(revisions.filter(({ revision }) => revision > 1)).toHaveLength(1);
      db.close();
    },
    PATIENT.timeout,
  );

  itWhole(
    "brings to the machine that has the shop already what PostgreSQL alone has",
    async () => {
      const { shop, first } = await startMachines();
      first.child.kill("SIGTERM");
      await first.exited;
      const ids = idsIn(shop.database);
      expect(await shop.command("takeover", "--yes")).toMatchObject({
        code: 0,
        out: expect.stringContaining("nothing was changed"),
      });
      // As after a restore of a copy from before the order.
      const db = new Database(shop.database);
      db.exec("DELETE FROM order_line_rows WHERE order_key = 3; DELETE FROM orders WHERE order_key = 3");
      db.close();
      const taken = await shop.command("takeover", "--yes");
      expect(taken.code, taken.err).toBe(0);
      expect(idsIn(shop.database)).toEqual(ids);
    },
    PATIENT.timeout,
  );

  itWhole(
    "has what only the journal has, and what only PostgreSQL has",
    async () => {
      const { shop, first, proxy, second, there } = await startMachines({ journal: "journal" });
      proxy.isRefusing = true;
      proxy.cutAll();
      addOrders(shop, 3);
      await until(() => shop.rows("SELECT 1 FROM orders").length === 13);
      first.child.kill("SIGKILL");
      await first.exited;
      expect(await there("SELECT count(*) FROM orders")).toBe("10");
      await there(`CREATE TEMP TABLE one AS SELECT * FROM orders LIMIT 1; UPDATE one SET order_id = '11111111-1111-4111-8111-111111111111';
        INSERT INTO orders SELECT * FROM one`);
      const taken = await second.command("takeover", "--yes", "--json");
      expect(taken.code, taken.err).toBe(0);
      const ids = shop.sandbox.service.orders().map(({ id }) => id);
      expect(idsIn(second.database)).toEqual([...ids, "11111111-1111-4111-8111-111111111111"].toSorted());
    },
    PATIENT.timeout,
  );

  inWhole("mirror/fence").it(
    "outlives a restore of an older copy, and goes back to the database that was there before",
    async () => {
      const { shop, first, second, there } = await startMachines();
      const copy = path.join(shop.folder, "backups", copyName("bridge", Date.now()));
      mkdirSync(path.dirname(copy), { recursive: true });
      await backUpTo(shop, copy);
      expect((await second.command("takeover", "--yes")).code).toBe(0);
      expect((await first.exited).code).toBe(76);
      // The copy is of before the takeover: its machine would be fenced.
      const restored = await second.command("restore", copy, "--yes");
      expect(restored.code, restored.err).toBe(2);
      const daemon = second.start("run");
      await daemon.says("erp-bridge is running");
      addOrders(shop, 2);
      await until(async () => (await there("SELECT count(*) FROM orders")) === "12");
      daemon.child.kill("SIGTERM");
      expect((await daemon.exited).code).toBe(0);

      const back = await shop.command("takeover", "--yes");
      expect(back.code, back.err).toBe(0);
      expect(back.err).toContain("goes on");
      expect(shop.rows("SELECT 1 FROM orders")).toHaveLength(12);
      expect(await there("SELECT takeover_no FROM positions")).toBe("2");
      const again = shop.start("run");
      await again.says("erp-bridge is running");
      addOrders(shop, 1);
      await until(async () => (await there("SELECT count(*) FROM orders")) === "13");
      again.child.kill("SIGTERM");
      await again.exited;
      expect((await second.start("run").exited).code).toBe(76);
    },
    PATIENT.timeout,
  );

  itWhole.each(["journal", "copy"])(
    "goes back with what the %s of the other machine has and PostgreSQL lacks, and the next start has nothing to say of it",
    async (source) => {
      const { shop, first, second, there } = await startMachines({ journal: "journal" });
      expect((await second.command("takeover", "--yes")).code).toBe(0);
      expect((await first.exited).code).toBe(76);
      const daemon = second.start("run");
      await daemon.says("erp-bridge is running");
      addOrders(shop, 2);
      await until(async () => (await there("SELECT count(*) FROM orders")) === "12");
      const folder = path.join(shop.folder, "backups");
      mkdirSync(folder, { recursive: true });
      expect((await second.command("backup", path.join(folder, copyName("bridge", Date.now())))).code).toBe(0);
      daemon.child.kill("SIGTERM");
      expect((await daemon.exited).code).toBe(0);
      // It came while PostgreSQL was away.
      const last = shop.sandbox.service.orders().at(-1)?.id ?? "";
      await there(`DELETE FROM orders WHERE order_id = '${last}'`);
      if (source === "copy") rmSync(path.join(shop.folder, "journal"), { recursive: true });

      const back = await shop.command("takeover", "--yes");
      expect(back.code, back.err).toBe(0);
      expect(shop.rows("SELECT 1 FROM orders WHERE order_id = ?", last)).toHaveLength(source === "journal" ? 1 : 0);
      const again = shop.start("run");
      await again.says("erp-bridge is running");
      await until(() => shop.rows("SELECT 1 FROM orders").length === 12);
      await until(async () => (await there("SELECT count(*) FROM orders")) === "12");
      expect(again.stderr()).not.toContain("set back to an earlier state");
      expect(shop.rows("SELECT 1 FROM holds WHERE reason = 'restored'")).toEqual([]);
    },
    PATIENT.timeout,
  );

  itWhole(
    "says on each machine who has the shop, and has nothing to take over where that is this one",
    async () => {
      const { shop, first, second } = await startMachines();
      expect((await second.command("takeover", "--yes")).code).toBe(0);
      expect((await first.exited).code).toBe(76);
      const former = await shop.command("status");
      expect(former.code).toBe(76);
      // Nothing else is to be typed there.
      expect(former.out.split("\n")[0]).toMatch(
        /^Another bridge on this machine.* has taken over the shop .* type erp-bridge takeover here\. /,
      );
      expect(former.out).not.toContain("not running");
      expect((await second.command("status")).out).toMatch(
        /^The daemon is not running\..*\n {2}Next: erp-bridge run --config/,
      );
      const again = await second.command("takeover", "--yes");
      expect(again).toMatchObject({ code: 0, err: "", out: expect.stringContaining("already") });
      // What it was before is over.
      expect((await shop.command("takeover", "--yes")).out).toContain("Start it: erp-bridge run --config");
      expect((await shop.command("status")).out).toMatch(/^The daemon is not running\./);
    },
    PATIENT.timeout,
  );

  itWhole("asks whether the former server is off where it is not heard of, and nobody is asked in vain", async () => {
    const { database, shop, first, proxy, second, there } = await startMachines();
    const refused = await second.command("takeover");
    expect(refused.code).toBe(64);
    expect(refused.err).toContain("--yes");
    proxy.isRefusing = true;
    proxy.cutAll();
    await there("UPDATE positions SET heard_at = now() - interval '10 minutes'");
    const taken = await second.command("takeover", "--yes");
    expect(taken.code, taken.err).toBe(0);
    expect(taken.err).toContain("is off and stays off");
    // It goes on while it does not learn of it, and ends once it does.
    addOrders(shop, 3);
    const confirmed = "SELECT 1 FROM orders WHERE (SELECT count(*) FROM batches WHERE state <> 'confirmed') = 0";
    await until(() => shop.rows("SELECT 1 FROM orders").length === 13 && shop.rows(confirmed).length === 13);
    expect(first.child.exitCode).toBeNull();
    proxy.isRefusing = false;
    expect((await first.exited).code).toBe(76);
    expect(first.stderr()).toContain("3 orders taken here since were left for it");
    const daemon = second.start("run");
    await daemon.says("erp-bridge is running");
    // They were confirmed, and come to nobody again.
    await until(() => idsIn(second.database).length === 13);
    await daemon.says("worked for this shop beside this machine");
    expect(await there("SELECT count(*) FROM strays")).toBe("0");
    const db = new Database(second.database, { readonly: true });
    expect(db.prepare("SELECT DISTINCT doubt_since FROM feeds").pluck().all()).not.toEqual([]);
    db.close();
    expect(await database.cluster.query(database.name, "SELECT takeover_no FROM erp_bridge.positions")).toBe("1");
  });

  itWhole("is refused without a mirror, and for a shop that nobody knows", async () => {
    const shop = await startShop();
    expect(await shop.command("takeover", "--yes")).toMatchObject({
      code: 64,
      err: expect.stringContaining("no mirror"),
    });
    const database = await testDatabase();
    await initMirror(database);
    shop.writeConfig({ mirror: { shop: SHOP, url: database.url } });
    expect(await shop.command("takeover", "--yes")).toMatchObject({ code: 64, err: expect.stringContaining(SHOP) });
  });

  itWhole("is refused where the shop belongs to another account, with nothing claimed", async () => {
    const shop = await startShop({ settings: { orders: { schedule: EVERY_SECOND } } });
    const database = await testDatabase();
    await initMirror(database);
    const there = (sql: string) => database.cluster.query(database.name, `SET search_path = erp_bridge; ${sql}`);
    await there(
      `INSERT INTO positions (shop, database_id, orders_seq, events_seq, account) VALUES ('${SHOP}', 'x', 0, 0, 'of another')`,
    );
    shop.writeConfig({ mirror: { shop: SHOP, url: database.url } });
    expect(await shop.command("takeover", "--yes")).toMatchObject({
      code: 78,
      err: expect.stringContaining("another account"),
    });
    expect(await there("SELECT takeover_no FROM positions")).toBe("0");
    await there("UPDATE positions SET account = NULL");
    expect(await shop.command("takeover", "--yes")).toMatchObject({ code: 0 });
    expect(await there("SELECT takeover_no, account <> 'of another' FROM positions")).toBe("1|t");
  });
});
