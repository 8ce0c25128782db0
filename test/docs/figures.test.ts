/* Figures in sentences: the page, its words, and where the figure comes from. The words must be there as they stand here. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { describeConfig } from "../../src/config/describe.ts";
import { buildProgram } from "../../src/main.ts";
import { EXIT } from "../../src/platform/errors.ts";
import { PAGES } from "../support/pages.ts";

const read = (file: string) => readFileSync(file, "utf8").replaceAll(/\s+/g, " ");

/** A default of the configuration. */
const DEFAULTS: readonly (readonly [page: string, words: string, key: string, value: unknown])[] = [
  ["docs/operations.md", "every night at 02:41 (`backup.schedule`", "backup.schedule", "41 2 * * *"],
  ["docs/operations.md", "keeps the newest 14 (`backup.keep`)", "backup.keep", 14],
  ["docs/operations.md", "`retention.runs` (30 days)", "retention.runs", "30d"],
  ["docs/operations.md", "`retention.events` (two years)", "retention.events", "2y"],
  ["docs/operations.md", "`retention.batches` and `retention.status_requests` (a year)", "retention.batches", "1y"],
  [
    "docs/operations.md",
    "`retention.batches` and `retention.status_requests` (a year)",
    "retention.status_requests",
    "1y",
  ],
  ["docs/integration.md", "`retention.events` (two years)", "retention.events", "2y"],
  ["docs/integration.md", "`delete_after` (two minutes)", "imports.stocks.delete_after", "2m"],
  ["docs/integration.md", "If more than 30 % of the rows, and at least 20", "imports.stocks.guard.percent", 30],
  ["docs/integration.md", "If more than 30 % of the rows, and at least 20", "imports.stocks.guard.from", 20],
  ["docs/integration.md", "go to zero or away within an hour", "imports.stocks.guard.over", "1h"],
  ["docs/integration.md", "by default `quantity - reserved`", "imports.stocks.available", "quantity - reserved"],
  ["docs/monitoring.md", "`127.0.0.1:9469` unless the configuration says otherwise", "http.listen", "127.0.0.1:9469"],
  ["docs/monitoring.md", "> 86400 # as erp.read_within", "erp.read_within", "24h"],
];

/** A limit of the program, as its source has it. */
const LIMITS: readonly (readonly [page: string, words: string, file: string, source: string])[] = [
  [
    "docs/operations.md",
    "less than 128 MB (or 3 % of a small disk) are free",
    "backup/space-rule",
    "STOP_BYTES = 128 * MB",
  ],
  [
    "docs/operations.md",
    "less than 128 MB (or 3 % of a small disk) are free",
    "backup/space-rule",
    "STOP_SHARE = 0.03",
  ],
  ["docs/operations.md", "goes on by itself at twice that", "backup/space-rule", "RESUME_FACTOR = 2"],
  ["docs/operations.md", "or 256 MB in all", "batches/kept-answers", "UNREAD_BYTES_MAX = 256_000_000"],
  [
    "docs/monitoring.md",
    "over 256 MB some program keeps the database open",
    "health/conditions",
    "WAL_ALARM_BYTES = 256_000_000",
  ],
  ["docs/monitoring.md", "erp_bridge_wal_size_bytes > 256000000", "health/conditions", "WAL_ALARM_BYTES = 256_000_000"],
  [
    "docs/sharing-the-database.md",
    "over 256 MB `status` says so",
    "health/conditions",
    "WAL_ALARM_BYTES = 256_000_000",
  ],
  [
    "docs/sharing-the-database.md",
    "a database of up to 256 MB as well",
    "database/open",
    "VERIFIED_BYTES_MAX = 256_000_000",
  ],
  [
    "docs/trouble.md",
    "a text of more than 16 MB beside its records",
    "answers/json-text",
    "TEXT_BYTES_MAX = 16_000_000",
  ],
  ["docs/trouble.md", "more than 1 MB of white space in a row", "records/read-list", "BLANKS_MAX = 1_000_000"],
  [
    "docs/security.md",
    "16 MB and 500,000 values for an answer to a POST",
    "service/read-body",
    "ACCEPTANCE_BYTES_MAX = 16_000_000",
  ],
  ["docs/alerts.md", "At most four messages an hour about one subject", "health/plan-alerts", "SUBJECT_PER_HOUR = 4"],
  ["docs/alerts.md", "twelve in all", "health/plan-alerts", "ALL_PER_HOUR = 12"],
  ["docs/alerts.md", "again after 15 seconds", "health/channels", "FIRST_RETRY_MS = 15_000"],
  ["docs/alerts.md", "up to ten minutes", "health/channels", "LONGEST_RETRY_MS = 10 * 60_000"],
  ["docs/alerts.md", "has 30 seconds", "platform/run-program", "LIMIT_MS = 30_000"],
  ["docs/alerts.md", "with 2xx within ten seconds", "service/outside-call", "TOTAL_MS = 10_000"],
];

