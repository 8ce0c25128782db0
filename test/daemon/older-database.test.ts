import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, inject, it } from "vitest";
import { encodeSlot } from "../../src/database/log/progress.ts";
import { readNote } from "../../src/database/log/progress-note.ts";
import { deleteHold } from "../../src/pass/hold-rows.ts";
import { createOrders, expectComplete } from "../support/pull.ts";
import { drain, liveADay, type Scene, STOCK, startScene } from "../support/restored.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HELD = [
  { area: "orders", reason: "restored" },
  { area: "stocks", reason: "unrestored" },
];

const holds = (scene: Scene) => scene.rows("SELECT area, reason FROM holds ORDER BY area");
const names = ({ folder }: Scene) => readdirSync(folder).filter((name) => name.startsWith("bridge.db"));

/** The last quantity of each article that was sent. */
function onSite({ sandbox }: Scene): Record<string, number> {
  const sent = sandbox.ledger
    .ofKind("import")
    .flatMap(({ requestBody }) => JSON.parse(requestBody ?? "{}").stocks ?? []);
  return Object.fromEntries(sent.map(({ sku, quantity }: { sku: string; quantity: number }) => [sku, quantity]));
}

async function push(scene: Scene, rows: Record<string, number>): Promise<void> {
  for (const [sku, quantity] of Object.entries(rows)) scene.bridge.store.db.prepare(STOCK).run(sku, quantity);
  await drain(scene);
}

/** A file is put here by hand while the daemon is stopped, beside what is left of the files. */
async function put(scene: Scene, file: string, stays: (name: string) => boolean): Promise<void> {
  await scene.bridge.stop();
  for (const name of names(scene)) if (!stays(name)) rmSync(path.join(scene.folder, name));
  cpSync(file, scene.database);
  await scene.restart();
}

const isNote = (name: string) => name.endsWith(".progress");

const WAYS: Record<string, (scene: Scene) => Promise<void>> = {
  "put in its place": (scene) => put(scene, scene.copy, isNote),
  "put in its place, with everything beside it gone": (scene) => put(scene, scene.copy, () => false),
  "brought in through SQLite under the daemon": async (scene) => {
    const from = new Database(scene.copy);
    await from.backup(scene.database);
    from.close();
    expect(() => scene.bridge.store.look()).toThrow("older than what was confirmed");
    await scene.restart();
  },
  "named by a reload": async (scene) => await scene.restart({ database: { path: scene.copy } }),
};

describe("an older copy that is in use instead of the database, before the first order", () => {
  itSome(2)(Object.keys(WAYS))("%s: nothing that it has goes to the site until a person says so", async (way) => {
    const scene = await startScene();
    await push(scene, { A: 5, B: 7, C: 3 });
    await scene.backUp();
    await push(scene, { A: 0, D: 2 });
    scene.bridge.store.db.exec("DELETE FROM stock WHERE sku = 'C'");
    scene.clock.advance(600_000);
    await drain(scene);
    const before = onSite(scene);
    expect(before).toEqual({ A: 0, B: 7, C: 0, D: 2 });
    await WAYS[way]!(scene);
    expect(holds(scene)).toEqual(HELD);
    await scene.run("stocks");
    expect(onSite(scene)).toEqual(before);
    // The ERP writes its present stock, and a person says so.
    scene.bridge.store.db.exec("DELETE FROM stock");
    for (const [sku, quantity] of [["A", 0] as const, ["B", 6] as const, ["D", 2] as const])
      scene.bridge.store.db.prepare(STOCK).run(sku, quantity);
    await scene.restart(way === "named by a reload" ? { database: { path: scene.copy } } : undefined);
    expect(holds(scene)).toEqual(HELD);
    scene.bridge.store.write(() => deleteHold(scene.bridge.store, "stocks", "unrestored"));
    scene.clock.advance(600_000);
    await drain(scene);
    expect(onSite(scene)).toEqual({ A: 0, B: 6, C: 0, D: 2 });
  });

  it("also where nothing was in it when it was made", async () => {
    const scene = await startScene();
    await scene.backUp();
    await push(scene, { A: 5 });
    await WAYS["put in its place, with everything beside it gone"]!(scene);
    expect(holds(scene)).toEqual(HELD);
  });

  it("also where a person restores the copy over it before the daemon has seen it", async () => {
    const scene = await startScene();
    await push(scene, { A: 5 });
    await scene.backUp();
    await push(scene, { A: 0 });
    const report = await scene.restore(() => {
      for (const name of names(scene)) if (!isNote(name)) rmSync(path.join(scene.folder, name));
      cpSync(scene.copy, scene.database);
    });
    expect(report.complete).toBe(false);
    expect(holds(scene)).toEqual(HELD);
    await scene.run("stocks");
    expect(onSite(scene)).toEqual({ A: 0 });
  });

  itWhole("also where a copy that has more is restored over it: the stock of neither is the present one", async () => {
    const scene = await startScene();
    createOrders(scene, 1);
    await push(scene, { A: 5, B: 1 });
    await scene.backUp();
    const first = path.join(scene.folder, "first.db");
    renameSync(scene.copy, first);
    renameSync(`${scene.copy}.config.yaml`, `${first}.config.yaml`);
    createOrders(scene, 1);
    await push(scene, { A: 3 });
    await scene.backUp();
    await push(scene, { A: 0, B: 0 });
    await put(scene, first, isNote);
    await scene.restore();
    expect(holds(scene)).toEqual(HELD);
    await scene.run("stocks");
    expect(onSite(scene)).toEqual({ A: 0, B: 0 });
  });
});

