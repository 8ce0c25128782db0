import { readFileSync } from "node:fs";
import { getTableColumns, getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, it } from "vitest";
import type { MirrorTarget } from "../../src/config/mirror.ts";
import { readMirrorUrl } from "../../src/config/mirror.ts";
import { MirrorLink } from "../../src/mirror/connection.ts";
import { initSchema } from "../../src/mirror/init-schema.ts";
import * as schema from "../../src/mirror/postgres-schema.ts";
import { verifySchema } from "../../src/mirror/schema-version.ts";
import { describeWithPostgres, type TestDatabase, testDatabase } from "../support/postgres.ts";

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

  it("makes the schema once, as drizzle declares it", async () => {
    const database = await testDatabase();
    expect((await init(database)).applied).toEqual([
      "0000_mirror",
      "0001_way_up",
      "0002_blocked_orders",
      "0003_content",
      "0004_notes",
    ]);
    expect((await init(database)).applied).toEqual([]);
    const real = await database.cluster.query(
      database.name,
      `SELECT table_name, column_name, is_nullable FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_schema = 'erp_bridge' AND table_type = 'BASE TABLE' ORDER BY table_name, ordinal_position`,
    );
    const declared = Object.values(schema)
      .filter((entry) => is(entry, PgTable))
      .sort((a, b) => (getTableName(a) < getTableName(b) ? -1 : 1))
      .flatMap((table) => {
        const single = (name: string) =>
          (table as unknown as Record<string, { primary?: boolean }>)[name]?.primary === true;
        return Object.entries(getTableColumns(table)).map(
          ([name, column]) => `${getTableName(table)}|${column.name}|${column.notNull || single(name) ? "NO" : "YES"}`,
        );
      });
    expect(real.split("\n")).toEqual(declared);
  });

  it("gives a shop, an ERP and a reader roles that may do what they must, of their shop alone", async () => {
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
    const bridge = made.shop?.role ?? "";
    expect(await as(bridge, "SELECT count(*) FROM touched")).toBe("2");
    await as(bridge, "SET erp_bridge.quiet = on; UPDATE stock SET error = 'x'");
    expect(await as(bridge, "SELECT count(*) FROM touched")).toBe("2");
    await expect(as(bridge, "UPDATE stock SET quantity = 5")).rejects.toThrow("permission denied");
    await expect(as(bridge, "INSERT INTO shop_keys VALUES ('west')")).rejects.toThrow("permission denied");
  });

  it("notes every key that a statement has touched, and a TRUNCATE for every shop", async () => {
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

  it("gives an address that works over TLS with SCRAM, and is told apart where the certificate is not believed", async () => {
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
  });

  it("tells a schema that is missing, older, newer or another one", async () => {
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
