import { closeSync, existsSync, openSync, readFileSync, watch, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createNotifier } from "../../src/platform/systemd.ts";
import { tempFolder } from "../support/temp.ts";

/** Stands in for the program systemd-notify: the first message takes the longest. */
function standIn(): { lines: () => string[]; untilLines: (count: number) => Promise<void> } {
  const folder = tempFolder("notify");
  const said = path.join(folder, "said");
  const script = `#!/bin/sh\n[ -e "${said}" ] || sleep 0.1\nshift\necho "$*" >> "${said}"\n`;
  writeFileSync(path.join(folder, "systemd-notify"), script, { mode: 0o755 });
  const former = process.env["PATH"];
  process.env["PATH"] = `${folder}:${former}`;
  onTestFinished(() => {
    process.env["PATH"] = former;
  });
  const lines = () => (existsSync(said) ? readFileSync(said, "utf8").split("\n").slice(0, -1) : []);
  const untilLines = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => void (lines().length >= count && resolve());
      const watcher = watch(folder, look);
      onTestFinished(() => watcher.close());
      look();
    });
  return { lines, untilLines };
}

describe("telling systemd", () => {
  it("sends one message after the other, in their order", async () => {
    const { lines, untilLines } = standIn();
    const notify = createNotifier({ NOTIFY_SOCKET: "/run/systemd/notify" });
    notify("RELOADING=1");
    notify("READY=1");
    notify("STATUS=Up to date. Asked 2 s ago.", "WATCHDOG=1");
    await untilLines(3);
    expect(lines()).toEqual(["RELOADING=1", "READY=1", "STATUS=Up to date. Asked 2 s ago. WATCHDOG=1"]);
  });

  it("writes to the socket that it was started with, and starts no other program", async () => {
    const { lines } = standIn();
    const socket = path.join(tempFolder("notify-socket"), "datagrams");
    const descriptor = openSync(socket, "a");
    onTestFinished(() => closeSync(descriptor));
    const notify = createNotifier({ NOTIFY_SOCKET: "/run/systemd/notify", ERP_BRIDGE_NOTIFY_FD: String(descriptor) });
    notify("READY=1", "STATUS=Orders failing: it said\nWATCHDOG=1");
    notify("STOPPING=1");
    await new Promise((resolve) => setImmediate(resolve));
    // The words of others cannot begin a variable of their own.
    expect(readFileSync(socket, "utf8")).toBe("READY=1\nSTATUS=Orders failing: it said WATCHDOG=1STOPPING=1");
    expect(lines()).toEqual([]);
  });

  it("says nothing where nobody listens", async () => {
    const { lines } = standIn();
    createNotifier({})("READY=1");
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines()).toEqual([]);
  });
});
