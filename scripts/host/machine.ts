import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PACKAGES = ["systemd", "systemd-sysv", "dbus", "sqlite3", "procps", "ca-certificates", "libstdc++6"];
const BOOTS_WITHIN_MS = 60_000;
const LOOK_MS = 200;

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** A tree with a minimal Debian, made once and kept: nothing is ever started in it. */
export function prepareBase(folder: string, suite: string, mirror: string): string {
  const tree = path.join(folder, suite);
  if (existsSync(path.join(tree, "complete"))) return tree;
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const args = ["--variant=minbase", `--include=${PACKAGES.join(",")}`, suite, tree, mirror];
  const { status } = spawnSync("debootstrap", args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`debootstrap ended with ${status}`);
  writeFileSync(path.join(tree, "complete"), "");
  return tree;
}

/** A machine of its own, as far as systemd and dpkg can tell: a copy of the base tree, booted by systemd-nspawn. */
export class Machine {
  readonly root: string;
  #nspawn: ChildProcess | undefined;
  #leader: string | undefined;
  readonly #controlGroup: string | undefined;

  constructor(base: string, root: string) {
    this.root = root;
    this.#controlGroup = makeControlGroup();
    rmSync(root, { recursive: true, force: true });
    const { status, stderr } = spawnSync("cp", ["-a", "--reflink=auto", base, root], { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }

  async boot(): Promise<void> {
    const name = `erp-bridge-${process.pid}`;
    const args = ["--quiet", "--boot", "--register=no", "--keep-unit", "--console=pipe", `--machine=${name}`];
    // Its loopback is its own: neither ports nor locks are shared with this machine or another trial.
    args.push("--private-network");
    // Newer ones refuse to start with the control groups of old; a machine may offer both.
    const env = { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1", ...process.env };
    const program = ["systemd-nspawn", ...args, `--directory=${this.root}`];
    // Without a systemd that would give it one, in a control group of its own: two machines must not share theirs.
    const enter = this.#controlGroup === undefined ? "" : `echo $$ >${this.#controlGroup}/cgroup.procs && `;
    const child = spawn("sh", ["-c", `${enter}exec "$@"`, "sh", ...program], { stdio: "ignore", env });
    this.#nspawn = child;
    await this.until("the machine has started", () => {
      this.#leader = firstChildOf(child.pid);
      return this.#leader !== undefined && /running|degraded/.test(this.run("systemctl is-system-running").out);
    });
  }

  /** As a power switch does it: everything inside dies at once, and whatever was in its memory is gone. */
  async cutPower(): Promise<void> {
    const gone = this.#nspawn === undefined ? undefined : once(this.#nspawn, "exit");
    for (const pid of [Number(this.#leader), this.#nspawn?.pid]) if (pid !== undefined && pid > 0) kill(pid);
    await gone;
    this.#leader = undefined;
  }

  async shutDown(): Promise<void> {
    if (this.#nspawn === undefined || this.#nspawn.exitCode !== null || this.#leader === undefined) return;
    const gone = once(this.#nspawn, "exit");
    this.run("systemctl poweroff");
    const late = setTimeout(() => void this.cutPower(), 30_000);
    await gone;
    clearTimeout(late);
    this.#leader = undefined;
    if (this.#controlGroup !== undefined) removeControlGroup(this.#controlGroup);
  }

  /** A shell command inside, as root. */
  run(command: string, input = ""): Ran {
    const args = ["--all", "--target", this.#leader ?? "", "sh", "-c", command];
    const { status, stdout, stderr } = spawnSync("nsenter", args, { encoding: "utf8", input, env: INSIDE });
    return { code: status ?? -1, out: stdout.trim(), err: stderr.trim() };
  }

  /** The same, where a failure is a failure of the trial itself. */
  must(command: string, input = ""): string {
    const { code, out, err } = this.run(command, input);
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${err || out}`);
    return out;
  }

  put(from: string, to: string): void {
    copyFileSync(from, path.join(this.root, to));
  }

  write(file: string, text: string): void {
    mkdirSync(path.dirname(path.join(this.root, file)), { recursive: true });
    writeFileSync(path.join(this.root, file), text);
  }

  read(file: string): string {
    return readFileSync(path.join(this.root, file), "utf8");
  }

  /** A property of a unit, as systemctl shows it. */
  show(unit: string, property: string): string {
    return this.must(`systemctl show --value --property=${property} ${unit}`);
  }

  /** Of a unit that runs: 0 would be every process of the caller's group. */
  mainPid(unit: string): string {
    const pid = this.show(unit, "MainPID");
    if (pid === "0") throw new Error(`${unit} is not running`);
    return pid;
  }

  /** Waits until something is so; throws with the words after a time that is never reached when all is well. */
  async until(words: string | (() => string), isSo: () => boolean, withinMs = BOOTS_WITHIN_MS): Promise<number> {
    const startedMs = performance.now();
    while (!isSo()) {
      if (performance.now() - startedMs > withinMs) {
        throw new Error(`not within ${withinMs / 1000} s: ${typeof words === "string" ? words : words()}`);
      }
      await sleep(LOOK_MS);
    }
    return performance.now() - startedMs;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/** Undefined where the system has a systemd of its own, or no control groups of the present kind. */
function makeControlGroup(): string | undefined {
  const [, mounted] = / (\/\S+) \S+ (?:\S+ )*- cgroup2 /.exec(readFileSync("/proc/self/mountinfo", "utf8")) ?? [];
  if (mounted === undefined || existsSync("/run/systemd/system")) return undefined;
  const group = path.join(mounted, `erp-bridge-trial-${process.pid}`);
  mkdirSync(group, { recursive: true });
  return group;
}

/** From the inside out: a group goes once it holds none. */
function removeControlGroup(group: string): void {
  spawnSync("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], { stdio: "ignore" });
}

const INSIDE = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
  HOME: "/root",
};

function firstChildOf(pid: number | undefined): string | undefined {
  const { stdout } = spawnSync("ps", ["--no-headers", "-o", "pid", "--ppid", String(pid)], { encoding: "utf8" });
  return stdout.trim().split(/\s+/)[0] || undefined;
}
