/*
 * Every code block of the pages, by its language. Those in SQL are run in statements.test.ts, integration.test.ts,
 * questions.test.ts and mirror/many-shops.test.ts; commands of the system (systemctl, apt, …) by `npm run campaign:host`, here only as far as a shell reads them.
 */

import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { parseConfig } from "../../src/config/load.ts";
import { configSchema } from "../../src/config/schema.ts";
import { keysOf } from "../../src/config/schema-walk.ts";
import { type Block, blocksOf } from "../support/blocks.ts";
import { mergeSettings, type Settings } from "../support/bridge.ts";
import { PAGES } from "../support/pages.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { startWebBridge } from "../support/web.ts";
import { itWhole } from "../support/whole.ts";

const BLOCKS = [...PAGES, "CONTRIBUTING.md"].flatMap(blocksOf);
const of = (...languages: string[]) => BLOCKS.filter(({ language }) => languages.includes(language));
const nameOf = ({ page, line }: Block) => `${page}:${line}`;

const SECTIONS = keysOf(configSchema).map(([name]) => name);
const SERVICE = { base_url: "https://api.example.com", client_id: "shop-1", client_secret: "secret" };
const METRICS = new Set(readFileSync("src/web/list-metrics.ts", "utf8").match(/\b(?:erp_bridge|process|nodejs)_\w+/g));

/** Programs of the system that the pages call. The shell finds each, and notes what it was called with. */
const CALLED = ["apt", "chmod", "curl", "erp-bridge", "install", "journalctl", "npm", "runuser", "ssh", "sqlite3"];
const OF_SYSTEM = ["apt-get", "isql", "odbcinst", "psql", "scp", "systemctl", "tar", "tee", "usermod"];
const NOTE = `#!/bin/sh\n{ printf '%s\\037' "$(basename "$0")" "$@"; printf '\\036'; } >> "$CALLS"\n`;

interface Called {
  name: string;
  calls: string[][];
  err: string;
}

let folder = "";
let shell: Called[] = [];

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-blocks-"));
  for (const place of ["bin", "etc/apt/sources.list.d", "etc/erp-bridge"])
    mkdirSync(path.join(folder, place), { recursive: true });
  for (const program of [...CALLED, ...OF_SYSTEM])
    writeFileSync(path.join(folder, "bin", program), NOTE, { mode: 0o755 });
  for (const program of ["basename", "sh"]) symlinkSync(`/usr/bin/${program}`, path.join(folder, "bin", program));
  shell = of("").map((block) => ({ name: nameOf(block), ...callsOf(block) }));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What the block calls, word by word. Nothing is done, and nothing outside of the folder is written. */
