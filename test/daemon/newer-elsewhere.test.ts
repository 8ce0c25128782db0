import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BatchJournal } from "../../src/backup/batch-journal.ts";
import { listJournal } from "../../src/backup/journal-files.ts";
import { reachedBy } from "../../src/database/log/progress-note.ts";
import { loadMeta } from "../../src/database/meta.ts";
import { createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, type Scene, STOCK, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const WORDS = "was set back to an earlier state";

interface Places {
  scene: Scene;
  journal: string;
  copies: string;
}

async function start(has: { journal: boolean } = { journal: true }): Promise<Places> {
  const elsewhere = tempFolder("elsewhere");
  const [journal, copies] = [path.join(elsewhere, "journal"), path.join(elsewhere, "copies")];
  mkdirSync(copies);
  const scene = await startScene({ backup: { dir: copies, journal: has.journal ? journal : null } });
  createOrders(scene, 3);
  scene.bridge.store.db.prepare(STOCK).run("A", 5);
  await drain(scene);
  await scene.restart();
  return { scene, journal, copies };
}

function files(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith("bridge.db"));
}

/** The folder of the database as it is now, `.progress` included, comes back after `work`, and the daemon starts. */
async function setBackAfter({ scene }: Places, work: () => Promise<void>): Promise<void> {
  const old = tempFolder("old");
  await scene.bridge.stop();
  for (const name of files(scene.folder)) cpSync(path.join(scene.folder, name), path.join(old, name));
  await scene.restart();
  scene.clock.advance(HOUR_MS);
  await work();
  await scene.bridge.stop();
  for (const name of files(scene.folder)) rmSync(path.join(scene.folder, name));
  for (const name of files(old)) cpSync(path.join(old, name), path.join(scene.folder, name));
  await scene.restart();
}

const holds = ({ scene }: Places) => scene.rows("SELECT area, reason, detail FROM holds WHERE reason <> 'unrestored'");
const heldFeeds = ({ scene }: Places) =>
  scene.rows<{ area: string }>("SELECT area FROM holds WHERE reason = 'unrestored'").map(({ area }) => area);

async function workOn({ scene }: Places): Promise<void> {
  createOrders(scene, 3);
  scene.bridge.store.db.prepare(STOCK).run("A", 0);
  await drain(scene);
}

