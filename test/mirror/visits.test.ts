import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { probeService } from "../../src/daemon/ask-outside.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { initMirror, SHOP } from "../support/mirror.ts";
import { describeWithPostgres, testDatabase, testProxy } from "../support/postgres.ts";
import { until } from "../support/running-shop.ts";
import { startShop } from "../support/shop.ts";
import { itSome, itWhole, some } from "../support/whole.ts";

const TAKEN = "UPDATE positions SET takeover_no = takeover_no + 1, writer_no = writer_no + 1, host = 'second'";
const AT_WORK =
  "UPDATE positions SET writer = gen_random_uuid(), writer_no = writer_no + 1, heard_at = clock_timestamp()";

/** A shop that has pulled an order and mirrored it, whose daemon has ended. */
async function startFormer() {
  const database = await testDatabase();
  await initMirror(database);
  const proxy = await testProxy();
  const mirror = { shop: SHOP, url: proxy.url(database.name), schedule: "* * * * * *" };
  const shop = await startShop({ settings: { mirror } });
  const there = (sql: string) => database.cluster.query(database.name, `SET search_path = erp_bridge; ${sql}`);
  const daemon = shop.start("run");
  await daemon.says("erp-bridge is running");
  await until(async () => (await there("SELECT count(*) FROM positions WHERE writer IS NOT NULL")) === "1");
  daemon.child.kill("SIGTERM");
  await daemon.exited;
  const asked = () => shop.sandbox.ledger.entries.length;
  return { shop, there, asked, proxy };
}

/** Every command that asks the service itself. */
const COMMANDS: readonly (readonly string[])[] = [
  ["probe"],
  ["probe", "--yes", "--write"],
  ["check", "--online"],
  ["sync"],
  ["sync", "reconcile"],
  ["sync", "stocks", "--again"],
  ["sync", "updates", "--since", "2026-01-01"],
];

describeWithPostgres("a command that asks the service itself", () => {
  itSome(1)([
    ["has taken it over", TAKEN, "second has taken over"],
    ["works for it", AT_WORK, "works for the shop"],
  ])(
    "asks nothing for a shop where another instance %s",
    async (_, change, words) => {
      const { shop, there, asked } = await startFormer();
      await there(change);
      const before = asked();
      for (const command of change === TAKEN ? some(COMMANDS, 2) : COMMANDS.slice(0, 3)) {
        const result = await shop.command(...command);
        expect(result.out + result.err, command.join(" ")).toContain(words);
        expect(result.code, command.join(" ")).toBe(76);
      }
      expect(asked()).toBe(before);
    },
    120_000,
  );

  itWhole(
    "knows a takeover without PostgreSQL, once it was heard of, also where a configuration is made anew",
    async () => {
      const { shop, there, asked, proxy } = await startFormer();
      await there(TAKEN);
      expect((await shop.command("sync", "orders")).code).toBe(76);
      proxy.isRefusing = true;
      proxy.cutAll();
      const before = asked();
      for (const command of COMMANDS) expect((await shop.command(...command)).code, command.join(" ")).toBe(76);
      const { service, database } = loadConfig({ file: shop.configFile, env: process.env }).config;
      const answers = ["--base-url", service.base_url, "--client-id", service.client_id, "--database", database.path];
      const secret = ["--client-secret-file", `${shop.folder}/client-secret`];
      expect(await shop.command("init", "--force", ...answers, ...secret)).toMatchObject({
        code: 76,
        err: expect.stringContaining("second has taken over"),
      });
      expect(asked()).toBe(before);
      // A shop without a mirror is nobody else's.
      const withMirror = readFileSync(shop.configFile, "utf8");
      writeFileSync(shop.configFile, withMirror.replace(/^mirror:\n(?: .*\n)+/m, ""));
      expect((await shop.command("sync", "orders")).code).toBe(0);
      expect((await shop.command("check", "--online")).code).not.toBe(76);
      expect(asked()).toBeGreaterThan(before);
    },
    120_000,
  );

  itWhole(
    "asks where the shop is its own, where PostgreSQL cannot be reached, and beside its own daemon",
    async () => {
      const { shop, asked, proxy } = await startFormer();
      const loaded = loadConfig({ file: shop.configFile, env: process.env });
      const check = async () => {
        const before = asked();
        await probeService(loaded, systemClock);
        expect(asked()).toBeGreaterThan(before);
      };
      await check();
      const daemon = shop.start("run");
      await daemon.says("erp-bridge is running");
      await check();
      proxy.isRefusing = true;
      proxy.cutAll();
      await check();
    },
    60_000,
  );
});

describeWithPostgres("a start beside an instance that works for the shop", () => {
  itSome(1)([
    ["with a database of its own for the same account", "database_id = 'another'"],
    ["with a copy of the database on another host", "host = 'elsewhere'"],
  ])(
    "%s asks the service nothing, and ends once that one is heard of again",
    async (_, change) => {
      const { shop, there, asked } = await startFormer();
      const writer = await there("SELECT writer FROM positions");
      const hear = (what: string) => there(`UPDATE positions SET ${what}, heard_at = clock_timestamp()`);
      await hear(change);
      const before = asked();
      const daemon = shop.start("run");
      await daemon.says("may work for the shop");
      await hear("turn = turn + 1");
      expect((await daemon.exited).code).toBe(76);
      const stopped = shop.start("run");
      await stopped.says("may work for the shop");
      stopped.child.kill("SIGTERM");
      expect((await stopped.exited).code).toBe(0);
      expect(asked()).toBe(before);
      // Neither has claimed the shop.
      expect(await there("SELECT writer FROM positions")).toBe(writer);
    },
    120_000,
  );

  itWhole(
    "goes on without the mirror where the shop of that key is of another account",
    async () => {
      const { shop, there, asked } = await startFormer();
      await there(
        "UPDATE positions SET database_id = 'another', account = 'another', writer = gen_random_uuid(), heard_at = clock_timestamp()",
      );
      const before = asked();
      const daemon = shop.start("run");
      await until(() => asked() > before);
      daemon.child.kill("SIGTERM");
      expect((await daemon.exited).code).toBe(0);
    },
    60_000,
  );
});
