// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { saying } from "../support/messages.ts";
import { errorOf, MINIMAL, parse, problemsOf, SECRET, temporaryFile } from "./support.ts";

function load(file: string, env: NodeJS.ProcessEnv = {}) {
  return loadConfig({ file, env });
}

describe("a good configuration", () => {
  it("takes every key of the product's page as it stands there", () => {
    const secret = temporaryFile("client-secret", `${SECRET}\n`);
    const page = readFileSync(path.join(import.meta.dirname, "full.yaml"), "utf8");
    const { config, warnings } = parse(page.replace("/etc/erp-bridge/client-secret", secret));
    expect(config).toEqual({
      ...parse(MINIMAL).config,
      service: { ...parse(MINIMAL).config.service, client_secret_file: secret },
    });
    expect(warnings).toEqual([]);
  });

  it("gives milliseconds, bytes, absolute places and an address without a trailing slash", () => {
    const { config, file } = parse(
      `${MINIMAL.replace("example.com", "example.com/shop//")}
database: { path: ../data/bridge.db }
backup: { journal: journal }
http: { listen: "[::1]:80" }
alerts: { command: notify }`,
    );
    expect(file).toBe("/nowhere/config.yaml");
    expect(config.service.base_url).toBe("https://api.example.com/shop");
    expect(config.service.answer_bytes_max).toBe(256_000_000);
    expect(config.orders.confirm.wait).toBe(900_000);
    expect(config.retention.events).toBe(2 * 365 * 86_400_000);
    expect(config.database.path).toBe("/data/bridge.db");
    expect(config.backup.journal).toBe("/nowhere/journal");
    expect(config.http.listen).toEqual({ host: "::1", port: 80 });
    expect(config.alerts.command).toEqual(["notify"]);
    expect(parse(`${MINIMAL}http: { listen: off }`).config.http.listen).toBeNull();
  });

  it("tells the keys that stand in the file from those that are only defaults", () => {
    const { written } = parse(`${MINIMAL}orders:\n  fields: { number: $.number }\n  ignore: [$.x]\nupdates:\n`);
    expect([...written]).toEqual([
      "service",
      "service.base_url",
      "service.client_id",
      "service.client_secret",
      "orders",
      "orders.fields",
      "orders.fields.number",
      "orders.ignore",
      "updates",
    ]);
  });

  it("reads an empty group as its defaults", () => {
    expect(parse(`${MINIMAL}orders:\nimports:\n  stocks:\n    guard:\n`).config).toEqual(parse(MINIMAL).config);
  });

  it("takes status codes as their digits", () => {
    const { config } = parse(`${MINIMAL}orders: { statuses: { cancelled: [7, "8"] } }\nstatuses: { map: { 1: 2 } }`);
    expect(config.orders.statuses.cancelled).toEqual(["7", "8"]);
    expect(config.statuses.map).toEqual({ "1": "2" });
  });

  it("reads YAML 1.2 also where the file claims another version", () => {
    const text = `%YAML 1.1\n---\n${MINIMAL}imports: { stocks: { property: on } }\n`;
    expect(parse(text).config.imports.stocks.property).toBe("on");
  });

  it.each(["http://127.0.0.1:8080", "http://127.9.9.9", "http://localhost/x", "http://[::1]:1"])(
    "takes %s for the service",
    (url) => {
      expect(parse(MINIMAL.replace("https://api.example.com", `"${url}"`)).config.service.base_url).toBe(url);
    },
  );

  it.each([
    "http://api.example.com",
    "http://127.0.0.1.example.com",
    "http://0.0.0.0",
    "https://user:pw@api.example.com",
    "https://api.example.com?x=1",
    "https://api.example.com/#x",
    "ftp://api.example.com",
    "api.example.com",
    "https:// api.example.com",
  ])("refuses %s for the service", (url) => {
    const [problem] = problemsOf(MINIMAL.replace("https://api.example.com", `"${url}"`));
    expect(problem).toMatch(/^2:13 service\.base_url: /);
  });
});

