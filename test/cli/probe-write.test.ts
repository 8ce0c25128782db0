import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeProposal } from "../../src/cli/write-proposal.ts";
import { loadConfig } from "../../src/config/load.ts";
import { main } from "../../src/main.ts";
import { addOrders, confirmed, lost, until } from "../support/running-shop.ts";
import { startShop } from "../support/shop.ts";
import { typingTerminal } from "../support/typing.ts";
import { itWhole } from "../support/whole.ts";

const FOREIGN = {
  shape: { batch: ["data", "list"], order: { number: "num" }, line: { sku: "article" } },
  updates: { since: "unix_ms" },
} as const;

const KEYS = { "orders.batch.orders": "$.data.list", "orders.fields.number": "$.num", "orders.line.sku": "$.article" };

describe("probe --write", () => {
  itWhole("puts what it found into the file, shows the lines, keeps the file as it was, and asks nobody", async () => {
    const shop = await startShop({ sandbox: { options: FOREIGN }, settings: { orders: { schedule: "0 0 1 1 *" } } });
    addOrders(shop, 3);
    const run = (...args: string[]) => {
      const terminal = typingTerminal();
      return main([...args, "--config", shop.configFile], terminal).then((code) => ({ code, terminal }));
    };
    const before = `# mine\n${readFileSync(shop.configFile, "utf8")}`;
    writeFileSync(shop.configFile, before);
    chmodSync(shop.configFile, 0o640);
    expect((await run("sync", "orders")).code).not.toBe(0);
    const proposed = await run("probe");
    expect(proposed.terminal.stdout.join("\n")).toContain(`→ erp-bridge probe --write --config ${shop.configFile}`);
    expect(readFileSync(shop.configFile, "utf8")).toBe(before);

    const { code, terminal } = await run("probe", "--write");
    expect(code).toBe(0);
    const said = terminal.stdout.join("\n");
    for (const line of ["+     orders: $.data.list", "+     number: $.num", "+     sku: $.article", "+   since: unix"])
      expect(said).toContain(line);
    const kept = readdirSync(shop.folder).filter((name) => name.startsWith("config.yaml.before-"));
    expect(kept.map((name) => readFileSync(path.join(shop.folder, name), "utf8"))).toEqual([before]);
    expect(statSync(shop.configFile).mode & 0o777).toBe(0o640);
    const after = readFileSync(shop.configFile, "utf8");
    expect(after).toMatch(/^# mine\n/);
    expect(said).toContain(`Next: erp-bridge sync orders updates --config ${shop.configFile}`);
    expect((await run("sync", "orders", "updates")).code).toBe(0);
    expect(shop.rows("SELECT count(*) AS n, count(number) AS named FROM orders")).toEqual([{ n: 3, named: 3 }]);
    expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(3);

    const again = await run("probe", "--write", "--json");
    expect(JSON.parse(again.terminal.stdout[0]!)).toMatchObject({ proposal: "", written: null });
    expect(readFileSync(shop.configFile, "utf8")).toBe(after);
  });

  itWhole(
    "is named by a sync that meets other shapes, and finds where one order stands from the batch that was kept",
    async () => {
      const snapshot = { shape: { ...FOREIGN.shape, snapshot: ["заказ"], updates: ["изменения"] } };
      const settings = { updates: { changes: "$.изменения" } };
      const shop = await startShop({ sandbox: { options: snapshot }, settings });
      const order = shop.sandbox.service.createOrder();
      const { code, err } = await shop.command("sync", "orders");
      expect(code).toBe(1);
      expect(err).toContain(`Next: erp-bridge probe --write --config ${shop.configFile}`);
      const { out } = await shop.command("probe", "--write");
      expect(out).toContain("+   snapshot: $.заказ");
      expect(shop.sandbox.ledger.confirmedOrderIds().size).toBe(0);
      const stored = await shop.command("sync", "orders", "updates");
      expect({ code: stored.code, err: stored.err }).toEqual({ code: 0, err: "" });
      shop.sandbox.service.changeOrder(order, { status: "paid" });
      expect((await shop.command("sync", "updates")).code).toBe(0);
    },
  );

  itWhole("tells a running daemon, which then stores and confirms the kept batch", async () => {
    const settings = { orders: { schedule: "* * * * * *" } };
    const shop = await startShop({ sandbox: { options: { ...FOREIGN, updates: {} } }, settings });
    addOrders(shop, 3);
    const program = shop.start("run");
    await program.says("erp-bridge is running");
    await until(() => shop.rows("SELECT 1 FROM batches WHERE state = 'unread'").length > 0);
    const loaded = loadConfig({ file: shop.configFile, env: {} });
    expect(writeProposal(loaded, KEYS, {}).reload).toBe("asked");
    await confirmed(shop, 3);
    expect(lost(shop)).toEqual([]);
    expect(shop.rows("SELECT count(number) AS named FROM orders")).toEqual([{ named: 3 }]);
  });

  it("leaves a file alone that would not be accepted then, or that it cannot edit without changing something else", async () => {
    const shop = await startShop({ settings: { orders: { extra: { a: "$.a" } } } });
    const read = () => readFileSync(shop.configFile, "utf8");
    const loaded = loadConfig({ file: shop.configFile, env: {} });
    const before = read();
    expect(() => writeProposal(loaded, { "orders.batch.orders": "no path" }, {})).toThrow(/orders\.batch\.orders/);
    expect(read()).toBe(before);
    const shared = before.replace("extra:", "extra: &shared").replace(/$/, "  line_extra: *shared\n");
    writeFileSync(shop.configFile, shared);
    expect(() => writeProposal(loaded, { "orders.line_extra.b": "$.b" }, {})).toThrow(/cannot be written into/);
    expect(read()).toBe(shared);
    expect(readdirSync(shop.folder).filter((name) => name.includes(".before-"))).toEqual([]);
  });
});
