import pg from "pg";
import { onTestFinished } from "vitest";
import type { CuttingProxy } from "../../scripts/mirror/cutting-proxy.ts";
import { type MirrorTarget, readMirrorUrl } from "../../src/config/mirror.ts";
import { MirrorLink } from "../../src/mirror/connection.ts";
import { initSchema } from "../../src/mirror/init-schema.ts";
import type { MirrorSession } from "../../src/mirror/part.ts";
import { lockPosition, lookAtPosition, type Seen } from "../../src/mirror/position.ts";
import { Up } from "../../src/mirror/up/up.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { type TestDatabase, testDatabase, testProxy } from "../support/postgres.ts";

export const SHOP = "north";
const SCHEMA = "erp_bridge";

/** A bridge, the mirror's schema in PostgreSQL, and the way up between them. */
export interface UpBench {
  bridge: TestBridge;
  database: TestDatabase;
  proxy: CuttingProxy;
  up: Up;
  /** As the ERP, in a connection of its own. */
  erp: pg.Client;
  connectErp(): Promise<pg.Client>;
  /** A pass. */
  pass(): Promise<Record<string, number>>;
  /** Another process: nothing of the former one's memory. */
  restart(): void;
  /** Rows of a statement in PostgreSQL. */
  remote<T = Record<string, unknown>>(sql: string, ...params: unknown[]): Promise<T[]>;
}

export async function startUp(): Promise<UpBench> {
  const database = await testDatabase();
  const proxy = await testProxy();
  const connectErp = async () => {
    const client = new pg.Client({ connectionString: database.url });
    client.on("error", () => {});
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`SET search_path TO ${SCHEMA}`);
    return client;
  };
  const place = { authorities: [], schema: SCHEMA, timeoutMs: 10_000 };
  for (const shop of [SHOP, "south"]) await initSchema({ link: { ...place, target: targetOf(database.url) }, shop });
  const erp = await connectErp();
  await erp.query(`INSERT INTO positions (shop, database_id, orders_seq, events_seq) VALUES ('${SHOP}', 'x', 0, 0)`);
  const bridge = await startTestBridge();
  // As the shop's own role: the rights are tried as well.
  const target = targetOf(proxy.url(database.name, `${SCHEMA}_shop_${SHOP}`));
  const link = new MirrorLink({ ...place, target, shop: SHOP });
  onTestFinished(() => link.close());
  const session: MirrorSession = {
    link,
    self: { shop: SHOP, databaseId: "x", writer: crypto.randomUUID(), host: "here", version: "0" },
    get context() {
      return bridge.bridge.context;
    },
    isRestored: false,
    transact: (work) =>
      link.transaction(async (tx) => {
        const position = await lockPosition(tx, SHOP);
        if (position === undefined) throw new Error("no position");
        return await work(tx, position);
      }),
  };
  let up = new Up();
  return {
    bridge,
    database,
    proxy,
    get up() {
      return up;
    },
    erp,
    connectErp,
    pass: async () => {
      const counts: Record<string, number> = {};
      for (let more = true; more; ) {
        const seen = (await lookAtPosition(link, SHOP)) as Seen;
        const result = await up.turn(session, seen, new AbortController().signal);
        for (const [name, count] of Object.entries(result.counts)) counts[name] = (counts[name] ?? 0) + count;
        more = result.more;
      }
      return counts;
    },
    restart: () => {
      up = new Up();
    },
    remote: async (sql, ...params) => (await erp.query(sql, params)).rows as never[],
  };
}

function targetOf(url: string): MirrorTarget {
  const target = readMirrorUrl(url);
  if ("problem" in target) throw new Error(String(target.problem));
  return target;
}

/** Makes orders and stores them; returns their ids. */
export async function storeOrders({ sandbox, run }: TestBridge, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => sandbox.service.createOrder());
  await run("orders");
  return ids;
}
