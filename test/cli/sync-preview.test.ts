import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { type Shop, startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

async function shopWithStock(): Promise<Shop> {
  const shop = await startShop();
  await shop.command("sync");
  shop.write("INSERT INTO stock (sku, warehouse, quantity) VALUES ('A-1', '', 10), ('A-1', 'north', 4), ('B', '', 3)");
  await shop.command("sync", "stocks");
  return shop;
}

const sent = ({ sandbox }: Shop) => sandbox.ledger.ofKind("import").length;

/** A feed whose table has no key that the database keeps unique. */
const BY_ARTICLE = { table: "goods", key: ["sku"], available: "n", record: { sku: "{sku|string}", quantity: "{n}" } };

describe("sync --dry-run", () => {
  itWhole("says key, old, new and why, asks nobody and writes nothing", async () => {
    const shop = await shopWithStock();
    shop.write("UPDATE stock SET quantity = 7 WHERE sku = 'B'");
    shop.write("DELETE FROM stock WHERE warehouse = 'north'");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('NEW', 1), ('BAD', 'many')");
    shop.write("UPDATE stock SET reserved = 0");
    const requests = shop.sandbox.ledger.entries.length;
    const before = shop.rows("SELECT * FROM runs UNION ALL SELECT * FROM runs");
    const { code, out } = await shop.command("sync", "stocks", "--dry-run");
    expect([code, out.split("\n").sort()]).toEqual([
      0,
      [
        "stocks  A-1/north  quantity: 4 → 0  gone",
        "stocks  B  quantity: 3 → 7  changed",
        expect.stringMatching(/^stocks {2}BAD {2}– {2}cannot be sent: .*quantity/),
        'stocks  NEW  → {"sku":"NEW","warehouse":"","quantity":1}  new',
      ],
    ]);
    expect(shop.sandbox.ledger.entries.length).toBe(requests);
    expect(shop.rows("SELECT * FROM runs UNION ALL SELECT * FROM runs")).toEqual(before);
    expect(shop.rows("SELECT count(*) AS n FROM feed_dirty")).toEqual([{ n: 4 }]);
  });

  itWhole("says the same as the sync after it sends", async () => {
    const shop = await shopWithStock();
    shop.write("UPDATE stock SET quantity = quantity + 1 WHERE warehouse = ''");
    const { out } = await shop.command("sync", "stocks", "--dry-run", "--json");
    const { version, rows } = JSON.parse(out) as { version: number; rows: { key: string; old: object; new: object }[] };
    expect([version, rows.map(({ key }) => key).sort()]).toEqual([1, ["A-1", "B"]]);
    const before = sent(shop);
    await shop.command("sync", "stocks");
    const [entry] = shop.sandbox.ledger.ofKind("import").slice(before);
    const { stocks } = JSON.parse(entry?.requestBody ?? "{}") as { stocks: object[] };
    expect(stocks).toEqual(expect.arrayContaining(rows.map((row) => row.new)));
    expect(stocks).toHaveLength(2);
    expect((await shop.command("sync", "--dry-run")).out).toBe("Nothing would be sent.");
  });

  itWhole("tells of rows that wait, of rows that were refused, and of a guard that would hold", async () => {
    const shop = await startShop();
    await shop.command("sync");
    const db = new Database(shop.database);
    db.exec(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO stock (sku, quantity) SELECT 'S' || i, 5 FROM n",
    );
    db.close();
    await shop.command("sync", "stocks");
    shop.write("UPDATE stock SET quantity = 0 WHERE sku <> 'S1'");
    const { out, err } = await shop.command("sync", "stocks", "--dry-run");
    expect(out.split("\n")).toHaveLength(59);
    expect(err).toContain("59 rows to go to zero or away; the guard would hold that");
    shop.sandbox.service.setOptions({ reject: { skus: ["S1"] } });
    shop.write("UPDATE stock SET quantity = 6 WHERE sku = 'S1'");
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('ACCEPTED', 1)");
    await shop.command("sync", "stocks");
    const held = await shop.command("sync", "stocks", "--dry-run");
    expect(held.err).toContain("59 rows to go to zero or away; the guard would hold that");
    expect(shop.rows("SELECT detail FROM holds WHERE reason = 'guard'")).toEqual([
      { detail: expect.stringMatching(/^59 of 6\d rows/) },
    ]);
    const again = await shop.command("sync", "stocks", "--dry-run", "--only", "S1");
    expect(again.out).toMatch(/^stocks {2}S1 {2}– {2}refused: .*S1/);
  });

  itWhole("says the same as a pass of two rows of one key: neither can be sent", async () => {
    const shop = await startShop({ settings: { imports: { stocks: BY_ARTICLE } } });
    await shop.command("sync", "orders");
    shop.write("CREATE TABLE goods (id INTEGER PRIMARY KEY, sku, n)");
    shop.write("INSERT INTO goods (sku, n) VALUES ('A', 1), ('B', 2), ('A', 3)");
    const { out } = await shop.command("sync", "stocks", "--dry-run");
    expect(out.split("\n").sort()).toEqual([
      expect.stringMatching(/^stocks {2}A {2}– {2}cannot be sent: /),
      'stocks  B  → {"sku":"B","quantity":2}  new',
    ]);
    const before = sent(shop);
    await shop.command("sync", "stocks");
    const bodies = shop.sandbox.ledger.ofKind("import").slice(before);
    expect(bodies.map(({ requestBody }) => requestBody)).toEqual(['{"stocks":[{"sku":"B","quantity":2}]}']);
    expect(shop.rows("SELECT reference FROM quarantine")).toEqual([{ reference: "A" }]);
  });

  it("shows the article that a row has left as one to go, and the row as a new one", async () => {
    const shop = await startShop({ settings: { imports: { stocks: { ...BY_ARTICLE, key: ["id"] } } } });
    await shop.command("sync", "orders");
    shop.write("CREATE TABLE goods (id INTEGER PRIMARY KEY, sku, n)");
    shop.write("INSERT INTO goods VALUES (1, 'A', 4), (2, 'B', 5), (3, 'C', 6)");
    await shop.command("sync", "stocks");
    shop.write("UPDATE goods SET sku = 'X' WHERE id = 1");
    // Two rows that change places leave no article.
    shop.write("UPDATE goods SET sku = iif(id = 2, 'C', 'B') WHERE id > 1");
    const { out } = await shop.command("sync", "stocks", "--dry-run");
    expect(out.split("\n").sort()).toEqual([
      'stocks  1  → {"sku":"X","quantity":4}  new',
      'stocks  2  → {"sku":"C","quantity":5}  new',
      'stocks  3  → {"sku":"B","quantity":6}  new',
      'stocks  {"sku":"A"}  quantity: 4 → 0  gone',
    ]);
    await shop.command("sync", "stocks");
    expect(shop.rows("SELECT key FROM feed_former WHERE state = 'away' ORDER BY key")).toContainEqual({ key: '["A"]' });
  });

  itWhole("does not count deletions that delete_after keeps back among those of the guard", async () => {
    const settings = { ...BY_ARTICLE, delete_after: "1h", guard: { percent: 10, from: 2 } };
    const shop = await startShop({ settings: { imports: { stocks: settings } } });
    await shop.command("sync", "orders");
    shop.write("CREATE TABLE goods (id INTEGER PRIMARY KEY, sku, n)");
    shop.write("INSERT INTO goods (sku, n) VALUES ('A', 1), ('B', 2), ('C', 3)");
    await shop.command("sync", "stocks");
    shop.write("DELETE FROM goods WHERE sku <> 'C'");
    const held = "SELECT * FROM holds WHERE reason = 'guard'";
    const preview = () => shop.command("sync", "stocks", "--dry-run");
    const found = await preview();
    expect([found.out.match(/gone/g)?.length, found.err]).toEqual([2, ""]);
    await shop.command("sync", "stocks");
    const waiting = await preview();
    expect([waiting.out.match(/gone/g)?.length, waiting.err, shop.rows(held)]).toEqual([2, "", []]);
    shop.write("UPDATE feed_outbox SET away_since_ms = away_since_ms - 3600000");
    expect((await preview()).err).toContain("2 rows to go to zero or away; the guard would hold that");
    await shop.command("sync", "stocks");
    expect(shop.rows(held)).toHaveLength(1);
  });

  itWhole("shows statuses that were asked for and batches that are not confirmed", async () => {
    const shop = await startShop({ settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/status" } } });
    shop.sandbox.service.createOrder();
    shop.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 503 } });
    await shop.command("sync", "orders");
    const [order] = shop.rows<{ order_id: string; status: string }>("SELECT order_id, status FROM orders");
    shop.write("INSERT INTO status_requests (order_id, status) VALUES (?, 'shipped')", order?.order_id);
    const { out } = await shop.command("sync", "--dry-run");
    expect(out).toContain(`statuses  ${order?.order_id}  ${JSON.stringify(order?.status)} → "shipped"  requested`);
    expect(out).toMatch(/orders {2}batch:1 {2}→ .* stored/);
  });
});

