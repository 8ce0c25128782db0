import { chmodSync, rmSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { saveUnlinked } from "../../src/backup/save-unlinked.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { startScene } from "../support/restored.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("the rights of a database", () => {
  itWhole("that was restored are those of the replaced file, or of a new database where that is gone", async () => {
    const scene = await startScene();
    await scene.backUp();
    const made = modeOf(scene.database);
    expect(modeOf(scene.copy)).toBe(made);
    await scene.restore(() => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${scene.database}${suffix}`, { force: true });
    });
    expect(modeOf(scene.database)).toBe(made);
    for (const mode of [0o600, 0o660]) {
      await scene.restore(() => chmodSync(scene.database, mode));
      expect(modeOf(scene.database)).toBe(mode.toString(8));
    }
  });

  it("that was saved from an open connection are those of a new database", async () => {
    const folder = tempFolder();
    using store = openStore({ path: `${folder}/bridge.db`, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
    const saved = await saveUnlinked(store, 0);
    expect(modeOf(saved ?? "")).toBe(modeOf(store.path));
  });
});
