import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { BodyEdit, Edit, PlantedBug, TextEdit } from "./bug.ts";
import { functionsNamed, type Range } from "./functions.ts";

/** What a copy needs to run the simulation, and a test. */
const COPIED = ["src", "scripts", "drizzle", "package.json"];
const COPIED_FOR_TESTS = [
  "test",
  "docs",
  "config",
  "examples",
  "bin",
  "rolldown.config.ts",
  "vitest.config.ts",
  "tsconfig.json",
];

/**
 * The source of `edits` with all of them made, by file.
 * @throws Error where a patch does not fit the present source.
 */
export function patched(root: string, { name, edits }: PlantedBug): Map<string, string> {
  const files = new Map<string, string>();
  for (const edit of edits) {
    const text = files.get(edit.file) ?? readFileSync(path.join(root, edit.file), "utf8");
    const places = placesOf(text, edit);
    const [place] = places;
    if (place === undefined || places.length > 1)
      throw new Error(`"${name}" does not fit ${edit.file}: its place was found ${places.length} times`);
    const written = "does" in edit ? `{ ${edit.does} }` : edit.replace;
    files.set(edit.file, text.slice(0, place.start) + written + text.slice(place.end));
  }
  return files;
}

function placesOf(text: string, edit: Edit): Range[] {
  return "does" in edit ? bodies(text, edit) : finds(text, edit);
}

function bodies(text: string, { of, file }: BodyEdit): Range[] {
  return functionsNamed(text, of, file).map(({ body }) => body);
}

/** Blanks, line breaks and a comma at the end of a list are how a text is laid out, and not what it says. */
function finds(text: string, { find, in: within, file }: TextEdit): Range[] {
  const wanted = squeezed(find).text;
  const ranges = within === undefined ? [{ start: 0, end: text.length }] : functionsNamed(text, within, file);
  return ranges.flatMap(({ start, end }) => {
    const source = squeezed(text.slice(start, end));
    const found: Range[] = [];
    for (let at = source.text.indexOf(wanted); at !== -1; at = source.text.indexOf(wanted, at + 1)) {
      const [first = 0, last = 0] = [source.places[at], source.places[at + wanted.length - 1]];
      found.push({ start: start + first, end: start + last + 1 });
    }
    return found;
  });
}

function squeezed(text: string): { text: string; places: number[] } {
  const kept: string[] = [];
  const places: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string;
    if (/\s/.test(sign)) continue;
    if (/[)\]}]/.test(sign) && kept.at(-1) === ",") {
      kept.pop();
      places.pop();
    }
    kept.push(sign);
    places.push(at);
  }
  return { text: kept.join(""), places };
}

/** A copy of the checkout at `folder` with the bug in it. */
export function plant(root: string, folder: string, bug: PlantedBug): void {
  mkdirSync(folder, { recursive: true });
  const copied = bug.foundBy.startsWith("test/") ? [...COPIED, ...COPIED_FOR_TESTS] : COPIED;
  for (const name of copied) {
    if (existsSync(path.join(root, name))) cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  }
  symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  for (const [file, text] of patched(root, bug)) writeFileSync(path.join(folder, file), text);
}
