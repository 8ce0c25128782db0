import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const EXTRA = {
  phone: "$.customer.phone",
  sum: "$.big",
  small: "$.rate",
  flag: "$.gift",
  list: "$.tags",
  nothing: "$.none",
  missing: "$.customer.fax",
  Грузополучатель: `$."it's ""?".x`.replaceAll('""', '\\"'),
};

async function withOrder(settings: object) {
  const t = await startTestBridge({ settings: { orders: settings } });
  t.sandbox.service.createOrder({
    lines: [{ sku: "A", quantity: "2.50", price: "9007199254740993.10" }],
    extra: {
      customer: '{"phone":"+7 (900) \\"1\\""}',
      big: "9007199254740993.10",
      rate: "1.0e2",
      gift: "true",
      tags: '["a", 1.10]',
      none: "null",
      "it's \"?": '{"x":"ООО"}',
    },
  });
  await t.run("orders");
  return t;
}

describe("the columns of orders.extra", () => {
  it("hold text as text, numbers by their literal, and NULL where nothing stands", async () => {
    const t = await withOrder({ extra: EXTRA });
    const [row] = t.rows<Record<string, unknown>>(
      `SELECT ${Object.keys(EXTRA)
        .map((name) => `"${name}"`)
        .join(", ")} FROM orders_wide`,
    );
    expect(row).toEqual({
      phone: '+7 (900) "1"',
      sum: "9007199254740993.10",
      small: "1.0e2",
      flag: "true",
      list: expect.stringMatching(/^\["a", ?1\.10\]$/),
      nothing: null,
      missing: null,
      Грузополучатель: "ООО",
    });
    expect(t.rows("SELECT typeof(sum) AS type, total_num IS NOT NULL AS sums FROM orders_wide")).toEqual([
      { type: "text", sums: 1 },
    ]);
  });

  itWhole.each<[string, number | null]>([
    ['"1234.50"', 1234.5],
    ["1234.50", 1234.5],
    ["-0.250", -0.25],
    ["1.5e3", 1500],
    ['" 5 "', 5],
    ["9007199254740993", 9007199254740992],
    ['"1 234,56"', null],
    ['"1\u00a0234,56"', null],
    ['"1,234.56"', null],
    ['"1.234,56"', null],
    ['"1490 ₽"', null],
    ['"12abc"', null],
    ['"0x1F"', null],
    ['"Infinity"', null],
    ['""', null],
    ["1e999", null],
    ["-1e999", null],
  ])("make a number only of a text that is wholly one: %s", async (literal, number) => {
    const t = await startTestBridge();
    const { service } = t.sandbox;
    const id = service.createOrder();
    const text = service.newestText(id)!.replace(/"(total|quantity|price)":("[^"]*"|[^,}\]]+)/g, `"$1":${literal}`);
    service.changeOrder(id, { raw: text, keepTimestamp: true });
    await t.run("orders");
    const ofLine = { quantity_num: number, price_num: number };
    expect(t.rows("SELECT total_num FROM orders_wide")).toEqual([{ total_num: number }]);
    expect(t.rows("SELECT DISTINCT quantity_num, price_num FROM order_lines_wide")).toEqual([ofLine]);
  });

  itWhole("stand beside each line too, with the line's own columns, which come first", async () => {
    const t = await withOrder({
      extra: { phone: "$.customer.phone", sku: "$.big", unit: "$.big" },
      line_extra: { unit: "$.sku", price_text: "$.price" },
    });
    expect(t.rows("SELECT sku, unit, price_text, phone, quantity_num FROM order_lines_wide")).toEqual([
      { sku: "A", unit: "A", price_text: "9007199254740993.10", phone: '+7 (900) "1"', quantity_num: 2.5 },
    ]);
  });

  it("keep an order in quarantine whose value is unclear, until no column names it", async () => {
    const t = await startTestBridge({ settings: { orders: { extra: { phone: "$.phone" } } } });
    const id = t.sandbox.service.createOrder({ extra: { phone: '"1","phone":"2"' } });
    t.sandbox.service.createOrder({ extra: { phone: '"1","phone":"1"' } });
    await t.run("orders");
    expect(t.rows("SELECT phone FROM orders_wide")).toEqual([{ phone: "1" }]);
    expect(t.rows("SELECT reason FROM quarantine")).toEqual([
      { reason: expect.stringContaining("$.phone stands more than once, with different values (phone)") },
    ]);
    await t.restart({});
    t.sandbox.service.changeOrder(id, { status: "paid" });
    await t.run("updates");
    expect(t.rows("SELECT status FROM orders_wide")).toEqual([{ status: "new" }, { status: "paid" }]);
  });

  itWhole("are made again at start when the configuration has others, and only then", async () => {
    const t = await withOrder({ extra: { phone: "$.customer.phone" } });
    const version = () => t.bridge.store.db.pragma("schema_version", { simple: true });
    const first = version();
    await t.restart();
    expect(version()).toBe(first);
    await t.restart({ orders: { extra: { Phone: "$.customer" } } });
    expect(t.rows('SELECT "Phone" AS phone FROM orders_wide')).toEqual([{ phone: '{"phone":"+7 (900) \\"1\\""}' }]);
    await t.restart({});
    expect(t.rows("SELECT name FROM pragma_table_info('orders_wide') WHERE name = 'Phone'")).toEqual([]);
  });

  itWhole("do not hide the other orders where one payload is damaged", async () => {
    const t = await withOrder({ extra: { phone: "$.customer.phone" } });
    t.sandbox.service.createOrder({ extra: { customer: '{"phone":"2"}' } });
    await t.run("orders");
    t.bridge.store.db.exec("UPDATE orders SET payload = substr(payload, 2) WHERE order_key = 1");
    expect(t.rows("SELECT phone FROM orders_wide")).toEqual([{ phone: null }, { phone: "2" }]);
  });
});
