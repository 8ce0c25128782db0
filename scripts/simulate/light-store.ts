import Database from "better-sqlite3";
import { ownObjectsOf } from "../../src/database/erp-objects.ts";
import { loadMigrations, MIGRATIONS_FOLDER } from "../../src/database/migrate.ts";
import { Store } from "../../src/database/store.ts";

const OWN = ownObjectsOf(loadMigrations(MIGRATIONS_FOLDER).flatMap(({ statements }) => statements));

/**
 * The store over a database that is known to be whole: opened by one connection instead of five, without what looks after
 * the files beside it. What the bridge writes through it is the same; what happens to files is looked at elsewhere.
 */
export function openLightStore(file: string): Store {
  const db = new Database(file, { fileMustExist: true, timeout: 0 });
  for (const setting of ["trusted_schema = OFF", "recursive_triggers = OFF", "foreign_keys = ON"]) db.pragma(setting);
  db.pragma("synchronous = OFF");
  const migrated = { applied: [], backup: undefined };
  return new Store(db, { file, migrated, keepsLog: false, isMixed: false, own: OWN });
}
