import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { inject, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { type LoadedConfig, parseConfig } from "../../src/config/load.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import type { RunResult } from "../../src/daemon/run-job.ts";
import type { Message } from "../../src/messages/message.ts";
import type { FlowName } from "../../src/pass/job-names.ts";
import type { Clock, Log } from "../../src/platform/ports.ts";
import { type Sandbox, type StartOptions, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { memoryFolder } from "./temp.ts";

/** Nested configuration, as in the file; merged over what every test needs. */
export type Settings = { [key: string]: unknown };

export interface TestBridge {
  bridge: Bridge;
  sandbox: Sandbox;
  clock: FakeClock;
  logs: LogLine[];
  run(job: FlowName): Promise<RunResult>;
  /** Rows of a query on the bridge's own connection. */
  rows<T = Record<string, unknown>>(sql: string, ...values: unknown[]): T[];
  /** Restarts the bridge, optionally with another configuration. */
  restart(settings?: Settings): Promise<void>;
}

export interface LogLine {
  level: "debug" | "info" | "warn" | "error";
  fields: object;
  message: string;
}

/** Wall and monotonic time that change only when advanced; sleeping advances both. */
export class FakeClock implements Clock {
  #wallMs = Date.UTC(2026, 2, 1, 12);
  #monotonicMs = 1_000;
  nowMs = () => this.#wallMs;
  monotonicMs = () => this.#monotonicMs;
  random = () => 0.5;
  /** Called whenever a wait begins. */
  onSleep: () => void = () => {};

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.onSleep();
    this.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** The machine starts anew: its monotonic clock begins at zero. */
  reboot(): void {
    this.#monotonicMs = 1_000;
  }

  advance(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  /** Moves the wall clock only; the monotonic one stays. */
  jump(ms: number): void {
    this.#wallMs += ms;
  }
}

export function configFor(
  sandbox: Pick<Sandbox, "url" | "clientId" | "clientSecret">,
  folder: string,
  settings: Settings = {},
): LoadedConfig {
  const merged = mergeSettings(
    {
      service: {
        base_url: sandbox.url,
        client_id: sandbox.clientId,
        client_secret: sandbox.clientSecret,
        requests_per_second: 10_000,
      },
      database: { path: path.join(folder, "bridge.db") },
      http: { listen: "off" },
    },
    settings,
  );
  return parseConfig({ text: stringify(merged), file: path.join(folder, "config.yaml"), env: {} });
}

export async function startTestBridge(
  options: { settings?: Settings; sandbox?: StartOptions; folder?: string; encoding?: string } = {},
): Promise<TestBridge> {
  const folder = options.folder ?? memoryFolder();
  mkdirSync(folder, { recursive: true });
  const database = path.join(folder, "bridge.db");
  if (options.encoding !== undefined) beginIn(options.encoding, database);
  if (!existsSync(database)) copyFileSync(inject("emptyDatabase"), database);
  const clock = new FakeClock();
  const logs: LogLine[] = [];
  const sandbox = await startSandbox({ now: clock.nowMs, ...options.sandbox });
  onTestFinished(() => sandbox.close());
  const open = (settings: Settings | undefined) =>
    new Bridge({ loaded: configFor(sandbox, folder, settings), log: collectingLog(logs), clock }, "test");
  let settings = options.settings;
  let bridge = open(settings);
  onTestFinished(() => bridge.stop());
  return {
    get bridge() {
      return bridge;
    },
    sandbox,
    clock,
    logs,
    run: (job) => bridge.runJob(job),
    rows: (sql, ...values) => bridge.store.db.prepare(sql).all(...values) as never[],
    restart: async (changed) => {
      await bridge.stop();
      settings = changed ?? settings;
      bridge = open(settings);
    },
  };
}

/** Creates the file in this encoding, as an ERP may have done. */
function beginIn(encoding: string, file: string): void {
  const db = new Database(file);
  db.exec(`PRAGMA encoding = '${encoding}'; CREATE TABLE erp_own (name TEXT)`);
  db.close();
}

export function collectingLog(logs: LogLine[]): Log {
  const at = (level: LogLine["level"]) => (fields: object, message: string | Message) =>
    void logs.push({ level, fields, message: String(message) });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Merges `over` into `base`, group by group. */
export function mergeSettings(base: Settings, over: Settings): Settings {
  const merged: Settings = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = merged[key];
    merged[key] = isGroup(old) && isGroup(value) ? mergeSettings(old, value) : value;
  }
  return merged;
}

function isGroup(value: unknown): value is Settings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
