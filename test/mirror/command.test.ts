import { expect, it } from "vitest";
import { initMirror, SHOP } from "../support/mirror.ts";
import { describeWithPostgres, testDatabase } from "../support/postgres.ts";
import { startProgram } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

describeWithPostgres("erp-bridge mirror init", () => {
  const run = async (...args: string[]) => {
    const program = startProgram(["mirror", "init", ...args]);
    const { code } = await program.exited;
    return { code, out: program.stdout(), err: program.stderr() };
  };

  it("makes the schema and a shop's role, whose address it shows once", async () => {
    const { url, name, cluster } = await testDatabase();
    const first = await run("--url", url, "--shop", name);
    expect(first).toMatchObject({ code: 0, err: "" });
    const [, address = ""] = /(postgres:\/\/\S+)/.exec(first.out) ?? [];
    expect(new RegExp(`^postgres://erp_bridge_shop_${name}:[\\w-]{32}@/${name}\\?host=`).test(address)).toBe(true);
    const again = await run("--url", url, "--shop", name, "--json");
    expect(again.code).toBe(0);
    expect(JSON.parse(again.out)).toEqual({
      version: 1,
      schema: "erp_bridge",
      applied: [],
      shop: name,
      logins: [{ kind: "shop", role: `erp_bridge_shop_${name}`, url: null }],
    });
    expect(await cluster.query(name, "SELECT shop FROM erp_bridge.shops")).toBe(name);
  });

  itWhole("makes a schema of another name beside it", async () => {
    const { url, name, cluster } = await testDatabase();
    expect((await run("--url", url, "--schema", "second")).code).toBe(0);
    expect(await cluster.query(name, "SELECT count(*) FROM second.shops")).toBe("0");
  });

  itWhole("says what is wrong with what was typed, and what PostgreSQL says", async () => {
    const { url } = await testDatabase();
    for (const args of [
      ["--url", "db.example.com"],
      ["--url", url, "--shop", "North!"],
      ["--url", url, "--schema", "public; DROP"],
      [],
    ]) {
      const { code, err } = await run(...args);
      expect([args, code, err.includes("    at ")]).toEqual([args, 64, false]);
    }
    const refused = await run("--url", `${url.split("?")[0]}?host=/nowhere`, "--shop", SHOP);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("cannot be reached");
  });
});

describeWithPostgres("erp-bridge mirror remove", () => {
  it("takes a shop that is gone out of the mirror, and leaves its orders", async () => {
    const database = await testDatabase();
    await initMirror(database);
    const there = (sql: string) => database.cluster.query(database.name, `SET search_path = erp_bridge; ${sql}`);
    const remove = async (...args: string[]) => {
      const program = startProgram(["mirror", "remove", "--url", database.url, ...args]);
      const { code } = await program.exited;
      return { code, out: program.stdout(), err: program.stderr() };
    };
    await there(`INSERT INTO positions (shop, database_id, orders_seq, events_seq, host, sentence) VALUES ('${SHOP}', 'x', 0, 0, 'till', 'All well.');
      INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'A', 1);
      INSERT INTO orders (shop, order_id, is_cancelled, is_open, revision, erp_revision, received_at, changed_at, lines, hash, epoch, seq)
      VALUES ('${SHOP}', gen_random_uuid(), false, true, 1, 1, now(), now(), '[]', 'x', 0, 0)`);
    expect(await remove("--shop", SHOP)).toMatchObject({ code: 64, err: expect.stringContaining("till") });
    await there("UPDATE positions SET heard_at = now() - interval '8 days'");
    expect(await there("SELECT sentence FROM shops")).toContain(
      `erp-bridge mirror remove --shop ${SHOP}. Before that: All well.`,
    );
    const { code, out } = await remove("--shop", SHOP, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ shop: SHOP, rows: { stock: 1, touched: 1, positions: 1, shop_keys: 1 } });
    expect(
      await there("SELECT (SELECT count(*) FROM shops), (SELECT count(*) FROM orders), (SELECT count(*) FROM touched)"),
    ).toBe("0|1|0");
    await expect(there(`INSERT INTO stock (shop, sku) VALUES ('${SHOP}', 'B')`)).rejects.toThrow("foreign key");
    expect((await remove("--shop", SHOP)).code).toBe(64);
  });
});

describeWithPostgres("erp-bridge check --online", () => {
  it("tries the mirror, and says what is wrong with it", async () => {
    const database = await testDatabase();
    const shop = await startShop({ settings: { mirror: { shop: SHOP, url: database.url } } });
    const tried = async () => {
      const { out } = await shop.command("check", "--online", "--json");
      const { checks } = JSON.parse(out) as { checks: { check: string; ok: boolean; message: string }[] };
      return checks.filter(({ check }) => check === "mirror").map(({ ok, message }) => [ok, message]);
    };
    expect(await tried()).toEqual([[false, expect.stringContaining("no schema erp_bridge")]]);
    await initMirror(database, "another");
    expect(await tried()).toEqual([[false, expect.stringContaining("--shop north")]]);
    await initMirror(database);
    expect(await tried()).toEqual([[true, expect.stringContaining("knows the shop north")]]);
  });
});
