// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleConfig } from "../../src/config/example.ts";
import { showConfig } from "../../src/config/show.ts";
import { excessIn } from "../../src/config/yaml-problems.ts";
import { m } from "../../src/messages/messages.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import { ANY_CHARACTER } from "../support/any-text.ts";
import { itWhole, runs } from "../support/whole.ts";
import { MINIMAL, parse } from "./support.ts";

/** Loads and shows, or refuses in words; anything else is a stack trace on somebody's screen. */
function survives(text: string, env: NodeJS.ProcessEnv = {}): void {
  try {
    showConfig(parse(text, env));
  } catch (error) {
    expect(error).toBeInstanceOf(BridgeError);
    expect((error as BridgeError).code).toBe("config_invalid");
  }
}

const PIECES = [
  ...["service", "orders", "imports", "stocks", "record", "fields", "extra", "statuses", "confirm", "body", "result"],
  ...[
    ":",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "- ",
    "? ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "&a ",
    "*a",
    "!x ",
    "!!str ",
    "|",
    ">-",
    "---\n",
  ],
  ...[
    '"',
    "'",
    "#",
    "%YAML 1.1\n",
    "\t",
    "\r\n",
    "\0",
    "\ud800",
    "${A}",
    "${A:-",
    "}",
    "<<",
    "~",
    "null",
    "1e999",
    ".nan",
    "0x1F",
  ],
  ...[
    "$.x",
    "{sku}",
    "{a|",
    "5s",
    "* * * * *",
    "https://x",
    "__proto__",
    "constructor",
    "toString",
    "9007199254740993",
  ],
];

