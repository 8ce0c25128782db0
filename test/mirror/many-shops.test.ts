import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFinished } from "vitest";
import { PostgresCluster } from "../../scripts/mirror/postgres-cluster.ts";
import { blocksOf } from "../support/blocks.ts";
import { type Settings, startTestBridge, type TestBridge } from "../support/bridge.ts";
import { describeWithPostgres } from "../support/postgres.ts";
import { createOrders } from "../support/pull.ts";
import { readRecipes } from "../support/recipes.ts";
import { runCommand } from "../support/shop.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const PAGE = "docs/many-shops.md";
const PATIENT = 60_000;

interface HeadOffice {
  cluster: PostgresCluster;
  /** Addresses that the commands printed, by role. */
  addresses: Map<string, string>;
  /** A program of PostgreSQL's or an example, as a role that reaches the server by TLS. */
  call(program: string, args: readonly string[], input?: string): string;
  /** A statement as this role; rows of columns parted by |. */
  ask(role: string, sql: string, values?: Record<string, string>): string[];
}

/** Follows the page's own commands, at another address. */
async function startHeadOffice(): Promise<HeadOffice> {
  const cluster = await PostgresCluster.start();
  onTestFinished(() => cluster.close());
  const commands = blocksOf(PAGE)
    .filter(({ language }) => language === "")
    .flatMap(({ text }) => text.split("\n"));
  const made = commands.flatMap((line) => [...line.matchAll(/--command "(CREATE [^"]+)"/g)].map(([, sql = ""]) => sql));
  expect(made).toHaveLength(2);
  for (const sql of made) await cluster.query("postgres", sql);
  const addresses = new Map<string, string>();
  const inits = commands.filter((line) => line.includes("mirror init"));
  expect(inits).toHaveLength(2);
  for (const line of inits) {
    const words = line
      .replace(/^PGPASSWORD=\S+ erp-bridge /, "")
      .replace("@db.example.com/", `@localhost:${cluster.port}/`)
      .replace(/\/etc\/ssl\/certs\/\S+/, cluster.certificate)
      .split(" ");
    const password = /^PGPASSWORD=(\S+)/.exec(line)?.[1];
    const { code, out, err } = await runCommand(words, { PGPASSWORD: password });
    expect([code, err]).toEqual([0, ""]);
    for (const [, role = "", address = ""] of out.matchAll(/The role (\S+) was made\..*: (\S+)$/gm))
      addresses.set(role, address);
  }
  const call: HeadOffice["call"] = (program, args, input = "") => {
    const env = { ...process.env, PGSSLMODE: "verify-full", PGSSLROOTCERT: cluster.certificate };
    const { status, stdout, stderr } = spawnSync(program, args, { input, env, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  return {
    cluster,
    addresses,
    call,
    ask: (role, sql, values = {}) => {
      const sets = Object.entries(values).flatMap(([name, value]) => ["-v", `${name}=${value}`]);
      const address = addresses.get(role) ?? "";
      const lines = call("psql", [address, "-XqAt", "-v", "ON_ERROR_STOP=1", ...sets], `${SCHEMA}${sql}`).trimEnd();
      return lines === "" ? [] : lines.split("\n");
    },
  };
}

const RECIPES = new Map(readRecipes(PAGE).map(({ name, sql }) => [name, sql]));
const SCHEMA = recipe("schema");

function recipe(name: string): string {
  const sql = RECIPES.get(name);
  if (sql === undefined) throw new Error(`${PAGE} has no statement named ${name}`);
  return sql;
}

interface FirstShop extends TestBridge {
  mirror(): Promise<void>;
}

/** The page's configuration, with the address that `mirror init` printed. */
async function startFirstShop({ cluster, addresses }: HeadOffice): Promise<FirstShop> {
  const file = path.join(tempFolder("mirror-url"), "mirror-url");
  writeFileSync(file, `${addresses.get("erp_bridge_shop_north")}\n`, { mode: 0o640 });
  const mirror: Settings = { url_file: file, ca_file: cluster.certificate, shop: "north" };
  const test = await startTestBridge({ settings: { mirror, statuses: { path: STATUS_PATH } } });
  return Object.assign(Object.create(test) as TestBridge, {
    mirror: async () => {
      const { error } = await test.run("mirror");
      if (error !== null) throw error;
    },
  });
}

/** Answers of the ten questions, in their order on the page. */
const ANSWERS: Record<string, string[]> = {
  "silent shops": ["west||Never heard of."],
  "orders of today": ["north|2|1", "south|1|0", "west|0|0"],
  revenue: ["north|M|RUB|1|100.10|0", "south|L|RUB|1||1", "south|M|EUR|1|7|0"],
  "not taken": ["north|N1|100.10|RUB"],
  "one article": ["north||2.5|0|2.5", "south|main|7|2|5"],
  "refused rows": [
    "north|prices|A-17, retail|no price",
    "north|stock|A-18|no number",
    "south|erp_orders|00000000-0000-4000-8000-000000000003|no such order",
  ],
  "statuses that wait": ["north|N1|shipped|sending|2|HTTP 503"],
  "cancelled after shipped": ["north|00000000-0000-4000-8000-000000000002|N2"],
  "conditions by severity": ["error|flow_failing|1", "warning|quarantined|2"],
  quarantine: ["south|4|order|S9|no id|3"],
};

/** Times are today's: columns that hold one are left out of the comparison by a statement around the question. */
const COLUMNS: Record<string, string> = {
  "orders of today": "shop, orders, cancelled",
  revenue: `shop, CASE month WHEN date_trunc('month', now())::date THEN 'M' ELSE 'L' END, currency, orders, revenue, unknown`,
  "not taken": "shop, number, total, currency",
  "statuses that wait": "shop, number, status, state, attempts, last_error",
  "cancelled after shipped": "shop, order_id, number",
  "conditions by severity": "severity, code, shops",
  quarantine: "shop, id, kind, reference, reason, times",
};

const orderOf = (no: number, { shop, number, total, currency, is_cancelled = false, at }: Record<string, unknown>) =>
  `INSERT INTO orders (shop, order_id, number, status, is_cancelled, is_open, currency, total, revision, erp_revision,
     received_at, changed_at, lines, hash, epoch, seq)
   VALUES ('${shop}', '00000000-0000-4000-8000-00000000000${no}', '${number}', 'new', ${is_cancelled}, true, '${currency}', '${total}', 1, 1,
     ${at}, ${at}, '[]', '', 0, 1);
   INSERT INTO erp_queue VALUES ('${shop}', '00000000-0000-4000-8000-00000000000${no}', now());\n`;

const ORDER_1 = "00000000-0000-4000-8000-000000000001";
const ORDER_2 = "00000000-0000-4000-8000-000000000002";
const ORDER_3 = "00000000-0000-4000-8000-000000000003";
const ORDER_4 = "00000000-0000-4000-8000-000000000004";

/** Three shops: one with trouble, one with less of it, one that never came. `today` is an hour and a half old, and of this day. */
const FILLED = `
  INSERT INTO shop_keys VALUES ('north'), ('south'), ('west') ON CONFLICT DO NOTHING;
  INSERT INTO positions (shop, database_id, orders_seq, events_seq, sentence) VALUES ('north', 'a', 0, 0, 'Up to date.'), ('south', 'b', 0, 0, 'Up to date.');
  ${orderOf(1, { shop: "north", number: "N1", total: "100.10", currency: "RUB", at: "now() - interval '90 minutes'" })}
  ${orderOf(2, { shop: "north", number: "N2", total: "5", currency: "RUB", is_cancelled: true, at: "now() - interval '30 minutes'" })}
  ${orderOf(3, { shop: "south", number: "S3", total: "7", currency: "EUR", at: "now()" })}
  ${orderOf(4, { shop: "south", number: "S4", total: "about 9", currency: "RUB", at: "now() - interval '45 days'" })}
  INSERT INTO erp_orders (shop, order_id, seen_revision, error) VALUES ('south', '${ORDER_4}', 1, NULL), ('south', '${ORDER_3}', 0, 'no such order');
  INSERT INTO order_events (shop, seq, order_id, revision, kind, status_changed, lines_changed, fields_changed, old_status, new_status, source, at)
  VALUES ('north', 1, '${ORDER_2}', 2, 'changed', true, false, false, 'new', 'shipped', 'updates', now()),
    ('north', 2, '${ORDER_2}', 3, 'cancelled', true, false, false, 'shipped', 'cancelled', 'updates', now()),
    ('north', 3, '${ORDER_1}', 2, 'changed', true, false, false, 'new', 'shipped', 'updates', now());
  INSERT INTO stock (shop, sku, warehouse, quantity, reserved, error) VALUES ('north', 'A-17', '', 2.5, 0, NULL), ('south', 'A-17', 'main', 7, 2, NULL),
    ('north', 'A-18', '', NULL, 0, 'no number');
  INSERT INTO prices (shop, sku, price_type, error) VALUES ('north', 'A-17', 'retail', 'no price');
  INSERT INTO status_requests (shop, order_id, status, state, attempts, last_error, requested_at)
  VALUES ('north', '${ORDER_1}', 'shipped', 'sending', 2, 'HTTP 503', now() - interval '11 minutes'), ('north', '${ORDER_2}', 'paid', 'pending', 0, NULL, now()),
    ('south', '${ORDER_3}', 'paid', 'sent', 1, NULL, now() - interval '1 day');
  INSERT INTO conditions (shop, rank, code, severity, subject, params, text, seen_at)
  SELECT shop, rank, code, severity, 'orders', '{}', '', now() FROM (VALUES ('north', 1, 'flow_failing', 'error'), ('north', 2, 'quarantined', 'warning'),
    ('south', 1, 'quarantined', 'warning')) AS c (shop, rank, code, severity);
  INSERT INTO quarantine (shop, id, kind, reference, reason, state, first_seen_at, last_seen_at, times)
  VALUES ('south', 4, 'order', 'S9', 'no id', 'held', now(), now(), 3), ('south', 5, 'order', 'S8', 'no id', 'released', now(), now(), 1);`;

/** A time zone in which it is about noon now, so that today is longer ago than the rows. */
function noonZone(): string {
  const hours = 12 - new Date().getUTCHours();
  return `SET TIME ZONE INTERVAL '${hours} hours' HOUR TO MINUTE;`;
}

describeWithPostgres(PAGE, () => {
  itWhole(
    "leads from nothing to a head office with a first shop, whose ERP works in PostgreSQL",
    async () => {
      const office = await startHeadOffice();
      expect([...office.addresses.keys()].sort()).toEqual(["erp", "erp_bridge_shop_north", "office"]);
      const shop = await startFirstShop(office);
      createOrders(shop, 3);
      await shop.run("orders");
      await shop.mirror();
      expect(office.ask("office", "SELECT shop, is_silent FROM shops")).toEqual(["north|f"]);
      expect(office.ask("office", `SELECT host <> '' FROM (${bare(recipe("machines"))}) AS m`)).toEqual(["t"]);

      const [pending = ""] = office.ask("erp", recipe("pending"));
      const [key = "", orderId = "", revision = ""] = pending.split("|");
      const order = { shop: key, order_id: orderId };
      office.ask("erp", recipe("mark"), { ...order, erp_number: "E-1", revision });
      office.ask("erp", recipe("stock"));
      for (let times = 0; times < 2; times++)
        office.ask("erp", recipe("status"), { ...order, id: "6b72ad2b-3ba8-4cf2-8fdd-9549a4299bde" });
      await shop.mirror();
      expect(shop.rows("SELECT order_id, erp_number, seen_revision FROM erp_orders")).toEqual([
        { order_id: orderId, erp_number: "E-1", seen_revision: 1 },
      ]);
      expect(shop.rows("SELECT sku, warehouse, quantity, reserved FROM stock")).toEqual([
        { sku: "A-17", warehouse: "main", quantity: 12, reserved: 2 },
      ]);
      await shop.run("statuses");
      await shop.mirror();
      expect(office.ask("office", "SELECT state, error FROM status_requests")).toEqual(["sent|"]);
      expect(shop.sandbox.service.orders().filter(({ status }) => status === "shipped")).toHaveLength(1);

      // A role of the reader's cannot write, and the ERP's not what is the bridges'.
      expect(() => office.ask("office", recipe("stock"))).toThrow("permission denied");
      expect(() => office.ask("erp", "UPDATE orders SET total = '1'")).toThrow("permission denied");
      expect(() => office.ask("erp", "UPDATE status_requests SET state = 'pending'")).toThrow("permission denied");
      expect(() => office.ask("erp", "TRUNCATE stock")).toThrow("permission denied");
    },
    PATIENT,
  );

  inWhole("examples", "mirror/up").it.each([
    ["erp.sql", "psql"],
    ["erp.py", "python3"],
  ])(
    "has examples/many-shops/%s, which takes orders and publishes stock",
    async (name, program) => {
      const office = await startHeadOffice();
      const shop = await startFirstShop(office);
      createOrders(shop, 3);
      const empty = shop.sandbox.service.createOrder({ lines: [] });
      await shop.run("orders");
      await shop.mirror();
      const address = office.addresses.get("erp") ?? "";
      const file = `examples/many-shops/${name}`;
      const isSql = program === "psql";
      const call = (...args: string[]) => office.call("python3", [file, address, ...args]);
      const orders = () =>
        isSql ? office.call("psql", [address, "--no-psqlrc"], readFileSync(file, "utf8")) : call("orders");
      orders();
      if (!isSql) call("stock", "north", "A-17", "12.5");
      await shop.mirror();
      expect(shop.rows("SELECT 1 FROM orders_pending")).toEqual([]);
      expect(shop.rows("SELECT 1 FROM erp_orders WHERE seen_revision = 1 AND erp_number IS NOT NULL")).toHaveLength(
        isSql ? 4 : 3,
      );
      expect(shop.rows("SELECT CAST(quantity AS TEXT) AS quantity FROM stock WHERE sku = 'A-17'")).toEqual([
        { quantity: "12.5" },
      ]);
      expect(office.ask("erp", "SELECT 1 FROM orders_pending")).toEqual([]);
      orders();
      if (isSql) return;
      expect(shop.rows("SELECT order_id, error FROM orders_blocked")).toEqual([
        { order_id: empty, error: "the order has no lines" },
      ]);
      for (let times = 0; times < 2; times++) call("status", "north", empty, "it's shipped");
      await shop.mirror();
      expect(shop.rows("SELECT order_id, status FROM status_requests")).toEqual([
        { order_id: empty, status: "it's shipped" },
      ]);
    },
    PATIENT,
  );

  itWhole(
    "answers the ten questions of a head office, to each role for its own shops",
    async () => {
      const office = await startHeadOffice();
      await office.cluster.query("shops", `SET search_path TO erp_bridge; ${FILLED}`);
      const ask = (role: string, name: string) =>
        office.ask(role, `${noonZone()} SELECT ${COLUMNS[name] ?? "*"} FROM (${bare(recipe(name))}) AS answer`);
      const found = Object.fromEntries(Object.keys(ANSWERS).map((name) => [name, ask("office", name)]));
      expect(found).toEqual(ANSWERS);
      expect(Object.keys(ANSWERS)).toEqual([...RECIPES.keys()].slice(-10));

      const url = `postgres://head:CHANGE-ME@localhost:${office.cluster.port}/shops`;
      const init = ["mirror", "init", "--url", url, "--ca-file", office.cluster.certificate];
      const { out } = await runCommand([...init, "--shop", "south", "--reader", "kiosk"]);
      office.addresses.set("kiosk", /The role kiosk was made\..*: (\S+)$/m.exec(out)?.[1] ?? "");
      expect(ask("kiosk", "one article")).toEqual(["south|main|7|2|5"]);
      office.call("psql", [url, "-Xq"], SCHEMA + recipe("another shop"));
      expect(ask("kiosk", "one article")).toEqual(ANSWERS["one article"]);
    },
    PATIENT,
  );
});

/** A query that can stand inside another. */
function bare(sql: string): string {
  return sql.trim().replace(/;$/, "");
}