describe("environment variables", () => {
  const text = (line: string) => `${MINIMAL}${line}\n`;

  it("stand for values, also for numbers, and never change the structure", () => {
    const env = { KEEP: "7", RATE: "0.5", NAME: "x: [1, {", EMPTY: "", constructor: "c" };
    expect(parse(text("backup: { keep: '${KEEP}' }"), env).config.backup.keep).toBe(7);
    expect(parse(text("  requests_per_second: ${RATE}"), env).config.service.requests_per_second).toBe(0.5);
    expect(parse(text("imports: { stocks: { property: '${NAME}' } }"), env).config.imports.stocks.property).toBe(
      "x: [1, {",
    );
    expect(parse(text("backup: { keep: '${EMPTY:-9}' }"), env).config.backup.keep).toBe(9);
    expect(parse(text("backup: { dir: '/a/${UNSET:-b}/${KEEP}' }"), env).config.backup.dir).toBe("/a/b/7");
  });

  it("are named when they are not set, never their neighbours' values", () => {
    expect(problemsOf(text("backup: { keep: '${KEEP}' }"), { KEEP: "seven" })).toEqual([
      "5:17 backup.keep: must be a whole number from 1 to 3650, not text",
    ]);
    expect(problemsOf(text("backup: { dir: '${A}${toString}' }"), {})).toEqual([
      "5:16 backup.dir: names the environment variable A, which is not set; names the environment variable toString, which is not set",
    ]);
  });
});

describe("a file that cannot be read", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "erp-bridge-config-"));

  it("is told with the way to make one", () => {
    const { message, hint } = errorOf(() => load(path.join(folder, "none.yaml")));
    expect(message).toBe(`${path.join(folder, "none.yaml")}: the configuration file does not exist`);
    expect(String(hint)).toContain("erp-bridge init");
  });

  it.each([
    [
      "a folder",
      () => mkdirSync(path.join(folder, "d.yaml"), { recursive: true }) ?? folder,
      "the configuration file is not a regular file",
    ],
    ["a device", () => "/dev/zero", "the configuration file is not a regular file"],
    ["a file below a file", () => path.join(temporaryFile("a", ""), "b"), "the configuration file does not exist"],
    ["a name with NUL", () => "a\0b", "the configuration file has a name that no file can have"],
    [
      "a large file",
      () => temporaryFile("c.yaml", "#".repeat(1_000_001)),
      "the configuration file is larger than 1000000 bytes",
    ],
  ])("is told for %s", (_, file, expected) => {
    expect(errorOf(() => load(file())).problems).toMatchObject([{ line: null, problem: saying(expected) }]);
  });

  it.each([
    ["a byte order mark", Buffer.from(`\ufeff${MINIMAL}`), 1, 1],
    ["UTF-16", Buffer.from(`\ufeff${MINIMAL}`, "utf16le"), 1, 1],
    ["Latin-1", Buffer.concat([Buffer.from("a: 1\n# \ufffd é"), Buffer.from([0xe9, 0x0a])]), 2, 6],
    ["a cut character", Buffer.concat([Buffer.from("a: 1\n"), Buffer.from([0xd0])]), 2, 1],
  ])("is told with its place for %s", (_, content, line, column) => {
    const { problems } = errorOf(() => load(temporaryFile("config.yaml", content)));
    expect(problems).toMatchObject([{ line, column, problem: saying("save it as UTF-8") }]);
  });

  it("is followed through a symbolic link", () => {
    const link = path.join(folder, "link.yaml");
    symlinkSync(temporaryFile("config.yaml", MINIMAL), link);
    expect(load(link).config.service.client_id).toBe("shop-1");
  });
});

