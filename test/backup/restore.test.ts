import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { SEQ_MARGIN } from "../../src/backup/settle.ts";
import { restoreDatabase } from "../../src/cli/restore-bridge.ts";
import { loadMeta } from "../../src/database/meta.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { m } from "../../src/messages/messages.ts";
import { raiseRevisions } from "../../src/orders/order-rows.ts";
import { collectingLog, configFor, type Settings } from "../support/bridge.ts";
import { saying } from "../support/messages.ts";
import { createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, liveADay, type Scene, STOCK, startScene, takeAll } from "../support/restored.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

function expectInStep(scene: Scene): void {
  expectComplete(scene);
  const stored = scene.rows<{ order_id: string; payload: string }>("SELECT order_id, payload FROM orders");
  for (const { order_id, payload } of stored) expect(payload).toBe(scene.sandbox.ledger.newest(order_id));
  expect(scene.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  expect(scene.rows("PRAGMA foreign_key_check")).toEqual([]);
  expect(
    scene.rows(
      "SELECT count(*) AS n, order_id FROM order_events WHERE kind = 'created' GROUP BY order_id HAVING n <> 1",
    ),
  ).toEqual([]);
}

describe("restoring a copy", () => {
  it("ends in step with the service where the replaced file is there, and sends nothing twice", async () => {
    const scene = await startScene();
    await liveADay(scene);
    const covered = new Database(scene.copy, { readonly: true }).prepare("SELECT value FROM watermarks").all();
    expect(scene.rows("SELECT value FROM watermarks")).not.toEqual(covered);
    const before = {
      events: scene.rows("SELECT * FROM order_events ORDER BY seq"),
      orders: scene.rows("SELECT * FROM orders ORDER BY order_key"),
      lines: scene.rows("SELECT * FROM order_lines ORDER BY order_id, line_no"),
      marks: scene.rows("SELECT * FROM erp_orders ORDER BY order_id"),
      stock: scene.rows("SELECT * FROM stock ORDER BY sku"),
      sent: scene.rows("SELECT * FROM feed_sent ORDER BY k0"),
      seq: scene.rows("SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'"),
    };
    const report = await scene.restore();
    expect(report).toMatchObject({ complete: true, gap: null, carried: { orders: 9 } });
    expect({
      events: scene.rows("SELECT * FROM order_events ORDER BY seq"),
      orders: scene.rows("SELECT * FROM orders ORDER BY order_key"),
      lines: scene.rows("SELECT * FROM order_lines ORDER BY order_id, line_no"),
      marks: scene.rows("SELECT * FROM erp_orders ORDER BY order_id"),
      stock: scene.rows("SELECT * FROM stock ORDER BY sku"),
      sent: scene.rows("SELECT * FROM feed_sent ORDER BY k0"),
      seq: scene.rows("SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'"),
    }).toEqual(before);
    expect(scene.rows("SELECT value FROM watermarks")).toEqual(covered);
    expect(scene.rows("SELECT * FROM orders_pending")).toEqual([]);
    expect(scene.rows("SELECT * FROM holds")).toEqual([]);
    const pushes = scene.sandbox.ledger.ofKind("import").length;
    await drain(scene);
    expectInStep(scene);
    expect(scene.sandbox.ledger.ofKind("import").length).toBe(pushes);
    expect(existsSync(report.replaced!)).toBe(true);
    expect(readdirSync(scene.folder).filter((name) => name.includes("restor"))).toEqual([]);
  });

  itWhole(
    "names the gap where the replaced file is gone, loses no order that the service still has, and never gives a number twice",
    async () => {
      const scene = await startScene();
      const { late } = await liveADay(scene);
      const copiedAt = new Date(scene.clock.nowMs()).toISOString();
      const last = scene.rows<{ seq: number }>("SELECT max(seq) AS seq FROM order_events")[0]!.seq;
      const report = await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      expect(report).toMatchObject({ complete: false, replaced: null });
      expect(String(report.gap)).toContain(report.copiedAt!);
      expect(report.copiedAt! < copiedAt).toBe(true);
      const holds = [{ reason: "restored" }, { reason: "unrestored" }];
      expect(scene.rows("SELECT reason FROM holds ORDER BY area")).toEqual(holds);
      // Orders that were confirmed in between are not handed out again; one that changes is brought back by the updates.
      scene.sandbox.service.changeOrder(late[0]!, { status: "paid" });
      const [fresh] = createOrders(scene, 1);
      await drain(scene);
      const ids = scene.rows<{ order_id: string }>("SELECT order_id FROM orders").map(({ order_id }) => order_id);
      expect(ids).toContain(late[0]);
      expect(ids).toContain(fresh);
      expect(
        scene.rows<{ seq: number }>("SELECT min(seq) AS seq FROM order_events WHERE seq > ?", last)[0]!.seq,
      ).toBeGreaterThan(SEQ_MARGIN);
      expect(scene.rows("SELECT reason FROM holds ORDER BY area")).toEqual(holds);
    },
  );

  itWhole(
    "gives no revision twice where the replaced file is gone, neither of an order of the copy nor of a later one",
    async () => {
      const scene = await startScene({ statuses: { path: "/api/v1/1c/orders/{order_id}/status" } });
      const { early, late } = await liveADay(scene);
      const kept = [early[2]!, late[0]!];
      const revisions = () =>
        kept.map(
          (id) =>
            scene.rows<{ revision: number }>("SELECT revision FROM orders WHERE order_id = ?", id)[0]?.revision ?? 0,
        );
      const change = async (status: string) => {
        scene.clock.advance(3_600_000);
        for (const id of kept) scene.sandbox.service.changeOrder(id, { status });
        await drain(scene);
      };
      await change("paid");
      await change("packed");
      const held = revisions();
      await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      await change("paid");
      const first = revisions();
      expect(Math.min(...first)).toBeGreaterThan(SEQ_MARGIN);
      await change("cancelled");
      expect(revisions()).toEqual(first.map((revision) => revision + 1));
      // What the ERP marks and asks for by the numbers that it holds counts as older than the cancellation.
      for (const [index, id] of kept.entries()) {
        const mark =
          "INSERT INTO erp_orders (order_id, seen_revision) VALUES (?, ?) ON CONFLICT (order_id) DO UPDATE SET seen_revision = ?";
        scene.bridge.store.db.prepare(mark).run(id, held[index], held[index]);
        scene.bridge.store.db
          .prepare("INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, 'shipped', ?)")
          .run(id, held[index]);
      }
      expect(scene.rows("SELECT order_id, why FROM orders_pending WHERE is_cancelled ORDER BY order_id")).toEqual(
        kept.toSorted().map((order_id) => ({ order_id, why: "cancelled" })),
      );
      await scene.run("statuses");
      expect(scene.rows("SELECT state FROM status_requests")).toEqual([{ state: "refused" }, { state: "refused" }]);
      expect(kept.map((id) => scene.sandbox.service.statusOf(id))).toEqual(["cancelled", "cancelled"]);
    },
  );

  itWhole("keeps what was left out of the revisions since the copy where everything is brought over", async () => {
    const scene = await startScene();
    const { early } = await liveADay(scene);
    const { store } = scene.bridge;
    store.write(() => raiseRevisions(store));
    const floor = Number(loadMeta(store, "revision_floor"));
    expect(await scene.restore()).toMatchObject({ complete: true });
    scene.sandbox.service.changeOrder(early[0]!, { status: "paid" });
    await drain(scene);
    expect(scene.rows("SELECT revision FROM orders WHERE order_id = ?", early[0])).toEqual([{ revision: floor + 1 }]);
  });

  itWhole(
    "sends nothing of the feeds where the replaced file is gone until a person says so, and then every row again with its newest value",
    async () => {
      const scene = await startScene();
      await liveADay(scene);
      const before = new Map(scene.sandbox.service.imported("stocks"));
      await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      await drain(scene);
      expect(scene.sandbox.service.imported("stocks")).toEqual(before);
      scene.bridge.store.db.exec("DELETE FROM holds WHERE reason = 'unrestored'");
      // The ERP writes its table anew. A is again what the copy knows as acknowledged, but the site has 1.
      scene.bridge.store.db.exec("DELETE FROM stock; INSERT INTO stock (sku, quantity) VALUES ('A', 5), ('D', 4.25)");
      await drain(scene);
      const site = scene.sandbox.service.imported("stocks");
      expect([...site.values()].sort()).toEqual([
        '{"sku":"A","warehouse":"","quantity":5}',
        '{"sku":"B","warehouse":"","quantity":0}',
        '{"sku":"C","warehouse":"","quantity":0}',
        '{"sku":"D","warehouse":"","quantity":4.25}',
      ]);
    },
  );

  itWhole(
    "is refused with a copy that is damaged, foreign or of another account, and leaves everything as it was",
    async () => {
      const scene = await startScene();
      await liveADay(scene);
      await scene.bridge.stop();
      const loaded = configFor(scene.sandbox, scene.folder);
      const attempt = (file: string, settings: Settings = {}) =>
        restoreDatabase({
          loaded: Object.keys(settings).length === 0 ? loaded : configFor(scene.sandbox, scene.folder, settings),
          file,
          migrationsFolder: MIGRATIONS_FOLDER,
          clock: scene.clock,
          log: collectingLog([]),
          agree: async () => true,
          onStep: () => {},
        });
      const foreign = new Database(path.join(scene.folder, "foreign.db"));
      foreign.exec("CREATE TABLE orders (id)");
      foreign.close();
      await expect(attempt(path.join(scene.folder, "foreign.db"))).rejects.toMatchObject({ code: "database_refused" });
      await expect(attempt(path.join(scene.folder, "none.db"))).rejects.toMatchObject({ code: "usage" });
      await expect(attempt(scene.database)).rejects.toMatchObject({ code: "usage" });
      await expect(attempt(scene.copy, { service: { client_id: "another" } })).rejects.toMatchObject({
        code: "account_changed",
      });
      const newer = new Database(scene.copy);
      newer.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 9999999999999)");
      newer.close();
      await expect(attempt(scene.copy)).rejects.toMatchObject({ code: "database_newer" });
      expect(readdirSync(scene.folder).filter((name) => name.includes("restor") || name.includes("replaced"))).toEqual(
        [],
      );
      await scene.restart();
      expectNothingLost(scene);
    },
  );

  itWhole("says what going back to an older program costs where the replaced file is of a newer one", async () => {
    const scene = await startScene();
    await liveADay(scene);
    await scene.bridge.stop();
    const newer = new Database(scene.database);
    newer.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 9999999999999)");
    newer.close();
    const attempt = restoreDatabase({
      loaded: configFor(scene.sandbox, scene.folder),
      file: scene.copy,
      migrationsFolder: MIGRATIONS_FOLDER,
      clock: scene.clock,
      log: collectingLog([]),
      agree: async () => true,
      onStep: () => {},
    });
    await expect(attempt).rejects.toMatchObject({
      code: "database_newer",
      message: expect.stringContaining(scene.database),
      hint: saying("is then missing"),
    });
  });

  itWhole("is given up where another program writes meanwhile, and nothing has changed", async () => {
    const scene = await startScene();
    await liveADay(scene);
    await scene.bridge.stop();
    const attempt = restoreDatabase({
      loaded: configFor(scene.sandbox, scene.folder),
      file: scene.copy,
      migrationsFolder: MIGRATIONS_FOLDER,
      clock: scene.clock,
      log: collectingLog([]),
      agree: async () => true,
      onStep: (step) => {
        if (step !== m.restore.verifyingResult) return;
        const erp = new Database(scene.database);
        erp.prepare(STOCK).run("Z", 3);
        erp.close();
      },
    });
    await expect(attempt).rejects.toMatchObject({ code: "database_busy" });
    expect(readdirSync(scene.folder).filter((name) => name.includes("restor") || name.includes("replaced"))).toEqual(
      [],
    );
    await scene.restart();
    expect(scene.rows("SELECT quantity FROM stock WHERE sku = 'Z'")).toEqual([{ quantity: 3 }]);
  });

  itWhole("brings a copy of an older version up to this one", async () => {
    const scene = await startScene();
    const older = path.join(scene.folder, "older");
    mkdirSync(path.join(older, "meta"), { recursive: true });
    const journal = JSON.parse(readFileSync(path.join(MIGRATIONS_FOLDER, "meta", "_journal.json"), "utf8")) as {
      entries: { tag: string }[];
    };
    const first = { ...journal, entries: journal.entries.slice(0, 2) };
    writeFileSync(path.join(older, "meta", "_journal.json"), JSON.stringify(first));
    for (const { tag } of first.entries)
      copyFileSync(path.join(MIGRATIONS_FOLDER, `${tag}.sql`), path.join(older, `${tag}.sql`));
    const store = openStore({ path: scene.copy, migrationsFolder: older, mode: "command" });
    store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('old', 1)");
    store.close();
    createOrders(scene, 2);
    await drain(scene);
    const report = await scene.restore();
    expect(report.carried).toMatchObject({ orders: 2 });
    await drain(scene);
    expectComplete(scene);
    expect(readdirSync(scene.folder).filter((name) => name.includes("before-"))).toEqual([]);
  });

  itWhole("asks for the order before a request goes that the copy has as not sent yet", async () => {
    const settings = { statuses: { path: "/api/v1/1c/orders/{order_id}/status", map: { done: "delivered" } } };
    const scene = await startScene(settings);
    const [first, second] = createOrders(scene, 2);
    await drain(scene);
    scene.bridge.store.db
      .prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'done'), (?, 'paid')")
      .run(first, second);
    await scene.backUp();
    await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(scene.rows("SELECT state, status_sent FROM status_requests ORDER BY id")).toEqual([
      { state: "sending", status_sent: "delivered" },
      { state: "sending", status_sent: "paid" },
    ]);
  });

  itWhole.each([
    ["is taken back", [{ status: "new" }]],
    ["is followed by a cancellation and an opening", [{ status: "cancelled" }, { status: "new" }]],
    ["is taken back as the order gets another total", [{ status: "new", total: "77.00" }]],
  ])("sends no status again that the copy has as not sent, and that %s", async (_, changes) => {
    const scene = await startScene({ statuses: { path: STATUS_PATH } });
    const [taken, other] = createOrders(scene, 2) as [string, string];
    await drain(scene);
    takeAll(scene);
    const ask = "INSERT INTO status_requests (order_id, status) VALUES (?, 'packed'), (?, 'packed')";
    scene.bridge.store.db.prepare(ask).run(taken, other);
    await scene.backUp();
    scene.bridge.store.db.prepare("DELETE FROM status_requests WHERE order_id = ?").run(other);
    scene.clock.advance(60_000);
    await scene.run("statuses");
    for (const change of changes) {
      scene.clock.advance(600_000);
      scene.sandbox.service.changeOrder(taken, change);
      await scene.run("updates");
    }
    await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    const effects = () => scene.sandbox.ledger.effects("status").map(({ orderId }) => orderId);
    expect(effects()).toEqual([taken]);
    for (let pass = 0; pass < 3; pass++) {
      await scene.run("updates");
      await scene.run("statuses");
      scene.clock.advance(660_000);
    }
    expect(effects()).toEqual([taken, other]);
    expect(scene.rows("SELECT order_id, state, last_error FROM status_requests ORDER BY id")).toEqual([
      { order_id: taken, state: "refused", last_error: expect.stringContaining("changed") },
      { order_id: other, state: "sent", last_error: null },
    ]);
  });

  itWhole("leaves the old database in place where the person says no", async () => {
    const scene = await startScene();
    await liveADay(scene);
    await scene.bridge.stop();
    const said = await restoreDatabase({
      loaded: configFor(scene.sandbox, scene.folder),
      file: scene.copy,
      migrationsFolder: MIGRATIONS_FOLDER,
      clock: scene.clock,
      log: collectingLog([]),
      agree: async (plan) => {
        expect(plan).toMatchObject({ copy: { orders: 12 }, replaced: { state: "there", continues: true, orders: 20 } });
        return false;
      },
      onStep: () => {},
    });
    expect(said).toBeUndefined();
    await scene.restart();
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 20 }]);
  });

  itWhole(
    "names a copy in backup.dir that holds more, whatever its name says, where the replaced file does not",
    async () => {
      const scene = await startScene();
      await liveADay(scene);
      const offsetMs = -4_000 * 86_400_000;
      scene.clock.jump(offsetMs);
      expect((await scene.run("backup")).error).toBeNull();
      scene.clock.jump(-offsetMs);
      const whole = await scene.restore();
      expect(String(whole.notes)).not.toContain("holds more");
      const report = await scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      });
      expect(String(report.notes)).toMatch(/backups\/bridge-2015\d+T\d+Z\.db holds more than this copy/u);
    },
  );

  itWhole(
    "brings the ERP's own tables, views and triggers over as they are, and keeps what a fresh file lacks",
    async () => {
      const scene = await startScene();
      await liveADay(scene);
      scene.bridge.store.db.exec(`
      CREATE TABLE erp_own (id INTEGER PRIMARY KEY, what TEXT, x ANY) STRICT;
      CREATE INDEX erp_own_what ON erp_own (what);
      CREATE VIEW erp_view AS SELECT what FROM erp_own;
      CREATE TRIGGER erp_note AFTER UPDATE ON erp_own BEGIN UPDATE erp_own SET x = x + 1 WHERE id = NEW.id AND x < 5; END;
      INSERT INTO erp_own VALUES (1, 'a', 1.5), (2, 'b', 9007199254740993), (3, 'c', x'00ff')`);
      const before = scene.rows("SELECT id, what, CAST(x AS TEXT) AS x, typeof(x) AS t FROM erp_own");
      const report = await scene.restore();
      expect(report.complete).toBe(true);
      expect(scene.rows("SELECT id, what, CAST(x AS TEXT) AS x, typeof(x) AS t FROM erp_own")).toEqual(before);
      expect(
        scene.rows(
          "SELECT name FROM sqlite_schema WHERE name LIKE 'erp\\_own\\_what' ESCAPE '\\' OR name IN ('erp_view', 'erp_note') ORDER BY name",
        ),
      ).toEqual([{ name: "erp_note" }, { name: "erp_own_what" }, { name: "erp_view" }]);
    },
  );

  itWhole("gives later requests a number where an older version took an id that leaves none", async () => {
    const scene = await startScene();
    const [order] = createOrders(scene, 1);
    await drain(scene);
    const { db } = scene.bridge.store;
    db.exec("DROP TRIGGER status_requests_id");
    const insert = db.prepare(
      "INSERT INTO status_requests (id, order_id, status, state) VALUES (?, ?, 'packed', 'sent')",
    );
    insert.run(7, order);
    insert.run(2n ** 63n - 1n, order);
    db.exec("DELETE FROM status_requests WHERE id > 7");
    await scene.backUp();
    await scene.restore(() => {
      for (const name of readdirSync(scene.folder))
        if (name.startsWith("bridge.db")) rmSync(path.join(scene.folder, name));
    });
    expect(scene.rows("SELECT reason FROM holds WHERE area = 'orders'")).toEqual([{ reason: "restored" }]);
    scene.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'shipped')").run(order);
    expect(scene.rows("SELECT id FROM status_requests ORDER BY id")).toEqual([{ id: 7 }, { id: 7 + SEQ_MARGIN + 1 }]);
  });

  itWhole("brings a request over whose id leaves no number for later ones", async () => {
    const scene = await startScene();
    const [order] = createOrders(scene, 1);
    await drain(scene);
    await scene.backUp();
    scene.bridge.store.db.exec("DROP TRIGGER status_requests_id");
    const insert = "INSERT INTO status_requests (id, order_id, status, state) VALUES (?, ?, 'packed', 'sent')";
    scene.bridge.store.db.prepare(insert).run(2n ** 63n - 1n, order);
    expect(await scene.restore()).toMatchObject({ complete: true });
    scene.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'shipped')").run(order);
    const ids = "SELECT CAST(id AS TEXT) AS id, status FROM status_requests ORDER BY status_requests.id";
    expect(scene.rows(ids)).toEqual([
      { id: "9123372036854775807", status: "packed" },
      { id: "9123372036854775808", status: "shipped" },
    ]);
  });

  itWhole(
    "takes a database without orders for what became of its copy, and one that is older than the copy for none",
    async () => {
      const scene = await startScene();
      scene.bridge.store.db.prepare(STOCK).run("A", 5);
      await drain(scene);
      const old = path.join(scene.folder, "old.db");
      scene.bridge.store.db.prepare("VACUUM INTO ?").run(old);
      scene.clock.advance(60_000);
      await scene.backUp();
      for (let time = 0; time < 2; time++) {
        const report = await scene.restore();
        expect(report).toMatchObject({ complete: true, gap: null });
        expect(scene.rows("SELECT reason FROM holds")).toEqual([]);
      }
      await drain(scene);
      for (const suffix of ["", ".config.yaml"]) rmSync(`${scene.copy}${suffix}`);
      await scene.backUp();
      const report = await scene.restore(() => {
        for (const suffix of ["-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
        copyFileSync(old, scene.database);
      });
      expect(report).toMatchObject({ complete: false });
    },
  );

  itWhole("takes a file that was begun anew after a loss for what it is: both are kept, the gap is told", async () => {
    const scene = await startScene();
    const { late } = await liveADay(scene);
    const report = await scene
      .restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
        renameSync(scene.copy, `${scene.copy}.later`);
      })
      .catch((error: { code: string }) => error);
    expect(report).toMatchObject({ code: "usage" });
    await expect(scene.restart()).rejects.toMatchObject({ code: "database_refused" });
    // As `init --force` does where somebody decides so.
    openStore({ path: scene.database, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" }).close();
    await scene.restart();
    const fresh = createOrders(scene, 3);
    scene.bridge.store.db.prepare(STOCK).run("E", 2);
    await drain(scene);
    renameSync(`${scene.copy}.later`, scene.copy);
    const second = await scene.restore();
    expect(second).toMatchObject({ complete: false, carried: { orders: 3, events: 3 } });
    expect(String(second.gap)).toContain("not made from the one that was copied");
    await drain(scene);
    const ids = scene.rows<{ order_id: string }>("SELECT order_id FROM orders").map(({ order_id }) => order_id);
    expect(ids).toEqual(expect.arrayContaining(fresh));
    expect(ids).toHaveLength(15);
    expect(late.some((id) => ids.includes(id))).toBe(false);
    expect(scene.rows("SELECT sku FROM stock ORDER BY sku")).toEqual(["A", "B", "C", "E"].map((sku) => ({ sku })));
  });
});
