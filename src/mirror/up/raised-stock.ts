/*
 * Which rows of stock in PostgreSQL would sell more than the shop's own: in a restored one they may be from before the goods were sold.
 * What a row sells is calculated as the feed does.
 */
import { compareDecimals, type Decimal, parseDecimal } from "../../answers/decimal.ts";
import { type Expression, ExpressionValueError, parseExpression } from "../../answers/expression.ts";
import { RenderError } from "../../answers/template.ts";
import type { Store } from "../../database/store.ts";
import { availableOf, type SourceRow } from "../../feeds/feed-record.ts";
import { findLocal } from "./apply-rows.ts";
import { ERP_TABLES, localValue, type TouchedRow } from "./erp-tables.ts";

const { columns: COLUMNS } = ERP_TABLES.stock;

/** What the feed calculates from a row of stock. One that has nothing to calculate, or other columns, sells the quantity. */
export function soldOf(available: string | null): Expression {
  const sold = parseExpression(available ?? "quantity");
  const isOwn = sold.columns.every((column) => COLUMNS.some(({ name }) => name === column));
  return isOwn ? sold : parseExpression("quantity");
}

/**
 * Whether PostgreSQL's row sells more, or whether that is unknown. A zero is never held back. One that the shop refuses is tried
 * again, as in every comparison.
 */
export function isRaised(store: Store, sold: Expression, touched: TouchedRow): boolean {
  if (touched.row === null || touched.row.error !== null) return false;
  const { values } = touched.row;
  const there = soldBy(
    sold,
    Object.fromEntries(COLUMNS.map(({ name, kind }) => [name, localValue(values[name], kind)])),
  );
  const local = findLocal(store, "stock", touched);
  const here = local && soldBy(sold, local);
  if (there === undefined) return here !== undefined;
  return compareDecimals(there, here ?? NOTHING) > 0;
}

const NOTHING: Decimal = { coefficient: 0n, scale: 0 };

/** Undefined where the feed cannot send it. */
function soldBy(sold: Expression, row: SourceRow): Decimal | undefined {
  try {
    return parseDecimal(availableOf(sold, row));
  } catch (error) {
    if (error instanceof RenderError || error instanceof ExpressionValueError) return undefined;
    throw error;
  }
}