describe("the secret", () => {
  const withFile = (file: string) => MINIMAL.replace(`client_secret: ${SECRET}`, `client_secret_file: ${file}`);
  const without = MINIMAL.replace(/ {2}client_secret.*\n/, "");

  it("comes from a file beside the configuration, without the line break at its end", () => {
    const file = temporaryFile("config.yaml", withFile("the-secret"));
    const secret = path.join(path.dirname(file), "the-secret");
    writeFileSync(secret, `${SECRET}\r\n`, { mode: 0o600 });
    expect(load(file)).toMatchObject({
      config: { service: { client_secret: SECRET, client_secret_file: secret } },
      warnings: [],
    });
  });

  it("comes from the systemd credential where no key is written", () => {
    const folder = path.dirname(temporaryFile("client-secret", SECRET));
    const { service } = parse(without, { CREDENTIALS_DIRECTORY: folder }).config;
    expect(service).toMatchObject({ client_secret: SECRET, client_secret_file: null });
    expect(problemsOf(without, { CREDENTIALS_DIRECTORY: "/nowhere" })).toEqual([
      "1:1 service: gets a systemd credential client-secret that does not exist",
    ]);
    expect(problemsOf(without)[0]).toMatch(/^1:1 service: lacks the secret/);
  });

  it("is warned about where every user may read it", () => {
    const open = temporaryFile("s", SECRET, 0o644);
    expect(parse(withFile(open)).warnings.map(String)).toEqual([expect.stringContaining(`chmod o-r ${open}`)]);
    expect(load(temporaryFile("config.yaml", MINIMAL, 0o644)).warnings).toHaveLength(1);
    const reference = MINIMAL.replace(SECRET, "${S}");
    expect(load(temporaryFile("config.yaml", reference, 0o644), { S: SECRET }).warnings).toEqual([]);
  });

  it.each([
    ['record: { sku: "{sku}", quantity: "{available}" }', ["config.untoldKey"]],
    ['record: { sku: "{sku}", quantity: "{available}" }, key: [sku]', []],
    ['record: { sku: "{article}", quantity: "{available}" }, key: [id]', []],
    ['record: { sku: "{sku}", quantity: "{available}" }, path: null', []],
  ])("warns of a feed whose record has a part of its key alone: %s", (stocks, ids) => {
    const { warnings } = parse(`${MINIMAL}\nimports: { stocks: { ${stocks} } }\n`);
    expect(warnings.map(({ id }) => id).filter((id) => id === "config.untoldKey")).toEqual(ids);
  });

  it.each([
    ["empty", "\n", "names a file that is empty"],
    ["short", "abc", "names a file that must have 4 to 4000 characters"],
    [
      "of two lines",
      "abcd\nefgh\n",
      "names a file that holds a character that an HTTP header cannot carry (a line break, or no ASCII)",
    ],
    [
      "not ASCII",
      "пароль",
      "names a file that holds a character that an HTTP header cannot carry (a line break, or no ASCII)",
    ],
    ["padded", "abcd ", "names a file that begins or ends with a space"],
    ["huge", "x".repeat(20_000), "names a file that is larger than 16384 bytes"],
  ])("is refused when it is %s", (_, content, expected) => {
    expect(problemsOf(withFile(temporaryFile("s", content)))).toEqual([`4:23 service.client_secret_file: ${expected}`]);
  });

  it("is refused when it stands in two places or nowhere", () => {
    expect(problemsOf(`${MINIMAL}  client_secret_file: x\n`)).toEqual([
      "4:18 service.client_secret: stands beside client_secret_file; keep one of the two",
    ]);
    expect(problemsOf(withFile("none"))).toEqual(["4:23 service.client_secret_file: names a file that does not exist"]);
    expect(problemsOf(MINIMAL.replace(SECRET, '""'))).toEqual(["4:18 service.client_secret: is empty"]);
    expect(problemsOf(MINIMAL.replace(SECRET, "${NONE}"))).toEqual([
      "4:18 service.client_secret: names the environment variable NONE, which is not set",
    ]);
  });
});

it("folders of the copies do not bear names that belong to the database", () => {
  const text = (key: string, name: string) => `${MINIMAL}database:\n  path: bridge.db\nbackup:\n  ${key}: ${name}\n`;
  for (const name of ["bridge.db-journal", "bridge.db-wal", "./bridge.db.progress", "bridge.db"]) {
    for (const key of ["dir", "journal"])
      expect(problemsOf(text(key, name)).join()).toContain(
        `backup.${key}: is a name that belongs to the database itself`,
      );
  }
  expect(parse(text("dir", "bridge.db-copies")).config.backup.dir).toBe("/nowhere/bridge.db-copies");
});
