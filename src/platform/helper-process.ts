/*
 * Calls that touch files which may lie on a disk that does not answer, such as a share. Nothing ends such a call: on the
 * thread of the event loop it stops the program, and each one in libuv's pool takes one of its four threads, which also
 * resolve names, and keeps the process from ending. A process of its own makes the call; where it does not answer in time
 * it is killed. One that outlives that, because the kernel itself waits, has no second beside it. Nothing is kept.
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
/** For calls that everything waits for. */
const SYNC_WITHIN_MS = 4_000;
/** What did not answer such a call is not asked at once for something else. */
const SYNC_PAUSE_MS = 10_000;
/** What a call that is broken off may still take to tidy up. */
const STOP_WITHIN_MS = 1_000;
const STOP_LOOK_MS = 200;
/** How long a process that was killed may take to end. */
const END_WITHIN_MS = 1_000;
/** A process without work ends; starting one takes some 50 ms. */
const IDLE_MS = 10_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** No signal opens a debugger. */
const FLAGS = ["--disable-sigusr1"];

/** What a function that is called in a helper process is given besides its arguments. */
export interface HelperCall {
  /** Aborted where the result is not awaited any more. */
  signal: AbortSignal;
  /** A sign of life, which begins the time limit anew, with a note for the caller. */
  progress: (note?: unknown) => void;
}

type Functions = Record<string, (call: HelperCall, ...args: never[]) => unknown>;
type Arguments<F> = F extends (call: HelperCall, ...args: infer Args) => unknown ? Args : never;
type Result<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;

export interface HelperOptions {
  /** The file or folder that is touched, for the words where it does not answer. */
  place: string;
  /** Without a sign of life for so long the process is killed. */
  withinMs?: number;
  /** Looked at all the time: true breaks the call off. */
  isStopping?: () => boolean;
  stopWithinMs?: number;
  onProgress?: (note: unknown) => void;
  /** Another call follows that needs what this one leaves open: the process does not end although it is idle. */
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
  /** Of a {@link BridgeError}; otherwise it is what the system threw. */
  ours: { text: PackedMessage; hint: PackedMessage | undefined } | undefined;
  own: Record<string, unknown>;
}

interface Waiting {
  settle: (outcome: Outcome | BridgeError) => void;
  progress: (note: unknown) => void;
}

/** The place was touched, and nothing came back in time. */
export class Unanswered extends BridgeError {
  /** The same without a full stop, for longer sentences. */
  readonly words: Message;

  constructor(place: string) {
    super("disk_failed", m.platform.silent({ place }), { hint: m.platform.outOfReach });
    this.words = m.platform.doesNotAnswer({ place });
  }
}

/** By program and place, over every beginning anew: one that hangs stays the only one of its place. */
const helpers = new Map<string, HelperProcess<Functions>>();

/**
 * The process that looks at a place.
 * @param program a file that ends with {@link serveCalls}
 * @param user who looks there: two that take turns for long have one each
 */
export function helperFor<F extends Functions>(program: string, place: string, user = ""): HelperProcess<F> {
  const key = JSON.stringify([program, place, user]);
  const helper = helpers.get(key) ?? new HelperProcess<Functions>(program);
  helpers.set(key, helper);
  return helper as unknown as HelperProcess<F>;
}

/** It is started when it is called. */
class HelperProcess<F extends Functions> {
  readonly #program: string;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | undefined;
  /** One that was killed and has not ended yet. */
  #killed: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #nextId = 1;
  /** Monotonic. */
  #askAgainAtMs = 0;

  /** Use {@link helperFor}. */
  constructor(program: string) {
    this.#program = program;
  }

  /** @throws BridgeError `disk_failed` where the place does not answer, `stopped`, and what the function throws. */
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

  /** The same for callers that cannot wait, as at a start: everything stands still meanwhile, but never for long. */
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

  /** Ends the process; calls under way end with it. */
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
    // Nothing of our surroundings is handed on: they may hold the client secret.
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
    // After its last message.
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

  /** @throws BridgeError where the last process hangs in the kernel: another one would hang beside it. */
  async #ended(place: string): Promise<void> {
    const endMs = performance.now() + END_WITHIN_MS;
    while (this.#killed !== undefined) {
      if (performance.now() > endMs) throw new Unanswered(place);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** The program ends without waiting for it. */
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

/** Answers calls, in the process that {@link HelperProcess} starts, until its caller has ended. */
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
  // A terminal's Ctrl-C reaches every process of its group: who called decides what ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
}

/** An error as plain data, for another process. */
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
