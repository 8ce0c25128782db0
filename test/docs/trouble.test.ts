import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Code } from "../../src/health/condition-traits.ts";
import { conditionsEn } from "../../src/messages/words/conditions-en.ts";
import { statusEn } from "../../src/messages/words/status-en.ts";
import { type ErrorCode, exitCodeOfCode } from "../../src/platform/errors.ts";
import { CODES as CONDITION_CODES } from "../support/conditions.ts";

const trouble = readFileSync("docs/trouble.md", "utf8");
const operations = readFileSync("docs/operations.md", "utf8");
/** Typed to hold every code and every reason, so a new one is missing here before it is missing there. */
const CODES = Object.keys(statusEn.errors) as ErrorCode[];
const REASONS = Object.keys(statusEn.holds) as (keyof typeof statusEn.holds)[];

/** The text under a heading, up to the next one of the same depth or a higher one. */
function sectionOf(page: string, heading: string): string | undefined {
  const lines = page.split("\n");
  const from = lines.indexOf(heading);
  if (from < 0) return undefined;
  const depth = heading.indexOf(" ");
  const rest = lines.slice(from + 1);
  const to = rest.findIndex((line) => new RegExp(`^#{1,${depth}} `).test(line));
  return rest.slice(0, to < 0 ? undefined : to).join("\n");
}

/** Everything that the program can say, with what it puts in for `${…}` cut out. */
function allWords(): string {
  const files = [...globSync("src/**/*.ts"), ...globSync("drizzle/*.sql"), "bin/erp-bridge.mjs"];
  return files.map((file) => readFileSync(file, "utf8")).join("\n");
}

describe("docs/trouble.md", () => {
  it("has an entry for every error code, with its exit code, and for no other", () => {
    const headings = [...trouble.matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
    expect(headings.sort()).toEqual([...CODES].sort());
    for (const code of CODES) {
      const exitCode = exitCodeOfCode(code);
      expect(sectionOf(trouble, `### \`${code}\``)?.trim(), code).toMatch(new RegExp(`^Exit code ${exitCode}\\. \\S`));
    }
  });

  it("quotes messages that the program has", () => {
    const words = allWords();
    const tables = trouble.slice(0, trouble.indexOf("## Without a code"));
    const quoted = [...tables.matchAll(/^\| (`.+?) \| /gm)].map(([, cell = ""]) => cell);
    expect(quoted.length).toBeGreaterThan(25);
    const parts = quoted.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text));
    const invented = parts.filter((text) => !text.includes("…") && !words.includes(text));
    expect(invented).toEqual([]);
  });
});

describe("docs/operations.md", () => {
  it("says of every hold what it means and what to do", () => {
    for (const reason of REASONS) {
      const words = statusEn.holds[reason];
      expect(sectionOf(operations, `#### \`${reason}\`: ${words}`)?.trim(), reason).toMatch(/\S{3}/);
    }
  });

  it("has every line that status can show under What to do", () => {
    const lines = CONDITION_CODES.filter((code) => !OF_OTHERS.has(code)).map((code) => textOf(code));
    const headings = [statusEn.upToDate, statusEn.catchingUp, ...lines].map(
      (line) => `### ${line.replaceAll(/\d+/g, "N")}`,
    );
    expect(headings.filter((heading) => !operations.includes(`\n${heading}\n`))).toEqual([]);
  });
});

/** Their words are those of an error, or of the one heading for all holds. */
const OF_OTHERS: ReadonlySet<Code> = new Set(
  CONDITION_CODES.filter(
    (code) =>
      ["database_trouble", "reload_failed"].includes(code) || (code.startsWith("hold_") && code !== "hold_mapping"),
  ),
);

function textOf(code: Code): string {
  const text = conditionsEn[code].text as (shown: object) => string;
  const flow = ["quarantined", "refused_rows", "flow_stale", "flow_failing", "flow_starting", "first_pass"];
  const subject = ["erp_silent", "former_rows"].includes(code) ? "FEED" : flow.includes(code) ? "FLOW" : "CHANNEL";
  const times = { since: "TIME", ageS: 600, offsetS: 600 };
  const words = {
    names: "NAMES",
    file: "FILE",
    keys: "KEYS",
    address: "ADDRESS",
    error: code === "page_silent" ? "EADDRINUSE" : "CODE",
  };
  const why = code === "flow_failing" ? "WHY" : "";
  return text({ subject, ...times, ...words, why, count: 2, times: 1, free: 2 ** 29, bytes: 2 ** 29 });
}
