import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import type { PlainTerminal } from "../../src/cli/terminal.ts";
import { main } from "../../src/main.ts";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import { type Sandbox, type StartOptions, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { mergeSettings, type Settings } from "./bridge.ts";
import { type Program, startProgram } from "./program.ts";
import { tempFolder } from "./temp.ts";

export interface CommandResult {
  code: number;
  out: string;
  err: string;
}

/** A sandbox, a configuration file and a folder for a database, as a user of the command line has them. */
export interface Shop {
  folder: string;
  configFile: string;
  database: string;
  sandbox: Sandbox;
  /** Called at each request and answer; may be set at any time. An error in `onRequest` prevents the effect. */
  hooks: { onRequest?: Hook; onAnswer?: Hook };
  writeConfig(settings?: Settings): void;
  /** Runs the command in this process. */
  command(...args: string[]): Promise<CommandResult>;
  /** Runs the command in its own process. */
  start(...args: string[]): Program;
  /** Rows on a new connection, as another program reads them. */
  rows<T = Record<string, unknown>>(sql: string, ...values: unknown[]): T[];
  /** Writes as the ERP would. */
  write(sql: string, ...values: unknown[]): void;
}

export type Hook = (request: SandboxRequest) => void | Promise<void>;

export async function startShop(
  options: {
    settings?: Settings;
    sandbox?: StartOptions;
    folder?: string;
    bin?: string;
    /** For every process started by `start`. */
    env?: NodeJS.ProcessEnv;
  } = {},
): Promise<Shop> {
  const folder = options.folder ?? tempFolder("shop");
  const hooks: Shop["hooks"] = {};
  const sandbox = await startSandbox({
    // Of its own, because a port is used again: another test's program may still have the lock on that account.
    clientId: `shop-${randomUUID()}`,
    onRequest: (request) => hooks.onRequest?.(request),
    onAnswer: (request) => hooks.onAnswer?.(request),
    ...options.sandbox,
  });
  onTestFinished(() => sandbox.close());
  const configFile = path.join(folder, "config.yaml");
  const database = path.join(folder, "bridge.db");
  const writeConfig = (settings: Settings = {}) => {
    const service = { base_url: sandbox.url, client_id: sandbox.clientId, requests_per_second: 10_000 };
    const base = {
      service: { ...service, client_secret_file: "client-secret" },
      database: { path: "bridge.db" },
      backup: { dir: "backups" },
      http: { listen: "off" },
    };
    writeFileSync(configFile, stringify(mergeSettings(base, mergeSettings(options.settings ?? {}, settings))));
  };
  writeFileSync(path.join(folder, "client-secret"), `${sandbox.clientSecret}\n`, { mode: 0o600 });
  writeConfig();
  const connected = <T>(readonly: boolean, use: (db: Database.Database) => T): T => {
    const db = new Database(database, { readonly, fileMustExist: true });
    try {
      return use(db);
    } finally {
      db.close();
    }
  };
  return {
    folder,
    configFile,
    database,
    sandbox,
    hooks,
    writeConfig,
    command: (...args) => runCommand([...args, "--config", configFile]),
    start: (...args) =>
      startProgram([...args, "--config", configFile], {
        ...(options.bin === undefined ? {} : { bin: options.bin }),
        ...(options.env === undefined ? {} : { env: options.env }),
      }),
    rows: (sql, ...values) => connected(true, (db) => db.prepare(sql).all(...values) as never[]),
    write: (sql, ...values) => connected(false, (db) => void db.prepare(sql).run(...values)),
  };
}

/** Runs `main` with a terminal that collects its output. */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandResult> {
  const lines = { out: [] as string[], err: [] as string[] };
  const terminal: PlainTerminal = {
    env,
    isTerminal: false,
    out: (text) => void lines.out.push(text),
    err: (text) => void lines.err.push(text),
  };
  const code = await main(argv, terminal);
  return { code, out: lines.out.join("\n"), err: lines.err.join("\n") };
}
