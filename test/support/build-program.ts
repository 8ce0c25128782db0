import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { buildProgram } from "../../scripts/crash/build-program.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The launcher of the program as it is installed: it starts several times as fast as the sources. */
    program: string;
  }
}

/** Before all tests: the bundles, the migrations, the launcher and the native module in a folder of their own. */
export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-installed-"));
  project.provide("program", await buildProgram(folder));
  return () => rmSync(folder, { recursive: true, force: true });
}
