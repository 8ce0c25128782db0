import { describe, expect } from "vitest";
import { importKey } from "../../src/sandbox/imports.ts";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

type Say = (count: number, all: number) => object | string;

interface Site {
  /** Articles that it leaves as they are. */
  locked: Set<string>;
  isReadOnly: boolean;
  /** The most records that it takes of a request. */
  most: number;
  counts: "changes" | "taken" | "articles";
}

/** A service that answers with the number of the records that it has changed, or taken. */
async function startCounting(say: Say, given: Partial<Site> = {}) {
  const feeds = await startFeeds();
  const { service } = feeds.sandbox;
  const handle = service.handle.bind(service);
  const site: Site = { locked: new Set(), isReadOnly: false, most: 1_000, counts: "changes", ...given };
  service.handle = (request) => {
    if (!request.path.includes("/import/")) return handle(request);
    const { stocks } = JSON.parse(request.body.toString()) as { stocks: { sku: string; quantity: number }[] };
    const taken = stocks.slice(0, site.most).filter(({ sku }) => !site.isReadOnly && !site.locked.has(sku));
    const changed = taken.filter(({ sku, quantity }) => feeds.level(sku) !== quantity);
    const response = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks: taken })) });
    if (response.status !== 200) return response;
    const counted = {
      changes: changed.length,
      taken: taken.length,
      articles: new Set(taken.map(({ sku }) => sku)).size,
    };
    const said = say(counted[site.counts], stocks.length);
    return { ...response, body: Buffer.from(typeof said === "string" ? said : JSON.stringify(said)) };
  };
  const set = (quantity: number, ...skus: number[]) =>
    feeds.erp.exec(
      `UPDATE stock SET quantity = ${quantity} WHERE sku IN (${skus.map((sku) => `'S-${sku}'`).join(",")})`,
    );
  /** The site has this by itself. */
  const place = (sku: string, quantity: number) =>
    (service.imported("stocks") as Map<string, string>).set(
      importKey(sku, ""),
      JSON.stringify({ sku, warehouse: "", quantity }),
    );
  const differing = () =>
    (feeds.erp.prepare("SELECT sku, quantity FROM stock").all() as { sku: string; quantity: number }[]).filter(
      ({ sku, quantity }) => feeds.level(sku) !== quantity,
    ).length;
  const waiting = () => feeds.rows<{ k0: string }>("SELECT k0 FROM feed_outbox ORDER BY k0").map(({ k0 }) => k0);
  /** Whether a person is told: by a hold, or by a row that is set aside. */
  const isTold = () =>
    feeds.holds().length > 0 || feeds.rows("SELECT 1 FROM feed_outbox WHERE last_error IS NOT NULL").length > 0;
  /** Answers that count each record. */
  const learn = async (rounds = 6) => {
    fillStock(feeds.erp, 12, 7);
    await feeds.run("stocks");
    await learnMore(rounds);
  };
  const learnMore = async (rounds = 6) => {
    for (let round = 1; round <= rounds; round++) {
      set(20 + round, 10, 11, ...(round % 2 ? [12] : []));
      await feeds.minute();
    }
    expect([differing(), waiting(), feeds.holds()]).toEqual([0, [], []]);
    feeds.requests();
  };
  return { ...feeds, change: site, set, differing, waiting, isTold, learn, learnMore, place };
}

const COUNTED: [[string, Say], ...[string, Say][]] = [
  ["updated", (updated) => ({ updated })],
  ["updated, beside what came", (updated, received) => ({ success: true, received, updated })],
  ["affected", (affected) => ({ ok: true, affected })],
  ["changed, beside what was found", (changed, matched) => ({ status: "ok", matched, changed })],
  ["a count of any name", (count) => ({ ok: true, count })],
  ["imported", (imported) => ({ status: "ok", imported })],
  ["a text", (count) => `Updated ${count} rows`],
  ["a text of any words", (count) => `OK ${count}`],
];

