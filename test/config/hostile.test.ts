// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exampleConfig } from "../../src/config/example.ts";
import { showConfig } from "../../src/config/show.ts";
import { BridgeError } from "../../src/domain/errors.ts";
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
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join("")),
);

const EXAMPLE = exampleConfig({ "service.client_secret": "canary" }).replace(/^( *)#(?=[^ \n]| {2})/gm, "$1");
const LINES = EXAMPLE.split("\n");

describe("no text whatever makes anything but a clear refusal", () => {
  it("of any characters", () => {
    fc.assert(
      fc.property(ANYTHING, fc.string(), (text, value) => survives(text, { A: value })),
      { numRuns: 250 },
    );
  });

  it("below a good service part", () => {
    fc.assert(
      fc.property(ANYTHING, fc.string(), (text, value) => survives(MINIMAL + text, { A: value })),
      { numRuns: 250 },
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
      { numRuns: 120 },
    );
  });

  it("as any JSON value under any key", () => {
    const keys = PIECES.slice(0, 11);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 4 })), (value) => {
        survives(JSON.stringify(value));
        survives(`${MINIMAL}orders: ${JSON.stringify(value)}\nimports: ${JSON.stringify({ stocks: value })}\n`);
      }),
      { numRuns: 100 },
    );
  });

  it.each([
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
