/*
 * Finds triggers and indexes that another program has added to the bridge's own tables, and own objects that are missing
 * or changed. A foreign trigger may reject every row; one with RAISE(IGNORE) skips rows without an error, so that an order
 * would be stored without its lines and confirmed. Results are cached until the schema changes.
 */

import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { refusedWord } from "../quote-name.ts";
import { faultCodeOf } from "../sqlite-errors.ts";
import type { Store } from "../store.ts";
import { makeAgain } from "./make-own.ts";
import {
  describeOwn,
  FEED_TABLES,
  inspectOwn,
  type OwnObjects,
  type OwnState,
  ownObjects,
  schemaVersion,
} from "./own-objects.ts";

export interface ErpObject {
  type: "trigger" | "index";
  name: string;
  table: string;
  /** Whether it can skip rows without an error. */
  swallows: boolean;
}

/** Tables that the ERP writes: it may add triggers and indexes to them. */
export const ERP_TABLES: ReadonlySet<string> = new Set(["erp_orders", ...FEED_TABLES]);

interface Look {
  schema: number;
  objects: readonly ErpObject[];
  own: OwnState;
}

export class ErpObjects {
  readonly #store: Store;
  readonly #configured: Readonly<Record<string, string>>;
  readonly #own: OwnObjects;
  readonly #tables: string;
  #known: Look | undefined;
  /** The schema version at which the last restore was tried. */
  #restoredIn: number | undefined;

  /** @param configured SQL of the views that depend on the configuration, by name */
  constructor(store: Store, configured: Readonly<Record<string, string>> = {}) {
    this.#store = store;
    this.#configured = configured;
    this.#own = ownObjects(store.db);
    const tables = [...this.#own.values()].filter(({ type, name }) => type === "table" && !ERP_TABLES.has(name));
    this.#tables = JSON.stringify(tables.map(({ name }) => name));
  }

  list(): readonly ErpObject[] {
    return this.#look().objects;
  }

  /** The state of the bridge's own objects. */
  own(): OwnState {
    return this.#look().own;
  }

  /** Whether own objects are missing or changed, and no restore was tried since the schema last changed. */
  get isToRestore(): boolean {
    const { schema, own } = this.#look();
    return own.changed.length > 0 && this.#restoredIn !== schema;
  }

  /** Inside a write transaction. Returns the names of the objects that were recreated. */
  restore(): string[] {
    return makeAgain(this.#store.db, this.#look().own);
  }

  /** Objects that could not be recreated are not tried again until the schema changes. */
  noteRestored(): void {
    this.#restoredIn = this.#look().schema;
  }

  #look(): Look {
    const schema = schemaVersion(this.#store);
    if (this.#known?.schema !== schema) {
      const own = inspectOwn(this.#store.db, this.#own, { configured: this.#configured });
      this.#known = { schema, objects: this.#find(), own };
    }
    return this.#known;
  }

  /**
   * Called before a commit, and before requests whose answers could not be stored.
   * @throws BridgeError `database_refused` where a trigger on the bridge's tables can skip rows
   */
  refuseSwallowing(): void {
    const found = this.list().filter(({ swallows }) => swallows);
    if (found.length === 0) return;
    throw new BridgeError("database_refused", m.database.swallowingTrigger({ objects: describeObjects(found) }), {
      hint: m.database.dropIt({ statements: dropAll(found) }),
    });
  }

  /**
   * Returns a `database_refused` that names the ERP's objects, or the missing own ones, where the error may come from
   * them; any other error unchanged. A pass that reports its failure at the end has made an `internal` one of it.
   */
  explain(thrown: unknown): unknown {
    const error = thrown instanceof BridgeError && thrown.code === "internal" ? thrown.cause : thrown;
    if (error instanceof BridgeError || !/^SQLITE_(ERROR|CONSTRAINT)/.test(faultCodeOf(error) ?? "")) return thrown;
    const { objects, own } = this.#lookSafely();
    const words = error instanceof Error ? error.message : String(error);
    const refusal = (text: Message, hint: Message) => new BridgeError("database_refused", text, { hint, cause: error });
    if (objects.length > 0)
      return refusal(
        m.database.erpObjects({ objects: describeObjects(objects), words }),
        refusedWord(error) === undefined
          ? m.database.dropIt({ statements: dropAll(objects) })
          : m.database.quoteText({ statements: dropAll(objects) }),
      );
    const names = describeOwn(own);
    return names === "" ? thrown : refusal(m.database.ownChanged({ names, words }), m.database.giveBack);
  }

  #lookSafely(): Pick<Look, "objects" | "own"> {
    try {
      return this.#look();
    } catch {
      return { objects: [], own: { changed: [], lacking: [] } };
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
      .filter(({ type, name }) => this.#own.get(name.toLowerCase())?.type !== type)
      .filter(({ type, sql }) => type === "trigger" || canRefuse(sql))
      .map(({ type, name, table, sql }) => ({
        type,
        name,
        table,
        swallows: type === "trigger" && /\bRAISE\s*\(\s*IGNORE\b/i.test(sql),
      }));
  }
}

/** Whether an index can make a write fail: a unique one, or one with an expression or a condition. */
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
