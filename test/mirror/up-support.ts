import pg from "pg";
import { onTestFinished } from "vitest";
import type { CuttingProxy } from "../../scripts/mirror/cutting-proxy.ts";
import { type MirrorTarget, readMirrorUrl } from "../../src/config/mirror.ts";
import { MirrorLink } from "../../src/mirror/connection.ts";
import type { MirrorSession, PartResult } from "../../src/mirror/part.ts";
import { lockPosition, lookAtPosition, type Seen } from "../../src/mirror/position.ts";
import { initSchema } from "../../src/mirror/schema/init-schema.ts";
import { Up } from "../../src/mirror/up/up.ts";
import { type Settings, startTestBridge, type TestBridge } from "../support/bridge.ts";
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
  /** Its turns until nothing waits. */
  pass(): Promise<Record<string, number>>;
  /** One turn. */
  turn(): Promise<PartResult>;
  /** Another process: nothing of the former one's memory. */
  restart(): void;
  /** Rows of a statement in PostgreSQL. */
  remote<T = Record<string, unknown>>(sql: string, ...params: unknown[]): Promise<T[]>;
}

export async function startUp(settings: Settings = {}, { timeoutMs = 10_000 } = {}): Promise<UpBench> {
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
  const place = { authorities: [], schema: SCHEMA, timeoutMs: 30_000 };
  for (const shop of [SHOP, "south"]) await initSchema({ link: { ...place, target: targetOf(database.url) }, shop });
  const erp = await connectErp();
  await erp.query(`INSERT INTO positions (shop, database_id, orders_seq, events_seq) VALUES ('${SHOP}', 'x', 0, 0)`);
  const bridge = await startTestBridge({ settings });
  // As the shop's own role: the rights are tried as well.
  const target = targetOf(proxy.url(database.name, `${SCHEMA}_shop_${SHOP}`));
  const link = new MirrorLink({ ...place, timeoutMs, target, shop: SHOP });
  onTestFinished(() => link.close());
  const session: MirrorSession = {
    link,
    self: { shop: SHOP, databaseId: "x", writer: crypto.randomUUID(), host: "here", version: "0", account: "a" },
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
  const newUp = () => new Up({ parcel: "packed" }, "quantity - reserved");
  let up = newUp();
  const turn = async () => {
    const seen = (await lookAtPosition(link, SHOP)) as Seen;
    return await up.turn(session, seen, new AbortController().signal);
  };
  return {
    bridge,
    database,
    proxy,
    get up() {
      return up;
    },
    erp,
    connectErp,
    turn,
    pass: async () => {
      const counts: Record<string, number> = {};
      for (let more = true; more; ) {
        const result = await turn();
        for (const [name, count] of Object.entries(result.counts)) counts[name] = (counts[name] ?? 0) + count;
        more = result.more;
      }
      return counts;
    },
    restart: () => {
      up = newUp();
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

/** What PostgreSQL has of an order. */
export async function showOrder(erp: pg.Client, id: string, revision: number): Promise<void> {
  await erp.query(
    `INSERT INTO orders (shop, order_id, is_cancelled, is_open, revision, erp_revision, received_at, changed_at, lines, hash, epoch, seq)
     VALUES ('${SHOP}', '${id}', false, true, ${revision}, ${revision}, now(), now(), '[]', 'x', 0, 0)
     ON CONFLICT (shop, order_id) DO UPDATE SET revision = excluded.revision, erp_revision = excluded.erp_revision`,
  );
}