describe("the pages", () => {
  it.each(DEFAULTS)("%s: %s", (page, words, key, value) => {
    expect(read(page)).toContain(words);
    expect(describeConfig().find(({ path }) => path === key)?.default).toBe(value);
  });

  it.each(LIMITS)("%s: %s (%s)", (page, words, file, source) => {
    expect(read(page)).toContain(words);
    expect(readFileSync(`src/${file}.ts`, "utf8")).toContain(`${source};`);
  });

  it("name every exit code in README, and no other", () => {
    for (const page of ["README.md", "README.ru.md"]) {
      const [line = ""] = /(Exit codes|Коды возврата): .*?\(\[/.exec(read(page)) ?? [];
      const codes = [...line.matchAll(/(?:: | · )(\d+) /g)].map(([, code]) => Number(code));
      expect(
        codes.sort((a, b) => a - b),
        page,
      ).toEqual(Object.values(EXIT).sort((a, b) => a - b));
    }
  });

  it("say of every command that it has --json where it has", () => {
    const program = buildProgram({ env: {}, isTerminal: false, out: () => {}, err: () => {} }, () => {});
    const leaves = program.commands.flatMap((each) => (each.commands.length > 0 ? each.commands : [each]));
    const without = leaves.filter(({ options }) => !options.some(({ long }) => long === "--json"));
    expect(without.map((command) => command.name())).toEqual(["sandbox"]);
    expect(read("README.md")).toContain("all but `sandbox` have `--json`");
  });

  it("name what can be resumed, as the command knows it", () => {
    const source = readFileSync("src/cli/resume.ts", "utf8");
    const areas = [...(/const AREAS[^{]*\{([^}]*)\};/s.exec(source)?.[1] ?? "").matchAll(/^ {2}(\w+):/gm)].map(
      ([, area = ""]) => area,
    );
    expect(areas.length).toBeGreaterThan(6);
    const [said = ""] = /AREA is .*?Resuming/.exec(read("docs/operations.md")) ?? [];
    for (const area of [...areas, "stocks", "prices", "catalog", "images"]) expect(said).toContain(`\`${area}\``);
  });

  it("ask for one busy time-out everywhere", () => {
    const pages = [...PAGES, "examples/erp.sql", "examples/erp.py", "examples/erp.mjs", "examples/1c/exchange.py"];
    const found = pages.flatMap((page) => {
      const text = readFileSync(page, "utf8");
      const given = text.matchAll(/(?:busy_timeout = |\.timeout |[Tt]imeout[=:] ?|ATTR_TIMEOUT => )(\d[\d_]*)/g);
      return [...given].map(([, value = ""]) => ({ page, seconds: Number(value.replaceAll("_", "")) }));
    });
    expect(found.length).toBeGreaterThan(6);
    expect(found.filter(({ seconds }) => seconds !== 30 && seconds !== 30_000)).toEqual([]);
  });
});
