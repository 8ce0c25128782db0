import { expect, it } from "vitest";
import { describeWithPostgres } from "../support/postgres.ts";
import { itWhole } from "../support/whole.ts";
import { SHOP, startUp, storeOrders } from "./up-support.ts";

/** A kilobyte as it is stored; its text is larger than any that PostgreSQL can make. */
const ABSURD = "('[' || repeat('1e131071,', 8999) || '1]')::jsonb";
/** More than a gigabyte with `\\u0001` for each character. */
const ONLY_AS_JSON = "repeat(chr(1), 190000000)";
/** Of Windows-1251. */
const BYTES = "E'\\xd7\\xe0\\xe9'";

/** A database that takes any bytes, as one that was made without an encoding does. */
async function startWithBytes() {
  const up = await startUp();
  const { cluster, name } = up.database;
  await cluster.query("postgres", `UPDATE pg_database SET encoding = 0 WHERE datname = '${name}'`);
  return { ...up, pass: up.pass, erp: await up.connectErp() };
}

/** A column whose text takes a minute to be made, where it is true: PostgreSQL breaks that off in time, however slow the machine is. */
const SLOW_AS_TEXT = `CREATE TYPE slow AS (value boolean);
  CREATE FUNCTION slow_text(slow) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF ($1).value THEN PERFORM pg_sleep(60); END IF; RETURN 'true'; END $$;
  CREATE CAST (slow AS text) WITH FUNCTION slow_text (slow);
  ALTER TABLE products ALTER active DROP DEFAULT, ALTER active TYPE slow USING ROW(active)::slow`;

const REFUSED = "SELECT sku FROM products WHERE error LIKE '%cannot give%' ORDER BY sku";

