/*
 * Reads the rows of a file other than the bridge's own, in a child process that {@link FileRows} calls. One reading at a
 * time; a reading left open is closed by the next.
 */
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { type HelperCall, serveCalls } from "../../platform/helper-process.ts";
import type { SourceRules } from "../feed.ts";
import type { SourceRow } from "../feed-record.ts";
import type { HowRead } from "./feed-source.ts";
import { type Measured, nextRows, openSource, type SourceReader } from "./source-reader.ts";

let reader: SourceReader | undefined;
let rows: Iterator<SourceRow> | undefined;

const functions = {
  open(_call: HelperCall, rules: SourceRules): Pick<SourceReader, "makesWritersWait" | "mayNotEnd" | "fileState"> {
    functions.close();
    reader = openSource(rules, "");
    const { makesWritersWait, mayNotEnd, fileState } = reader;
    return { makesWritersWait, mayNotEnd, fileState };
  },
  /** Runs the statement to its end and evaluates every column of every row. */
  measure(_call: HelperCall, rules: SourceRules, databasePath: string): Measured {
    functions.close();
    reader = openSource(rules, databasePath);
    try {
      return reader.measure();
    } finally {
      functions.close();
    }
  },
  /** Restarts at the first row. */
  begin(_call: HelperCall, how: HowRead): void {
    rows?.return?.();
    rows = opened().rows(how);
  },
  /** The next rows, at most `count`. */
  next(_call: HelperCall, count: number): { rows: SourceRow[]; isLast: boolean; sawReplaced: boolean } {
    const step = rows === undefined ? { rows: [], isLast: true } : nextRows(rows, count);
    return { ...step, sawReplaced: opened().sawReplaced };
  },
  find(_call: HelperCall, key: readonly string[]): SourceRow[] {
    return opened().find(key);
  },
  close(): void {
    rows?.return?.();
    reader?.close();
    [rows, reader] = [undefined, undefined];
  },
};

export type SourceFunctions = typeof functions;

function opened(): SourceReader {
  if (reader === undefined) throw new BridgeError("internal", m.feeds.noOpenSource);
  return reader;
}

serveCalls(functions);
