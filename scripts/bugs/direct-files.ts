/* What happens to files, tables and folders outside the one program that is simulated. */
import { mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { BatchJournal } from "../../src/backup/batch-journal.ts";
import { parseConfig } from "../../src/config/load.ts";
import { refuseMissingDatabase } from "../../src/daemon/missing-database.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { verifyTables } from "../../src/database/objects/verify-tables.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import { compileFeed, type FeedRules } from "../../src/feeds/feed.ts";
import { loadSendable } from "../../src/feeds/feed-outbox.ts";
import { saveQueued } from "../../src/feeds/feed-rows.ts";
import { indexKey, isKeyFound } from "../../src/feeds/source/feed-triggers.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { systemClock } from "../../src/platform/clock.ts";

export type Check = () => Promise<string | undefined> | string | undefined;

const AT = "2026-03-01T12:00:00.000Z";
/** More rows than the newest that anybody would count. */
const MANY_ROWS = 30_000;

export async function inFolder<T>(check: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-check-"));
  try {
    return await check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** With a database of the bridge's own. */
export function withStore(check: (store: Store, file: string) => string | undefined): Check {
  return () =>
    inFolder((folder) => {
      const file = path.join(folder, "bridge.db");
      const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
      try {
        return check(store, file);
      } finally {
        store.db.close();
      }
    });
}

function stocksOf(table: string, more: Partial<Parameters<typeof compileFeed>[1]> = {}): FeedRules {
  return compileFeed("stocks", {
    ...{ path: "/p", property: "stocks", table, query: null, file: null, parent: null, key: ["sku"] },
    ...{ available: "quantity", record: { sku: "{sku}", quantity: "{available|number}" }, scope: "changed" },
    ...{ chunk: 500, delete_after: 0, on_delete: { quantity: 0 }, guard: { percent: 30, over: 1, from: 20 } },
    ...{ result: null, ...more },
  });
}

export function configOf(lines: readonly string[], file = "/srv/bridge.yaml") {
  const service = [
    "service:",
    "  base_url: http://127.0.0.1:8080",
    "  client_id: shop",
    "  client_secret: secret-of-shop",
  ];
  return parseConfig({ text: [...service, ...lines, ""].join("\n"), file, env: {} });
}

export function isRefused(act: () => unknown): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}

export const FILE_CHECKS: Readonly<Record<string, Check>> = {
  "bare braces": () => {
    const lines = ["imports:", "  stocks:", '    record: { sku: {sku}, quantity: "{available|number}" }'];
    return isRefused(() => configOf(lines)) ? undefined : "a template without quotes is accepted";
  },
  "old refusals": withStore((store) => {
    const insert = store.prepare(
      "INSERT INTO batches (id, fingerprint, received_at, order_count, state) VALUES (?, ?, ?, 1, ?)",
    );
    insert.run(1, "refused", AT, "refused");
    insert.run(MANY_ROWS, "confirmed", AT, "confirmed");
    return loadFacts(store).refusedBatches === 1 ? undefined : "a confirm that was refused long ago is not counted";
  }),
  "removed log": withStore((store, file) => {
    let told = "";
    store.onTrouble = ({ kind }) => {
      told = kind;
    };
    unlinkSync(`${file}-wal`);
    const isStopped = isRefused(() => store.write(() => store.prepare("DELETE FROM meta WHERE key = 'none'").run()));
    return told === "" && !isStopped ? "nobody is told of the removed log" : undefined;
  }),
  "foreign collation": withStore((store, file) => {
    const erp = new Database(file);
    erp.unsafeMode();
    erp.exec("CREATE TABLE erp_own (a TEXT COLLATE nocase); CREATE INDEX erp_own_a ON erp_own (a)");
    erp.pragma("writable_schema = ON");
    erp.exec("UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'of_the_erp') WHERE name = 'erp_own'");
    erp.close();
    const look = new Database(file, { readonly: true });
    try {
      const { skipped } = verifyTables(look, "quick_check", 5);
      return skipped.includes("erp_own") ? undefined : "a table that cannot be verified is not named";
    } catch (error) {
      return `the verification ends with: ${String(error)}`;
    } finally {
      look.close();
      store.db.pragma("schema_version");
    }
  }),
  "renamed table": withStore((store) => {
    const rules = stocksOf("goods");
    store.db.exec("CREATE TABLE goods (sku TEXT, quantity)");
    indexKey(store, rules);
    store.db.exec("ALTER TABLE goods RENAME TO goods_old; CREATE TABLE goods (sku TEXT, quantity)");
    if (isKeyFound(store, rules)) return "the index of a renamed table counts for the new one";
    indexKey(store, rules);
    return isKeyFound(store, rules) ? undefined : "the new table gets no index";
  }),
  "shared folders": () =>
    inFolder(async (folder) => {
      const theirs = new BatchJournal(folder, systemClock, { account: "theirs", database: "1" });
      const own = new BatchJournal(folder, systemClock, { account: "own", database: "2" });
      for (let file = 0; file < 5; file++) {
        const note = { receivedAt: AT, fingerprint: String(file), date: undefined };
        await theirs.append({ note, body: Buffer.from("{}") });
      }
      const madeMs = Number.MAX_SAFE_INTEGER;
      await own.prune({ file: path.join(folder, "none.db"), madeMs, database: folder, forgotten: 0 });
      const left = readdirSync(folder).length;
      return left === 5 ? undefined : `${5 - left} files of another shop are removed`;
    }),
  "missing database": () =>
    inFolder((folder) => {
      const loaded = configOf(
        ["database:", "  path: bridge.db", "backup:", "  dir: backups"],
        path.join(folder, "b.yaml"),
      );
      writeFileSync(path.join(folder, "bridge.db.id"), "{}\n");
      return isRefused(() => refuseMissingDatabase(loaded)) ? undefined : "a database that is gone is begun anew";
    }),
  "whole tree": withStore((store) => {
    const record = { sku: "{sku}", parent: "{parent}" };
    const rules = stocksOf("goods", { scope: "whole", parent: "parent", available: null, record });
    const row = { gone: false, isDrop: false, priority: 2 };
    const owed = [
      { ...row, key: ["group"], record: '{"sku":"group"}', parent: null },
      { ...row, key: ["article"], record: '{"sku":"article"}', parent: "group" },
    ];
    saveQueued(store, rules, owed, { at: AT, nowMs: 1_000, droppedAt: AT });
    const limits = { nowMs: 1_000, awayBeforeMs: 1_000, dropRound: Number.MAX_SAFE_INTEGER };
    const { length } = loadSendable(store, rules, limits, -1);
    return length === 2 ? undefined : `${length} of 2 rows of a whole table would be sent`;
  }),
};
