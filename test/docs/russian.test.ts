import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { conditionsRu } from "../../src/messages/words/conditions-ru.ts";
import { statusRu } from "../../src/messages/words/status-ru.ts";
import { type ErrorCode, exitCodeOfCode } from "../../src/platform/errors.ts";
import { blocksOf } from "../support/blocks.ts";
import { CODES } from "../support/conditions.ts";

/** Pages that are there in both languages. What is not prose is the same in both, so that neither falls behind. */
const NAMES = ["1c", "configuration", "installation", "integration", "many-shops", "operations", "trouble"];
const pairs = NAMES.map((name) => [`docs/${name}.md`, `docs/${name}.ru.md`] as const);

function proseOf(page: string): string {
  return readFileSync(page, "utf8").replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
}

/** Levels of headings, and how many rows each table has. */
function outlineOf(page: string): string[] {
  return proseOf(page)
    .split("\n")
    .flatMap((line) => /^(#+) |^(\|)/.exec(line)?.slice(1) ?? [])
    .filter((sign) => sign !== undefined);
}

/** Commands, keys, names and paths; the words of a message are in the page's language. */
function namesOf(page: string): Set<string> {
  const spans = [...proseOf(page).matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span.replaceAll("\n", " "));
  const isName = (span: string) => /^(erp-bridge |systemctl |[\w.$…/{-]+$)/.test(span) && !/[а-яё]/i.test(span);
  return new Set(spans.filter(isName));
}

describe.each(pairs)("%s and %s", (english, russian) => {
  it("have the same code blocks, in the same order", () => {
    const texts = (page: string) => blocksOf(page).map(({ language, text }) => `${language}\n${text}`);
    expect(texts(russian)).toEqual(texts(english));
    const recipes = (page: string) => readFileSync(page, "utf8").match(/<!-- recipe: .* -->/g);
    expect(recipes(russian)).toEqual(recipes(english));
  });

  it("have the same headings and rows", () => {
    expect(outlineOf(russian)).toEqual(outlineOf(english));
  });

  it("name the same commands, keys and files", () => {
    const said = namesOf(russian);
    expect([...namesOf(english)].filter((name) => !said.has(name))).toEqual([]);
  });

  it("lead to pages in their own language, where there are any", () => {
    const links = [...proseOf(russian).matchAll(/\]\((\w+)\.md(?:#[^)]*)?\)/g)].map(([, name = ""]) => name);
    expect(links.filter((name, at) => NAMES.includes(name) && at > 0)).toEqual([]);
    expect(readFileSync(english, "utf8")).toContain(`(${russian.replace("docs/", "")})`);
  });
});

describe("docs/operations.ru.md", () => {
  const page = readFileSync("docs/operations.ru.md", "utf8");

  it("has every line that status can show", () => {
    const ofOthers = (code: string) =>
      ["database_trouble", "reload_failed"].includes(code) || (code.startsWith("hold_") && code !== "hold_mapping");
    const flow = ["quarantined", "refused_rows", "flow_stale", "flow_failing", "flow_starting", "first_pass"];
    const lines = CODES.filter((code) => !ofOthers(code)).map((code) => {
      const text = conditionsRu[code].text as (shown: object) => string;
      const subject = ["erp_silent", "former_rows"].includes(code) ? "FEED" : flow.includes(code) ? "FLOW" : "CHANNEL";
      const error = code === "page_silent" ? "EADDRINUSE" : "CODE";
      const words = {
        names: "NAMES",
        file: "FILE",
        keys: "KEYS",
        address: "ADDRESS",
        why: code === "flow_failing" ? "WHY" : "",
      };
      return text({
        subject,
        error,
        since: "TIME",
        ageS: 600,
        offsetS: 600,
        ...words,
        count: 2,
        times: 1,
        free: 5e8,
        bytes: 5e8,
      });
    });
    const headings = [statusRu.upToDate, statusRu.catchingUp, ...lines].map(
      (line) => `### ${line.replaceAll(/\d+/g, "N")}`,
    );
    expect(headings.filter((heading) => !page.includes(`\n${heading}\n`))).toEqual([]);
  });

  it("says of every hold what it means", () => {
    const headings = Object.entries(statusRu.holds).map(([reason, words]) => `#### \`${reason}\`: ${words}`);
    expect(headings.filter((heading) => !page.includes(`\n${heading}\n`))).toEqual([]);
  });
});

describe("docs/trouble.ru.md", () => {
  const page = readFileSync("docs/trouble.ru.md", "utf8");

  it("has the exit code of every error code", () => {
    for (const code of Object.keys(statusRu.errors) as ErrorCode[]) {
      expect(page).toContain(`### \`${code}\`\n\nКод возврата ${exitCodeOfCode(code)}. `);
    }
  });

  it("quotes messages that the program has", () => {
    const words = globSync("src/messages/**/*.ts")
      .map((file) => readFileSync(file, "utf8"))
      .join("\n");
    const rows = [...page.slice(0, page.indexOf("## Без кода")).matchAll(/^\| (`.+?) \| /gm)].map(
      ([, cell = ""]) => cell,
    );
    const quoted = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text));
    expect(quoted.length).toBeGreaterThan(25);
    expect(quoted.filter((text) => !words.includes(text))).toEqual([]);
  });
});
