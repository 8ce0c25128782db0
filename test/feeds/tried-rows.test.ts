import { describe, expect, it } from "vitest";
import { invalidateAcknowledged } from "../../src/feeds/acknowledged-rows.ts";
import { m } from "../../src/messages/messages.ts";
import { isoTime } from "../../src/platform/ports.ts";
import { type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { itWhole } from "../support/whole.ts";

const STOCKS = { delete_after: "2m", table: "goods", record: { sku: "{article}", quantity: "{available|number}" } };

const byKey = (key: string, more = {}) => ({ imports: { stocks: { ...STOCKS, key: [key], ...more } } });

async function startGoods(key: string, more = {}): Promise<PushedFeeds> {
  const test = await startFeeds({ settings: { imports: { stocks: { path: null } } }, arm: [] });
  test.erp.exec(`CREATE TABLE goods (id INTEGER PRIMARY KEY, article TEXT UNIQUE, code TEXT UNIQUE, quantity, reserved DEFAULT 0);
    INSERT INTO goods (article, code, quantity) VALUES ('a', 'x', 5), ('b', 'y', 6), ('c', 'z', 7)`);
  await test.restart(byKey(key, more));
  await test.minute();
  expect([test.level("a"), test.level("b"), test.level("c")]).toEqual([5, 6, 7]);
  return test;
}

/** The service takes nothing while this happens, and is well afterwards. */
async function whileUnpaid(test: PushedFeeds, work: () => Promise<void>): Promise<void> {
  test.sandbox.service.setOptions({ paid: false });
  await work();
  test.sandbox.service.setOptions({ paid: true });
  test.clock.advance(31 * 60_000);
  await test.minutes(5);
}

describe("what was tried and never accepted", () => {
  itWhole.each([
    ["is changed", ["id"]],
    ["is changed twice", ["id", "code"]],
  ])("is sent where the key %s before the service is well again", async (_what, keys) => {
    const test = await startGoods("article");
    await whileUnpaid(test, async () => {
      test.erp.exec("DELETE FROM goods WHERE article = 'a'");
      await test.minutes(4);
      for (const key of keys) {
        await test.restart(byKey(key));
        await test.minute();
      }
    });
    expect([test.levels("a"), test.level("b"), test.level("c")]).toEqual([[5, 0], 6, 7]);
    expect([test.holds(), test.rows("SELECT * FROM feed_outbox")]).toEqual([[], []]);
    expect(test.rows("SELECT live_count AS n FROM feeds WHERE name = 'stocks'")).toEqual([{ n: 2 }]);
  });

  it("is sent where the row names another article by then", async () => {
    const test = await startGoods("id");
    await whileUnpaid(test, async () => {
      test.erp.exec("UPDATE goods SET quantity = 0 WHERE id = 1");
      await test.minute();
      test.erp.exec("UPDATE goods SET article = 'n', quantity = 4 WHERE id = 1");
      await test.minute();
    });
    expect([test.levels("a"), test.level("n"), test.holds()]).toEqual([[5, 0], 4, []]);
  });

  itWhole(
    "says nothing of what the site has where the row is deleted, sends nothing for that, and comes back as it was acknowledged",
    async () => {
      const test = await startGoods("article", { on_delete: "ignore" });
      test.sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
      test.erp.exec("UPDATE goods SET quantity = 9 WHERE article = 'a'");
      await test.minute();
      expect(test.level("a")).toBe(9);
      test.erp.exec("DELETE FROM goods WHERE article = 'a'");
      await test.minutes(5);
      test.erp.exec("INSERT INTO goods (article, quantity) VALUES ('a', 5)");
      await test.minutes(2);
      expect(test.level("a")).toBe(5);
    },
  );
});

it("what was acknowledged as gone and is in doubt since goes once more where the key is changed", async () => {
  const test = await startGoods("article");
  test.erp.exec("DELETE FROM goods WHERE article = 'a'");
  await test.minutes(4);
  expect(test.levels("a")).toEqual([5, 0]);
  const { store } = test.bridge;
  const doubt = { since: "", at: isoTime(test.clock.nowMs()), because: m.feeds.outageAccepted };
  store.write(() => invalidateAcknowledged(store, ["stocks"], doubt));
  await test.restart(byKey("id"));
  await test.minutes(5);
  expect(test.levels("a")).toEqual([5, 0, 0]);
});

it("what was acknowledged after the clock was set back goes again with what was before", async () => {
  const test = await startGoods("article");
  const doubt = { since: isoTime(test.clock.nowMs() - 30_000), because: m.feeds.outageAccepted };
  test.clock.jump(-3_600_000);
  test.erp.exec("UPDATE goods SET quantity = 9 WHERE article = 'b'");
  await test.minute();
  test.clock.jump(2 * 3_600_000);
  const { store } = test.bridge;
  store.write(() => invalidateAcknowledged(store, ["stocks"], { ...doubt, at: isoTime(test.clock.nowMs()) }));
  await test.minutes(3);
  expect([test.levels("a"), test.levels("b")]).toEqual([
    [5, 5],
    [6, 9, 9],
  ]);
});
