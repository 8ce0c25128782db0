/*
 * Moves a long write-ahead log into its database, in a process of its own: hundreds of megabytes and their flush would stop
 * the daemon's event loop. It may die at any time: a log that was moved in part is moved again.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { openFile } from "./open-file.ts";

export interface CheckpointOrder {
  step: "flush" | "move";
  file: string;
}

export type CheckpointMessage = "flushed" | "failed";

function flush(file: string): void {
  const fd = openSync(file, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function move(file: string): void {
  const db = openFile(file, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma("synchronous = FULL");
    db.pragma("wal_checkpoint(PASSIVE)");
  } finally {
    db.close();
  }
  // Another program may have moved a part of it without a flush.
  flush(file);
}

process.on("message", ({ step, file }: CheckpointOrder) => {
  try {
    if (step === "flush") {
      flush(`${file}-wal`);
      flush(file);
      process.send?.("flushed" satisfies CheckpointMessage);
      return;
    }
    move(file);
  } catch {
    process.send?.("failed" satisfies CheckpointMessage);
  }
  process.disconnect();
});
// It is not awaited any more.
process.on("disconnect", () => process.exit(0));
