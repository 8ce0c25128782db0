import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

/** A room with SQL of its own. */
const SQL_ROOM = /^(node:|drizzle-orm(\/|$))/;

/** The rooms of `src` from the top down, and the packages that each may import. A room imports only rooms below it. */
const ROOMS: readonly (readonly [room: string, packages: RegExp])[] = [
  ["main", /^commander$/],
  ["cli", /^(node:|commander$)/],
  ["daemon", /^(node:|node-cron$)/],
  ["web", /^node:/],
  ["health", SQL_ROOM],
  ["probe", SQL_ROOM],
  ["mirror", /^(node:|pg$|drizzle-orm(\/|$))/],
  ["backup", /^(node:|better-sqlite3$|drizzle-orm(\/|$))/],
  ["quarantine", SQL_ROOM],
  ["reconcile", SQL_ROOM],
  ["statuses", SQL_ROOM],
  ["updates", SQL_ROOM],
  ["feeds", /^(node:|better-sqlite3$|drizzle-orm(\/|$))/],
  ["orders", SQL_ROOM],
  ["confirm", SQL_ROOM],
  ["batches", SQL_ROOM],
  ["completeness", SQL_ROOM],
  ["records", SQL_ROOM],
  ["pass", SQL_ROOM],
  ["config", /^(node:|zod$|yaml$|node-cron$)/],
  ["service", /^(node:|undici$|p-retry$)/],
  ["answers", /^node:(crypto|buffer)$/],
  ["database", /^(node:|better-sqlite3$|drizzle-orm(\/|$))/],
  ["platform", /^(node:|pino$)/],
  // Texts are read when the first of them is said.
  ["messages", /^node:module$/],
];
const NAMES = ROOMS.map(([room]) => room);

interface ImportLine {
  file: string;
  from: string;
}

function roomOf(file: string): string {
  const [first = "", ...rest] = path.relative("src", file).split(path.sep);
  return rest.length === 0 ? first.replace(/\.ts$/, "") : first;
}

function importsOf(file: string): ImportLine[] {
  const text = readFileSync(file, "utf8");
  const lines = [...text.matchAll(/^(?:import|export)\s[^;"']*?from\s+"([^"]+)"/gm)];
  const bare = [...text.matchAll(/\bimport\(\s*"([^"]+)"|^import\s+"([^"]+)"/gm)];
  return [...lines, ...bare].map((m) => ({ file, from: m[1] ?? m[2] ?? "" }));
}

/** The mock service is a program of its own: it imports no room, and only its command imports it. */
function breaksSandbox(room: string, target: string): boolean {
  return room === "sandbox" || (target === "sandbox" && room !== "cli");
}

/** Every import that breaks the rule, as sentences. */
function violations({ file, from }: ImportLine): string[] {
  const room = roomOf(file);
  const packages = room === "sandbox" ? /^(node:|zod$)/ : ROOMS.find(([name]) => name === room)?.[1];
  if (packages === undefined)
    return [`${file}: "${room}" is not a room; list it in this test and in docs/architecture.md`];
  if (!from.startsWith(".")) return packages.test(from) ? [] : [`${file}: ${room} may not import ${from}`];
  const target = roomOf(path.join(path.dirname(file), from));
  if (from.endsWith(".json") || target === room) return [];
  if (room === "sandbox" || target === "sandbox") return breaksSandbox(room, target) ? [`${file} -> ${from}`] : [];
  return NAMES.indexOf(target) > NAMES.indexOf(room) ? [] : [`${file}: ${room} stands below ${target} (${from})`];
}

describe("the rooms of src", () => {
  const files = globSync("src/**/*.ts").sort();

  it("import only rooms below them, and only their own packages", () => {
    expect(files.length).toBeGreaterThan(300);
    expect(files.flatMap((file) => importsOf(file).flatMap(violations))).toEqual([]);
  });

  it("hold every file but main.ts", () => {
    expect(globSync("src/*.ts")).toEqual(["src/main.ts"]);
  });

  it("are defended against an import that runs upwards, an unknown room and another room's package", () => {
    const file = path.join("src", "answers", "made-up.ts");
    const broken = ["../orders/ingest-orders.ts", "../elsewhere/file.ts", "undici", "../sandbox/cli.ts"];
    expect(broken.map((from) => violations({ file, from }).length)).toEqual([1, 1, 1, 1]);
    const sound = ["./json-text.ts", "../platform/errors.ts", "node:buffer"];
    expect(sound.flatMap((from) => violations({ file, from }))).toEqual([]);
    expect(violations({ file: "src/sandbox/made-up.ts", from: "../orders/ingest-orders.ts" })).toHaveLength(1);
  });
});
