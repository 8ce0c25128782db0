import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { readJournal } from "../../src/backup/journal-files.ts";
import { makeBatchBody } from "../../src/batches/batch-body.ts";
import { saveUnconfirmedBodies } from "../../src/batches/unconfirmed-bodies.ts";
import type { Settings } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, type Scene, startScene } from "../support/restored.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("batches/unjournaled");

describe("a body made of records", () => {
  it.each([
    ["$.orders", "$.batch_id", '"b-1"', '{"orders":[{"a":1},2],"batch_id":"b-1"}'],
    ["$.data.list", "$.data.id", "17", '{"data":{"list":[{"a":1},2],"id":17}}'],
    ['$."der List"', "$.id", null, '{"der List":[{"a":1},2]}'],
    ["$", "$[0].batch", '"b-1"', '[{"a":1},2]'],
    ["$.orders", "$.orders[0].batch", '"b-1"', '{"orders":[{"a":1},2]}'],
    ["$[1].orders", "$[0]", '"b-1"', '["b-1",{"orders":[{"a":1},2]}]'],
    ["$[#-1]", "$[#-3].id", '"b-1"', '[{"id":"b-1"},null,[{"a":1},2]]'],
  ])("has its list at %s and its id at %s", (list, batchId, id, text) => {
    const paths = { list: parsePath(list), batchId: parsePath(batchId) };
    expect(makeBatchBody(paths, id, ['{"a":1}', "2"]).toString()).toBe(text);
  });
});

const entries = (scene: Scene, folder: string) =>
  [...readJournal(path.join(scene.folder, folder))].flatMap((file) => file.entries);
const waiting = ({ rows }: Scene) =>
  rows<{ body: Buffer; is_part: number }>("SELECT body, is_part FROM unjournaled_bodies ORDER BY id").map((row) => ({
    isPart: row.is_part === 1,
    body: JSON.parse(String(row.body)) as { orders: unknown[]; batch_id: string },
  }));

const JOURNAL = { backup: { journal: "journal" } };

/** A batch that waits for its confirm under these settings; the service does not serve it again. */
async function startOwed(settings: Settings, orders = 3): Promise<{ scene: Scene; ids: string[]; heal: () => void }> {
  const options = { handOut: "next" as const, redeliverAfterMs: null, batchSize: 1_000 };
  const scene = await startScene(JOURNAL, { sandbox: { options } });
  await scene.restart(settings);
  await scene.backUp();
  const fault = scene.sandbox.faults.add({
    match: { path: "confirm" },
    times: 1_000,
    do: { kind: "status", status: 500 },
  });
  const ids = createOrders(scene, orders);
  await scene.run("orders");
  expect(batchStates(scene)).toEqual(["stored"]);
  return { scene, ids, heal: () => void scene.sandbox.faults.remove(fault) };
}