describe("sync FEED --only KEY", () => {
  itWhole("sends that row and no other, and says where it stands", async () => {
    const shop = await shopWithStock();
    shop.write("UPDATE stock SET quantity = 9");
    const before = sent(shop);
    const { code, out } = await shop.command("sync", "stocks", "--only", "A-1/north");
    expect(code).toBe(0);
    expect(out).toMatch(/^stocks: 1 changed, 1 request, 1 sent\nA-1\/north: sent; on the site since .*"quantity":9/);
    const bodies = shop.sandbox.ledger.ofKind("import").slice(before);
    expect(bodies.map(({ requestBody }) => requestBody)).toEqual([
      '{"stocks":[{"sku":"A-1","warehouse":"north","quantity":9}]}',
    ]);
    await shop.command("sync", "stocks");
    expect(shop.rows("SELECT count(*) AS n FROM stock_sent WHERE sent LIKE '%:9}'")).toEqual([{ n: 3 }]);
  });

  itWhole("leaves alone what waits already", async () => {
    const shop = await shopWithStock();
    shop.write("UPDATE stock SET quantity = 9");
    shop.sandbox.faults.add({ match: { path: "import" }, do: { kind: "status", status: 401 } });
    await shop.command("sync", "stocks");
    const before = sent(shop);
    shop.write("DELETE FROM holds");
    await shop.command("sync", "stocks", "--only", "B");
    const bodies = shop.sandbox.ledger.ofKind("import").slice(before);
    expect(bodies.flatMap(({ requestBody }) => requestBody?.match(/"sku":"[^"]*"/g) ?? [])).toEqual(['"sku":"B"']);
  });

  itWhole("sends nothing that the service has already, and knows a key that nobody has", async () => {
    const shop = await shopWithStock();
    const before = sent(shop);
    expect((await shop.command("sync", "stocks", "--only", "B")).out).toMatch(/^stocks: nothing to do\nB: sent;/);
    expect((await shop.command("sync", "stocks", "--only", "Z")).out).toContain("Z: neither the table nor the service");
    expect(sent(shop)).toBe(before);
  });

  itWhole("finds the row of a view whatever number its key is", async () => {
    const table = { table: "for_sale", key: ["sku"], available: "n", record: { sku: "{sku|string}", quantity: "{n}" } };
    const shop = await startShop({ settings: { imports: { stocks: { ...table, delete_after: "1s" } } } });
    await shop.command("sync", "orders");
    shop.write("CREATE TABLE goods (sku, n)");
    shop.write("CREATE VIEW for_sale AS SELECT sku, n FROM goods");
    shop.write("INSERT INTO goods VALUES (4600000000017.0, 5), (2.50, 6), (1234567890123456789, 7)");
    await shop.command("sync");
    shop.write("UPDATE goods SET n = n + 10");
    for (const key of ["4600000000017", "2.5", "1234567890123456789"]) {
      expect((await shop.command("sync", "stocks", "--only", key)).out).toMatch(/: sent/);
      expect(shop.rows(`SELECT sent ->> 'quantity' AS n FROM stock_sent WHERE sku = '${key}'`)).toEqual([
        { n: { "4600000000017": 15, "2.5": 16 }[key] ?? 17 },
      ]);
    }
    expect(shop.rows("SELECT count(*) AS n FROM stock_sent WHERE state <> 'sent'")).toEqual([{ n: 0 }]);
  });

  itWhole(
    "takes a key that holds a slash for the row that there is, asks where there are several, and knows none",
    async () => {
      const shop = await shopWithStock();
      shop.write(
        "INSERT INTO stock (sku, warehouse, quantity) VALUES ('X/Y/Z', '', 4), ('12/40', 'R', 5), ('A/1', '', 8)",
      );
      const sends = async (only: string) => {
        const before = sent(shop);
        const done = await shop.command("sync", "stocks", "--only", only);
        const records = shop.sandbox.ledger
          .ofKind("import")
          .slice(before)
          .map(({ requestBody }) => requestBody);
        return { ...done, records };
      };
      expect((await sends("X/Y/Z")).records).toEqual(['{"stocks":[{"sku":"X/Y/Z","warehouse":"","quantity":4}]}']);
      expect((await sends("12/40/R")).records).toEqual(['{"stocks":[{"sku":"12/40","warehouse":"R","quantity":5}]}']);
      shop.write("INSERT INTO stock (sku, warehouse, quantity) VALUES ('A', '1', 9)");
      const several = await sends("A/1");
      expect([several.code, several.records]).toEqual([64, []]);
      expect(several.err).toContain(`A/1 may be any of these rows of stocks: '["A","1"]', '["A/1",""]'.`);
      const preview = await shop.command("sync", "stocks", "--dry-run", "--only", '["A/1",""]');
      expect(preview.out).toContain('"sku":"A/1"');
      expect((await sends('["A/1"]')).records).toEqual(['{"stocks":[{"sku":"A/1","warehouse":"","quantity":8}]}']);
      expect(await sends("A/2")).toMatchObject({
        code: 1,
        records: [],
        out: expect.stringContaining("neither the table"),
      });
    },
  );

  itWhole("asks the daemon, which sends that row and then goes on as before", async () => {
    const shop = await shopWithStock();
    const daemon = shop.start("run");
    await daemon.says("erp-bridge is running");
    shop.write("UPDATE stock SET quantity = 8 WHERE sku = 'B'");
    const { out, code } = await shop.command("sync", "stocks", "--only", "B", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ row: { state: "sent", sent: expect.stringContaining(":8}") } });
    shop.write("UPDATE stock SET quantity = 6");
    await shop.command("sync", "stocks");
    expect(shop.rows("SELECT count(*) AS n FROM stock_sent WHERE sent LIKE '%:6}'")).toEqual([{ n: 3 }]);
    await daemon.kill();
  });

  itWhole(
    "names a key that was changed in the configuration while the daemon runs, and takes it without one",
    async () => {
      const shop = await shopWithStock();
      shop.write("ALTER TABLE stock ADD COLUMN art TEXT");
      shop.write("UPDATE stock SET art = sku || warehouse");
      const daemon = shop.start("run");
      await daemon.says("erp-bridge is running");
      shop.writeConfig({ imports: { stocks: { key: ["art"] } } });
      const beside = await shop.command("sync", "stocks", "--only", "B");
      expect([beside.code, beside.err]).toEqual([
        78,
        expect.stringContaining("running daemon has another configuration"),
      ]);
      await daemon.kill();
      const { out, code } = await shop.command("sync", "stocks", "--only", "B", "--json");
      expect([code, JSON.parse(out)]).toMatchObject([0, { row: { state: "sent" } }]);
    },
  );

  itSome(1)([
    [["sync", "--only", "A"], "needs the name of one feed"],
    [["sync", "orders", "--only", "A"], "needs the name of one feed"],
  ])("%j is refused: it %s", async (args, words) => {
    const shop = await startShop();
    const { code, err } = await shop.command(...args);
    expect([code, err]).toEqual([64, expect.stringContaining(words)]);
  });
});

it("check says of a feed's other file whether it can be read", async () => {
  const shop = await startShop({ settings: { imports: { stocks: { file: "erp.db", table: "goods" } } } });
  const missing = await shop.command("check");
  expect([missing.code, missing.out]).toEqual([
    1,
    expect.stringContaining("FAIL imports.stocks: stocks: table goods of"),
  ]);
  const db = new Database(`${shop.folder}/erp.db`);
  db.exec("CREATE TABLE goods (sku, warehouse, quantity, reserved)");
  expect((await shop.command("check")).out).toContain("is not in WAL mode");
  db.pragma("journal_mode = WAL");
  db.close();
  const fine = await shop.command("check");
  expect([fine.code, fine.out]).toEqual([0, expect.stringContaining("ok   imports.stocks: table goods of")]);
});
