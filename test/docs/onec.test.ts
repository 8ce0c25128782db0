import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { blocksOf } from "../support/blocks.ts";
import { startTestBridge } from "../support/bridge.ts";
import { type Shop, startShop } from "../support/shop.ts";

const PAGES = ["docs/1c.md", "docs/1c.ru.md"];
const BSL = "examples/1c/odbc.bsl";
const hasPython = spawnSync("python3", ["-c", "import sqlite3"]).status === 0;
const drivers = spawnSync("odbcinst", ["-q", "-d"], { encoding: "utf8" }).stdout ?? "";
const hasOdbc = hasPython && drivers.includes("[SQLite3]");
const hasIsql = hasOdbc && spawnSync("isql", ["--version"]).status === 0;

/** The statements in a module, in their order. Lines of one go on with `|`. */
function statementsOf(file: string): string[] {
  const literals = readFileSync(file, "utf8").matchAll(
    /"((?:SELECT|INSERT|UPDATE|DELETE|PRAGMA|BEGIN|COMMIT|CREATE)\b[^"]*)"/g,
  );
  return [...literals].map(([, text = ""]) => text.replaceAll(/\n\s*\|/g, "\n"));
}

const STATEMENTS = statementsOf(BSL);
const find = (start: string) => STATEMENTS.find((sql) => sql.startsWith(start)) ?? start;
const [MARK = "", BLOCK = ""] = STATEMENTS.filter((sql) => sql.includes("INTO erp_orders"));

/** As the pages write it. */
const CONNECT = /```text\n(Driver=.*)\n```/.exec(readFileSync("docs/1c.md", "utf8"))?.[1] ?? "";
const connectTo = (database: string) => CONNECT.replace("/var/lib/erp-bridge/bridge.db", database);

type Step = { sql: string; values?: string[] };
type Answer = { rows?: (string | null)[][]; error?: string };

function throughOdbc(database: string, steps: readonly Step[]): Answer[] {
  const input = JSON.stringify({ connect: connectTo(database), steps });
  const { stdout, stderr } = spawnSync("python3", ["test/support/odbc.py"], { input, encoding: "utf8" });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Answer[];
}

async function shopWithOrders(): Promise<{ shop: Shop; ids: string[] }> {
  const shop = await startShop({ settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/status" } } });
  const line = { sku: "А-17", name: "Чайник «Утро» 😀", quantity: "0.250", price: "1234567890.10" };
  const ids = ["new", "paid"].map((status) => shop.sandbox.service.createOrder({ status, lines: [line] }));
  expect((await shop.command("sync", "orders")).code).toBe(0);
  return { shop, ids };
}

describe("docs/1c", () => {
  it("is the same in both languages: blocks, statements and links", () => {
    const [english, russian] = PAGES.map((page) => blocksOf(page).map(({ text }) => text));
    expect(russian).toEqual(english);
    expect(CONNECT).toContain("NoCreat=1");
  });

  it("quotes the module as it is", () => {
    const module = readFileSync(BSL, "utf8");
    const quoted = PAGES.flatMap(blocksOf).filter(({ language }) => language === "bsl");
    expect(quoted).toHaveLength(2);
    for (const { text } of quoted) expect(module).toContain(text);
  });
});

describe.runIf(hasIsql)("isql", () => {
  it("answers as the pages call it", async () => {
    const { bridge } = await startTestBridge();
    const call = blocksOf("docs/1c.md").find(({ text }) => text.includes("isql"))?.text ?? "";
    const database = bridge.store.path;
    const args = ["-c", call.replace("/var/lib/erp-bridge/bridge.db", database)];
    const { stdout, status } = spawnSync("sh", args, { encoding: "utf8" });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^\| *0 *\|/m)]);
  });
});

