import { compileFeed, type FeedRules, type FeedSettings } from "../../src/feeds/feed.ts";
import { compileMapping } from "../../src/records/order-mapping.ts";

/** A stock feed with the default configuration and these changes. */
export function stockSettings(changes: Partial<FeedSettings> = {}): FeedSettings {
  return {
    path: "/api/v1/import/stocks",
    property: "stocks",
    table: "stock",
    query: null,
    file: null,
    parent: null,
    key: ["sku"],
    available: "quantity",
    record: { sku: "{sku}", quantity: "{available|number}" },
    scope: "changed",
    chunk: 500,
    delete_after: 0,
    on_delete: { quantity: 0 },
    guard: { percent: 30, over: 3_600_000, from: 20 },
    result: null,
    ...changes,
  };
}

export function stockRules(changes: Partial<FeedSettings> = {}): FeedRules {
  return compileFeed("stocks", stockSettings(changes));
}

export const ORDER_PATHS = {
  order_id: "$.order_id",
  number: "$.number",
  status: "$.status",
  created_at: "$.created_at",
  updated_at: "$.updated_at",
  currency: "$.currency",
  total: "$.total",
  lines: "$.items",
} as const;
export const LINE_PATHS = { sku: "$.sku", name: "$.name", quantity: "$.quantity", price: "$.price" } as const;

/** How the records of a batch are read, with these paths changed. */
export function batchMapping(fields: Partial<Record<keyof typeof ORDER_PATHS, string>> = {}) {
  return compileMapping({
    source: "batch",
    fields: { ...ORDER_PATHS, ...fields },
    line: LINE_PATHS,
    isWritten: () => false,
    whole: true,
  });
}
