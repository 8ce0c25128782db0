import { describe, expect, it } from "vitest";
import { fillStock, IMPORT_TIMEOUT_MS, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** How many articles the site shows with another number than the table has. */
const differing = ({ erp, level }: Awaited<ReturnType<typeof startFeeds>>) =>
  (erp.prepare("SELECT sku, quantity FROM stock").all() as { sku: string; quantity: number }[]).filter(
    ({ sku, quantity }) => level(sku) !== quantity,
  ).length;

describe("a service that takes only the first records of a request and counts them", () => {
  it("has all of them in the end", async () => {
    const feeds = await startFeeds();
    const { erp, sandbox, run, logs, holds, quarantined } = feeds;
    fillStock(erp, 6);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 11 WHERE sku < 'S-5'");
    await run("stocks");
    sandbox.service.setOptions({ limits: { takenRecords: 100 } });
    erp.exec("DELETE FROM stock");
    fillStock(erp, 250, 7);
    await feeds.minutes(5);
    expect(differing(feeds)).toBe(0);
    expect(logs.filter(({ message }) => message.includes("has counted fewer"))).not.toEqual([]);
    expect([holds(), quarantined()]).toEqual([[], []]);
    // The limit is known from then on.
    feeds.requests();
    erp.exec("UPDATE stock SET quantity = 8");
    await feeds.minutes(3);
    expect(differing(feeds)).toBe(0);
    expect(Math.max(...feeds.requests().map(({ records }) => records.length))).toBeLessThanOrEqual(100);
  });

  itWhole("shows the one record that it leaves out", async () => {
    const feeds = await startFeeds();
    const { erp, sandbox, run, quarantined } = feeds;
    fillStock(erp, 6);
    await run("stocks");
    const { service } = sandbox;
    const answer = (accepted: number) => ({
      kind: "raw" as const,
      contentType: "application/json",
      body: JSON.stringify({ accepted, errors: [] }),
    });
    erp.exec("UPDATE stock SET quantity = 3");
    // It takes five of six, and none where the sixth is alone.
    for (const accepted of [5, 3, 2, 2, 0, 1])
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: answer(accepted) });
    await run("stocks");
    await feeds.minutes(2);
    expect(quarantined()).toMatchObject([{ state: "held", reason: expect.stringContaining("0 of 1") }]);
    // The way back of any refused record.
    await feeds.minutes(90);
    expect(quarantined()).toMatchObject([{ state: "released" }]);
    expect([...service.imported("stocks").values()]).toHaveLength(6);
    expect(differing(feeds)).toBe(0);
  });
});

describe("a service that counts what it took in words", () => {
  it.each([
    ["no record with another value than that of a lost request counts as unchanged", 15, 11],
    ["a record counts as unchanged that is sent as in a lost request", 11, 11],
  ])("%s", async (_, quantity, onSite) => {
    const feeds = await startFeeds({ sandbox: { options: { importAnswer: "words" } } });
    const { erp, sandbox, run, rows, level } = feeds;
    fillStock(erp, 2);
    await run("stocks");
    for (const each of [3, 4, 5]) {
      erp.prepare("UPDATE stock SET quantity = ? WHERE sku = 'S-2'").run(each);
      await run("stocks");
    }
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    erp.exec("UPDATE stock SET quantity = 11 WHERE sku = 'S-1'");
    await run("stocks");
    erp.prepare("UPDATE stock SET quantity = ? WHERE sku = 'S-1'").run(quantity);
    const none = { kind: "raw", contentType: "text/plain", body: "Загружено строк: 0" } as const;
    sandbox.faults.add({ match: { path: "import" }, times: 1, do: none });
    await feeds.minutes(2);
    expect(level("S-1")).toBe(onSite);
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: quantity === onSite ? 0 : 1 }]);
    await feeds.minutes(90);
    expect(differing(feeds)).toBe(0);
  });
});

