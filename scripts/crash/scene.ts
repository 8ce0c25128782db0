import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { stringify } from "yaml";
import type { LedgerEntry } from "../../src/sandbox/ledger.ts";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Random, randomUuid, seededRandom } from "../../src/sandbox/random.ts";
import { routeOf } from "../../src/sandbox/routes.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { DiskControl } from "./disk-control.ts";

/** How long rows rest whose import has an unknown outcome; long enough for an answer on a busy machine. */
const IMPORT_TIMEOUT_MS = 5_000;
const OUTPUT_MAX = 200_000;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of what it wrote, results and messages alike. */
  output: string;
}

export interface Child {
  readonly child: ChildProcess;
  readonly exited: Promise<Ended>;
  readonly output: () => string;
}

export interface SceneOptions {
  folder: string;
  program: string;
  shim?: string | undefined;
  seed: number;
  sandbox?: SandboxOptionsPatch;
  settings?: { orders?: object; service?: object; http?: object; schedule?: string };
  /** Environment of the program, beside the shim's. */
  env?: Record<string, string>;
}

/** Something the service accepted, and how long the disk's log was when it did. */
export interface Accepted {
  entry: LedgerEntry;
  logBytes: number;
}

/**
 * The mock service in this process, a database, and the program as a child that may have the shim before its disk.
 * Every confirm is looked at as it arrives: the orders that it names must be in the database by then.
 */
export class Scene {
  readonly database: string;
  readonly random: Random;
  readonly accepted: Accepted[] = [];
  /** Orders that came with a record nobody can use. */
  readonly badIds = new Set<string>();
  /** What a confirm that arrived too early was about. */
  readonly tooEarly: string[] = [];
  readonly control: DiskControl | undefined;
  /** Called with each request as it arrives. */
  onRequest: ((request: SandboxRequest) => void | Promise<void>) | undefined;
  sandbox!: Sandbox;
  readonly #options: SceneOptions;
  readonly #children = new Set<ChildProcess>();

