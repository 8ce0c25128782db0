import { writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import type { LoadedConfig } from "../../src/config/load.ts";
import { main } from "../../src/main.ts";
import type { StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { configFor, type Settings, startTestBridge, type TestBridge } from "./bridge.ts";
import { tempFolder } from "./temp.ts";

export interface Shown {
  exitCode: number;
  out: string[];
  err: string[];
}

export interface RepairBridge extends TestBridge {
  /** Runs a command on the bridge's database, with this configuration in the file. */
  command(settings: Settings, ...argv: string[]): Promise<Shown>;
  /** This configuration as the program loads it. */
  loaded(settings: Settings): LoadedConfig;
  /** The same with `--json`; returns its only line, parsed. */
  json(settings: Settings, ...argv: string[]): Promise<Record<string, unknown>>;
}

/** A bridge for tests that run commands beside it: its configuration is also in a file. */
export async function startRepairBridge(
  options: { settings?: Settings; sandbox?: StartOptions } = {},
): Promise<RepairBridge> {
  const folder = tempFolder("repair");
  const bridge = await startTestBridge({ ...options, folder });
  const file = path.join(folder, "config.yaml");
  const command = async (settings: Settings, ...argv: string[]): Promise<Shown> => {
    const { url, clientId, clientSecret } = bridge.sandbox;
    const service = { base_url: url, client_id: clientId, client_secret: clientSecret };
    writeFileSync(file, stringify({ service, database: { path: "bridge.db" }, ...settings }), { mode: 0o600 });
    const shown: Shown = { exitCode: 0, out: [], err: [] };
    const terminal = {
      env: {},
      isTerminal: false,
      out: (text: string) => void shown.out.push(...text.split("\n")),
      err: (text: string) => void shown.err.push(...text.split("\n")),
    };
    shown.exitCode = await main([...argv, "--config", file], terminal);
    return shown;
  };
  return Object.assign(Object.create(bridge) as TestBridge, {
    command,
    loaded: (settings: Settings) => configFor(bridge.sandbox, folder, settings),
    json: async (settings: Settings, ...argv: string[]) => {
      const shown = await command(settings, ...argv, "--json");
      return JSON.parse(shown.out[0] ?? "{}") as Record<string, unknown>;
    },
  });
}
