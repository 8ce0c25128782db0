import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { installProgram } from "../../scripts/install-program.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The launcher of the installed program: it starts several times faster than the sources. */
    program: string;
    /** An empty database of this version: copying it costs a quarter of creating one. */
    emptyDatabase: string;
  }
}

/**
 * Runs before all tests: builds the bundles, migrations, launcher and native module in their own folder, and a
 * database.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-installed-"));
  // As in an installation: a command started by root continues as another user.
  chmodSync(folder, 0o755);
  project.provide("program", await installProgram(folder));
  const emptyDatabase = path.join(folder, "empty.db");
  openStore({ path: emptyDatabase, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" }).close();
  project.provide("emptyDatabase", emptyDatabase);
  return () => rmSync(folder, { recursive: true, force: true });
}
