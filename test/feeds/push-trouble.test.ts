import { describe, expect, it } from "vitest";
import { PATIENT } from "../support/program.ts";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { inWhole, itWhole, size, some } from "../support/whole.ts";

const whole = inWhole("feeds/push-failing-record", "feeds/push-model");

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FIVE_MINUTES = 5;
const RESULT = { imports: { stocks: { result: { rejected: "$.errors", key: "$.sku", message: "$.message" } } } };
const HTML = "<html><body>Bad Request</body></html>";

async function minutes(test: PushedFeeds, count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await test.minute();
}

function refuseAll(test: PushedFeeds, status: number, html = false): void {
  const body = html
    ? { kind: "raw" as const, contentType: "text/html", body: HTML, status }
    : { kind: "status" as const, status };
  test.sandbox.faults.add({ match: { path: "import" }, times: "forever", do: body });
}

function setAside(test: PushedFeeds): { sku: string; refusal: string }[] {
  return test.rows("SELECT k0 AS sku, refusal FROM feed_outbox WHERE refusal IS NOT NULL ORDER BY k0");
}

describe("a service that refuses every import for a while", () => {
  const ANSWERS = [
    ["400", 400, false],
    ["400 with a web page", 400, true],
    ["422", 422, false],
    ["413", 413, false],
    ["404", 404, false],
    ["423", 423, true],
    ["451", 451, false],
  ] as const;

  itWhole.each(some(ANSWERS, 1))(
    "%s: holds the feed, asks little, quarantines nothing and goes on by itself",
    async (_, status, html) => {
      const test = await startFeeds();
      const { erp, run, holds, quarantined, requests, rows, level, clock } = test;
      fillStock(erp, 100);
      await run("stocks");
      requests();
      refuseAll(test, status, html);
      erp.exec("UPDATE stock SET quantity = 7");
      expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "request_refused" } });
      expect(requests().length).toBeLessThanOrEqual(14);
      for (let passed = 0; passed < 60; passed++) {
        erp.prepare("UPDATE stock SET quantity = quantity + 1 WHERE sku = ?").run(`S-${1 + (passed % 5)}`);
        await test.minute();
      }
      expect([holds(), quarantined()]).toEqual([[{ area: "stocks", reason: "refused" }], []]);
      expect(requests().length).toBeLessThanOrEqual(12 * 14);
      test.sandbox.faults.clear();
      await minutes(test, FIVE_MINUTES);
      expect([holds(), quarantined(), level("S-100"), level("S-1")]).toEqual([[], [], 7, 19]);
      clock.advance(HOUR_MS);
      await run("stocks");
      expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    },
  );

  itWhole.each([308, 423, 404])(
    "%i: is probed with the only row that waits, and each probe leaves the hold",
    async (status) => {
      const test = await startFeeds();
      const { erp, run, holds, quarantined, requests, level } = test;
      fillStock(erp, 5);
      await run("stocks");
      refuseAll(test, status);
      erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-1'");
      await run("stocks");
      requests();
      for (let passed = 0; passed < 62; passed++) {
        await test.minute();
        expect([passed, holds()]).toEqual([passed, [{ area: "stocks", reason: "refused" }]]);
      }
      expect(requests()).toHaveLength(12);
      test.sandbox.faults.clear();
      await minutes(test, FIVE_MINUTES);
      expect([holds(), quarantined(), level("S-1")]).toEqual([[], [], 0]);
    },
  );

  itWhole("leaves the hold where the rows of the probe were refused for good before", async () => {
    const test = await startFeeds();
    const { erp, run, holds, requests, level } = test;
    fillStock(erp, 3);
    await run("stocks");
    refuseAll(test, 400);
    erp.exec("UPDATE stock SET quantity = 4");
    await run("stocks");
    requests();
    await minutes(test, 60);
    expect([holds(), requests().length > 11]).toEqual([[{ area: "stocks", reason: "refused" }], true]);
    test.sandbox.faults.clear();
    await minutes(test, FIVE_MINUTES);
    expect([holds(), level("S-1"), level("S-3")]).toEqual([[], 4, 4]);
  });

  itWhole("as a 200 that reports an error, and as a 200 that names each record", async () => {
    for (const how of ["success-false", "per-record"] as const) {
      const test = await startFeeds({ settings: RESULT });
      const { erp, run, holds, quarantined, sandbox, level } = test;
      fillStock(erp, 60);
      await run("stocks");
      sandbox.service.setOptions({ reject: { skus: "all", how } });
      erp.exec("UPDATE stock SET quantity = 7");
      await run("stocks");
      expect([how, holds(), quarantined()]).toEqual([how, [{ area: "stocks", reason: "refused" }], []]);
      sandbox.service.setOptions({ reject: { skus: [] } });
      await minutes(test, FIVE_MINUTES);
      expect([holds(), quarantined(), level("S-60")]).toEqual([[], [], 7]);
    }
  });

  itWhole("goes on also after a restart in the middle, and where nothing was ever accepted before", async () => {
    const test = await startFeeds();
    const { erp, run, holds, quarantined, site } = test;
    refuseAll(test, 400);
    fillStock(erp, 30);
    await run("stocks");
    await minutes(test, 17);
    await test.restart();
    await minutes(test, 17);
    expect([holds(), quarantined()]).toEqual([[{ area: "stocks", reason: "refused" }], []]);
    test.sandbox.faults.clear();
    await minutes(test, FIVE_MINUTES + 1);
    expect([holds(), quarantined(), Object.keys(site())]).toEqual([[], [], expect.objectContaining({ length: 30 })]);
  });

  it("in the middle of a pass: what was accepted before does not make the refusals about the records", async () => {
    const test = await startFeeds({ settings: { imports: { stocks: { chunk: 10 } } } });
    const { erp, run, holds, quarantined, sandbox, level } = test;
    fillStock(erp, 50);
    await run("stocks");
    sandbox.faults.add({ match: { path: "import" }, skip: 2, times: "forever", do: { kind: "status", status: 400 } });
    erp.exec("UPDATE stock SET quantity = 7");
    await run("stocks");
    expect([holds(), quarantined()]).toEqual([[{ area: "stocks", reason: "refused" }], []]);
    sandbox.faults.clear();
    await minutes(test, FIVE_MINUTES);
    expect([holds(), quarantined(), level("S-50")]).toEqual([[], [], 7]);
  });

  itWhole("holds a table that is sent whole, with the service's words, and goes on by itself", async () => {
    const test = await startFeeds({
      settings: { imports: { stocks: { scope: "whole" } } },
      sandbox: { options: { imports: { stocks: { replace: true } } } },
    });
    const { erp, run, holds, quarantined, level } = test;
    fillStock(erp, 10);
    await run("stocks");
    refuseAll(test, 422, true);
    erp.exec("UPDATE stock SET quantity = 7");
    await run("stocks");
    await minutes(test, 60);
    expect([holds(), quarantined()]).toEqual([[{ area: "stocks", reason: "refused" }], []]);
    test.sandbox.faults.clear();
    await minutes(test, FIVE_MINUTES);
    expect([holds(), quarantined(), level("S-10")]).toEqual([[], [], 7]);
  });
});

