import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { acquireInstanceLock } from "../../src/database/file/instance-lock.ts";
import { acquireAccountLock } from "../../src/platform/account-lock.ts";
import { startProgram } from "../support/program.ts";
import { runCommand, startShop } from "../support/shop.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** One sentence to act on, perhaps with a hint, and never a stack trace. */
function expectPlain(err: string): void {
  expect(err).not.toMatch(/^\s+at .*:\d+:\d+/m);
  expect(err).not.toContain("internal error");
}

describe("a command line that is wrong", () => {
  itSome(13)([
    [["statsu"], /Did you mean status\?/],
    [["status", "--jsn"], /Did you mean --json\?/],
    [["sync", "ordres"], /no job ordres\.\n {2}Did you mean orders\?/],
    [["sync", "everything"], /no job everything\.\n {2}Known: orders, updates, /],
    [["approve", "stokcs"], /no feed stokcs\.\n {2}Did you mean stocks\?/],
    [["resume", "import"], /no area or feed import\.\n {2}Did you mean imports\?/],
    [["resume", "__proto__"], /no area or feed __proto__\./],
    [["status", "--config", "a.yaml", "--instance", "b"], /exclude each other/],
    [["status", "--instance", "../etc/passwd"], /letters, digits/],
    [["resume"], /missing required argument/],
    [["sandbox", "--port", "99999"], /It must be a whole number from 0 to 65535, in digits\./],
    [["sandbox", "--port", ""], /It must be a whole number from 0 to 65535, in digits\./],
    [["approve", "stocks", "--rows", "1e3"], /--rows.*1e3.*It must be a whole number from 0 to \d+, in digits\./],
    [["approve", "stocks", "--rows", ""], /It must be a whole number from 0 to \d+, in digits\./],
    [["sandbox", "--rate", "-1"], /It must be a whole number from 0 to \d+, in digits\./],
    [["sandbox", "--seed", "0x10"], /It must be a whole number from 0 to \d+, in digits\./],
    [["sandbox", "--rate", "+6"], /It must be a whole number from 0 to \d+, in digits\./],
    [["sandbox", "--rate", " 6"], /It must be a whole number from 0 to \d+, in digits\./],
    [["approve", "stocks", "--rows", "9007199254740993"], /It must be a whole number from 0 to \d+, in digits\./],
    [["sandbox", "--port", "1e3"], /It must be a whole number from 0 to 65535, in digits\./],
  ])("ends %j with 64 and the nearest word", async (argv, words) => {
    const { code, out, err } = await runCommand(argv);
    expect({ code, out }).toEqual({ code: 64, out: "" });
    expect(err).toMatch(words);
    expectPlain(err);
  });

  it("is told in the machine form as well", async () => {
    const { code, out } = await runCommand(["status", "--json", "--nonsense"]);
    expect(code).toBe(64);
    expect(JSON.parse(out)).toMatchObject({ version: 1, error: { code: "usage" } });
  });

  it("is not a question for help or for the version", async () => {
    expect(await runCommand(["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
    expect(await runCommand(["sync", "--help"])).toMatchObject({ code: 0, out: expect.stringContaining("Example:") });
  });
});

describe("a configuration or a database that cannot be worked with", () => {
  it("ends with 78, the place in the file and all that is wrong at once", async () => {
    const shop = await startShop();
    writeFileSync(shop.configFile, "service:\n  base_url: nonsense\n  client_idd: x\nlog: { level: loud }\n");
    for (const command of ["status", "sync", "check", "run"]) {
      const { code, err } = await shop.command(command);
      expect(code).toBe(78);
      expect(err).toContain(`${shop.configFile}:2:13 service.base_url: `);
      expect(err).toContain(`${shop.configFile}:3:3 service.client_idd: `);
      expect(err).toContain(`${shop.configFile}:4:15 log.level: `);
      expectPlain(err);
    }
    const json = await shop.command("status", "--json");
    expect(JSON.parse(json.out)).toMatchObject({ version: 1, error: { code: "config_invalid" } });
    expect((await runCommand(["status", "--config", path.join(shop.folder, "none.yaml")])).code).toBe(78);
  });

  itWhole("refuses a database that is a symbolic link", async () => {
    const shop = await startShop();
    await shop.command("sync");
    renameSync(shop.database, path.join(shop.folder, "real.db"));
    symlinkSync("real.db", shop.database);
    for (const command of ["sync", "status", "check", "run"]) {
      const { code, err, out } = await shop.command(command);
      expect(code).toBe(78);
      expect(err + out).toContain("is a symbolic link");
      expectPlain(err);
    }
  });

  itWhole("refuses a database of another account until it is told that it is the same shop", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    await shop.command("sync", "orders");
    shop.writeConfig({ service: { client_id: "another" } });
    for (const command of ["sync", "check", "run", "status"]) {
      const { code, err, out } = await shop.command(command);
      expect(code).toBe(78);
      expect(err + out).toContain(`belongs to another account (${shop.sandbox.clientId} at ${shop.sandbox.url})`);
    }
    const { out } = await shop.command("resume", "account");
    expect(out).toContain("goes on");
    expect(out).toContain(`What ${shop.sandbox.url} has accepted (as ${shop.sandbox.clientId}) does not count here`);
    expect(out).toContain("Changes are asked for from ");
    expect((await shop.command("check")).code).toBe(0);
  });

  itWhole("refuses a database that a newer program has made, and changes nothing in it", async () => {
    const shop = await startShop();
    await shop.command("sync");
    const table = "__drizzle_migrations";
    shop.write(`INSERT INTO ${table} (hash, created_at) VALUES ('of a later version', 9999999999999)`);
    for (const command of ["sync", "status", "check", "run"]) {
      const { code, err, out } = await shop.command(command);
      expect(code).toBe(78);
      expect(err + out).toContain("newer");
      expectPlain(err);
    }
    expect(shop.rows(`SELECT count(*) AS n FROM ${table} WHERE created_at = 9999999999999`)).toEqual([{ n: 1 }]);
  });

  itWhole("says that there is no database yet", async () => {
    const shop = await startShop();
    expect(await shop.command("status")).toMatchObject({
      code: 78,
      err: expect.stringContaining("There is no database at"),
    });
    expect(await shop.command("check")).toMatchObject({ code: 0, out: expect.stringContaining("does not exist yet") });
  });
});

it("check says once that the folder of the database is not there", async () => {
  const shop = await startShop({ settings: { database: { path: "nowhere/bridge.db" } } });
  const { code, out } = await shop.command("check");
  expect(code).toBe(78);
  expect(out).toMatch(/^FAIL database: The folder of the database/m);
  expect(out).not.toMatch(/^FAIL disk|nternal error/m);
});

describe("a second instance", () => {
  itWhole("ends with 75 and names the first, also through a symlinked folder", async () => {
    const shop = await startShop();
    mkdirSync(path.join(shop.folder, "elsewhere"));
    symlinkSync(shop.folder, path.join(shop.folder, "elsewhere", "link"));
    const lock = acquireInstanceLock(shop.database, { command: "run" });
    onTestFinished(() => lock.release());
    shop.writeConfig({ database: { path: "elsewhere/link/bridge.db" } });
    const program = startProgram(["run", "--config", shop.configFile]);
    expect(await program.exited).toEqual({ code: 75, signal: null });
    expect(program.stderr()).toMatch(/^erp-bridge: Another erp-bridge works on .*: run, process \d+, since 2/);
    expectPlain(program.stderr());
  });

  it("for the same account ends with 75 whatever database it names, and asks the service nothing", async () => {
    const shop = await startShop();
    const { clientId, clientSecret, url: baseUrl } = shop.sandbox;
    const lock = await acquireAccountLock({ baseUrl, clientId, clientSecret });
    shop.sandbox.service.createOrder();
    let requests = 0;
    shop.hooks.onRequest = () => {
      requests += 1;
    };
    for (const command of [["run"], ["sync"], ["sync", "orders"]]) {
      const { code, err } = await shop.command(...command);
      expect({ code, err }).toEqual({ code: 75, err: expect.stringContaining("of this machine works for") });
    }
    expect(requests).toBe(0);
    expect((await shop.command("check")).code).toBe(0);
    // What was typed wrong is said first: waiting for the other program would not help.
    for (const typed of [
      "orders --again",
      "orders --since 2026-01-01",
      "updates --since soon",
      "updates --orders none",
    ])
      expect((await shop.command("sync", ...typed.split(" "))).code).toBe(64);
    if ("release" in lock) lock.release();
    expect(await shop.command("sync", "orders")).toMatchObject({ code: 0, out: expect.stringContaining("1 created") });
    expect((await shop.command("sync", "orders")).code).toBe(0);
  });

  itWhole("of sync does not wait for another sync, which answers nobody", async () => {
    const shop = await startShop();
    const lock = acquireInstanceLock(shop.database, { command: "sync" });
    onTestFinished(() => lock.release());
    const { code, err } = await shop.command("sync", "orders");
    expect(code).toBe(75);
    expect(err).toMatch(/: sync, process \d+, since/);
  });
});
