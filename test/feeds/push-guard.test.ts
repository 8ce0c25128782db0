import { describe, expect, it } from "vitest";
import { referenceOf } from "../../src/feeds/feed.ts";
import { approveGuarded } from "../../src/feeds/feed-rows.ts";
import { retryFeedRow } from "../../src/feeds/send/refused-rows.ts";
import { fillStock, startFeeds } from "../support/pushed.ts";
import { stockRules } from "../support/rules.ts";
import { itWhole } from "../support/whole.ts";

const rules = stockRules({ key: ["sku", "warehouse"], guard: { percent: 30, over: 1, from: 20 } });
const GUARDED = [{ area: "stocks", reason: "guard" }];
const HOUR_MS = 3_600_000;

async function startFilled(settings = {}) {
  const test = await startFeeds({ settings });
  fillStock(test.erp, 100);
  await test.run("stocks");
  test.requests();
  const zero = (from: number, to: number) =>
    test.erp
      .prepare("UPDATE stock SET quantity = 0 WHERE CAST(substr(sku, 3) AS INTEGER) BETWEEN ? AND ?")
      .run(from, to);
  const zeros = () =>
    Object.values(test.site()).filter((record) => (record as { quantity: number }).quantity === 0).length;
  return Object.assign(test, { zero, zeros });
}

