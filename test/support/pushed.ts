import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { requestCompare } from "../../src/feeds/feed-rows.ts";
import { m } from "../../src/messages/messages.ts";
import type { JobName } from "../../src/pass/job-names.ts";
import { importKey } from "../../src/sandbox/imports.ts";
import type { Feed } from "../../src/sandbox/messages.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { mergeSettings, type Settings, startTestBridge, type TestBridge } from "./bridge.ts";

/** The deadline of an import in these tests, in milliseconds on the test's clock. */
/** Settings with prices and a catalog beside the stocks. */
export const ALL_FEEDS = {
  imports: {
    prices: {
      path: "/api/v1/import/prices",
      record: { sku: "{sku}", price_type: "{price_type}", price: "{price|number}" },
    },
    catalog: { path: "/api/v1/import/catalog", record: { sku: "{sku}", name: "{name}" } },
  },
};

export const IMPORT_TIMEOUT_MS = 120_000;
const MINUTE_MS = 60_000;

export interface PushedFeeds extends TestBridge {
  /** The ERP's own connection. */
  erp: Database.Database;
  /** The site's records, by sku (and the rest of the key, if any). */
  site(feed?: Feed): Record<string, unknown>;
  /** The site's number for a sku of the stock feed; undefined where it has none. */
  level(sku: string): unknown;
  /** All numbers that the site received for a sku, in order. */
  levels(sku: string): unknown[];
  /** The import requests that were answered since the last call or the start. */
  requests(): { feed: string; records: Record<string, unknown>[]; status: number | null; at: number }[];
  /** The passes of all feeds, as in one minute of the schedule. */
  minute(...jobs: JobName[]): Promise<void>;
  /** So many minutes with the passes of all feeds. */
  minutes(count: number): Promise<void>;
  /** The nightly comparison. */
  compare(job?: "stocks" | "prices" | "catalog" | "images"): Promise<void>;
  quarantined(): { reference: string | null; reason: string; state: string }[];
  holds(): { area: string; reason: string }[];
  /** Closes everything before the end of the test, for tests that start many. */
  close(): Promise<void>;
}

/** A bridge after the first pass of its stock feed, so that its triggers exist. */
export async function startFeeds(
  options: { settings?: Settings; sandbox?: StartOptions; arm?: JobName[]; encoding?: string } = {},
): Promise<PushedFeeds> {
  const settings = mergeSettings(
    { service: { timeouts: { import: `${IMPORT_TIMEOUT_MS / 1000}s` } } },
    options.settings ?? {},
  );
  const test = await startTestBridge({
    settings,
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
  });
  const erp = new Database(test.bridge.store.path, { timeout: 5_000 });
  onTestFinished(() => void erp.close());
  for (const job of options.arm ?? (["stocks"] as const)) await test.run(job);
  let seen = 0;
  const { sandbox } = test;
  const minute = async (...jobs: JobName[]) => {
    test.clock.advance(MINUTE_MS);
    for (const job of jobs.length === 0 ? (["stocks"] as const) : jobs) await test.run(job);
  };
  const own = {
    erp,
    site: (feed: Feed = "stocks") =>
      Object.fromEntries(
        [...sandbox.service.imported(feed)].map(([key, text]) => [nameOf(key), JSON.parse(text) as unknown]),
      ),
    level: (sku: string) => levelOf(sandbox.service.imported("stocks").get(importKey(sku, ""))),
    levels: (sku: string) => sandbox.ledger.acceptedValues("stocks", importKey(sku, "")).map(levelOf),
    requests: () => {
      const entries = sandbox.ledger.ofKind("import").filter(({ seq }) => seq > seen);
      seen = Math.max(seen, ...entries.map(({ seq }) => seq));
      return entries.map(({ path, requestBody, status, at }) => ({
        feed: path.slice(path.lastIndexOf("/") + 1),
        records: Object.values(JSON.parse(requestBody ?? "{}") as Record<string, Record<string, unknown>[]>)[0] ?? [],
        status,
        at,
      }));
    },
    minute,
    minutes: async (count: number) => {
      for (let passed = 0; passed < count; passed++) await minute();
    },
    compare: async (job: "stocks" | "prices" | "catalog" | "images" = "stocks") => {
      const { store } = test.bridge;
      store.write(() => requestCompare(store, job, m.daemon.nightlyComparison));
      await test.run(job);
    },
    quarantined: () =>
      test.rows<{ reference: string | null; reason: string; state: string }>(
        "SELECT reference, reason, state FROM quarantine ORDER BY id",
      ),
    close: async () => {
      erp.close();
      await test.bridge.stop();
      await sandbox.close();
    },
    holds: () => test.rows<{ area: string; reason: string }>("SELECT area, reason FROM holds ORDER BY area, reason"),
  };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(test)) as typeof own & TestBridge;
}

function levelOf(record: string | undefined): unknown {
  return record === undefined ? undefined : (JSON.parse(record) as { quantity?: unknown }).quantity;
}

/** `A-1`, or `A-1 west` where the key has a second part. */
function nameOf(key: string): string {
  return (JSON.parse(key) as unknown[]).filter((part) => part !== "").join(" ");
}

/** Fills the stock table with `count` rows S-1, S-2, … of quantity `quantity`. */
export function fillStock(erp: Database.Database, count: number, quantity = 10): void {
  erp
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO stock (sku, quantity) SELECT 'S-' || i, ? FROM n`,
    )
    .run(count, BigInt(quantity));
}
