import { describe, expect, it } from "vitest";
import { ErpObjects } from "../../src/database/objects/erp-objects.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { asError, BridgeError } from "../../src/platform/errors.ts";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

const TABLES = [
  "orders",
  "order_line_rows",
  "order_event_rows",
  "batches",
  "erp_queue",
  "quarantine",
  "owed_reads",
  "watermarks",
  "feed_dirty",
  "feed_outbox",
  "feed_sent",
  "status_requests",
];

async function start() {
  const t = await startTestBridge();
  await t.run("orders");
  await t.run("stocks");
  const erp = (sql: string) => t.bridge.store.db.exec(sql);
  const confirmed = () => t.sandbox.ledger.confirmedOrderIds().size;
  return { ...t, erp, confirmed };
}

const LINES = "SELECT count(*) AS n FROM order_line_rows";
const EVENTS = "SELECT count(*) AS n FROM order_event_rows";

describe("a trigger of the ERP's that leaves out rows", () => {
  itWhole.each(TABLES)(
    "on %s keeps everything from being stored and confirmed, and all converges without it",
    async (table) => {
      const t = await start();
      const good = await start();
      for (const event of ["INSERT", "UPDATE", "DELETE"])
        t.erp(`CREATE TRIGGER my_${event} BEFORE ${event} ON ${table} BEGIN SELECT raise ( ignore ); END`);
      createOrders(t, 3);
      createOrders(good, 3);
      const result = await t.run("orders");
      expect(result).toMatchObject({ outcome: "failed", error: { code: "database_refused" } });
      expect(result.error?.message).toContain(`my_INSERT on ${table}`);
      expect(String(result.error?.hint)).toContain('DROP TRIGGER "my_INSERT";');
      expect(t.confirmed()).toBe(0);
      const write = (other: typeof t) =>
        other.erp("INSERT INTO stock (sku, quantity) VALUES ('A-1', 5) ON CONFLICT DO UPDATE SET quantity = 5");
      write(t);
      write(good);
      expect(await t.run("stocks")).toMatchObject({ outcome: "failed" });
      await t.bridge.watch.look();
      for (const event of ["INSERT", "UPDATE", "DELETE"]) t.erp(`DROP TRIGGER my_${event}`);
      await t.bridge.watch.look();
      for (const other of [t, good]) {
        expect(await other.run("orders")).toMatchObject({ error: null });
        expect(await other.run("stocks")).toMatchObject({ error: null });
      }
      expect(t.confirmed()).toBe(3);
      expect([t.rows(LINES), t.rows(EVENTS)]).toEqual([good.rows(LINES), good.rows(EVENTS)]);
      expect(t.rows("SELECT count(*) AS n FROM feed_sent")).toEqual(good.rows("SELECT count(*) AS n FROM feed_sent"));
      expect(t.rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    },
  );

  it("that comes while an answer is on its way rolls the batch back", async () => {
    let onAnswer = () => {};
    const t = await startTestBridge({ sandbox: { onAnswer: () => onAnswer() } });
    createOrders(t, 3);
    const sql = "CREATE TRIGGER late BEFORE INSERT ON order_line_rows BEGIN SELECT RAISE(IGNORE); END";
    onAnswer = () => {
      onAnswer = () => {};
      t.bridge.store.db.exec(sql);
    };
    expect(await t.run("orders")).toMatchObject({ error: { code: "database_refused" } });
    expect([t.sandbox.ledger.confirmedOrderIds().size, t.rows(LINES)]).toEqual([0, [{ n: 0 }]]);
    t.bridge.store.db.exec("DROP TRIGGER late");
    await t.run("orders");
    expect(t.sandbox.ledger.confirmedOrderIds().size).toBe(3);
    expect(t.rows(LINES)[0]?.["n"]).toBeGreaterThan(0);
  });
});

describe("what the ERP has put on the bridge's tables", () => {
  itSome(1)([
    ["CREATE TRIGGER my AFTER INSERT ON orders BEGIN INSERT INTO my_gone VALUES (NEW.order_id); END", "my_gone"],
    ["CREATE TRIGGER my AFTER INSERT ON orders BEGIN SELECT RAISE(ABORT, 'no room'); END", "no room"],
    ["CREATE TRIGGER my AFTER INSERT ON orders BEGIN SELECT my_function(NEW.order_id); END", "my_function"],
    [
      'CREATE TRIGGER my AFTER INSERT ON orders WHEN NEW.status <> "draft" BEGIN SELECT 1; END',
      '"draft"',
      "single quotes",
    ],
    ["CREATE UNIQUE INDEX my ON orders (currency)", "UNIQUE"],
  ])("is named where it refuses a row, and orders come once it is gone: %s", async (sql, words, hint = "DROP") => {
    const t = await start();
    t.erp(sql);
    createOrders(t, 3);
    const { error } = await t.run("orders");
    expect(error).toMatchObject({ code: "database_refused" });
    expect(error?.message).toContain("my on orders");
    expect(error?.message).toContain(words);
    expect(String(error?.hint)).toContain(hint);
    expect(t.confirmed()).toBe(0);
    t.erp(`DROP ${sql.includes("TRIGGER") ? "TRIGGER" : "INDEX"} my`);
    expect(await t.run("orders")).toMatchObject({ error: null });
    expect(t.confirmed()).toBe(3);
  });

  it("is named also where a pass reports it at its end", async () => {
    const t = await start();
    const objects = new ErpObjects(t.bridge.store);
    t.erp("DROP INDEX status_requests_open");
    const thrown = Object.assign(new Error("no such index: status_requests_open"), { code: "SQLITE_ERROR" });
    for (const error of [thrown, asError(thrown)])
      expect(objects.explain(error)).toMatchObject({ code: "database_refused" });
    expect(String((objects.explain(asError(thrown)) as BridgeError).text)).not.toContain("internal");
    const own = new BridgeError("internal", m.platform.internal({ message: "a defect" }));
    expect(objects.explain(own)).toBe(own);
    expect(asError(objects.explain(asError(new Error("a defect"))))).toMatchObject({ code: "internal" });
  });

  itWhole("stands in the status from the next look on, until it is gone", async () => {
    const t = await start();
    const told = () => loadFacts(t.bridge.store).notices;
    await t.bridge.watch.look();
    expect(told()).toEqual([]);
    t.erp("CREATE TRIGGER my_t AFTER INSERT ON orders BEGIN SELECT 1; END");
    t.erp("CREATE UNIQUE INDEX my_i ON batches (received_at, id)");
    await t.bridge.watch.look();
    expect(told()).toMatchObject([{ name: "objects", names: "my_i on batches, my_t on orders" }]);
    expect(t.rows("SELECT DISTINCT compare_because FROM feeds WHERE name = 'stocks'")).not.toEqual([
      { compare_because: null },
    ]);
    t.erp("DROP TRIGGER my_t; DROP INDEX my_i");
    await t.bridge.watch.look();
    expect(told()).toEqual([]);
  });

  itWhole("is neither a plain index, nor what stands on tables that the ERP writes, nor the bridge's own", async () => {
    const t = await start();
    t.erp("CREATE INDEX my_plain ON orders (currency)");
    t.erp("CREATE TRIGGER my_stock BEFORE INSERT ON stock WHEN 0 BEGIN SELECT RAISE(IGNORE); END");
    t.erp("CREATE TRIGGER my_marks AFTER INSERT ON erp_orders BEGIN SELECT 1; END");
    t.erp("CREATE TABLE my_own (a UNIQUE)");
    t.erp("CREATE TRIGGER my_own_t BEFORE INSERT ON my_own WHEN 0 BEGIN SELECT RAISE(IGNORE); END");
    expect(new ErpObjects(t.bridge.store).list()).toEqual([]);
    expect(await t.run("orders")).toMatchObject({ error: null });
    expect(await t.run("stocks")).toMatchObject({ error: null });
  });
});
