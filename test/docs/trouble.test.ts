import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { englishStatus } from "../../src/health/status-words-en.ts";
import { BridgeError, type ErrorCode, exitCodeOf } from "../../src/platform/errors.ts";

const trouble = readFileSync("docs/trouble.md", "utf8");
const operations = readFileSync("docs/operations.md", "utf8");
/** Typed to hold every code and every reason, so a new one is missing here before it is missing there. */
const CODES = Object.keys(englishStatus.errors) as ErrorCode[];
const REASONS = Object.keys(englishStatus.holds) as (keyof typeof englishStatus.holds)[];

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
      const exitCode = exitCodeOf(new BridgeError(code, ""));
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
      const words = englishStatus.holds[reason];
      expect(sectionOf(operations, `#### \`${reason}\`: ${words}`)?.trim(), reason).toMatch(/\S{3}/);
    }
  });

  it("has every line that status can show under What to do", () => {
    const s = englishStatus;
    const lines = [
      s.upToDate,
      s.notRunning,
      s.notAnswering("TIME"),
      s.databaseOlder,
      s.logCut,
      s.databaseDamaged,
      s.foreignJournal,
      s.remapOwed,
      s.held("AREA", "TIME", "REASON"),
      s.failing("FLOW", "TIME", "WHY"),
      s.stale("FLOW", 600),
      s.unreadBatches(2),
      s.refusedConfirms(2),
      s.unnamedBatches(2, 1),
      s.failedConfirms(2, "TIME"),
      s.refusedRequests(2),
      s.blockedOrders(2),
      s.quarantined(2, "FLOW"),
      s.refusedRows(2, "FLOW"),
      s.littleSpace(2 ** 29),
      s.unreachable("CHANNEL", "TIME", "CODE"),
      s.pageSilent("ADDRESS", "TIME", "EADDRINUSE"),
      s.clockOff(600),
      s.erpObjects("NAMES"),
      s.credentialReplaced("TIME"),
      s.untaken(600),
      s.unwritten("FEED", 600),
      s.logGrown(2 ** 29),
    ];
    const told = Object.entries(s).filter(([name]) => !NOT_LINES.has(name));
    expect(lines).toHaveLength(told.length);
    const headings = lines.map((line) => `### ${line.replaceAll(/\d+/g, "N")}`);
    expect(headings.filter((heading) => !operations.includes(`\n${heading}\n`))).toEqual([]);
  });
});

/** Parts of sentences, and words for errors and holds. */
const NOT_LINES = new Set([
  "asked",
  "askedAt",
  "seenAt",
  "lastOrder",
  "waitingForErp",
  "stockAsOf",
  "duration",
  "bytes",
  "errors",
  "holds",
]);
