/*
 * Runs calls that touch files on a disk that may not answer, such as a network share. Such a call cannot be cancelled:
 * on the event loop's thread it stops the program; in libuv's pool it occupies one of four threads, which also resolve
 * host names, and keeps the process from exiting. So a child process makes the call and is killed when the time limit
 * passes. Where it survives even that, because the kernel waits, no second one is started beside it. Nothing is stored.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { type PackedMessage, packed, unpacked } from "../messages/pack.ts";
import { BridgeError, type ErrorCode } from "./errors.ts";

/** Longer than a network disk needs to wake up. */
const ANSWER_WITHIN_MS = 30_000;
/** For calls that block the program. */
const SYNC_WITHIN_MS = 4_000;
/** After a synchronous call timed out, further ones fail at once for this long. */
const SYNC_PAUSE_MS = 10_000;
/** Time for an aborted call to clean up. */
const STOP_WITHIN_MS = 1_000;
const STOP_LOOK_MS = 200;
/** Time for a killed process to end. */
const END_WITHIN_MS = 1_000;
/** An idle process ends after this long; starting one takes about 50 ms. */
const IDLE_MS = 10_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** SIGUSR1 must not open a debugger. */
const FLAGS = ["--disable-sigusr1"];

/** First argument of a function that runs in a helper process. */
export interface HelperCall {
  /** Aborted where nobody waits for the result any more. */
  signal: AbortSignal;
  /** Restarts the time limit, and sends a note to the caller. */
  progress: (note?: unknown) => void;
}

type Functions = Record<string, (call: HelperCall, ...args: never[]) => unknown>;
type Arguments<F> = F extends (call: HelperCall, ...args: infer Args) => unknown ? Args : never;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

export interface HelperOptions {
  /** The file or folder that is touched; named in the error where it does not answer. */
  place: string;
  /** The process is killed after so long without progress. */
  withinMs?: number;
  /** Polled; true aborts the call. */
  isStopping?: () => boolean;
  stopWithinMs?: number;
  onProgress?: (note: unknown) => void;
  /** A later call needs what this one leaves open, so the process does not end while idle. */
  leavesOpen?: boolean;
}

interface Request {
  id: number;
  name: string;
  args: unknown[];
}

type Outcome = { result: unknown } | { error: PackedError };
type Answer = { id: number } & (Outcome | { note: unknown });

interface PackedError {
  message: string;
  /** Of a {@link BridgeError}; undefined for an error of the system. */
  ours: { text: PackedMessage; hint: PackedMessage | undefined } | undefined;
  own: Record<string, unknown>;
}

interface Waiting {
  settle: (outcome: Outcome | BridgeError) => void;
  progress: (note: unknown) => void;
}

/** The place did not answer in time. */
export class Unanswered extends BridgeError {
  /** The message without its full stop, to be part of a longer sentence. */
  readonly words: Message;

  constructor(place: string) {
    super("disk_failed", m.platform.silent({ place }), { hint: m.platform.outOfReach });
    this.words = m.platform.doesNotAnswer({ place });
  }
}

/** By program, place and user. Survives reloads, so that a place with a hanging process never gets a second one. */
const helpers = new Map<string, HelperProcess<Functions>>();

/**
 * The helper process for a place.
 * @param program a file that ends with {@link serveCalls}
 * @param user separates callers that alternate for long: each has a process of its own
 */
export function helperFor<F extends Functions>(program: string, place: string, user = ""): HelperProcess<F> {
  const key = JSON.stringify([program, place, user]);
  const helper = helpers.get(key) ?? new HelperProcess<Functions>(program);
  helpers.set(key, helper);
  return helper as unknown as HelperProcess<F>;
}

/** Started by its first call. */
class HelperProcess<F extends Functions> {
  readonly #program: string;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | undefined;
  /** Killed, but not ended yet. */
  #killed: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #nextId = 1;
  /** Monotonic. */
  #askAgainAtMs = 0;

  /** Use {@link helperFor}. */
  constructor(program: string) {
    this.#program = program;
  }

