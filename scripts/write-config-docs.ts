import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { exampleConfig } from "../src/config/example.ts";
import { configReference } from "../src/config/reference.ts";

/** Writes the example and the reference from the schema; with --check only says whether they are up to date. */

const root = path.resolve(import.meta.dirname, "..");
const files: Readonly<Record<string, string>> = {
  "config/config.example.yaml": exampleConfig(),
  "docs/configuration.md": configReference(),
};

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
  for (const [file] of stale) console.error(`${file} differs from the schema; run: node scripts/write-config-docs.ts`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const [file, text] of stale) {
    writeFileSync(path.join(root, file), text);
    console.log(`wrote ${file}`);
  }
}
