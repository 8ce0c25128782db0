import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { installProgram } from "../../scripts/install-program.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The launcher of the program as it is installed: it starts several times as fast as the sources. */
    program: string;
    /** An empty database of this version: a copy of it costs a quarter of making one. */
    emptyDatabase: string;
  }
}

/** Before all tests: the bundles, the migrations, the launcher and the native module in a folder of their own; and a database. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-installed-"));
  // As an installed program is: a command that root starts goes on as another user.
  chmodSync(folder, 0o755);
  project.provide("program", await installProgram(folder));
  const emptyDatabase = path.join(folder, "empty.db");
  openStore({ path: emptyDatabase, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" }).close();
  project.provide("emptyDatabase", emptyDatabase);
  return () => rmSync(folder, { recursive: true, force: true });
}