  /** @throws BridgeError `disk_failed` where the place does not answer, `stopped`, and what the function throws */
  async call<K extends keyof F & string>(
    name: K,
    options: HelperOptions,
    ...args: Arguments<F[K]>
  ): Promise<Result<F[K]>> {
    await this.#ended(options.place);
    const child = this.#start();
    const id = this.#nextId++;
    const outcome = await this.#send(child, { id, name, args }, options);
    if (this.#waiting.size === 0) this.#rest(options.leavesOpen === true);
    if (outcome instanceof BridgeError) throw outcome;
    if ("error" in outcome) throw unpackError(outcome.error);
    return outcome.result as Result<F[K]>;
  }

  /** The same for callers that cannot wait, as at start. Blocks the whole program, but never for long. */
  callSync<K extends keyof F & string>(
    name: K,
    options: Pick<HelperOptions, "place" | "withinMs">,
    ...args: Arguments<F[K]>
  ): Result<F[K]> {
    if (performance.now() < this.#askAgainAtMs) throw new Unanswered(options.place);
    const { error, status, stdout } = spawnSync(process.execPath, [...FLAGS, this.#program], {
      input: serialize({ id: 0, name, args } satisfies Request),
      env: {},
      timeout: options.withinMs ?? SYNC_WITHIN_MS,
      killSignal: "SIGKILL",
      maxBuffer: OUTPUT_BYTES_MAX,
      stdio: ["pipe", "pipe", "ignore"],
    });
    if ((error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT") {
      this.#askAgainAtMs = performance.now() + SYNC_PAUSE_MS;
      throw new Unanswered(options.place);
    }
    if (status !== 0) throw new BridgeError("internal", m.platform.helperEnded({ why: String(status) }));
    const outcome = deserialize(stdout) as Outcome;
    if ("error" in outcome) throw unpackError(outcome.error);
    return outcome.result as Result<F[K]>;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Ends the process; pending calls fail with `stopped`. */
  close(): void {
    clearTimeout(this.#idle);
    this.#kill(new BridgeError("stopped", m.platform.stoppedLooking));
  }

  #start(): ChildProcess {
    clearTimeout(this.#idle);
    if (this.#child !== undefined) {
      this.#child.ref();
      this.#child.channel?.ref();
      return this.#child;
    }
    // The environment is not passed on: it may hold the client secret.
    const child = fork(this.#program, [], {
      env: {},
      execArgv: FLAGS,
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child = child;
    child.on("message", (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      if ("note" in answer) waiting?.progress(answer.note);
      else waiting?.settle(answer);
    });
    const gone = (why: string) => {
      if (this.#killed === child) this.#killed = undefined;
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#endAll(new BridgeError("internal", m.platform.helperEnded({ why })));
    };
    child.once("error", (error) => gone((error as NodeJS.ErrnoException).code ?? error.message));
    // `close` comes after the child's last message.
    child.once("close", (code, signal) => gone(String(signal ?? code)));
    return child;
  }

  #send(child: ChildProcess, request: Request, options: HelperOptions): Promise<Outcome | BridgeError> {
    const { place, withinMs = ANSWER_WITHIN_MS, isStopping, stopWithinMs = STOP_WITHIN_MS, onProgress } = options;
    return new Promise((resolve) => {
      let stopAtMs: number | undefined;
      const limit = setTimeout(() => this.#kill(new Unanswered(place)), withinMs);
      const look = setInterval(() => {
        if (isStopping?.() !== true) return;
        if (stopAtMs === undefined && child.connected) child.send({ abort: request.id }, () => {});
        stopAtMs ??= performance.now() + stopWithinMs;
        if (performance.now() >= stopAtMs) this.#kill(new BridgeError("stopped", m.platform.stoppedReading({ place })));
      }, STOP_LOOK_MS);
      this.#waiting.set(request.id, {
        settle: (outcome) => {
          clearTimeout(limit);
          clearInterval(look);
          this.#waiting.delete(request.id);
          resolve(outcome);
        },
        progress: (note) => {
          limit.refresh();
          onProgress?.(note);
        },
      });
      child.send(request, (error) => {
        if (error !== null) this.#kill(new BridgeError("internal", m.platform.helperEnded({ why: error.message })));
      });
    });
  }

  #kill(why: BridgeError): void {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    if (child.pid !== undefined) this.#killed = child;
    child.kill("SIGKILL");
    letGo(child);
    this.#endAll(why);
  }

  #endAll(why: BridgeError): void {
    for (const waiting of [...this.#waiting.values()]) waiting.settle(why);
  }

  /** @throws BridgeError where the killed process hangs in the kernel: another one would hang too */
  async #ended(place: string): Promise<void> {
    const endMs = performance.now() + END_WITHIN_MS;
    while (this.#killed !== undefined) {
      if (performance.now() > endMs) throw new Unanswered(place);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Lets the program end without waiting for the child. */
  #rest(isOpen: boolean): void {
    if (this.#child === undefined) return;
    letGo(this.#child);
    clearTimeout(this.#idle);
    if (isOpen) return;
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
  }
}

function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

/** Answers calls inside the process that {@link HelperProcess} starts, until the caller ends. */
export function serveCalls(functions: Functions): void {
  const under = new Map<number, AbortController>();
  const run = async ({ id, name, args }: Request, progress: HelperCall["progress"]): Promise<Outcome> => {
    const abort = new AbortController();
    under.set(id, abort);
    try {
      return { result: await functions[name]?.({ signal: abort.signal, progress }, ...(args as never[])) };
    } catch (error) {
      return { error: packError(error) };
    } finally {
      under.delete(id);
    }
  };
  const send = process.send?.bind(process);
  if (send === undefined) {
    void run(deserialize(readFileSync(0)) as Request, () => {}).then((outcome) => {
      const bytes = serialize(outcome);
      for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
      process.exit(0);
    });
    return;
  }
  process.on("message", (message: Request | { abort: number }) => {
    if ("abort" in message) return under.get(message.abort)?.abort();
    const { id } = message;
    void run(message, (note) => void send({ id, note })).then((outcome) => send({ id, ...outcome }));
    return undefined;
  });
  process.on("disconnect", () => process.exit(1));
  // A terminal's Ctrl-C reaches every process of its group: the caller decides what ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
}

/** An error as plain data, to be sent to another process. */
function packError(error: unknown): PackedError {
  const ours =
    error instanceof BridgeError ? { text: packed(error.text), hint: error.hint && packed(error.hint) } : undefined;
  const message = error instanceof Error ? error.message : String(error);
  const own = Object.entries(error instanceof Error ? error : {}).filter(
    ([name, value]) => name !== "name" && (typeof value !== "object" || Array.isArray(value)),
  );
  return { message, ours, own: Object.fromEntries(own) };
}

function unpackError({ message, ours, own }: PackedError): Error {
  if (ours === undefined) return Object.assign(new Error(message), own);
  const hint = ours.hint === undefined ? {} : { hint: unpacked(ours.hint) };
  return Object.assign(new BridgeError(own["code"] as ErrorCode, unpacked(ours.text), hint), own);
}
