import path from "node:path";
import Database from "better-sqlite3";
import { memoryFolder } from "./temp.ts";

/** Every encoding in which a database may keep its text. */
export const ENCODINGS = ["UTF-8", "UTF-16le", "UTF-16be"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** A folder whose bridge.db was made by an ERP that keeps its text so. */
export function encodedFolder(encoding: Encoding): string {
  const folder = memoryFolder();
  const db = encodedDatabase(path.join(folder, "bridge.db"), encoding);
  db.exec("CREATE TABLE erp_own (x)");
  db.close();
  return folder;
}

export function encodedDatabase(file: string, encoding: Encoding): Database.Database {
  const db = new Database(file);
  db.pragma(`encoding = '${encoding}'`);
  db.pragma("journal_mode = wal");
  return db;
}