describe("a lone record that is refused", () => {
  it("waits, visible and with a time, until something else is accepted, and is quarantined then", async () => {
    const test = await startFeeds();
    const { erp, run, holds, quarantined, sandbox, requests, clock, rows, level } = test;
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    requests();
    await run("stocks");
    expect([holds(), quarantined(), setAside(test)]).toEqual([[], [], [{ sku: "S-2", refusal: "unproven" }]]);
    expect(rows("SELECT sentence, refused, waiting FROM sync_status WHERE flow = 'stocks'")).toEqual([
      { sentence: expect.stringContaining(" 1 waiting. 1 refused, tried again."), refused: 1, waiting: 1 },
    ]);
    expect(rows("SELECT state, last_error FROM stock_sent WHERE sku = 'S-2'")).toEqual([
      { state: "doubt", last_error: expect.stringContaining("422") },
    ]);
    clock.advance(12 * HOUR_MS);
    for (let hour = 0; hour < 12; hour++) {
      clock.advance(HOUR_MS);
      await run("stocks");
    }
    expect(quarantined()).toEqual([]);
    expect(requests().length).toBeLessThanOrEqual(14);
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-3'");
    await run("stocks");
    expect([level("S-3"), level("S-2")]).toEqual([4, 10]);
    expect(quarantined()).toEqual([{ reference: "S-2", reason: expect.stringContaining("422"), state: "held" }]);
    // The accepted row was not sent again to prove it.
    expect(requests().filter(({ records }) => records.some(({ sku }) => sku === "S-3"))).toHaveLength(1);
  });

  itWhole("is sent as soon as the service takes it", async () => {
    const test = await startFeeds();
    const { erp, run, sandbox, level } = test;
    fillStock(erp, 3);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-2'");
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: [] } });
    await minutes(test, FIVE_MINUTES);
    expect([level("S-2"), setAside(test)]).toEqual([4, []]);
  });

  itWhole("waits where others are accepted and the refusal is not for good", async () => {
    const bad = { text: "" };
    const test: PushedFeeds = await startFeeds({
      sandbox: {
        onRequest: ({ body }) => {
          if (bad.text === "" || !body.toString().includes(bad.text)) return;
          test.sandbox.faults.add({ match: { path: "import" }, do: { kind: "status", status: 423 } });
        },
      },
    });
    const { erp, run, holds, quarantined, level, clock } = test;
    fillStock(erp, 8);
    await run("stocks");
    bad.text = '"S-5"';
    erp.exec("UPDATE stock SET quantity = 4");
    await run("stocks");
    await minutes(test, 30);
    expect([holds(), quarantined(), level("S-8"), level("S-5")]).toEqual([[], [], 4, 10]);
    expect(setAside(test)).toEqual([{ sku: "S-5", refusal: "passing" }]);
    bad.text = "";
    clock.advance(HOUR_MS);
    await run("stocks");
    expect([level("S-5"), setAside(test)]).toEqual([4, []]);
  });
});

