import { describe, expect, it } from "vitest";
import { invalidateAcknowledged } from "../../src/feeds/acknowledged-rows.ts";
import { approveGuarded } from "../../src/feeds/guard/guard-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { isoTime } from "../../src/platform/ports.ts";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const WHOLE = { imports: { stocks: { scope: "whole", chunk: 2 } } };
const REPLACE = { options: { imports: { stocks: { replace: true } } } } as const;
const startWhole = () => startFeeds({ settings: WHOLE, sandbox: REPLACE });

describe("a feed whose requests are the whole table", () => {
  it("sends every row in one request, whatever the chunk, and again when one differs", async () => {
    const { erp, run, requests, site, minute } = await startWhole();
    fillStock(erp, 7);
    await run("stocks");
    expect(requests().map(({ records }) => records.length)).toEqual([7]);
    erp.exec("UPDATE stock SET quantity = 11 WHERE sku = 'S-3'; INSERT INTO stock (sku, quantity) VALUES ('NEW', 1)");
    await run("stocks");
    expect(requests().map(({ records }) => records.length)).toEqual([8]);
    expect(site()).toMatchObject({ "S-3": { quantity: 11 }, NEW: { quantity: 1 }, "S-1": { quantity: 10 } });
    await minute();
    expect(requests()).toEqual([]);
  });

  itWhole.each([{ quantity: 0 }, "ignore"])(
    "deletes by absence after delete_after, whatever on_delete says (%s)",
    async (on_delete) => {
      const settings = { imports: { stocks: { ...WHOLE.imports.stocks, on_delete } } };
      const { erp, run, minutes, requests, site } = await startFeeds({ settings, sandbox: REPLACE });
      fillStock(erp, 7);
      await run("stocks");
      erp.exec("DELETE FROM stock WHERE sku = 'S-3'; UPDATE stock SET quantity = 9 WHERE sku = 'S-1'");
      await run("stocks");
      expect(Object.keys(site())).toContain("S-3");
      requests();
      await minutes(4);
      expect(Object.keys(site())).toEqual(["S-1", "S-2", "S-4", "S-5", "S-6", "S-7"]);
      expect(requests()).toHaveLength(1);
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-3', 10)");
      await run("stocks");
      expect(Object.keys(site())).toContain("S-3");
    },
  );

  it("forgets a row that an accepted table lacked, and sends the table again where that was no acceptance", async () => {
    const { erp, run, minutes, requests, site, bridge, rows, clock } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    const shown = () => rows("SELECT sku, state FROM stock_sent ORDER BY sku");
    const sent = ["S-1", "S-3"].map((sku) => ({ sku, state: "sent" }));
    erp.exec("DELETE FROM stock WHERE sku = 'S-2'");
    await run("stocks");
    expect(shown()).toHaveLength(3);
    await minutes(4);
    expect([shown(), Object.keys(site()).sort()]).toEqual([sent, ["S-1", "S-3"]]);
    expect(rows("SELECT live_count AS n FROM feeds WHERE name = 'stocks'")).toEqual([{ n: 2 }]);
    requests();
    const [last] = rows<{ at: string }>("SELECT last_accepted_at AS at FROM feeds WHERE name = 'stocks'");
    const doubted = { since: last?.at ?? "", at: isoTime(clock.nowMs()), because: m.feeds.outageAccepted };
    bridge.store.write(() => invalidateAcknowledged(bridge.store, ["stocks"], doubted));
    await run("stocks");
    expect(requests().map(({ records }) => records.map(({ sku }) => sku).sort())).toEqual([["S-1", "S-3"]]);
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-2', 10)");
    await run("stocks");
    expect([shown(), Object.keys(site()).sort()]).toEqual([
      ["S-1", "S-2", "S-3"].map((sku) => ({ sku, state: "sent" })),
      ["S-1", "S-2", "S-3"],
    ]);
  });

  itWhole("keeps guarded rows in the table as they were", async () => {
    const { erp, run, minute, holds, site, bridge, minutes } = await startWhole();
    fillStock(erp, 40);
    await run("stocks");
    erp.exec("DELETE FROM stock WHERE sku <> 'S-1'; UPDATE stock SET quantity = 3");
    await minutes(4);
    expect(holds()).toEqual([{ area: "stocks", reason: "guard" }]);
    expect(Object.keys(site())).toHaveLength(40);
    expect(site()["S-1"]).toMatchObject({ quantity: 3 });
    bridge.store.write(() => approveGuarded(bridge.store, "stocks"));
    await minute();
    expect(Object.keys(site())).toEqual(["S-1"]);
  });

  itWhole("is never sent from an empty table, not even when approved", async () => {
    const { erp, run, minute, holds, site, bridge, requests, minutes } = await startWhole();
    fillStock(erp, 40);
    await run("stocks");
    erp.exec("DELETE FROM stock");
    await minutes(4);
    bridge.store.write(() => approveGuarded(bridge.store, "stocks"));
    requests();
    await minutes(3);
    expect([holds(), requests()]).toEqual([[{ area: "stocks", reason: "table" }], []]);
    expect(Object.keys(site())).toHaveLength(40);
    fillStock(erp, 40);
    await minute();
    expect([holds(), requests()]).toEqual([[], []]);
  });

  itWhole("is never sent without a record", async () => {
    const { erp, run, minutes, site, quarantined } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    erp.exec("DELETE FROM stock; INSERT INTO stock (sku, quantity) VALUES ('BAD', 'many')");
    await minutes(4);
    expect(quarantined()).toHaveLength(1);
    expect(Object.keys(site())).toHaveLength(3);
  });

  itWhole("waits as a whole while one of its rows is in doubt", async () => {
    const { erp, run, minute, sandbox, requests, level, clock } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-1'");
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 10 WHERE sku = 'S-1'; UPDATE stock SET quantity = 5 WHERE sku = 'S-2'");
    requests();
    await minute();
    expect(requests()).toEqual([]);
    clock.advance(IMPORT_TIMEOUT_MS);
    await minute();
    expect([level("S-1"), level("S-2")]).toEqual([10, 5]);
  });

  itWhole("keeps a row that goes away as it was sent last, although that was never answered", async () => {
    const { erp, run, sandbox, level, clock } = await startWhole();
    fillStock(erp, 40);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-1'");
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    await run("stocks");
    clock.advance(IMPORT_TIMEOUT_MS);
    erp.exec("DELETE FROM stock WHERE sku <= 'S-3'; UPDATE stock SET quantity = 9 WHERE sku = 'S-9'");
    await run("stocks");
    expect([level("S-1"), level("S-2"), level("S-9")]).toEqual([4, 10, 9]);
  });

  itWhole("is held, with the service's words, where the table is refused", async () => {
    const { erp, run, holds, rows, quarantined, sandbox } = await startWhole();
    fillStock(erp, 10);
    sandbox.service.setOptions({ limits: { maxRecords: 5 } });
    await run("stocks");
    expect([holds(), quarantined()]).toEqual([[{ area: "stocks", reason: "refused" }], []]);
    expect(rows("SELECT detail FROM holds")[0]).toEqual({ detail: expect.stringContaining("more than 5 records") });
    expect(rows("SELECT chunk FROM feeds WHERE name = 'stocks'")).toEqual([{ chunk: null }]);
  });

  itWhole.each([
    ["is as before", "UPDATE stock SET quantity = 10 WHERE sku = 'S-2'"],
    ["is gone", "DELETE FROM stock WHERE sku = 'S-2'"],
    ["cannot be sent any more", "UPDATE stock SET quantity = 'many' WHERE sku = 'S-2'"],
  ])("goes again after a refusal that has emptied the site, also where the row that had changed %s", async (_, sql) => {
    const { erp, run, minutes, sandbox, site } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: "all", how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await run("stocks");
    expect(site()).toEqual({});
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec(sql);
    await minutes(10);
    expect(site()).toMatchObject({ "S-1": { quantity: 10 }, "S-3": { quantity: 10 } });
  });

  itWhole("keeps a refused record in the table as it was accepted last", async () => {
    const settings = {
      imports: { stocks: { ...WHOLE.imports.stocks, result: { rejected: "$.errors", key: "$.sku" } } },
    };
    const { erp, run, sandbox, requests } = await startFeeds({ settings, sandbox: REPLACE });
    fillStock(erp, 5);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-1"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-1'");
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-2'");
    requests();
    await run("stocks");
    const quantities = requests().map(({ records }) => records.map(({ sku, quantity }) => [sku, quantity]));
    expect(quantities[0]).toEqual(
      expect.arrayContaining([
        ["S-1", 10],
        ["S-2", 3],
      ]),
    );
  });

  it("goes again without the records that a refusal names, also where it names one at a time", async () => {
    const settings = {
      imports: {
        stocks: { ...WHOLE.imports.stocks, result: { rejected: "$.errors", key: "$.sku", message: "$.message" } },
      },
    };
    const { erp, run, quarantined, sandbox, holds, site, requests } = await startFeeds({ settings, sandbox: REPLACE });
    fillStock(erp, 5);
    await run("stocks");
    for (const sku of ["S-2", "S-4"]) {
      const body = JSON.stringify({ message: "validation", errors: [{ sku, message: "no such article" }] });
      sandbox.faults.add({
        match: { path: "import" },
        do: { kind: "raw", contentType: "application/json", status: 422, body },
      });
    }
    erp.exec("UPDATE stock SET quantity = 4");
    requests();
    await run("stocks");
    expect(quarantined().map(({ reference, reason }) => [reference, reason])).toEqual([
      ["S-2", "no such article"],
      ["S-4", "no such article"],
    ]);
    expect([holds(), requests().map(({ records }) => records.length)]).toEqual([[], [5, 4, 3]]);
    const four = expect.objectContaining({ quantity: 4 });
    expect(site()).toEqual({ "S-1": four, "S-3": four, "S-5": four });
  });

  itWhole("quarantines single records that the answer names, also ones that had not changed", async () => {
    const settings = {
      imports: {
        stocks: { ...WHOLE.imports.stocks, result: { rejected: "$.errors", key: "$.sku", message: "$.message" } },
      },
    };
    const { erp, run, quarantined, sandbox, level } = await startFeeds({ settings });
    fillStock(erp, 5);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-1", "S-2"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku IN ('S-1', 'S-3')");
    await run("stocks");
    expect(
      quarantined()
        .map(({ reference }) => reference)
        .sort(),
    ).toEqual(["S-1", "S-2"]);
    expect(level("S-3")).toBe(4);
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku IN ('S-1', 'S-2')");
    await run("stocks");
    expect([level("S-1"), level("S-2"), quarantined().map(({ state }) => state)]).toEqual([
      6,
      6,
      ["released", "released"],
    ]);
  });
});

