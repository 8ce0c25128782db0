import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type LoadedConfig, parseConfig } from "../../src/config/load.ts";
import { ConfigError } from "../../src/config/problems.ts";

/** Holds no word such as "secret", by which its line would be hidden anyway. */
export const SECRET = "canary-Zq81-x7";
export const FILE = "/nowhere/config.yaml";

/** The shortest file that loads. */
export const MINIMAL = `service:
  base_url: https://api.example.com
  client_id: shop-1
  client_secret: ${SECRET}
`;

export function parse(text: string, env: NodeJS.ProcessEnv = {}): LoadedConfig {
  return parseConfig({ text, file: FILE, env });
}

export function errorOf(run: () => unknown): ConfigError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("the configuration was accepted");
}

/** What is wrong with `text`, each as `line:column key: problem`. */
export function problemsOf(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  return errorOf(() => parse(text, env)).problems.map(
    ({ line, column, key, problem }) => `${line}:${column} ${key}: ${problem}`,
  );
}

export function temporaryFile(name: string, content: string | Buffer, mode = 0o600): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "erp-bridge-config-")), name);
  writeFileSync(file, content, { mode });
  return file;
}
