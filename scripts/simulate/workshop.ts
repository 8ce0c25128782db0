import { copyFileSync, existsSync, mkdtempSync, rmSync, unlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { type LoadedConfig, parseConfig } from "../../src/config/load.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrate.ts";
import { openStore } from "../../src/database/open.ts";
import { bridgeSettings, type Changed, type Forms } from "./forms.ts";

/** Where fsync costs nothing; its meaning is not what is simulated here. */
const MEMORY = "/dev/shm";

/** With its log, which is left where nobody copies it. */
function removeDatabase(file: string): void {
  for (const each of [file, `${file}-wal`, `${file}-shm`]) if (existsSync(each)) unlinkSync(each);
}

export const CREDENTIALS = { clientId: "shop-1", clientSecret: "s3cret-of-shop-1" };

/** Small, so that an answer beyond it costs little. */
const ANSWER_BYTES_MAX = "250KB";

/** So many configurations are kept: services of one kind are configured alike. */
const CONFIGURATIONS_MAX = 2_000;

/** Configurations as operators would have written them, read by the product's own reader, each text once. */
class Configurations {
  readonly #read = new Map<string, LoadedConfig>();

  /** @param secret where it is not the right one. */
  for(forms: Forms, database: string, { secret, ...changed }: Changed & { secret?: string } = {}): LoadedConfig {
    const settings = bridgeSettings(forms, changed);
    const key = JSON.stringify([settings, secret]);
    const loaded = this.#read.get(key) ?? read(settings, secret ?? CREDENTIALS.clientSecret);
    if (this.#read.size >= CONFIGURATIONS_MAX) this.#read.clear();
    this.#read.set(key, loaded);
    const { config } = loaded;
    return { ...loaded, config: { ...config, database: { ...config.database, path: database } } };
  }
}

function read(settings: Record<string, unknown>, secret: string): LoadedConfig {
  const written = {
    ...settings,
    service: {
      ...(settings["service"] as object),
      base_url: "http://127.0.0.1:8080",
      client_id: CREDENTIALS.clientId,
      client_secret: secret,
      answer_bytes_max: ANSWER_BYTES_MAX,
    },
    database: { path: "/srv/bridge.db" },
    http: { listen: "off" },
  };
  return parseConfig({ text: stringify(written), file: "/srv/config.yaml", env: {} });
}

/**
 * A folder for the databases of many runs. Each begins with a copy of one that was migrated once, because migrating
 * costs more than a whole run.
 */
export class Workshop {
  readonly folder: string;
  readonly configurations = new Configurations();
  readonly #template: string;
  #count = 0;

  constructor() {
    const base = existsSync(MEMORY) ? MEMORY : os.tmpdir();
    this.folder = mkdtempSync(path.join(base, "erp-bridge-simulate-"));
    this.#template = path.join(this.folder, "template.db");
    process.once("exit", this.close);
    openStore({ path: this.#template, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon" }).close();
  }

  newDatabase(): { file: string; remove: () => void } {
    const file = path.join(this.folder, `bridge-${++this.#count}.db`);
    copyFileSync(this.#template, file);
    return { file, remove: () => removeDatabase(file) };
  }

  readonly close = (): void => {
    process.off("exit", this.close);
    rmSync(this.folder, { recursive: true, force: true });
  };
}
