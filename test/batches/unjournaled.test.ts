import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished } from "vitest";
import { readJournal } from "../../src/backup/journal-files.ts";
import { migrateDatabase } from "../../src/database/migrate.ts";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, type Scene, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MIB = 1024 * 1024;
const giant = { sandbox: { options: { handOut: "next" as const, redeliverAfterMs: 300_000, batchSize: 100 } } };

const folderOf = ({ folder }: Scene) => path.join(folder, "journal");
/** A file in the place of the folder. */
const fill = (scene: Scene) => {
  rmSync(folderOf(scene), { recursive: true, force: true });
  writeFileSync(folderOf(scene), "no folder");
};
const mend = (scene: Scene) => {
  rmSync(folderOf(scene));
  mkdirSync(folderOf(scene));
};
const journaled = (scene: Scene) =>
  [...readJournal(folderOf(scene))].flatMap(({ entries }) => entries.map(({ body }) => body.toString()));
const waiting = (scene: Scene) =>
  scene
    .rows<{ body: Buffer | null }>("SELECT body FROM unjournaled_bodies ORDER BY id")
    .map(({ body }) => String(body));
const loseDatabase = ({ database }: Scene) => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${database}${suffix}`, { force: true });
};

async function poll(scene: Scene): Promise<void> {
  scene.clock.advance(60_000);
  await scene.run("orders");
}

/** The batch that waits, once more, with other text in it. */
function serveAgain(scene: Scene, find: RegExp | string, replace: string): void {
  const [last = ""] = waiting(scene).slice(-1);
  const body = last.replace(find, replace);
  expect(body).not.toBe(last);
  const raw = { kind: "raw" as const, contentType: "application/json", body };
  scene.sandbox.faults.add({ match: { path: "orders" }, times: 1, do: raw });
}

/** A batch whose first content, and then a newer one of its first order, wait for the journal. */
async function startWaiting(): Promise<{ scene: Scene; id: string }> {
  const scene = await startScene({ backup: { journal: "journal" } });
  await scene.backUp();
  fill(scene);
  const [id = ""] = createOrders(scene, 3);
  await poll(scene);
  scene.sandbox.service.changeOrder(id, { status: "paid" });
  await poll(scene);
  expect(waiting(scene)).toHaveLength(2);
  return { scene, id };
}

itWhole(
  "what was stored goes to the journal also where the batch is served with what cannot be used before",
  async () => {
    const { scene, id } = await startWaiting();
    serveAgain(scene, /("status":"paid".*?"items":)\[.*?\]\}/s, "$17}");
    await poll(scene);
    expect(scene.rows("SELECT kind FROM quarantine")).toEqual([{ kind: "order" }]);
    expect(waiting(scene).map((body) => body.includes('"paid"'))).toEqual([false, true, true]);
    expect(loadFacts(scene.bridge.store).unjournaled).toMatchObject({ count: 1 });
    expect(confirmBodies(scene)).toEqual([]);
    const bodies = waiting(scene);
    mend(scene);
    await drain(scene);
    expect(journaled(scene).slice(0, 3)).toEqual(bodies);
    expectComplete(scene);
    await scene.restore(() => loseDatabase(scene));
    expect(scene.rows("SELECT status FROM orders WHERE order_id = ?", id)).toEqual([{ status: "paid" }]);
    await drain(scene);
    expectNothingLost(scene);
  },
);

itWhole("no other batch is confirmed meanwhile", async () => {
  const scene = await startScene({ backup: { journal: "journal" } });
  scene.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
  createOrders(scene, 100);
  await poll(scene);
  expect(batchStates(scene)).toEqual(["stored"]);
  const sent = confirmBodies(scene).length;
  fill(scene);
  scene.bridge.store.db.exec(
    "INSERT INTO unjournaled_bodies (fingerprint, received_at, body) VALUES ('another', '', x'7b7d')",
  );
  await poll(scene);
  expect(confirmBodies(scene)).toHaveLength(sent);
  mend(scene);
  await drain(scene);
  expectComplete(scene);
});

itWhole("the same bytes wait once, also where they are news each time", async () => {
  const scene = await startScene({ backup: { journal: "journal" } });
  fill(scene);
  createOrders(scene, 2);
  await poll(scene);
  for (let times = 0; times < 3; times++) {
    scene.bridge.store.db.exec("UPDATE orders SET removed_at = '2026-01-01T00:00:00.000Z'");
    await poll(scene);
  }
  expect(waiting(scene)).toHaveLength(1);
});

itSome(1)([
  ["names it", {}, {}],
  ["names nothing", { confirm: { body: {} } }, { confirmForm: "all", handOut: "next", redeliverAfterMs: 1 }],
] as const)(
  "of a batch that says something else at each hand-out so many wait, and what is newest is stored once the journal is written; its confirm %s",
  async (_what, orders, options) => {
    const scene = await startScene({ backup: { journal: "journal" }, orders }, { sandbox: { options } });
    fill(scene);
    const [id = ""] = createOrders(scene, 2);
    for (let times = 0; times < 25; times++) {
      scene.sandbox.service.changeOrder(id, {});
      await poll(scene);
    }
    expect(waiting(scene)).toHaveLength(20);
    mend(scene);
    for (let times = 0; times < 4; times++) await poll(scene);
    expect(scene.rows("SELECT reason FROM holds")).toEqual([]);
    expectComplete(scene);
    expect(waiting(scene)).toEqual([]);
    await scene.restart({});
    expect(batchStates(scene)).not.toContain("stored");
  },
);

itWhole("a body that the journal had before the program died goes there once more, and does no harm", async () => {
  const { scene, id } = await startWaiting();
  mend(scene);
  const { store } = scene.bridge;
  const write = store.write.bind(store);
  store.write = (fn) => {
    if (journaled(scene).length > 0) throw new Error("the process is gone");
    return write(fn);
  };
  await scene.run("orders");
  expect(journaled(scene)).toHaveLength(1);
  await scene.restart();
  expect(waiting(scene)).toHaveLength(2);
  await drain(scene);
  expect(new Set(journaled(scene)).size).toBeLessThan(journaled(scene).length);
  expectComplete(scene);
  await scene.restore(() => loseDatabase(scene));
  expect(scene.rows("SELECT status FROM orders WHERE order_id = ?", id)).toEqual([{ status: "paid" }]);
});

itWhole("an upgrade brings over what waits in batches, also beside a confirm that covered it", () => {
  const folder = tempFolder("unjournaled");
  const file = path.join(folder, "bridge.db");
  const db = new Database(file);
  onTestFinished(() => void db.close());
  const known = loadMigrations(MIGRATIONS_FOLDER);
  const before = known.filter(({ tag }) => tag < "0038");
  expect(before).toHaveLength(38);
  migrateDatabase(db, { known: before, file, backupFolder: folder, nowMs: 0 });
  const save = db.prepare(
    `INSERT INTO batches (fingerprint, state, received_at, order_count, account, body, body_id)
     VALUES (?, ?, '2026-06-01T12:00:00.000Z', 1, 'a', ?, ?)`,
  );
  save.run("none", "confirmed", null, null);
  save.run("small", "stored", Buffer.from("{}"), null);
  save.run("large", "stored", null, 7);
  save.run("covered", "confirmed", Buffer.from("[]"), null);
  save.run("unread", "unread", Buffer.from("?"), null);
  db.exec("INSERT INTO body_parts (body_id, part, bytes) VALUES (7, 0, x'7b7d')");
  migrateDatabase(db, { known, file, backupFolder: folder, nowMs: 0 });
  expect(
    db
      .prepare("SELECT fingerprint, account, CAST(body AS TEXT) AS body, body_id FROM unjournaled_bodies ORDER BY id")
      .all(),
  ).toEqual([
    { fingerprint: "small", account: "a", body: "{}", body_id: null },
    { fingerprint: "large", account: "a", body: null, body_id: 7 },
    { fingerprint: "covered", account: "a", body: "[]", body_id: null },
  ]);
  const left = "SELECT fingerprint FROM batches WHERE body IS NOT NULL OR body_id IS NOT NULL";
  expect(db.prepare(left).pluck().all()).toEqual(["unread"]);
  // With the time of its batch it would pass for the one that the batch began with.
  expect(db.prepare("SELECT count(*) FROM unjournaled_bodies WHERE received_at LIKE '2026-06%'").pluck().get()).toBe(0);
});

const moved = `UPDATE batches SET (body, body_id) = (SELECT body, body_id FROM unjournaled_bodies u WHERE u.fingerprint = batches.fingerprint);
  DELETE FROM unjournaled_bodies`;

itWhole.each([
  ["of this version", "", [2, 1]],
  ["of a version that kept them beside their batches", moved, [2, 1]],
  ["that lacks the parts of one", "DELETE FROM body_parts", [1, 0]],
])("a restore brings over what waits in a replaced file %s", async (_what, sql, [batches, large]) => {
  const scene = await startScene({ backup: { journal: "journal" } }, giant);
  await scene.backUp();
  fill(scene);
  createOrders(scene, 1);
  await poll(scene);
  for (let n = 0; n < 3; n++)
    scene.sandbox.service.createOrder({ extra: { text: JSON.stringify(String(n).repeat(MIB / 2)) } });
  await poll(scene);
  mend(scene);
  await scene.restore(() => {
    const db = new Database(scene.database);
    db.exec(sql);
    db.close();
  });
  expect(scene.rows("SELECT count(*) AS n FROM batches")).toEqual([{ n: batches }]);
  expect(scene.rows("SELECT count(*) AS n, count(body_id) AS large FROM unjournaled_bodies")).toEqual([
    { n: batches, large },
  ]);
  expect(scene.rows("SELECT count(*) AS n FROM batches WHERE body IS NOT NULL OR body_id IS NOT NULL")).toEqual([
    { n: 0 },
  ]);
  await drain(scene);
  expectComplete(scene);
  expect(journaled(scene).map((body) => body.includes("2".repeat(MIB / 2)))).toContain(true);
});