describe("a request of the whole table that may have replaced the site's", () => {
  const ALL = { reject: { skus: "all", how: "per-record" } } as const;
  const RESULT = { result: { rejected: "$.errors", key: "$.sku", message: "$.message" } };

  itSome(1)([
    ["single rows from then on", { imports: { stocks: { chunk: 2 } } }],
    ["the same table after a restart", undefined],
  ])("goes again as %s, whatever became of the row that had changed", async (_, settings) => {
    const { erp, run, minutes, restart, sandbox, site } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions(ALL);
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await run("stocks");
    expect(site()).toEqual({});
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec("UPDATE stock SET quantity = 'many' WHERE sku = 'S-2'");
    await restart(settings);
    await minutes(10);
    expect(site()).toMatchObject({ "S-1": { quantity: 10 }, "S-3": { quantity: 10 } });
  });

  itWhole("goes again where its answer never came and its row cannot be sent any more", async () => {
    const { erp, run, minutes, restart, sandbox, site } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions(ALL);
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await run("stocks");
    expect(site()).toEqual({});
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec("UPDATE stock SET quantity = 'many' WHERE sku = 'S-2'");
    await restart();
    await minutes(10);
    expect(site()).toMatchObject({ "S-1": { quantity: 10 }, "S-3": { quantity: 10 } });
  });

  itWhole("goes again without a quarantined row with which it was refused", async () => {
    const settings = { imports: { stocks: { ...WHOLE.imports.stocks, ...RESULT } } };
    const { erp, run, minute, minutes, quarantined, requests, sandbox, site } = await startFeeds({
      settings,
      sandbox: REPLACE,
    });
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "per-record" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'; UPDATE stock SET quantity = 5 WHERE sku = 'S-1'");
    await run("stocks");
    expect(quarantined()).toMatchObject([{ reference: "S-2", state: "held" }]);
    requests();
    await minutes(5);
    expect(requests()).toEqual([]);
    sandbox.service.setOptions(ALL);
    for (let passed = 0; passed < 100 && Object.keys(site()).length > 0; passed++) await minute();
    expect(site()).toEqual({});
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "per-record" } });
    await minutes(10);
    expect(site()).toMatchObject({ "S-1": { quantity: 5 }, "S-3": { quantity: 10 } });
  });

  itWhole("does not go again where no connection was made", async () => {
    const { erp, run, minute, requests, rows, sandbox, site } = await startWhole();
    fillStock(erp, 3);
    await run("stocks");
    await sandbox.close();
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await minute();
    await minute();
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-2" }]);
    expect([requests().length, Object.keys(site()).length]).toEqual([1, 3]);
  });
});
