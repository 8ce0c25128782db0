import { expect, it } from "vitest";
import { initMirror, SHOP } from "../support/mirror.ts";
import { describeWithPostgres, testDatabase } from "../support/postgres.ts";
import { startProgram } from "../support/program.ts";
import { startShop } from "../support/shop.ts";

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

  it("makes a schema of another name beside it", async () => {
    const { url, name, cluster } = await testDatabase();
    expect((await run("--url", url, "--schema", "second")).code).toBe(0);
    expect(await cluster.query(name, "SELECT count(*) FROM second.shops")).toBe("0");
  });

  it("says what is wrong with what was typed, and what PostgreSQL says", async () => {
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
