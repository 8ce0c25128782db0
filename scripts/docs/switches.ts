/* The switches of the mock service: their defaults from the program, their values and meanings from the source. */

import { readFileSync } from "node:fs";
import { defaultOptions } from "../../src/sandbox/options.ts";
import { tableOf } from "./table.ts";

const SOURCE = "src/sandbox/options.ts";
/** Declared apart from where they stand. */
const GROUPS: Readonly<Record<string, string>> = { SHAPE: "shape.", UPDATES: "updates." };

export function switchTable(): string {
  const declared = declarations();
  const rows = leavesOf(defaultOptions(), "")
    .filter(([name]) => !/^imports\.(prices|catalog|images)\./.test(name))
    .map(([name, value]) => {
      const { values = "", meaning = "" } = declared.get(name.replace("imports.stocks.", "imports.")) ?? {};
      return [
        `\`${name.replace("imports.stocks.", "imports.FEED.")}\``,
        `\`${JSON.stringify(value)}\``,
        values,
        meaning,
      ];
    });
  return tableOf(["Switch", "Default", "Other values", "Meaning"], rows);
}

function leavesOf(value: unknown, prefix: string): [string, unknown][] {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMap) return [[prefix, value]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, prefix === "" ? key : `${prefix}.${key}`));
}

interface Declared {
  values: string;
  meaning: string;
}

/** What the source says of each switch, by its place. */
function declarations(): Map<string, Declared> {
  const found = new Map<string, Declared>();
  const steps: { name: string; indent: number; meaning: string }[] = [];
  let prefix = "";
  let meaning = "";
  for (const line of readFileSync(SOURCE, "utf8").split("\n")) {
    const group = /^const (\w+) = group\(/.exec(line)?.[1];
    if (group !== undefined) prefix = GROUPS[group] ?? "";
    if (line.startsWith("function importOf")) prefix = "imports.";
    const indent = line.length - line.trimStart().length;
    const comment = /^\s*(?:\/\*\*|\*) ?(.*?)(?: ?\*\/)?$/.exec(line)?.[1];
    if (comment !== undefined && /^\s*(\/\*\*|\*)/.test(line)) {
      meaning = `${meaning} ${comment === "/" ? "" : comment}`.trim();
      continue;
    }
    const [, name, rest = ""] = /^\s+(\w+): (.*)$/.exec(line) ?? [];
    if (name === undefined) {
      meaning = "";
      continue;
    }
    while ((steps.at(-1)?.indent ?? -1) >= indent) steps.pop();
    const place = `${prefix}${[...steps.map((step) => step.name), name].join(".")}`;
    found.set(place.replace(/^imports\.imports\./, "imports."), {
      values: valuesOf(rest),
      meaning: meaning || (steps.at(-1)?.meaning ?? ""),
    });
    if (/^(group\(\{|z$)/.test(rest)) steps.push({ name, indent, meaning });
    meaning = "";
  }
  return found;
}

/** The words that a declaration lists, and what kind of value it takes otherwise. */
function valuesOf(declaration: string): string {
  const list = /z\.(?:enum|literal)\(\[([^\]]+)\]\)/.exec(declaration)?.[1];
  const standard = /\.default\(([^)]*)\)/.exec(declaration)?.[1];
  if (list === undefined) return declaration.includes("boolean") ? `\`${standard !== "true"}\`` : "";
  return list
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== standard)
    .map((word) => `\`${word}\``)
    .join(", ");
}
