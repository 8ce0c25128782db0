import { expect } from "vitest";
import { type MirrorTarget, readMirrorUrl } from "../../src/config/mirror.ts";
import { initSchema } from "../../src/mirror/schema/init-schema.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { mergeSettings, type Settings, startTestBridge, type TestBridge } from "./bridge.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

export interface MirroredShop extends TestBridge {
  database: TestDatabase;
  /** The lines of a query in the mirror's schema, columns separated by |. */
  there(sql: string): Promise<string[]>;
  /** Runs the mirror until it has nothing left to do. */
  mirror(): Promise<Record<string, number>>;
}

export const SHOP = "north";

export async function initMirror({ url }: Pick<TestDatabase, "url">, shop = SHOP) {
  const target = readMirrorUrl(url) as MirrorTarget;
  return await initSchema({ link: { target, authorities: [], schema: "erp_bridge", timeoutMs: 30_000 }, shop });
}

/** A shop with a mirror in its own database. `url`: another address of that database. */
export async function startMirroredShop(
  options: { settings?: Settings; sandbox?: StartOptions; url?: (database: TestDatabase) => string } = {},
): Promise<MirroredShop> {
  const database = await testDatabase();
  await initMirror(database);
  const own = { mirror: { shop: SHOP, url: options.url?.(database) ?? database.url } };
  const settings = mergeSettings(own, options.settings ?? {});
  const test = await startTestBridge({
    settings,
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
  });
  return Object.assign(Object.create(test) as TestBridge, {
    database,
    there: async (sql: string) => {
      const lines = await database.cluster.query(database.name, `SET search_path = erp_bridge; ${sql}`);
      return lines === "" ? [] : lines.split("\n");
    },
    mirror: async () => {
      const result = await test.run("mirror");
      if (result.error !== null) throw result.error;
      return result.counts;
    },
  });
}

/** All orders are equal on both sides, in normal form. */
export async function expectMirrored(shop: MirroredShop): Promise<void> {
  const own = shop.rows<{ line: string }>(
    `SELECT concat_ws('|', order_id, number, status, is_cancelled, is_open, total, revision, erp_revision, removed_at IS NULL,
       (SELECT count(*) FROM order_line_rows l WHERE l.order_key = o.order_key)) AS line FROM orders o ORDER BY order_id`,
  );
  const there = await shop.there(
    `SELECT concat_ws('|', order_id, number, status, is_cancelled::int, is_open::int, total, revision, erp_revision, (removed_at IS NULL)::int,
       (SELECT count(*) FROM order_lines l WHERE l.order_id = o.order_id)) FROM orders o WHERE shop = 'north' ORDER BY order_id::text`,
  );
  expect(there).toEqual(own.map(({ line }) => line));
  const events = shop.rows<{ line: string }>(
    "SELECT concat_ws('|', seq, order_id, kind, old_status, new_status) AS line FROM order_events ORDER BY seq",
  );
  expect(
    await shop.there(
      "SELECT concat_ws('|', seq, order_id, kind, old_status, new_status) FROM order_events ORDER BY seq",
    ),
  ).toEqual(events.map(({ line }) => line));
  const batches = shop.rows<{ line: string }>(
    "SELECT concat_ws('|', id, order_count, state) AS line FROM batches ORDER BY id",
  );
  expect(await shop.there("SELECT concat_ws('|', id, order_count, state) FROM batches ORDER BY id")).toEqual(
    batches.map(({ line }) => line),
  );
}
