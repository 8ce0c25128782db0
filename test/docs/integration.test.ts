import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { CLI } from "../support/marks.ts";
import { readRecipes, statementsOf } from "../support/recipes.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const PAGE = "docs/integration.md";
const PRODUCT = '{"sku":"{sku}","parent":"{parent}","name":"{name}"}';
const SETTINGS = {
  orders: { extra: { phone: "$.customer.phone" } },
  statuses: { path: STATUS_PATH },
  imports: {
    prices: { path: "/api/v1/import/prices" },
    catalog: { path: "/api/v1/import/catalog", record: JSON.parse(PRODUCT) as object },
    images: { path: "/api/v1/import/images" },
  },
};
const FEEDS = ["stocks", "prices", "catalog", "images"] as const;

type Values = Record<string, string | number>;
type Row = Record<string, unknown>;

/** A shop with two orders, and an ERP that follows the page. Every recipe is used exactly once. */
async function startReader() {
  const bridge = await startTestBridge({ settings: SETTINGS });
  const ids = [order(bridge, "A-1", "0.250", "1234567890.10"), order(bridge, "B-2", "3", "9.90")] as const;
  for (const feed of FEEDS) await bridge.run(feed);
  await bridge.run("orders");
  const erp = new Database(bridge.bridge.store.path, { timeout: 5_000 });
  onTestFinished(() => void erp.close());
  erp.exec(
    `CREATE TABLE my_orders (order_id TEXT PRIMARY KEY, total TEXT);
     CREATE TABLE my_goods (article TEXT, on_hand INTEGER, on_order INTEGER);
     INSERT INTO my_goods VALUES ('A-17', 7, 1), ('B-3', 9, 0), ('C-1', 2, 0)`,
  );
  const left = readRecipes(PAGE);
  /** Runs the next recipe, which must have this name. Gives the rows of its last statement. */
  const follow = (name: string, values: Values = {}): Row[] => {
    const recipe = left.shift();
    expect(recipe?.name).toBe(name);
    let rows: Row[] = [];
    for (const sql of statementsOf(recipe?.sql ?? "")) {
      const statement = erp.prepare(sql);
      const named = Object.fromEntries(Object.entries(values).filter(([key]) => sql.includes(`:${key}`)));
      if (statement.reader) rows = statement.all(named) as Row[];
      else statement.run(named);
    }
    return rows;
  };
  return { ...bridge, bridge: bridge.bridge, ids, erp, follow, left };
}

function order({ sandbox }: TestBridge, sku: string, quantity: string, price: string): string {
  return sandbox.service.createOrder({
    status: "new",
    currency: "RUB",
    lines: [
      { sku, quantity, price },
      { sku: "Z", quantity: "1", price: "1.50" },
    ],
    extra: { customer: '{"phone":"+7 900"}' },
  });
}

type Reader = Awaited<ReturnType<typeof startReader>>;

function readAndMark({ ids, erp, follow, sandbox }: Reader): void {
  follow("connect");
  const pending = follow("read pending");
  expect(pending.map(({ order_id, revision, why }) => [order_id, revision, why])).toEqual([
    [ids[0], 1, "new"],
    [ids[1], 1, "new"],
  ]);
  expect(
    (JSON.parse(String(pending[0]?.["lines"])) as Row[]).map(({ sku, quantity, price }) => [sku, quantity, price]),
  ).toEqual([
    ["A-1", "0.250", "1234567890.10"],
    ["Z", "1", "1.50"],
  ]);
  expect(follow("read pending as rows").map(({ order_id, line_no }) => [order_id, line_no])).toEqual(
    [...ids].sort().flatMap((id) => [
      [id, 1],
      [id, 2],
    ]),
  );
  follow("mark", { order_id: ids[0].toUpperCase(), erp_number: "E-1", revision: 1 });
  expect(pendingOf(erp)).toEqual([ids[1]]);
  follow("take and mark", { order_id: ids[1], erp_number: "E-2", revision: 1 });
  expect([pendingOf(erp), erp.prepare("SELECT order_id FROM my_orders").pluck().all()]).toEqual([[], [ids[1]]]);
  sandbox.service.changeOrder(ids[0], { status: "paid" });
}

