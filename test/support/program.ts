import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { inject, onTestFinished } from "vitest";

/** For tests with many starts of the program, which are slow on a busy machine. */
export const PATIENT = { timeout: 90_000 };

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The real program, in its own process. */
export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Kills it with SIGKILL, and waits until it has ended. */
  readonly kill: () => Promise<Exit>;
  /** Resolves when this text appears on standard error; rejects where the program ends before. */
  readonly says: (text: string) => Promise<void>;
}

/** Starts `erp-bridge ARGS`, by default as installed. It is killed at the end of the test if it still runs. */
export function startProgram(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; bin?: string } = {},
): Program {
  const program = inject("program");
  // The same bundle is started hundreds of times, and compiling it is a third of the start time.
  const cache = path.join(path.dirname(program), "../compiled");
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    NODE_COMPILE_CACHE: cache,
    ...options.env,
  };
  const child = spawn(process.execPath, [options.bin ?? program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  // `close`, not `exit`: all output has arrived by then.
  const exited = once(child, "close").then(([code, signal]): Exit => ({ code, signal }));
  const says = async (text: string) => {
    const ended = exited.then(({ code, signal }) => {
      throw new Error(`ended with ${code ?? signal} before it said "${text}":\n${texts.stderr}`);
    });
    ended.catch(() => {});
    while (!texts.stderr.includes(text)) await Promise.race([once(child.stderr, "data"), ended]);
  };
  const kill = async () => {
    child.kill("SIGKILL");
    return await exited;
  };
  return { child, pid: child.pid!, exited, says, kill, stdout: () => texts.stdout, stderr: () => texts.stderr };
}
