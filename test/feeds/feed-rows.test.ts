import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadSendable, saveAcknowledged } from "../../src/feeds/feed-outbox.ts";
import { deleteQueued, loadDifferent, loadKeyState, saveQueued } from "../../src/feeds/feed-rows.ts";
import { approveGuarded, loadDrops, markShown, saveGuard } from "../../src/feeds/guard/guard-rows.ts";
import { loadDueGone, WaitingArticles } from "../../src/feeds/rekey/going-rows.ts";
import { markQueuedDirty } from "../../src/feeds/rekey/rule-rows.ts";
import { markInFlight, resetClocks, saveFlightEnd, unmarkInFlight } from "../../src/feeds/send/flight-rows.ts";
import { clearSetAside, markRefused, saveSetAside, wake } from "../../src/feeds/send/refused-rows.ts";
import { loadSourcePage, type PageEnd } from "../../src/feeds/source/feed-source.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { openNewStore } from "../support/new-store.ts";
import { stockRules } from "../support/rules.ts";
import { itSome, itWhole } from "../support/whole.ts";

const rules = stockRules({ path: "/p", guard: { percent: 30, over: 1, from: 20 } });
const NOW = { nowMs: 1_000, awayBeforeMs: 1_000, dropRound: Number.MAX_SAFE_INTEGER };
const AT = "2026-03-01T12:00:00.000Z";

function start() {
  const { store } = openNewStore();
  const owe = (
    sku: string,
    record: string,
    { nowMs = 1_000, ...over }: { gone?: boolean; isDrop?: boolean; priority?: number; nowMs?: number } = {},
  ) =>
    saveQueued(store, rules, [{ key: [sku], record, parent: null, gone: false, isDrop: false, priority: 2, ...over }], {
      ...{ at: AT, nowMs, droppedAt: AT },
    });
  const sendable = (limits = {}, limit = -1) => loadSendable(store, rules, { ...NOW, ...limits }, limit);
  return { store, owe, sendable, skus: (limits = {}, limit = -1) => sendable(limits, limit).map(({ key }) => key[0]) };
}

describe("a set of rows", () => {
  itWhole("keeps every character of keys, parents and records", () => {
    const { store, sendable } = start();
    const twoKeys = { ...rules, keys: ["sku", "warehouse"] };
    const text = fc.string({ unit: ANY_CHARACTER, maxLength: 8 });
    const rowOf = fc.record({
      key: fc.tuple(text, text),
      parent: fc.option(text),
      record: text.map((t) => JSON.stringify([t])),
    });
    fc.assert(
      fc.property(fc.uniqueArray(rowOf, { selector: ({ key }) => JSON.stringify(key), maxLength: 20 }), (rows) =>
        store.write(() => {
          store.db.exec("DELETE FROM feed_outbox; DELETE FROM feed_sent");
          const owed = rows.map((row) => ({ ...row, gone: false, isDrop: false, priority: 2 }));
          saveQueued(store, twoKeys, owed, { at: AT, nowMs: 1_000, droppedAt: AT });
          expect(loadDifferent(store, twoKeys, rows).different).toEqual([]);
          expect(
            loadDifferent(
              store,
              twoKeys,
              rows.map((row) => ({ ...row, record: "0" })),
            ).different,
          ).toHaveLength(rows.length);
          const waiting = loadSendable(store, twoKeys, NOW, -1);
          expect(waiting.map(({ key, parent, record }) => ({ key, parent, record }))).toEqual(rows);
          markInFlight(store, waiting);
          expect(sendable()).toEqual([]);
          saveFlightEnd(store, waiting, 0);
          expect(loadSendable(store, twoKeys, NOW, -1).map(({ flightRecord }) => flightRecord)).toEqual(
            rows.map(({ record }) => record),
          );
          unmarkInFlight(store, waiting);
          expect(loadSendable(store, twoKeys, NOW, -1)).toEqual(waiting);
          const [kept, ...accepted] = waiting.map((row) => ({ ...row, live: true }));
          markInFlight(store, accepted);
          expect(saveAcknowledged(store, twoKeys, accepted, AT)).toEqual(new Set());
          if (kept !== undefined) deleteQueued(store, twoKeys, [kept.key]);
          expect(loadSendable(store, twoKeys, NOW, -1)).toEqual([]);
          expect(loadDifferent(store, twoKeys, rows).different.map(({ at }) => at)).toEqual(
            kept === undefined ? [] : [0],
          );
          const again = owed.slice(1).map((row) => ({ ...row, record: "0" }));
          saveQueued(store, twoKeys, again, { at: AT, nowMs: 1_000, droppedAt: AT });
          const live = loadSendable(store, twoKeys, NOW, -1).map((row) => ({ ...row, live: true }));
          markInFlight(store, live);
          expect(saveAcknowledged(store, twoKeys, live, AT)).toEqual(new Set(live.map(({ id }) => id)));
        }),
      ),
    );
  });

  it("leaves out only what is acknowledged in this epoch, or waits, exactly as it was found", () => {
    const { store, owe } = start();
    const found = [{ key: ["A"], record: '{"a":1}', parent: null }];
    const different = () => loadDifferent(store, rules, found).different.length;
    expect(different()).toBe(1);
    owe("A", '{"a":1}');
    expect(different()).toBe(0);
    owe("A", '{"a":1}', { gone: true });
    expect(different()).toBe(1);
    deleteQueued(store, rules, [["A"]]);
    store.db.exec(`INSERT INTO feed_sent (feed_id, k0, record, sent_at) VALUES (1, 'A', '{"a":1}', '')`);
    expect(different()).toBe(0);
    owe("A", '{"a":2}');
    expect(different()).toBe(1);
    deleteQueued(store, rules, [["A"]]);
    for (const change of ["gone = 1", "gone = 0, epoch = epoch - 1", "epoch = epoch + 1, record = '{\"a\":1.0}'"]) {
      store.db.exec(`UPDATE feed_sent SET ${change}`);
      expect(different()).toBe(1);
    }
  });
});

