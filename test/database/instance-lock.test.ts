import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { acquireInstanceLock, isLocked } from "../../src/database/file/instance-lock.ts";
import { openStore } from "../../src/database/open.ts";
import { exitCodeOf } from "../../src/platform/errors.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

/** A process that takes the lock, says so, and then lives until it is killed. */
async function holderOf(databasePath: string): Promise<ChildProcess> {
  const script = `import { acquireInstanceLock } from ${JSON.stringify(path.resolve("src/database/file/instance-lock.ts"))};
    acquireInstanceLock(${JSON.stringify(databasePath)}, { command: "erp-bridge run" });
    globalThis.gc(); process.stdout.write("locked"); setInterval(() => globalThis.gc(), 1000);`;
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  await once(child.stdout, "data");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

describe("the instance lock", () => {
  itWhole("refuses a second process and names the first, and is free at once when the first is killed", async () => {
    const file = path.join(tempFolder("lock"), "bridge.db");
    const child = await holderOf(file);
    let thrown: unknown;
    try {
      acquireInstanceLock(file, { command: "second" });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "instance_running" });
    expect(String(thrown)).toMatch(new RegExp(`erp-bridge run, process ${child.pid}, since 2\\d{3}-`));
    expect(exitCodeOf(thrown)).toBe(75);
    await kill(child);
    const lock = acquireInstanceLock(file, { command: "third", now: () => 0 });
    expect(isLocked(file)?.holder).toEqual({ pid: process.pid, command: "third", since: "1970-01-01T00:00:00.000Z" });
    lock.release();
  });

  itWhole("is one lock through a symbolic link to the folder", async () => {
    const folder = tempFolder("lock");
    mkdirSync(path.join(folder, "real"));
    symlinkSync("real", path.join(folder, "link"));
    const child = await holderOf(path.join(folder, "real", "bridge.db"));
    const other = path.join(folder, "link", "bridge.db");
    expect(isLocked(other)?.holder?.pid).toBe(child.pid);
    expect(() => acquireInstanceLock(other, { command: "second" })).toThrow(
      expect.objectContaining({ code: "instance_running" }),
    );
    await kill(child);
    // The words of the dead holder are still there, and mean nothing.
    expect(isLocked(other)).toBeUndefined();
  });

  itWhole("can be taken, given back and taken again in one process, and leaves only the empty lock file", () => {
    const folder = tempFolder("lock");
    const file = path.join(folder, "bridge.db");
    expect(isLocked(file)).toBeUndefined();
    for (let round = 0; round < 3; round += 1) {
      const lock = acquireInstanceLock(file, { command: "run" });
      expect(isLocked(file)).toBeDefined();
      expect(() => acquireInstanceLock(file, { command: "again" })).toThrow(/Another erp-bridge/);
      expect(isLocked(file)).toBeDefined();
      lock.release();
      lock.release();
      expect(isLocked(file)).toBeUndefined();
    }
    expect(readdirSync(folder)).toEqual(["bridge.db.lock"]);
  });

  it.runIf(process.geteuid?.() === 0)("is the service's own where root runs a command before the first daemon", () => {
    const folder = tempFolder("lock");
    const [uid, gid] = [64_001, 64_002];
    chownSync(folder, uid, gid);
    const file = path.join(folder, "bridge.db");
    acquireInstanceLock(file, { command: "erp-bridge sync" }).release();
    openStore({ path: file, migrationsFolder: "drizzle", mode: "daemon" }).close();
    for (const name of readdirSync(folder)) {
      expect(statSync(path.join(folder, name)), name).toMatchObject({ uid, gid });
    }
  });

  it.each([
    ["link", (name: string, precious: string) => symlinkSync(precious, name)],
    ["hard link", (name: string, precious: string) => linkSync(precious, name)],
    ["folder", (name: string) => mkdirSync(name)],
    ["pipe", (name: string) => execFileSync("mkfifo", [name])],
  ])("refuses a %s in the place of its file, and waits for nothing", (_, plant) => {
    const folder = tempFolder("lock");
    const precious = path.join(tempFolder("precious"), "shadow");
    writeFileSync(precious, "precious", { mode: 0o600 });
    plant(path.join(folder, "bridge.db.lock"), precious);
    plant(path.join(folder, "bridge.db.lock.json"), precious);
    const file = path.join(folder, "bridge.db");
    expect(() => acquireInstanceLock(file, { command: "erp-bridge sync" })).toThrow(/no file of its own/);
    expect(() => isLocked(file)).toThrow(/no file of its own/);
    rmSync(path.join(folder, "bridge.db.lock"), { recursive: true });
    const lock = acquireInstanceLock(file, { command: "erp-bridge sync" });
    expect(isLocked(file)).toBeDefined();
    lock.release();
    expect(readFileSync(precious, "utf8")).toBe("precious");
  });
});
