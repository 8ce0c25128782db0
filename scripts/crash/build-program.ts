import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type InputOptions, type OutputOptions, rolldown } from "rolldown";
import config from "../../rolldown.config.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");

/** Text of the bundle and what takes its place: a mistake that is planted to see whether it is caught. */
export type Plant = readonly (readonly [text: string, instead: string])[];

/**
 * Lays the program out in this folder as it is installed: the bundles, its migrations, the launcher, the native module.
 * Gives the launcher's path. Throws where a text to be replaced does not stand in the bundle exactly once.
 */
export async function buildProgram(folder: string): Promise<string> {
  for (const { output, ...input } of config as (InputOptions & { output: OutputOptions & { file: string } })[]) {
    const bundle = await rolldown({ ...input, cwd: ROOT });
    await bundle.write({ ...output, file: path.join(folder, output.file) });
    await bundle.close();
  }
  for (const part of ["drizzle", "bin"]) cpSync(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(path.join(ROOT, "node_modules", "better-sqlite3"), path.join(folder, "node_modules", "better-sqlite3"));
  return launcherOf(folder);
}

/** A copy of such a folder with a mistake in it. */
export function plantMistake(program: string, folder: string, plant: Plant): string {
  cpSync(path.dirname(path.dirname(program)), folder, { recursive: true, verbatimSymlinks: true });
  const file = path.join(folder, "dist", "erp-bridge.mjs");
  let text = readFileSync(file, "utf8");
  for (const [old, instead] of plant) {
    if (text.split(old).length !== 2) throw new Error(`the bundle does not hold this text exactly once: ${old}`);
    text = text.replace(old, () => instead);
  }
  writeFileSync(file, text);
  return launcherOf(folder);
}

function launcherOf(folder: string): string {
  return path.join(folder, "bin", "erp-bridge.mjs");
}
