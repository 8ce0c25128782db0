import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";

/** A folder of the migrations before that one. */
export function formerMigrations(folder: string, name: string): string {
  const former = path.join(folder, "former");
  cpSync(MIGRATIONS_FOLDER, former, { recursive: true });
  const file = path.join(former, "meta", "_journal.json");
  const journal = JSON.parse(readFileSync(file, "utf8")) as { entries: { tag: string }[] };
  const at = journal.entries.findIndex(({ tag }) => tag.endsWith(`_${name}`));
  writeFileSync(file, JSON.stringify({ ...journal, entries: journal.entries.slice(0, at) }));
  return former;
}
