import { copyFileSync, existsSync, mkdtempSync, rmSync, unlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { checkAccount, liftCredentialHolds } from "../../src/daemon/account.ts";
import { feedRulesOf } from "../../src/daemon/build-jobs.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { openStore } from "../../src/database/open.ts";
import { FeedChanges } from "../../src/feeds/diff/feed-changes.ts";
import type { JobContext } from "../../src/pass/job.ts";
import { Configurations } from "./configurations.ts";
import type { Forms } from "./forms.ts";
import { LightConnection, LightStore } from "./light-store.ts";
import { ReusedDatabase } from "./reused-database.ts";
import { changesSchema, makeSchedule, type Schedule } from "./schedule.ts";
import { SecondConnection } from "./second-connection.ts";

/** Where fsync costs nothing; its meaning is not what is simulated here. */
const MEMORY = "/dev/shm";

/** With its log, which is left where nobody copies it. */
function removeDatabase(file: string): void {
  for (const each of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(each)) unlinkSync(each);
}

type Encoding = Forms["encoding"];

function openMigrated(file: string) {
  return openStore({ path: file, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" });
}

/** The database of one run. */
export interface Lent {
  readonly file: string;
  /** The bridge's connection, where it is not opened as the daemon does it. */
  readonly connection: LightConnection | undefined;
  readonly second: SecondConnection;
  giveBack(): void;
}

/**
 * A folder for the databases of many runs. Few of them begin with a copy of one that was migrated once, because migrating
 * costs more than a whole run; the others with one that knows its account and has the triggers of its feeds and its
 * views as well, because a change of the schema lets every connection read it anew, and that was open before.
 */
export class Workshop {
  readonly folder: string;
  readonly configurations = new Configurations();
  /** By encoding, each made when it is needed first. */
  readonly #migrated = new Map<Encoding, string>();
  readonly #known = new Map<Encoding, string>();
  /** By what is configured of the feeds. */
  readonly #armed = new Map<string, ReusedDatabase>();
  #count = 0;

  constructor() {
    const base = existsSync(MEMORY) ? MEMORY : os.tmpdir();
    this.folder = mkdtempSync(path.join(base, "erp-bridge-simulate-"));
    process.once("exit", this.close);
  }

  #migratedIn(encoding: Encoding): string {
    const made = this.#migrated.get(encoding);
    if (made !== undefined) return made;
    const file = this.#begin("migrated", encoding);
    openMigrated(file).close();
    this.#migrated.set(encoding, file);
    return file;
  }

  #knownIn(encoding: Encoding): string {
    const made = this.#known.get(encoding);
    if (made !== undefined) return made;
    const file = this.#begin("known", encoding);
    const store = openMigrated(file);
    const loaded = this.configurations.for(makeSchedule(1).forms, file);
    checkAccount(store, loaded);
    store.write(() => liftCredentialHolds(store, loaded));
    store.close();
    this.#known.set(encoding, file);
    return file;
  }

  /** As the ERP has left it where it made the file. */
  #begin(name: string, encoding: Encoding): string {
    const file = path.join(this.folder, `${name}-${encoding}.db`);
    if (encoding === "UTF-8") return file;
    const db = new Database(file);
    db.exec(`PRAGMA encoding = '${encoding}'; CREATE TABLE erp_own (name TEXT)`);
    db.close();
    return file;
  }

  async newDatabase({ forms, isGuarded, steps }: Schedule): Promise<Lent> {
    if (isGuarded) return this.#copyFor(forms);
    const armed = await this.#armedFor(forms);
    return changesSchema({ steps }) ? this.#copyOf(armed) : lend(armed);
  }

  /** For one run alone, over connections of its own. */
  #copyOf(armed: ReusedDatabase): Lent {
    const file = path.join(this.folder, `bridge-${++this.#count}.db`);
    // What other runs have written stands in the log alone, which is not copied.
    copyFileSync(armed.file, file);
    const connection = new LightConnection(file);
    const second = new SecondConnection(file);
    const giveBack = () => {
      connection.db.close();
      second.close();
      removeDatabase(file);
    };
    return { file, connection, second, giveBack };
  }

  /** A database that knows its account and has no orders, for one run alone. */
  newFile({ encoding }: Forms): { file: string; giveBack: () => void } {
    const file = path.join(this.folder, `bridge-${++this.#count}.db`);
    copyFileSync(this.#knownIn(encoding), file);
    return { file, giveBack: () => removeDatabase(file) };
  }

  #copyFor(forms: Forms): Lent {
    const file = path.join(this.folder, `bridge-${++this.#count}.db`);
    copyFileSync(this.#migratedIn(forms.encoding), file);
    const second = new SecondConnection(file);
    const giveBack = () => {
      second.close();
      removeDatabase(file);
    };
    return { file, connection: undefined, second, giveBack };
  }

  async #armedFor(forms: Forms): Promise<ReusedDatabase> {
    const from = this.#knownIn(forms.encoding);
    const loaded = this.configurations.for(forms, from);
    const rules = feedRulesOf(loaded);
    const feeds = [...rules.values()].map(({ signature, keys, address }) => [signature, keys, address]);
    const key = JSON.stringify([forms.encoding, feeds]);
    const known = this.#armed.get(key);
    if (known !== undefined) return known;
    const file = path.join(this.folder, `armed-${this.#armed.size}.db`);
    copyFileSync(from, file);
    const store = new LightStore(new LightConnection(file));
    const silent = () => {};
    const log = { debug: silent, info: silent, warn: silent, error: silent };
    const clock = { nowMs: () => 0, monotonicMs: () => 0, random: () => 0, sleep: () => Promise.resolve() };
    const context = { store, clock, log, isStopping: () => false } as unknown as JobContext;
    for (const feed of rules.values()) await new FeedChanges(context, feed).arm(new AbortController().signal);
    store.db.close();
    const made = new ReusedDatabase(file);
    this.#armed.set(key, made);
    return made;
  }

  readonly close = (): void => {
    process.off("exit", this.close);
    for (const database of this.#armed.values()) database.close();
    this.#armed.clear();
    rmSync(this.folder, { recursive: true, force: true });
  };
}

function lend(database: ReusedDatabase): Lent {
  const { file, bridge, second } = database;
  database.lend();
  return { file, connection: bridge, second, giveBack: () => database.takeBack() };
}
