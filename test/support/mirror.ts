import { type MirrorTarget, readMirrorUrl } from "../../src/config/mirror.ts";
import { initSchema } from "../../src/mirror/init-schema.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { type Settings, startTestBridge, type TestBridge } from "./bridge.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

export interface MirroredShop extends TestBridge {
  database: TestDatabase;
  /** Lines of a query in the mirror's schema, columns parted by |. */
  there(sql: string): Promise<string[]>;
  /** Runs the mirror until nothing is left to do. */
  mirror(): Promise<Record<string, number>>;
}

export const SHOP = "north";

export async function initMirror({ url }: Pick<TestDatabase, "url">, shop = SHOP) {
  const target = readMirrorUrl(url) as MirrorTarget;
  return await initSchema({ link: { target, authorities: [], schema: "erp_bridge", timeoutMs: 30_000 }, shop });
}

/** A shop with a mirror in a database of its own. `url`: another way there. */
export async function startMirroredShop(
  options: { settings?: Settings; sandbox?: StartOptions; url?: (database: TestDatabase) => string } = {},
): Promise<MirroredShop> {
  const database = await testDatabase();
  await initMirror(database);
  const settings = { ...options.settings, mirror: { shop: SHOP, url: options.url?.(database) ?? database.url } };
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
