import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { PlantedBug } from "./bug.ts";

/** What a copy needs to run the simulation. */
const COPIED = ["src", "scripts", "drizzle", "package.json"];

/**
 * The source of `edits` with all of them made, by file.
 * @throws Error where a patch does not fit the present source.
 */
export function patched(root: string, { name, edits }: PlantedBug): Map<string, string> {
  const files = new Map<string, string>();
  for (const { file, find, replace } of edits) {
    const text = files.get(file) ?? readFileSync(path.join(root, file), "utf8");
    const places = text.split(find).length - 1;
    if (places !== 1) throw new Error(`"${name}" does not fit ${file}: its place was found ${places} times`);
    files.set(
      file,
      text.replace(find, () => replace),
    );
  }
  return files;
}

/** A copy of the checkout at `folder` with the bug in it. */
export function plant(root: string, folder: string, bug: PlantedBug): void {
  mkdirSync(folder, { recursive: true });
  for (const name of COPIED) cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  for (const [file, text] of patched(root, bug)) writeFileSync(path.join(folder, file), text);
}