describe.runIf(hasOdbc)("examples/1c/odbc.bsl, through ODBC", () => {
  it("reads, marks, puts aside, sends a status and writes stock; a wrong path makes no database", async () => {
    const { shop, ids } = await shopWithOrders();
    const [first, second] = ids as [string, string];
    const stock = find("INSERT INTO stock");
    const steps: Step[] = [
      { sql: find("PRAGMA") },
      { sql: find("SELECT") },
      { sql: MARK, values: [first, "00-000017", "1"] },
      { sql: BLOCK, values: [second, "нет товара с артикулом А-17"] },
      { sql: find("INSERT INTO status_requests"), values: [first, "shipped", "посылка 'O''Нил'"] },
      { sql: "INSERT INTO stock (sku, quantity) VALUES ('СТАРЫЙ', 3)" },
      { sql: find("BEGIN") },
      { sql: find("CREATE TEMP") },
      { sql: find("DELETE FROM seen") },
      { sql: stock, values: ["А-17", "12.5", "0.250"] },
      { sql: find("INSERT OR IGNORE"), values: ["А-17"] },
      { sql: find("DELETE FROM stock") },
      { sql: find("COMMIT") },
    ];
    expect(new Set(STATEMENTS).size).toBe(steps.length - 1);
    const unknown = { sql: MARK, values: ["00000000-0000-4000-8000-000000000000", "1", "1"] };
    const answers = throughOdbc(shop.database, [...steps, unknown]);
    expect(answers.pop()?.error).toContain("there is no order");
    expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
    const [, read] = answers;
    expect(read?.rows?.map(([id, revision, why]) => [id, revision, why])).toEqual(ids.map((id) => [id, "1", "new"]));
    expect(JSON.parse(read?.rows?.[0]?.[6] ?? "")).toEqual([
      { sku: "А-17", quantity: "0.250", price: "1234567890.10" },
    ]);
    expect(
      shop.rows("SELECT order_id, erp_number, seen_revision, state, error FROM erp_orders ORDER BY state DESC"),
    ).toEqual([
      { order_id: first, erp_number: "00-000017", seen_revision: 1, state: "taken", error: null },
      { order_id: second, erp_number: null, seen_revision: 0, state: "blocked", error: "нет товара с артикулом А-17" },
    ]);
    expect((await shop.command("sync", "statuses", "stocks")).code).toBe(0);
    expect(shop.rows("SELECT status, comment, state FROM status_requests")).toEqual([
      { status: "shipped", comment: "посылка 'O''Нил'", state: "sent" },
    ]);
    expect(shop.rows("SELECT sku, quantity, reserved FROM stock")).toEqual([
      { sku: "А-17", quantity: "12.5", reserved: "0.250" },
    ]);
    expect(shop.rows("SELECT sent ->> 'quantity' AS quantity FROM stock_sent")).toEqual([{ quantity: 12.25 }]);
    const missing = path.join(shop.folder, "no.db");
    expect(throughOdbc(missing, [{ sql: "SELECT 1" }])[0]?.error).toMatch(/connect|open/i);
    expect(existsSync(missing)).toBe(false);
  });
});

