/*
 * The rows of a feed that is read through, in steps. Those of another file come from a process of its own: that file may
 * lie on a disk that does not answer.
 */
import { m } from "../messages/messages.ts";
import { childProgram } from "../platform/child-program.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { type HelperOptions, helperFor, Unanswered } from "../platform/helper-process.ts";
import { type SourceRow, type SourceRules, sourceOf } from "./feed.ts";
import { MissingColumns } from "./feed-triggers.ts";
import type { SourceFunctions } from "./source-helper.ts";
import { openSource } from "./source-reader.ts";

/** Beside this file, in the sources and in the bundle alike. */
const HELPER = childProgram("source-helper", import.meta.url);
/** A query that takes longer to its end would not be done before the next pass either. */
const PROVEN_WITHIN_MS = 60_000;
/** A statement may take long until it gives its first row; it has been run to its end within this before. */
const ROWS_WITHIN_MS = 60_000;

export interface SourceRows {
  /** Whether a program that writes the file has to wait while it is read. */
  readonly makesWritersWait: boolean;
  /** Whether reading it runs a SELECT, which may never end. */
  readonly mayNotEnd: boolean;
  /** True once a text was read that may be another than the stored one: only reading `exactly` can show it. */
  readonly sawReplaced: boolean;
  /** All rows, `count` at a time; the last step has fewer, or none. */
  steps(exactly: boolean, count: number): AsyncIterable<SourceRow[]>;
  /** The rows of one key, at most two. */
  find(key: readonly string[]): Promise<SourceRow[]> | SourceRow[];
  close(): void;
}

export interface SourcePlace {
  /** The bridge's own database, where the feed names no other file. */
  databasePath: string;
  isStopping: () => boolean;
}

/** @throws BridgeError `table_missing`, also where the file does not answer; `database_busy`, `stopped` */
export async function openRows(rules: SourceRules, place: SourcePlace): Promise<SourceRows> {
  if (rules.file === null) return openSource(rules, place.databasePath);
  const file = new FileRows(rules, rules.file, place);
  await file.open();
  return file;
}

class FileRows implements SourceRows {
  readonly #rules: SourceRules;
  readonly #call: HelperOptions;
  readonly #helper: ReturnType<typeof helperFor<SourceFunctions>>;
  makesWritersWait = false;
  mayNotEnd = false;
  sawReplaced = false;

  constructor(rules: SourceRules, file: string, { isStopping }: SourcePlace) {
    this.#rules = sourceRules(rules);
    this.#call = { place: file, isStopping, leavesOpen: true };
    this.#helper = helperFor(HELPER, file, rules.name);
  }

  async open(): Promise<void> {
    const opened = await this.#attempt(this.#helper.call("open", this.#call, this.#rules));
    this.makesWritersWait = opened.makesWritersWait;
    this.mayNotEnd = opened.mayNotEnd;
  }

  async *steps(exactly: boolean, count: number): AsyncGenerator<SourceRow[]> {
    await this.#attempt(this.#helper.call("begin", this.#call, exactly));
    for (;;) {
      const call = { ...this.#call, withinMs: ROWS_WITHIN_MS };
      const { rows, sawReplaced } = await this.#attempt(this.#helper.call("next", call, count));
      this.sawReplaced ||= sawReplaced;
      yield rows;
      if (rows.length < count) return;
    }
  }

  async find(key: readonly string[]): Promise<SourceRow[]> {
    return await this.#attempt(this.#helper.call("find", { ...this.#call, withinMs: ROWS_WITHIN_MS }, key));
  }

  /** It is not awaited: what it leaves open is closed by the next opening, or with the process. */
  close(): void {
    if (this.#helper.isRunning) this.#helper.call("close", { place: this.#call.place }).catch(() => {});
  }

  async #attempt<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (thrown) {
      const { missing, there } = thrown as Partial<MissingColumns>;
      if (missing !== undefined && there !== undefined) throw new MissingColumns(this.#rules, missing, there);
      const error = asError(thrown);
      throw error instanceof Unanswered ? unanswered(this.#rules, error) : error;
    }
  }
}

/**
 * Runs a SELECT, or the view behind a table, to its end before it is read: a query that never ends would stop the whole
 * program, and one that never stops giving rows would fill the disk. SQLite cannot be stopped from within the process that
 * waits for it, and a process of its own can be killed.
 * @returns how many rows the source has
 * @throws BridgeError `table_missing` where it does not end in time, or cannot be read; `database_busy`, `stopped`
 */
export async function proveSource(
  rules: SourceRules,
  { databasePath, isStopping, limitMs = PROVEN_WITHIN_MS }: SourcePlace & { limitMs?: number },
): Promise<number> {
  const { name, file } = rules;
  const place = file ?? databasePath;
  const helper = helperFor<SourceFunctions>(HELPER, place, `${name}/proof`);
  try {
    const call = { place, withinMs: limitMs, isStopping, stopWithinMs: 0 };
    return await helper.call("count", call, sourceRules(rules), databasePath);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const text = m.feeds.endless({ name, source: sourceOf(rules), seconds: limitMs / 1000 });
    throw new BridgeError("table_missing", text, { hint: m.feeds.correctQuery({ name }) });
  }
}

/** What can be sent to another process. */
function sourceRules({ name, table, query, file, columns, keys }: SourceRules): SourceRules {
  return { name, table, query, file, columns, keys };
}

/** The feed waits; its own source alone is to blame. */
function unanswered(rules: SourceRules, cause: Unanswered): BridgeError {
  return new BridgeError(
    "table_missing",
    m.feeds.sourceUnreadable({ name: rules.name, source: sourceOf(rules), why: cause.words }),
    { hint: m.feeds.sourceDiskAway, cause },
  );
}
