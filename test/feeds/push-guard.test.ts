import path from "node:path";
import { describe, expect, it } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { approveGuarded, loadDrops } from "../../src/feeds/guard/guard-rows.ts";
import { coveredRows } from "../../src/feeds/guard/guard-shown.ts";
import { referenceOf } from "../../src/feeds/row-reference.ts";
import { retryFeedRow } from "../../src/feeds/send/refused-rows.ts";
import { formerMigrations } from "../support/former-migrations.ts";
import { fillStock, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { stockRules } from "../support/rules.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const rules = stockRules({ key: ["sku", "warehouse"], guard: { percent: 30, over: 1, from: 20 } });
const GUARDED = [{ area: "stocks", reason: "guard" }];
const HOUR_MS = 3_600_000;
/** As the default configuration has it. */
const DELETE_AFTER_MS = 120_000;

async function startFilled(settings = {}) {
  const test = await startFeeds({ settings });
  fillStock(test.erp, 100);
  await test.run("stocks");
  test.requests();
  const zero = (from: number, to: number) =>
    test.erp
      .prepare("UPDATE stock SET quantity = 0 WHERE CAST(substr(sku, 3) AS INTEGER) BETWEEN ? AND ?")
      .run(from, to);
  return Object.assign(test, { zero, zeros: () => zerosOf(test) });
}

function zerosOf(test: PushedFeeds): number {
  return Object.values(test.site()).filter((record) => (record as { quantity: number }).quantity === 0).length;
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

  it("counts prices that become 0", async () => {
    const settings = { imports: { prices: { path: "/api/v1/import/prices" } } };
    const { erp, run, site, rows } = await startFeeds({ settings, arm: ["prices"] });
    const insert = erp.prepare("INSERT INTO prices (sku, price) VALUES (?, 100)");
    for (let n = 0; n < 100; n++) insert.run(`P-${n}`);
    await run("prices");
    erp.exec("UPDATE prices SET price = 0");
    await run("prices");
    expect(Object.values(site("prices"))).toEqual(
      Array.from({ length: 100 }, () => expect.objectContaining({ price: 100 })),
    );
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "prices", reason: "guard" }]);
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

  it("counts what went within the hour by the machine's clock, also where the time of day is set forward", async () => {
    const { run, zero, zeros, holds, clock } = await startFilled();
    zero(1, 25);
    await run("stocks");
    clock.advance(1_000);
    clock.jump(24 * HOUR_MS);
    zero(26, 40);
    await run("stocks");
    expect([zeros(), holds()]).toEqual([25, GUARDED]);
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
    const test = await startFeeds();
    const { erp, run, minutes, holds, sandbox } = test;
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    fillStock(erp, 50);
    await run("stocks");
    erp.exec("UPDATE stock SET quantity = 0");
    await minutes(4);
    expect([zerosOf(test), holds()]).toEqual([0, GUARDED]);
  });

  it("counts what it let go of rows that were on the site by a lost answer alone", async () => {
    const { erp, run, minutes, holds, sandbox } = await startFilled();
    sandbox.faults.add({ match: { path: "import" }, when: "after", do: { kind: "reset" } });
    erp.exec(
      "INSERT INTO stock (sku, quantity) SELECT 'N' || sku, 5 FROM stock WHERE CAST(substr(sku, 3) AS INTEGER) <= 50",
    );
    await run("stocks");
    const zero = (from: number, to: number) =>
      erp
        .prepare(
          "UPDATE stock SET quantity = 0 WHERE sku LIKE 'N%' AND CAST(substr(sku, 4) AS INTEGER) BETWEEN ? AND ?",
        )
        .run(from, to);
    zero(1, 25);
    // The others wait for the end of the request.
    await minutes(3);
    expect(holds()).toEqual([]);
    zero(26, 50);
    await minutes(3);
    expect(holds()).toEqual(GUARDED);
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

  it("tells rows that began to wait after the hold from those that were there, also by their delete_after", async () => {
    const { erp, run, zero, bridge, clock, rows } = await startFilled();
    const isUnseen = () => !coveredRows(bridge.store, "stocks", { rows: 31, deleteAfterMs: DELETE_AFTER_MS }).isShown;
    zero(1, 31);
    erp.exec("DELETE FROM stock WHERE CAST(substr(sku, 3) AS INTEGER) > 69");
    await run("stocks");
    expect(isUnseen()).toBe(false);
    // A change of a row that stays at zero is none.
    erp.exec("UPDATE stock SET quantity = -1 WHERE quantity = 0");
    clock.advance(1_000);
    await run("stocks");
    expect(isUnseen()).toBe(false);
    clock.advance(2 * DELETE_AFTER_MS);
    erp.exec("UPDATE stock SET quantity = 5 WHERE quantity < 0");
    await run("stocks");
    expect(rows("SELECT detail FROM holds")[0]).toMatchObject({ detail: expect.stringMatching(/^31 of /) });
    expect(isUnseen()).toBe(true);
  });

  itWhole("tells them also where the clock was set back while they are held", async () => {
    const { erp, run, zero, bridge, clock } = await startFilled();
    const isUnseen = () => !coveredRows(bridge.store, "stocks", { rows: 40, deleteAfterMs: DELETE_AFTER_MS }).isShown;
    zero(1, 40);
    await run("stocks");
    clock.jump(-100 * HOUR_MS);
    await run("stocks");
    expect(isUnseen()).toBe(false);
    clock.advance(60_000);
    erp.exec("UPDATE stock SET quantity = iif(CAST(substr(sku, 3) AS INTEGER) > 60, 0, 5)");
    await run("stocks");
    expect(isUnseen()).toBe(true);
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

  describe("counts rows by when they went to zero, so that it", () => {
    it("lets sales go that piled up while the service was out of order", async () => {
      const { run, zero, zeros, holds, sandbox, clock } = await startFilled();
      sandbox.service.setOptions({ paid: false });
      for (const first of [1, 11, 21, 31]) {
        zero(first, first + 9);
        await run("stocks");
        clock.advance(HOUR_MS + 1);
      }
      sandbox.service.setOptions({ paid: true });
      await run("stocks");
      expect([zeros(), holds()]).toEqual([40, []]);
    });

    it("lets a row go that sells out long after those that it holds", async () => {
      const test = await startFilled();
      const { run, zero, zeros, holds, clock, rows, restart } = test;
      zero(1, 40);
      await run("stocks");
      clock.advance(HOUR_MS + 1);
      zero(41, 45);
      await run("stocks");
      expect([zeros(), holds()]).toEqual([5, GUARDED]);
      expect(rows("SELECT detail FROM holds")).toEqual([
        { detail: expect.stringMatching(/^40 of 100 rows .* --rows 40$/) },
      ]);
      expect(rows("SELECT count(*) AS n FROM stock_sent WHERE state = 'guarded'")).toEqual([{ n: 40 }]);
      await restart();
      zero(46, 47);
      await run("stocks");
      expect([zeros(), holds()]).toEqual([7, GUARDED]);
      const { store } = test.bridge;
      expect(store.write(() => approveGuarded(store, "stocks"))).toBe(40);
      await run("stocks");
      expect([zeros(), holds()]).toEqual([47, []]);
    });

    itWhole("holds what goes slowly as a whole, with what of it was sent, however much is sent later", async () => {
      const { run, zero, zeros, holds, clock, rows } = await startFilled();
      for (const first of [1, 6, 11, 16, 21, 26, 31, 36]) {
        zero(first, first + 4);
        await run("stocks");
        clock.advance(HOUR_MS / 9);
      }
      expect([zeros(), holds()]).toEqual([30, GUARDED]);
      for (const sku of [41, 42]) {
        clock.advance(2 * HOUR_MS);
        zero(sku, sku);
        await run("stocks");
      }
      expect([zeros(), holds()]).toEqual([32, GUARDED]);
      expect(rows("SELECT count(*) AS n FROM stock_sent WHERE state = 'guarded'")).toEqual([{ n: 10 }]);
    });

    itWhole("keeps the time of a row that changes again while it waits, and not of one that came back", async () => {
      const { erp, run, zero, zeros, holds, clock, sandbox, rows } = await startFilled();
      const times = () =>
        rows<{ at: string }>("SELECT DISTINCT dropped_at AS at FROM feed_outbox ORDER BY at").map(({ at }) => at);
      sandbox.service.setOptions({ paid: false });
      zero(1, 20);
      await run("stocks");
      const [first] = times();
      clock.advance(2 * HOUR_MS);
      erp.exec("UPDATE stock SET quantity = -1 WHERE CAST(substr(sku, 3) AS INTEGER) <= 10");
      erp.exec("DELETE FROM stock WHERE sku = 'S-11'");
      zero(21, 40);
      await run("stocks");
      expect([times().length, times()[0]]).toEqual([2, first]);
      erp.exec("UPDATE stock SET quantity = 5 WHERE CAST(substr(sku, 3) AS INTEGER) <= 20");
      await run("stocks");
      zero(1, 20);
      clock.advance(HOUR_MS / 2);
      await run("stocks");
      sandbox.service.setOptions({ paid: true });
      clock.advance(HOUR_MS);
      await run("stocks");
      // The deleted one went first, and alone.
      expect([zeros(), holds()]).toEqual([1, GUARDED]);
    });

    itWhole("counts deleted rows from when they were away", async () => {
      const { erp, run, minutes, zeros, holds, sandbox, clock } = await startFilled();
      sandbox.service.setOptions({ paid: false });
      for (const last of [20, 40]) {
        erp.prepare("DELETE FROM stock WHERE CAST(substr(sku, 3) AS INTEGER) <= ?").run(last);
        await run("stocks");
        clock.advance(2 * HOUR_MS);
      }
      sandbox.service.setOptions({ paid: true });
      await minutes(2);
      expect([zeros(), holds()]).toEqual([40, []]);
    });

    itWhole("holds rows together that a pass finds after the bridge was stopped, whenever they went", async () => {
      const { run, zero, zeros, holds, clock, restart } = await startFilled();
      zero(1, 20);
      clock.advance(5 * HOUR_MS);
      zero(21, 40);
      await restart();
      await run("stocks");
      expect([zeros(), holds()]).toEqual([0, GUARDED]);
    });

    itWhole("counts what one pass finds together, however long the pass takes", async () => {
      const test = await startFeeds();
      const { erp, run, holds, clock } = test;
      fillStock(erp, 3_000);
      await run("stocks");
      erp.exec("UPDATE stock SET quantity = 0");
      clock.onSleep = () => clock.advance(HOUR_MS + 1);
      await run("stocks");
      expect([zerosOf(test), holds()]).toEqual([0, GUARDED]);
    });

    it("forgets what went while the clock was ahead, `over` after the clock was set right", async () => {
      const { run, zero, zeros, holds, clock, restart } = await startFilled();
      clock.jump(365 * 24 * HOUR_MS);
      zero(1, 25);
      await run("stocks");
      clock.jump(-365 * 24 * HOUR_MS);
      await restart();
      await run("stocks");
      clock.advance(HOUR_MS / 2);
      zero(26, 35);
      await run("stocks");
      expect([zeros(), holds()]).toEqual([25, GUARDED]);
      clock.advance(HOUR_MS);
      zero(36, 40);
      await run("stocks");
      expect([zeros(), holds()]).toEqual([30, GUARDED]);
    });

    itWhole.each([-10 * 365 * 24, -2, 2, 10 * 365 * 24])(
      "lets nothing go that it holds where the clock jumps by %i hours",
      async (hours) => {
        const { run, zero, zeros, holds, clock, restart } = await startFilled();
        zero(1, 25);
        await run("stocks");
        clock.advance(HOUR_MS / 2);
        zero(26, 40);
        await run("stocks");
        clock.jump(hours * HOUR_MS);
        await run("stocks");
        clock.advance(2 * HOUR_MS);
        await restart();
        await run("stocks");
        expect([zeros(), holds()]).toEqual([25, GUARDED]);
      },
    );

    itWhole("keeps few times of sent rows, however long rows are held", async () => {
      const { bridge, run, zero, zeros, holds, clock, rows } = await startFilled();
      zero(1, 40);
      await run("stocks");
      const startMs = clock.nowMs();
      const at = (hours: number) => new Date(startMs + hours * HOUR_MS).toISOString();
      const insert = bridge.store.db.prepare("INSERT INTO feed_drops (feed_id, at, count) VALUES (1, ?, 1)");
      for (let hours = 1; hours <= 3_000; hours++) insert.run(at(hours));
      clock.advance(3_000 * HOUR_MS);
      await run("stocks");
      expect(rows("SELECT at FROM feed_drops ORDER BY at")).toEqual(
        [1, 2_999, 3_000].map((hours) => ({ at: at(hours) })),
      );
      expect([zeros(), holds()]).toEqual([0, GUARDED]);
    });

    itWhole("is not worn down by articles that sell out and come back", async () => {
      const { erp, run, zero, zeros, holds, clock } = await startFilled();
      zero(1, 40);
      await run("stocks");
      for (let turn = 0; turn < 20; turn++) {
        clock.advance(2 * HOUR_MS);
        zero(51, 60);
        await run("stocks");
        clock.advance(2 * HOUR_MS);
        erp.exec("UPDATE stock SET quantity = 5 WHERE CAST(substr(sku, 3) AS INTEGER) > 50");
        await run("stocks");
      }
      expect([zeros(), holds()]).toEqual([0, GUARDED]);
    });
  });
});

describe("the guard of a feed without a number to sell", () => {
  const own = { record: { sku: "{sku}", state: "{unit}" }, on_delete: { state: "archived" } };
  const TO_OFF = "UPDATE products SET active = 0, unit = 'archived' WHERE";

  async function startCatalog(more: object = {}) {
    const imports = { catalog: { path: "/api/v1/import/catalog", delete_after: "1s", ...more } };
    const test = await startFeeds({ settings: { imports }, arm: ["catalog"] });
    const add = test.erp.prepare("INSERT INTO products (sku, name, unit, active) VALUES (?, 'n', 'pcs', 1)");
    for (let row = 0; row < 100; row++) add.run(`S${row + 100}`);
    await test.run("catalog");
    const off = () =>
      Object.values(test.site("catalog")).filter((one) => {
        const { active, state } = one as { active?: boolean; state?: string };
        return active === false || state === "archived";
      }).length;
    return Object.assign(test, { off });
  }

  it("holds rows that go to what a deleted one sends", async () => {
    const { erp, run, off, holds, bridge, rows } = await startCatalog();
    erp.exec(`${TO_OFF} true`);
    await run("catalog");
    expect([off(), holds()]).toEqual([0, [{ area: "catalog", reason: "guard" }]]);
    expect(bridge.store.write(() => approveGuarded(bridge.store, "catalog"))).toBe(100);
    await run("catalog");
    expect([off(), holds()]).toEqual([100, []]);
    expect(rows("SELECT live_count AS live FROM feeds WHERE name = 'catalog'")).toEqual([{ live: 0 }]);
  });

  itWhole.each([
    { name: "the default", more: {} },
    { name: "a template of one's own", more: own },
    { name: "a table that is sent whole", more: { scope: "whole" } },
  ])("counts them together with rows that are deleted: $name", async ({ more }) => {
    const { erp, run, minutes, minute, off, holds, site } = await startCatalog(more);
    erp.exec(`${TO_OFF} sku < 'S120'`);
    erp.exec("DELETE FROM products WHERE sku >= 'S185'");
    for (let passed = 0; passed < 3; passed++) await minute("catalog");
    expect(holds()).toEqual([{ area: "catalog", reason: "guard" }]);
    const before = off();
    erp.exec("UPDATE products SET name = 'other', article = 'x' WHERE sku = 'S150'");
    await minute("catalog");
    expect([off(), Object.keys(site("catalog")).length]).toEqual([before, 100]);
    void minutes;
    void run;
  });

  itWhole("counts no row that is off already, also one that an earlier version counted as on sale", async () => {
    const { erp, run, off, holds, bridge, minute } = await startCatalog();
    erp.exec(`${TO_OFF} sku < 'S125'`);
    await run("catalog");
    expect([off(), holds()]).toEqual([25, []]);
    bridge.store.write(() => bridge.store.db.exec("UPDATE feed_sent SET live = 1"));
    erp.exec("UPDATE products SET name = 'other' WHERE sku < 'S125'");
    erp.exec(`${TO_OFF} sku BETWEEN 'S125' AND 'S128'`);
    await minute("catalog");
    expect([off(), holds()]).toEqual([29, []]);
  });
});

describe("an upgrade", () => {
  it.each([true, false])("lets nothing go that the guard held (%s) or had not looked at", (isHeld) => {
    const folder = tempFolder("guard");
    const open = (migrationsFolder: string) =>
      openStore({ path: path.join(folder, "bridge.db"), migrationsFolder, mode: "daemon", now: () => 0 });
    const former = open(formerMigrations(folder, "drop_times"));
    const since = "2026-03-01T12:00:00.000Z";
    former.db.exec(`UPDATE feeds SET live_count = 75, approved_round = 3, guard_since = ${isHeld ? `'${since}'` : "NULL"};
      INSERT INTO feed_drops (feed_id, at, count) VALUES (1, '2026-03-01T11:30:00.000Z', 25)`);
    const insert = former.db.prepare(
      "INSERT INTO feed_outbox (feed_id, k0, record, waiting_since, drop_round) VALUES (1, ?, '0', ?, ?)",
    );
    for (const [sku, round] of Object.entries({ approved: 3, shown: 4, unshown: Number.MAX_SAFE_INTEGER, rest: null }))
      insert.run(sku, "2026-02-01T00:00:00.000Z", round);
    former.close();
    const store = open(MIGRATIONS_FOLDER);
    const groups = loadDrops(store, rules, { dropRound: 3, awayBeforeMs: 0 });
    const at = isHeld ? since : expect.not.stringMatching("2026-02-01");
    expect(groups).toEqual([
      { at, isShown: false, due: 1, early: 0 },
      { at, isShown: true, due: 1, early: 0 },
    ]);
    expect(store.db.prepare("SELECT k0 FROM feed_outbox WHERE dropped_at IS NULL").pluck().all()).toEqual(["rest"]);
    store.close();
  });
});
