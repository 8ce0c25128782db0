import { spawn } from "node:child_process";
import { m } from "../messages/messages.ts";
import { childProgram } from "./child-program.ts";
import { BridgeError } from "./errors.ts";
import { helperFor } from "./helper-process.ts";
import type { ProgramFunctions } from "./program-helper.ts";

/** A program that runs longer gets SIGTERM; after the grace it is killed with its whole process group. */
const LIMIT_MS = 30_000;
const GRACE_MS = 2_000;
/** Longer than the program's own limit, which then applies first unless the program cannot even be started. */
const HELPER_WITHIN_MS = LIMIT_MS + 3 * GRACE_MS;
/** Beside this file, both in the sources and in the bundle. */
const HELPER = childProgram("program-helper", import.meta.url);
/** The only environment variables that are passed on: others may hold the client secret. */
const PASSED_ON = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT"];

export interface ProgramCall {
  /** The program and its arguments; no shell is used. */
  command: readonly string[];
  /** Text for standard input. */
  input: string;
  env: Readonly<Record<string, string>>;
  surroundings: NodeJS.ProcessEnv;
  signal: AbortSignal;
  limitMs?: number;
}

/**
 * Runs a program to its end.
 * @throws BridgeError `request_refused`, `unreachable`, `timed_out` or `stopped`, never with the program's output
 */
export function runProgram(call: ProgramCall): Promise<void> {
  const [program = "", ...args] = call.command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...passedOn(call.surroundings), ...call.env },
      stdio: ["pipe", "ignore", "ignore"],
      shell: false,
      // A process group of its own, so that its children end with it.
      detached: true,
    });
    let stoppedBy: "limit" | "signal" | undefined;
    let killer: NodeJS.Timeout | undefined;
    const stop = (by: "limit" | "signal") => {
      stoppedBy ??= by;
      endGroup(child.pid, "SIGTERM");
      killer ??= setTimeout(() => endGroup(child.pid, "SIGKILL"), GRACE_MS);
    };
    const limit = setTimeout(() => stop("limit"), call.limitMs ?? LIMIT_MS);
    const onAbort = () => stop("signal");
    call.signal.addEventListener("abort", onAbort, { once: true });
    const settle = (error: BridgeError | undefined) => {
      clearTimeout(limit);
      clearTimeout(killer);
      call.signal.removeEventListener("abort", onAbort);
      if (error === undefined) resolve();
      else reject(error);
    };
    child.once("error", (error) =>
      settle(new BridgeError("unreachable", m.platform.notStarted({ code: codeOf(error) }))),
    );
    child.once("exit", (code, signal) => {
      if (stoppedBy !== undefined) endGroup(child.pid, "SIGKILL");
      settle(failureOf(stoppedBy, code, signal));
    });
    // A program that does not read its input has not failed.
    child.stdin.on("error", () => {});
    child.stdin.end(call.input);
  });
}

/** The same in a helper process: the program may be on a disk that does not answer. */
export async function runProgramAside({ signal, ...call }: ProgramCall): Promise<void> {
  const [place = ""] = call.command;
  const helper = helperFor<ProgramFunctions>(HELPER, place);
  const options = { place, withinMs: HELPER_WITHIN_MS, isStopping: () => signal.aborted, stopWithinMs: 2 * GRACE_MS };
  await helper.call("run", options, { ...call, surroundings: passedOn(call.surroundings) });
}

function passedOn(surroundings: NodeJS.ProcessEnv): Record<string, string> {
  const inherited = PASSED_ON.flatMap((name) => {
    const value = surroundings[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(inherited);
}

function failureOf(
  stoppedBy: "limit" | "signal" | undefined,
  code: number | null,
  signal: string | null,
): BridgeError | undefined {
  if (stoppedBy === "limit") return new BridgeError("timed_out", m.platform.outOfTime);
  if (stoppedBy === "signal") return new BridgeError("stopped", m.platform.stoppedRunning);
  if (code === 0) return undefined;
  const text = code === null ? m.platform.endedBy({ signal: signal ?? "?" }) : m.platform.endedWith({ code });
  return new BridgeError("request_refused", text);
}

function endGroup(pid: number | undefined, signal: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended already.
  }
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown";
}
