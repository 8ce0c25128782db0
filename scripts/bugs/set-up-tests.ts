import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-bug-"));
  const emptyDatabase = path.join(folder, "empty.db");
  openStore({ path: emptyDatabase, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" }).close();
  project.provide("emptyDatabase", emptyDatabase);
  return () => rmSync(folder, { recursive: true, force: true });
}