function pendingOf(erp: Database.Database): unknown[] {
  return erp.prepare("SELECT order_id FROM orders_pending").pluck().all();
}

function blockAndLookBack({ ids, erp, follow }: Reader): void {
  expect(pendingOf(erp)).toEqual([ids[0]]);
  follow("block", { order_id: ids[0] });
  expect(pendingOf(erp)).toEqual([]);
  expect(follow("list blocked")).toMatchObject([{ order_id: ids[0], error: "article A-17 is unknown here" }]);
  follow("unblock", { order_id: ids[0] });
  expect(pendingOf(erp)).toEqual([ids[0]]);
  expect(follow("sums by day")).toMatchObject([{ currency: "RUB", orders: 2 }]);
  expect(follow("sold by article")).toEqual([
    { sku: "A-1", sold: 0.25, turnover: expect.closeTo(308641972.525, 1) },
    { sku: "B-2", sold: 3, turnover: 29.7 },
    { sku: "Z", sold: 2, turnover: 3 },
  ]);
  expect(follow("extra column").map(({ phone }) => phone)).toEqual(["+7 900", "+7 900"]);
  expect(follow("history", { order_id: ids[0] }).map(({ kind, new_status }) => [kind, new_status])).toEqual([
    ["created", "new"],
    ["changed", "paid"],
  ]);
  expect(follow("what changed", { order_id: ids[0] })).toContainEqual(
    expect.objectContaining({ place: "$.status", was: '"new"', is: '"paid"' }),
  );
  expect(follow("follow events", { last_seq: 2 }).map(({ kind }) => kind)).toEqual(["changed"]);
}

function statusAt({ service }: Reader["sandbox"], id: string): string | undefined {
  return service.orders().find((each) => each.id === id)?.status;
}

async function sendStatuses({ ids, erp, follow, run, sandbox }: Reader): Promise<void> {
  follow("ask for a status", { order_id: ids[1] });
  await run("statuses");
  expect(follow("outcome of a status", { order_id: ids[1] })).toMatchObject([
    { status: "shipped", state: "sent", last_error: null },
  ]);
  expect(statusAt(sandbox, ids[1])).toBe("shipped");
  expect(pendingOf(erp)).toEqual([ids[0]]);
  const [{ revision } = { revision: 0 }] = erp
    .prepare<[string], { revision: number }>("SELECT revision FROM orders WHERE order_id = ?")
    .all(ids[1]);
  follow("ask for a status of a revision", { order_id: ids[1], revision });
  await run("statuses");
  expect(erp.prepare("SELECT state, known_revision AS known FROM status_requests ORDER BY id DESC").get()).toEqual({
    state: "sent",
    known: revision,
  });
  const asked = erp.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'lost')").run(ids[0]);
  follow("take a status back", { id: Number(asked.lastInsertRowid) });
  await run("statuses");
  expect(statusAt(sandbox, ids[0])).toBe("paid");
}

/** What the site shows for a stock row's sku, of the warehouse that the page uses. */
function levels({ sandbox }: Reader): Record<string, unknown> {
  return Object.fromEntries(
    [...sandbox.service.imported("stocks").values()].map((text) => {
      const { sku, quantity } = JSON.parse(text) as { sku: string; quantity: number };
      return [sku, quantity];
    }),
  );
}

async function publish(reader: Reader): Promise<void> {
  const { erp, follow, run, clock } = reader;
  erp.exec("INSERT INTO stock (sku, warehouse, quantity) VALUES ('A-17', 'main', 4)");
  follow("stock update");
  await run("stocks");
  expect(levels(reader)).toEqual({ "A-17": 3 });
  follow("stock upsert");
  await run("stocks");
  expect(levels(reader)).toEqual({ "A-17": 10, "B-3": 5 });
  follow("stock replace");
  await run("stocks");
  expect(levels(reader)).toEqual({ "A-17": 10, "B-3": 4 });
  erp.exec("INSERT INTO stock (sku, quantity) VALUES ('GONE', 3)");
  await run("stocks");
  follow("stock anew");
  for (let minute = 0; minute < 4; minute++) {
    clock.advance(60_000);
    await run("stocks");
  }
  expect(levels(reader)).toEqual({ "A-17": 6, "B-3": 9, "C-1": 2, GONE: 0 });
}

