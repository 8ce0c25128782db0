import { describe, expect, it } from "vitest";
import type { Settings } from "../support/bridge.ts";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const BIG_CHUNK = { imports: { stocks: { chunk: 1000 } } };

describe("a service that takes no more than so much at once", () => {
  it("is given smaller chunks, also after a restart", async () => {
    const { erp, run, requests, site, restart, clock } = await startFeeds({
      sandbox: { options: { limits: { maxRecords: 60 } } },
    });
    fillStock(erp, 400);
    await run("stocks");
    expect(Object.keys(site())).toHaveLength(400);
    const first = requests();
    expect(first.filter(({ status }) => status === 413).map(({ records }) => records.length)).toEqual([
      400, 200, 100, 100, 200, 100, 100,
    ]);
    await restart();
    erp.exec("UPDATE stock SET quantity = 11");
    clock.advance(60_000);
    await run("stocks");
    const second = requests();
    expect(second.map(({ status }) => status)).toEqual(second.map(() => 200));
    expect(Math.max(...second.map(({ records }) => records.length))).toBe(50);
    expect(Object.values(site())).toEqual(Array.from({ length: 400 }, () => expect.objectContaining({ quantity: 11 })));
  });

  itWhole("is given larger ones again step by step, a night each", async () => {
    const { erp, run, requests, sandbox, compare } = await startFeeds({
      sandbox: { options: { limits: { maxRecords: 60 } } },
    });
    fillStock(erp, 400);
    await run("stocks");
    sandbox.service.setOptions({ limits: { maxRecords: null } });
    await compare();
    requests();
    erp.exec("UPDATE stock SET quantity = 11");
    await run("stocks");
    expect(requests().map(({ records }) => records.length)).toEqual([100, 100, 100, 100]);
  });

  itWhole("does not shrink the chunk for one record that is too large by itself", async () => {
    const settings = {
      imports: {
        prices: {
          path: "/api/v1/import/prices",
          record: { sku: "{sku}", price_type: "{price_type}", price: "{price|number}", note: "{data}" },
        },
      },
    };
    const { erp, run, requests, quarantined, site } = await startFeeds({
      settings,
      arm: ["prices"],
      sandbox: { options: { limits: { maxBodyBytes: 30_000 } } },
    });
    const insert = erp.prepare("INSERT INTO prices (sku, price, data) VALUES (?, 1, ?)");
    for (let n = 0; n < 64; n++) insert.run(`P-${n}`, n === 17 ? "x".repeat(50_000) : "small");
    await run("prices");
    expect(Object.keys(site("prices"))).toHaveLength(63);
    expect(quarantined()).toEqual([{ reference: "P-17", reason: expect.stringContaining("413"), state: "held" }]);
    requests();
    erp.exec("UPDATE prices SET price = 2 WHERE sku <> 'P-17'");
    await run("prices");
    expect(requests().map(({ records }) => records.length)).toEqual([63]);
  });
});

describe("one bad record of a thousand", () => {
  itWhole("is found in about 2·log2(n) requests and quarantined by name; the rest is delivered", async () => {
    const { erp, run, requests, site, quarantined, sandbox } = await startFeeds({ settings: BIG_CHUNK });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('FIRST', 1)");
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-777"], how: "422" } });
    fillStock(erp, 1000);
    requests();
    await run("stocks");
    expect(requests().length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(1000)));
    expect(Object.keys(site())).toHaveLength(1000);
    expect(quarantined()).toEqual([
      { reference: "S-777", reason: '422: {"error":"the record S-777 is not accepted"}', state: "held" },
    ]);
    expect(await run("stocks")).toMatchObject({ outcome: "idle" });
  });

  itWhole("is held again where the service refuses once more what was dropped before it was good", async () => {
    const { erp, run, quarantined, sandbox, bridge } = await startFeeds();
    fillStock(erp, 8);
    await run("stocks");
    const sell = async (quantity: number, skus: string[]) => {
      sandbox.service.setOptions({ reject: { skus, how: "422" } });
      erp.exec(`UPDATE stock SET quantity = ${quantity} WHERE sku = 'S-2'`);
      erp.exec("UPDATE stock SET quantity = quantity + 1 WHERE sku = 'S-3'");
      await run("stocks");
    };
    await sell(0, ["S-2"]);
    bridge.store.db.exec("UPDATE quarantine SET state = 'dropped' WHERE state = 'held'");
    await sell(7, []);
    await sell(0, ["S-2"]);
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "S-2", state: "held" })]);
  });

  itWhole("is tried again when it changes, and its quarantine is then released", async () => {
    const { erp, run, requests, level, quarantined, sandbox, compare } = await startFeeds({
      sandbox: { options: { reject: { skus: ["S-2"], how: "422" } } },
    });
    fillStock(erp, 8);
    await run("stocks");
    requests();
    await compare();
    erp.exec("UPDATE stock SET reserved = 0");
    await run("stocks");
    expect(requests()).toEqual([]);
    sandbox.service.setOptions({ reject: { skus: [] } });
    erp.exec("UPDATE stock SET quantity = 12 WHERE sku = 'S-2'");
    await run("stocks");
    expect(level("S-2")).toBe(12);
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "S-2", state: "released" })]);
  });

  it("is sent where the ERP sets it back to what was acknowledged: a refused request may have been taken in part", async () => {
    const { erp, run, requests, quarantined, sandbox } = await startFeeds();
    fillStock(erp, 2);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 5");
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 10 WHERE sku = 'S-2'");
    sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    requests();
    await run("stocks");
    expect(requests().map(({ records }) => records)).toEqual([[expect.objectContaining({ sku: "S-2", quantity: 10 })]]);
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "S-2", state: "released" })]);
  });
});