describe("a count of changes that was the number of records, and is smaller than that of values which the site has not", () => {
  itSome(2)(COUNTED)("is no acceptance of one article: %s", async (_name, say) => {
    const { change, set, level, holds, waiting, isTold, learn, minutes, differing } = await startCounting(say);
    await learn();
    change.locked.add("S-3");
    set(0, 3);
    await minutes(20);
    expect([level("S-3"), waiting()]).toEqual([7, ["S-3"]]);
    expect(isTold()).toBe(true);
    // Others are sent meanwhile, and show nothing of this one.
    set(40, 4, 5);
    await minutes(20);
    expect([level("S-4"), waiting()]).toEqual([40, ["S-3"]]);
    expect(isTold()).toBe(true);
    change.locked.clear();
    await minutes(70);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
  });

  itSome(2)(COUNTED)(
    "is no acceptance of an article whose former value was in a request without an answer: %s",
    async (_name, say) => {
      const feeds = await startCounting(say);
      const { change, sandbox, clock, set, level, waiting, isTold, learn, minute, minutes, differing, holds } = feeds;
      await learn();
      sandbox.faults.add({ match: { path: "import" }, when: "before", times: 1, do: { kind: "reset" } });
      set(5, 3);
      await minute();
      change.locked.add("S-3");
      set(0, 3);
      clock.advance(IMPORT_TIMEOUT_MS);
      await minutes(20);
      expect([level("S-3"), waiting(), isTold()]).toEqual([7, ["S-3"], true]);
      change.locked.clear();
      await minutes(70);
      expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
    },
  );

  itSome(2)(COUNTED)("is no acceptance of an article among others: %s", async (_name, say) => {
    const feeds = await startCounting(say);
    const { change, set, level, holds, waiting, isTold, learn, minutes, differing } = feeds;
    await learn();
    change.locked.add("S-3");
    set(0, 3, 4, 5);
    await minutes(30);
    expect([level("S-3"), level("S-4"), level("S-5")]).toEqual([7, 0, 0]);
    expect(waiting()).toContain("S-3");
    expect(isTold()).toBe(true);
    // A newer value of one of them is taken, and says nothing of the others.
    set(9, 4);
    await minutes(20);
    expect([level("S-4"), waiting().includes("S-3"), waiting().includes("S-4")]).toEqual([9, true, false]);
    change.locked.clear();
    await minutes(70);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
  });

  itSome(2)(COUNTED)("is no acceptance by an account that only reads: %s", async (_name, say) => {
    const { change, set, holds, waiting, isTold, learn, minutes, differing } = await startCounting(say);
    await learn();
    change.isReadOnly = true;
    set(0, 3, 4, 5);
    await minutes(60);
    expect([differing(), waiting()]).toEqual([3, ["S-3", "S-4", "S-5"]]);
    expect(isTold()).toBe(true);
    change.isReadOnly = false;
    await minutes(70);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
  });

  itSome(1)(COUNTED.slice(0, 3))("is not forgotten by the next process: %s", async (_name, say) => {
    const feeds = await startCounting(say);
    const { change, set, restart, holds, waiting, isTold, learn, minutes, differing } = feeds;
    await learn();
    change.locked.add("S-3");
    set(0, 3, 4, 5);
    await minutes(3);
    await restart();
    await minutes(30);
    expect(waiting()).toContain("S-3");
    expect(isTold()).toBe(true);
    change.locked.clear();
    await minutes(70);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
  });
});

describe("a count of changes of a site that may have the values already", () => {
  itSome(2)(COUNTED.filter(([name]) => name !== "imported"))(
    "shows nothing of the count where none was acknowledged, as on the first day at a shop with articles: %s",
    async (_name, say) => {
      const feeds = await startCounting(say);
      const { change, set, place, waiting, isTold, learn, minutes, differing, holds } = feeds;
      for (let sku = 1; sku <= 12; sku++) place(`S-${sku}`, 7);
      await learn();
      change.locked.add("S-3");
      set(0, 3);
      await minutes(20);
      expect([differing(), waiting(), isTold()]).toEqual([1, ["S-3"], true]);
      change.locked.clear();
      await minutes(70);
      expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
    },
  );

  itSome(2)(COUNTED.filter(([name]) => name !== "imported"))(
    "shows nothing of the count where an answer was lost, also among the first of all: %s",
    async (_name, say) => {
      const feeds = await startCounting(say);
      const { change, sandbox, clock, set, waiting, isTold, learn, learnMore, minute, minutes, differing, holds } =
        feeds;
      await learn(0);
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
      set(30, 5);
      await minute();
      clock.advance(IMPORT_TIMEOUT_MS);
      await minutes(3);
      expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
      await learnMore();
      change.locked.add("S-3");
      set(0, 3);
      await minutes(20);
      expect([differing(), waiting(), isTold()]).toEqual([1, ["S-3"], true]);
      change.locked.clear();
      await minutes(70);
      expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
    },
  );
});