describe("a database whose folder was set back as a whole", () => {
  it("is told where the journal has more, and what was acknowledged goes once more", async () => {
    const places = await start();
    const { scene, journal } = places;
    await setBackAfter(places, () => workOn(places));
    expect(holds(places)).toEqual([
      { area: "orders", reason: "restored", detail: expect.stringContaining(`older than what ${journal} holds of it`) },
    ]);
    expect(holds(places)).toEqual([expect.objectContaining({ detail: expect.stringContaining(WORDS) })]);
    expect(heldFeeds(places)).toEqual(["stocks"]);
    expect(scene.logs.map(({ message }) => message).join()).toContain(WORDS);
    const before = scene.sandbox.ledger.ofKind("import").length;
    await scene.run("stocks");
    expect(scene.sandbox.ledger.ofKind("import")).toHaveLength(before);
    scene.bridge.store.db.exec("DELETE FROM holds WHERE reason = 'unrestored'");
    await drain(scene);
    expect(scene.sandbox.ledger.ofKind("import")).toHaveLength(before + 1);
  });

  itWhole.each(["orders and stock", "stock alone"])("is told where the newest copy has more: %s", async (what) => {
    const places = await start({ journal: false });
    const { scene, copies } = places;
    await setBackAfter(places, async () => {
      if (what === "stock alone") {
        scene.bridge.store.db.prepare(STOCK).run("A", 0);
        await drain(scene);
      } else await workOn(places);
      expect(await scene.run("backup")).toMatchObject({ error: null });
    });
    const [copy = ""] = readdirSync(copies).filter((name) => name.endsWith(".db"));
    expect(holds(places)).toEqual([
      {
        area: "orders",
        reason: "restored",
        detail: expect.stringContaining(`erp-bridge restore ${path.join(copies, copy)}`),
      },
    ]);
  });

  itWhole.each([
    ["the one beside it bears a time to come", "bridge-20990101T024100000Z.db", "2000-01-01"],
    ["its own clock was wrong", "bridge-20200101T024100000Z.db", "2000-01-01"],
    ["the one beside it bears a time to come, and so does its file", "bridge-20990101T024100000Z.db", "2099-01-01"],
  ])("is told where a copy has more, whatever the names say: %s", async (_, name, changedAt) => {
    const places = await start({ journal: false });
    const { scene, copies } = places;
    const made = () => readdirSync(copies).filter((each) => each.endsWith(".db") && each !== name);
    await scene.run("backup");
    const isNewRenamed = name.includes("2020");
    if (!isNewRenamed) renameSync(path.join(copies, made()[0]!), path.join(copies, name));
    const before = made();
    await setBackAfter(places, async () => {
      await workOn(places);
      expect(await scene.run("backup")).toMatchObject({ error: null });
      const newest = made().find((each) => !before.includes(each))!;
      if (isNewRenamed) renameSync(path.join(copies, newest), path.join(copies, name));
      const at = new Date(changedAt);
      utimesSync(path.join(copies, name), at, at);
    });
    const newest = isNewRenamed ? name : made()[0]!;
    const detail = expect.stringContaining(`erp-bridge restore ${path.join(copies, newest)}`);
    expect(holds(places)).toEqual([{ area: "orders", reason: "restored", detail }]);
    scene.bridge.store.db.exec("DELETE FROM holds");
    await scene.restart();
    expect(holds(places)).toEqual([]);
    await setBackAfter(places, async () => {
      await workOn(places);
      await scene.run("backup");
    });
    expect(holds(places)).toHaveLength(1);
  });

  itWhole("is told once: not after a person has looked, and again where it is set back again", async () => {
    const places = await start();
    const { scene } = places;
    await setBackAfter(places, async () => {
      await workOn(places);
      await scene.run("backup");
    });
    expect(holds(places)).toHaveLength(1);
    scene.bridge.store.db.exec("DELETE FROM holds");
    await scene.restart();
    expect(holds(places)).toEqual([]);
    await workOn(places);
    await scene.restart();
    expect(holds(places)).toEqual([]);
    await setBackAfter(places, () => workOn(places));
    expect(holds(places)).toHaveLength(1);
  });

  itWhole("is told again though the clock was a year ahead the last time", async () => {
    const places = await start();
    const { scene } = places;
    scene.clock.jump(365 * 24 * HOUR_MS);
    await setBackAfter(places, () => workOn(places));
    expect(holds(places)).toHaveLength(1);
    scene.bridge.store.db.exec("DELETE FROM holds");
    scene.clock.jump(-365 * 24 * HOUR_MS);
    await scene.restart();
    expect(holds(places)).toEqual([]);
    await workOn(places);
    await setBackAfter(places, () => workOn(places));
    expect(holds(places)).toHaveLength(1);
  });

  itWhole("gives no number twice", async () => {
    const places = await start();
    const { scene } = places;
    const newest = () => scene.rows<{ seq: number }>("SELECT max(seq) AS seq FROM order_event_rows")[0]!.seq;
    let before = 0;
    await setBackAfter(places, async () => {
      await workOn(places);
      before = newest();
    });
    await workOn(places);
    expect(newest()).toBeGreaterThan(before + 1_000_000);
    const [order] = scene.rows<{ revision: number }>("SELECT revision FROM orders ORDER BY order_key DESC LIMIT 1");
    expect(order!.revision).toBeGreaterThan(before);
  });
});

