import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { startShop } from "../support/shop.ts";

const LOST = /^erp-bridge: Results could not be written to standard output, or not all of them: .*\.$/;

describe.skipIf(!existsSync("/dev/full"))("a full disk under the output", () => {
  /** Runs the program in a shell, where `$PROGRAM` stands for it. */
  async function inShell(script: string, env: NodeJS.ProcessEnv): Promise<{ code: number; err: string }> {
    const program = `${process.execPath} ${inject("program")}`;
    const child = spawn("bash", ["-c", script], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], PROGRAM: program, ...env },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let err = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    const [code] = (await once(child, "close")) as [number];
    return { code, err: err.trimEnd() };
  }

  it("shows no stack trace, and is named once", async () => {
    const shop = await startShop();
    const env = { CONFIG: shop.configFile, FILE: path.join(shop.folder, "out.txt") };
    for (const args of ["sync orders", "status --json"]) {
      const { code, err } = await inShell(`$PROGRAM ${args} --config $CONFIG > /dev/full`, env);
      expect([args, code, err]).toEqual([args, 1, expect.stringMatching(LOST)]);
    }
    // Both outputs on that disk: the code is what remains.
    expect(await inShell("$PROGRAM status --config $CONFIG > /dev/full 2>&1", env)).toEqual({ code: 1, err: "" });
    // Room for a part of it.
    const cut = await inShell("ulimit -f 1; $PROGRAM config schema > $FILE", env);
    expect(cut).toEqual({ code: 1, err: expect.stringMatching(/\(EFBIG\)/) });
    expect(readFileSync(env.FILE, "utf8").length).toBe(1024);
    // A reader that has seen enough.
    const piped = "set -o pipefail; $PROGRAM config schema | head -1 > $FILE";
    expect(await inShell(piped, env)).toEqual({ code: 0, err: "" });
  });
});
