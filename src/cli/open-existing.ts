import type { LoadedConfig } from "../config/load.ts";
import type { Store } from "../database/store.ts";
import { openDatabase } from "../pass/open-database.ts";
import { requireDatabase } from "./command.ts";

/** Opens the existing database for writing, beside a daemon that may be running. */
export function openExisting(loaded: LoadedConfig): Store {
  requireDatabase(loaded);
  return openDatabase(loaded, "command");
}
