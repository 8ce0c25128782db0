import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { type Plugin, rolldown } from "rolldown";
import config, { type Bundle } from "../rolldown.config.ts";

const ROOT = path.join(import.meta.dirname, "..");

/** Writes the program's bundles below this folder, as rolldown.config.ts describes it. */
export async function writeBundles(folder: string, plugins: Plugin[] = []): Promise<void> {
  await writeBundle({ ...config, plugins, output: { ...config.output, dir: path.join(folder, config.output.dir) } });
}

export async function writeBundle({ output, ...input }: Bundle): Promise<void> {
  const bundle = await rolldown({ ...input, cwd: ROOT });
  await bundle.write(output);
  await bundle.close();
}

/**
 * Lays the program out in this folder as it is installed: the bundles, its migrations, the launcher, the native module.
 * Gives the launcher's path.
 */
export async function installProgram(folder: string): Promise<string> {
  await writeBundles(folder);
  for (const part of ["drizzle", "bin"]) cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(path.join(ROOT, "node_modules", "better-sqlite3"), path.join(folder, "node_modules", "better-sqlite3"));
  return launcherOf(folder);
}

export function launcherOf(folder: string): string {
  return path.join(folder, "bin", "erp-bridge.mjs");
}
