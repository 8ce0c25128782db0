import { copyFileSync, existsSync, mkdtempSync, rmSync, unlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { checkAccount, liftCredentialHolds } from "../../src/daemon/account.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrate.ts";
import { openStore } from "../../src/database/open.ts";
import { Configurations } from "./configurations.ts";
import { makeSchedule, type Schedule } from "./schedule.ts";

/** Where fsync costs nothing; its meaning is not what is simulated here. */
const MEMORY = "/dev/shm";

/** With its log, which is left where nobody copies it. */
function removeDatabase(file: string): void {
  for (const each of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(each)) unlinkSync(each);
}

/**
 * A folder for the databases of many runs. Each begins with a copy of one that was migrated once, because migrating
 * costs more than a whole run; most of them with one that knows its account as well.
 */
export class Workshop {
  readonly folder: string;
  readonly configurations = new Configurations();
  readonly #migrated: string;
  readonly #known: string;
  #count = 0;

  constructor() {
    const base = existsSync(MEMORY) ? MEMORY : os.tmpdir();
    this.folder = mkdtempSync(path.join(base, "erp-bridge-simulate-"));
    this.#migrated = path.join(this.folder, "migrated.db");
    this.#known = path.join(this.folder, "known.db");
    process.once("exit", this.close);
    this.#make(this.#migrated).close();
    const store = this.#make(this.#known);
    const loaded = this.configurations.for(makeSchedule(1).forms, this.#known);
    checkAccount(store, loaded);
    store.write(() => liftCredentialHolds(store, loaded));
    store.close();
  }

  newDatabase({ isGuarded }: Schedule): { file: string; remove: () => void } {
    const file = path.join(this.folder, `bridge-${++this.#count}.db`);
    copyFileSync(isGuarded ? this.#migrated : this.#known, file);
    return { file, remove: () => removeDatabase(file) };
  }

  #make(file: string) {
    return openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
  }

  readonly close = (): void => {
    process.off("exit", this.close);
    rmSync(this.folder, { recursive: true, force: true });
  };
}
