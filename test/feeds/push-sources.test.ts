import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { feedRulesOf } from "../../src/daemon/build-jobs.ts";
import { invalidateAcknowledged } from "../../src/feeds/acknowledged-rows.ts";
import { ScanSource } from "../../src/feeds/diff/scan-source.ts";
import type { proveSource } from "../../src/feeds/source/source-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { configFor, type Settings } from "../support/bridge.ts";
import { BASE64, jpeg, shaOf, startImages } from "../support/images.ts";
import { words } from "../support/messages.ts";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

/** The time limit of a helper process. */
const ANSWER_WITHIN_MS = 30_000;

const stocks = (settings: Settings): Settings => ({ imports: { stocks: settings } });

/** Another program's file with a table `goods`, in WAL mode unless told otherwise. */
function erpFile(mode: "wal" | "delete" = "wal"): { file: string; erp: Database.Database } {
  const file = path.join(tempFolder("erp"), "erp.db");
  const erp = new Database(file);
  onTestFinished(() => void erp.close());
  erp.pragma(`journal_mode = ${mode}`);
  erp.exec("CREATE TABLE goods (sku, warehouse DEFAULT '', quantity, reserved DEFAULT 0)");
  return { file, erp };
}

const bookkeeping = ({ rows }: PushedFeeds) => ({
  sent: rows("SELECT k0, record, gone, sent_at FROM feed_sent ORDER BY k0"),
  quarantine: rows("SELECT * FROM quarantine"),
  events: rows("SELECT count(*) AS n FROM feed_outbox"),
});

