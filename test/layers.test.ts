import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

/**
 * What each room of `src` may import: other rooms (by folder name, `main` and `daemon` being files) and packages.
 * `node:` modules are listed where they are allowed at all. A room that is not listed fails the test.
 */
const ROOMS: Record<string, { rooms: string[]; packages: RegExp }> = {
  main: { rooms: ["commands", "domain", "platform", "spoken-help"], packages: /^commander$/ },
  "spoken-help": { rooms: ["words"], packages: /^commander$/ },
  commands: {
    rooms: [
      "account",
      "backup",
      "restore-bridge",
      "config",
      "daemon",
      "preview",
      "repair",
      "store",
      "sandbox",
      "platform",
      "domain",
      "words",
    ],
    packages: /^node:/,
  },
  daemon: {
    rooms: [
      "account",
      "backup",
      "build-client",
      "build-jobs",
      "build-watch",
      "build-web",
      "config",
      "doubtful-database",
      "missing-database",
      "repair",
      "scheduler",
      "jobs",
      "api",
      "domain",
      "store",
      "web",
    ],
    packages: /^node:/,
  },
  // Parts of the composition root, each of which is tested on its own or through the daemon.
  account: { rooms: ["config", "domain", "store"], packages: /^node:crypto$/ },
  "build-client": { rooms: ["config", "api", "domain"], packages: /^$/ },
  "build-jobs": { rooms: ["account", "backup", "config", "scheduler", "jobs", "domain"], packages: /^$/ },
  "build-watch": { rooms: ["config", "jobs", "api", "domain", "platform", "words"], packages: /^node:/ },
  "build-web": { rooms: ["config", "jobs", "platform", "store", "web", "words"], packages: /^node:/ },
  "doubtful-database": {
    rooms: ["account", "backup", "build-jobs", "config", "domain", "store"],
    packages: /^$/,
  },
  "missing-database": { rooms: ["account", "backup", "config", "domain", "store"], packages: /^node:/ },
  preview: { rooms: ["build-jobs", "config", "jobs", "domain", "store"], packages: /^$/ },
  repair: { rooms: ["build-jobs", "config", "jobs", "domain", "store"], packages: /^$/ },
  "restore-bridge": {
    rooms: ["account", "backup", "build-client", "build-jobs", "config", "domain", "jobs", "platform", "store"],
    packages: /^node:/,
  },
  backup: { rooms: ["domain", "platform", "store"], packages: /^(node:|better-sqlite3$)/ },
  config: { rooms: ["domain"], packages: /^(node:|zod$|yaml$|node-cron$)/ },
  scheduler: { rooms: ["jobs", "domain"], packages: /^(node:|node-cron$)/ },
  jobs: { rooms: ["api", "backup", "domain", "platform", "store", "config"], packages: /^node:/ },
  words: { rooms: ["domain"], packages: /^$/ },
  domain: { rooms: [], packages: /^node:(crypto|buffer)$/ },
  api: { rooms: ["domain"], packages: /^(node:|undici$|p-retry$)/ },
  store: { rooms: ["domain", "platform"], packages: /^(node:|better-sqlite3$|drizzle-orm(\/|$))/ },
  platform: { rooms: ["domain", "words"], packages: /^(node:|pino$)/ },
  sandbox: { rooms: [], packages: /^node:/ },
  web: { rooms: ["store", "domain"], packages: /^node:/ },
};

/** Rooms that may name only the types of another: they never run its code. */
const TYPES_ONLY: Record<string, string[]> = {
  jobs: ["config"],
  scheduler: ["jobs"],
};

interface ImportLine {
  file: string;
  from: string;
  typeOnly: boolean;
}

function roomOf(file: string): string {
  const [first = "", ...rest] = path.relative("src", file).split(path.sep);
  return rest.length === 0 ? first.replace(/\.ts$/, "") : first;
}

function importsOf(file: string): ImportLine[] {
  const text = readFileSync(file, "utf8");
  const lines = [...text.matchAll(/^(?:import|export)\s(type\s)?[^;"']*?from\s+"([^"]+)"/gm)];
  const bare = [...text.matchAll(/\bimport\(\s*"([^"]+)"|^import\s+"([^"]+)"/gm)];
  return [
    ...lines.map((m) => ({ file, from: m[2] ?? "", typeOnly: m[1] !== undefined })),
    ...bare.map((m) => ({ file, from: m[1] ?? m[2] ?? "", typeOnly: false })),
  ];
}

/** Every import that breaks the rules, as sentences. */
function violations(file: string, imports: ImportLine[]): string[] {
  const room = roomOf(file);
  const rule = ROOMS[room];
  if (rule === undefined) return [`${file}: "${room}" is not a room; list it in this test and in docs/architecture.md`];
  return imports.flatMap(({ from, typeOnly }) => {
    if (!from.startsWith(".")) {
      return rule.packages.test(from) ? [] : [`${file}: ${room} may not import ${from}`];
    }
    const target = roomOf(path.join(path.dirname(file), from));
    if (from.endsWith(".json") || target === room) return [];
    if (!rule.rooms.includes(target)) return [`${file}: ${room} may not import ${target}`];
    if (!typeOnly && TYPES_ONLY[room]?.includes(target)) return [`${file}: ${room} may import only types of ${target}`];
    return [];
  });
}

describe("the rooms of src", () => {
  const files = globSync("src/**/*.ts").sort();

  it("holds only imports that the architecture allows", () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.flatMap((file) => violations(file, importsOf(file)))).toEqual([]);
  });

  it("notices a domain file that reaches for a package, a room or the store", () => {
    const file = path.join("src", "domain", "made-up.ts");
    const line = (from: string) => ({ file, from, typeOnly: false });
    expect(violations(file, [line("undici"), line("../store/open.ts"), line("./json-text.ts")])).toHaveLength(2);
  });
});