whole.describe("many refused records among good ones", PATIENT, () => {
  const BAD = [
    ["every second one", (n: number) => n % 2 === 0],
    ["side by side", (n: number) => n > 40 && n <= 120],
    ["at the front", (n: number) => n <= 80],
    ["at the end", (n: number) => n > 80],
  ] as const;

  it.each(some(BAD, 1))("%s: keep no good one away", async (_, isBad) => {
    const rows = size(40, 160);
    const test = await startFeeds({ settings: { imports: { stocks: { chunk: rows } } } });
    const { erp, run, holds, quarantined, sandbox, site, requests } = test;
    const bad = Array.from({ length: rows }, (__, index) => index + 1)
      .filter(isBad)
      .map((n) => `S-${n}`);
    sandbox.service.setOptions({ reject: { skus: bad, how: "422" } });
    fillStock(erp, rows);
    await run("stocks");
    await minutes(test, 10);
    expect(Object.keys(site())).toHaveLength(rows - bad.length);
    expect(quarantined().every(({ reference }) => bad.includes(reference ?? ""))).toBe(true);
    expect(requests().length).toBeLessThanOrEqual(bad.length * 2 * Math.ceil(Math.log2(rows)));
    // The site accepts something each minute: within hours everything is decided, and nothing is held.
    for (let passed = 0; passed < size(80, 150); passed++) {
      const good = Object.keys(site())[passed % (rows - bad.length)];
      erp.prepare("UPDATE stock SET quantity = quantity + 1 WHERE sku = ?").run(good);
      await test.minute();
    }
    expect([holds(), quarantined().length]).toEqual([[], bad.length]);
  });
});

describe("the way back of what was refused", () => {
  it("is a try of its own after 10 minutes, and ever more rarely, without a person or a change", async () => {
    const test = await startFeeds();
    const { erp, run, quarantined, sandbox, requests, level, holds } = test;
    fillStock(erp, 8);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2", "S-3"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 4");
    await run("stocks");
    expect(quarantined().map(({ state }) => state)).toEqual(["held", "held"]);
    requests();
    const hours = async (count: number) => {
      for (let passed = 0; passed < count * 4; passed++) {
        test.clock.advance(15 * MINUTE_MS);
        await run("stocks");
      }
    };
    await hours(24);
    expect([requests().length > 0, holds(), quarantined().length]).toEqual([true, [], 2]);
    await hours(24);
    expect(requests().length).toBeLessThanOrEqual(6);
    sandbox.service.setOptions({ reject: { skus: ["S-3"], how: "422" } });
    await hours(13);
    expect([
      level("S-2"),
      level("S-3"),
      quarantined()
        .map(({ state }) => state)
        .sort(),
    ]).toEqual([4, 10, ["held", "released"]]);
  });

  itWhole("comes at once when a hold of the feed has ended", async () => {
    const test = await startFeeds();
    const { erp, run, quarantined, sandbox, level, holds } = test;
    fillStock(erp, 8);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 4");
    await run("stocks");
    await minutes(test, 200);
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "S-2", state: "held" })]);
    sandbox.service.setOptions({ reject: { skus: [] } });
    refuseAll(test, 403);
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'S-8'");
    await run("stocks");
    expect(holds()).toHaveLength(1);
    sandbox.faults.clear();
    await minutes(test, FIVE_MINUTES + 2);
    expect([level("S-2"), level("S-8"), holds()]).toEqual([4, 5, []]);
    expect(quarantined()).toEqual([expect.objectContaining({ reference: "S-2", state: "released" })]);
  });

  itWhole("brings back hundreds within hours, also with bad ones among them", async () => {
    const test = await startFeeds({ settings: RESULT });
    const { erp, run, quarantined, sandbox, site } = test;
    const count = size(300, 1_000);
    fillStock(erp, count);
    sandbox.service.setOptions({
      reject: { skus: Array.from({ length: count - 100 }, (_, index) => `S-${index + 1}`), how: "per-record" },
    });
    await run("stocks");
    expect(quarantined().filter(({ state }) => state === "held")).toHaveLength(count - 100);
    sandbox.service.setOptions({ reject: { skus: ["S-7", "S-180"], how: "422" } });
    await minutes(test, 3 * 60);
    expect(Object.keys(site())).toHaveLength(count - 2);
    expect(
      quarantined()
        .filter(({ state }) => state === "held")
        .map(({ reference }) => reference)
        .sort(),
    ).toEqual(["S-180", "S-7"]);
  });
});

