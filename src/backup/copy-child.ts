/*
 * The program that copies a database, in a process of its own: reading and checking gigabytes, and the flush at the end,
 * would stop the daemon's event loop for seconds. It copies one moment: the read transaction that it holds excludes
 * later writes, and no writer waits for it. It never writes to the database. When it or its parent process is killed,
 * an unfinished copy is left under its provisional name, which is no copy and is removed next time.
 */
import { closeSync, fsyncSync, openSync, statSync } from "node:fs";
import { setPriority } from "node:os";
import { openFile } from "../database/open-file.ts";
import { type Verified, verifyTables } from "../database/verify-tables.ts";

export interface CopyOrder {
  source: string;
  /** Provisional name of the copy; it does not exist yet. */
  partial: string;
  /** Noted in the copy as its time: a moment before the one that it shows. UTC, ISO 8601. */
  copiedAt: string;
}

export type CopyMessage =
  | { kind: "progress"; step: "copying" | "verifying"; done: number; total: number }
  | ({ kind: "done"; bytes: number } & Named)
  | { kind: "failed"; fault: string | undefined; message: string; found: string | undefined };

/** 4 MB a step: long enough to be quick, short enough for a progress that moves. */
const PAGES_PER_STEP = 1024;
/** The daemon and the ERP go first. */
const NICE = 10;
/** Opening may meet the ERP's short exclusive lock. */
const BUSY_TIMEOUT_MS = 5_000;
const PROBLEMS_MAX = 5;

/** What of the ERP's could not be checked, and what SQLite says of it: see `verify-tables.ts`. */
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

/** Makes it one file that needs nothing beside it, notes when it was made, and reads all of it. */
function seal({ partial, copiedAt }: CopyOrder): Named & { found: string | undefined } {
  const db = openFile(partial, { fileMustExist: true });
  try {
    db.pragma("journal_mode = DELETE");
    db.pragma("foreign_keys = OFF"); // one that the ERP keeps to `meta` would refuse the next statement
    db.prepare(
      "INSERT INTO meta (key, value) VALUES ('copied_at', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    ).run(copiedAt);
    const { problems, skipped, erpComplaints } = verifyTables(db, "integrity_check", PROBLEMS_MAX);
    return { found: problems.length === 0 ? undefined : problems.join("; "), skipped, erpComplaints };
  } finally {
    db.close();
  }
}

function goLast(): void {
  try {
    setPriority(NICE);
  } catch {
    // Not allowed here: it copies at the same priority.
  }
}

async function main(order: CopyOrder): Promise<void> {
  try {
    goLast();
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

// The copy is not awaited any more.
process.on("disconnect", () => process.exit(1));
process.once("message", (order: CopyOrder) => void main(order).finally(() => process.disconnect()));
