/*
 * Triggers and indexes that another program has put on the bridge's own tables. One may refuse every row, and one that says
 * RAISE(IGNORE) leaves rows out without an error: an order would be stored without its lines and confirmed. Only reads; what
 * is found is kept until the schema changes.
 */

import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { loadMigrations, MIGRATIONS_FOLDER } from "./migrations.ts";
import { onlyRow } from "./only-row.ts";
import { findGone } from "./own-objects.ts";
import { faultCodeOf } from "./sqlite-errors.ts";
import type { Store } from "./store.ts";

export interface ErpObject {
  type: "trigger" | "index";
  name: string;
  table: string;
  /** Whether it can leave out rows without an error. */
  swallows: boolean;
}

/** The ERP's own to write: what it puts on these is its own affair. */
const ERP_TABLES: ReadonlySet<string> = new Set(["erp_orders", "stock", "prices", "products", "images"]);
const OBJECT = /^\s*CREATE\s+(?:UNIQUE\s+)?(TABLE|INDEX|TRIGGER)\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)/gim;

/** What the migrations make, in small letters. */
interface OwnObjects {
  tables: ReadonlySet<string>;
  names: ReadonlySet<string>;
}

export function ownObjectsOf(statements: readonly string[]): OwnObjects {
  const made = statements.flatMap((statement) => [...statement.matchAll(OBJECT)]);
  const named = (kind: (type: string) => boolean) =>
    new Set(made.flatMap(([, type = "", name = ""]) => (kind(type.toUpperCase()) ? [name.toLowerCase()] : [])));
  return { tables: named((type) => type === "TABLE"), names: named((type) => type !== "TABLE") };
}

/** Read once in a process. */
let own: OwnObjects | undefined;

export class ErpObjects {
  readonly #store: Store;
  readonly #own: OwnObjects;
  readonly #tables: string;
  #known: { schema: number; objects: readonly ErpObject[]; gone: readonly string[] } | undefined;

  constructor(store: Store) {
    this.#store = store;
    own ??= ownObjectsOf(loadMigrations(MIGRATIONS_FOLDER).flatMap(({ statements }) => statements));
    this.#own = own;
    this.#tables = JSON.stringify([...own.tables].filter((table) => !ERP_TABLES.has(table)));
  }

  list(): readonly ErpObject[] {
    return this.#look().objects;
  }

  /** The bridge's own triggers, indexes and views that are gone, for {@link restoreGone}. */
  gone(): readonly string[] {
    return this.#look().gone;
  }

  #look(): { objects: readonly ErpObject[]; gone: readonly string[] } {
    const { schema_version: schema } = onlyRow(
      this.#store.prepare<{ schema_version: number }>("PRAGMA schema_version").get(),
    );
    if (this.#known?.schema !== schema) this.#known = { schema, objects: this.#find(), gone: findGone(this.#store) };
    return this.#known;
  }

  /**
   * Before a commit, and before anything is asked for that could not be stored.
   * @throws BridgeError `database_refused`
   */
  refuseSwallowing(): void {
    const found = this.list().filter(({ swallows }) => swallows);
    if (found.length === 0) return;
    throw new BridgeError("database_refused", m.database.swallowingTrigger({ objects: describeObjects(found) }), {
      hint: m.database.dropIt({ statements: dropAll(found) }),
    });
  }

  /** An error of SQLite's that may come from one of them, with their names; any other error as it is. */
  explain(error: unknown): unknown {
    if (error instanceof BridgeError || !/^SQLITE_(ERROR|CONSTRAINT)/.test(faultCodeOf(error) ?? "")) return error;
    const found = this.#listSafely();
    if (found.length === 0) return error;
    const words = error instanceof Error ? error.message : String(error);
    return new BridgeError("database_refused", m.database.erpObjects({ objects: describeObjects(found), words }), {
      hint: m.database.dropIt({ statements: dropAll(found) }),
      cause: error,
    });
  }

  #listSafely(): readonly ErpObject[] {
    try {
      return this.list();
    } catch {
      return [];
    }
  }

  #find(): ErpObject[] {
    const rows = this.#store
      .prepare<{ type: ErpObject["type"]; name: string; table: string; sql: string }>(
        `SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema
         WHERE type IN ('trigger', 'index') AND sql IS NOT NULL
           AND lower(tbl_name) IN (SELECT value FROM json_each(?)) ORDER BY tbl_name, name`,
      )
      .all(this.#tables);
    return rows
      .filter(({ name }) => !this.#own.names.has(name.toLowerCase()))
      .filter(({ type, sql }) => type === "trigger" || canRefuse(sql))
      .map(({ type, name, table, sql }) => ({
        type,
        name,
        table,
        swallows: type === "trigger" && /\bRAISE\s*\(\s*IGNORE\b/i.test(sql),
      }));
  }
}

/** An index over plain columns is in nobody's way; a unique one, and one that computes something, may refuse rows. */
function canRefuse(sql: string): boolean {
  return /^\s*CREATE\s+UNIQUE\b/i.test(sql) || /\bWHERE\b/i.test(sql) || sql.split("(").length > 2;
}

/** `my_trigger on orders, my_index on batches` */
export function describeObjects(objects: readonly Pick<ErpObject, "name" | "table">[]): string {
  return objects.map(({ name, table }) => `${name} on ${table}`).join(", ");
}

function dropAll(objects: readonly ErpObject[]): string {
  return objects.map(({ type, name }) => `DROP ${type.toUpperCase()} "${name.replaceAll('"', '""')}";`).join(" ");
}
