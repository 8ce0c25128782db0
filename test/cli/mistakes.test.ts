// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of the file, meant as it stands
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCommand } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itSome, itWhole } from "../support/whole.ts";

const SERVICE = "  base_url: https://shop.example\n  client_id: shop-1\n  client_secret: s3cret";

/** The file around what a user wrote; `service` in its place. */
function write({ service = SERVICE, rest = "" }: { service?: string; rest?: string }): string {
  const folder = tempFolder("mistake");
  const file = path.join(folder, "shop.yaml");
  writeFileSync(file, `service:\n${service}\ndatabase:\n  path: bridge.db\nhttp: { listen: off }\n${rest}\n`, {
    mode: 0o600,
  });
  return file;
}

/** What `check` says of a file: the line that tells what is wrong, and what to do about it. */
async function check(file: string): Promise<{ code: number; said: string }> {
  const { code, out, err } = await runCommand(["check", "--config", file]);
  const failed = out.split("\n").filter((line) => line.startsWith("FAIL"));
  return { code, said: [err, ...failed].join("\n").replaceAll(path.dirname(file), "DIR") };
}

interface Mistake {
  service?: string;
  rest?: string;
  expected: string;
}

/** Of the file alone; each is told at its place, in one line, and ends with the command to try again. */
const IN_FILE: [name: string, mistake: Mistake][] = [
  [
    "a schedule without quotes",
    {
      rest: "orders:\n  schedule: * * * * *",
      expected:
        'shop.yaml:9:13: the file has a value that begins with *, which YAML reads as an alias; put it in quotes: "* * * * *"',
    },
  ],
  [
    "a schedule of steps without quotes",
    {
      rest: "updates:\n  schedule: */5 * * * *",
      expected:
        'shop.yaml:9:17: the file has a value that begins with *, which YAML reads as an alias; put it in quotes: "* * * * *"',
    },
  ],
  [
    "a schedule in words",
    {
      rest: "orders:\n  schedule: every minute",
      expected: 'orders.schedule: is not a schedule of cron such as "*/5 * * * *"',
    },
  ],
  [
    "a placeholder without quotes",
    {
      rest: "imports:\n  stocks:\n    record: { sku: {sku} }",
      expected: "imports.stocks.record.sku: must stand in quotes",
    },
  ],
  [
    "an address without https",
    {
      service: SERVICE.replace("https://", ""),
      expected: "service.base_url: is not an address such as https://api.example.com",
    },
  ],
  [
    "http over the network",
    { service: SERVICE.replace("https", "http"), expected: "service.base_url: must begin with https://" },
  ],
  [
    "quotes of a word processor",
    {
      service: SERVICE.replace("https://shop.example", "“https://shop.example”"),
      expected: "service.base_url: is not an address such as",
    },
  ],
  [
    "an id of digits",
    {
      service: SERVICE.replace("shop-1", "4711"),
      expected:
        "service.client_id: must be text of 1 to 200 printable ASCII characters without a colon, not a number; put it in quotes",
    },
  ],
  [
    "a secret of digits",
    {
      service: SERVICE.replace("s3cret", "471100"),
      expected: "service.client_secret: must be text, not a number; put it in quotes",
    },
  ],
  [
    "a file for the secret that is not there",
    {
      service: SERVICE.replace("client_secret: s3cret", "client_secret_file: nowhere"),
      expected: "service.client_secret_file: names a file that does not exist",
    },
  ],
  [
    "a variable that is not set",
    { service: SERVICE.replace("s3cret", "${NOT_SET_ANYWHERE}"), expected: "service.client_secret:" },
  ],
  [
    "a key without a space after its colon",
    {
      service: SERVICE.replace("base_url: ", "base_url:"),
      expected: "shop.yaml:2:3: the file has a key that goes over several lines; a colon may be missing",
    },
  ],
  [
    "a line that stands too far left",
    {
      service: SERVICE.replace("  client_id", " client_id"),
      expected: "shop.yaml:3:1: the file is not indented like the lines around it",
    },
  ],
  [
    "a tab",
    {
      service: SERVICE.replace("  client_id", "\tclient_id"),
      expected: "the file is indented with a tab; YAML takes spaces only",
    },
  ],
  [
    "a mistyped key",
    { rest: "retension: { runs: 1d }", expected: 'retension: is not a known key; did you mean "retention"?' },
  ],
  [
    "a key in the wrong group",
    {
      rest: "orders:\n  chunk: 5",
      expected: 'orders.chunk: is not a known key here; did you mean "imports.stocks.chunk"?',
    },
  ],
  [
    "a duration without a unit",
    { rest: "updates: { overlap: 600 }", expected: "updates.overlap: must be a duration such as 30s" },
  ],
  [
    "a time zone by its city alone",
    { rest: "timezone: Moscow", expected: "timezone: is not a time zone such as UTC, Europe/Moscow or +03:00" },
  ],
  [
    "the home of a shell",
    { rest: "backup: { dir: ~/backups }", expected: "backup.dir: begins with ~, which only a shell understands" },
  ],
  ["a path of Windows", { rest: "backup: { dir: C:\\backups }", expected: "backup.dir: is a path of Windows" }],
];