describe("a service that counts a record as rejected beside the others", () => {
  itSome(1)([
    ["always", [], [{ reference: "S-2", state: "held" }]],
    ["then alone", [{ area: "stocks", reason: "answer" }], []],
  ])("has not taken it, however long it says so: counting %s", async (counting, held, told) => {
    const feeds = await startFeeds({
      settings: { imports: { stocks: { chunk: 1 } } },
      sandbox: { options: { importAnswer: "import" } },
    });
    const { erp, sandbox, run, clock, rows, holds, quarantined } = feeds;
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (request) => {
      const response = handle(request);
      const isShort = counting !== "always" && response.body.includes('"rejectedCount":0');
      return isShort ? { ...response, body: Buffer.from('{"ok":true}') } : response;
    };
    fillStock(erp, 4);
    await run("stocks");
    sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "said" } });
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku IN ('S-2', 'S-3')");
    for (let hours = 0; hours < 60; hours++) {
      clock.advance(3_480_000);
      await feeds.minutes(2);
      // Others are taken in between.
      if (hours === 1) erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'S-3'");
    }
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-2" }]);
    expect(holds()).toEqual(held);
    expect(quarantined()).toMatchObject(told);
    sandbox.service.setOptions({ reject: { skus: [] } });
    clock.advance(12 * 3_600_000);
    await feeds.minutes(20);
    expect([differing(feeds), holds()]).toEqual([0, []]);
  });
});

describe("a service that answers as usual, and counts", () => {
  /** Three answers have shown how many records it usually counts. */
  async function startCounted(importAnswer: "taken" | "ignored" | "all or none", records: number) {
    const feeds = await startFeeds({ sandbox: { options: { importAnswer } } });
    for (let round = 1; round <= 3; round++) {
      feeds.erp.exec("DELETE FROM stock");
      fillStock(feeds.erp, records, round);
      await feeds.run("stocks");
    }
    expect(differing(feeds)).toBe(0);
    return feeds;
  }

  itSome(1)([
    ["taken", 1],
    ["taken", 3],
    ["ignored", 1],
    ["ignored", 3],
    ["all or none", 3],
  ] as const)("none of all as taken, has none of them (%s, of %i)", async (importAnswer, records) => {
    const feeds = await startCounted(importAnswer, records);
    const { erp, sandbox, run, clock } = feeds;
    sandbox.service.setOptions({ reject: { skus: "all", how: "said" } });
    erp.exec("UPDATE stock SET quantity = 0");
    await run("stocks");
    await feeds.minutes(20);
    expect(feeds.rows("SELECT 1 FROM feed_outbox")).toHaveLength(records);
    const told = feeds.rows("SELECT 1 FROM feed_outbox WHERE last_error IS NOT NULL").length + feeds.holds().length;
    expect(told).toBeGreaterThan(0);
    sandbox.service.setOptions({ reject: { skus: [] } });
    clock.advance(2 * 3_600_000);
    await feeds.minutes(15);
    expect(differing(feeds)).toBe(0);
    expect([feeds.rows("SELECT 1 FROM feed_outbox"), feeds.holds()]).toEqual([[], []]);
  });

  itWhole.each(["taken", "ignored", "all or none"] as const)(
    "all but one as taken, shows that one (%s)",
    async (importAnswer) => {
      const feeds = await startCounted(importAnswer, 5);
      const { erp, sandbox, run, level, quarantined } = feeds;
      sandbox.service.setOptions({ reject: { skus: ["S-2"], how: "said" } });
      erp.exec("UPDATE stock SET quantity = 9");
      await run("stocks");
      await feeds.minutes(2);
      expect(differing(feeds)).toBe(1);
      expect(level("S-2")).toBe(3);
      expect(quarantined()).toMatchObject([
        { reference: "S-2", state: "held", reason: expect.stringContaining("of 1") },
      ]);
      sandbox.service.setOptions({ reject: { skus: [] } });
      await feeds.minutes(90);
      expect([differing(feeds), quarantined().filter(({ state }) => state === "held")]).toEqual([0, []]);
    },
  );
});

