import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { listJournal } from "../../src/backup/journal-files.ts";
import { createOrders, expectComplete, expectNothingLost } from "../support/pull.ts";
import { drain, type Scene, startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("backup/restore-damage");
const DAY_MS = 86_400_000;
const KEEP = 2;

interface Places {
  scene: Scene;
  copies: string;
  journal: string;
  /** A night's copy; returns what each of them holds. */
  backUp(): Promise<Record<string, number>>;
}

/** A database with 3 orders that was set back from 12. */
async function setBack(has: { journal: boolean; folder: boolean }): Promise<Places> {
  const elsewhere = tempFolder("elsewhere");
  const [copies, journal] = [path.join(elsewhere, "copies"), path.join(elsewhere, "journal")];
  mkdirSync(copies);
  const backup = { dir: copies, keep: KEEP, journal: has.journal ? journal : null };
  const scene = await startScene({ backup });
  const backUp = async () => {
    scene.clock.advance(DAY_MS);
    expect(await scene.run("backup")).toMatchObject({ error: null });
    return held(copies);
  };
  createOrders(scene, 3);
  await drain(scene);
  await scene.restart();
  await scene.backUp();
  const old = tempFolder("old");
  const names = () => readdirSync(scene.folder).filter((name) => name.startsWith("bridge.db"));
  await scene.bridge.stop();
  for (const name of names()) cpSync(path.join(scene.folder, name), path.join(old, name));
  await scene.restart();
  for (let night = 0; night < 3; night++) {
    createOrders(scene, 3);
    await drain(scene);
    await backUp();
  }
  await scene.bridge.stop();
  for (const name of names()) rmSync(path.join(scene.folder, name));
  if (has.folder) for (const name of readdirSync(old)) cpSync(path.join(old, name), path.join(scene.folder, name));
  else cpSync(scene.copy, scene.database);
  await scene.restart();
  expect(scene.rows("SELECT reason FROM holds ORDER BY area")).toEqual([
    { reason: "restored" },
    { reason: "unrestored" },
  ]);
  return { scene, copies, journal, backUp };
}

function held(folder: string): Record<string, number> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".db"));
  return Object.fromEntries(names.sort().map((name) => [name, ordersIn(path.join(folder, name))]));
}

function ordersIn(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], number>("SELECT count(*) FROM orders").pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

describe("copies from before the database was set back", () => {
  it("and the journal's entries stay while the hold stands, and later copies are thinned among themselves", async () => {
    const { scene, copies, journal, backUp } = await setBack({ journal: true, folder: false });
    const before = held(copies);
    const entries = listJournal(journal);
    expect(Object.values(before)).toEqual([9, 12]);
    for (let night = 0; night < 4; night++) await backUp();
    expect(held(copies)).toMatchObject(before);
    expect(Object.values(held(copies))).toEqual([9, 12, 3, 3]);
    expect(listJournal(journal)).toEqual(expect.arrayContaining(entries));
    scene.bridge.store.db.exec("DELETE FROM holds WHERE reason = 'restored'");
    expect(Object.values(await backUp())).toEqual([3, 3]);
  });

  itWhole.each([{ folder: true }, { folder: false }])(
    "are what brings all back: folder $folder",
    async ({ folder }) => {
      const { scene, copies, backUp } = await setBack({ journal: false, folder });
      for (let night = 0; night < 4; night++) await backUp();
      const [detail] = scene.rows<{ detail: string }>("SELECT detail FROM holds WHERE reason = 'restored'");
      const named = /erp-bridge restore (\S+\.db)/.exec(detail?.detail ?? "")?.[1] ?? "";
      expect(ordersIn(named)).toBe(12);
      createOrders(scene, 1);
      await drain(scene);
      const report = await scene.restore(() => cpSync(named, scene.copy));
      // The stock of neither file is the present one.
      expect(report.notes.map(String)).toEqual([expect.stringContaining("erp-bridge resume stocks --hold unrestored")]);
      expect(scene.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 13 }]);
      await drain(scene);
      expectComplete(scene);
      expectNothingLost(scene);
      // The hold stands until the person ends it: both kinds of earlier copies stay.
      const before = held(copies);
      for (let night = 0; night < 4; night++) await backUp();
      expect(Object.values(held(copies)).sort()).toEqual([...Object.values(before), 13, 13].sort());
    },
  );

  itWhole("stay where the hold was there before an upgrade", async () => {
    const { scene, copies, backUp } = await setBack({ journal: false, folder: false });
    scene.bridge.store.db.exec("DELETE FROM meta WHERE key = 'timeline'");
    for (let night = 0; night < 4; night++) await backUp();
    expect(Object.values(held(copies))).toEqual([9, 12, 3, 3]);
  });
});

whole.describe("a restore of a copy from before the database was set back", () => {
  it("names no later copy that lacks its orders", async () => {
    const { scene, copies, backUp } = await setBack({ journal: false, folder: false });
    await backUp();
    const [fewer = "", full = ""] = Object.keys(held(copies));
    const report = await scene.restore(() => {
      cpSync(path.join(copies, full), scene.copy);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(report.notes.map(String).join(" ")).not.toContain("holds more");
    const other = await scene.restore(() => {
      cpSync(path.join(copies, fewer), scene.copy);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(other.notes.map(String).join(" ")).toContain(`${full} holds more`);
  });
});
