/*
 * Rows of stocks whose keys differ only in what a site ignores: the same article in another spelling, or in another
 * warehouse.
 */
import { foldSpelling } from "../../src/sandbox/imports.ts";
import type { Forms } from "./forms.ts";

export interface StockKey {
  readonly sku: string;
  readonly warehouse: string;
}

export type Ignores = Forms["ignores"];

const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  "A-1": ["A-1", "a-1 ", "a-1"],
  "00042": ["00042", " 00042", "00042 "],
  "Б 3": ["Б 3", "б 3", "Б 3 "],
  "x'4": ["x'4", "X'4", " x'4"],
};
const WAREHOUSES = ["", "main", "east"] as const;

/** The keys that are one article for the site; the first is that of a life without others. */
export function keysOfArticle(article: string, ignores: Ignores): readonly StockKey[] {
  const spelled = ignores === "spelling" || ignores === "both" ? (SPELLINGS[article] ?? [article]) : [article];
  const warehouses = ignores === "others" || ignores === "both" ? WAREHOUSES : WAREHOUSES.slice(0, 1);
  return warehouses.flatMap((warehouse) => spelled.map((sku) => ({ sku, warehouse })));
}

/** The article that the site takes a number for. */
export function articleOfSku(sku: string, ignores: Ignores): string {
  if (ignores === "nothing" || ignores === "others") return sku;
  return Object.keys(SPELLINGS).find((article) => foldSpelling(article) === foldSpelling(sku)) ?? sku;
}

/** A row as the program names it to a person. */
export function nameOfRow({ sku, warehouse }: StockKey): string {
  return warehouse === "" ? sku : `${sku}/${warehouse}`;
}

export function keyOfRow(name: string): StockKey {
  const [sku = "", warehouse = ""] = name.split("/");
  return { sku, warehouse };
}
