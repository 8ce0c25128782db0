import { describe, expect, it } from "vitest";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;

describe("a deleted row", () => {
  itWhole("is sent as on_delete says, no sooner than delete_after", async () => {
    const { erp, run, clock, level, requests } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    erp.exec("DELETE FROM stock WHERE sku = 'S-2'");
    await run("stocks");
    clock.advance(2 * MINUTE_MS - 1_000);
    await run("stocks");
    expect(requests()).toEqual([]);
    clock.advance(1_000);
    await run("stocks");
    expect(requests().flatMap(({ records }) => records)).toEqual([{ sku: "S-2", warehouse: "", quantity: 0 }]);
    expect(level("S-1")).toBe(10);
  });

  itWhole("waits out delete_after on a clock that does not jump", async () => {
    const { erp, run, clock, requests } = await startFeeds();
    fillStock(erp, 1);
    await run("stocks");
    requests();
    erp.exec("DELETE FROM stock");
    await run("stocks");
    clock.jump(24 * 60 * MINUTE_MS);
    await run("stocks");
    expect(requests()).toEqual([]);
  });

  itWhole("is not deleted on the site where its key comes back sooner", async () => {
    const { erp, run, minute, requests, minutes } = await startFeeds();
    fillStock(erp, 3);
    await run("stocks");
    requests();
    erp.exec("DELETE FROM stock WHERE sku = 'S-2'");
    await minute();
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-2', 10)");
    await minutes(4);
    expect(requests()).toEqual([]);
  });

  itWhole("begins to wait anew where it came back in between", async () => {
    const { erp, minute, run, requests } = await startFeeds();
    fillStock(erp, 1);
    await run("stocks");
    requests();
    for (let passed = 0; passed < 4; passed++) {
      erp.exec("DELETE FROM stock");
      await minute();
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-1', 10)");
      await minute();
    }
    expect(requests()).toEqual([]);
  });

  itWhole("that comes back later is sent", async () => {
    const { erp, run, minutes, levels } = await startFeeds();
    fillStock(erp, 1);
    await run("stocks");
    erp.exec("DELETE FROM stock");
    await minutes(4);
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-1', 10)");
    await run("stocks");
    expect(levels("S-1")).toEqual([10, 0, 10]);
  });

  itWhole("that was never sent is forgotten", async () => {
    const { erp, run, minutes, requests, rows } = await startFeeds();
    const hold = "INSERT INTO holds (area, reason, since, next_probe_at) VALUES ('stocks', 'refused', ?, ?)";
    erp.prepare(hold).run("2026-03-01T00:00:00Z", "2100-01-01T00:00:00Z");
    fillStock(erp, 2);
    await run("stocks");
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 2 }]);
    erp.exec("DELETE FROM stock; DELETE FROM holds");
    requests();
    await minutes(6);
    expect(requests()).toEqual([]);
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole("that may have been taken, its answer lost, is deleted on the site", async () => {
    const { erp, run, minutes, level, sandbox } = await startFeeds();
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    fillStock(erp, 1);
    await run("stocks");
    expect(level("S-1")).toBe(10);
    erp.exec("DELETE FROM stock");
    await minutes(4);
    expect(level("S-1")).toBe(0);
  });

  itWhole("is left alone on the site where on_delete is ignore", async () => {
    const { erp, run, minutes, requests, level } = await startFeeds({
      settings: { imports: { stocks: { on_delete: "ignore" } } },
    });
    fillStock(erp, 1);
    await run("stocks");
    requests();
    erp.exec("DELETE FROM stock");
    await minutes(4);
    expect([requests(), level("S-1")]).toEqual([[], 10]);
  });

  it("cannot be described by its own columns, which the configuration says at once", async () => {
    const settings = { imports: { stocks: { on_delete: { note: "{sku}" } } } };
    await expect(startFeeds({ settings })).rejects.toThrow(/on_delete\.note.*names a column of a row that is gone/s);
  });

  itWhole("keeps the rest of its last record", async () => {
    const settings = {
      imports: {
        catalog: {
          path: "/api/v1/import/catalog",
          record: { sku: "{sku}", name: "{name}" },
          on_delete: { active: false },
        },
      },
    };
    const { erp, run, minute, site } = await startFeeds({ settings, arm: ["catalog"] });
    erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'Чай \"Ахмад\"')");
    await run("catalog");
    erp.exec("DELETE FROM products");
    for (let passed = 0; passed < 4; passed++) await minute("catalog");
    expect(site("catalog")).toEqual({ A: { sku: "A", name: 'Чай "Ахмад"', active: false } });
  });
});