describe("a database beside its own journal and copies", () => {
  itWhole("is not told to be older after any restart", async () => {
    const places = await start();
    const { scene } = places;
    for (let day = 0; day < 3; day++) {
      await workOn(places);
      await scene.run("backup");
      await scene.restart();
      expect(holds(places)).toEqual([]);
    }
  });

  it("is not, where a crash has left an entry whose batch was never stored", async () => {
    const places = await start();
    const { scene, journal } = places;
    await workOn(places);
    const { store } = scene.bridge;
    const owner = { account: loadMeta(store, "account"), database: loadMeta(store, "database") };
    const receivedAt = new Date(scene.clock.nowMs()).toISOString();
    const note = { receivedAt, fingerprint: "never stored", date: undefined, reached: reachedBy(store.db) };
    await new BatchJournal(journal, scene.clock, owner).append({ note, body: Buffer.from("{}") });
    await scene.restart();
    expect(holds(places)).toEqual([]);
  });

  itWhole.each([
    ["shortly after the last pass", 60_000, 0],
    ["long after the last pass", 2 * HOUR_MS, 1],
  ])("is compared by the time of an entry that an older version wrote: %s", async (_, laterMs, expected) => {
    const places = await start();
    const { scene, journal } = places;
    await workOn(places);
    const { store } = scene.bridge;
    const owner = { account: loadMeta(store, "account"), database: loadMeta(store, "database") };
    const receivedAt = new Date(scene.clock.nowMs() + laterMs).toISOString();
    const note = { receivedAt, fingerprint: "not known", date: undefined };
    await new BatchJournal(journal, scene.clock, owner).append({ note, body: Buffer.from("{}") });
    await scene.restart();
    expect(holds(places)).toHaveLength(expected);
  });

  itWhole("is not, where an older copy was put back by a restore", async () => {
    const places = await start();
    const { scene, journal, copies } = places;
    await scene.backUp();
    await workOn(places);
    await scene.run("backup");
    await scene.restore(() => {
      for (const name of files(scene.folder)) rmSync(path.join(scene.folder, name));
      for (const { name } of listJournal(journal))
        cpSync(path.join(journal, name), path.join(journal, `${name}.aside`));
    });
    expect(readdirSync(copies)).not.toEqual([]);
    scene.bridge.store.db.exec("DELETE FROM holds");
    await scene.restart();
    expect(holds(places)).toEqual([]);
  });

  itWhole("starts where neither folder can be looked at", async () => {
    const places = await start();
    const { scene, journal, copies } = places;
    await scene.bridge.stop();
    for (const folder of [journal, copies]) {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, "no folder");
    }
    await scene.restart();
    expect(holds(places)).toEqual([]);
  });
});

describe("a copy in the place of a database", () => {
  it.each([
    { what: "and of all beside it", stays: (name: string) => name === "" },
    { what: "beside its note", stays: (name: string) => name.endsWith(".progress") },
  ])("makes a confirm that names nothing wait for an answer that was lost since, $what", async ({ stays }) => {
    const journal = path.join(tempFolder("elsewhere"), "journal");
    const options = { confirmForm: "all" as const, handOut: "next" as const, redeliverAfterMs: 60_000, batchSize: 1 };
    const settings = { orders: { confirm: { body: {} } }, backup: { journal } };
    const scene = await startScene(settings, { sandbox: { options } });
    createOrders(scene, 2);
    await drain(scene);
    await scene.backUp();
    createOrders(scene, 1);
    scene.sandbox.faults.add({ match: { path: "orders" }, when: "after", do: { kind: "reset" } });
    await scene.run("orders");
    expect(scene.rows("SELECT is_open FROM pull_mark")).toEqual([{ is_open: 1 }]);
    await scene.bridge.stop();
    for (const name of files(scene.folder)) if (!stays(name)) rmSync(path.join(scene.folder, name));
    cpSync(scene.copy, scene.database);
    await scene.restart();
    createOrders(scene, 1);
    await scene.run("orders");
    expectNothingLost(scene);
    for (let minutes = 0; minutes < 4; minutes++) {
      scene.clock.advance(60_000);
      await scene.run("orders");
    }
    expectComplete(scene);
    const isTold = stays("bridge.db.progress");
    const reasons = isTold ? ["restored", "unrestored"] : ["unrestored"];
    expect(scene.rows("SELECT reason FROM holds ORDER BY area")).toEqual(reasons.map((reason) => ({ reason })));
  });
});
