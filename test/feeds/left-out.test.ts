import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { fillStock, IMPORT_TIMEOUT_MS, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

interface Handled {
  /** The articles of the request. */
  all: readonly string[];
  out: readonly string[];
  changed: number;
}

/** A service that leaves some articles out, and answers as `say` writes it. */
async function startLeavingOut(out: Set<string>, say: (handled: Handled) => object): Promise<PushedFeeds> {
  const feeds = await startFeeds();
  const { service } = feeds.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    if (!request.path.includes("/import/")) return handle(request);
    const { stocks } = JSON.parse(request.body.toString()) as { stocks: { sku: string; quantity: number }[] };
    const taken = stocks.filter(({ sku }) => !out.has(sku));
    const changed = taken.filter(({ sku, quantity }) => feeds.level(sku) !== quantity).length;
    const response = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks: taken })) });
    const all = stocks.map(({ sku }) => sku);
    return {
      ...response,
      body: Buffer.from(JSON.stringify(say({ all, out: all.filter((sku) => out.has(sku)), changed }))),
    };
  };
  return feeds;
}

const SAYS: [name: string, say: (handled: Handled) => object][] = [
  ["articles", ({ out }) => ({ ok: true, unknown: out })],
  ["articles below", ({ out }) => ({ status: "ok", data: { not_found: out.map((sku) => ({ sku, why: "no" })) } })],
  ["articles in a text", ({ out }) => ({ success: true, missing: out.join(", ") })],
  ["places", ({ all, out }) => ({ ok: true, skippedRows: out.map((sku) => all.indexOf(sku) + 1) })],
  ["a count", ({ all, out }) => ({ success: true, processed: all.length, skipped: out.length })],
  ["a count alone", ({ out }) => ({ ok: true, ignored: out.length })],
  ["a count below", ({ all, out }) => ({ ok: true, data: { stats: { total: all.length, unmatched: out.length } } })],
  ["a count in Russian", ({ all, out }) => ({ статус: "ок", всего: all.length, пропущено: out.length })],
  ["good ones of all", ({ all, out }) => ({ status: "success", total: all.length, ok: all.length - out.length })],
  [
    "warnings",
    ({ all, out }) => ({
      status: "ok",
      warnings: out.map((sku) => `Строка ${all.indexOf(sku) + 1}: товар не найден`),
    }),
  ],
  ["other warnings", ({ out }) => ({ status: "ok", warnings: out.map(() => "нет такого товара") })],
  ["flags", ({ out }) => ({ ok: true, ignored: out.length > 0 })],
];

/** Passes of some minutes, in which the outcome of requests is settled. */
async function settle({ clock, minutes }: PushedFeeds): Promise<void> {
  for (let times = 0; times < 4; times++) {
    await minutes(3);
    clock.advance(IMPORT_TIMEOUT_MS);
  }
}

async function expectLeftOut(feeds: PushedFeeds, out: Set<string>, quantity: number): Promise<void> {
  const { rows, level, holds, quarantined } = feeds;
  expect(["S-1", "S-2", "S-4"].map(level)).toEqual([quantity, quantity, quantity]);
  expect(level("S-3")).not.toBe(quantity);
  expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-3" }]);
  const told = quarantined().filter(({ state }) => state === "held");
  expect(holds().length + told.length).toBeGreaterThan(0);
  out.clear();
  feeds.clock.advance(13 * HOUR_MS);
  await settle(feeds);
  expect(level("S-3")).toBe(quantity);
  expect([rows("SELECT k0 FROM feed_outbox"), holds()]).toEqual([[], []]);
}

