import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { OPEN_QUESTIONS } from "../../scripts/docs/open-questions.ts";
import { configReference } from "../../scripts/docs/reference.ts";
import { describeConfig } from "../../src/config/describe.ts";
import { exampleConfig } from "../../src/config/example.ts";
import { loadConfig } from "../../src/config/load.ts";
import { itWhole } from "../support/whole.ts";
import { MINIMAL, parse, SECRET, temporaryFile } from "./support.ts";

const root = path.resolve(import.meta.dirname, "../..");

describe("the example", () => {
  it("loads where its secret stands beside it, and writes down nothing but the service", () => {
    const secret = temporaryFile("client-secret", SECRET);
    const text = exampleConfig();
    const { config, written } = loadExample(text, secret);
    const minimal = parse(MINIMAL).config;
    expect({ ...config, service: null }).toEqual({ ...minimal, service: null });
    expect([...written].filter((key) => !describeConfig().find(({ path: at }) => at === key)?.section)).toEqual([
      "service.base_url",
      "service.client_id",
      "service.client_secret_file",
    ]);
  });

  it("says the defaults, and every one of them loads", () => {
    const secret = temporaryFile("client-secret", SECRET);
    const text = exampleConfig().replace(/^( *)#(?=[^ \n]| {2})/gm, "$1");
    const { config, written } = loadExample(text, secret);
    expect({ ...config, service: null }).toEqual({ ...parse(MINIMAL).config, service: null });
    expect(written.size).toBeGreaterThan(150);
  });

  it("takes values of the caller's", () => {
    const text = exampleConfig({
      "service.client_secret": SECRET,
      "database.path": "x.db",
      "orders.ignore": ["$.a b"],
    });
    expect(parse(text).config).toMatchObject({
      service: { client_secret: SECRET, client_secret_file: null },
      database: { path: "/nowhere/x.db" },
      orders: { ignore: ["$.a b"] },
    });
  });

  function loadExample(text: string, secret: string) {
    return loadConfig({
      file: temporaryFile("config.yaml", text.replace(/: client-secret$/m, `: ${secret}`)),
      env: {},
    });
  }
});

describe("the generated documents", () => {
  itWhole("are those on disk", () => {
    execFileSync(process.execPath, [path.join(root, "scripts/write-config-docs.ts"), "--check"], { stdio: "pipe" });
  });

  itWhole("give every key a meaning of one sentence and a type", () => {
    const poor = describeConfig().filter(({ meaning, type }) => !/^\S.*\.$/.test(meaning) || type === "");
    expect(poor).toEqual([]);
    const reference = configReference();
    const names = describeConfig().map(({ path: at }) => at.replace(/^(imports\.)?[a-z]+\./, ""));
    const leaves = names.filter((_, index) => describeConfig()[index]?.section === false);
    expect(leaves.filter((name) => !reference.includes(`\`${name}\``))).toEqual([]);
  });

  it("answer every open question by keys that say so, and leave no assumption without a question", () => {
    const assumed = describeConfig().filter(({ assumption }) => assumption !== undefined);
    const covered = new Set<string>();
    for (const pattern of OPEN_QUESTIONS.flatMap(({ keys }) => keys)) {
      const form = new RegExp(`^${pattern.replaceAll(".", "\\.").replace("*", "[a-z]+")}$`);
      const matches = assumed.filter(({ path: at }) => form.test(at));
      expect(matches, pattern).not.toEqual([]);
      for (const { path: at } of matches) covered.add(at);
    }
    expect(assumed.map(({ path: at }) => at).filter((at) => !covered.has(at))).toEqual([]);
  });
});
