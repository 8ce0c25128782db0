import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { RULES } from "../../src/backup/carry-tables.ts";
import { finishSwap, swapDatabase } from "../../src/database/file/swap-files.ts";
import { ProgressNote } from "../../src/database/log/progress-note.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, liveADay, type Scene, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

describe("restoring beside a damaged database", () => {
  itWhole("reads at the service what cannot be read there, and names the gap", async () => {
    const scene = await startScene();
    const { late } = await liveADay(scene);
    const report = await scene.restore(() => {
      const db = new Database(scene.database);
      db.pragma("wal_checkpoint(TRUNCATE)");
      // A flipped byte that SQLite itself does not notice, in one order and in one page.
      db.exec(
        `DROP TRIGGER orders_queue_changed; UPDATE orders SET payload = replace(payload, '"order_id"', '"order_iD"') WHERE order_id = '${late[1]}'`,
      );
      db.close();
    });
    expect(report.complete).toBe(false);
    expect(String(report.gap)).toContain("1 order not readable there");
    expect(scene.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: late[1] }]);
    await drain(scene);
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 20 }]);
    expectNothingLost(scene);
  });

  itWhole("keeps what the copy has where pages of the replaced file are gone, and ends with every order", async () => {
    const scene = await startScene();
    await liveADay(scene);
    const report = await scene.restore(() => {
      const db = new Database(scene.database);
      db.pragma("wal_checkpoint(TRUNCATE)");
      const pages = db
        .prepare("SELECT pageno FROM dbstat WHERE name IN ('orders', 'feed_sent') ORDER BY pageno")
        .pluck()
        .all() as number[];
      const size = db.pragma("page_size", { simple: true }) as number;
      db.close();
      const fd = openSync(scene.database, "r+");
      for (const page of pages) writeSync(fd, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
      closeSync(fd);
    });
    expect(report.complete).toBe(false);
    expect(String(report.gap)).toContain("feed_sent");
    await drain(scene);
    expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 20 }]);
    expect(scene.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect(scene.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("takes a file that is no database for gone, and keeps it under another name", async () => {
    const scene = await startScene();
    await liveADay(scene);
    const report = await scene.restore(() => {
      for (const suffix of ["-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
      writeFileSync(scene.database, "x".repeat(8192));
    });
    expect(String(report.gap)).toContain("cannot be read");
    expect(existsSync(report.replaced!)).toBe(true);
    const fresh = createOrders(scene, 2);
    await drain(scene);
    expect(scene.rows("SELECT count(*) AS n FROM orders WHERE order_id IN (?, ?)", ...fresh)).toEqual([{ n: 2 }]);
  });

  itWhole(
    "keeps an order whose batch is not confirmed yet with the service where it cannot be brought over",
    async () => {
      const scene = await startScene();
      createOrders(scene, 3);
      await drain(scene);
      await scene.backUp();
      scene.sandbox.faults.add({ match: { path: "confirm" }, times: 1, do: { kind: "status", status: 503 } });
      const [late] = createOrders(scene, 1);
      await scene.run("orders");
      expect(scene.sandbox.ledger.confirmedOrderIds().has(late!)).toBe(false);
      await scene.restore(() => {
        const db = new Database(scene.database);
        db.exec(`DELETE FROM order_line_rows; DELETE FROM orders WHERE order_id = '${late}'`);
        db.close();
      });
      expect(scene.rows("SELECT state FROM batches")).toEqual([{ state: "confirmed" }]);
      await drain(scene);
      expectComplete(scene);
    },
  );
});

inWhole("backup/restore", "backup/restore-damage").describe(
  "restoring beside a database that holds less than was stored",
  () => {
    const write = (scene: Scene, sql: string) => {
      const db = new Database(scene.database);
      db.exec(sql);
      db.close();
    };
    const progress = (scene: Scene) => `${scene.database}.progress`;
    /** What the row of `late` has left nowhere but here. */
    const EMPTIED = `
    DELETE FROM order_event_rows WHERE order_key > 12; DELETE FROM order_line_rows WHERE order_key > 12;
    DELETE FROM orders WHERE order_key > 12; UPDATE sqlite_sequence SET seq = 12 WHERE name = 'order_event_rows'`;

    itSome(1)<[string, RegExp, (scene: Scene) => void]>([
      [
        "an index has lost its rows",
        /is damaged \(.*batches_fingerprint/,
        (scene) => emptyPageOf(scene, "batches_fingerprint"),
      ],
      ["its newest orders are gone", /\.progress says that more/, (scene) => write(scene, EMPTIED)],
      [
        "older orders are gone whose history is there",
        /history names 2 orders/,
        (scene) =>
          write(
            scene,
            "PRAGMA foreign_keys = OFF; DELETE FROM order_line_rows WHERE order_key IN (14, 15); DELETE FROM orders WHERE order_key IN (14, 15)",
          ),
      ],
      [
        "its newest events are gone",
        /numbers say that more was stored: 3 events/,
        (scene) => write(scene, "DELETE FROM order_event_rows WHERE seq > (SELECT max(seq) - 3 FROM order_event_rows)"),
      ],
      [
        "it was truncated",
        /is damaged \(|cannot be read \(/,
        (scene) => {
          write(scene, "PRAGMA wal_checkpoint(TRUNCATE)");
          truncateSync(scene.database, Math.floor(statSync(scene.database).size / 8192) * 4096);
        },
      ],
      ["its note is gone", /no \.progress of its own/, (scene) => rmSync(progress(scene))],
      ["its note is damaged", /no \.progress of its own/, (scene) => writeFileSync(progress(scene), "x".repeat(1024))],
      [
        "its note is of another database",
        /no \.progress of its own/,
        (scene) => {
          rmSync(progress(scene));
          const note = new ProgressNote(scene.database);
          note.write({ database: "another", batches: 900, events: 900 }, null);
          note.close();
        },
      ],
      [
        "a former version made it, which wrote no note",
        /batches say that more was stored: 8 orders/,
        (scene) => {
          write(scene, `${EMPTIED}; DELETE FROM meta WHERE key = 'progress'`);
          rmSync(progress(scene));
        },
      ],
    ])("names the gap and sends the feeds again where %s", async (_, words, spoil) => {
      const scene = await startScene();
      await liveADay(scene);
      const sent = scene.sandbox.ledger.ofKind("import").length;
      const report = await scene.restore(() => spoil(scene));
      expect(report.complete).toBe(false);
      expect(String(report.gap)).toMatch(words);
      expect(scene.rows("SELECT area, reason, detail FROM holds WHERE area = 'orders'")).toEqual([
        { area: "orders", reason: "restored", detail: String(report.gap) },
      ]);
      scene.bridge.store.db.exec("DELETE FROM holds WHERE reason = 'unrestored'");
      await drain(scene);
      expect(scene.sandbox.ledger.ofKind("import").length).toBeGreaterThan(sent);
      // What a person has not answered yet stays, however often it is restored.
      const again = await scene.restore();
      expect(again.complete).toBe(false);
      expect(String(again.gap)).toMatch(words);
      expect(scene.rows("SELECT reason FROM holds")).toEqual([{ reason: "restored" }]);
    });

    itWhole(
      "names none where the note, the numbers and the rows agree, also after a restore that named one",
      async () => {
        const scene = await startScene();
        await liveADay(scene);
        await scene.restore(() => rmSync(progress(scene)));
        scene.bridge.store.db.exec("DELETE FROM holds");
        createOrders(scene, 2);
        await drain(scene);
        expect(await scene.restore()).toMatchObject({ complete: true, gap: null });
        expect(await scene.restore()).toMatchObject({ complete: true, gap: null });
        await drain(scene);
        expectNothingLost(scene);
      },
    );

    itWhole("is followed by no start while the note's name is a folder's, and says so", async () => {
      const scene = await startScene();
      await liveADay(scene);
      const restored = scene.restore(() => {
        rmSync(progress(scene));
        mkdirSync(progress(scene));
      });
      await expect(restored).rejects.toMatchObject({
        code: "database_refused",
        message: expect.stringContaining("a folder, a link or a pipe has the name of a file"),
      });
      rmdirSync(progress(scene));
      await scene.restart();
      // What shows that the replaced file was the newest one is gone.
      const held = [{ reason: "restored" }, { reason: "unrestored" }];
      expect(scene.rows("SELECT reason FROM holds ORDER BY area")).toEqual(held);
    });

    itWhole("is refused where a folder has the database's name", async () => {
      const scene = await startScene();
      await liveADay(scene);
      const refused = scene.restore(() => {
        for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
        mkdirSync(scene.database);
      });
      await expect(refused).rejects.toMatchObject({ code: "database_refused" });
      expect(readdirSync(scene.folder).filter((name) => name.includes("restor") || name.includes("replaced"))).toEqual(
        [],
      );
    });
  },
);

/** An index or a table of one page that has lost its rows; nothing that reads it meets an error. */
function emptyPageOf({ database }: Scene, name: string): void {
  const db = new Database(database);
  db.pragma("wal_checkpoint(TRUNCATE)");
  const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(name) as number;
  const size = db.pragma("page_size", { simple: true }) as number;
  db.close();
  const fd = openSync(database, "r+");
  writeSync(fd, Buffer.alloc(2), 0, 2, (page - 1) * size + 3);
  closeSync(fd);
}

describe("putting the restored file in place", () => {
  const STEPS = 4;

  itSome(1)(Array.from({ length: STEPS }, (_, step) => step))(
    "is finished by the next start after a power cut at step %i",
    (step) => {
      const folder = tempFolder("swap");
      const file = path.join(folder, "bridge.db");
      const made = (name: string, value: string) => {
        const store = openStore({
          path: path.join(folder, name),
          migrationsFolder: MIGRATIONS_FOLDER,
          mode: "command",
        });
        store.write(() => store.db.prepare("INSERT INTO meta (key, value) VALUES ('account', ?)").run(value));
        return store;
      };
      const old = made("bridge.db", "old");
      // The old one dies with its log beside it: a copy of both, taken while it is open.
      for (const name of ["bridge.db", "bridge.db-wal"])
        renameSync(path.join(folder, name), path.join(folder, `${name}.kept`));
      old.db.close();
      for (const name of readdirSync(folder))
        if (/^bridge\.db(-wal|-shm)?$/.test(name)) rmSync(path.join(folder, name));
      for (const name of ["bridge.db", "bridge.db-wal"])
        renameSync(path.join(folder, `${name}.kept`), path.join(folder, name));
      made("bridge.db.restoring", "new").close();
      writeFileSync(
        path.join(folder, "bridge.db.restore"),
        JSON.stringify({ work: "bridge.db.restoring", replaced: "bridge.db.replaced" }),
      );
      const renames: [string, string][] = [
        ["bridge.db", "bridge.db.replaced"],
        ["bridge.db-wal", "bridge.db.replaced-wal"],
        ["bridge.db.restoring", "bridge.db"],
      ];
      for (const [from, to] of renames.slice(0, step)) renameSync(path.join(folder, from), path.join(folder, to));
      expect(() => openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" })).toThrow(
        "interrupted",
      );
      finishSwap(file);
      const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" });
      expect(store.db.prepare("SELECT value FROM meta WHERE key = 'account'").pluck().get()).toBe("new");
      store.close();
      const kept = openStore({
        path: path.join(folder, "bridge.db.replaced"),
        migrationsFolder: MIGRATIONS_FOLDER,
        mode: "command",
      });
      expect(kept.db.prepare("SELECT value FROM meta WHERE key = 'account'").pluck().get()).toBe("old");
      kept.close();
      expect(existsSync(path.join(folder, "bridge.db.restore"))).toBe(false);
    },
  );

  itWhole("is finished by the daemon itself when it starts", async () => {
    const scene = await startScene();
    await liveADay(scene);
    await scene.bridge.stop();
    const work = openStore({
      path: `${scene.database}.restoring`,
      migrationsFolder: MIGRATIONS_FOLDER,
      mode: "command",
    });
    work.db.exec("INSERT INTO stock (sku, quantity) VALUES ('restored', 1)");
    work.close();
    writeFileSync(
      `${scene.database}.restore`,
      JSON.stringify({ work: "bridge.db.restoring", replaced: "bridge.db.replaced" }),
    );
    await scene.restart();
    expect(scene.rows("SELECT sku FROM stock")).toEqual([{ sku: "restored" }]);
    expect(existsSync(`${scene.database}.replaced`)).toBe(true);
  });

  itWhole("does nothing where nothing was begun, and may be repeated", () => {
    const folder = tempFolder("swap");
    const file = path.join(folder, "bridge.db");
    openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" }).close();
    openStore({ path: `${file}.restoring`, migrationsFolder: MIGRATIONS_FOLDER, mode: "command" }).close();
    finishSwap(file);
    swapDatabase(file, { work: "bridge.db.restoring", replaced: "bridge.db.replaced" });
    finishSwap(file);
    expect(
      readdirSync(folder)
        .filter((name) => !name.endsWith(".lock"))
        .sort(),
    ).toEqual(["bridge.db", "bridge.db.replaced"]);
  });
});

describe("what a restore does with each table", () => {
  it("is decided for every table that there is", () => {
    const store = openStore({
      path: path.join(tempFolder(), "bridge.db"),
      migrationsFolder: MIGRATIONS_FOLDER,
      mode: "daemon",
    });
    const tables = store.db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
      .pluck()
      .all() as string[];
    store.close();
    expect(Object.keys(RULES).sort()).toEqual(tables.filter((name) => name !== "__drizzle_migrations").sort());
  });
});
