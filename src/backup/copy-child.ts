/*
 * The program that copies a database, in a process of its own: reading and checking gigabytes, and the final flush,
 * would block the daemon's event loop for seconds. The copy is a snapshot: its read transaction excludes later writes
 * and makes no writer wait. Never writes to the database. If this process or its parent is killed, an unfinished copy
 * stays under its temporary name; the next copy removes it.
 */
import { closeSync, fsyncSync, openSync, statSync } from "node:fs";
import { setPriority } from "node:os";
import { openFile } from "../database/file/open-file.ts";
import { type Verified, verifyTables } from "../database/objects/verify-tables.ts";

export interface CopyOrder {
  source: string;
  /** Temporary name of the copy; does not exist yet. */
  partial: string;
  /** Stored in the copy as its time, which is just before the snapshot. UTC, ISO 8601. */
  copiedAt: string;
}

export type CopyMessage =
  | { kind: "progress"; step: "copying" | "verifying"; done: number; total: number }
  | ({ kind: "done"; bytes: number } & Named)
  | { kind: "failed"; fault: string | undefined; message: string; found: string | undefined };

/** 4 MB per step: large enough to be quick, small enough for regular progress. */
const PAGES_PER_STEP = 1024;
/** Lower priority than the daemon and the ERP. */
const NICE = 10;
/** Opening may wait for a short exclusive lock of the ERP. */
const BUSY_TIMEOUT_MS = 5_000;
const PROBLEMS_MAX = 5;

/** Objects of the ERP's that could not be checked, and SQLite's complaints about them: see `verify-tables.ts`. */
export type Named = Pick<Verified, "skipped" | "erpComplaints">;

const send = (message: CopyMessage) => void process.send?.(message);

async function copy({ source, partial }: CopyOrder): Promise<void> {
  const db = openFile(source, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM sqlite_schema").get(); // from here on this connection reads one snapshot
    await db.backup(partial, {
      progress: ({ totalPages, remainingPages }) => {
        send({ kind: "progress", step: "copying", done: totalPages - remainingPages, total: totalPages });
        return PAGES_PER_STEP;
      },
    });
  } finally {
    db.close();
  }
}

/** Turns the copy into a single file, records its time, and verifies all of it. */
function seal({ partial, copiedAt }: CopyOrder): Named & { found: string | undefined } {
  const db = openFile(partial, { fileMustExist: true });
  try {
    db.pragma("journal_mode = DELETE");
    db.pragma("foreign_keys = OFF"); // a foreign key of the ERP's to `meta` would make the next statement fail
    db.prepare(
      "INSERT INTO meta (key, value) VALUES ('copied_at', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    ).run(copiedAt);
    const { problems, skipped, erpComplaints } = verifyTables(db, "integrity_check", PROBLEMS_MAX);
    return { found: problems.length === 0 ? undefined : problems.join("; "), skipped, erpComplaints };
  } finally {
    db.close();
  }
}

function lowerPriority(): void {
  try {
    setPriority(NICE);
  } catch {
    // Not permitted: it copies at normal priority.
  }
}

async function main(order: CopyOrder): Promise<void> {
  try {
    lowerPriority();
    await copy(order);
    send({ kind: "progress", step: "verifying", done: 0, total: 1 });
    const { found, ...named } = seal(order);
    if (found !== undefined) {
      send({ kind: "failed", fault: undefined, message: found, found });
      return;
    }
    const fd = openSync(order.partial, "r");
    fsyncSync(fd);
    closeSync(fd);
    send({ kind: "done", bytes: statSync(order.partial).size, ...named });
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    send({ kind: "failed", fault: code, message: String(message), found: undefined });
  }
}

// The parent has stopped waiting.
process.on("disconnect", () => process.exit(1));
process.once("message", (order: CopyOrder) => void main(order).finally(() => process.disconnect()));
