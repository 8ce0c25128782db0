import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { resolveMirrorUrl } from "../../src/config/mirror-url.ts";
import { tempFolder } from "../support/temp.ts";

const UNITS = ["erp-bridge.service", "erp-bridge@.service"];
/** In tenths, as systemd-analyze takes it: 1.1. Almost all of it is the network and V8's own needs. */
const EXPOSURE_MAX = 11;
/** The same with the drop-in that lets the ERP's user share the database. */
const SHARED_EXPOSURE_MAX = 13;
const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

function textOf(unit: string): string {
  return readFileSync(path.join("systemd", unit), "utf8");
}

function settings(text: string): Map<string, string[]> {
  const map = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) map.set(key, [...(map.get(key) ?? []), value]);
  }
  return map;
}

/** The unit as systemd reads it with a drop-in: later settings win. */
function withDropIn(unit: string, dropIn: string): string {
  const own = settings(textOf(dropIn));
  return textOf(unit).replace(/^([A-Za-z]+)=.*$/gm, (line, key: string) => {
    const value = own.get(key)?.[0];
    return value === undefined ? line : `${key}=${value}`;
  });
}

function analyze(text: string, name: string, ...args: string[]) {
  const file = path.join(tempFolder("unit"), name);
  writeFileSync(file, text);
  const { status, stderr, stdout } = spawnSync("systemd-analyze", [...args, file], { encoding: "utf8" });
  return { status, text: stderr + stdout };
}

