import { stringify } from "yaml";
import { exampleConfig } from "./example.ts";
import { parseConfig } from "./load.ts";
import { ConfigError } from "./problems.ts";

/** YAML lines that set these values; empty where there are none. */
export function proposalLines(keys: Readonly<Record<string, unknown>>): string {
  const root: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(keys)) {
    const steps = path.split(".");
    let group = root;
    for (const step of steps.slice(0, -1)) {
      group[step] ??= {};
      group = group[step] as Record<string, unknown>;
    }
    group[steps.at(-1) ?? ""] = value;
  }
  return Object.keys(root).length === 0 ? "" : stringify(root, { lineWidth: 0 }).trimEnd();
}

/** The values that a configuration accepts; others are left out rather than proposed. */
export function loadable(keys: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(keys).filter(([key, value]) => loads({ [key]: value })));
}

function loads(keys: Readonly<Record<string, unknown>>): boolean {
  const text = exampleConfig({ "service.client_secret": "stand-in", ...keys });
  try {
    parseConfig({ text, file: "/config.yaml", env: {} });
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}
