/* Writes the example, the references and the tables of the pages from the code; with --check only says whether they are up to date. */

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { exampleConfig } from "../src/config/example.ts";
import { dictionary } from "./docs/dictionary.ts";
import { configReference } from "./docs/reference.ts";
import { RUSSIAN } from "./docs/reference-ru.ts";
import { type Region, regions, withRegions } from "./docs/regions.ts";

const root = path.resolve(import.meta.dirname, "..");
const files: Readonly<Record<string, string>> = {
  "config/config.example.yaml": exampleConfig(),
  "docs/configuration.md": configReference(),
  "docs/configuration.ru.md": configReference(RUSSIAN),
  "docs/dictionary.md": dictionary(),
  ...Object.fromEntries([...Map.groupBy(regions(), ({ file }) => file)].map(([file, of]) => [file, filled(file, of)])),
};

function filled(file: string, of: Region[]): string {
  return withRegions(readFileSync(path.join(root, file), "utf8"), of);
}

function onDisk(file: string): string | null {
  try {
    return readFileSync(path.join(root, file), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

const stale = Object.entries(files).filter(([file, text]) => onDisk(file) !== text);

if (process.argv.includes("--check")) {
  for (const [file] of stale) console.error(`${file} differs from the code; run: npm run docs`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const [file, text] of stale) {
    writeFileSync(path.join(root, file), text);
    console.log(`wrote ${file}`);
  }
}
