import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseConfig } from "../../src/config/load.ts";
import { readMirrorUrl } from "../../src/config/mirror.ts";
import type { ConfigError } from "../../src/config/problems.ts";
import { showConfig } from "../../src/config/show.ts";

const FROM_ENV = ["$", "{URL}"].join("");
const SECRET = "postgres://north:s3cret-of-north@db.example.com/chain";

describe("the mirror's address", () => {
  const target = { port: 5432, user: "u", password: undefined, database: "chain", tls: true };

  it.each([
    ["postgres://u@db.example.com/chain", { ...target, host: "db.example.com" }],
    ["postgresql://u:p%40ss@db:6432/chain", { ...target, host: "db", port: 6432, password: "p@ss" }],
    ["postgres://u@[2001:db8::1]/chain", { ...target, host: "2001:db8::1" }],
    ["postgres://u@localhost/chain", { ...target, host: "localhost" }],
    ["postgres://u@127.0.0.1/chain?sslmode=disable", { ...target, host: "127.0.0.1", tls: false }],
    [
      "postgres://u@/chain?host=%2Frun%2Fpostgresql&port=6000",
      { ...target, host: "/run/postgresql", port: 6000, tls: false },
    ],
    [
      "postgres://db.example.com/chain?user=u&password=x&sslmode=prefer",
      { ...target, host: "db.example.com", password: "x" },
    ],
  ])("%s is read", (url, expected) => expect(readMirrorUrl(url)).toEqual(expected));

  it.each([
    ["https://u@db/chain", "config.notPostgresUrl"],
    ["postgres://u@db", "config.notPostgresUrl"],
    ["postgres://db/chain", "config.notPostgresUrl"],
    ["postgres://u:%@db/chain", "config.notPostgresUrl"],
    ["postgres://u@db/chain?sslmode=disable", "config.plainPostgres"],
    ["postgres://u@db/chain?sslmode=no", "config.postgresParameter"],
    ["postgres://u@db/chain?sslrootcert=x", "config.postgresParameter"],
  ])("%s is refused", (url, id) => expect(readMirrorUrl(url)).toMatchObject({ problem: { id } }));
});

describe("the group mirror", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-mirror-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const load = (mirror: object | undefined, env: NodeJS.ProcessEnv = {}) => {
    const service = { base_url: "https://api.example.com", client_id: "shop-1", client_secret: "stand-in" };
    const text = stringify({ service, ...(mirror === undefined ? {} : { mirror }) });
    return parseConfig({ text, file: path.join(folder, "config.yaml"), env });
  };
  const problemsOf = (mirror: object, env: NodeJS.ProcessEnv = {}) => {
    try {
      load(mirror, env);
      return [];
    } catch (error) {
      return (error as ConfigError).problems.map(({ key, problem }) => [key, problem.id]);
    }
  };

  it("is absent unless a shop is named", () => {
    expect(load(undefined).config.mirror).toMatchObject({ url: null, shop: null, schema: "erp_bridge" });
  });

  it("takes its address from the key, a file or a credential, and shows none of it", () => {
    writeFileSync(path.join(folder, "mirror-url"), `${SECRET}\n`, { mode: 0o600 });
    const ways = [
      load({ shop: "north", url: FROM_ENV }, { URL: SECRET }),
      load({ shop: "north", url_file: "mirror-url" }),
      load({ shop: "north" }, { CREDENTIALS_DIRECTORY: folder }),
    ];
    for (const loaded of ways) {
      expect(loaded.config.mirror).toMatchObject({ url: SECRET, shop: "north" });
      expect(loaded.warnings).toEqual([]);
      expect(showConfig(loaded)).not.toContain("s3cret");
    }
  });

  it("says that others can read the file", () => {
    writeFileSync(path.join(folder, "open-url"), SECRET, { mode: 0o644 });
    expect(load({ shop: "north", url_file: "open-url" }).warnings.map(({ id }) => id)).toEqual([
      "config.openMirrorUrl",
    ]);
  });

  it.each([{ shop: "north" }, { shop: "north", url_file: "nowhere" }, { shop: "north", url_file: "empty" }])(
    "%j leaves the mirror alone without an address, and says so",
    (mirror) => {
      writeFileSync(path.join(folder, "empty"), "\n", { mode: 0o600 });
      const loaded = load(mirror);
      expect(loaded.config.mirror).toMatchObject({ url: null, shop: "north" });
      expect(loaded.mirrorTrouble?.id).toBe("config.mirrorStands");
      expect(loaded.warnings).toEqual([loaded.mirrorTrouble]);
    },
  );

  it.each([
    [{ url: SECRET }, "mirror", "config.noShopKey"],
    [{ shop: "north", url: SECRET, url_file: "x" }, "mirror.url", "config.twoMirrorUrls"],
    [{ shop: "north", url: "postgres://db" }, "mirror.url", "config.notPostgresUrl"],
    // What stands behind the first @ of a password is no host, and behind a slash no database.
    [{ shop: "north", url: "postgres://u:se@cret@db/chain" }, "mirror.url", "config.notPostgresUrl"],
    [{ shop: "north", url: "postgres://u:12/cret@db" }, "mirror.url", "config.notPostgresUrl"],
  ])("%j is refused", (mirror, key, id) => expect(problemsOf(mirror)).toEqual([[key, id]]));
});
