import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

function attention(t: TestBridge): string[] {
  const facts = loadFacts(t.bridge.store);
  const now = { nowMs: t.clock.nowMs(), isRunning: true };
  return describeStatus(facts, now, { erpReadWithinMs: 24 * HOUR_MS }).attention.filter((line) =>
    line.includes("written"),
  );
}

describe("the ERP's silence", () => {
  it("is worth attention once a table was not written for as long as the configuration says", async () => {
    const t = await startTestBridge({ settings: { erp: { write_within: { stocks: "26h" } } } });
    t.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
    t.clock.advance(27 * HOUR_MS);
    await t.run("stocks");
    expect(attention(t)).toEqual(["The ERP has not written its table of stocks for 27 h."]);
    t.bridge.store.db.exec("UPDATE stock SET quantity = 2");
    await t.run("stocks");
    expect(attention(t)).toEqual([]);
  });

  it("is counted from the first start where the ERP has never written, and is no trouble where nobody asked", async () => {
    const t = await startTestBridge({ settings: { erp: { write_within: { stocks: "1h" } } } });
    expect(attention(t)).toEqual([]);
    t.clock.advance(2 * HOUR_MS);
    expect(attention(t)).toHaveLength(1);
    await t.restart({ erp: { write_within: { stocks: null } } });
    expect(attention(t)).toEqual([]);
  });

  it("shows in sync_status, with the age of what the site shows", async () => {
    const t = await startTestBridge();
    t.bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    await t.run("stocks");
    t.bridge.store.db.exec(
      "UPDATE feeds SET touched_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 hours') WHERE name = 'stocks'",
    );
    t.bridge.store.db.exec(
      "UPDATE flows SET last_success_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-3 hours') WHERE flow = 'stocks'",
    );
    const [row] = t.rows<{ sentence: string; is_erp_silent: number; as_of: string }>(
      "SELECT sentence, is_erp_silent, as_of FROM sync_status WHERE flow = 'stocks'",
    );
    expect(row?.is_erp_silent).toBe(1);
    expect(row?.sentence).toBe(
      "Succeeded 3 h ago. On the site as of 3 h ago. The ERP has not written its table for 30 h.",
    );
  });

  itWhole("shows orders that the ERP has blocked", async () => {
    const t = await startTestBridge();
    const id = t.sandbox.service.createOrder();
    await t.run("orders");
    t.bridge.store.db.prepare("INSERT INTO erp_orders (order_id, state) VALUES (?, 'blocked')").run(id);
    expect(t.rows("SELECT sentence FROM sync_status WHERE flow = 'erp'")).toEqual([
      { sentence: "The ERP has taken every order. 1 blocked by the ERP." },
    ]);
  });
});
