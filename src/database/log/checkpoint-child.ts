/*
 * Checkpoints a long write-ahead log in a separate process: hundreds of megabytes and their fsync would block the
 * daemon's event loop. It may be killed at any time: a partial checkpoint is repeated.
 */
import { closeSync, fsyncSync, openSync } from "node:fs";
import { openFile } from "../file/open-file.ts";

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
  // Another program may have checkpointed a part without an fsync.
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
// The daemon has ended or no longer waits.
process.on("disconnect", () => process.exit(0));