  private constructor(options: SceneOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true });
    this.database = path.join(options.folder, "bridge.db");
    // Another sequence than the service draws its ids from.
    this.random = seededRandom(options.seed ^ 0x5eed);
    if (options.shim !== undefined) this.control = new DiskControl(path.join(options.folder, "disk-control"));
  }

  static async start(options: SceneOptions): Promise<Scene> {
    const scene = new Scene(options);
    scene.sandbox = await startSandbox({
      seed: options.seed,
      options: { batchSize: 10, ...options.sandbox },
      onRequest: async (request) => {
        scene.#lookAtConfirm(request);
        await scene.onRequest?.(request);
      },
      onEntry: (entry) => void scene.accepted.push({ entry, logBytes: scene.logBytes }),
    });
    scene.#writeConfig();
    return scene;
  }

  get logFile(): string {
    return path.join(this.#options.folder, "disk-log");
  }

  get logBytes(): number {
    return statSync(this.logFile, { throwIfNoEntry: false })?.size ?? 0;
  }

  get configFile(): string {
    return path.join(this.#options.folder, "config.yaml");
  }

  /** Starts `erp-bridge ARGS`; `logged`: what it writes is written down for `DiskImage`. */
  start(args: readonly string[], { logged = false } = {}): Child {
    const { shim, program } = this.#options;
    const disk =
      shim === undefined
        ? {}
        : {
            LD_PRELOAD: shim,
            DISK_DATABASE: this.database,
            DISK_CONTROL: this.control?.file ?? "",
            ...(logged ? { DISK_LOG: this.logFile } : {}),
          };
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...disk, ...this.#options.env };
    return this.#watch(
      spawn(process.execPath, [program, ...args, "--config", this.configFile], {
        stdio: ["ignore", "pipe", "pipe"],
        env,
      }),
    );
  }

  #watch(child: ChildProcess): Child {
    this.#children.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-OUTPUT_MAX);
      });
    }
    const exited = once(child, "close").then(([code, signal]): Ended => {
      this.#children.delete(child);
      return { code, signal, output };
    });
    return { child, exited, output: () => output };
  }

  /** Another program on the same database, in plain JavaScript; what it writes is written down like the program's own. */
  startOther(script: string): Child {
    const { shim } = this.#options;
    const disk = shim === undefined ? {} : { LD_PRELOAD: shim, DISK_DATABASE: this.database, DISK_LOG: this.logFile };
    return this.#watch(
      spawn(process.execPath, ["-e", script], {
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], ...disk },
        cwd: path.join(import.meta.dirname, "..", ".."),
      }),
    );
  }

  run(args: readonly string[], options: { logged?: boolean } = {}): Promise<Ended> {
    return this.start(args, options).exited;
  }

  /** Rows on a fresh connection, as another program sees them. */
  rows<T = Record<string, unknown>>(sql: string, ...values: unknown[]): T[] {
    const db = new Database(this.database, { readonly: true, fileMustExist: true });
    try {
      return db.prepare(sql).all(...values) as T[];
    } finally {
      db.close();
    }
  }

  /** Writes as the ERP would. */
  write(sql: string, ...values: unknown[]): void {
    const db = new Database(this.database, { fileMustExist: true });
    try {
      db.pragma("synchronous = FULL");
      db.prepare(sql).run(...values);
    } finally {
      db.close();
    }
  }

  createOrders(count: number): void {
    for (let made = 0; made < count; made++) this.sandbox.service.createOrder();
  }

  /** An order that nobody can use: it has no status. */
  createBadOrder(): void {
    const id = randomUuid(this.random);
    this.badIds.add(id);
    this.sandbox.service.createOrder({ id, raw: `{"order_id":"${id}","items":[]}` });
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    this.control?.close();
    await this.sandbox.close();
  }

  #lookAtConfirm(request: SandboxRequest): void {
    if (routeOf(request.method, request.path, this.sandbox.service.options).kind !== "confirm") return;
    const body = JSON.parse(request.body.toString("utf8")) as { batch_id?: unknown; order_ids?: string[] };
    const handedOut = this.sandbox.ledger.effects("handed-out");
    const covered =
      body.order_ids?.map((id) => id.toLowerCase()) ??
      handedOut
        .filter(({ batchId }) => body.batch_id === undefined || batchId === JSON.stringify(body.batch_id))
        .flatMap(({ orderIds }) => orderIds);
    const kept = new Set(this.rows<{ id: string }>(KEPT_IDS).map(({ id }) => id));
    const missing = covered.filter((id) => !kept.has(id));
    if (missing.length > 0) this.tooEarly.push(`a confirm arrived before ${missing.length} of its orders were stored`);
  }

  #writeConfig(): void {
    const { sandbox } = this;
    const { settings = {} } = this.#options;
    const cron = { schedule: settings.schedule ?? "0 0 1 1 *" };
    writeFileSync(
      this.configFile,
      stringify({
        service: {
          base_url: sandbox.url,
          client_id: sandbox.clientId,
          client_secret: sandbox.clientSecret,
          requests_per_second: 10_000,
          timeouts: { import: `${IMPORT_TIMEOUT_MS}ms` },
          ...settings.service,
        },
        database: { path: "bridge.db" },
        orders: { ...cron, ...settings.orders },
        updates: { ...cron, sweep: { schedule: "0 0 1 1 *" } },
        statuses: cron,
        imports: { stocks: cron },
        backup: { schedule: "0 0 1 1 *", dir: "backups" },
        http: { listen: "off", ...settings.http },
      }),
      { mode: 0o600 },
    );
  }
}

/** Every order that is kept, as an order or as a record nobody can use. */
export const KEPT_IDS =
  "SELECT order_id AS id FROM orders UNION SELECT trim(reference, '\"') FROM quarantine WHERE reference IS NOT NULL";