function callsOf({ text }: Block): Omit<Called, "name"> {
  const script = text.replaceAll(/(?<=> )\/etc\//g, `${folder}/etc/`);
  const calls = path.join(folder, "calls");
  const env = { PATH: path.join(folder, "bin"), CALLS: calls };
  const { stderr } = spawnSync("/bin/sh", ["-e"], { input: script, encoding: "utf8", env, cwd: folder });
  const noted = existsSync(calls) ? readFileSync(calls, "utf8").split("\u001e").slice(0, -1) : [];
  rmSync(calls, { force: true });
  return { calls: noted.map((call) => call.split("\u001f").slice(0, -1)), err: stderr };
}

const callsTo = (program: string) =>
  shell.flatMap(({ name, calls }) =>
    calls.filter(([called]) => called === program).map(([, ...args]) => ({ name, args })),
  );

/** Those that do not end by themselves, that need a PostgreSQL, and one that waits a second before each request: other tests start them. */
const ELSEWHERE = /^(run|sandbox|status --watch|probe|mirror|takeover)\b/;

/** The call as it can be made in a test's folder. */
function inFolder(shop: Shop, args: readonly string[]): string[] {
  const words = args.filter(
    (word, at) =>
      !["--config", "--instance"].includes(word) && !["--config", "--instance"].includes(args[at - 1] ?? ""),
  );
  const copy = path.join(shop.folder, "copy.db");
  const secret = path.join(shop.folder, "client-secret");
  switch (words[0]) {
    case "init":
      return [
        ...words,
        "--force",
        "--base-url",
        shop.sandbox.url,
        "--client-id",
        shop.sandbox.clientId,
        "--client-secret-file",
        secret,
      ];
    case "backup":
      return ["backup", copy];
    case "restore":
      return ["restore", copy, "--yes"];
    case "order":
      return ["order", shop.rows<{ number: string }>("SELECT number FROM orders LIMIT 1")[0]?.number ?? ""];
    default:
      return words;
  }
}

/** Files beside the database that the page about them does not name. */
function undocumented(shop: Shop): string[] {
  const page = readFileSync("docs/sharing-the-database.md", "utf8");
  const rows = [...page.matchAll(/^\| (`bridge[^|]*) \|/gm)].flatMap(([, cell = ""]) => [
    ...cell.matchAll(/`([^`]+)`/g),
  ]);
  const forms = rows.map(([, name = ""]) => new RegExp(`^${name.replaceAll(".", "\\.").replaceAll(/…|TIME/g, ".+")}$`));
  expect(forms.length).toBeGreaterThan(9);
  const names = readdirSync(shop.folder).filter((name) => name.startsWith("bridge.") && name !== "bridge.db");
  return names.filter((name) => !forms.some((form) => form.test(name)));
}

describe("code blocks", () => {
  it("are in a language that is tried here", () => {
    const tried = ["", "sql", "yaml", "json", "ini", "nginx", "text", "bsl", "python"];
    expect(BLOCKS.filter(({ language }) => !tried.includes(language)).map(nameOf)).toEqual([]);
    expect(BLOCKS.length).toBeGreaterThan(70);
  });

  itWhole("in YAML are configurations that the program takes, or rules that name metrics that there are", () => {
    const home = path.join(folder, "etc/erp-bridge");
    writeFileSync(path.join(home, "mirror-url"), "postgres://shop:secret@db.example.com/shops\n", { mode: 0o640 });
    for (const block of of("yaml")) {
      const settings = parse(block.text) as Settings;
      const isOurs = Object.keys(settings).every((name) => SECTIONS.includes(name));
      const text = stringify(mergeSettings({ service: SERVICE }, settings));
      if (isOurs)
        expect(() => parseConfig({ text, file: path.join(home, "config.yaml"), env: {} }), nameOf(block)).not.toThrow();
      else
        expect(
          block.text.match(/\berp_bridge_\w+/g)?.filter((name) => !METRICS.has(name)) ?? [],
          nameOf(block),
        ).toEqual([]);
    }
    expect(of("yaml").length).toBeGreaterThan(7);
  });

  it("of commands are read by a shell, and call programs that are known", () => {
    for (const { name, calls, err } of shell) expect([name, err, calls.length > 0]).toEqual([name, "", true]);
  });

  itWhole("have queries for sqlite3 that fit, and calls of the mock service that it takes", async () => {
    const shop = await startShop({ sandbox: { control: true } });
    await shop.command("sync", "orders");
    const queries = callsTo("sqlite3").concat(callsTo("runuser").filter(({ args }) => args.includes("sqlite3")));
    expect(queries.length).toBeGreaterThan(3);
    for (const { name, args } of queries) {
      const run = () => (/^INSERT/.test(args.at(-1) ?? "") ? shop.write : shop.rows)(args.at(-1) ?? "");
      expect(run, name).not.toThrow();
    }
    const control = callsTo("curl").filter(({ args }) => args.some((word) => word.includes("/_sandbox/")));
    expect(control.length).toBeGreaterThan(5);
    for (const { name, args } of control) {
      const [method, body] = ["-X", "-d"].map((option) => args[args.indexOf(option) + 1]);
      const address =
        args.find((word) => word.startsWith("http"))?.replace("http://127.0.0.1:8080", shop.sandbox.url) ?? "";
      const answer = await fetch(
        address,
        args.includes("-X") ? { method: method ?? "GET", ...(args.includes("-d") ? { body: body ?? "" } : {}) } : {},
      );
      expect([name, answer.ok]).toEqual([name, true]);
    }
  });

  itWhole("of the program's commands do what they say, one after the other", async () => {
    const paths = Object.fromEntries(
      ["prices", "catalog", "images"].map((feed) => [feed, { path: `/api/v1/import/${feed}` }]),
    );
    const shop = await startShop({ settings: { imports: paths } });
    shop.sandbox.service.createOrder();
    expect((await shop.command("sync")).code).toBe(0);
    shop.write("INSERT INTO stock (sku, quantity) VALUES ('YOUR-SKU', 3)");
    const calls = callsTo("erp-bridge").filter(({ args }) => !ELSEWHERE.test(args.join(" ")));
    expect(calls.length).toBeGreaterThan(14);
    const done = new Set<string>();
    for (const { name, args } of calls.toSorted(
      (a, b) => Number(a.args[0] === "init") - Number(b.args[0] === "init"),
    )) {
      const words = inFolder(shop, args);
      if (done.has(words.join(" "))) continue;
      done.add(words.join(" "));
      const { code, err } = await shop.command(...words);
      expect([0, 2], `${name}: ${args.join(" ")}: ${err}`).toContain(code);
    }
    expect(done.size).toBeGreaterThan(9);
    expect(undocumented(shop)).toEqual([]);
  });

  it("in JSON have the properties that the program answers with", async () => {
    const t = await startWebBridge();
    t.sandbox.service.createOrder({ raw: '{"order_id":"x"}' });
    await t.run("orders");
    const health = (await t.health()).body as unknown as Record<string, unknown[]>;
    const [page, condition] = of("json")
      .filter(({ page }) => page === "docs/monitoring.md")
      .map(({ text }) => JSON.parse(text.replaceAll(",…", "")) as Record<string, object[]>);
    expect(Object.keys(page ?? {}).filter((name) => !(name in health))).toEqual([]);
    expect(
      Object.keys(page?.["flows"]?.[0] ?? {}).filter((name) => !(name in ((health["flows"]?.[0] ?? {}) as object))),
    ).toEqual([]);
    expect(Object.keys(condition ?? {}).sort()).toEqual(Object.keys(health["conditions"]?.[0] ?? {}).sort());
    // The page of alerts has a schema of its own, and the switches are tried in the next test.
    expect(of("json").map(({ page }) => page)).toEqual([
      "docs/alerts.md",
      "docs/monitoring.md",
      "docs/monitoring.md",
      "docs/sandbox.md",
    ]);
  });

  it("of switches are taken by the mock service", async () => {
    const [block] = of("json").filter(({ page }) => page === "docs/sandbox.md");
    const { mergeOptions, defaultOptions } = await import("../../src/sandbox/options.ts");
    expect(() => mergeOptions(defaultOptions(), JSON.parse(block?.text ?? ""))).not.toThrow();
  });
});
