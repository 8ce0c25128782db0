import { describe, expect, it } from "vitest";
import { ALL_FEEDS, fillStock, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;

describe("refused credentials", () => {
  it("hold the imports and not the orders, probe at most once in 5 minutes, and end by themselves", async () => {
    const { erp, run, holds, requests, clock, sandbox, level, rows } = await startFeeds({
      sandbox: { options: { refuse: ["import"] } },
    });
    fillStock(erp, 3);
    sandbox.service.createOrder();
    expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "credentials_refused" } });
    expect(holds()).toEqual([{ area: "imports", reason: "credentials" }]);
    for (let minute = 0; minute < 30; minute++) {
      clock.advance(MINUTE_MS);
      await run("stocks");
      await run("orders");
    }
    expect(requests().length).toBeLessThanOrEqual(7);
    expect(rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 1 }]);
    sandbox.service.setOptions({ refuse: [] });
    clock.advance(5 * MINUTE_MS);
    await run("stocks");
    expect([holds(), level("S-1")]).toEqual([[], 10]);
  });
});

describe("an unpaid subscription", () => {
  itWhole(
    "keeps one pending row a key for days, probes at most once in 30 minutes, and then drains by urgency",
    async () => {
      const { erp, run, minute, holds, requests, clock, sandbox, rows, level } = await startFeeds({
        settings: { imports: { stocks: { chunk: 2 } } },
      });
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('ZERO', 5), ('LESS', 5), ('MORE', 5), ('SAME', 5)");
      await run("stocks");
      sandbox.service.setOptions({ paid: false });
      requests();
      for (let day = 0; day < 2; day++) {
        for (let hour = 0; hour < 24; hour++) {
          erp.prepare("UPDATE stock SET quantity = ? WHERE sku <> 'SAME'").run(day * 24 + hour + 6);
          await minute();
          clock.advance(59 * MINUTE_MS);
        }
      }
      expect(holds()).toEqual([{ area: "imports", reason: "payment" }]);
      expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 3 }]);
      expect(rows("SELECT DISTINCT state FROM stock_sent WHERE sku <> 'SAME'")).toEqual([{ state: "held" }]);
      expect(requests().length).toBeLessThanOrEqual(48);
      erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'ZERO'; UPDATE stock SET quantity = 4 WHERE sku = 'LESS'");
      erp.exec("UPDATE stock SET quantity = 90 WHERE sku = 'MORE'");
      sandbox.service.setOptions({ paid: true });
      clock.advance(30 * MINUTE_MS);
      await run("stocks");
      // The probe is the row that was one least often.
      expect(requests().map(({ records }) => records.map(({ sku }) => sku))).toEqual([["LESS"], ["ZERO", "MORE"]]);
      expect([level("ZERO"), level("LESS"), level("MORE"), holds()]).toEqual([0, 4, 90, []]);
    },
  );

  itWhole("probes at most once in 30 minutes with all feeds together, whichever has something to send", async () => {
    const { erp, minute, requests, sandbox } = await startFeeds({
      settings: ALL_FEEDS,
      arm: ["stocks", "prices", "catalog"],
    });
    sandbox.service.setOptions({ paid: false });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    requests();
    for (let passed = 0; passed < 121; passed++) await minute("stocks", "prices", "catalog");
    const times = requests().map(({ at }) => at);
    expect(times.length).toBeGreaterThanOrEqual(4);
    expect(Math.min(...times.slice(1).map((at, index) => at - (times[index] ?? 0)))).toBeGreaterThanOrEqual(
      30 * MINUTE_MS,
    );
  });

  it("ends for the other feeds where one is refused again and again", async () => {
    const { erp, minute, requests, sandbox, site } = await startFeeds({
      settings: ALL_FEEDS,
      arm: ["stocks", "prices"],
    });
    sandbox.service.setOptions({ paid: false });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1); INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await minute("stocks", "prices");
    sandbox.service.setOptions({ paid: true });
    sandbox.faults.add({
      match: { path: "import", feed: "stocks" },
      when: "before",
      do: { kind: "status", status: 401 },
      times: "forever",
    });
    for (let passed = 0; passed < 60; passed++) await minute("stocks", "prices");
    expect(site("prices")).toEqual({ A: { sku: "A", price_type: "", price: 1 } });
    expect(requests().filter(({ feed }) => feed === "stocks").length).toBeLessThan(12);
  });

  itWhole("lets no feed without work use up the probe", async () => {
    const { erp, run, minute, holds, sandbox, clock } = await startFeeds({
      settings: ALL_FEEDS,
      arm: ["stocks", "prices", "catalog"],
    });
    sandbox.service.setOptions({ paid: false });
    erp.exec("INSERT INTO products (sku, name) VALUES ('A', 'Tea')");
    await run("catalog");
    expect(holds()).toEqual([{ area: "imports", reason: "payment" }]);
    sandbox.service.setOptions({ paid: true });
    clock.advance(30 * MINUTE_MS);
    await minute("stocks", "prices", "catalog");
    expect(holds()).toEqual([]);
  });

  itWhole("is followed by stock before prices before catalog, whichever job comes first", async () => {
    const { erp, run, minute, requests, sandbox, clock } = await startFeeds({
      settings: ALL_FEEDS,
      arm: ["stocks", "prices", "catalog"],
    });
    sandbox.service.setOptions({ paid: false });
    fillStock(erp, 3);
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1); INSERT INTO products (sku, name) VALUES ('A', 'Tea')");
    await minute("stocks", "prices", "catalog");
    sandbox.service.setOptions({ paid: true });
    clock.advance(30 * MINUTE_MS);
    requests();
    for (const job of ["catalog", "prices", "stocks", "catalog", "prices", "catalog"] as const) await run(job);
    // The first one is the probe.
    expect(requests().map(({ feed }) => feed)).toEqual(["stocks", "stocks", "prices", "catalog"]);
  });
});

