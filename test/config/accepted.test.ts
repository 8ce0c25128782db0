import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { acceptedConfig, findAccepted } from "../../src/config/accepted.ts";
import { loadConfig } from "../../src/config/load.ts";
import { acquireInstanceLock, type InstanceLock } from "../../src/database/file/instance-lock.ts";
import { startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { MINIMAL, SECRET } from "./support.ts";

let lock: InstanceLock | undefined;
afterEach(() => lock?.release());

/** A file that a daemon has accepted; `env` as the daemon had it. */
function accept(more: string, env: NodeJS.ProcessEnv = {}, minimal = MINIMAL) {
  const folder = tempFolder("accepted");
  const file = path.join(folder, "config.yaml");
  writeFileSync(file, `${minimal}${more}`, { mode: 0o600 });
  const database = path.join(folder, "bridge.db");
  writeFileSync(database, "");
  writeFileSync(path.join(folder, "mirror-url"), "postgres://u:p@db.example.com/chain", { mode: 0o600 });
  const loaded = loadConfig({ file, env });
  const config = acceptedConfig(loaded);
  lock = acquireInstanceLock(database, { command: "run", ...(config === undefined ? {} : { config }) });
  return { file, database, loaded };
}

const DATABASE = "database: { path: bridge.db }\n";
const WHOLE = `${DATABASE}language: ru\nerp: { read_within: 3h }\n`;

describe("a configuration that a daemon has accepted", () => {
  it("is not checked again, and means the same", () => {
    for (const more of [WHOLE, DATABASE]) {
      const { file, loaded } = accept(more);
      const { language, database, erp, service } = loaded.config;
      expect(findAccepted({ file, env: {} })).toEqual({
        language,
        database,
        erp: { read_within: erp.read_within },
        service: { client_id: service.client_id, client_secret: SECRET },
      });
      lock?.release();
    }
    const { file } = accept(DATABASE);
    expect(findAccepted({ file, env: { LANG: "ru_RU.UTF-8" } })?.language).toBe("ru");
  });

  it("is checked again once the file was written, with whatever", () => {
    const { file, database } = accept(WHOLE);
    writeFileSync(file, readFileSync(file));
    expect(findAccepted({ file, env: {} })).toBeUndefined();
    lock?.release();
    const other = accept(WHOLE);
    writeFileSync(other.file, `${MINIMAL}database: { path: ${database} }\n`);
    expect(findAccepted({ file: other.file, env: {} })).toBeUndefined();
  });

  it("is checked again where another version of the program accepted it", () => {
    const { file } = accept(WHOLE);
    const words = `${lock?.path}.json`;
    writeFileSync(words, readFileSync(words, "utf8").replace(/"version":"\S+ /, '"version":"0.0.0 '));
    expect(findAccepted({ file, env: {} })).toBeUndefined();
  });

  it("is checked again where no daemon says that it has accepted it", () => {
    const { file } = accept(WHOLE);
    lock?.release();
    expect(findAccepted({ file, env: {} })).toBeUndefined();
  });

  it.each([
    ["a variable", `log: { level: "\${LEVEL}" }`],
    ["a mirror, whose address another process may read", "mirror: { shop: north, url_file: mirror-url }"],
  ])("is checked again with %s", (_, more) => {
    const env = { LEVEL: "info" };
    const { file } = accept(`${DATABASE}${more}\n`, env);
    expect(findAccepted({ file, env })).toBeUndefined();
  });

  it("is checked again where its secret cannot be read any more", () => {
    const folder = tempFolder("accepted-secret");
    const env = { CREDENTIALS_DIRECTORY: folder };
    const secret = path.join(folder, "client-secret");
    writeFileSync(secret, SECRET, { mode: 0o600 });
    const { file } = accept(DATABASE, env, MINIMAL.replace(/ *client_secret: .*\n/, ""));
    expect(findAccepted({ file, env })?.service.client_secret).toBe(SECRET);
    rmSync(secret);
    expect(findAccepted({ file, env })).toBeUndefined();
  });
});

it("status beside a daemon says what is wrong with a file that the daemon has not read yet", async () => {
  const shop = await startShop();
  const daemon = shop.start("run");
  await daemon.says("erp-bridge is running.");
  expect((await shop.command("status")).err).toBe("");
  const text = readFileSync(shop.configFile, "utf8");
  writeFileSync(shop.configFile, `${text}\nlogg: { level: info }\n`);
  const { code, err } = await shop.command("status");
  expect([code, err]).toEqual([78, expect.stringContaining("logg")]);
  writeFileSync(shop.configFile, text);
  expect((await shop.command("status")).code).not.toBe(78);
});
