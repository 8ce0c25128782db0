import type { LoadedConfig } from "../config/load.ts";
import { loadMigrations, MIGRATIONS_FOLDER } from "../database/migrations.ts";
import { openStore, type WritingMode } from "../database/open.ts";
import type { Store } from "../database/store.ts";
import type { Troubles } from "../platform/troubles.ts";

export function openDatabase(loaded: LoadedConfig, mode: WritingMode, troubles?: Troubles): Store {
  return openStore({ path: loaded.config.database.path, migrationsFolder: MIGRATIONS_FOLDER, mode, troubles });
}

/** The settings with which a new database is created. */
export function newDatabaseStatements(): string[] {
  return loadMigrations(MIGRATIONS_FOLDER).flatMap(({ statements }) => statements);
}