describe("a mistake in the file", () => {
  itSome(6)(IN_FILE)("%s", async (_, { expected, ...parts }) => {
    const file = write(parts);
    const { code, said } = await check(file);
    expect(code).toBe(78);
    expect(said).toContain(expected);
    expect(said.match(/shop\.yaml:\d/g)).toHaveLength(1);
    expect(said).toContain("Correct the file, then try it with: erp-bridge check --config DIR/shop.yaml");
  });
});

/** As a user without rights would be refused, also where the tests run as root. */
async function asNobody<Result>(act: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.(64_001);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
  }
}

describe("a mistake around the file", () => {
  it("a file that is not there is made by init, in the same place", async () => {
    const { code, said } = await check(path.join(tempFolder("mistake"), "shop.yaml"));
    expect(code).toBe(78);
    expect(said).toContain(
      "the configuration file does not exist\n  erp-bridge init --config DIR/shop.yaml writes a commented one",
    );
  });

  it("a file of another user asks for sudo", async () => {
    const file = write({});
    chmodSync(path.dirname(file), 0o755);
    chmodSync(file, process.geteuid?.() === 0 ? 0o600 : 0);
    const { code, said } = await asNobody(() => check(file));
    expect(code).toBe(78);
    expect(said).toContain("the configuration file may not be read by this user\n  Run the command with sudo");
  });

  itWhole("a port that is taken names the key", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const file = write({});
    writeFileSync(file, `service:\n${SERVICE}\ndatabase: { path: bridge.db }\nhttp: { listen: "127.0.0.1:${port}" }\n`);
    expect((await check(file)).said).toContain(
      `FAIL http: another program listens on 127.0.0.1:${port}: there will be no status page; orders go on. Set http.listen to another port`,
    );
  });

  itWhole("a folder for the database that is not there says how to make it", async () => {
    const file = write({});
    writeFileSync(file, `service:\n${SERVICE}\ndatabase: { path: data/bridge.db }\n`);
    const { code, said } = await check(file);
    expect(code).toBe(78);
    expect(said).toContain("FAIL database: The folder of the database, DIR/data, does not exist. Make the folder");
  });

  itWhole("a file where the folder of the copies should be", async () => {
    const file = write({ rest: "backup: { dir: copies }" });
    writeFileSync(path.join(path.dirname(file), "copies"), "");
    expect((await check(file)).said).toContain("FAIL backup: DIR/copies is not a folder; no copy can be kept there");
  });

  itWhole("a source without WAL, without a column, without a file, each with what to do", async () => {
    const stocks = (source: string) =>
      `imports: { stocks: { file: erp.db, ${source}, key: [sku], available: quantity, record: { sku: "{sku}", quantity: "{available|number}" } } }`;
    const file = write({ rest: stocks("table: goods") });
    expect((await check(file)).said).toMatch(/erp\.db cannot be read: .*Check imports\.stocks\.file\./);
    const db = new Database(path.join(path.dirname(file), "erp.db"));
    onTestFinished(() => void db.close());
    db.exec("CREATE TABLE goods (sku TEXT PRIMARY KEY, quantity INTEGER)");
    expect((await check(file)).said).toMatch(
      /table goods of DIR\/erp\.db is not in WAL mode: .*PRAGMA journal_mode = WAL/,
    );
    db.pragma("journal_mode = WAL");
    expect((await check(file)).said).not.toContain("imports.stocks");
    db.exec("ALTER TABLE goods RENAME COLUMN quantity TO qty");
    expect((await check(file)).said).toMatch(/has no column quantity.*Add the column quantity, or set imports\.stocks/);
    const query = write({ rest: stocks('query: "SELECT sku, quantity FROM goods"') });
    db.close();
    mkdirSync(path.dirname(query), { recursive: true });
    const other = new Database(path.join(path.dirname(query), "erp.db"));
    onTestFinished(() => void other.close());
    other.exec("CREATE TABLE goods (sku TEXT PRIMARY KEY, qty INTEGER)");
    expect((await check(query)).said).toMatch(
      /imports\.stocks\.query of .* cannot be read: no such column: quantity\. Correct imports\.stocks/,
    );
  });
});