describe("a feed whose rows are those of a view", () => {
  const settings = stocks({ table: "for_sale" });
  const view = "CREATE VIEW for_sale AS SELECT sku, warehouse, quantity - 1 AS quantity, reserved FROM stock";

  it("sends them, then only what the view shows differently", async () => {
    const test = await startFeeds({ settings, arm: [] });
    const { erp, minute, requests, level } = test;
    erp.exec(view);
    fillStock(erp, 50);
    await minute();
    expect([requests().flatMap(({ records }) => records).length, level("S-7")]).toEqual([50, 9]);
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'S-7'; UPDATE stock SET reserved = reserved");
    await minute();
    expect(requests().map(({ records }) => records)).toEqual([[{ sku: "S-7", warehouse: "", quantity: 4 }]]);
    expect(test.holds()).toEqual([]);
  });

  itWhole(
    "is run to its end elsewhere before a single row is read, and not read where that fails or it has doubled",
    async () => {
      const { bridge, erp, rows } = await startFeeds({ settings, arm: [] });
      erp.exec(view);
      erp.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10003)
       INSERT INTO stock (sku, warehouse, quantity, reserved) SELECT 'S-' || i, '', 1, 0 FROM n`,
      );
      const rules = feedRulesOf(
        configFor({ url: "http://127.0.0.1:1", clientId: "a", clientSecret: "secret" }, "/nowhere", settings),
      ).get("stocks")!;
      const scan = (prove: typeof proveSource) =>
        new ScanSource(bridge.context, rules, prove).run(
          { counts: {}, startedAt: "", signal: new AbortController().signal },
          false,
        );
      const endless = new BridgeError(
        "table_missing",
        words("stocks: table for_sale did not end within 60 s and was stopped."),
      );
      await expect(scan(() => Promise.reject(endless))).rejects.toBe(endless);
      await expect(scan(async () => ({ rows: 1, bytesMax: 100 }))).rejects.toThrow("gives more than 10002 rows");
      expect(rows("SELECT id FROM feed_outbox")).toEqual([]);
    },
  );

  itWhole("takes no triggers and notes nothing of what the ERP writes", async () => {
    const { erp, minute, rows } = await startFeeds({ settings, arm: [] });
    erp.exec(view);
    fillStock(erp, 3);
    await minute();
    erp.exec("UPDATE stock SET quantity = 1");
    expect(rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'erp_bridge_stocks%'")).toEqual(
      [],
    );
    expect(rows("SELECT * FROM feed_dirty")).toEqual([]);
  });

  itWhole("repeats nothing and writes nothing but its runs while nothing changes", async () => {
    const test = await startFeeds({ settings, arm: [] });
    test.erp.exec(view);
    fillStock(test.erp, 20);
    await test.minute();
    const before = bookkeeping(test);
    test.requests();
    for (let i = 0; i < 3; i++) await test.minute();
    await test.compare();
    expect([test.requests(), bookkeeping(test)]).toEqual([[], before]);
  });

  itWhole("deletes by policy what the view no longer shows, after delete_after and under the guard", async () => {
    const { erp, minute, level, clock, holds, run } = await startFeeds({ settings, arm: [] });
    erp.exec(view);
    fillStock(erp, 40);
    await minute();
    erp.exec("DELETE FROM stock WHERE sku = 'S-1'");
    await minute();
    expect(level("S-1")).toBe(9);
    clock.advance(120_000);
    await minute();
    expect(level("S-1")).toBe(0);
    erp.exec("DELETE FROM stock");
    await minute();
    clock.advance(180_000);
    await run("stocks");
    expect([holds(), level("S-2")]).toEqual([[{ area: "stocks", reason: "guard" }], 9]);
  });

  itWhole("sends everything once more where somebody wants that, what is gone too", async () => {
    const { bridge, erp, minute, clock, requests, rows } = await startFeeds({ settings, arm: [] });
    erp.exec(view);
    fillStock(erp, 3);
    await minute();
    erp.exec("DELETE FROM stock WHERE sku = 'S-1'");
    await minute();
    clock.advance(120_000);
    await minute();
    requests();
    const doubt = { since: "", at: new Date(clock.nowMs()).toISOString(), because: m.sync.asked };
    bridge.store.write(() => invalidateAcknowledged(bridge.store, ["stocks"], doubt));
    await minute();
    clock.advance(120_000);
    await minute();
    const sent = requests().flatMap(({ records }) => records.map(({ sku, quantity }) => [sku, quantity]));
    expect(sent.sort()).toEqual([
      ["S-1", 0],
      ["S-2", 9],
      ["S-3", 9],
    ]);
    expect(rows("SELECT * FROM feed_dirty")).toEqual([]);
  });

  itWhole(
    "shows in quarantine what a row that cannot be sent holds now, and writes nothing while it is as it was",
    async () => {
      const { erp, minute, rows } = await startFeeds({ settings, arm: [] });
      erp.exec("CREATE TABLE raw (sku, warehouse, quantity, reserved); INSERT INTO raw VALUES ('A', '', 'many', 0)");
      erp.exec("CREATE VIEW for_sale AS SELECT * FROM raw");
      await minute();
      const held = () => rows<{ payload: string }>("SELECT * FROM quarantine WHERE state = 'held'");
      const before = [held(), rows("SELECT touched_at FROM feeds")];
      await minute();
      expect([held(), rows("SELECT touched_at FROM feeds")]).toEqual(before);
      erp.exec("UPDATE raw SET quantity = 'few'");
      await minute();
      expect(held().map(({ payload }) => payload)).toEqual([expect.stringContaining("few")]);
    },
  );

  itWhole("goes on as a tracked table when a table takes its place, and back", async () => {
    const { erp, minute, level, rows, requests } = await startFeeds({ settings, arm: [] });
    erp.exec(view);
    fillStock(erp, 5);
    await minute();
    erp.exec(
      "DROP VIEW for_sale; CREATE TABLE for_sale AS SELECT sku, warehouse, quantity - 1 AS quantity, reserved FROM stock",
    );
    requests();
    await minute();
    expect(requests()).toEqual([]);
    erp.exec("UPDATE for_sale SET quantity = 3 WHERE sku = 'S-2'");
    await minute();
    expect(level("S-2")).toBe(3);
    erp.exec(`DROP TABLE for_sale; ${view}`);
    await minute();
    expect([level("S-2"), rows("SELECT * FROM feed_dirty")]).toEqual([9, []]);
  });

  itWhole("quarantines a key that stands twice and a row without one, and sends the others", async () => {
    const { erp, minute, quarantined, site, rows } = await startFeeds({
      settings: stocks({ query: "SELECT sku, warehouse, quantity, reserved FROM raw" }),
      arm: [],
    });
    erp.exec(`CREATE TABLE raw (sku, warehouse, quantity, reserved);
      INSERT INTO raw VALUES ('A', '', 1, 0), ('B', '', 2, 0), (NULL, '', 3, 0), (CAST(x'ff41' AS TEXT), '', 5, 0)`);
    await minute();
    expect(site()).toEqual({ A: expect.anything(), B: expect.anything() });
    erp.exec("INSERT INTO raw VALUES ('A', '', 7, 0)");
    for (let i = 0; i < 3; i++) await minute();
    expect(quarantined().map(({ reference, reason }) => [reference, reason])).toEqual([
      [null, "sku, warehouse: the key is NULL"],
      [null, "sku, warehouse: the key is binary data or no valid text"],
      ["A", "two rows have this key (sku, warehouse)"],
    ]);
    expect(rows("SELECT times FROM quarantine WHERE reference = 'A'")).toEqual([{ times: 1 }]);
    erp.exec("DELETE FROM raw WHERE sku = 'A' AND quantity = 7; DELETE FROM raw WHERE sku IS NULL");
    await minute();
    expect(quarantined().filter(({ state }) => state === "held")).toHaveLength(1);
  });
});

describe("a feed whose rows are in another file", () => {
  itWhole(
    "sends what is left of a key that stood twice, also where the program was started again meanwhile",
    async () => {
      const { file, erp } = erpFile();
      erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0), ('A', '', 2, 0)");
      const { minute, restart, level } = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
      await minute();
      await restart();
      erp.exec("DELETE FROM goods WHERE quantity = 2");
      await minute();
      expect(level("A")).toBe(1);
    },
  );

  itWhole("sends what a SELECT gives, exactly, and follows its changes without writing to the file", async () => {
    const { file, erp } = erpFile();
    erp.exec(`INSERT INTO goods VALUES ('007', '', 9007199254740993, 0), ('B', '', 0.1, 0), ('C "é"', '', '1.5', 0)`);
    const query = "SELECT sku, warehouse, quantity, reserved FROM goods -- all of them";
    const { minute, sandbox, level } = await startFeeds({ settings: stocks({ file, query }), arm: [] });
    erp.pragma("wal_checkpoint(TRUNCATE)");
    const before = erp.pragma("data_version", { simple: true });
    await minute();
    expect([...sandbox.service.imported("stocks").values()].sort()).toEqual([
      '{"sku":"007","warehouse":"","quantity":9007199254740993}',
      '{"sku":"B","warehouse":"","quantity":0.1}',
      '{"sku":"C \\"é\\"","warehouse":"","quantity":1.5}',
    ]);
    erp.exec("UPDATE goods SET quantity = 4 WHERE sku = 'B'");
    await minute();
    expect(level("B")).toBe(4);
    expect(erp.pragma("data_version", { simple: true })).toBe(before);
  });

  itWhole("reads a file in which no journal is kept beside it, and says that writers wait", async () => {
    const { file, erp } = erpFile("delete");
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const { minute, level, logs } = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
    await minute();
    await minute();
    expect(level("A")).toBe(1);
    expect(logs.filter(({ message }) => message.includes("not in WAL mode"))).toHaveLength(1);
  });

  itWhole("waits while the file does not answer, while everything else goes on, and says so", async () => {
    const { file, erp } = erpFile("delete");
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const t = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
    await t.minute();
    erp.exec("UPDATE goods SET quantity = 2");
    // The one that this bridge reads with, as if it waited for a disk for good.
    const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");
    const reader = children.findLast((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("source-helper"));
    process.kill(Number(reader), "SIGSTOP");
    const limits: (() => void)[] = [];
    const real = globalThis.setTimeout;
    const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(((fn: () => void, ms?: number) => {
      if (ms === ANSWER_WITHIN_MS) limits.push(fn);
      return real(fn, ms);
    }) as typeof setTimeout);
    const hanging = t.run("stocks");
    t.sandbox.service.createOrder();
    expect(await t.run("orders")).toMatchObject({ error: null });
    while (limits.length === 0) await new Promise(setImmediate);
    for (const end of limits) end();
    spy.mockRestore();
    const { error } = await hanging;
    expect(error?.message).toBe(`stocks: table goods of ${file} cannot be read: ${file} does not answer.`);
    expect([t.level("A"), t.holds()]).toEqual([1, [{ area: "stocks", reason: "table" }]]);
    await t.minute();
    expect([t.level("A"), t.holds()]).toEqual([2, []]);
  });

  itWhole("refuses a pipe beside the file without waiting for its writer, by the feed's name", async () => {
    const { file, erp } = erpFile("delete");
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const t = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
    execFileSync("mkfifo", [`${file}-journal`]);
    expect((await t.run("stocks")).error?.message).toBe(
      `stocks: table goods of ${file}: ${file}-journal is not a regular file.`,
    );
    expect(t.holds()).toEqual([{ area: "stocks", reason: "table" }]);
    rmSync(`${file}-journal`);
    await t.minute();
    expect([t.level("A"), t.holds()]).toEqual([1, []]);
  });

  itWhole.each(["mkfifo", "mkdir"])("refuses what is no ordinary file (%s) without opening it", async (make) => {
    const file = path.join(tempFolder("erp"), "erp.db");
    execFileSync(make, [file]);
    const { run, holds } = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
    expect((await run("stocks")).error?.message).toContain("cannot be read: it is not a regular file.");
    expect(holds()).toEqual([{ area: "stocks", reason: "table" }]);
  });

  itWhole("says of a file whose writer died in the middle that a writer must open it", async () => {
    const { file, erp } = erpFile("delete");
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const aside = path.join(path.dirname(file), "aside.db");
    erp.pragma("cache_spill = 1");
    erp.exec("BEGIN; UPDATE goods SET quantity = 7");
    erp.pragma("cache_size = 1");
    erp.exec(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO goods SELECT i, '', 1, 0 FROM n",
    );
    for (const ending of ["", "-journal"]) copyFileSync(`${file}${ending}`, `${aside}${ending}`);
    erp.exec("ROLLBACK");
    const { run, minute, level } = await startFeeds({ settings: stocks({ file: aside, table: "goods" }), arm: [] });
    const { error } = await run("stocks");
    expect(error?.message).toContain("the program that wrote it was interrupted in the middle of a change");
    expect(String(error?.hint)).toContain("open it once");
    new Database(aside).exec("SELECT * FROM goods").close();
    await minute();
    expect(level("A")).toBe(1);
  });

  itWhole("waits while another program holds the file's lock, and deletes nothing", async () => {
    const { file, erp } = erpFile("delete");
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const { minute, level, run, holds } = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
    await minute();
    erp.exec("BEGIN EXCLUSIVE; DELETE FROM goods");
    expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "database_busy" } });
    erp.exec("ROLLBACK");
    await minute();
    expect([level("A"), holds()]).toEqual([1, []]);
  });

  itWhole(
    "holds itself while the file is gone, is no database or may not be read, and goes on with the file that comes back",
    async () => {
      const { file, erp } = erpFile();
      erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
      const { minute, run, holds, level } = await startFeeds({ settings: stocks({ file, table: "goods" }), arm: [] });
      await minute();
      erp.close();
      renameSync(file, `${file}.away`);
      expect(await run("stocks")).toMatchObject({
        error: { code: "table_missing", message: expect.stringContaining(file) },
      });
      expect(holds()).toEqual([{ area: "stocks", reason: "table" }]);
      writeFileSync(file, "this is no database, only some text that stands where one should be");
      expect(await run("stocks")).toMatchObject({ error: { code: "table_missing" } });
      rmSync(file);
      const other = new Database(file);
      other.exec("CREATE TABLE goods (sku, warehouse, quantity, reserved); INSERT INTO goods VALUES ('A', '', 8, 0)");
      other.close();
      await minute();
      expect([level("A"), holds()]).toEqual([8, []]);
      chmodSync(file, 0o600);
    },
  );

  itSome(1)([
    ["DELETE FROM goods RETURNING *", "begins with neither SELECT"],
    ["WITH gone AS (SELECT 1) DELETE FROM goods RETURNING *", "is no SELECT"],
    ["SELECT sku FROM goods", "has no columns warehouse, quantity, reserved"],
    ["SELECT colour FROM goods", "no such column: colour"],
  ])("refuses the query %s in words", async (query, words) => {
    const { file, erp } = erpFile();
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0)");
    const start = startFeeds({ settings: stocks({ file, query }), arm: [] });
    if (words.startsWith("begins")) return await expect(start).rejects.toThrow(words);
    const { run } = await start;
    expect(await run("stocks")).toMatchObject({
      error: { code: "table_missing", message: expect.stringContaining(words) },
    });
    expect(erp.prepare("SELECT count(*) AS n FROM goods").get()).toEqual({ n: 1 });
  });

  itWhole("takes up a row again that was released from quarantine, although it is as it was", async () => {
    const { file, erp } = erpFile();
    erp.exec("INSERT INTO goods VALUES ('A', '', 'many', 0)");
    const { minute, bridge, rows, quarantined } = await startFeeds({
      settings: stocks({ file, table: "goods" }),
      arm: [],
    });
    await minute();
    expect(quarantined()).toMatchObject([{ reference: "A", state: "held" }]);
    bridge.store.write(() => bridge.store.db.exec("INSERT INTO feed_dirty VALUES (1, 'A', '', '', '')"));
    await minute();
    expect(rows("SELECT * FROM feed_dirty")).toEqual([]);
    erp.exec("UPDATE goods SET quantity = 2");
    await minute();
    expect(quarantined()).toMatchObject([{ state: "released" }]);
  });

  itWhole("meets a change again whose taking up a crash kept from being stored", async () => {
    const { file, erp } = erpFile();
    erp.exec("INSERT INTO goods VALUES ('A', '', 1, 0), ('B', '', 1, 0)");
    const { minute, bridge, restart, level } = await startFeeds({
      settings: stocks({ file, table: "goods" }),
      arm: [],
    });
    await minute();
    erp.exec("UPDATE goods SET quantity = 6");
    const { store } = bridge;
    const write = store.write.bind(store);
    store.write = () => {
      throw new Error("the process ends here");
    };
    await bridge.runJob("stocks");
    store.write = write;
    await restart();
    await minute();
    expect([level("A"), level("B")]).toEqual([6, 6]);
  });
});

inWhole("feeds/push-compare").it("compares two tables at once, each with what was acknowledged of it", async () => {
  const settings: Settings = {
    imports: { prices: { path: "/api/v1/import/prices", property: "prices" } },
  };
  const { erp, run, bridge, requests } = await startFeeds({ settings, arm: ["stocks", "prices"] });
  fillStock(erp, 3_000);
  erp.exec("INSERT INTO prices (sku, price) SELECT sku, 1 FROM stock");
  await run("stocks");
  await run("prices");
  requests();
  bridge.store.write(() => bridge.store.db.exec("UPDATE feeds SET compare_because = 'both'"));
  const done = await Promise.all([run("stocks"), run("prices")]);
  expect(done.map(({ outcome, counts }) => [outcome, counts["compared"]])).toEqual([
    ["done", 3_000],
    ["done", 3_000],
  ]);
  expect(requests()).toEqual([]);
});

describe("images whose rows a query of another file names", () => {
  it("are sent from the folder, and again after a night in which a file was given other content", async () => {
    const { file, erp } = erpFile();
    erp.exec(
      "CREATE TABLE pictures (sku, position, source, alt); INSERT INTO pictures VALUES ('A', 1, 'a.jpg', 'front')",
    );
    const query = "SELECT sku, position, source, alt FROM pictures";
    const images = await startImages({ ...BASE64, file, query });
    const first = images.put("a.jpg", jpeg("first"));
    await images.run("images");
    expect(images.contents("A", 1)).toEqual([shaOf(first)]);
    await images.run("images");
    expect(images.accepted()).toBe(1);
    const second = images.put("a.jpg", jpeg("second"));
    erp.exec("INSERT INTO pictures VALUES ('B', 1, 'missing.jpg', 'back')");
    await images.run("images");
    expect(images.held()).toEqual([expect.stringContaining("B/1")]);
    const found = images.put("missing.jpg", jpeg("found again"));
    await images.run("images");
    expect([images.contents("B", 1), images.held()]).toEqual([[shaOf(found)], []]);
    await images.compare("images");
    expect(images.contents("A", 1)).toEqual([shaOf(first), shaOf(second)]);
  });
});
