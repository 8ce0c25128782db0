import { existsSync, renameSync } from "node:fs";
import path from "node:path";
import { m } from "../../messages/messages.ts";
import { syncFolder } from "../../platform/fresh-file.ts";
import { asBridgeError } from "../sqlite-errors.ts";
import { timeInName } from "./copy-names.ts";
import { hasForeignJournal } from "./foreign-journal.ts";

/**
 * Renames a file DATABASE-journal and flushes the folder. Returns the new name; undefined where there was none. The caller
 * holds the instance lock.
 */
export function setJournalAside(file: string): string | undefined {
  if (!hasForeignJournal(file)) return undefined;
  const stem = `${file}.foreign-journal-${timeInName(Date.now())}`;
  let aside = stem;
  for (let n = 2; existsSync(aside); n++) aside = `${stem}-${n}`;
  try {
    renameSync(`${file}-journal`, aside);
    syncFolder(path.dirname(file));
  } catch (error) {
    throw asBridgeError(error, m.database.settingAside, file);
  }
  return aside;
}
