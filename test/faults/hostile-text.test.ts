import { describe, expect, it } from "vitest";
import { type Shop, startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const UUID = "6f1f9a52-6f0d-4a53-9d0e-0f6b7a1c2d3e";
const ESCAPE = "\u001b[2J\u001b]0;owned\u0007";
/** Texts that mean something to a path, a program, a spreadsheet or a terminal. */
const TEXTS = [
  "../confirm",
  "../../import/stocks?x=",
  "%2e%2e%2fconfirm",
  "__proto__",
  "constructor",
  "=cmd|'/C calc'!A0",
  "'; DROP TABLE orders; --",
  ESCAPE,
  "\u202etxt.exe",
  "nul\u0000byte",
  "line\r\nSet-Cookie: x=1",
  "\ud800",
];

const asJson = (text: string) => JSON.stringify(text);

/** What may be asked of the service, and nothing else. */
const KNOWN_PATHS =
  /^\/api\/v1\/(1c\/orders(\/confirm|\/updates|\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?|import\/stocks)$/i;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const POWER_OVER_TERMINALS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

async function shopWithHostileOrders(): Promise<{ shop: Shop; raw: string[] }> {
  const shop = await startShop({ settings: { orders: { extra: { phone: "$.customer.phone" } } } });
  const { service } = shop.sandbox;
  service.createOrder();
  const raw = TEXTS.flatMap((text) => [
    // In the id, where no order may be; and in an order that can be stored.
    `{"order_id":${asJson(text)},"status":"new","items":[]}`,
    `{"order_id":"${UUID.slice(0, -2)}${String(10 + TEXTS.indexOf(text))}","number":${asJson(text)},` +
      `"status":${asJson(text)},${asJson(text)}:1,"__proto__":{"polluted":true},"customer":{"phone":${asJson(text)}},` +
      `"items":[{"sku":${asJson(text)},"name":${asJson(text)},"quantity":"1"}]}`,
  ]);
  raw.push(`{"order_id":"${UUID}","status":"new","items":[],"deep":${"[".repeat(200_000)}${"]".repeat(200_000)}}`);
  for (const record of raw) service.createOrder({ raw: record });
  return { shop, raw };
}

describe("hostile text in orders and in the ERP's tables", () => {
  it("leads to no request outside the known paths, and is kept as it was sent", async () => {
    const { shop, raw } = await shopWithHostileOrders();
    // Records are quarantined, and orders that they may be of are read: the mock service serves a raw order in batches alone.
    expect(await shop.command("sync")).toMatchObject({ code: 1, out: expect.stringContaining("13 quarantined") });
    for (const text of TEXTS)
      shop.write("INSERT INTO stock (sku, quantity) VALUES (?, 1) ON CONFLICT DO NOTHING", text);
    await shop.command("sync");
    await shop.command("sync", "reconcile");
    const paths = new Set(shop.sandbox.ledger.entries.map(({ path }) => path));
    expect([...paths].filter((path) => !KNOWN_PATHS.test(path))).toEqual([]);
    const kept = new Set(
      shop
        .rows<{ payload: string }>("SELECT payload FROM orders UNION ALL SELECT payload FROM quarantine")
        .map(({ payload }) => payload),
    );
    expect(raw.filter((record) => !kept.has(record))).toEqual([]);
    expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: TEXTS.length + 1 }]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  itWhole("is shown without power over a terminal by every command", async () => {
    const { shop } = await shopWithHostileOrders();
    const shown = [await shop.command("sync")];
    for (const args of [["status"], ["status", "--json"], ["quarantine", "list"], ["quarantine", "list", "--json"]])
      shown.push(await shop.command(...args));
    for (const { id } of shop.rows<{ id: number }>("SELECT id FROM quarantine"))
      shown.push(await shop.command("quarantine", "show", String(id)));
    for (const { order_id } of shop.rows<{ order_id: string }>("SELECT order_id FROM orders"))
      shown.push(await shop.command("order", order_id));
    for (const text of TEXTS.filter((each) => !each.startsWith("-"))) shown.push(await shop.command("order", text));
    for (const { out, err } of shown) expect(`${out}${err}`).not.toMatch(POWER_OVER_TERMINALS);
    expect(shown.length).toBeGreaterThan(3 * TEXTS.length);
  });
});