describe("a template that the service refuses for every record", () => {
  const WRONG = { imports: { stocks: { record: { code: "{sku}", quantity: "{available|number}" } } } };

  it("holds the feed after three records, quarantines nothing, and goes on with a corrected one", async () => {
    const { erp, run, requests, holds, quarantined, site, restart } = await startFeeds({ settings: WRONG });
    fillStock(erp, 100);
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(quarantined()).toEqual([]);
    expect(requests().length).toBeLessThanOrEqual(3 + 2 * Math.ceil(Math.log2(100)));
    expect(await run("stocks")).toMatchObject({ outcome: "held" });
    expect(requests()).toEqual([]);
    await restart({});
    await run("stocks");
    expect(holds()).toEqual([]);
    expect(Object.keys(site())).toHaveLength(100);
  });

  itWhole("stays held across a restart with the same template", async () => {
    const { erp, run, requests, holds, restart } = await startFeeds({ settings: WRONG });
    fillStock(erp, 10);
    await run("stocks");
    requests();
    await restart();
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(requests()).toEqual([]);
  });

  itWhole("is noticed also where the records come one at a time", async () => {
    const { erp, run, holds, quarantined, minute } = await startFeeds({ settings: WRONG });
    for (const sku of ["A", "B"]) {
      erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 1)").run(sku);
      await minute();
    }
    expect([holds(), quarantined()]).toEqual([[], []]);
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('C', 1)");
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(quarantined()).toEqual([]);
  });

  itWhole(
    "is noticed also where a wrong property name makes every request a 400, and goes on with the right one",
    async () => {
      const { erp, run, holds, site, restart } = await startFeeds({
        settings: { imports: { stocks: { property: "rows" } } },
      });
      fillStock(erp, 5);
      await run("stocks");
      expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
      await restart({});
      await run("stocks");
      expect([holds(), Object.keys(site()).length]).toEqual([[], 5]);
    },
  );

  itWhole("is noticed also where a 200 names every record", async () => {
    const settings = { imports: { stocks: { result: { rejected: "$.errors", key: "$.sku", message: "$.message" } } } };
    const { erp, run, holds, quarantined } = await startFeeds({
      settings,
      sandbox: { options: { reject: { skus: "all", how: "per-record" } } },
    });
    fillStock(erp, 50);
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(quarantined()).toEqual([]);
  });
});

describe("many new articles that the service does not know", () => {
  const NEW = Array.from({ length: 25 }, (_, n) => `X-${n}`);

  async function startKnown(known: number, settings: Settings = {}) {
    const t = await startFeeds({ settings });
    fillStock(t.erp, known);
    await t.run("stocks");
    t.sandbox.service.setOptions({ reject: { skus: NEW, how: "422" } });
    const insert = t.erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 5)");
    const holds = () => t.rows("SELECT area, reason FROM holds");
    const addNew = () => {
      for (const sku of NEW) insert.run(sku);
    };
    return { ...t, holds, addNew };
  }

  itSome(1)([
    ["available", {}],
    ["a column", { imports: { stocks: { available: null, record: { sku: "{sku}", quantity: "{quantity|number}" } } } }],
  ])(
    "hold nothing up: each refusal is proved by an article that is sold out, sent once more: by %s",
    async (_, settings) => {
      const { erp, run, holds, addNew, quarantined, requests, clock, level } = await startKnown(40, settings);
      erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-7'");
      await run("stocks");
      addNew();
      requests();
      expect(await run("stocks")).toMatchObject({ error: null });
      expect(holds()).toEqual([]);
      expect(
        quarantined()
          .map(({ reference }) => reference)
          .sort(),
      ).toEqual([...NEW].sort());
      // No article that is for sale was sent again: the site may have sold it since.
      const sent = requests().flatMap(({ records }) => records as { sku: string }[]);
      expect([...new Set(sent.map(({ sku }) => sku))].filter((sku) => !NEW.includes(sku))).toEqual(["S-7"]);
      clock.advance(60_000);
      erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-3'");
      await run("stocks");
      expect(level("S-3")).toBe(0);
    },
  );

  itWhole("hold the feed up until the first probe that has a change of a known article", async () => {
    const { erp, run, holds, addNew, quarantined, clock, level } = await startKnown(40);
    addNew();
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    for (let n = 1; n <= 12; n++) {
      clock.advance(60_000);
      erp.exec(`UPDATE stock SET quantity = 0 WHERE sku = 'S-${n}'`);
      await run("stocks");
    }
    expect(holds()).toEqual([]);
    expect(level("S-1")).toBe(0);
    expect(level("S-12")).toBe(0);
    expect(
      quarantined()
        .map(({ reference }) => reference)
        .sort(),
    ).toEqual([...NEW].sort());
  });

  itWhole("are refused as well where the service takes nothing: the feed is held", async () => {
    const { erp, run, rows, clock, holds, addNew, sandbox, quarantined } = await startKnown(40);
    erp.exec("UPDATE stock SET quantity = 0 WHERE CAST(substr(sku, 3) AS INTEGER) BETWEEN 10 AND 19");
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: "all", how: "422" } });
    addNew();
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(quarantined()).toEqual([]);
    const waiting = () => rows<{ n: number }>("SELECT count(*) AS n FROM stock_sent WHERE state <> 'sent'")[0]?.n;
    for (let hours = 0; hours < 12; hours++) {
      clock.advance(3_600_000);
      await run("stocks");
    }
    // The new ones, and no more controls than show it.
    expect(waiting()).toBeGreaterThan(NEW.length);
    expect(waiting()).toBeLessThanOrEqual(NEW.length + 3);
  });
});
