import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { launcherOf } from "../install-program.ts";

/** Text of the bundle and what takes its place: a mistake that is planted to see whether it is caught. */
export type Plant = readonly (readonly [text: string, instead: string])[];

/**
 * A copy of an installed program with a mistake in it, wherever its text stands. Gives the launcher's path. Throws where a
 * text to be replaced does not stand in the bundle.
 */
export function plantMistake(program: string, folder: string, plant: Plant): string {
  cpSync(path.dirname(path.dirname(program)), folder, { recursive: true, verbatimSymlinks: true });
  const files = globSync(path.join(folder, "dist", "*.cjs"));
  for (const [old, instead] of plant) {
    const holders = files.filter((file) => readFileSync(file, "utf8").includes(old));
    if (holders.length === 0) throw new Error(`the bundle does not hold this text: ${old}`);
    for (const file of holders)
      writeFileSync(
        file,
        readFileSync(file, "utf8").replaceAll(old, () => instead),
      );
  }
  return launcherOf(folder);
}
