/** The tables that the ERP writes in PostgreSQL, and how their values are stored in SQLite. */
export type ErpTable = "stock" | "prices" | "products" | "images" | "erp_orders";

/** `number`: decimal text, exactly; `flag`: a boolean. */
type ColumnKind = "text" | "number" | "flag";

interface ErpColumn {
  /** In SQLite. */
  name: string;
  kind: ColumnKind;
  /** In PostgreSQL, where that is another. */
  remote?: string;
}

interface ErpTableForm {
  /** One or two columns. */
  key: readonly (ErpColumn & { type: "text" | "uuid" | "integer" })[];
  columns: readonly ErpColumn[];
}

const key = (name: string, type: "text" | "uuid" | "integer" = "text") =>
  ({ name, type, kind: type === "integer" ? "number" : "text" }) as const;
const text = (name: string) => ({ name, kind: "text" }) as const;
const number = (name: string) => ({ name, kind: "number" }) as const;
const flag = (name: string) => ({ name, kind: "flag" }) as const;

export const ERP_TABLES: Record<ErpTable, ErpTableForm> = {
  stock: { key: [key("sku"), key("warehouse")], columns: [number("quantity"), number("reserved")] },
  prices: {
    key: [key("sku"), key("price_type")],
    columns: [number("price"), number("old_price"), text("currency"), text("data")],
  },
  products: {
    key: [key("sku")],
    columns: [
      text("parent"),
      flag("is_group"),
      text("name"),
      text("article"),
      text("barcode"),
      text("unit"),
      text("vat"),
      text("description"),
      flag("active"),
      text("data"),
    ],
  },
  images: {
    key: [key("sku"), key("position", "integer")],
    columns: [text("source"), text("alt"), text("data")],
  },
  erp_orders: {
    key: [key("order_id", "uuid")],
    columns: [
      text("erp_number"),
      number("seen_revision"),
      text("state"),
      // In PostgreSQL `error` is why the shop's database refused the row.
      { name: "error", kind: "text", remote: "block_reason" },
      text("note"),
    ],
  },
};

export const ERP_TABLE_NAMES = Object.keys(ERP_TABLES) as ErpTable[];

/** Those with triggers. */
export const TOUCHED_TABLES: readonly string[] = [...ERP_TABLE_NAMES, "status_requests"];

/** The expressions with which triggers record the key of a touched row. */
export function touchedKey(table: string): string {
  const key: ErpTableForm["key"] = isErpTable(table)
    ? ERP_TABLES[table].key
    : [{ name: "id", type: "uuid", kind: "text" }];
  const [first, second] = key.map(({ name, type }) => (type === "text" ? name : `${name}::text`));
  return `${first}, ${second ?? "NULL::text"}`;
}

export function isErpTable(name: string): name is ErpTable {
  return Object.hasOwn(ERP_TABLES, name);
}

/** A row of PostgreSQL: the text of each column, `true` and `false` for booleans. */
export interface RemoteRow {
  values: Record<string, string | null>;
  /** Why it was refused last. */
  error: string | null;
  /** For a blocked order: the revision that PostgreSQL had when the block was written. */
  blockedAt: string | null;
}

export interface Key {
  k0: string;
  k1: string;
  /** The bytes of a local key that a string cannot represent: SQLite finds the row only by these. */
  stored?: readonly Buffer[];
}

/** A touched key with its current row in PostgreSQL; `row` null where there is none. */
export interface TouchedRow extends Key {
  table: ErpTable;
  row: RemoteRow | null;
  /** Why PostgreSQL cannot return the row, although it exists. */
  unreadable?: string | undefined;
}

const WHOLE = /^-?[0-9]{1,18}$/;

/** A value for SQLite: whole numbers as integers, other numbers as text with all digits. */
export function localValue(value: string | null | undefined, kind: ColumnKind): string | bigint | null {
  if (value === null || value === undefined) return null;
  if (kind === "flag") return value === "true" ? 1n : 0n;
  return kind === "number" && WHOLE.test(value) ? BigInt(value) : value;
}