describe("an import whose answer says under a name of its own that a record was left out", () => {
  itSome(6)(SAYS)("as the first answer of all has not taken it: %s", async (_, say) => {
    const out = new Set(["S-3"]);
    const feeds = await startLeavingOut(out, say);
    fillStock(feeds.erp, 4, 7);
    await feeds.run("stocks");
    await settle(feeds);
    await expectLeftOut(feeds, out, 7);
  });

  itWhole.each(SAYS)("after answers that left out none has not taken it: %s", async (_, say) => {
    for (const before of [1, 4]) {
      const out = new Set<string>();
      const feeds = await startLeavingOut(out, say);
      fillStock(feeds.erp, 4, 1);
      for (let quantity = 2; quantity < 2 + before; quantity++) {
        await feeds.run("stocks");
        feeds.erp.exec(`UPDATE stock SET quantity = ${quantity}`);
      }
      await feeds.run("stocks");
      expect([feeds.rows("SELECT k0 FROM feed_outbox"), feeds.holds()]).toEqual([[], []]);
      out.add("S-3");
      feeds.erp.exec("UPDATE stock SET quantity = 20");
      await feeds.run("stocks");
      await settle(feeds);
      await expectLeftOut(feeds, out, 20);
    }
  });

  itWhole.each(SAYS)("has not taken it where it is the only one: %s", async (_, say) => {
    const out = new Set(["S-1"]);
    const feeds = await startLeavingOut(out, say);
    fillStock(feeds.erp, 1, 7);
    await feeds.run("stocks");
    for (let hours = 0; hours < 6; hours++) {
      await settle(feeds);
      feeds.clock.advance(HOUR_MS);
    }
    expect(feeds.rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-1" }]);
    out.clear();
    feeds.clock.advance(2 * HOUR_MS);
    await settle(feeds);
    expect([feeds.level("S-1"), feeds.rows("SELECT k0 FROM feed_outbox"), feeds.holds()]).toEqual([7, [], []]);
  });
});

describe("an import whose answers always have such a name", () => {
  const always = (body: object): FaultAction => ({
    ...{ kind: "raw", contentType: "application/json", body: JSON.stringify(body) },
  });

  itWhole.each([
    [
      "the records that it had already",
      ({ all, changed }: Handled) => ({ processed: all.length, skipped: all.length - changed }),
    ],
    ["always the same number", () => ({ ok: true, skipped: 2 })],
    ["changes of all", ({ all, changed }: Handled) => ({ total: all.length, updated: changed })],
  ])("is accepted after few requests where it counts %s", async (_, say) => {
    const feeds = await startLeavingOut(new Set(), say);
    const { erp, run, requests, rows, holds, quarantined } = feeds;
    feeds.sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: { kind: "reset" } });
    fillStock(erp, 40, 7);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 8 WHERE sku = 'S-20'");
    await settle(feeds);
    for (const quantity of [3, 4]) {
      erp.prepare("UPDATE stock SET quantity = ? WHERE sku = 'S-5'").run(quantity);
      await feeds.minutes(2);
    }
    expect([rows("SELECT k0 FROM feed_outbox"), holds(), quarantined()]).toEqual([[], [], []]);
    expect([feeds.level("S-20"), feeds.level("S-5")]).toEqual([8, 4]);
    expect(requests().length).toBeLessThan(60);
  });

  it.each([
    ["warnings of something else", { status: "ok", warnings: ["Version 1 ends in May"] }],
    ["a flag", { success: 1, total: 4 }],
    ["nothing", { ok: true, skipped: [], unknown: "none", missing: { count: 0 }, ignored: "0 of 4", warnings: [] }],
  ])("is accepted at once where it has %s", async (_, body) => {
    const { erp, sandbox, run, requests, rows, holds } = await startFeeds();
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: always(body) });
    fillStock(erp, 4);
    await run("stocks");
    expect([rows("SELECT k0 FROM feed_outbox"), holds(), requests().length]).toEqual([[], [], 1]);
  });

  itWhole("is usual after a day, until an answer is without it: then all goes once more", async () => {
    const feeds = await startFeeds();
    const { erp, sandbox, run, clock, requests, rows, holds } = feeds;
    const warned = always({ status: "ok", warnings: ["unknown field: unit"] });
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: warned });
    fillStock(erp, 4);
    for (let hours = 0; hours < 30; hours++) {
      await run("stocks");
      clock.advance(HOUR_MS);
      if (hours === 20) expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    }
    expect([rows("SELECT k0 FROM feed_outbox"), holds()]).toEqual([[], []]);
    expect(requests().length).toBeLessThan(120);
    erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-1'");
    await run("stocks");
    expect(requests()).toHaveLength(1);
    sandbox.faults.clear();
    const clean = always({ status: "ok", warnings: [] });
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: clean });
    erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-1'");
    await feeds.minutes(3);
    const again = requests().flatMap(({ records }) => records.map(({ sku }) => sku));
    expect([...new Set(again)].sort()).toEqual(["S-1", "S-2", "S-3", "S-4"]);
    sandbox.faults.clear();
    sandbox.faults.add({ match: { path: "import" }, when: "before", times: "forever", do: warned });
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'S-1'");
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
  });
});