/** In the place of 1C's HTTP service. */
async function startOneC(answers: Record<string, (body: never) => unknown>) {
  const calls: { path: string; body: unknown; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const body = text === "" ? null : (JSON.parse(text) as never);
      calls.push({ path: request.url ?? "", body, authorization: request.headers.authorization });
      const answer = answers[(request.url ?? "").replace(/\?.*/, "")]?.(body as never);
      // 1C writes a byte order mark unless it is told not to.
      if (answer === undefined) response.writeHead(500).end("ошибка");
      else response.end(`\uFEFF${typeof answer === "string" ? answer : JSON.stringify(answer)}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hs/bridge` };
}

type Order = { order_id: string; revision: number; total: string; lines: { sku: string; quantity: string }[] };

describe.runIf(hasPython)("examples/1c/exchange.py", () => {
  const run = (shop: Shop, url: string) => {
    const login = path.join(shop.folder, "1c-login");
    writeFileSync(login, "обмен:пароль\n");
    const child = spawn("python3", ["examples/1c/exchange.py", shop.database, url, login], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString("utf8")));
    return new Promise<{ code: number | null; err: string }>((resolve) =>
      child.once("close", (code) => resolve({ code, err })),
    );
  };

  it("gives orders, takes statuses once and the whole stock, as often as it runs, and leaves everything where 1C fails", async () => {
    const { shop, ids } = await shopWithOrders();
    const [first, second] = ids as [string, string];
    const statuses = [
      { id: 8, order_id: first, status: "shipped", comment: "посылка" },
      { id: 9, order_id: first, status: null, comment: null },
    ];
    let stock = '{"stock":[{"sku":"А-17","warehouse":"","quantity":12.50,"reserved":0.250},{"sku":"B","quantity":7}]}';
    const oneC = await startOneC({
      "/hs/bridge/orders": ({ orders }: { orders: Order[] }) => ({
        orders: orders.map(({ order_id }) =>
          order_id === second ? { order_id, error: "нет товара А-17" } : { order_id, erp_number: "00-17" },
        ),
      }),
      "/hs/bridge/statuses": () => ({
        statuses: statuses.filter(({ id }) => id > Number(/after=(\d+)/.exec(oneC.calls.at(-1)?.path ?? "")?.[1])),
      }),
      "/hs/bridge/stock": () => stock,
    });
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('B', 6)");
    const failing = await startOneC({
      "/hs/bridge/statuses": () => ({ statuses: [] }),
      "/hs/bridge/stock": () => ({ stock: [] }),
    });
    const { code, err } = await run(shop, failing.url);
    expect([code, err.match(/^\w+(?=:)/gm)]).toEqual([1, ["give_orders", "take_stock"]]);
    expect(shop.rows("SELECT 1 FROM orders_pending")).toHaveLength(2);
    expect(shop.rows("SELECT sku FROM stock")).toEqual([{ sku: "B" }]);
    const ended = await run(shop, oneC.url);
    expect(ended).toEqual({ code: 0, err: expect.stringMatching(/^status 9 of 1C: NOT NULL/) });
    expect(oneC.calls.map(({ path: at }) => at)).toEqual([
      "/hs/bridge/orders",
      "/hs/bridge/statuses?after=0",
      "/hs/bridge/stock",
    ]);
    expect(oneC.calls[0]?.authorization).toBe(`Basic ${Buffer.from("обмен:пароль").toString("base64")}`);
    const { orders } = (oneC.calls[0]?.body ?? { orders: [] }) as { orders: Order[] };
    expect(orders[0]).toMatchObject({
      order_id: first,
      revision: 1,
      lines: [{ sku: "А-17", quantity: "0.250", price: "1234567890.10" }],
    });
    expect(shop.rows("SELECT order_id, erp_number, state, error FROM erp_orders ORDER BY state DESC")).toEqual([
      { order_id: first, erp_number: "00-17", state: "taken", error: null },
      { order_id: second, erp_number: null, state: "blocked", error: "нет товара А-17" },
    ]);
    expect(shop.rows("SELECT sku, quantity, reserved FROM stock ORDER BY sku")).toEqual([
      { sku: "B", quantity: "7", reserved: 0 },
      { sku: "А-17", quantity: "12.50", reserved: "0.250" },
    ]);
    stock = '{"stock":[{"sku":"B","quantity":6}]}';
    expect(await run(shop, oneC.url)).toEqual({ code: 0, err: "" });
    expect(oneC.calls.slice(3).map(({ path: at }) => at)).toEqual(["/hs/bridge/statuses?after=9", "/hs/bridge/stock"]);
    expect(shop.rows("SELECT order_id, status, comment FROM status_requests")).toEqual([
      { order_id: first, status: "shipped", comment: "посылка" },
    ]);
    expect(shop.rows("SELECT sku, quantity FROM stock")).toEqual([{ sku: "B", quantity: "6" }]);
  });
});
