import { describe, expect, it } from "vitest";
import type { JobName } from "../../src/pass/job-names.ts";
import { ALL_FEEDS, fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const WINDOW = 6;
/** With the minutes until the probe. */
const STATUSES = [
  ["403", 5],
  ["401", 5],
  ["402", 30],
] as const;
type How = (typeof STATUSES)[number][0] | "423" | "308" | "422";

const REFUSED_OTHERWISE = ["423", "308"] as const;

/** 60 articles are on the site; from now on every request with one of these is refused whole. */
async function startDenied(how: How, skus: string[], count = 60): Promise<PushedFeeds> {
  const feeds = await startFeeds({ settings: ALL_FEEDS, arm: ["stocks", "prices", "catalog"] });
  if (count > 0) fillStock(feeds.erp, count);
  await feeds.run("stocks");
  feeds.sandbox.service.setOptions({ reject: { skus, how } });
  feeds.requests();
  return feeds;
}

async function minutes(feeds: PushedFeeds, count: number, ...jobs: JobName[]): Promise<void> {
  for (let passed = 0; passed < count; passed++) await feeds.minute(...jobs);
}

const waiting = (feeds: PushedFeeds) =>
  feeds.rows<{ sku: string; refusal: string | null; denied: number }>(
    "SELECT k0 AS sku, refusal, denied FROM feed_outbox ORDER BY k0",
  );

const SOLD_OUT = `UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-50');
  INSERT INTO stock (sku, quantity) VALUES ('BAD', 3)`;

describe("an article that the service denies", () => {
  itSome(1)(STATUSES)("keeps no other off the site: %s", async (how, window) => {
    const feeds = await startDenied(how, ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await feeds.run("stocks");
    const reason = how === "402" ? "payment" : "credentials";
    expect([feeds.holds(), feeds.requests().length]).toEqual([[{ area: "imports", reason }], 1]);
    await minutes(feeds, window - 1);
    expect(feeds.requests()).toEqual([]);
    await minutes(feeds, 2);
    expect([feeds.level("S-1"), feeds.level("S-50"), feeds.holds(), feeds.quarantined()]).toEqual([0, 0, [], []]);
    expect(waiting(feeds)).toEqual([{ sku: "BAD", refusal: "passing", denied: 1 }]);
    expect(feeds.requests().length).toBeLessThanOrEqual(5);
    expect(feeds.rows("SELECT last_error FROM stock_sent WHERE sku = 'BAD'")).toEqual([
      { last_error: expect.stringContaining(how) },
    ]);
    expect(feeds.rows("SELECT refused FROM sync_status WHERE flow = 'stocks'")).toEqual([{ refused: 1 }]);
  });

  itWhole.each(STATUSES)("goes alone and after others from then on, and sets no hold: %s", async (how, window) => {
    const feeds = await startDenied(how, ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await minutes(feeds, window + 2);
    feeds.requests();
    for (let minute = 0; minute < 180; minute++) {
      feeds.erp.exec(`UPDATE stock SET quantity = ${minute + 20} WHERE sku IN ('S-2', 'S-3')`);
      if (minute % 30 === 0) feeds.erp.exec(`UPDATE stock SET quantity = ${minute + 20} WHERE sku = 'BAD'`);
      await feeds.minute();
      expect([minute, feeds.level("S-3"), feeds.holds()]).toEqual([minute, minute + 20, []]);
    }
    const denied = feeds.requests().filter(({ status }) => status !== 200);
    expect(denied.length).toBeGreaterThan(6);
    expect(denied.length).toBeLessThan(30);
    expect(denied.every(({ records }) => records.length === 1 && records[0]?.["sku"] === "BAD")).toBe(true);
  });

  it("arrives once the service takes it", async () => {
    const feeds = await startDenied("403", ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await minutes(feeds, WINDOW);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    await minutes(feeds, 12);
    expect([feeds.level("BAD"), waiting(feeds), feeds.holds()]).toEqual([3, [], []]);
  });

  itWhole("is found although it is one that the service had, and the first and the last that waits", async () => {
    for (const sku of ["S-1", "S-50"]) {
      const feeds = await startDenied("403", [sku]);
      feeds.erp.exec(
        "UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-50'); UPDATE stock SET quantity = 3 WHERE sku = 'S-7'",
      );
      await minutes(feeds, 2 * WINDOW);
      expect([feeds.level("S-7"), feeds.holds(), waiting(feeds).map((row) => row.sku)]).toEqual([3, [], [sku]]);
    }
  });

  itWhole(
    "is found although it changes more often than the service may be asked, and is the first that would be tried",
    async () => {
      const feeds = await startDenied("402", ["S-60"]);
      feeds.erp.exec(
        "UPDATE stock SET quantity = 0 WHERE sku = 'S-1'; UPDATE stock SET quantity = 3 WHERE sku = 'S-60'",
      );
      for (let minute = 0; minute < 95; minute++) {
        feeds.erp.exec(`UPDATE stock SET quantity = ${minute % 2 === 0 ? 0 : 50} WHERE sku = 'S-60'`);
        await feeds.minute();
      }
      expect([feeds.level("S-1"), feeds.holds()]).toEqual([0, []]);
      expect(waiting(feeds).map(({ sku }) => sku)).toEqual(["S-60"]);
    },
  );

  itWhole("is found where each pass is a process of its own", async () => {
    for (const sku of ["S-50", "BAD"]) {
      const feeds = await startDenied("403", [sku]);
      feeds.erp.exec(SOLD_OUT);
      for (let minute = 0; minute < 4 * WINDOW; minute++) {
        await feeds.restart();
        await feeds.minute();
      }
      expect([feeds.level("S-1"), feeds.holds(), waiting(feeds).map((row) => row.sku)]).toEqual([0, [], [sku]]);
    }
  });

  itWhole("is found among many new ones, where nothing was ever accepted", async () => {
    for (const sku of ["S-1", "S-40", "S-80"]) {
      const feeds = await startDenied("403", [sku], 0);
      fillStock(feeds.erp, 80);
      await minutes(feeds, 2 * WINDOW + 2);
      expect([Object.keys(feeds.site()).length, feeds.holds()]).toEqual([79, []]);
    }
  });

  itWhole("is found beside several others like it", async () => {
    const bad = ["S-3", "S-4", "S-5", "S-6", "S-7", "S-30", "S-60"];
    const feeds = await startDenied("403", bad);
    feeds.erp.exec("UPDATE stock SET quantity = 4");
    await minutes(feeds, 3 * WINDOW);
    expect([feeds.level("S-2"), feeds.level("S-59"), feeds.holds()]).toEqual([4, 4, []]);
    expect(
      waiting(feeds)
        .map(({ sku }) => sku)
        .sort(),
    ).toEqual(bad.toSorted());
    feeds.requests();
    await minutes(feeds, 120);
    expect(feeds.holds()).toEqual([]);
    // Alone in the file they are tried one after another: at most one in five minutes.
    expect(feeds.requests().length).toBeLessThanOrEqual(30);
    feeds.erp.exec("UPDATE stock SET quantity = 9 WHERE sku = 'S-2'");
    await feeds.minute();
    expect(feeds.level("S-2")).toBe(9);
  });

  itWhole("holds no other feed for longer than until its own probe", async () => {
    const feeds = await startDenied("403", ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await feeds.minute("stocks", "prices");
    feeds.erp.exec("INSERT INTO prices (sku, price) VALUES ('S-1', 10)");
    await minutes(feeds, 2 * WINDOW, "stocks", "prices");
    expect([Object.keys(feeds.site("prices")), feeds.level("S-1"), feeds.holds()]).toEqual([["S-1"], 0, []]);
  });

  itWhole.each(["prices", "catalog"] as const)("is found in another feed: %s", async (feed) => {
    const feeds = await startDenied("403", []);
    const insert = (sku: string) =>
      feed === "prices"
        ? `INSERT INTO prices (sku, price) VALUES ('${sku}', 1)`
        : `INSERT INTO products (sku, name) VALUES ('${sku}', 'Tea')`;
    feeds.erp.exec(insert("A"));
    await minutes(feeds, 1, feed);
    feeds.sandbox.service.setOptions({ reject: { skus: ["BAD"], how: "403" } });
    feeds.erp.exec(`${insert("BAD")}; ${insert("B")}; ${insert("C")}`);
    await minutes(feeds, 2 * WINDOW, feed);
    expect([Object.keys(feeds.site(feed)).sort(), feeds.holds()]).toEqual([["A", "B", "C"], []]);
  });

  itWhole("that is in quarantine, and is denied when it is tried again, holds nothing", async () => {
    const feeds = await startDenied("422", ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await feeds.minute();
    expect(feeds.quarantined().map(({ reference }) => reference)).toEqual(["BAD"]);
    feeds.sandbox.service.setOptions({ reject: { skus: ["BAD"], how: "403" } });
    for (let minute = 0; minute < 150; minute++) {
      await feeds.minute();
      expect([minute, feeds.holds()]).toEqual([minute, []]);
    }
    expect(feeds.requests().filter(({ status }) => status === 403).length).toBeGreaterThan(0);
  });

  itSome(1)(REFUSED_OTHERWISE)("or refuses with %s waits by itself at once", async (how) => {
    const feeds = await startDenied(how, ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await minutes(feeds, 2);
    expect([feeds.level("S-1"), feeds.level("S-50"), feeds.holds(), feeds.quarantined()]).toEqual([0, 0, [], []]);
    expect(waiting(feeds)).toEqual([{ sku: "BAD", refusal: "passing", denied: 0 }]);
  });
});

describe("wrong credentials", () => {
  const REFUSING = { skus: "all", how: "401" } as const;

  itSome(1)([
    ["401", 5],
    ["402", 30],
  ] as const)("hold all at once and are probed once in a window, with one row: %s", async (how, window) => {
    const feeds = await startDenied(how, []);
    feeds.erp.exec(SOLD_OUT);
    feeds.sandbox.service.setOptions({ reject: { ...REFUSING, how } });
    for (let minute = 0; minute < 150; minute++) {
      if (minute % 7 === 0) feeds.erp.exec(`UPDATE stock SET quantity = ${minute + 20} WHERE sku IN ('S-2', 'S-3')`);
      await feeds.minute();
    }
    const sent = feeds.requests();
    const gaps = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(window * 60_000);
    expect(sent.length).toBeGreaterThanOrEqual(150 / (window + 1));
    expect(sent.slice(1).every(({ records }) => records.length === 1)).toBe(true);
    expect(feeds.quarantined()).toEqual([]);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    await minutes(feeds, window + 1);
    expect([waiting(feeds), feeds.holds(), feeds.level("S-1"), feeds.level("BAD")]).toEqual([[], [], 0, 3]);
  });

  itWhole("hold beside a denied article, whose own tries set no hold", async () => {
    const feeds = await startDenied("403", ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await minutes(feeds, WINDOW + 1);
    feeds.sandbox.service.setOptions({ reject: REFUSING });
    feeds.requests();
    await minutes(feeds, 60);
    expect(feeds.requests().length).toBeLessThan(8);
    feeds.erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-9'");
    await feeds.minute();
    expect(feeds.holds()).toEqual([{ area: "imports", reason: "credentials" }]);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    await minutes(feeds, 70);
    expect([waiting(feeds), feeds.holds(), feeds.level("S-9"), feeds.level("BAD")]).toEqual([[], [], 0, 3]);
  });

  itWhole("that are right again are shown by a denied article, sent once, where nothing else waits", async () => {
    const feeds = await startDenied("403", ["BAD"]);
    feeds.erp.exec(SOLD_OUT);
    await minutes(feeds, WINDOW + 1);
    feeds.sandbox.service.setOptions({ reject: REFUSING });
    feeds.erp.exec("UPDATE stock SET quantity = 9 WHERE sku = 'S-9'");
    await feeds.minute();
    expect(feeds.holds()).toEqual([{ area: "imports", reason: "credentials" }]);
    feeds.erp.exec("UPDATE stock SET quantity = 10 WHERE sku = 'S-9'; UPDATE stock SET quantity = 4 WHERE sku = 'BAD'");
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    feeds.requests();
    await minutes(feeds, WINDOW);
    expect(feeds.requests().filter(({ records }) => records.some(({ sku }) => sku === "BAD"))).toHaveLength(1);
    expect([waiting(feeds), feeds.holds(), feeds.level("BAD")]).toEqual([[], [], 4]);
  });

  itWhole("of one feed alone hold that feed, with one row in each probe", async () => {
    const feeds = await startDenied("403", []);
    feeds.sandbox.service.setOptions({ reject: { ...REFUSING, how: "403", feed: "stocks" } });
    feeds.erp.exec("UPDATE stock SET quantity = 4; INSERT INTO prices (sku, price) VALUES ('S-1', 10)");
    await minutes(feeds, 60, "stocks", "prices");
    expect([Object.keys(feeds.site("prices")), feeds.holds()]).toEqual([
      ["S-1"],
      [{ area: "stocks", reason: "credentials" }],
    ]);
    expect(feeds.requests().filter(({ feed }) => feed === "stocks").length).toBeLessThanOrEqual(12);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422", feed: null } });
    await minutes(feeds, WINDOW, "stocks");
    expect([waiting(feeds), feeds.holds(), feeds.level("S-60")]).toEqual([[], [], 4]);
  });

  itWhole("of a service that takes its table whole hold it, and every probe is the table", async () => {
    const feeds = await startFeeds({ settings: { imports: { stocks: { scope: "whole", on_delete: "ignore" } } } });
    fillStock(feeds.erp, 5);
    await feeds.run("stocks");
    feeds.sandbox.service.setOptions({ reject: { ...REFUSING, how: "403" } });
    feeds.erp.exec("UPDATE stock SET quantity = 4");
    feeds.requests();
    await minutes(feeds, 31);
    expect(feeds.requests().map(({ records }) => records.length)).toEqual([5, 5, 5, 5, 5, 5, 5]);
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    await minutes(feeds, WINDOW);
    expect([waiting(feeds), feeds.holds(), feeds.level("S-5")]).toEqual([[], [], 4]);
  });

  itWhole("at one of two nodes keep no row off the site", async () => {
    const feeds = await startDenied("401", []);
    feeds.erp.exec("UPDATE stock SET quantity = 4");
    for (let minute = 0; minute < 60; minute++) {
      feeds.sandbox.faults.clear();
      for (const skip of [0, 1, 2, 3, 4, 5, 6, 7])
        feeds.sandbox.faults.add({ match: { path: "import" }, skip, do: { kind: "status", status: 401 } });
      if (minute % 2 === 1) feeds.sandbox.faults.clear();
      await feeds.minute();
    }
    expect([waiting(feeds), feeds.holds(), feeds.quarantined(), feeds.level("S-60")]).toEqual([[], [], [], 4]);
  });

  itWhole("that fail between two requests of a probe are not tried often", async () => {
    const feeds = await startDenied("401", []);
    feeds.sandbox.service.setOptions({ reject: REFUSING });
    feeds.erp.exec("UPDATE stock SET quantity = 4");
    await feeds.minute();
    feeds.requests();
    feeds.sandbox.service.setOptions({ reject: { skus: [], how: "422" } });
    feeds.sandbox.faults.add({
      match: { path: "import" },
      skip: 1,
      times: "forever",
      do: { kind: "status", status: 401 },
    });
    await minutes(feeds, WINDOW - 1);
    expect(feeds.requests().length).toBeLessThanOrEqual(16);
    expect([feeds.holds(), feeds.quarantined()]).toEqual([[{ area: "imports", reason: "credentials" }], []]);
    feeds.sandbox.faults.clear();
    await minutes(feeds, WINDOW);
    expect([waiting(feeds), feeds.holds()]).toEqual([[], []]);
  });
});

describe("a hold of all imports in a new shop, whose service refuses stock and prices of articles that it does not have", () => {
  it.each([
    ["402", "errors"],
    ["401", "errors"],
    ["402", "said"],
    ["402", "422"],
  ] as const)("ends once the service is well, and the catalog goes: %s, then %s", async (status, how) => {
    const feeds = await startFeeds({ settings: ALL_FEEDS, arm: ["stocks", "prices", "catalog"] });
    const { sandbox, erp } = feeds;
    if (how === "errors") sandbox.service.setOptions({ unknownArticles: "errors" });
    else if (how === "said") sandbox.service.setOptions({ unknownArticles: "said", importAnswer: "unknown" });
    else sandbox.service.setOptions({ reject: { skus: "all", how, feed: "stocks" } });
    sandbox.faults.add({ match: { path: "import" }, times: "forever", do: { kind: "status", status: Number(status) } });
    fillStock(erp, 4);
    erp.exec(`INSERT INTO products (sku, name) SELECT sku, 'p' FROM stock;
      INSERT INTO prices (sku, price) SELECT sku, '9.5' FROM stock`);
    await minutes(feeds, 3, "stocks", "prices", "catalog");
    expect(feeds.holds().map(({ area }) => area)).toEqual(["imports"]);
    sandbox.faults.clear();
    await minutes(feeds, 75, "stocks", "prices", "catalog");
    expect(Object.keys(feeds.site("catalog"))).toHaveLength(4);
    expect(feeds.holds().filter(({ area }) => area === "imports")).toEqual([]);
    if (how !== "422") expect([feeds.level("S-1"), feeds.holds()]).toEqual([10, []]);
  });
});