describeWithPostgres("rows that PostgreSQL has and cannot give", () => {
  it("say why, and nothing else waits for them: rows, marks and requests", async () => {
    const { bridge, erp, pass, remote } = await startWithBytes();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query(
      `INSERT INTO products (shop, sku, name, unit) SELECT '${SHOP}', 'P' || n, 'name', CASE WHEN n IN (3, 7) THEN ${BYTES} END FROM generate_series(1, 9) n;
       INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'P3', 1), ('${SHOP}', 'P4', 2);
       INSERT INTO status_requests (shop, order_id, status, comment) VALUES ('${SHOP}', '${id}', 'packed', ${BYTES}), ('${SHOP}', '${id}', 'shipped', NULL);
       INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${id}', 1);`,
    );
    expect(await pass()).toEqual({ erpRequests: 1, erpRows: 10, refused: 3 });
    expect(bridge.rows("SELECT status FROM status_requests")).toEqual([{ status: "shipped" }]);
    expect(bridge.rows("SELECT sku FROM stock ORDER BY sku")).toEqual([{ sku: "P3" }, { sku: "P4" }]);
    expect(bridge.rows("SELECT count(*) AS n FROM products")).toEqual([{ n: 7 }]);
    expect(await remote(REFUSED)).toEqual([{ sku: "P3" }, { sku: "P7" }]);
    expect(await remote("SELECT status FROM status_requests WHERE error LIKE '%cannot give%'")).toEqual([
      { status: "packed" },
    ]);
    expect(await remote("SELECT count(*)::int AS n FROM touched")).toEqual([{ n: 0 }]);
    // What is put right arrives.
    await erp.query("UPDATE products SET unit = NULL WHERE sku = 'P3'");
    expect(await pass()).toEqual({ erpRows: 1 });
    expect(await remote(REFUSED)).toEqual([{ sku: "P7" }]);
  });

  itWhole("are passed over where whole tables are gone through, and what the shop has of them stays", async () => {
    const { bridge, erp, up, pass, remote } = await startWithBytes();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query(
      `INSERT INTO products (shop, sku, name) SELECT '${SHOP}', 'P' || n, 'old' FROM generate_series(1, 9) n`,
    );
    await pass();
    await erp.query("SET erp_bridge.quiet = 'on'");
    await erp.query(
      `UPDATE products SET name = 'new', unit = CASE WHEN sku IN ('P3', 'P9') THEN ${BYTES} END;
       INSERT INTO status_requests (shop, order_id, status, comment) VALUES ('${SHOP}', '${id}', 'packed', ${BYTES}), ('${SHOP}', '${id}', 'shipped', NULL)`,
    );
    up.compareAll();
    await pass();
    expect(bridge.rows("SELECT name, count(*) AS n FROM products GROUP BY name ORDER BY name")).toEqual([
      { name: "new", n: 7 },
      { name: "old", n: 2 },
    ]);
    expect(bridge.rows("SELECT status FROM status_requests")).toEqual([{ status: "shipped" }]);
    expect(await remote(REFUSED)).toEqual([{ sku: "P3" }, { sku: "P9" }]);
  });

  itWhole("are found among others where their text is larger than any", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(
      `INSERT INTO products (shop, sku, data) VALUES ('${SHOP}', 'large', ${ABSURD}), ('${SHOP}', 'small', NULL)`,
    );
    expect(await pass()).toEqual({ erpRows: 1, refused: 1 });
    expect(bridge.rows("SELECT sku FROM products")).toEqual([{ sku: "small" }]);
    expect(await remote(REFUSED)).toEqual([{ sku: "large" }]);
  });

  itWhole("are refused before JSON is made of them where only that is larger than any text", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query(
      `INSERT INTO status_requests (shop, order_id, status, comment) VALUES ('${SHOP}', '${id}', 'packed', ${ONLY_AS_JSON}), ('${SHOP}', '${id}', 'shipped', NULL);
       INSERT INTO erp_orders (shop, order_id, seen_revision) VALUES ('${SHOP}', '${id}', 1);
       INSERT INTO stock (shop, sku, quantity) VALUES ('${SHOP}', 'S', 1);`,
    );
    expect(await pass()).toEqual({ erpRequests: 1, erpRows: 2, refused: 1 });
    expect(await remote("SELECT status FROM status_requests WHERE error LIKE '%64 MB%'")).toEqual([
      { status: "packed" },
    ]);
  });

  itWhole("are refused so also in a walk, and where they are JSON already", async () => {
    const { bridge, erp, up, pass, remote } = await startUp();
    const [id = ""] = await storeOrders(bridge, 1);
    await erp.query("SET erp_bridge.quiet = 'on'");
    await erp.query(
      `INSERT INTO status_requests (shop, order_id, status, comment) VALUES ('${SHOP}', '${id}', 'packed', ${ONLY_AS_JSON}), ('${SHOP}', '${id}', 'shipped', NULL);
       INSERT INTO products (shop, sku, data) VALUES ('${SHOP}', 'P0', '{}'), ('${SHOP}', 'P1', to_jsonb(${ONLY_AS_JSON})), ('${SHOP}', 'P2', NULL)`,
    );
    up.compareAll();
    expect(await pass()).toEqual({ erpRequests: 1, erpRows: 2, refused: 2 });
    expect(await remote("SELECT sku FROM products WHERE error LIKE '%64 MB%'")).toEqual([{ sku: "P1" }]);
  });

  itWhole("are found where a statement takes too long over one of them", async () => {
    const { bridge, erp, pass, remote } = await startUp({}, { timeoutMs: 2000 });
    await erp.query(SLOW_AS_TEXT);
    await erp.query(
      `INSERT INTO products (shop, sku, name, active) SELECT '${SHOP}', 'P' || n, 'name', ROW(n = 3)::slow FROM generate_series(1, 9) n`,
    );
    await expect(pass()).rejects.toMatchObject({ code: "mirror_slow" });
    // How many passes that takes is not what matters here.
    const refused = () => remote("SELECT sku FROM products WHERE error IS NOT NULL");
    while ((await refused()).length === 0) await pass().catch(() => {});
    expect(await refused()).toEqual([{ sku: "P3" }]);
    expect(bridge.rows("SELECT count(*) AS n FROM products")).toEqual([{ n: 8 }]);
  });

  itWhole("are refused by their size alone where they are beyond what is read", async () => {
    const { bridge, erp, pass, remote } = await startUp();
    await erp.query(
      `INSERT INTO products (shop, sku, description) VALUES ('${SHOP}', 'large', repeat('x', 70000000)), ('${SHOP}', 'small', 'x')`,
    );
    expect(await pass()).toEqual({ erpRows: 1, refused: 1 });
    expect(bridge.rows("SELECT sku FROM products")).toEqual([{ sku: "small" }]);
    expect(await remote("SELECT sku FROM products WHERE error LIKE '%64 MB%'")).toEqual([{ sku: "large" }]);
  });
});
