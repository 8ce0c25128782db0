import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { copyDatabase } from "../../src/backup/copy-database.ts";
import { findCopyOf, newestCopyOf } from "../../src/backup/copy-owner.ts";
import { copyName } from "../../src/database/file/copy-names.ts";
import { loadMeta } from "../../src/database/meta.ts";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome } from "../support/whole.ts";

const DAY_MS = 86_400_000;

itSome(1)([
  ["of a time to come", 40_000],
  ["of a day before", -1],
])("names the copy that has the most, beside one with less and a name %s", async (_, laterDays) => {
  const folder = tempFolder("copies");
  const copies = path.join(folder, "copies");
  mkdirSync(copies);
  const { bridge, sandbox, run } = await startTestBridge({ folder });
  const nowMs = Date.parse("2026-03-05T00:00:00Z");
  const copyTo = async (ms: number) => {
    const target = path.join(copies, copyName("bridge", ms));
    const at = new Date(nowMs).toISOString();
    await copyDatabase({ source: bridge.store.path, target, at, configText: "", signal: new AbortController().signal });
    return target;
  };
  for (const ms of [nowMs + laterDays * DAY_MS, nowMs]) {
    createOrders({ sandbox }, 1);
    await run("orders");
    await copyTo(ms);
  }
  writeFileSync(path.join(copies, copyName("bridge", nowMs + 50_000 * DAY_MS)), "no database");
  const most = path.join(copies, copyName("bridge", nowMs));
  expect(findCopyOf(copies, loadMeta(bridge.store, "account")!)).toBe(most);
  expect(newestCopyOf(copies, loadMeta(bridge.store, "database")!)).toMatchObject({ file: most, madeMs: nowMs });
  expect(findCopyOf(copies, "another")).toBeUndefined();
  expect(newestCopyOf(copies, "another")).toBeUndefined();
});
