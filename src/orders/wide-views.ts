/*
 * The views with the columns of `orders.extra` and `orders.line_extra`. They are recreated when their SQL differs from
 * the configuration (`own-objects.ts`). They run in the ERP's own SQLite, 3.38 or newer. Numbers are read as literals,
 * because `->>` would round them. Of equal keys SQLite reads the first: with different values no record is stored
 * (`order-mapping.ts`), unless it was before its path was a column.
 */

import { quoteName } from "../database/quote-name.ts";

/** Column names and paths, in the order of the configuration. */
export type ExtraColumns = Readonly<Record<string, string>>;

/** SQL of the views, by name. */
export function wideViewsOf({
  extra,
  line_extra: line,
}: {
  extra: ExtraColumns;
  line_extra: ExtraColumns;
}): Record<string, string> {
  return { orders_wide: ordersWideSql(extra), order_lines_wide: orderLinesWideSql(extra, line) };
}

function ordersWideSql(extra: ExtraColumns): string {
  return `CREATE VIEW orders_wide AS
SELECT order_id, number, status, is_cancelled, is_open, service_created_at, service_updated_at, currency, total,
  ${numberOf("total")} AS total_num, payload, revision, erp_revision, received_at, changed_at, removed_at${columnsOf("payload", extra)}
FROM orders`;
}

/** The line's own columns, then those of its order whose names are free. */
function orderLinesWideSql(order: ExtraColumns, line: ExtraColumns): string {
  const taken = new Set([...LINE_COLUMNS, ...Object.keys(line).map((name) => name.toLowerCase())]);
  const free = Object.fromEntries(Object.entries(order).filter(([name]) => !taken.has(name.toLowerCase())));
  return `CREATE VIEW order_lines_wide AS
SELECT o.order_id, o.revision, l.line_no, l.sku, l.name, l.quantity, ${numberOf("l.quantity")} AS quantity_num,
  l.price, ${numberOf("l.price")} AS price_num, l.payload${columnsOf("l.payload", line)}${columnsOf("o.payload", free)}
FROM order_line_rows l JOIN orders o ON o.order_key = l.order_key`;
}

/**
 * A REAL; NULL where the text is not completely a number within range, because CAST alone would read "1 234,56" as 1.
 * SQLite converts a text in a comparison with a REAL only if it is a number, and sorts any other text after all
 * numbers.
 */
function numberOf(column: string): string {
  return `CASE WHEN ${column} BETWEEN CAST(-1e308 AS REAL) AND CAST(1e308 AS REAL) THEN CAST(${column} AS REAL) END`;
}

const LINE_COLUMNS = "order_id revision line_no sku name quantity quantity_num price price_num payload".split(" ");

function columnsOf(payload: string, extra: ExtraColumns): string {
  return Object.entries(extra)
    .map(([name, path]) => `,\n  ${valueSql(payload, `'${path.replaceAll("'", "''")}'`)} AS ${quoteName(name)}`)
    .join("");
}

/**
 * Text as it is, a number as its literal, a list or an object as JSON; NULL where there is none or the payload is
 * damaged.
 */
function valueSql(payload: string, path: string): string {
  return (
    `CASE WHEN json_valid(${payload}) THEN CASE json_type(${payload}, ${path}) WHEN 'text' THEN ${payload} ->> ${path} ` +
    `WHEN 'null' THEN NULL ELSE ${payload} -> ${path} END END`
  );
}
