import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll } from "vitest";
import { buildProgram } from "../../scripts/crash/build-program.ts";

/**
 * For the tests of a file: the program as it is installed (the bundles, its migrations, the launcher, the native
 * module), in a folder of its own. Starts three times as fast as the sources. Gives the launcher's path when asked
 * inside a test.
 */
export function installProgram(): () => string {
  let folder = "";
  let launcher = "";
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-installed-"));
    launcher = await buildProgram(folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => launcher;
}
