import { rmSync, writeFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { mergeSettings, startTestBridge } from "../support/bridge.ts";
import { SLOW, whileWaiting } from "../support/turns.ts";
import { itSome } from "../support/whole.ts";

describe("what must be on disk before a request leaves", () => {
  const unnamed = { orders: { confirm: { body: {} } } };
  const stocks = {
    imports: {
      stocks: {
        table: "erp_stock",
        key: ["sku"],
        available: "quantity",
        record: { sku: "{sku}", quantity: "{available}" },
      },
    },
  };

  itSome(1)([
    ["a confirm", {}, "confirm"],
    ["a pull whose confirm names nothing", unnamed, "orders"],
    ["an import", stocks, "import"],
  ] as const)("is looked at when its turn has come: %s", async (_what, settings, kind) => {
    const { sandbox, bridge, clock, run } = await startTestBridge({ settings: mergeSettings(SLOW, settings) });
    const { store } = bridge;
    if (kind === "import") {
      store.db.exec("CREATE TABLE erp_stock (sku TEXT PRIMARY KEY, quantity INTEGER)");
      await run("orders");
      store.db.exec("INSERT INTO erp_stock VALUES ('A-1', 3)");
    }
    if (kind === "orders") await run("orders");
    sandbox.service.createOrder();
    const before = sandbox.ledger.ofKind(kind).length;
    const journal = `${store.path}-journal`;
    whileWaiting(clock, () => writeFileSync(journal, Buffer.alloc(512, 1)));
    const job = kind === "import" ? "stocks" : "orders";
    const { error } = await run(job);
    expect(error?.code).toBe("database_refused");
    expect(sandbox.ledger.ofKind(kind)).toHaveLength(before);
    rmSync(journal);
    clock.advance(3_600_000);
    await run(job);
    expect(sandbox.ledger.ofKind(kind).length).toBeGreaterThan(before);
  });
});
