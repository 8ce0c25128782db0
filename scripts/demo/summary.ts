import type { Bridge } from "../../src/daemon/bridge.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import type { DemoErp } from "./erp.ts";

export interface Comparison {
  what: string;
  service: number | string;
  database: number | string;
}

/** The service's own ledger against the database, number by number. */
export function compare(sandbox: Sandbox, bridge: Bridge, erp: DemoErp): Comparison[] {
  const { db } = bridge.store;
  const count = (sql: string) => (db.prepare(sql).get() as { n: number }).n;
  const orders = sandbox.service.orders();
  const stored = new Map(
    (
      db.prepare("SELECT order_id, status, payload FROM orders").all() as {
        order_id: string;
        status: string;
        payload: string;
      }[]
    ).map((row) => [row.order_id, row]),
  );
  const newest = orders.filter(({ id, status }) => stored.get(id)?.status === status).length;
  const confirmedUnstored = [...sandbox.ledger.confirmedOrderIds()].filter((id) => !stored.has(id)).length;
  const skus = erp.skus();
  return [
    {
      what: "orders placed on the site / stored",
      service: orders.length,
      database: count("SELECT count(*) AS n FROM orders"),
    },
    { what: "orders in their newest state", service: orders.length, database: newest },
    {
      what: "orders confirmed / confirmed in batches",
      service: sandbox.ledger.confirmedOrderIds().size,
      database: count("SELECT coalesce(sum(order_count), 0) AS n FROM batches WHERE state = 'confirmed'"),
    },
    { what: "orders confirmed but not stored", service: confirmedUnstored, database: 0 },
    { what: "orders the ERP has not taken", service: 0, database: count("SELECT count(*) AS n FROM orders_pending") },
    { what: "articles with the ERP's stock on the site", service: levelsOnSite(sandbox, erp), database: skus.length },
    {
      what: "orders stored twice",
      service: 0,
      database: count("SELECT count(*) - count(DISTINCT order_id) AS n FROM orders"),
    },
  ];
}

/** How many of the ERP's articles the service shows with the level that the ERP has now. */
export function levelsOnSite(sandbox: Sandbox, erp: DemoErp): number {
  const site = sandbox.service.imported("stocks");
  return erp.skus().filter((sku) => {
    const record = site.get(importKey(sku, ""));
    return record !== undefined && (JSON.parse(record) as { quantity: number }).quantity === erp.stockOf(sku);
  }).length;
}
