import { expect, it } from "vitest";
import type { FeedContext } from "../../src/feeds/diff/absorb-feed.ts";
import { loadSendable, saveAcknowledged } from "../../src/feeds/feed-outbox.ts";
import { saveQueued } from "../../src/feeds/feed-rows.ts";
import { Flights } from "../../src/feeds/send/flights.ts";
import { collectingLog, FakeClock } from "../support/bridge.ts";
import { openNewStore } from "../support/new-store.ts";
import { stockRules } from "../support/rules.ts";

const AT = "2026-03-01T12:00:00.000Z";

it("an acceptance that is not committed yet counts for what was accepted, whatever the row is sent with next", async () => {
  const rules = stockRules({ path: "/p" });
  const { store } = openNewStore();
  const clock = new FakeClock();
  const flights = new Flights({ store, clock, log: collectingLog([]) } as unknown as FeedContext, 60_000);
  const { signal } = new AbortController();
  const owe = (record: string) => {
    const row = { key: ["A"], record, parent: null, gone: false, isDrop: false, priority: 2 };
    saveQueued(store, rules, [row], { at: AT, nowMs: 1_000, droppedAt: AT });
  };
  const limits = { nowMs: 1_000, awayBeforeMs: 1_000, dropRound: Number.MAX_SAFE_INTEGER };
  owe("1");
  const [first] = await flights.take(() => loadSendable(store, rules, limits, -1), signal);
  await flights.begin([first!], signal);
  const save = (rows: readonly { id: number; gone: boolean }[]) =>
    void saveAcknowledged(
      store,
      rules,
      rows.map(({ id }) => ({ id, gone: false, live: true })),
      AT,
    );
  await flights.accept({ rows: [first!], save, also: () => {} }, true, signal);
  owe("2");
  const second = { ...first!, record: "2" };
  await flights.begin([second], signal);
  await flights.end([second], "nothing", signal);
  await flights.finish(signal);
  expect(store.prepare("SELECT record FROM feed_sent").pluck().all()).toEqual(["1"]);
  expect(store.prepare("SELECT record FROM feed_outbox").pluck().all()).toEqual(["2"]);
});