describe("an acknowledgement", () => {
  it("clears what was sent, and never a value that came after it", () => {
    const { store, owe, sendable } = start();
    owe("A", "1");
    owe("B", "1");
    const rows = sendable();
    markInFlight(store, rows);
    owe("B", "2");
    saveAcknowledged(
      store,
      rules,
      rows.map((row) => ({ ...row, live: true })),
      AT,
    );
    expect(loadKeyState(store, rules, ["A"]).outbox).toBeUndefined();
    expect(loadKeyState(store, rules, ["B"])).toMatchObject({
      sent: { record: "1" },
      outbox: { record: "2", flightRecord: null },
    });
  });
});

describe("rows that may go", () => {
  it("are those that go to zero or away first, then by urgency, then by age", () => {
    const { store, owe, skus } = start();
    owe("rest", "1");
    owe("less", "1", { priority: 1 });
    owe("zero", "1", { priority: 0 });
    owe("drop", "1", { priority: 0, isDrop: true });
    expect(skus()).toEqual(["drop", "zero", "less", "rest"]);
    expect(skus({}, 2)).toEqual(["drop", "zero"]);
    show(store, 1_000);
    expect(skus({ dropRound: 0 })).toEqual(["zero", "less", "rest"]);
    expect(skus({ dropRound: 1 })).toEqual(["drop", "zero", "less", "rest"]);
  });

  itWhole("are not those that were away too short, or whose request may still arrive", () => {
    const { store, owe, skus, sendable } = start();
    owe("away", "1", { gone: true, nowMs: 900 });
    owe("doubt", "1");
    expect(skus({ awayBeforeMs: 899 })).toEqual(["doubt"]);
    const doubt = sendable({ awayBeforeMs: 899 });
    markInFlight(store, doubt);
    expect(skus({ awayBeforeMs: 899 })).toEqual([]);
    saveFlightEnd(store, doubt, 5_000);
    expect(skus({ awayBeforeMs: 899, nowMs: 4_999 })).toEqual([]);
    expect(skus({ awayBeforeMs: 899, nowMs: 5_000 })).toEqual(["doubt"]);
  });

  itWhole("keep their doubt while they owe something newer", () => {
    const { store, owe, sendable } = start();
    owe("A", "1");
    const rows = sendable();
    markInFlight(store, rows);
    saveFlightEnd(store, rows, 5_000);
    owe("A", "2");
    expect(sendable()).toEqual([]);
    expect(sendable({ nowMs: 5_000 })).toMatchObject([{ record: "2", flightRecord: "1" }]);
  });
});

