import type { Bridge } from "../../src/daemon/bridge.ts";
import { measureAges } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { describeStatus } from "../../src/health/status.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import type { DemoErp } from "./erp.ts";
import type { Scene } from "./screen.ts";
import { levelsOnSite } from "./summary.ts";

const LIMITS = { erpReadWithinMs: 60_000 };
const ORDERS_SHOWN = 8;
const STEPS_SHOWN = 6;

/** What is to be seen at this moment: of the service its own books, of everything else the database. */
export function lookAt(demo: {
  sandbox: Sandbox;
  bridge: Bridge;
  erp: DemoErp;
  steps: Scene["steps"];
  elapsedS: number;
  lengthS: number | undefined;
}): Scene {
  const { sandbox, bridge, erp, steps, elapsedS, lengthS } = demo;
  const { db } = bridge.store;
  const count = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const articles = erp.skus();
  const port = bridge.web?.port;
  return {
    elapsedS,
    lengthS,
    pageUrl: port === undefined ? "(not yet)" : `http://127.0.0.1:${port}/`,
    placed: sandbox.service.orders().length,
    stored: count("SELECT count(*) FROM orders"),
    confirmed: count("SELECT coalesce(sum(order_count), 0) FROM batches WHERE state = 'confirmed'"),
    taken: count("SELECT count(*) FROM orders") - count("SELECT count(*) FROM orders_pending"),
    articles: articles.length,
    articlesOnSite: levelsOnSite(sandbox, erp),
    orders: newestOrders({ bridge, sandbox }),
    steps: steps.slice(-STEPS_SHOWN),
    sentence: sentenceOf(bridge),
  };
}

/** As `erp-bridge status` begins. */
function sentenceOf({ store }: Bridge): string {
  const nowMs = Date.now();
  return describeStatus(
    measureAges(loadFacts(store), { nowMs, startedAtMs: nowMs }),
    { nowMs, isRunning: true },
    LIMITS,
  ).sentence;
}

interface OrderRow {
  id: string;
  number: string | null;
  status: string | null;
  revision: number;
  erpNumber: string | null;
}

function newestOrders({ bridge, sandbox }: { bridge: Bridge; sandbox: Sandbox }): Scene["orders"] {
  const confirmed = sandbox.ledger.confirmedOrderIds();
  return bridge.store.db
    .prepare<[number], OrderRow>(
      `SELECT o.order_id AS id, o.number, o.status, o.revision, e.erp_number AS erpNumber
       FROM orders o LEFT JOIN erp_orders e ON e.order_id = o.order_id ORDER BY o.order_key DESC LIMIT ?`,
    )
    .all(ORDERS_SHOWN)
    .map(({ id, number, status, ...order }) => ({
      ...order,
      number: number ?? id,
      status: status ?? "",
      isConfirmed: confirmed.has(id),
    }));
}