describe("the guard", () => {
  it("lets rows go to zero that are few enough", async () => {
    const { run, zero, zeros, holds } = await startFilled();
    zero(1, 30);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([30, []]);
  });

  itWhole("holds those rows only, where they are too many at once", async () => {
    const { erp, run, zero, zeros, holds, level, rows } = await startFilled();
    zero(1, 31);
    erp.exec("UPDATE stock SET quantity = 5 WHERE sku = 'S-90'");
    await run("stocks");
    expect([zeros(), holds(), level("S-90")]).toEqual([0, GUARDED, 5]);
    expect(rows("SELECT state, count(*) AS n FROM stock_sent GROUP BY state")).toEqual([
      { state: "guarded", n: 31 },
      { state: "sent", n: 69 },
    ]);
  });

  itWhole("counts what went to zero within its window", async () => {
    const { run, zero, zeros, holds, clock } = await startFilled();
    zero(1, 25);
    await run("stocks");
    clock.advance(HOUR_MS / 2);
    zero(26, 31);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([25, GUARDED]);
  });

  itWhole("forgets what went to zero before its window", async () => {
    const { run, zero, zeros, holds, clock } = await startFilled();
    zero(1, 25);
    await run("stocks");
    clock.advance(HOUR_MS + 1);
    zero(26, 40);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([40, []]);
  });

  itWhole("is not worn down by time alone", async () => {
    const { run, zero, zeros, holds, clock, restart } = await startFilled();
    zero(1, 25);
    await run("stocks");
    zero(26, 40);
    await run("stocks");
    clock.advance(5 * HOUR_MS);
    await restart();
    await run("stocks");
    expect([zeros(), holds()]).toEqual([25, GUARDED]);
  });

  itWhole("never holds fewer rows than from", async () => {
    const { run, zero, zeros } = await startFilled({ imports: { stocks: { guard: { percent: 1, from: 20 } } } });
    zero(1, 19);
    await run("stocks");
    expect(zeros()).toBe(19);
  });

  itWhole("lets the rows go that a person approved, and counts later ones anew", async () => {
    const { run, zero, zeros, holds, bridge } = await startFilled();
    zero(1, 60);
    await run("stocks");
    expect(bridge.store.write(() => approveGuarded(bridge.store, "stocks"))).toBe(60);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([60, []]);
    zero(61, 90);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([60, GUARDED]);
  });

  itWhole("asks again for a row that goes away after its zero was approved but not yet sent", async () => {
    const { run, zero, zeros, bridge, sandbox, rows, clock } = await startFilled();
    zero(1, 60);
    await run("stocks");
    bridge.store.write(() => approveGuarded(bridge.store, "stocks"));
    sandbox.service.setOptions({ paid: false });
    await run("stocks");
    zero(61, 100);
    await run("stocks");
    sandbox.service.setOptions({ paid: true });
    clock.advance(HOUR_MS);
    await run("stocks");
    expect(zeros()).toBe(60);
    expect(rows("SELECT count(*) AS n FROM stock_sent WHERE state = 'guarded'")).toEqual([{ n: 40 }]);
  });

  itWhole("ends by itself when the ERP puts the rows back", async () => {
    const { erp, run, zero, zeros, holds, requests } = await startFilled();
    zero(1, 60);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 10");
    await run("stocks");
    expect([zeros(), holds(), requests()]).toEqual([0, [], []]);
  });

  itWhole("stays up where somebody lifts its hold without approving", async () => {
    const { run, zero, zeros, holds, bridge } = await startFilled();
    zero(1, 60);
    await run("stocks");
    bridge.store.db.exec("DELETE FROM holds");
    await run("stocks");
    expect([zeros(), holds()]).toEqual([0, GUARDED]);
  });

  itWhole("holds rows whose last request had an unknown outcome too", async () => {
    const { erp, run, zero, zeros, holds, sandbox, clock } = await startFilled();
    erp.exec("UPDATE stock SET quantity = 7");
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    await run("stocks");
    zero(1, 60);
    clock.advance(HOUR_MS / 2);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([0, GUARDED]);
  });

  itWhole("holds rows that may be on the site because an answer was lost at the very first push", async () => {
    const { erp, run, minutes, zeros, holds, sandbox } = await startFeeds().then((test) =>
      Object.assign(test, {
        zeros: () =>
          Object.values(test.site()).filter((record) => (record as { quantity: number }).quantity === 0).length,
      }),
    );
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    fillStock(erp, 50);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 0");
    await minutes(4);
    expect([zeros(), holds()]).toEqual([0, GUARDED]);
  });

  itWhole("holds a mass delete by DROP and a table made again empty, and lets it through when approved", async () => {
    const { erp, minute, zeros, holds, bridge, minutes } = await startFilled();
    erp.exec(
      "DROP TABLE stock; CREATE TABLE stock (sku TEXT, warehouse TEXT DEFAULT '', quantity, reserved DEFAULT 0, PRIMARY KEY (sku, warehouse))",
    );
    await minutes(4);
    expect([zeros(), holds()]).toEqual([0, GUARDED]);
    bridge.store.write(() => approveGuarded(bridge.store, "stocks"));
    await minute();
    expect([zeros(), holds()]).toEqual([100, []]);
  });

  itWhole("lets an approval cover the rows that it showed, not those still inside delete_after", async () => {
    const { erp, run, minute, zero, zeros, bridge, rows, minutes } = await startFilled();
    zero(1, 31);
    erp.exec("DELETE FROM stock WHERE CAST(substr(sku, 3) AS INTEGER) > 31");
    await run("stocks");
    expect(rows("SELECT detail FROM holds")[0]).toMatchObject({ detail: expect.stringMatching(/^31 of 100 rows/) });
    expect(bridge.store.write(() => approveGuarded(bridge.store, "stocks"))).toBe(31);
    await minutes(6);
    expect(zeros()).toBe(31);
    expect(rows("SELECT detail FROM holds")[0]).toMatchObject({ detail: expect.stringMatching(/^69 of 69 rows/) });
    expect(bridge.store.write(() => approveGuarded(bridge.store, "stocks"))).toBe(69);
    await minute();
    expect(zeros()).toBe(100);
  });

  itWhole("counts a row anew that was let through, refused, and is tried again", async () => {
    const { run, minute, zero, zeros, bridge, sandbox, rows, minutes } = await startFilled();
    zero(1, 40);
    await run("stocks");
    bridge.store.write(() => approveGuarded(bridge.store, "stocks"));
    const skus = Array.from({ length: 40 }, (_, index) => `S-${index + 1}`);
    sandbox.service.setOptions({ reject: { skus } });
    await minutes(6);
    sandbox.service.setOptions({ reject: { skus: [] } });
    bridge.store.write(() => {
      for (const { k0, k1 } of rows<{ k0: string; k1: string }>(
        "SELECT k0, k1 FROM feed_outbox WHERE state = 'refused'",
      ))
        retryFeedRow(bridge.store, rules, referenceOf([k0, k1]));
    });
    await minute();
    expect(zeros()).toBe(0);
  });
});