describe("a count of changes that is smaller than the number of records", () => {
  const isWell = ({ differing, waiting, holds }: Awaited<ReturnType<typeof startCounting>>) =>
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);

  // What imported: 0 means after a lost answer is known once another record was accepted.
  itSome(1)(COUNTED.filter(([name]) => name !== "imported"))(
    "is right where an answer was lost, and where the same is sent again: %s",
    async (_name, say) => {
      const feeds = await startCounting(say);
      const { set, place, sandbox, clock, erp, learn, minute, minutes, quarantined } = feeds;
      await learn();
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
      set(0, 3, 4, 5);
      await minute();
      clock.advance(IMPORT_TIMEOUT_MS);
      await minutes(10);
      isWell(feeds);
      // To and fro before the pass.
      set(3, 6);
      set(7, 6);
      await minutes(2);
      // A new article is new on the site as well, or is there already.
      place("S-50", 5);
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-50', 5), ('S-51', 5)");
      await minutes(10);
      isWell(feeds);
      expect(quarantined()).toEqual([]);
    },
  );

  itWhole("is right where it counts an article once, in however many warehouses it has changed", async () => {
    const feeds = await startCounting((updated) => ({ updated }), { counts: "articles" });
    const { erp, learn, minutes, requests } = feeds;
    await learn();
    erp.exec("INSERT INTO stock (sku, warehouse, quantity) VALUES ('S-3', 'west', 5), ('S-3', 'east', 5)");
    await minutes(2);
    requests();
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-3' AND warehouse <> ''");
    await minutes(3);
    expect([feeds.waiting(), feeds.holds(), requests().length]).toEqual([[], [], 1]);
  });

  itSome(1)(COUNTED.slice(0, 4))(
    "is right from the first on where the site sells by itself: %s",
    async (_name, say) => {
      const feeds = await startCounting(say);
      const { erp, set, learn, minute, minutes, place } = feeds;
      await learn(2);
      const sell = (sku: string, quantity: number) => {
        place(sku, quantity);
        erp.exec(`UPDATE stock SET quantity = ${quantity} WHERE sku = '${sku}'`);
      };
      for (let round = 6; round > 0; round--) {
        sell("S-3", round);
        if (round % 2) set(20 + round, 4);
        await minute();
      }
      await minutes(2);
      isWell(feeds);
    },
  );

  itWhole("is right after a day in which others were counted, and from then on", async () => {
    const feeds = await startCounting((updated) => ({ updated }));
    const { erp, set, learn, minutes, clock, place, waiting, isTold } = feeds;
    await learn();
    place("S-3", 6);
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'S-3'");
    await minutes(2);
    expect([waiting(), isTold()]).toEqual([["S-3"], true]);
    for (let hours = 0; hours < 40; hours++) {
      set(50 + hours, 5);
      clock.advance(3_480_000);
      await minutes(2);
    }
    isWell(feeds);
    // From then on it is known that the site changes by itself.
    place("S-4", 6);
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'S-4'");
    await minutes(3);
    isWell(feeds);
  });

  itSome(1)(COUNTED)("is that of a request larger than the service takes: %s", async (_name, say) => {
    const feeds = await startCounting(say, { most: 100 });
    const { erp, learn, minutes, run, requests } = feeds;
    await learn();
    for (let from = 100; from < 500; from += 50) {
      const insert = erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 5)");
      for (let sku = from; sku < from + 50; sku++) insert.run(`S-${sku}`);
      await run("stocks");
    }
    isWell(feeds);
    requests();
    erp.exec("UPDATE stock SET quantity = 4");
    await minutes(30);
    isWell(feeds);
    expect(requests().length).toBeLessThan(40);
  });
});

describe("a count of unknown meaning that is smaller than the first requests", () => {
  itSome(2)([
    ...COUNTED.filter(([name]) => name !== "changed, beside what was found"),
    ["written", (written: number) => ({ status: "success", written })],
  ] as [string, Say][])("is that of a service which takes no more of a request: %s", async (_name, say) => {
    const feeds = await startCounting(say, { most: 100, counts: "taken" });
    const { erp, run, set, minute, minutes, differing, waiting, holds } = feeds;
    fillStock(erp, 1_020, 5);
    await run("stocks");
    for (let round = 1; round <= 6; round++) {
      set(5 + round, round);
      await minute();
    }
    await minutes(5);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
  });

  itSome(2)<[string, (all: number, round: number) => object]>([
    ["a version", () => ({ ok: true, version: 2 })],
    ["a duration", (all) => ({ ok: true, took: Math.ceil(all / 20) })],
    ["a flag", () => ({ updated: 1 })],
    ["the number of a batch", (_, round) => ({ ok: true, batch: 2 + round })],
    ["a remaining quota", (_, round) => ({ ok: true, remaining: 300 - round })],
    ["a page size", () => ({ ok: true, limit: 100 })],
  ])("is %s, and nothing is sent again", async (_name, say) => {
    let round = 0;
    const feeds = await startCounting((_, all) => say(all, ++round), { counts: "taken" });
    const { erp, run, set, minute, minutes, differing, waiting, holds, requests } = feeds;
    fillStock(erp, 1_020, 5);
    await run("stocks");
    for (let each = 1; each <= 8; each++) {
      set(5 + each, ...Array.from({ length: (each % 3) + 1 }, (_, at) => at + each));
      await minute();
    }
    await minutes(3);
    expect([differing(), waiting(), holds()]).toEqual([0, [], []]);
    expect(requests()).toHaveLength(11);
  });
});