async function publishMore({ follow, run, sandbox, erp }: Reader): Promise<void> {
  follow("prices");
  follow("products");
  follow("images");
  for (const feed of ["prices", "catalog", "images"] as const) await run(feed);
  const shown = (feed: (typeof FEEDS)[number]) =>
    [...sandbox.service.imported(feed).values()].map((text) => text.replaceAll(" ", ""));
  expect(shown("prices")).toEqual([expect.stringContaining('"price":1490.00')]);
  const products = sandbox.ledger.ofKind("import").filter(({ path }) => path.endsWith("catalog"));
  expect(
    products.flatMap(({ requestBody }) => [...(requestBody ?? "").matchAll(/"sku":"([^"]+)"/g)].map(([, sku]) => sku)),
  ).toEqual(["G-1", "A-17"]);
  expect(shown("images")).toEqual([expect.stringContaining("a-17.jpg")]);
  follow("stock from a view");
  expect(erp.prepare("SELECT count(*) FROM my_stock").pluck().get()).toBe(3);
}

async function lookAround({ erp, follow, run, restart }: Reader): Promise<void> {
  erp.exec("INSERT INTO stock (sku, quantity) VALUES ('BAD', 'many')");
  await run("stocks");
  erp.exec("UPDATE stock SET quantity = 8 WHERE sku = 'A-17'");
  expect(follow("on the site")).toMatchObject([{ on_site: "6", state: "waiting" }]);
  expect(follow("not on the site yet").map(({ state, rows }) => [state, rows])).toEqual([
    ["refused", 1],
    ["waiting", 1],
  ]);
  expect(follow("quarantined rows")).toMatchObject([{ reference: "BAD" }]);
  expect(follow("status").map(({ flow }) => flow)).toContain("stocks");
  expect(follow("conditions")).toEqual([]);
  expect(follow("holds")).toEqual([]);
  expect(follow("batches and runs").at(-1)).toMatchObject({ outcome: expect.stringMatching(/^(idle|done)$/) });
  await restart({ ...SETTINGS, imports: { stocks: { table: "my_stock" } } });
}

describe("docs/integration.md", () => {
  itWhole("has recipes that do what it says, one after the other, on one database", async () => {
    const reader = await startReader();
    readAndMark(reader);
    await reader.run("updates");
    blockAndLookBack(reader);
    await sendStatuses(reader);
    await publish(reader);
    await publishMore(reader);
    await lookAround(reader);
    erp(reader, "UPDATE my_goods SET on_hand = 20 WHERE article = 'C-1'");
    await reader.run("stocks");
    expect(levels(reader)).toMatchObject({ "A-17": 6, "C-1": 20 });
    expect(reader.left.map(({ name }) => name)).toEqual([]);
  });

  it.runIf(existsSync(CLI))("is understood by the SQLite of this machine, which is often an older one", async () => {
    const { bridge } = await startReader();
    const made = "CREATE TABLE IF NOT EXISTS my_goods (article, on_hand, on_order);";
    for (const { name, sql } of readRecipes(PAGE)) {
      const explained = statementsOf(sql).map((statement) => `EXPLAIN ${statement};`);
      const run = () =>
        execFileSync(CLI, ["-bail", bridge.store.path, `${made}${explained.join("\n")}`], { stdio: "pipe" });
      expect(run, name).not.toThrow();
    }
  });

  it("uses nothing that came after SQLite 3.38", () => {
    const later =
      /\b(IS (NOT )?DISTINCT FROM|RIGHT JOIN|FULL (OUTER )?JOIN|string_agg|concat(_ws)?\(|octet_length|timediff|jsonb\w*\(|json_pretty|json_error_position|unhex|ORDER BY [^()]+\)\s+FILTER|group_concat\([^()]* ORDER BY|json_group_\w+\([^()]* ORDER BY)/i;
    for (const { name, sql } of readRecipes(PAGE)) expect(sql, name).not.toMatch(later);
    expect("SELECT json_group_array(x ORDER BY y)").toMatch(later);
  });
});

/** Writes as the ERP would. */
function erp(reader: Reader, sql: string): void {
  reader.erp.exec(sql);
}
