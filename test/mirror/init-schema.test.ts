import { readFileSync } from "node:fs";
import { getTableColumns } from "drizzle-orm";
import { expect, it } from "vitest";
import type { MirrorTarget } from "../../src/config/mirror.ts";
import { readMirrorUrl } from "../../src/config/mirror.ts";
import { MirrorLink } from "../../src/mirror/connection.ts";
import { initSchema } from "../../src/mirror/schema/init-schema.ts";
import { positions } from "../../src/mirror/schema/postgres-schema.ts";
import { verifySchema } from "../../src/mirror/schema/schema-version.ts";
import { describeWithPostgres, sharedCluster, type TestDatabase, testDatabase } from "../support/postgres.ts";
import { itWhole } from "../support/whole.ts";

const linkTo = (url: string) => ({
  target: readMirrorUrl(url) as MirrorTarget,
  authorities: [] as string[],
  schema: "erp_bridge",
  timeoutMs: 30_000,
});

describeWithPostgres("mirror init", () => {
  const init = ({ url }: TestDatabase, more: object = {}) => initSchema({ link: linkTo(url), ...more });
  const connect = (url: string, authorities: string[] = []): MirrorLink => {
    const link = { ...linkTo(url), authorities, shop: "north" };
    return new MirrorLink({ ...link, verify: (query) => verifySchema(query, link) });
  };

  itWhole("makes the schema once, as drizzle declares it", async () => {
    const database = await testDatabase();
    expect((await init(database)).applied).toEqual([
      "0000_mirror",
      "0001_way_up",
      "0002_blocked_orders",
      "0003_content",
      "0004_notes",
      "0005_what_counts",
      "0006_account",
      "0007_strays",
      "0008_own_writes",
      "0009_open_requests",
      "0010_own_names",
      "0011_corrected_requests",
    ]);
    expect((await init(database)).applied).toEqual([]);
    const real = await database.cluster.query(
      database.name,
      `SELECT column_name, is_nullable FROM information_schema.columns
       WHERE table_schema = 'erp_bridge' AND table_name = 'positions' ORDER BY ordinal_position`,
    );
    const declared = Object.values(getTableColumns(positions)).map(
      (column) => `${column.name}|${column.notNull || column.primary ? "NO" : "YES"}`,
    );
    expect(real.split("\n")).toEqual(declared);
  });

  it("is refused in a database that is not in UTF-8, and leaves nothing there", async () => {
    const cluster = await sharedCluster();
    await cluster.query("postgres", "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    await expect(initSchema({ link: linkTo(cluster.url("bytes")) })).rejects.toMatchObject({
      code: "mirror_schema",
      text: { id: "mirror.notUtf8", params: { encoding: "SQL_ASCII" } },
    });
    await cluster.query("postgres", "DROP DATABASE bytes");
  });

  itWhole("gives a shop, an ERP and a reader roles that may do what they must, of their shop alone", async () => {
    const database = await testDatabase();
    const { cluster, name } = database;
    const made = await init(database, { shop: "north", erp: `erp_${name}`, reader: `reader_${name}` });
    await init(database, { shop: "south" });
    const as = (role: string, sql: string) =>
      cluster.query(name, `SET search_path = erp_bridge; SET ROLE "${role}"; ${sql}`);
    await cluster.query(name, "INSERT INTO erp_bridge.stock VALUES ('south', 'A', '', 1), ('north', 'A', '', 2)");
    expect(await as(`erp_${name}`, "SELECT shop FROM stock")).toBe("north");
    await as(
      `erp_${name}`,
      "INSERT INTO status_requests (shop, order_id, status) VALUES ('north', gen_random_uuid(), 'paid')",
    );
    await expect(as(`erp_${name}`, "UPDATE stock SET shop = 'south'")).rejects.toThrow("row-level security");
    await expect(as(`erp_${name}`, "TRUNCATE stock")).rejects.toThrow("permission denied");
    await expect(as(`erp_${name}`, "UPDATE status_requests SET state = 'sent'")).rejects.toThrow("permission denied");
    await expect(as(`reader_${name}`, "DELETE FROM stock")).rejects.toThrow("permission denied");
    expect(await as(`reader_${name}`, "SELECT shop FROM shops")).toBe("north");
    expect(await as(`reader_${name}`, "SELECT role, shop FROM shop_roles")).toBe(`reader_${name}|north`);
    const bridge = made.shop?.role ?? "";
    expect(await as(bridge, "SELECT count(*) FROM touched")).toBe("2");
    await as(bridge, "SET erp_bridge.quiet = on; UPDATE stock SET error = 'x'");
    expect(await as(bridge, "SELECT count(*) FROM touched")).toBe("2");
    await expect(as(bridge, "UPDATE stock SET quantity = 5")).rejects.toThrow("permission denied");
    await expect(as(bridge, "INSERT INTO shop_keys VALUES ('west')")).rejects.toThrow("permission denied");
  });

  itWhole("is led astray by no temporary table of whoever asks", async () => {
    const database = await testDatabase();
    const { cluster, name } = database;
    await init(database, { shop: "north" });
    const made = await init(database, { shop: "south", erp: `erp_${name}`, reader: `reader_${name}` });
    await cluster.query(
      name,
      `SET search_path = erp_bridge; SET erp_bridge.quiet = on; INSERT INTO stock VALUES ('north', 'A', '', 5);
       INSERT INTO positions (shop, database_id, orders_seq, events_seq) VALUES ('north', 'x', 0, 0), ('south', 'y', 0, 0)`,
    );
    const tables = (
      await cluster.query(
        name,
        "SELECT relname FROM pg_class WHERE relnamespace = 'erp_bridge'::regnamespace AND relkind IN ('r', 'v')",
      )
    ).split("\n");
    expect(tables).toContain("shop_roles");
    // Nobody but a bridge may read the notes.
    const contentOf = (table: string) =>
      table === "touched"
        ? "(shop text, id bigint, tbl text, k0 text, k1 text)"
        : `AS SELECT * FROM erp_bridge.${table} WHERE false`;
    // Each with everything in it for everybody, and with a trigger that would run as the schema's owner.
    const shadows = tables.map(
      (table) => `CREATE TEMP TABLE ${table} ${contentOf(table)}; GRANT ALL ON pg_temp.${table} TO PUBLIC;
        CREATE TRIGGER mine BEFORE INSERT ON pg_temp.${table} FOR EACH ROW EXECUTE FUNCTION pg_temp.mine();`,
    );
    const before = `CREATE FUNCTION pg_temp.mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''as %'', current_user; END';
      ${shadows.join(" ")} ALTER TABLE pg_temp.shop_roles DISABLE TRIGGER mine; INSERT INTO pg_temp.shop_roles VALUES (current_user, '*')`;
    const as = (role: string, sql: string) => cluster.query(name, `SET ROLE "${role}"; ${before}; ${sql}`);
    const roles = [made.shop?.role ?? "", `erp_${name}`, `reader_${name}`];
    for (const role of roles) {
      expect(await as(role, "SELECT shop FROM erp_bridge.positions")).toBe("south");
      await expect(as(role, "SELECT erp_bridge.fold_touched()")).rejects.toThrow("permission denied");
    }
    await as(`erp_${name}`, "UPDATE erp_bridge.stock SET quantity = 0 WHERE shop = 'north'");
    await as(made.shop?.role ?? "", "UPDATE erp_bridge.positions SET writer_no = 9 WHERE shop = 'north'");
    await as(
      `erp_${name}`,
      `INSERT INTO erp_bridge.stock (shop, sku) VALUES ('south', 'B');
       INSERT INTO erp_bridge.erp_orders (shop, order_id, state) VALUES ('south', gen_random_uuid(), 'blocked');
       INSERT INTO erp_bridge.status_requests (shop, order_id, status) VALUES ('south', gen_random_uuid(), 'paid')`,
    );
    expect(await cluster.query(name, "SELECT shop, sku, quantity FROM erp_bridge.stock ORDER BY shop")).toBe(
      "north|A|5\nsouth|B|",
    );
    expect(await cluster.query(name, "SELECT writer_no FROM erp_bridge.positions WHERE shop = 'north'")).toBe("0");
    expect(await cluster.query(name, "SELECT tbl FROM erp_bridge.touched ORDER BY tbl")).toBe(
      "erp_orders\nstatus_requests\nstock",
    );
    // A schema that was made before is closed by the next call.
    await cluster.query(name, "ALTER FUNCTION erp_bridge.my_shops() SET search_path = erp_bridge");
    expect(await as(`reader_${name}`, "SELECT shop FROM erp_bridge.positions ORDER BY 1")).toBe("north\nsouth");
    await init(database);
    expect(await as(`reader_${name}`, "SELECT shop FROM erp_bridge.positions")).toBe("south");
  });

  itWhole("says which table has lost its triggers or its policy, and gives them back", async () => {
    const database = await testDatabase();
    const { cluster, name } = database;
    await init(database, { shop: "north" });
    const change = (sql: string) => cluster.query(name, `SET search_path = erp_bridge; ${sql}`);
    const triggers = () =>
      change(
        "SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = ANY ('{stock, prices, images, erp_orders, status_requests}'::regclass[]) ORDER BY 1, 2",
      );
    const before = await triggers();
    const meet = async () => {
      const link = connect(database.url);
      const error: unknown = await link.look("SELECT 1").catch((thrown: unknown) => thrown);
      link.close();
      return (error as { text?: { id: string; params: unknown } }).text;
    };
    expect(await meet()).toBeUndefined();
    // As pg_restore --clean -t brings a table back, and as a bulk load leaves another.
    await change(`CREATE TABLE copy (LIKE stock INCLUDING ALL); DROP TABLE stock CASCADE; ALTER TABLE copy RENAME TO stock;
      ALTER TABLE prices DISABLE TRIGGER ALL; ALTER TABLE orders DISABLE ROW LEVEL SECURITY; DROP POLICY own_role ON shop_roles; DROP TRIGGER touch_truncate ON images`);
    expect(await meet()).toMatchObject({
      id: "mirror.disarmed",
      params: { tables: "images, orders, prices, shop_roles, stock" },
    });
    await init(database);
    expect(await meet()).toBeUndefined();
    expect(await triggers()).toBe(before);
    for (const trigger of [
      "note_block ON erp_orders",
      "forget_refusal ON erp_orders",
      "note_known ON status_requests",
      "keep_known ON status_requests",
      "note_corrected ON status_requests",
    ]) {
      const [row = "", table = ""] = trigger.split(" ON ");
      const alter = `ALTER TABLE ${table}`;
      for (const loss of [
        `DROP TRIGGER ${trigger}`,
        `${alter} DISABLE TRIGGER ${row}`,
        `${alter} ENABLE REPLICA TRIGGER ${row}`,
      ]) {
        await change(loss);
        expect(await meet(), loss).toMatchObject({ id: "mirror.disarmed", params: { tables: table } });
        await init(database);
        expect(await meet(), loss).toBeUndefined();
        expect(await triggers()).toBe(before);
      }
    }
    await change("DELETE FROM touched");
    await change("SET session_replication_role = replica; INSERT INTO stock (shop, sku) VALUES ('north', 'A')");
    expect(await change("SELECT tbl, k0, k1 FROM touched")).toBe("stock|A|");
  });

  itWhole("notes every key that a statement has touched, and a TRUNCATE for every shop", async () => {
    const database = await testDatabase();
    await init(database, { shop: "north" });
    await init(database, { shop: "south" });
    const touched = async (sql: string) => {
      await database.cluster.query(database.name, `SET search_path = erp_bridge; DELETE FROM touched; ${sql}`);
      const rows = "SELECT shop, tbl, k0, k1 FROM erp_bridge.touched ORDER BY shop, k0, k1";
      return (await database.cluster.query(database.name, rows)).split("\n");
    };
    expect(
      await touched("INSERT INTO stock (shop, sku, warehouse) VALUES ('north', 'A', ''), ('north', 'B', 'w')"),
    ).toEqual(["north|stock|A|", "north|stock|B|w"]);
    expect(await touched("UPDATE stock SET sku = 'C' WHERE sku = 'B'")).toEqual(["north|stock|B|w", "north|stock|C|w"]);
    expect(await touched("UPDATE stock SET quantity = 1 WHERE sku = 'A'")).toEqual(["north|stock|A|"]);
    expect(await touched("DELETE FROM stock WHERE sku = 'A'")).toEqual(["north|stock|A|"]);
    expect(await touched("TRUNCATE stock")).toEqual(["north|stock||", "south|stock||"]);
    expect(await touched("INSERT INTO images VALUES ('south', 'A', 7)")).toEqual(["south|images|A|7"]);
  });

  itWhole(
    "gives an address that works over TLS with SCRAM, and is told apart where the certificate is not believed",
    async () => {
      const database = await testDatabase();
      const { cluster, name } = database;
      // Roles are of the cluster, and other databases have theirs.
      const { shop } = await init(database, { shop: name });
      const url = cluster.tlsUrl(name, shop?.role ?? "", shop?.password ?? "");
      const ca = readFileSync(cluster.certificate, "utf8");
      const link = connect(url, [ca]);
      expect(await link.look("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).toEqual([{ ssl: true }]);
      link.close();
      const failure = async (other: MirrorLink) => {
        const error: unknown = await other.look("SELECT 1").catch((thrown: unknown) => thrown);
        other.close();
        return (error as { code: string }).code;
      };
      expect(await failure(connect(url))).toBe("mirror_certificate");
      expect(await failure(connect(url.replace("localhost", "127.0.0.2"), [ca]))).toBe("mirror_away");
      expect(await failure(connect(cluster.tlsUrl(name, shop?.role ?? "", "wrong"), [ca]))).toBe("mirror_access");
      expect(await failure(connect(cluster.tlsUrl("nowhere", shop?.role ?? "", shop?.password), [ca]))).toBe(
        "mirror_access",
      );
    },
  );

  itWhole("tells a schema that is missing, older, newer or another one", async () => {
    const database = await testDatabase();
    const meet = async () => {
      const link = connect(database.url);
      const error: unknown = await link.look("SELECT 1").catch((thrown: unknown) => thrown);
      link.close();
      return (error as { text?: { id: string } }).text?.id;
    };
    const change = (sql: string) => database.cluster.query(database.name, sql);
    expect(await meet()).toBe("mirror.noSchema");
    await init(database);
    expect(await meet()).toBeUndefined();
    await change("INSERT INTO erp_bridge.migrations (tag, hash) VALUES ('0001_later', 'x')");
    expect(await meet()).toBe("mirror.newerSchema");
    await expect(init(database)).rejects.toMatchObject({ code: "mirror_schema" });
    await change("DELETE FROM erp_bridge.migrations");
    expect(await meet()).toBe("mirror.olderSchema");
    await change("INSERT INTO erp_bridge.migrations (tag, hash) VALUES ('0000_mirror', 'x')");
    expect(await meet()).toBe("mirror.otherSchema");
  });
});
