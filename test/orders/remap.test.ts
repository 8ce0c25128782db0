import { hash } from "node:crypto";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { remap } from "../../src/daemon/repair.ts";
import { startRepairBridge } from "../support/repair.ts";
import { itWhole, size } from "../support/whole.ts";

/** A configuration with paths that the service does not have: `total` and the line's price are read from elsewhere. */
const WRONG = { orders: { fields: { total: "$.currency" }, line: { price: "$.sku" } } };
const COLUMNS = "SELECT order_id, number, status, total, currency, is_open FROM orders ORDER BY order_key";
const LINES = "SELECT order_id, line_no, sku, quantity, price FROM order_lines ORDER BY order_id, line_no";

describe("remap", () => {
  it("puts orders right that were read with a wrong mapping, without the service", async () => {
    const count = size(100, 500);
    const right = await startRepairBridge();
    const t = await startRepairBridge({ settings: WRONG });
    for (let i = 0; i < count; i++) {
      right.sandbox.service.createOrder();
      t.sandbox.service.createOrder();
    }
    await right.run("orders");
    await t.run("orders");
    expect(t.rows(COLUMNS)).not.toEqual(right.rows(COLUMNS));
    await t.sandbox.close();

    const dry = await t.json({}, "remap", "--dry-run");
    expect(dry).toMatchObject({ orders: count, changed: count, unreadable: 0 });
    expect(t.rows("SELECT count(*) AS n FROM orders WHERE revision > 1")).toEqual([{ n: 0 }]);

    // The daemon takes the corrected configuration over, and says that remap is owed.
    await t.restart({});
    expect(t.logs.some(({ level, message }) => level === "warn" && message.includes("erp-bridge remap"))).toBe(true);
    const before = await t.command({}, "status");
    expect(before.out.join("\n")).toContain("run erp-bridge remap");

    const done = await t.command({}, "remap");
    expect(done).toMatchObject({ exitCode: 0 });
    expect(done.out[0]).toBe(
      `${count} orders looked at: ${count} changed, 0 cannot be read with this mapping and stay as they are.`,
    );
    expect(t.rows(COLUMNS)).toEqual(right.rows(COLUMNS));
    expect(t.rows(LINES)).toEqual(right.rows(LINES));
    expect(t.rows("SELECT DISTINCT revision, erp_revision FROM orders")).toEqual([{ revision: 2, erp_revision: 2 }]);
    expect(
      t.rows(
        "SELECT DISTINCT kind, source, lines_changed, fields_changed, status_changed FROM order_events WHERE revision = 2",
      ),
    ).toEqual([{ kind: "remapped", source: "remap", lines_changed: 1, fields_changed: 1, status_changed: 0 }]);
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
    expect((await t.command({}, "remap")).out[0]).toContain(`${count} orders looked at: 0 changed`);
    expect(t.rows("SELECT DISTINCT revision FROM orders")).toEqual([{ revision: 2 }]);
  });

  itWhole("says what was and what is, in the event and in the dry run", async () => {
    const t = await startRepairBridge({ settings: { orders: { fields: { total: "$.currency" } } } });
    t.sandbox.service.createOrder({ number: "A-1", total: "1234567890.10", currency: "EUR", lines: [] });
    await t.run("orders");
    const dry = await t.command({}, "remap", "--dry-run");
    expect(dry.out[0]).toContain("1 would change");
    expect(dry.out[1]).toMatch(/^ {2}A-1 \(.*\): total: EUR → 1234567890.10$/);
    await t.restart({});
    await t.command({}, "remap");
    expect(t.rows("SELECT changes FROM order_events WHERE kind = 'remapped'")).toEqual([
      { changes: '{"total":{"was":"EUR","is":"1234567890.10"}}' },
    ]);
  });

  itWhole("raises no revision where columns and lines stay, and follows a corrected meaning of a status", async () => {
    const t = await startRepairBridge();
    t.sandbox.service.createOrder({ status: "new" });
    t.sandbox.service.createOrder({ status: "storno" });
    await t.run("orders");
    const settings = { orders: { statuses: { cancelled: ["storno"], closed: ["storno"] } } };
    await t.restart(settings);
    expect((await t.command(settings, "remap")).out[0]).toContain("2 orders looked at: 1 changed");
    expect(t.rows("SELECT status, revision, is_cancelled, is_open FROM orders ORDER BY order_key")).toEqual([
      { status: "new", revision: 1, is_cancelled: 0, is_open: 1 },
      { status: "storno", revision: 2, is_cancelled: 1, is_open: 0 },
    ]);
  });

  itWhole("leaves what the new mapping cannot read as it is, and says so", async () => {
    const t = await startRepairBridge();
    t.sandbox.service.createOrder({ number: "A-1" });
    await t.run("orders");
    const settings = { orders: { fields: { status: "$.state" } } };
    await t.restart(settings);
    const done = await t.command(settings, "remap");
    expect(done.exitCode).toBe(2);
    expect(done.out.join("\n")).toMatch(/! A-1 \(.*\): \$\.state \(status\) is missing/);
    expect(t.rows("SELECT revision FROM orders")).toEqual([{ revision: 1 }]);
  });

  itWhole("tries quarantined records of orders again", async () => {
    const t = await startRepairBridge({ settings: { orders: { line: { quantity: "$.price.amount" } } } });
    t.sandbox.service.createOrder({ lines: [{ sku: "A", quantity: 2, price: 1 }] });
    const raw = `{"order_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","status":"new","total":["1"],"sum":5,"items":[{"sku":"B","quantity":1,"price":1}]}`;
    t.sandbox.service.createOrder({ id: "7c9e6679-7425-40de-944b-e07fc1f90ae7", raw });
    await t.run("orders");
    expect(t.rows("SELECT count(*) AS n FROM quarantine WHERE state = 'held'")).toEqual([{ n: 1 }]);
    await t.sandbox.close();
    const settings = { orders: { fields: { total: "$.sum" } } };
    expect(await t.json(settings, "remap", "--dry-run")).toMatchObject({ released: 1, held: 0 });
    await t.restart(settings);
    expect(await t.json(settings, "remap")).toMatchObject({ released: 1, held: 0 });
    expect(t.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
    expect(t.rows("SELECT total FROM orders WHERE order_id LIKE '7c9e%'")).toEqual([{ total: "5" }]);
  });

  itWhole("derives nothing from a payload that the disk has damaged", async () => {
    const t = await startRepairBridge();
    t.sandbox.service.createOrder({ total: "100", lines: [] });
    await t.run("orders");
    t.bridge.store.db.exec("UPDATE orders SET payload = replace(payload, '100', '900')");
    expect(await t.json({}, "remap")).toMatchObject({ changed: 0, unreadable: 1 });
    expect(t.rows("SELECT total FROM orders")).toEqual([{ total: "100" }]);
  });

  itWhole("goes on where it was stopped", async () => {
    const t = await startRepairBridge({ settings: WRONG });
    for (let i = 0; i < 300; i++) t.sandbox.service.createOrder();
    await t.run("orders");
    await t.restart({});
    const stop = new AbortController();
    const call = { dryRun: false, clock: t.clock, log: t.bridge.context.log, signal: stop.signal };
    await expect(remap(t.bridge.store, t.loaded({}), { ...call, onProgress: () => stop.abort() })).rejects.toThrow();
    expect(t.rows("SELECT count(*) AS n FROM orders WHERE revision = 2")).toEqual([{ n: 200 }]);
    expect(t.rows("SELECT reason FROM holds")).toEqual([{ reason: "mapping" }]);
    expect(await t.json({}, "remap")).toMatchObject({ orders: 300, changed: 100 });
    expect(t.rows("SELECT count(*) AS n FROM orders WHERE revision = 2")).toEqual([{ n: 300 }]);
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
  });

  itWhole("never puts back what somebody else has stored since it read", async () => {
    const t = await startRepairBridge({ settings: WRONG });
    for (let i = 0; i < 201; i++) t.sandbox.service.createOrder({ total: "1.00", lines: [] });
    await t.run("orders");
    await t.restart({});
    const other = new Database(t.bridge.store.path);
    // While the first orders are written, another connection stores the last one anew and is slow to commit.
    const storeNewer = () => {
      if (other.inTransaction) return;
      other.exec("BEGIN IMMEDIATE");
      const [{ payload }] = other.prepare("SELECT payload FROM orders WHERE order_key = 201").all() as [
        { payload: string },
      ];
      const newer = payload.replace('"total":1.00', '"total":2.00');
      other
        .prepare(
          "UPDATE orders SET payload = ?, payload_hash = ?, revision = 2, erp_revision = 2, total = '2.00' WHERE order_key = 201",
        )
        .run(newer, hash("sha256", newer, "buffer"));
      t.clock.onSleep = () => other.inTransaction && other.exec("COMMIT");
    };
    const call = { dryRun: false, clock: t.clock, log: t.bridge.context.log, signal: new AbortController().signal };
    await remap(t.bridge.store, t.loaded({}), { ...call, onProgress: ({ orders }) => orders === 200 && storeNewer() });
    other.close();
    expect(t.rows("SELECT total, revision FROM orders WHERE order_key = 201")).toEqual([
      { total: "2.00", revision: 2 },
    ]);
    expect(t.rows("SELECT DISTINCT revision, total FROM orders WHERE order_key < 201")).toEqual([
      { revision: 2, total: "1.00" },
    ]);
  });

  itWhole("refuses while a running daemon still reads with the former mapping", async () => {
    const t = await startRepairBridge({ settings: WRONG });
    t.sandbox.service.createOrder();
    await t.run("orders");
    const refused = await t.command({}, "remap");
    expect(refused.exitCode).toBe(78);
    expect(refused.err.join("\n")).toContain("still reads orders with the former mapping");
    expect(t.rows("SELECT revision FROM orders")).toEqual([{ revision: 1 }]);
  });

  itWhole("still owes a remap after the mapping was put back, because orders came in between", async () => {
    const t = await startRepairBridge({ settings: WRONG });
    t.sandbox.service.createOrder();
    await t.run("orders");
    await t.restart({});
    t.sandbox.service.createOrder();
    await t.run("orders");
    await t.restart(WRONG);
    expect(t.rows("SELECT area, reason FROM holds")).toEqual([{ area: "mapping", reason: "mapping" }]);
    expect((await t.command(WRONG, "remap")).out[0]).toContain("2 orders looked at: 1 changed");
    expect(t.rows("SELECT * FROM holds")).toEqual([]);
  });
});
