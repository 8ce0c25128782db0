/*
 * Runs a feed's SELECT, or the view behind its table, to its end before the bridge reads it: a query that never ends
 * would stop the whole program, and one that never stops giving rows would fill the disk. A process of its own does
 * that, and is killed when the time is over. Nothing is kept; after a crash the next pass proves the source again.
 */
import { fork } from "node:child_process";
import { m } from "../messages/messages.ts";
import { childProgram } from "../platform/child-program.ts";
import { BridgeError, type ErrorCode } from "../platform/errors.ts";
import { type SourceRules, sourceOf } from "./feed.ts";
import type { SourceMessage, SourceOrder } from "./source-child.ts";

/** A query that takes longer would not be done before the next pass either. */
const LIMIT_MS = 60_000;
/** How often a stop of the program is looked for meanwhile. */
const LOOK_MS = 200;

export interface Proof {
  databasePath: string;
  /** Looked at all the time: true ends the proof. */
  isStopping: () => boolean;
  limitMs?: number;
}

/**
 * How many rows the source has, once it has given them all.
 * @throws BridgeError `table_missing` where it does not end in time, or cannot be read; `database_busy`, `stopped`
 */
export async function proveSource(rules: SourceRules, proof: Proof): Promise<number> {
  const { databasePath, isStopping, limitMs = LIMIT_MS } = proof;
  // Nothing of our surroundings is handed on, and no signal opens a debugger.
  const child = fork(childProgram("source-child", import.meta.url), [], {
    env: {},
    execArgv: ["--disable-sigusr1"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let end: SourceMessage | undefined;
  let why: BridgeError | undefined;
  const stop = (error: BridgeError) => {
    why ??= error;
    child.kill("SIGKILL");
  };
  const limit = setTimeout(() => stop(endless(rules, limitMs)), limitMs);
  const look = setInterval(() => isStopping() && stop(new BridgeError("stopped", m.feeds.stoppedReading)), LOOK_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.on("message", (message: SourceMessage) => {
        end = message;
      });
      child.once("close", () => resolve());
      const { name, table, query, file, columns, keys } = rules;
      child.send({ rules: { name, table, query, file, columns, keys }, databasePath } satisfies SourceOrder);
    });
  } finally {
    clearTimeout(limit);
    clearInterval(look);
  }
  if (end?.kind === "rows") return end.rows;
  if (why !== undefined) throw why;
  if (end === undefined) throw new BridgeError("internal", m.feeds.proofEnded);
  const { code, message, hint } = end;
  throw new BridgeError(code as ErrorCode, message, hint === undefined ? {} : { hint });
}

function endless(rules: SourceRules, limitMs: number): BridgeError {
  return new BridgeError(
    "table_missing",
    m.feeds.endless({ name: rules.name, source: sourceOf(rules), seconds: limitMs / 1000 }),
    {
      hint: m.feeds.correctQuery({ name: rules.name }),
    },
  );
}