const loseDatabase = ({ database }: Scene) => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${database}${suffix}`, { force: true });
};

const TAKEN = { kind: "raw", body: '{"ok":true}', contentType: "application/json" } as const;

describe("a batch that was stored before the journal was there", () => {
  whole.it.each([
    ["where there was none", {}],
    ["where another folder was lost", { backup: { journal: "former" } }],
  ])("is in it before its confirm, and a restore brings it back, %s", async (_what, settings) => {
    const { scene, ids, heal } = await startOwed(settings);
    rmSync(path.join(scene.folder, "former"), { recursive: true, force: true });
    await scene.restart(JOURNAL);
    heal();
    await drain(scene);
    expectComplete(scene);
    expect(entries(scene, "journal")).toHaveLength(1);
    await scene.restart();
    await drain(scene);
    expect(entries(scene, "journal")).toHaveLength(1);
    await scene.restore(() => loseDatabase(scene));
    expect(scene.rows("SELECT order_id FROM orders ORDER BY order_id")).toEqual(
      ids.toSorted().map((order_id) => ({ order_id })),
    );
    // It waits there for its confirm, as each batch of a journal does.
    expect(batchStates(scene)).toEqual(["stored"]);
    expectNothingLost(scene);
  });

  itWhole("is not confirmed while the journal cannot be written, and is once it can be", async () => {
    const { scene, heal } = await startOwed({});
    const folder = path.join(scene.folder, "journal");
    writeFileSync(folder, "no folder");
    await scene.restart(JOURNAL);
    heal();
    const sent = confirmBodies(scene).length;
    for (let times = 0; times < 3; times++) {
      scene.clock.advance(3_600_000);
      expect(await scene.run("orders")).toMatchObject({ outcome: "failed" });
    }
    expect(confirmBodies(scene)).toHaveLength(sent);
    expect(waiting(scene)).toHaveLength(1);
    rmSync(folder);
    mkdirSync(folder);
    await drain(scene);
    expectComplete(scene);
    expect(entries(scene, "journal")).toHaveLength(1);
  });

  itWhole("is in a later one too, after a time without a journal", async () => {
    const { scene } = await startOwed(JOURNAL);
    await scene.restart({});
    await scene.run("orders");
    await scene.restart(JOURNAL);
    await scene.run("orders");
    expect(entries(scene, "journal")).toHaveLength(2);
  });

  itWhole("is in another folder once, where it counted as confirmed and is served again and again", async () => {
    const scene = await startScene(JOURNAL, { sandbox: { options: { handOut: "repeat", batchSize: 1_000 } } });
    await scene.restart({ backup: { journal: "former" } });
    createOrders(scene, 3);
    // The service says that it has confirmed the batch, and has not.
    scene.sandbox.faults.add({ match: { path: "confirm" }, times: 1_000, do: TAKEN });
    await scene.run("orders");
    expect(batchStates(scene)).toEqual(["confirmed"]);
    await scene.restart(JOURNAL);
    for (let times = 0; times < 3; times++) {
      scene.clock.advance(60_000);
      await scene.run("orders");
      expect(entries(scene, "journal").map(({ body }) => JSON.parse(String(body)).orders.length)).toEqual([3]);
    }
    expect(entries(scene, "former")).toHaveLength(1);
  });

  itWhole("goes in parts where it is large, and as a part where it is not known to be whole", async () => {
    const paths = { list: parsePath("$.orders"), batchId: parsePath("$.batch_id") };
    const { scene } = await startOwed({}, 450);
    const save = () => saveUnconfirmedBodies(scene.bridge.context, paths, new AbortController().signal);
    await save();
    expect(waiting(scene).map(({ isPart, body }) => [isPart, body.orders.length])).toEqual([
      [true, 200],
      [true, 200],
      [true, 50],
    ]);
    const { db } = scene.bridge.store;
    db.exec(`DELETE FROM unjournaled_bodies;
      INSERT INTO batches (fingerprint, service_batch_id, received_at, order_count, state, order_ids)
      SELECT 'other', '"b-9"', '2026-01-01T00:00:00.000Z', 3, 'refused', json_array(order_id, 'odd') FROM orders LIMIT 1;
      UPDATE batches SET state = 'confirmed' WHERE state = 'stored';
      INSERT INTO quarantine (kind, reference, reason, payload, payload_hash, state, first_seen_at, last_seen_at, times)
      VALUES ('order', 'odd', '', '{"id":"odd"', x'01', 'held', '2026-01-02', '2026-01-02', 1),
        ('order', NULL, '', '{"no":"id"}', x'02', 'held', '2026-01-01T00:00:00.000Z', '2026-01-02', 1),
        ('order', NULL, '', '{"of":"another"}', x'03', 'held', '2026-01-02', '2026-01-02', 1)`);
    await save();
    expect(waiting(scene)).toEqual([
      { isPart: true, body: { orders: [expect.anything(), '{"id":"odd"', { no: "id" }], batch_id: "b-9" } },
    ]);
  });
});
