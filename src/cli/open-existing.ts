import type { LoadedConfig } from "../config/load.ts";
import type { Store } from "../database/store.ts";
import { openDatabase } from "../pass/open-database.ts";
import { requireDatabase } from "./command.ts";

/** The database, which has to be there, for a command that writes beside a daemon. */
export function openExisting(loaded: LoadedConfig): Store {
  requireDatabase(loaded);
  return openDatabase(loaded, "command");
}