describe("what shows that a copy is older", () => {
  const DEEDS: Record<string, (scene: Scene, order: string) => Promise<unknown>> = {
    "stock that was accepted": (scene) => push(scene, { A: 1 }),
    "a status that was accepted": async (scene, order) => {
      scene.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'shipped')").run(order);
      await scene.run("statuses");
      expect(scene.sandbox.service.statusOf(order)).toBe("shipped");
    },
    "an order that was changed": async (scene, order) => {
      scene.sandbox.service.changeOrder(order, { status: "paid" });
      scene.clock.advance(600_000);
      await scene.run("updates");
      expect(scene.rows("SELECT status FROM orders")).toEqual([{ status: "paid" }]);
    },
    "a batch that was confirmed": async (scene) => {
      createOrders(scene, 1);
      await scene.run("orders");
    },
  };

  itSome(3)(Object.keys(DEEDS))("%s", async (deed) => {
    const scene = await startScene({ statuses: { path: STATUS_PATH } });
    const [order = ""] = createOrders(scene, 1);
    await push(scene, { A: 5 });
    await scene.run("statuses");
    await scene.backUp();
    await DEEDS[deed]!(scene, order);
    await put(scene, scene.copy, isNote);
    expect(holds(scene)).toEqual(HELD);
  });

  itWhole("after it was noticed, the newer database that it had replaced as well", async () => {
    const scene = await startScene();
    await push(scene, { A: 5 });
    await scene.backUp();
    for (const quantity of [4, 3, 2]) await push(scene, { A: quantity });
    const newer = path.join(scene.folder, "newer.db");
    await scene.bridge.stop();
    cpSync(scene.database, newer);
    await put(scene, scene.copy, isNote);
    scene.bridge.store.db.exec("DELETE FROM holds");
    await push(scene, { A: 1 });
    await put(scene, newer, isNote);
    expect(holds(scene)).toEqual(HELD);
  });
});

describe("no database is taken for an older one", () => {
  it("after starts and work of every kind", async () => {
    const scene = await startScene();
    for (let day = 0; day < 3; day++) {
      createOrders(scene, 2);
      await push(scene, { A: day, B: 9 - day });
      await scene.restart();
      expect(holds(scene)).toEqual([]);
    }
    expectComplete(scene);
  });

  it("as a crash at any moment leaves it, and moved with its files to another folder", async () => {
    const scene = await startScene();
    await push(scene, { A: 5 });
    scene.bridge.store.look();
    scene.bridge.store.db.prepare(STOCK).run("A", 4);
    await scene.run("stocks");
    const moved = path.join(scene.folder, "moved");
    mkdirSync(moved);
    for (const name of names(scene)) cpSync(path.join(scene.folder, name), path.join(moved, name));
    await scene.restart({ database: { path: path.join(moved, "bridge.db") } });
    expect(holds(scene)).toEqual([]);
  });

  it("where a copy is put back since which nothing was sent or stored", async () => {
    const scene = await startScene();
    await push(scene, { A: 5 });
    await scene.backUp();
    await put(scene, scene.copy, isNote);
    expect(holds(scene)).toEqual([]);
    await drain(scene);
    expect(onSite(scene)).toEqual({ A: 5 });
  });

  it("after an upgrade from a version that counted no imports, and wrote that into the note", async () => {
    const scene = await startScene();
    createOrders(scene, 1);
    await push(scene, { A: 5 });
    await scene.bridge.stop();
    const { asked: _, ...note } = readNote(scene.database)!;
    writeFileSync(`${scene.database}.progress`, encodeSlot({ ...note, n: note.n + 1 }));
    const db = new Database(scene.database);
    db.exec("DELETE FROM meta WHERE key = 'asked'");
    db.close();
    await scene.restart();
    expect(holds(scene)).toEqual([]);
    await push(scene, { A: 4 });
    await scene.restart();
    expect(holds(scene)).toEqual([]);
  });

  it("where a person restores a copy and the former file has everything", async () => {
    const scene = await startScene();
    await liveADay(scene);
    expect(await scene.restore()).toMatchObject({ complete: true });
    expect(holds(scene)).toEqual([]);
    await scene.restart();
    expect(holds(scene)).toEqual([]);
  });

  it("that was made anew beside the note of another one: orders may be missing, and no stock is old", async () => {
    const scene = await startScene();
    await push(scene, { A: 5 });
    await put(scene, inject("emptyDatabase"), isNote);
    expect(holds(scene)).toEqual([{ area: "orders", reason: "restored" }]);
    await push(scene, { A: 1 });
    expect(onSite(scene)).toEqual({ A: 1 });
  });
});