describe("the systemd units", () => {
  it("start the program with nothing of the manager's environment that would change it", () => {
    for (const unit of UNITS) {
      const names = (settings(textOf(unit)).get("UnsetEnvironment") ?? []).join(" ").split(" ");
      expect(names).toEqual(
        expect.arrayContaining(["NODE_OPTIONS", "NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "LD_PRELOAD", "PERL5OPT"]),
      );
      // Wanted where an authority of one's own signs.
      expect(names).not.toContain("NODE_EXTRA_CA_CERTS");
    }
    const launchers = [...UNITS.map((unit) => textOf(unit)), readFileSync("packaging/erp-bridge", "utf8")];
    for (const text of launchers) {
      for (const line of text.split("\n").filter((one) => one.includes("bin/erp-bridge.mjs")))
        expect(line).toMatch(/\/node --disable-sigusr1 (--max-semi-space-size=4 )?\/usr\/lib\/erp-bridge\/bin\//);
    }
  });

  it("start, reload and stop the program in the way that the program understands", () => {
    const node = "/usr/lib/erp-bridge/node --disable-sigusr1 /usr/lib/erp-bridge/bin/erp-bridge.mjs";
    const daemon = node.replace("--disable-sigusr1", "$& --max-semi-space-size=4");
    for (const [unit, instance, name] of [
      ["erp-bridge.service", "", "config"],
      ["erp-bridge@.service", " --instance %i", "%i"],
    ] as const) {
      const unitSettings = settings(textOf(unit));
      expect(Object.fromEntries(unitSettings)).toMatchObject({
        Type: ["notify"],
        NotifyAccess: ["main"],
        ConditionPathExists: [`/etc/erp-bridge/${name}.yaml`],
        ExecStart: [`/usr/lib/erp-bridge/with-notify-socket ${daemon} run${instance}`],
        // Its failure must not keep the program from the exit code that ends the restarts.
        ExecStartPre: [`-${node} check${instance}`],
        // A configuration that would be refused makes the reload fail, before the daemon hears of it.
        ExecReload: [`${node} config check${instance}`, "/bin/kill -HUP $MAINPID"],
        Restart: ["always"],
        RestartPreventExitStatus: ["76 78"],
        StartLimitIntervalSec: ["0"],
        ConfigurationDirectory: ["erp-bridge"],
      });
      expect(Number(unitSettings.get("TimeoutStopSec")?.[0]?.replace("s", ""))).toBeGreaterThan(10);
      expect(unitSettings.has("MemoryDenyWriteExecute")).toBe(false);
    }
  });

  it("give each shop a secret, a folder and a database of its own", () => {
    const [one, many] = UNITS.map((unit) => settings(textOf(unit)));
    expect(one?.get("LoadCredential")).toEqual([
      "client-secret:/etc/erp-bridge/client-secret",
      "mirror-url:/etc/erp-bridge/mirror-url",
    ]);
    expect(one?.get("StateDirectory")).toEqual(["erp-bridge"]);
    expect(many?.get("LoadCredential")).toEqual([
      "client-secret:/etc/erp-bridge/%i-client-secret",
      "%i-client-secret:/etc/erp-bridge/%i-client-secret",
      "mirror-url:/etc/erp-bridge/%i-mirror-url",
    ]);
    expect(many?.get("StateDirectory")).toEqual(["erp-bridge/%i"]);
    // A missing file is the program's to name: systemd itself would start it again for ever.
    const fallback = (unit: Map<string, string[]> | undefined) =>
      unit?.get("SetCredential")?.map((line) => line.split(":")[0]);
    expect(fallback(one)).toEqual(["client-secret", "mirror-url"]);
    expect(fallback(many)).toEqual(["client-secret", "%i-client-secret", "mirror-url"]);
  });

  it("give the daemon a folder of its own for compiled code, which it uses", () => {
    for (const unit of UNITS) {
      expect(settings(textOf(unit)).get("CacheDirectory")).toEqual(["erp-bridge"]);
      // What lies there is run.
      expect(settings(textOf(unit)).get("CacheDirectoryMode")).toEqual(["0700"]);
    }
    const cache = tempFolder("cache");
    const env = { ...process.env, CACHE_DIRECTORY: cache };
    expect(spawnSync(process.execPath, ["bin/erp-bridge.mjs", "--version"], { env }).status).toBe(0);
    expect(readdirSync(cache)).not.toEqual([]);
  });

  it("hand over an empty address where there is no mirror, which stops nobody without one", () => {
    const folder = tempFolder();
    writeFileSync(path.join(folder, "mirror-url"), "\n");
    const resolve = (shop: string | undefined) =>
      resolveMirrorUrl({
        ...{ shop, inline: undefined, namedFile: undefined, configFile: "/etc/erp-bridge/config.yaml" },
        env: { CREDENTIALS_DIRECTORY: folder },
      });
    expect(resolve(undefined)).toEqual({ url: null, file: null, warnings: [] });
    expect(resolve("north")).toHaveProperty("problem");
    writeFileSync(path.join(folder, "mirror-url"), "postgres://shop:secret@db.example.com/shops\n");
    expect(resolve("north")).toMatchObject({ url: "postgres://shop:secret@db.example.com/shops" });
  });

  it("differ in nothing else", () => {
    const own =
      /^(Description|ConditionPathExists|ExecStart|ExecStartPre|ExecReload|StateDirectory|WorkingDirectory|SyslogIdentifier|.*Credential)$/;
    const [one, many] = UNITS.map((unit) => [...settings(textOf(unit))].filter(([key]) => !own.test(key)));
    expect(many).toEqual(one);
  });

  it.runIf(hasAnalyze)("are understood by systemd without a word of complaint", () => {
    for (const unit of UNITS) {
      const here = textOf(unit)
        .replaceAll("/usr/lib/erp-bridge/node", process.execPath)
        .replaceAll("/usr/lib/erp-bridge/with-notify-socket", path.resolve("packaging/with-notify-socket"))
        .replaceAll("/usr/lib/erp-bridge/bin", path.resolve("bin"))
        // Checked for existence of the files that it names, which are there only where the program is installed.
        .replace(/^Documentation=.*\n/m, "");
      expect(analyze(here, unit.replace("@", "@shop"), "verify")).toEqual({ status: 0, text: "" });
    }
  });

  it.runIf(hasAnalyze)("leave the program little more than its folder and the network", () => {
    const security = ["security", "--offline=true", "--no-pager"];
    for (const unit of UNITS) {
      const alone = analyze(textOf(unit), unit, ...security, `--threshold=${EXPOSURE_MAX}`);
      expect(alone.status, alone.text).toBe(0);
      const shared = withDropIn(unit, "erp-group.conf");
      expect(settings(shared).get("UMask")).toEqual(["0007"]);
      const beside = analyze(shared, unit, ...security, `--threshold=${SHARED_EXPOSURE_MAX}`);
      expect(beside.status, beside.text).toBe(0);
    }
  });
});
