/*
 * The only way in which jobs write. The ERP may hold the write lock for minutes; the bridge then waits without blocking
 * the event loop, logs the wait once, and continues by itself. Nothing is written before the lock is held, so a crash while
 * waiting loses nothing. Between consecutive transactions the event loop gets its turn.
 */
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import type { JobContext } from "./job.ts";

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;
/** An ERP's nightly rewrite may take this long before it is logged. */
const WORTH_A_LINE_MS = 5_000;

/** Time for all outcomes that a pass still writes after a stop. The daemon closes the database later than that. */
export const LAST_WRITES_MS = 1_500;
/** By the signal that was aborted: the end of that time (monotonic). */
const lastWrites = new WeakMap<AbortSignal, AbortSignal>();

/** Transactions follow each other for this long before the event loop gets its turn. */
const TURN_MS = 10;
/** When the event loop had its last turn, by clock. */
const turns = new WeakMap<Clock, number>();

type Writing = Pick<JobContext, "store" | "objects" | "requireAccount">;
type CommitContext = Writing & Pick<JobContext, "clock" | "log">;

/** Runs `fn` in one write transaction, waiting for the lock as long as it takes or until `signal` is aborted. */
export async function commit<T>(context: CommitContext, signal: AbortSignal, fn: () => T): Promise<T> {
  const { clock, log, objects } = context;
  const startedMs = clock.monotonicMs();
  let isLogged = false;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      const result = writeOnce(context, fn);
      if (isLogged) log.info({ waitedMs: Math.round(clock.monotonicMs() - startedMs) }, m.pass.writableAgain);
      await leaveTurn(clock);
      return result;
    } catch (error) {
      if (!isBusy(error)) throw objects?.explain(error) ?? error;
      if (!isLogged && clock.monotonicMs() - startedMs > WORTH_A_LINE_MS) {
        isLogged = true;
        log.warn({ errorCode: error.code }, m.pass.waitsForLock);
      }
      await pause(clock, wait * (0.5 + clock.random()), signal);
    }
  }
}

/**
 * The same for an outcome that is stored nowhere else yet. After a stop it waits a little longer for the lock; that time is
 * shared by all outcomes of the pass.
 */
export async function commitEnd<T>(context: CommitContext, signal: AbortSignal, fn: () => T): Promise<T> {
  try {
    return await commit(context, signal, fn);
  } catch (error) {
    if (!signal.aborted || !(error instanceof BridgeError) || error.code !== "stopped") throw error;
    const until = lastWrites.get(signal) ?? AbortSignal.timeout(LAST_WRITES_MS);
    lastWrites.set(signal, until);
    return await commit(context, until, fn);
  }
}

/**
 * Runs `fn` in one write transaction at once, with no turn of the event loop in between: for a decision that is acted on in the same step.
 * Returns undefined if another program holds the lock.
 */
export function commitAtOnce<T>(context: Writing, fn: () => T): { value: T } | undefined {
  try {
    return { value: writeOnce(context, fn) };
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw context.objects?.explain(error) ?? error;
  }
}

function writeOnce<T>({ store, objects, requireAccount }: Writing, fn: () => T): T {
  return store.write(() => {
    requireAccount?.();
    const done = fn();
    objects?.refuseSwallowing();
    return done;
  });
}

function isBusy(error: unknown): error is BridgeError {
  return error instanceof BridgeError && error.code === "database_busy";
}

/** Runs `step` in separate transactions, each of a bounded size, until it reports that nothing is left. */
export async function commitUntilDone(context: CommitContext, signal: AbortSignal, step: () => number): Promise<void> {
  while ((await commit(context, signal, step)) > 0) await context.clock.sleep(0, signal);
}

/** No signal aborts this: what was committed stays committed, and the caller gets the result. */
async function leaveTurn(clock: Clock): Promise<void> {
  if (clock.monotonicMs() - (turns.get(clock) ?? 0) <= TURN_MS) return;
  await clock.sleep(0);
  turns.set(clock, clock.monotonicMs());
}

async function pause(clock: JobContext["clock"], ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (cause) {
    throw new BridgeError("stopped", m.pass.stoppedWaiting, { cause });
  }
}