describe("a count of none for the one record of a request whose first answer was lost", () => {
  itSome(1)(["changes", "taken"] as const)(
    "is settled once a later pass has another record accepted: %s",
    async (counting) => {
      const settings = { imports: { stocks: { chunk: 1 } } };
      const feeds = await startFeeds({ settings, sandbox: { options: { importAnswer: "changes" } } });
      const { erp, sandbox, run, clock, holds, quarantined } = feeds;
      const handle = sandbox.service.handle.bind(sandbox.service);
      let leavesOut = false;
      sandbox.service.handle = (request) => {
        const isTaken = !leavesOut || !request.body.includes('"S-3"');
        const response = handle(isTaken ? request : { ...request, body: Buffer.from('{"stocks":[]}') });
        const { updated } = JSON.parse(response.body.toString()) as { updated: number };
        const imported = counting === "changes" ? updated : Number(isTaken);
        return { ...response, body: Buffer.from(JSON.stringify({ status: "ok", imported })) };
      };
      fillStock(erp, 6);
      await run("stocks");
      leavesOut = counting === "taken";
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
      erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'S-3'");
      await run("stocks");
      clock.advance(IMPORT_TIMEOUT_MS);
      await feeds.minutes(10);
      expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
      const isLeft = counting === "taken";
      // That the record is at fault is proven where others are accepted in the pass that has it refused.
      for (const quantity of isLeft ? [7, 8, 9, 10] : [7]) {
        erp.exec(`UPDATE stock SET quantity = ${quantity} WHERE sku = 'S-4'`);
        await feeds.minutes(10);
      }
      expect(holds()).toEqual([]);
      expect(quarantined().map(({ reference }) => reference)).toEqual(isLeft ? ["S-3"] : []);
      expect(differing(feeds)).toBe(Number(isLeft));
      leavesOut = false;
      await feeds.minutes(90);
      expect([differing(feeds), feeds.rows("SELECT 1 FROM feed_outbox"), holds()]).toEqual([0, [], []]);
    },
  );
});

describe("a count of none, where the service asks for a wait when a record goes that shows what is counted", () => {
  it("is waited for, and nothing is asked before", async () => {
    const settings = { imports: { stocks: { chunk: 1 } } };
    const feeds = await startFeeds({ settings, sandbox: { options: { importAnswer: "changes" } } });
    const { erp, sandbox, run, clock } = feeds;
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (request) => {
      const response = handle(request);
      return { ...response, body: Buffer.from(response.body.toString().replace('"updated"', '"imported"')) };
    };
    fillStock(erp, 6);
    await run("stocks");
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku = 'S-3'");
    await run("stocks");
    // What is no longer there goes first.
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-1'");
    erp.exec("UPDATE stock SET quantity = 7 WHERE sku IN ('S-4', 'S-5')");
    feeds.requests();
    clock.advance(IMPORT_TIMEOUT_MS);
    const busy = { kind: "status", status: 429, headers: { "retry-after": "240" } } as const;
    sandbox.faults.add({ match: { path: "import" }, when: "before", skip: 2, times: 1, do: busy });
    const asked = () => feeds.requests().map(({ records }) => records.map(({ sku }) => sku));
    await feeds.minutes(3);
    expect(asked()).toEqual([["S-1"], ["S-3"], ["S-1"]]);
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-2'");
    await feeds.minutes(10);
    expect([differing(feeds), feeds.holds(), feeds.rows("SELECT 1 FROM feed_outbox")]).toEqual([0, [], []]);
  });

  it("is no lost answer, after which the record could be there", async () => {
    const feeds = await startFeeds();
    const { erp, sandbox, run } = feeds;
    const handle = sandbox.service.handle.bind(sandbox.service);
    let leavesOut = false;
    sandbox.service.handle = (request) => {
      const { stocks } = JSON.parse(request.body.toString()) as { stocks: { sku: string }[] };
      const taken = stocks.filter(({ sku }) => !leavesOut || sku !== "S-3");
      const response = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks: taken })) });
      return {
        ...response,
        headers: { "content-type": "text/plain" },
        body: Buffer.from(`Imported rows: ${taken.length}`),
      };
    };
    fillStock(erp, 4);
    await run("stocks");
    for (const article of ["S-1", "S-2", "S-3"]) {
      erp.exec(`UPDATE stock SET quantity = 5 WHERE sku IN ('${article}', 'S-4')`);
      await feeds.minutes(1);
    }
    leavesOut = true;
    erp.exec("UPDATE stock SET quantity = 6 WHERE sku IN ('S-1', 'S-3')");
    const busy = { kind: "status", status: 429, headers: { "retry-after": "60" } } as const;
    sandbox.faults.add({ match: { path: "import" }, when: "before", skip: 3, times: 1, do: busy });
    await feeds.minutes(5);
    expect(differing(feeds)).toBe(1);
    expect(feeds.rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-3" }]);
    leavesOut = false;
    await feeds.minutes(90);
    expect([differing(feeds), feeds.rows("SELECT 1 FROM feed_outbox"), feeds.holds()]).toEqual([0, [], []]);
  });
});

