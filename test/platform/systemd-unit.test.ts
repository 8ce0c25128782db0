import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/temp.ts";

const UNIT = "systemd/erp-bridge.service";
/** In tenths, as systemd-analyze takes it: 1.2. The half of it is the network, NotifyAccess=all and V8's own needs. */
const EXPOSURE_MAX = 12;
const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

function settings(): Map<string, string[]> {
  const map = new Map<string, string[]>();
  for (const line of readFileSync(UNIT, "utf8").split("\n")) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) map.set(key, [...(map.get(key) ?? []), value]);
  }
  return map;
}

describe("the systemd unit", () => {
  it("starts, reloads and stops the program in the way that the program understands", () => {
    const unit = settings();
    const node = "/usr/lib/erp-bridge/node /usr/lib/erp-bridge/bin/erp-bridge.mjs";
    expect(Object.fromEntries(unit)).toMatchObject({
      Type: ["notify"],
      NotifyAccess: ["all"],
      ExecStart: [`${node} run`],
      // Its failure must not keep the program from the exit code that ends the restarts.
      ExecStartPre: [`-${node} check`],
      ExecReload: ["/bin/kill -HUP $MAINPID"],
      Restart: ["on-failure"],
      RestartPreventExitStatus: ["78"],
      StartLimitIntervalSec: ["0"],
      LoadCredential: ["client-secret:/etc/erp-bridge/client-secret"],
      StateDirectory: ["erp-bridge"],
      ConfigurationDirectory: ["erp-bridge"],
    });
    expect(Number(unit.get("TimeoutStopSec")?.[0]?.replace("s", ""))).toBeGreaterThan(10);
    expect(unit.has("MemoryDenyWriteExecute")).toBe(false);
  });

  it.runIf(hasAnalyze)("is understood by systemd without a word of complaint", () => {
    const copy = path.join(tempFolder("unit"), "erp-bridge.service");
    const here = readFileSync(UNIT, "utf8")
      .replaceAll("/usr/lib/erp-bridge/node", process.execPath)
      .replaceAll("/usr/lib/erp-bridge/bin", path.resolve("bin"))
      // Checked for existence of the file that it names, which is there only where the program is installed.
      .replace(/^Documentation=.*\n/m, "");
    writeFileSync(copy, here);
    const { status, stderr, stdout } = spawnSync("systemd-analyze", ["verify", copy], { encoding: "utf8" });
    expect({ status, text: stderr + stdout }).toEqual({ status: 0, text: "" });
  });

  it.runIf(hasAnalyze)("leaves the program little more than its folder and the network", () => {
    const args = ["security", "--offline=true", "--no-pager", `--threshold=${EXPOSURE_MAX}`, UNIT];
    const { status, stdout, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8" });
    expect(status, stdout + stderr).toBe(0);
  });
});