describe("times of a clock that has begun anew", () => {
  it("are counted from now, others stay", () => {
    const { store, owe, sendable, skus } = start();
    for (const sku of ["open", "old", "soon"]) owe(sku, "1");
    const rows = sendable();
    markInFlight(store, rows);
    saveFlightEnd(
      store,
      rows.filter(({ key }) => key[0] === "old"),
      9e9,
    );
    saveFlightEnd(
      store,
      rows.filter(({ key }) => key[0] === "soon"),
      1_500,
    );
    owe("away", "1", { gone: true, nowMs: 9e9 });
    resetClocks(store, rules, { nowMs: 1_000, flightUntilMs: 2_000, limit: 100 });
    expect(skus({ nowMs: 1_999, awayBeforeMs: 1_000 })).toEqual(["soon", "away"]);
    expect(skus({ nowMs: 2_000, awayBeforeMs: 999 })).toEqual(["open", "old", "soon"]);
  });
});

describe("what is done to all rows of a feed", () => {
  const skusOf = Array.from({ length: 25 }, (_, n) => `S${String(n).padStart(2, "0")}`);
  /** The sizes of the steps until none is left. */
  const steps = (step: () => number) => {
    const sizes: number[] = [];
    for (let size = step(); size > 0; size = step()) sizes.push(size);
    return sizes;
  };

  it("is done in steps of a bounded size, each row once", () => {
    const { store, owe, sendable } = start();
    for (const sku of skusOf) owe(sku, "1");
    const rows = sendable();
    for (const row of rows.slice(0, 14)) saveSetAside(store, row, { error: "no", retryMs: 9_000, isForGood: true });
    for (const row of rows.slice(14)) markRefused(store, row, { error: "no", retryMs: 9_000, tries: 0 });
    const now = { nowMs: 2_000, limit: 10 };
    expect(steps(() => wake(store, rules, "waiting", now))).toEqual([10, 4]);
    expect(steps(() => wake(store, rules, "refused", now))).toEqual([10, 1]);
    expect(steps(() => clearSetAside(store, rules.feedId, 10))).toEqual([10, 4]);
    markInFlight(store, rows);
    expect(steps(() => resetClocks(store, rules, { nowMs: 0, flightUntilMs: 100, limit: 10 }))).toEqual([10, 10, 5]);
    const dirty = () => store.db.prepare("SELECT count(*) FROM feed_dirty").pluck().get() as number;
    let afterId = 0;
    const touched = steps(() => {
      const before = dirty();
      afterId = markQueuedDirty(store, rules, { afterId, limit: 10 }) ?? afterId;
      return dirty() - before;
    });
    expect(touched).toEqual([10, 10, 5]);
  });
});

/** As the guard's look does after it has written how many rows wait. */
function show(store: ReturnType<typeof start>["store"], awayBeforeMs: number): void {
  while (markShown(store, rules, { held: [AT], free: [], awayBeforeMs, limit: 1 }) > 0);
}

describe("an approval", () => {
  it("covers the rows that wait behind the guard now, however many, and none that come later", () => {
    const { store, owe, sendable } = start();
    owe("now", "1", { isDrop: true });
    expect(approveGuarded(store, "stocks")).toBe(0);
    saveGuard(store, "stocks", AT);
    expect(approveGuarded(store, "stocks")).toBe(0);
    owe("away", "1", { isDrop: true, gone: true, nowMs: 900 });
    show(store, 899);
    expect(approveGuarded(store, "stocks")).toBe(1);
    owe("later", "1", { isDrop: true });
    expect(sendable()).toMatchObject([
      { key: ["later"], approved: false },
      { key: ["away"], approved: false },
      { key: ["now"], approved: true },
    ]);
    // The guard counts the others, by the times when they went, and holds them or lets them go.
    expect(loadDrops(store, rules, { dropRound: 1, awayBeforeMs: 899 })).toEqual([
      { at: AT, isShown: false, due: 1, early: 1 },
    ]);
  });

  it("does not cover a row that was shown and then came back and went away again", () => {
    const { store, owe, sendable } = start();
    owe("A", "0", { isDrop: true, gone: true, nowMs: 100 });
    saveGuard(store, "stocks", AT);
    show(store, 100);
    owe("A", "5");
    owe("A", "0", { isDrop: true, gone: true, nowMs: 900 });
    show(store, 800);
    expect(approveGuarded(store, "stocks")).toBe(0);
    expect(sendable()).toMatchObject([{ approved: false }]);
  });

  itWhole("ends where the row changes again", () => {
    const { store, owe, sendable } = start();
    owe("A", "0", { isDrop: true });
    saveGuard(store, "stocks", AT);
    show(store, 0);
    approveGuarded(store, "stocks");
    owe("A", "-1", { isDrop: true });
    expect(sendable()).toMatchObject([{ approved: false }]);
  });
});

