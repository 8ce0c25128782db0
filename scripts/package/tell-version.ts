import { readFileSync } from "node:fs";
import path from "node:path";
import type { Plugin } from "rolldown";

/** Has the bundles call themselves `version`, whatever package.json says. */
export function tellVersion(root: string, version: string): Plugin {
  const file = path.join(root, "package.json");
  return {
    name: "tell-version",
    load: (id) => (id === file ? JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }) : null),
  };
}
