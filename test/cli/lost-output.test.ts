import { EventEmitter } from "node:events";
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Output, type PlainTerminal } from "../../src/cli/terminal.ts";
import { main } from "../../src/main.ts";
import { startShop } from "../support/shop.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const FULL = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
const LOST = /^erp-bridge: Results could not be written to standard output, or not all of them: .*\.$/;

/** Runs a command whose standard output fails, and returns its code and what it says beside its results. */
async function runLost(argv: readonly string[], failure: Error | "closed"): Promise<{ code: number; err: string[] }> {
  const err: string[] = [];
  const terminal: PlainTerminal = {
    env: {},
    isTerminal: false,
    out: () => {},
    err: (text) => void err.push(text),
    outFailure: () => (failure === "closed" ? undefined : failure),
    outIsClosed: () => failure === "closed",
  };
  return { code: await main(argv, terminal), err };
}

describe("results that cannot be written", () => {
  itWhole("end a command that has done its work with 1, and one line says why", async () => {
    const shop = await startShop();
    const config = ["--config", shop.configFile];
    shop.sandbox.service.createOrder();
    const sync = await runLost(["sync", "orders", ...config], FULL);
    expect(sync).toEqual({ code: 1, err: [expect.stringMatching(LOST)] });
    expect(sync.err[0]).toContain("the disk is full (ENOSPC)");
    expect(shop.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 1 }]);
    for (const argv of [["status", "--json", ...config], ["config", "show", ...config], ["--help"], ["--version"]])
      expect(await runLost(argv, FULL)).toEqual({ code: 1, err: [expect.stringMatching(LOST)] });
    const failing = Object.assign(new Error("EIO: i/o error, write"), { code: "EIO" });
    expect((await runLost(["--version"], failing)).err[0]).toContain("the disk reported an error (EIO)");
  });

  it("leave the code of a command that has failed, which stands first", async () => {
    const { code, err } = await runLost(["check", "--config", path.join(tempFolder(), "none.yaml")], FULL);
    expect(code).toBe(78);
    expect(err.filter((line) => LOST.test(line))).toHaveLength(1);
  });

  itWhole("end status --watch, which would write for ever", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    const watch = ["status", "--watch", "--config", shop.configFile];
    expect((await runLost(watch, FULL)).code).toBe(1);
    // Its reader has gone: no failure.
    const { code } = await shop.command("status");
    expect(await runLost(watch, "closed")).toEqual({ code, err: [] });
  });
});

describe("an output", () => {
  const nowhere = { on: () => {} } as unknown as NodeJS.WriteStream;

  it("is written whole where the system takes a part at a time", () => {
    let written = "";
    const output = new Output(nowhere, () => (bytes) => {
      written += Buffer.from(bytes.subarray(0, 3)).toString();
      return Math.min(3, bytes.length);
    });
    output.write("0123456789");
    expect([written, output.failure]).toEqual(["0123456789", undefined]);
  });

  it("keeps its first failure, and nothing follows what is missing", () => {
    let [written, room] = ["", 4];
    const output = new Output(nowhere, () => (bytes) => {
      if (room === 0) throw FULL;
      const taken = Math.min(room, bytes.length);
      written += Buffer.from(bytes.subarray(0, taken)).toString();
      room -= taken;
      return taken;
    });
    output.write("0123456789");
    room = 100;
    output.write("more");
    expect([written, output.failure]).toEqual(["0123", FULL]);
  });

  it.skipIf(!existsSync("/dev/full"))("is one on a full disk", () => {
    const descriptor = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(descriptor));
    const output = new Output(nowhere, () => (bytes) => writeSync(descriptor, bytes));
    output.write("text");
    expect(output.failure).toMatchObject({ code: "ENOSPC" });
  });

  it.each([
    ["EPIPE", false, undefined],
    ["EIO", true, undefined],
    ["EIO", false, "EIO"],
    ["ENOSPC", false, "ENOSPC"],
  ])("that fails with %s (a terminal: %s) keeps %s", (code, isTTY, kept) => {
    const stream = Object.assign(new EventEmitter(), { isTTY });
    const output = new Output(stream as unknown as NodeJS.WriteStream, () => undefined);
    output.listen();
    stream.emit("error", Object.assign(new Error(code), { code }));
    expect((output.failure as NodeJS.ErrnoException | undefined)?.code).toBe(kept);
    expect(output.isClosed).toBe(kept === undefined);
  });
});
