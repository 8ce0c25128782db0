import { copyFileSync } from "node:fs";
import path from "node:path";
import { inject, onTestFinished } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import { memoryFolder } from "./temp.ts";

/** A new database, opened as the daemon does, for the running test. */
export function openNewStore(folder = memoryFolder()): { file: string; store: Store } {
  const file = path.join(folder, "bridge.db");
  copyFileSync(inject("emptyDatabase"), file);
  const store = openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  onTestFinished(() => store.close());
  return { file, store };
}