describe("a refused row whose content changes at every pass", () => {
  it("adds no rows without bound, and every pass ends", async () => {
    const test = await startFeeds({ settings: RESULT });
    const { erp, run, sandbox, quarantined } = test;
    fillStock(erp, 2);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-1"], how: "per-record" } });
    for (let passed = 1; passed <= 40; passed++) {
      erp.prepare("UPDATE stock SET quantity = ?").run(passed + 20);
      await run("stocks");
    }
    expect(quarantined().filter(({ state }) => state === "held")).toHaveLength(1);
    expect(quarantined().length).toBeLessThanOrEqual(5);
  });

  itWhole("nor where no key can name it", async () => {
    const test = await startFeeds();
    const { erp, run, quarantined } = test;
    erp.exec("INSERT INTO stock (sku, quantity) VALUES (CAST(x'ff41' AS TEXT), 0)");
    for (let passed = 1; passed <= 130; passed++) {
      erp.prepare("UPDATE stock SET quantity = ?").run(passed);
      await run("stocks");
    }
    expect(quarantined().length).toBeLessThanOrEqual(101);
    await test.compare();
    expect(quarantined().length).toBeLessThanOrEqual(202);
  });
});

whole.describe("the whole of bad days", PATIENT, () => {
  it("leaves nothing in quarantine that the service would take, and no hold, after a quiet day without a person", async () => {
    const test = await startFeeds();
    const { erp, run, sandbox, holds, quarantined, site, rows } = test;
    fillStock(erp, 40);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-7"], how: "422" } });
    erp.exec("UPDATE stock SET quantity = 20");
    await run("stocks");
    for (const html of [false, true]) {
      refuseAll(test, 400, html);
      for (let passed = 0; passed < size(20, 60); passed++) {
        erp.prepare("UPDATE stock SET quantity = quantity + 1 WHERE sku = ?").run(`S-${1 + (passed % 40)}`);
        await test.minute();
      }
      expect(quarantined().filter(({ state }) => state === "held").length).toBeLessThanOrEqual(1);
      sandbox.faults.clear();
      await minutes(test, 30);
    }
    // A burst that is shorter than a pass may still blame a row or two: they come back.
    for (const skip of [1, 2, 3, 4]) {
      sandbox.faults.add({ match: { path: "import" }, skip, times: 2, do: { kind: "status", status: 422 } });
      erp.exec("UPDATE stock SET quantity = quantity + 1");
      await run("stocks");
      sandbox.faults.clear();
    }
    for (let passed = 0; passed < 96; passed++) {
      test.clock.advance(15 * MINUTE_MS);
      await run("stocks");
    }
    expect(holds()).toEqual([]);
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([
      expect.objectContaining({ reference: "S-7" }),
    ]);
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-7" }]);
    const source = rows<{ sku: string; quantity: number }>("SELECT sku, quantity FROM stock WHERE sku <> 'S-7'");
    const shown = site() as Record<string, { quantity: number }>;
    expect(source.filter(({ sku, quantity }) => shown[sku]?.quantity !== quantity)).toEqual([]);
  });
});

describe("a feed whose schedule comes once a year", () => {
  const RARE = { settings: { imports: { stocks: { schedule: "0 3 1 1 *" } } } };

  it.each<[string, (test: PushedFeeds) => void, number]>([
    [
      "a row was deleted, and goes off sale after `delete_after`",
      ({ erp }) => erp.exec("DELETE FROM stock WHERE sku = 'S-3'"),
      0,
    ],
    [
      "an answer was lost",
      (test) => {
        test.sandbox.faults.add({ match: { path: "import" }, do: { kind: "reset" } });
        test.erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-3'");
      },
      0,
    ],
    [
      "a record was refused",
      (test) => {
        test.sandbox.faults.add({ match: { path: "import" }, times: 2, do: { kind: "status", status: 422 } });
        test.erp.exec("UPDATE stock SET quantity = 77 WHERE sku = 'S-3'");
      },
      77,
    ],
  ])("sends what waits for a time at that time: %s", async (_, change, expected) => {
    const test = await startFeeds(RARE);
    fillStock(test.erp, 30);
    await test.run("stocks");
    test.bridge.start();
    change(test);
    await test.run("stocks");
    expect(test.level("S-3")).not.toBe(expected);
    await expect
      .poll(
        () => {
          test.clock.advance(MINUTE_MS);
          return test.level("S-3");
        },
        { interval: 1_100, timeout: 40_000 },
      )
      .toBe(expected);
  });
});
