import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmSync, statfsSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/**
 * A new folder for the running test (call it in the test or in a `beforeEach`), with a path free of symbolic links.
 * Removed after the test, but kept where it failed, and its path printed.
 */
export function tempFolder(name = "test", root = os.tmpdir()): string {
  const folder = realpathSync(mkdtempSync(path.join(root, `erp-bridge-${name}-`)));
  onTestFinished(({ task }) => {
    if (task.result?.state === "fail") console.error(`kept for inspection: ${folder}`);
    // A child of a killed program may still be writing its last file.
    else rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return folder;
}

const IN_MEMORY = "/dev/shm";
/** Another file system than that of temporary folders, where the machine has one. */
export const OTHER_DISK = IN_MEMORY;
export const HAS_OTHER_DISK = existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync(os.tmpdir()).dev;
/** A container may have only 64 MB there, too little for a large table. */
const ROOM_MIN_BYTES = 1024 ** 3;

/**
 * A temporary folder in memory where there is enough, for databases of tests that kill no process: SQLite flushes as
 * usual, but without waiting for a disk.
 */
export function memoryFolder(): string {
  return hasRoomInMemory() ? tempFolder("test", IN_MEMORY) : tempFolder();
}

function hasRoomInMemory(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= ROOM_MIN_BYTES;
  } catch {
    return false;
  }
}