describe("feeds beside one another", () => {
  it("let prices go although new stock comes at every pass", async () => {
    const { erp, run, site } = await startFeeds({ settings: ALL_FEEDS, arm: ["stocks", "prices"] });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    for (let passed = 1; passed <= 4; passed++) {
      erp.prepare("INSERT OR REPLACE INTO stock (sku, quantity) VALUES ('A', ?)").run(passed);
      // The stock job has absorbed its change but not sent it yet when the prices' job begins.
      await Promise.all([run("stocks"), run("prices")]);
    }
    expect(site("prices")).toEqual({ A: { sku: "A", price_type: "", price: 1 } });
  });

  itWhole("let prices go while stock fails", async () => {
    const { erp, minute, site, sandbox } = await startFeeds({ settings: ALL_FEEDS, arm: ["stocks", "prices"] });
    sandbox.faults.add({ match: { feed: "stocks" }, times: "forever", do: { kind: "status", status: 500 } });
    fillStock(erp, 3);
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await minute("stocks", "prices");
    await minute("stocks", "prices");
    expect(Object.keys(site("prices"))).toEqual(["A"]);
  });

  itWhole("let prices go where stock was switched off with rows left", async () => {
    const { erp, run, site, sandbox, restart } = await startFeeds({ settings: ALL_FEEDS, arm: ["stocks", "prices"] });
    sandbox.faults.add({ match: { feed: "stocks" }, do: { kind: "status", status: 500 } });
    fillStock(erp, 3);
    await run("stocks");
    await restart({ ...ALL_FEEDS, imports: { ...ALL_FEEDS.imports, stocks: { path: null } } });
    erp.exec("INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await run("prices");
    expect(Object.keys(site("prices"))).toEqual(["A"]);
  });
});

describe("a service that asks to wait", () => {
  it("is left alone for as long as Retry-After says", async () => {
    const { erp, run, requests, clock, sandbox, level } = await startFeeds();
    fillStock(erp, 2);
    sandbox.faults.add({
      match: { path: "import" },
      do: { kind: "status", status: 429, headers: { "retry-after": "600" } },
    });
    await run("stocks");
    requests();
    clock.advance(599_000);
    expect(await run("stocks")).toMatchObject({ outcome: "held" });
    expect(requests()).toEqual([]);
    clock.advance(1_000);
    await run("stocks");
    expect(level("S-1")).toBe(10);
  });
});

describe("a path that the service does not know", () => {
  itSome(1)([404, 405])("answered with %i holds the flow and blames no record", async (status) => {
    const { erp, run, holds, quarantined, sandbox, rows, clock, level, requests } = await startFeeds();
    fillStock(erp, 2);
    sandbox.faults.add({ match: { path: "import" }, times: "forever", do: { kind: "status", status } });
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "refused" }]);
    expect(quarantined()).toEqual([]);
    expect(rows("SELECT state, last_error FROM stock_sent")).toEqual([
      { state: "held", last_error: expect.stringContaining(String(status)) },
      { state: "held", last_error: expect.stringContaining(String(status)) },
    ]);
    requests();
    clock.advance(MINUTE_MS);
    await run("stocks");
    expect(requests()).toEqual([]);
    sandbox.faults.clear();
    clock.advance(5 * MINUTE_MS);
    await run("stocks");
    expect([holds(), level("S-2")]).toEqual([[], 10]);
  });
});

describe("a hold of imports with nothing left to send", () => {
  const ignoring = { imports: { stocks: { on_delete: "ignore" } } } as const;

  itSome(1)([
    ["refused credentials", { refuse: ["import"] }, { refuse: [] }, "credentials"],
    ["an unpaid subscription", { paid: false }, { paid: true }, "payment"],
  ] as const)("ends where a probe would be due: %s", async (_, ill, well, reason) => {
    const { erp, run, minute, holds, requests, clock, sandbox } = await startFeeds({ settings: ignoring });
    sandbox.service.setOptions(ill);
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5)");
    await run("stocks");
    expect(holds()).toEqual([{ area: "imports", reason }]);
    erp.exec("DELETE FROM stock");
    await minute("stocks");
    expect(holds()).toEqual([{ area: "imports", reason }]);
    sandbox.service.setOptions(well);
    clock.advance(31 * MINUTE_MS);
    requests();
    await minute("stocks");
    expect([holds(), requests()]).toEqual([[], []]);
  });

  itWhole("stands while another feed has something to send", async () => {
    const { erp, run, minute, holds, clock, sandbox } = await startFeeds({
      settings: { imports: { ...ALL_FEEDS.imports, ...ignoring.imports } },
      arm: ["stocks", "prices"],
    });
    sandbox.service.setOptions({ paid: false });
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 5); INSERT INTO prices (sku, price) VALUES ('A', 1)");
    await run("stocks");
    erp.exec("DELETE FROM stock");
    clock.advance(31 * MINUTE_MS);
    await minute("stocks");
    expect(holds()).toEqual([{ area: "imports", reason: "payment" }]);
    sandbox.service.setOptions({ paid: true });
    await minute("prices");
    expect(holds()).toEqual([]);
  });
});
