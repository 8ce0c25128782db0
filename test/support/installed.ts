import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type InputOptions, type OutputOptions, rolldown } from "rolldown";
import { afterAll, beforeAll } from "vitest";
import config from "../../rolldown.config.ts";

/**
 * For the tests of a file: the program as it is installed (the bundles, its migrations, the launcher, the native
 * module), in a folder of its own. Starts three times as fast as the sources. Gives the launcher's path when asked
 * inside a test.
 */
export function installProgram(): () => string {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-installed-"));
    for (const { output, ...input } of config as (InputOptions & { output: OutputOptions & { file: string } })[]) {
      const bundle = await rolldown(input);
      await bundle.write({ ...output, file: path.join(folder, output.file) });
      await bundle.close();
    }
    cpSync("drizzle", path.join(folder, "drizzle"), { recursive: true });
    cpSync("bin", path.join(folder, "bin"), { recursive: true });
    mkdirSync(path.join(folder, "node_modules"));
    symlinkSync(path.resolve("node_modules/better-sqlite3"), path.join(folder, "node_modules", "better-sqlite3"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return () => path.join(folder, "bin", "erp-bridge.mjs");
}
