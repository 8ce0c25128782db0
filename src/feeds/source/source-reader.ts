/*
 * Reads sources without triggers: a view, a SELECT or another SQLite file. A separate read-only connection reads them in one
 * statement, so in one snapshot, while the bridge's own connection can write. Nothing is cached between passes, so a
 * replaced file is read as it is now.
 */

import { realpathSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import { queryProblem, tableProblem } from "../../config/source-text.ts";
import { lookAtLog } from "../../database/file/log-rights.ts";
import { openFile } from "../../database/file/open-file.ts";
import { isBridgeDatabase } from "../../database/migrations.ts";
import { quoteName } from "../../database/quote-name.ts";
import { describePermissions, faultCodeOf, machineFaultOf } from "../../database/sqlite-errors.ts";
import { type StoredText, storedText } from "../../database/stored-text.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type SourceRules, sourceOf } from "../feed.ts";
import { bytesOf, type ColumnValue, ROW_BYTES_MAX, type SourceRow, STEP_BYTES_MAX } from "../feed-record.ts";
import { bytesInSql, exactIn, findRows, foundIn, type HowRead, listInSql, rowOf } from "./feed-source.ts";
import { checkColumns, missingTable, ownTable } from "./feed-triggers.ts";
import { readQuotedText } from "./quoted-text.ts";

/** The number of rows of a source, and the size of the largest. */
export interface Measured {
  rows: number;
  bytesMax: number;
}

export const UNMEASURED: Measured = { rows: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY };

export function areSmall({ bytesMax }: Measured): boolean {
  return bytesMax <= ROW_BYTES_MAX;
}

/** The event loop is blocked while SQLite waits for another program's lock; the next pass tries again. */
const BUSY_TIMEOUT_MS = 100;

export class SourceReader {
  readonly #db: Database.Database;
  readonly #rules: SourceRules;
  readonly #from: string;
  readonly #texts: StoredText;
  /** Whether writers of the file are blocked while it is read. */
  readonly makesWritersWait: boolean;
  /** Whether reading runs a SELECT, which may never end: see {@link proveSource}. */
  readonly mayNotEnd: boolean;
  readonly fileState: string | null;
  #sawReplaced = false;

  /** Use {@link openSource}. */
  constructor(db: Database.Database, rules: SourceRules) {
    this.#db = db;
    this.#rules = rules;
    this.fileState = rules.file === null ? null : stateOf(rules.file);
    this.#texts = storedText(db);
    this.makesWritersWait = db.pragma("journal_mode", { simple: true }) !== "wal";
    this.#from = rules.query === null ? quoteName(rules.table) : checkedQuery(db, rules.query);
    this.mayNotEnd = rules.query !== null || isView(db, rules.table);
    checkColumns(rules, this.#columns());
  }

  /** True once a text was read that may differ from the stored one: only reading `exactly` can show it. */
  get sawReplaced(): boolean {
    return this.#sawReplaced;
  }

  /** All rows, integers as bigint. */
  *rows({ exactly, areSmall = false }: HowRead): Generator<SourceRow> {
    const { columns } = this.#rules;
    const list = this.#list({ exactly, areSmall });
    const rows = this.#attempt(() => this.#select(`SELECT ${list} FROM ${this.#from}`).iterate());
    try {
      for (;;) {
        const next = this.#attempt(() => rows.next());
        if (next.done === true) return;
        const values = next.value as ColumnValue[];
        if (exactly) {
          yield rowOf(columns, exactIn(values, this.#texts));
          continue;
        }
        this.#sawReplaced ||= values.some(this.#texts.mayDiffer);
        yield rowOf(columns, foundIn(values));
      }
    } finally {
      rows.return?.();
    }
  }

  /** The same in steps of `count` rows, or of fewer that are large. */
  async *steps(how: HowRead, count: number): AsyncGenerator<SourceRow[]> {
    const rows = this.rows(how);
    for (;;) {
      const step = nextRows(rows, count);
      yield step.rows;
      if (step.isLast) return;
    }
  }

  /** Counts the rows, and evaluates every column of each. */
  measure(): Measured {
    const sql = `SELECT count(*), max(${bytesInSql(this.#rules.columns)}) FROM ${this.#from}`;
    const [rows, bytesMax] = this.#attempt(() => this.#select(sql).get() as ColumnValue[]);
    return { rows: Number(rows), bytesMax: Number(bytesMax) };
  }

  /** The rows of one key; text that a string cannot represent is a Buffer. Without a suitable index it scans the whole source. */
  find(key: readonly string[]): SourceRow[] {
    const { columns } = this.#rules;
    return this.#attempt(() =>
      findRows(this.#rules, key, ({ where, values, limit }) => {
        const sql = `SELECT ${this.#list({ exactly: true })} FROM ${this.#from} WHERE ${where} LIMIT ?`;
        const rows = this.#select(sql).all(...values, limit) as ColumnValue[][];
        return rows.map((row) => rowOf(columns, exactIn(row, this.#texts)));
      }),
    );
  }

  #list(how: HowRead): string {
    return listInSql([this.#rules.columns, this.#rules.keys], how);
  }

  close(): void {
    this.#db.close();
  }

  #select(sql: string): Database.Statement<unknown[], unknown> {
    return this.#db.prepare(sql).safeIntegers(true).raw(true);
  }

  #columns(): string[] {
    return this.#db
      .prepare(`SELECT * FROM ${this.#from} LIMIT 0`)
      .columns()
      .map(({ name }) => name);
  }

  #attempt<T>(fn: () => T): T {
    try {
      return fn();
    } catch (error) {
      throw sourceError(this.#rules, error);
    }
  }
}

/**
 * Opens the source of the feed's rows, read-only.
 * @param databasePath the bridge's own database, used where the feed names no other file
 * @throws BridgeError `table_missing` with SQLite's error text, `database_busy` where another program holds a lock on it
 */
export function openSource(rules: SourceRules, databasePath: string): SourceReader {
  let db: Database.Database | undefined;
  try {
    if (rules.file !== null) refuseSpecial(rules.file);
    db = openFile(rules.file ?? databasePath, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    db.pragma("trusted_schema = OFF");
    db.pragma("cell_size_check = ON");
    // As late as possible: SQLite makes the log at the first read, which is the next statement.
    if (rules.file !== null) refuseLog(rules.file);
    if (rules.query === null && tableProblem(rules.table, isBridgeDatabase(db)) !== null) throw ownTable(rules);
    const isThere =
      rules.query !== null ||
      db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE").get(rules.table) !== undefined;
    if (!isThere) throw missingTable(rules);
    const opened = db;
    const reader = readQuotedText(opened, () => new SourceReader(opened, rules));
    db.pragma("query_only = ON");
    // Another program may have closed the file, and removed its log, since that look.
    if (rules.file !== null) refuseLog(rules.file);
    return reader;
  } catch (error) {
    db?.close();
    throw sourceError(rules, error);
  }
}

/** The next rows, at most `count`; the step ends with the row that makes it too large. */
export function nextRows(rows: Iterator<SourceRow>, count: number): { rows: SourceRow[]; isLast: boolean } {
  const step: SourceRow[] = [];
  for (let bytes = 0; step.length < count && bytes <= STEP_BYTES_MAX; ) {
    const next = rows.next();
    if (next.done === true) return { rows: step, isLast: true };
    step.push(next.value);
    bytes += bytesOf(Object.values(next.value));
  }
  return { rows: step, isLast: false };
}

/**
 * Checks the columns of a feed's source in a database that does not exist yet. Returns false for a table that the bridge
 * does not create.
 * @throws MissingColumns
 */
export function checkNewTable(rules: SourceRules, statements: readonly string[]): boolean {
  const db = new Database(":memory:");
  try {
    for (const statement of statements) db.exec(statement);
    if (
      rules.query === null &&
      db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE").get(rules.table) === undefined
    )
      return false;
    new SourceReader(db, rules);
    return true;
  } finally {
    db.close();
  }
}

/**
 * Identity, size and time of the file and its log. They differ after each transaction that writes to the file, whether or not a value differs,
 * and where another file has taken the name.
 * SQLite writes nothing where an UPDATE sets what is there. A write in WAL mode shows in the log first; an empty log is left out,
 * because opening the file for reading makes one.
 */
function stateOf(file: string): string {
  const states = ["", "-wal"].map((suffix) => {
    const found = statSync(`${realpathSync(file)}${suffix}`, { bigint: true, throwIfNoEntry: false });
    return found === undefined || found.size === 0n ? "" : `${found.ino}:${found.size}:${found.mtimeNs}`;
  });
  return states.join(" ");
}

/** Opening a pipe would wait for its writer, and opening a device may have side effects. A missing file is reported by opening it. */
function refuseSpecial(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new SourceProblem(m.feeds.notOrdinaryFile);
}

/** Refuses to read where the log that reading makes, or has made, keeps out programs that write the file. */
function refuseLog(name: string): void {
  const file = realpathSync(name);
  const found = lookAtLog(file);
  if (found === undefined) return;
  const rights = describePermissions(file);
  throw found === "own"
    ? new SourceProblem(m.feeds.logKeepsOut({ file, rights }), m.feeds.giveLogBack({ file }))
    : new SourceProblem(m.feeds.logWouldKeepOut({ rights }), m.feeds.shareLog);
}

function isView(db: Database.Database, name: string): boolean {
  return (
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type = 'view'").get(name) !== undefined
  );
}

/** The statement in parentheses, after SQLite has verified that it is a single SELECT. */
function checkedQuery(db: Database.Database, query: string): string {
  const problem = queryProblem(query);
  if (problem !== null) throw new SourceProblem(problem);
  const statement = db.prepare(query);
  if (!statement.reader || !statement.readonly) throw new SourceProblem(m.feeds.noSelect);
  // Line ends around it, because it may end with a comment.
  return `(\n${query.trim().replace(/;\s*$/, "")}\n)`;
}

/** Attributes an SQLITE_ERROR to the feed's source: it may need a collation or a function that only the ERP has. */
export function sourceFault(rules: SourceRules, error: unknown): unknown {
  return /^SQLITE_ERROR/.test(faultCodeOf(error) ?? "") && !(error instanceof BridgeError)
    ? sourceError(rules, error)
    : error;
}

/** Why a source cannot be read. */
class SourceProblem extends Error {
  readonly text: Message;
  readonly hint: Message | undefined;

  constructor(text: Message, hint?: Message) {
    super(String(text));
    this.text = text;
    this.hint = hint;
  }
}

function sourceError(rules: SourceRules, error: unknown): BridgeError {
  if (error instanceof BridgeError) {
    if (rules.file === null || error.code !== "database_refused") return error;
    // A fault of another file concerns only the feed.
    const refused = m.feeds.sourceRefused({ name: rules.name, source: sourceOf(rules), why: error.text });
    return new BridgeError("table_missing", refused, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  }
  const fault = faultCodeOf(error) ?? "";
  const source = sourceOf(rules);
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(fault)) {
    return new BridgeError("database_busy", m.feeds.sourceLocked({ name: rules.name, source }), {
      hint: m.feeds.keepTransactionsShort,
      cause: error,
    });
  }
  // A fault of the bridge's own file does not concern only the feed.
  const machine = rules.file === null ? machineFaultOf(error, m.feeds.readingSource({ source })) : undefined;
  if (machine !== undefined) return machine;
  if (fault === "SQLITE_READONLY_ROLLBACK") {
    const why = m.feeds.writerInterrupted;
    return new BridgeError("table_missing", m.feeds.sourceUnreadable({ name: rules.name, source, why }), {
      hint: m.feeds.letWriterOpen,
      cause: error,
    });
  }
  const words = error instanceof Error ? error.message : String(error);
  const problem = error instanceof SourceProblem ? error : undefined;
  const isOwnFault = rules.file === null || fault === "SQLITE_ERROR" || problem !== undefined;
  const hint = isOwnFault ? m.feeds.correctFeed({ name: rules.name }) : m.feeds.grantReading({ name: rules.name });
  const why = problem?.text ?? m.common.foreign({ text: words });
  return new BridgeError("table_missing", m.feeds.sourceUnreadable({ name: rules.name, source, why }), {
    hint: problem?.hint ?? hint,
    cause: error,
  });
}