describe("a service that counts only what was changed", () => {
  itSome(1)<[string, (all: number, changed: number) => object]>([
    ["alone", (_, updated) => ({ status: "ok", updated })],
    ["beside what came", (received, updated) => ({ received, updated })],
    ["beside what came, as what was imported", (received, imported) => ({ ok: true, stats: { received, imported } })],
    ["beside what was left out", (all, updated) => ({ ok: true, updated, skipped: all - updated })],
    ["by what was left out", (all, updated) => ({ ok: true, skipped: all - updated })],
  ])("is known by a record that it does not count twice, and blocks nothing: %s", async (_name, say) => {
    const feeds = await startFeeds({ sandbox: { options: { importAnswer: "changes" } } });
    const { erp, sandbox, run, clock, holds, quarantined } = feeds;
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const response = handle(request);
      if (!request.path.includes("/import/")) return response;
      const { stocks } = JSON.parse(request.body.toString()) as { stocks: unknown[] };
      const { updated } = JSON.parse(response.body.toString()) as { updated: number };
      return { ...response, body: Buffer.from(JSON.stringify(say(stocks.length, updated))) };
    };
    fillStock(erp, 50);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku IN ('S-1', 'S-2', 'S-3')");
    await run("stocks");
    // Accepted, and the answer is lost: the rows go again, and all but one change nothing.
    const losesAnswer = async (quantity: number) => {
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
      erp.exec(`UPDATE stock SET quantity = ${quantity}`);
      await run("stocks");
      feeds.requests();
      erp.exec(`UPDATE stock SET quantity = ${quantity + 1} WHERE sku = 'S-7'`);
      clock.advance(IMPORT_TIMEOUT_MS);
      await feeds.minutes(40);
      expect(differing(feeds)).toBe(0);
      expect(holds()).toEqual([]);
      expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
      expect(feeds.rows("SELECT 1 FROM feed_outbox")).toEqual([]);
      return feeds.requests().map(({ records }) => records.length);
    };
    // What was lost goes in parts of two.
    expect((await losesAnswer(6)).length).toBeGreaterThan(25);
    // From then on such a count divides nothing.
    expect(await losesAnswer(8)).toEqual(Array.from({ length: 25 }, () => 2));
  });
});

/** The service takes all records but one, and answers with the number of those that it has taken, or changed. */
async function startPlain(
  say: (count: number) => string,
  counting: "taken" | "changed",
  chunk: number,
  sizes: readonly [number, ...number[]] = [5, 4, 5, 4, 5, 4],
) {
  const feeds = await startFeeds({ settings: { imports: { stocks: { chunk } } } });
  const { service } = feeds.sandbox;
  const handle = service.handle.bind(service);
  const trouble = { leavesOut: undefined as string | undefined };
  service.handle = (request) => {
    if (!request.path.includes("/import/")) return handle(request);
    const { stocks } = JSON.parse(request.body.toString()) as { stocks: { sku: string; quantity: number }[] };
    const taken = stocks.filter(({ sku }) => sku !== trouble.leavesOut);
    const changed = taken.filter(({ sku, quantity }) => feeds.level(sku) !== quantity);
    const response = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks: taken })) });
    const headers = { "content-type": "text/plain; charset=utf-8" };
    return { ...response, headers, body: Buffer.from(say(counting === "taken" ? taken.length : changed.length)) };
  };
  fillStock(feeds.erp, sizes[0], 1);
  await feeds.run("stocks");
  for (const rows of sizes.slice(1)) {
    feeds.erp.exec(`UPDATE stock SET quantity = quantity + 1 WHERE sku <= 'S-${rows}'`);
    await feeds.minute();
  }
  expect([differing(feeds), feeds.rows("SELECT 1 FROM feed_outbox")]).toEqual([0, []]);
  return { ...feeds, trouble };
}

const PLAIN: [[string, (count: number) => string], ...[string, (count: number) => string][]] = [
  ["a bare number", (count) => `${count}`],
  ["a text", (count) => `Загружено строк: ${count}`],
  ["a text in quotes", (count) => JSON.stringify(`Loaded ${count} rows`)],
  ["a text beside a yes", (count) => JSON.stringify({ success: true, message: `Загружено строк: ${count}` })],
  ["a member of any name", (count) => JSON.stringify({ success: true, rows: count })],
];