const ANYTHING = fc.oneof(
  fc.string({ unit: ANY_CHARACTER, maxLength: 300 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join("")),
);

const EXAMPLE = exampleConfig({ "service.client_secret": "canary" }).replace(/^( *)#(?=[^ \n]| {2})/gm, "$1");
const LINES = EXAMPLE.split("\n");

describe("no text whatever makes anything but a clear refusal", { timeout: 120_000 }, () => {
  it("of any characters", () => {
    fc.assert(
      fc.property(ANYTHING, fc.string(), (text, value) => survives(text, { A: value })),
      { numRuns: runs(15, 250) },
    );
  });

  it("below a good service part", () => {
    fc.assert(
      fc.property(ANYTHING, fc.string(), (text, value) => survives(MINIMAL + text, { A: value })),
      { numRuns: runs(15, 250) },
    );
  });

  it("in place of any value of a complete file", () => {
    const line = fc.integer({ min: 0, max: LINES.length - 1 });
    fc.assert(
      fc.property(line, ANYTHING, fc.anything(), (index, text, value) => {
        const changed = LINES.with(
          index,
          (LINES[index] ?? "").replace(/:.*$/, () => `: ${text}`),
        );
        survives(changed.join("\n"), { A: String(JSON.stringify(value)) });
      }),
      { numRuns: runs(10, 120) },
    );
  });

  it("as any JSON value under any key", () => {
    const keys = PIECES.slice(0, 11);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 4 })), (value) => {
        survives(JSON.stringify(value));
        survives(`${MINIMAL}orders: ${JSON.stringify(value)}\nimports: ${JSON.stringify({ stocks: value })}\n`);
      }),
      { numRuns: runs(15, 250) },
    );
  });

  itWhole.each([
    ["brackets", "[".repeat(100_000)],
    ["braces", "{a: ".repeat(50_000)],
    ["dashes", "- ".repeat(50_000)],
    ["anchors", "&a ".repeat(50_000)],
    ["aliases", `x: &a 1\ny: [${"*a,".repeat(50_000)}]`],
    ["an alias of itself", "a: &a [*a, *a]"],
    ["keys", Array.from({ length: 30_000 }, (_, i) => `k${i}: 1`).join("\n")],
    ["equal keys", "a: 1\n".repeat(30_000)],
    ["documents", "---\n".repeat(50_000)],
    ["variables", `a: "${"${A}".repeat(30_000)}"`],
  ])("in large numbers: %s", (_, text) => {
    const startedAt = performance.now();
    survives(text, { A: "x" });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

const MEGABYTE = 1_000_000;
const many = (piece: string) => piece.repeat(Math.floor(MEGABYTE / piece.length));

describe("a megabyte that would keep the parser busy", () => {
  const stairs = Array.from({ length: 1_400 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("");
  it.each([
    ["brackets", `a: ${many("[")}`],
    ["braces", many("{a: ")],
    ["both", many("[{a: ")],
    ["brackets within a block", `a:\n  b:\n    - ${many("[")}`],
    ["dashes in one line", many("- ")],
    ["dashes and brackets", many("- [")],
    ["questions in one line", many("? ")],
    ["keys in one line", many("a: ")],
    ["long keys", many(`${"k".repeat(500)}: `)],
    ["indentation", stairs],
    ["indented dashes", Array.from({ length: 1_400 }, (_, depth) => `${" ".repeat(depth)}-\n`).join("")],
    ["anchored levels", many("&a [")],
    ["tagged levels", many("!!seq [")],
  ])("is refused at the level that is too deep, without a look at the rest: %s", (_, text) => {
    const found = excessIn(text);
    expect(found?.problem).toBe(m.config.tooDeep);
    // The place is where the reading stopped: so much work was done and no more.
    expect(found?.at).toBeLessThan(60_000);
    expect(() => parse(text)).toThrow(/nested too deeply/);
  });

  itWhole.each([
    ["anchors", `a: ${many("&a ")}`],
    ["tags", `a: ${many("!!a ")}`],
    ["values in a list", `a: [${many("a,")}`],
    ["keys", many("a: 1\n")],
    ["empty items", many("-\n")],
    ["block texts", many("a: |\n")],
    ["aliases", `a: &a 1\nb: [${many("*a,")}`],
    ["documents", many("---\n")],
    ["closing brackets", many("]")],
    ["commas", `a: [${many(",")}`],
    ["comments", many("#\n")],
    ["quotes", many('""')],
  ])("is refused where it holds too much, without a look at the rest: %s", (_, text) => {
    const found = excessIn(text);
    expect(found?.problem).toEqual(m.config.tooManyTokens({ tokensMax: 80_000 }));
    expect(found?.at).toBeLessThan(600_000);
    expect(() => parse(text)).toThrow(/more than 80000/);
  });

  it("with a text that no key could mean is refused before it is parsed", () => {
    const text = `service:\n  base_url: "${"\\x41".repeat(20_000)}"\n`;
    expect(excessIn(text)).toMatchObject({ problem: m.config.textTooLong({ charsMax: 65_536 }) });
    expect(() => parse(text)).toThrow(/:2:13: the file holds a text of more than 65536 characters$/);
  });

  it("shows no line behind one that is too long to be looked through", () => {
    const text = `service:\n  a: [${"x,".repeat(45_000)}\n  client_secret: s3cret\n`;
    expect(() => parse(text)).toThrow(/^(?!.*s3cret)/s);
  });

  it("is refused with its place", () => {
    expect(() => parse(`service:\n  client_id: a\n  base_url: ${"[".repeat(200)}`)).toThrow(
      /:3:1[0-9]{2}: the file is nested too deeply/,
    );
  });

  it("and no text that a person writes is", () => {
    const deep = (levels: number) =>
      `${Array.from({ length: levels }, (_, at) => `${"  ".repeat(at)}k${at}:`).join("\n")} 1`;
    for (const text of [
      MINIMAL,
      exampleConfig({}),
      deep(40),
      `a: ${"[".repeat(40)}${"]".repeat(40)}`,
      many("# words\n").slice(0, 300_000),
    ])
      expect(excessIn(text)).toBeNull();
    const columns = Array.from(
      { length: 60 },
      (_, at) => `${"\n".repeat(at % 2)}- a: 1\n  b: { c: [d, "e: [", 'f: {'] } # [[[`,
    ).join("\n");
    expect(excessIn(columns)).toBeNull();
  });
});