describe("a table that is read page by page", () => {
  itSome(2)([
    ["sku TEXT NOT NULL, quantity, PRIMARY KEY (sku)) WITHOUT ROWID", true],
    ["sku TEXT NOT NULL COLLATE NOCASE, quantity, PRIMARY KEY (sku)) WITHOUT ROWID", true],
    ["sku TEXT NOT NULL, place TEXT NOT NULL DEFAULT 'x', quantity, PRIMARY KEY (place, sku)) WITHOUT ROWID", true],
    ["sku TEXT PRIMARY KEY, quantity)", true],
    ["sku TEXT NOT NULL COLLATE NOCASE, quantity, PRIMARY KEY (sku COLLATE BINARY)) WITHOUT ROWID", true],
    ["sku COLLATE NOCASE, place DEFAULT 'x', quantity, PRIMARY KEY (sku COLLATE BINARY, place)) WITHOUT ROWID", false],
  ])(
    "gives every row once, and SQLite goes on from where the last page ended where it can: %s",
    (columns, isFollowed) => {
      const { store } = start();
      store.db.exec(
        `CREATE TABLE goods (${columns}; INSERT INTO goods (sku, quantity) VALUES ('b', 1), ('A', 2), ('C', 3), ('d', 4), ('e', 5)`,
      );
      const texts: string[] = [];
      const prepare = store.prepare.bind(store);
      store.prepare = ((sql: string) => {
        texts.push(sql);
        return prepare(sql);
      }) as typeof store.prepare;
      const found: unknown[] = [];
      for (let after: PageEnd | undefined; ; ) {
        const page = loadSourcePage(store, { ...rules, table: "goods" }, after, 2);
        if (page.end === undefined) break;
        after = page.end;
        found.push(...page.rows.map(({ sku }) => sku));
      }
      expect(found.sort()).toEqual(["A", "C", "b", "d", "e"]);
      const sql = texts.findLast((text) => text.startsWith("SELECT") && text.includes("goods")) ?? "";
      const plan = store.db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all("", ...(sql.match(/\?/g) ?? []).slice(1).map(() => "")) as { detail: string }[];
      expect(plan.every(({ detail }) => detail.startsWith("SEARCH"))).toBe(isFollowed);
    },
  );
});

describe("rows that wait to go away", () => {
  it("are found by an index, in the order in which they are dealt with", async () => {
    const { store, owe } = start();
    owe("A", '{"sku":"A"}');
    const named = { ...rules, identity: [["sku"]] };
    const waiting = new WaitingArticles(store, named);
    await waiting.listAll({ sleep: async () => undefined }, new AbortController().signal);
    const prepare = store.prepare.bind(store);
    const plans: string[] = [];
    store.prepare = ((sql: string) => {
      if (!sql.startsWith("SELECT")) return prepare(sql);
      const values = (sql.match(/\?/g) ?? []).map(() => 0);
      const plan = store.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      plans.push(plan.map(({ detail }) => detail).join("; "));
      return prepare(sql);
    }) as typeof store.prepare;
    loadDueGone(store, named, { afterMs: 0, upToMs: 1_000 }, 0, 500);
    waiting.loadGone(0, 500);
    waiting.close();
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toMatch(/^SEARCH o USING INDEX feed_outbox_gone \(feed_id=\? AND rowid>\?\)/);
      expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
    }
  });
});