const SENT = PLAIN.flatMap(([name, say]) =>
  [1, 500].map((chunk) => [`${name}, in requests of ${chunk}`, say, chunk] as const),
);

describe("a count that was the number of records in each answer", () => {
  itSome(1)(SENT)("and is smaller now leaves out one: as %s", async (_name, say, chunk) => {
    const feeds = await startPlain(say, "taken", chunk);
    const { erp, trouble, clock, level, quarantined, rows } = feeds;
    trouble.leavesOut = "S-2";
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-2', 'S-3')");
    for (let minutes = 0; minutes < 30; minutes++) await feeds.minute();
    expect([level("S-1"), level("S-3")]).toEqual([0, 0]);
    expect(level("S-2")).not.toBe(0);
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-2" }]);
    expect(quarantined()).toMatchObject([
      { reference: "S-2", state: "held", reason: expect.stringContaining("0 of 1") },
    ]);
    trouble.leavesOut = undefined;
    clock.advance(12 * 3_600_000);
    await feeds.minutes(3);
    expect([differing(feeds), quarantined().filter(({ state }) => state === "held")]).toEqual([0, []]);
  });

  itWhole("and was 1 of one so far shows by another number that 1 of two is less than all", async () => {
    const feeds = await startPlain(PLAIN[0][1], "taken", 500, [1, 1, 1, 1, 1]);
    const { erp, trouble, level, rows } = feeds;
    trouble.leavesOut = "S-2";
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-2', 5), ('S-3', 5); UPDATE stock SET quantity = 7");
    for (let minutes = 0; minutes < 5; minutes++) await feeds.minute();
    expect([level("S-1"), level("S-3")]).toEqual([7, 7]);
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-2" }]);
  });

  itWhole.each<[string, string]>([
    ["alone", "'S-2'"],
    ["with others that it does not take", "'S-2', 'S-3'"],
  ])("and is 0 of one record that goes %s is no acceptance", async (_name, skus) => {
    const feeds = await startPlain((count) => JSON.stringify({ success: true, rows: count }), "taken", 1);
    const { erp, trouble, sandbox, rows } = feeds;
    trouble.leavesOut = "S-2";
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    let leavesBoth = true;
    service.handle = (request) => {
      if (leavesBoth && request.body.includes("S-3"))
        return { ...handle({ ...request, path: "/" }), status: 200, body: Buffer.from('{"success":true,"rows":0}') };
      return handle(request);
    };
    erp.exec(`UPDATE stock SET quantity = 0 WHERE sku IN (${skus})`);
    for (let minutes = 0; minutes < 20; minutes++) await feeds.minute();
    expect(rows("SELECT k0 FROM feed_outbox WHERE last_error LIKE '%0 of 1%'")).toHaveLength(skus.split(",").length);
    leavesBoth = false;
    trouble.leavesOut = undefined;
    feeds.clock.advance(12 * 3_600_000);
    await feeds.minutes(20);
    expect([differing(feeds), rows("SELECT 1 FROM feed_outbox"), feeds.holds()]).toEqual([0, [], []]);
  });

  itWhole.each(SENT)("and is 0 where nothing has changed blames no record: as %s", async (_name, say, chunk) => {
    const feeds = await startPlain(say, "changed", chunk);
    const { erp, sandbox, clock, quarantined, holds, rows } = feeds;
    erp.exec("UPDATE stock SET quantity = 50 WHERE sku IN ('S-1', 'S-2')");
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: 2, do: { kind: "reset" } });
    await feeds.minute();
    clock.advance(2 * IMPORT_TIMEOUT_MS);
    for (let minutes = 0; minutes < 30; minutes++) await feeds.minute();
    erp.exec("UPDATE stock SET quantity = 60 WHERE sku IN ('S-3', 'S-4')");
    for (let minutes = 0; minutes < 5; minutes++) await feeds.minute();
    expect(differing(feeds)).toBe(0);
    expect([holds(), quarantined(), rows("SELECT 1 FROM feed_outbox")]).toEqual([[], [], []]);
  });
});
