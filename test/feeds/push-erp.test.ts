import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type ColumnValue, keyText } from "../../src/feeds/feed-record.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { runs } from "../support/whole.ts";

const RUNS = runs(1, 60);

/** An ERP's table of articles: any type, collation, key and constraint that SQL has. */
const schema = fc.record({
  type: fc.constantFrom("TEXT", "INTEGER", "REAL", "NUMERIC", "", "BLOB"),
  collation: fc.constantFrom("BINARY", "NOCASE", "RTRIM"),
  layout: fc.constantFrom(
    "bare",
    "key",
    "unique key",
    "id",
    "without rowid",
    "id without rowid",
    "descending",
    "two",
    "generated",
    "generated key",
  ),
  ean: fc.constantFrom(
    "ean TEXT",
    "ean TEXT UNIQUE",
    "ean TEXT COLLATE NOCASE UNIQUE ON CONFLICT REPLACE",
    "ean UNIQUE",
    "ean TEXT NOT NULL DEFAULT 'e1' UNIQUE",
    "ean TEXT, bcn AS (lower(ean) || grp) UNIQUE",
  ),
  computed: fc.boolean(),
  trigger: fc.constantFrom("none", "log", "raise", "moves"),
  cascade: fc.boolean(),
});
type Schema = typeof schema extends fc.Arbitrary<infer T> ? T : never;

const source = fc.constantFrom("table", "table", "table", "view", "query", "file");

const key = fc.constantFrom(
  "'A'",
  "'a'",
  "'A '",
  "'B'",
  "'1'",
  "1",
  "1.0",
  "'1.0'",
  "2",
  "2.5",
  "'01'",
  "NULL",
  "x'41'",

  "9007199254740993",
  "1234567890123456789",
  "-9223372036854775808",
  "1e300",
);
const ean = fc.constantFrom("'e1'", "'E1'", "'e2'", "'e3'", "NULL");
const rowid = fc.constantFrom("rowid", "oid", "_rowid_");
const level = fc.integer({ min: 1, max: 9 });
const how = fc.constantFrom("", "OR REPLACE", "OR IGNORE", "OR FAIL");

