/*
 * The program that runs a feed's SELECT to its end, in a process of its own: SQLite cannot be stopped from within the
 * process that waits for it, and a process can be killed. It evaluates every column of every row, keeps nothing and says
 * how many rows there are.
 */
import { asError } from "../platform/errors.ts";
import type { SourceRules } from "./feed.ts";
import { openSource } from "./source-reader.ts";

export interface SourceOrder {
  rules: SourceRules;
  databasePath: string;
}

export type SourceMessage =
  | { kind: "rows"; rows: number }
  | { kind: "failed"; code: string; message: string; hint: string | undefined };

function run({ rules, databasePath }: SourceOrder): SourceMessage {
  try {
    const reader = openSource(rules, databasePath);
    try {
      return { kind: "rows", rows: reader.countRows() };
    } finally {
      reader.close();
    }
  } catch (error) {
    const { code, message, hint } = asError(error);
    return { kind: "failed", code, message, hint: hint?.toString() };
  }
}

process.on("disconnect", () => process.exit(1));
process.once("message", (order: SourceOrder) => process.send?.(run(order), () => process.disconnect()));
