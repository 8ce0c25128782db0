/*
 * Reads sources without triggers in steps. Another file is read by a child process, because it may be on a disk that does
 * not respond.
 */
import { m } from "../../messages/messages.ts";
import { childProgram } from "../../platform/child-program.ts";
import { asError, BridgeError } from "../../platform/errors.ts";
import { type HelperOptions, helperFor, Unanswered } from "../../platform/helper-process.ts";
import { type SourceRules, sourceOf } from "../feed.ts";
import type { SourceRow } from "../feed-record.ts";
import type { HowRead } from "./feed-source.ts";
import { MissingColumns } from "./feed-triggers.ts";
import type { SourceFunctions } from "./source-helper.ts";
import { type Measured, openSource } from "./source-reader.ts";

/** In the same folder as this file, both in the sources and in the bundle. */
const HELPER = childProgram("source-helper", import.meta.url);
/** A query that takes longer would not end before the next pass either. */
const PROVEN_WITHIN_MS = 60_000;
/** Limit for a step: the first row may take long, but the whole statement has completed within this time before. */
const ROWS_WITHIN_MS = 60_000;

export interface SourceRows {
  /** Whether writers of the file are blocked while it is read. */
  readonly makesWritersWait: boolean;
  /** Whether reading runs a SELECT, which may never end. */
  readonly mayNotEnd: boolean;
  /** State of the file when it was opened, another one after each write; null where it is the bridge's own database. */
  readonly fileState: string | null;
  /** True once a text was read that may differ from the stored one: only reading `exactly` can show it. */
  readonly sawReplaced: boolean;
  /** All rows in steps of `count`, or of fewer that are large. */
  steps(how: HowRead, count: number): AsyncIterable<SourceRow[]>;
  /** The rows of one key, at most two. */
  find(key: readonly string[]): Promise<SourceRow[]> | SourceRow[];
  close(): void;
}

export interface SourcePlace {
  /** The bridge's own database, used where the feed names no other file. */
  databasePath: string;
  isStopping: () => boolean;
}

/** @throws BridgeError `table_missing`, also where the disk does not respond; `database_busy`, `stopped` */
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
  fileState: string | null = null;
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
    this.fileState = opened.fileState;
  }

  async *steps(how: HowRead, count: number): AsyncGenerator<SourceRow[]> {
    await this.#attempt(this.#helper.call("begin", this.#call, how));
    for (;;) {
      const call = { ...this.#call, withinMs: ROWS_WITHIN_MS };
      const { rows, isLast, sawReplaced } = await this.#attempt(this.#helper.call("next", call, count));
      this.sawReplaced ||= sawReplaced;
      yield rows;
      if (isLast) return;
    }
  }

  async find(key: readonly string[]): Promise<SourceRow[]> {
    return await this.#attempt(this.#helper.call("find", { ...this.#call, withinMs: ROWS_WITHIN_MS }, key));
  }

  /** Not awaited: the next opening or the end of the process closes the reading in any case. */
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
 * Runs a SELECT or view to its end before it is read: a query that never ends would block the whole program, and one that
 * returns rows without end would fill the disk. A blocking SQLite call cannot be interrupted from its own process, but a
 * child process can be killed.
 * @throws BridgeError `table_missing` where it does not end in time, or cannot be read; `database_busy`, `stopped`
 */
export async function proveSource(
  rules: SourceRules,
  { databasePath, isStopping, limitMs = PROVEN_WITHIN_MS }: SourcePlace & { limitMs?: number },
): Promise<Measured> {
  const { name, file } = rules;
  const place = file ?? databasePath;
  const helper = helperFor<SourceFunctions>(HELPER, place, `${name}/proof`);
  try {
    const call = { place, withinMs: limitMs, isStopping, stopWithinMs: 0 };
    return await helper.call("measure", call, sourceRules(rules), databasePath);
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    const text = m.feeds.endless({ name, source: sourceOf(rules), seconds: limitMs / 1000 });
    throw new BridgeError("table_missing", text, { hint: m.feeds.correctQuery({ name }) });
  }
}

/** The part of the rules that can be sent to another process. */
function sourceRules({ name, table, query, file, columns, keys }: SourceRules): SourceRules {
  return { name, table, query, file, columns, keys };
}

/** The error for a source that does not respond; it concerns only the feed. */
function unanswered(rules: SourceRules, cause: Unanswered): BridgeError {
  return new BridgeError(
    "table_missing",
    m.feeds.sourceUnreadable({ name: rules.name, source: sourceOf(rules), why: cause.words }),
    { hint: m.feeds.sourceDiskAway, cause },
  );
}