const write: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(how, key, ean, level, fc.integer({ min: 1, max: 6 }), fc.boolean())
      .map(([or, sku, code, quantity, id, hasId]) =>
        hasId
          ? `INSERT ${or} INTO goods (id, sku, ean, quantity, grp) VALUES (${id}, ${sku}, ${code}, ${quantity}, ${(id % 2) + 1})`
          : `INSERT ${or} INTO goods (sku, ean, quantity, grp) VALUES (${sku}, ${code}, ${quantity}, 1)`,
      ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(key, level)
      .map(([sku, quantity]) => `UPDATE goods SET quantity = ${quantity} WHERE sku = ${sku}`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(how, key, key)
      .map(([or, from, to]) => `UPDATE ${or} goods SET sku = ${to} WHERE sku = ${from}`),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(how, key, ean).map(([or, sku, to]) => `UPDATE ${or} goods SET ean = ${to} WHERE sku = ${sku}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(how, level, level)
      .map(([or, from, to]) => `UPDATE ${or} goods SET id = ${to} WHERE id = ${from}`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(how, rowid, key, level, fc.integer({ min: 1, max: 6 }))
      .map(
        ([or, name, sku, n, id]) =>
          `INSERT ${or} INTO goods (${name}, sku, quantity, grp) VALUES (${id}, ${sku}, ${n}, 1)`,
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(how, rowid, level, level)
      .map(([or, name, from, to]) => `UPDATE ${or} goods SET ${name} = ${to} WHERE ${name} = ${from}`),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(how, level).map(([or, n]) => `UPDATE ${or} goods SET grp = 1 WHERE quantity = ${n}`),
  },
  { weight: 2, arbitrary: key.map((sku) => `DELETE FROM goods WHERE sku = ${sku}`) },
  { weight: 1, arbitrary: fc.constant("DELETE FROM goods WHERE rowid = (SELECT max(rowid) FROM goods)") },
  { weight: 1, arbitrary: fc.constant("UPDATE goods SET quantity = quantity % 9 + 1") },
  { weight: 1, arbitrary: fc.constantFrom("DELETE FROM grps WHERE id = 2", "INSERT OR REPLACE INTO grps VALUES (2)") },
  {
    weight: 1,
    arbitrary: fc.tuple(key, level).map(([sku, quantity]) => `INSERT INTO moves VALUES (${sku}, ${quantity})`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(key, ean, level)
      .map(
        ([sku, code, quantity]) =>
          `INSERT INTO goods (sku, ean, quantity) VALUES (${sku}, ${code}, ${quantity}) ON CONFLICT DO UPDATE SET quantity = excluded.quantity`,
      ),
  },
);

type Step =
  | { do: "write"; sql: string }
  | { do: "transaction"; sqls: string[]; end: "COMMIT" | "ROLLBACK"; isLong: boolean }
  | { do: "schema"; how: string }
  | { do: "pass with a change"; how: string; after: number }
  | { do: "pragma"; sql: string }
  | { do: "pass" | "compare" | "minutes" | "restart" };

const schemaChange = fc.constantFrom(
  "rename",
  "make again",
  "alter",
  "rename twice",
  "rename column",
  "drop index",
  "broken view",
  "drop triggers",
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: write.map((sql): Step => ({ do: "write", sql })) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("transaction" as const),
      sqls: fc.array(write, { minLength: 1, maxLength: 5 }),
      end: fc.constantFrom("COMMIT" as const, "ROLLBACK" as const),
      isLong: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("schema" as const),
      how: schemaChange,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("pass with a change" as const),
      how: schemaChange,
      after: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        "PRAGMA recursive_triggers = ON",
        "PRAGMA recursive_triggers = OFF",
        "PRAGMA foreign_keys = ON",
        "PRAGMA foreign_keys = OFF",
        "VACUUM",
        "ANALYZE",
        "REINDEX",
      )
      .map((sql): Step => ({ do: "pragma", sql })),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom("pass" as const, "pass" as const, "minutes" as const, "compare" as const, "restart" as const)
      .map((what): Step => ({ do: what })),
  },
);

function tableSql(s: Schema, name = "goods"): string {
  const sku = `sku ${s.type} COLLATE ${s.collation}`;
  const rest = `${s.ean}, quantity, reserved DEFAULT 0${s.computed ? ", free AS (quantity - reserved)" : ""}, grp ${s.cascade ? "REFERENCES grps (id) ON DELETE CASCADE" : ""}`;
  switch (s.layout) {
    case "key":
      return `CREATE TABLE ${name} (${sku} PRIMARY KEY, id, ${rest})`;
    case "unique key":
      return `CREATE TABLE ${name} (id INTEGER PRIMARY KEY AUTOINCREMENT, ${sku} UNIQUE, ${rest})`;
    case "id":
      return `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, ${sku}, ${rest})`;
    case "without rowid":
      return `CREATE TABLE ${name} (${sku} PRIMARY KEY, id, ${rest}) WITHOUT ROWID`;
    case "id without rowid":
      return `CREATE TABLE ${name} (id INTEGER DEFAULT (abs(random()) % 1000) PRIMARY KEY, ${sku}, ${rest}) WITHOUT ROWID`;
    case "descending":
      return `CREATE TABLE ${name} (id, ${sku}, ${rest}, PRIMARY KEY (sku DESC, id)) WITHOUT ROWID`.replace(
        "(id,",
        "(id DEFAULT 0,",
      );
    case "two":
      return `CREATE TABLE ${name} (rowid TEXT, id, ${sku}, ${rest}, UNIQUE (sku COLLATE NOCASE, id))`;
    case "generated":
    case "generated key":
      return `CREATE TABLE ${name} (id, raw ${s.type}, sku AS (raw) ${s.layout === "generated" ? "" : "UNIQUE"}, ${rest})`;
    default:
      return `CREATE TABLE ${name} (id, ${sku}, ${rest})`;
  }
}

class World {
  readonly test: PushedFeeds;
  readonly schema: Schema;
  readonly kind: string;
  readonly erp: Database.Database;
  /** Keys that were in the source at every moment since they first were. */
  readonly held = new Set<string>();
  readonly #left = new Set<string>();
  #made = 0;

  constructor(test: PushedFeeds, erp: Database.Database, what: { schema: Schema; kind: string }) {
    this.test = test;
    this.erp = erp;
    this.schema = what.schema;
    this.kind = what.kind;
    erp.exec(
      "CREATE TABLE grps (id INTEGER PRIMARY KEY); INSERT INTO grps VALUES (1), (2); CREATE TABLE moves (sku, quantity); CREATE TABLE log (sku)",
    );
    this.#make();
    if (this.kind === "view") erp.exec("CREATE VIEW seen AS SELECT * FROM goods");
  }

  #make(): void {
    const { erp, schema: s } = this;
    erp.exec(tableSql(s));
    if (s.trigger === "log")
      erp.exec("CREATE TRIGGER goods_log AFTER UPDATE ON goods BEGIN INSERT INTO log VALUES (NEW.sku); END");
    if (s.trigger === "raise")
      erp.exec(
        "CREATE TRIGGER goods_raise AFTER INSERT ON goods WHEN NEW.quantity = 7 BEGIN SELECT RAISE(ROLLBACK, 'no seven'); END",
      );
    erp.exec("DROP TRIGGER IF EXISTS moves_take");
    if (s.trigger === "moves")
      erp.exec(
        "CREATE TRIGGER moves_take AFTER INSERT ON moves BEGIN UPDATE goods SET quantity = NEW.quantity WHERE sku = NEW.sku; END",
      );
  }

  rows(): Map<string, unknown[]> {
    const found = new Map<string, unknown[]>();
    for (const { sku, n } of this.erp.prepare("SELECT sku, quantity AS n FROM goods").safeIntegers().all() as {
      sku: ColumnValue;
      n: bigint;
    }[]) {
      const text = keyText(sku);
      if (text !== undefined) found.set(text, [...(found.get(text) ?? []), Number(n)]);
    }
    return found;
  }

  /** After every statement that is committed. */
  look(): void {
    if (this.erp.inTransaction) return;
    const now = this.rows();
    for (const text of this.held) {
      if (now.has(text)) continue;
      this.held.delete(text);
      this.#left.add(text);
    }
    for (const text of now.keys()) if (!this.#left.has(text)) this.held.add(text);
  }

  /** As the ERP writes the column from which the key is generated. */
  #written(sql: string): string {
    return this.schema.layout.startsWith("generated") ? sql.replaceAll(/\bsku\b/g, "raw") : sql;
  }

  exec(sql: string): void {
    try {
      this.erp.exec(this.#written(sql));
    } catch (error) {
      // The ERP's own constraints and mistakes are its business; the bridge is never the reason.
      expect(String(error)).not.toMatch(/feed_|erp_bridge/);
    }
    this.look();
  }

  async take(what: Step): Promise<void> {
    switch (what.do) {
      case "write":
      case "pragma":
        return this.exec(what.sql);
      case "transaction":
        this.exec("BEGIN IMMEDIATE");
        for (const sql of what.sqls) this.exec(sql);
        await this.#end(what.end, what.isLong);
        return;
      case "schema":
        return this.#change(what.how);
      case "pass with a change":
        return await this.#passWithChange(what);
      case "pass":
        return void (await this.test.run("stocks"));
      case "compare":
        return await this.test.compare();
      case "minutes":
        for (let passed = 0; passed < 4; passed++) await this.test.minute();
        return;
      case "restart":
        return await this.test.restart();
    }
  }

  /** A pass may meet the open transaction, and waits for its end. */
  async #end(end: string, isLong: boolean): Promise<void> {
    const pass = isLong && this.kind !== "file" ? this.test.run("stocks") : undefined;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.erp.inTransaction) this.exec(end);
    await pass;
  }

  /** The ERP changes its schema between two transactions of the bridge. */
  async #passWithChange({ how, after }: { how: string; after: number }): Promise<void> {
    const { store } = this.test.bridge;
    const write = store.write.bind(store);
    let left = after;
    const spy = vi.spyOn(store, "write").mockImplementation(((fn: () => unknown) => {
      const result = write(fn);
      left -= 1;
      if (left === 0) this.#change(how);
      return result;
    }) as typeof store.write);
    try {
      await this.test.run("stocks");
    } finally {
      spy.mockRestore();
    }
  }

  #change(how: string): void {
    const { erp } = this;
    const columns = this.#written("id, sku, ean, quantity, reserved, grp");
    const former = `former_${++this.#made}`;
    const all = (sqls: string[]) => {
      erp.exec("BEGIN IMMEDIATE");
      try {
        for (const sql of sqls) erp.exec(sql);
        erp.exec("COMMIT");
      } catch (error) {
        if (erp.inTransaction) erp.exec("ROLLBACK");
        expect(String(error)).not.toMatch(/feed_|erp_bridge/);
      }
    };
    const remake = () => {
      erp.exec("DROP TRIGGER IF EXISTS goods_log; DROP TRIGGER IF EXISTS goods_raise");
      this.#make();
    };
    try {
      if (how === "rename" || how === "make again") {
        erp.exec("PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE");
        erp.exec(`ALTER TABLE goods RENAME TO ${former}`);
        remake();
        erp.exec(`INSERT OR IGNORE INTO goods (${columns}) SELECT ${columns} FROM ${former}`);
        if (how === "make again") erp.exec(`DROP TABLE ${former}`);
        erp.exec("COMMIT; PRAGMA legacy_alter_table = OFF");
      } else if (how === "rename twice") {
        erp.exec(`ALTER TABLE goods RENAME TO ${former}`);
        erp.exec(`ALTER TABLE ${former} RENAME TO goods`);
      } else if (how === "rename column") {
        all(["ALTER TABLE goods RENAME COLUMN quantity TO qty", "ALTER TABLE goods RENAME COLUMN qty TO quantity"]);
      } else if (how === "alter")
        all([`ALTER TABLE goods ADD COLUMN more_${former} DEFAULT 3`, `ALTER TABLE goods DROP COLUMN more_${former}`]);
      else if (how === "drop index") erp.exec("DROP INDEX IF EXISTS erp_bridge_stocks_key");
      else if (how === "drop triggers")
        for (const name of ["insert", "move"]) erp.exec(`DROP TRIGGER IF EXISTS erp_bridge_stocks_${name}`);
      else erp.exec(`CREATE VIEW IF NOT EXISTS broken AS SELECT * FROM nowhere`);
    } catch (error) {
      if (erp.inTransaction) erp.exec("ROLLBACK");
      erp.exec("PRAGMA legacy_alter_table = OFF");
      expect(String(error)).not.toMatch(/feed_|erp_bridge/);
    }
    this.look();
  }

  async settle(): Promise<void> {
    for (let passed = 0; passed < 8; passed++) await this.test.minute();
  }

  check(): void {
    const { test } = this;
    expect(test.holds()).toEqual([]);
    expect(test.rows("SELECT * FROM feed_outbox WHERE state <> 'refused'")).toEqual([]);
    const rows = this.rows();
    const site = test.sandbox.service.imported("stocks");
    const levelOf = (text: string): unknown => {
      const record = site.get(importKey(text, ""));
      return record === undefined ? undefined : (JSON.parse(record) as { quantity: unknown }).quantity;
    };
    for (const [text, levels] of rows) {
      if (levels.length === 1) expect([text, levelOf(text)]).toEqual([text, levels[0]]);
    }
    for (const at of site.keys()) {
      const [text] = JSON.parse(at) as [string];
      if (!rows.has(text)) expect([text, levelOf(text)]).toEqual([text, 0]);
    }
    for (const text of this.held)
      expect([text, test.levels(text)]).toEqual([text, test.levels(text).filter((one) => one !== 0)]);
  }
}

describe("whatever the ERP's SQL does", () => {
  it(
    "the site ends as one SELECT says, and what the source always held never goes to zero",
    async () => {
      await fc.assert(
        fc.asyncProperty(schema, source, fc.array(step, { minLength: 5, maxLength: 40 }), async (made, kind, steps) => {
          const stocks = {
            key: ["sku"],
            available: made.computed ? "free" : "quantity - reserved",
            record: { sku: "{sku|string}", quantity: "{available|number}" },
            guard: { from: 1_000_000 },
            table: kind === "view" ? "seen" : "goods",
            query: kind === "query" ? "SELECT * FROM goods" : null,
          };
          const test = await startFeeds({ settings: { imports: { stocks: { path: null } } }, arm: [] });
          const file = `${test.bridge.store.path}.erp`;
          const erp = kind === "file" ? new Database(file) : test.erp;
          try {
            const world = new World(test, erp, { schema: made, kind });
            await test.restart({ imports: { stocks: { ...stocks, file: kind === "file" ? file : null } } });
            for (const each of steps) await world.take(each);
            await world.settle();
            world.check();
          } finally {
            if (kind === "file") erp.close();
            await test.close();
          }
        }),
        {
          numRuns: RUNS,
          endOnFailure: process.env["ERP_FAST"] !== undefined,
          ...(process.env["ERP_SEED"] === undefined ? {} : { seed: Number(process.env["ERP_SEED"]) }),
        },
      );
    },
    60_000 + RUNS * 5_000,
  );
});
