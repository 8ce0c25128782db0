import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmSync, statfsSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/**
 * A new folder for the running test (call it in the test or in a `beforeEach`), its path free of symbolic links. Removed
 * when the test has passed; kept, with its path printed, when it has failed.
 */
export function tempFolder(name = "test", root = os.tmpdir()): string {
  const folder = realpathSync(mkdtempSync(path.join(root, `erp-bridge-${name}-`)));
  onTestFinished(({ task }) => {
    if (task.result?.state === "fail") console.error(`kept for inspection: ${folder}`);
    // A killed program's child may still be writing its last file.
    else rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return folder;
}

const IN_MEMORY = "/dev/shm";
/** Another file system than the one of temporary folders, where the machine has one. */
export const OTHER_DISK = IN_MEMORY;
export const HAS_OTHER_DISK = existsSync(OTHER_DISK) && statSync(OTHER_DISK).dev !== statSync(os.tmpdir()).dev;
/** A container may have 64 MB there, which a large table fills. */
const ROOM_MIN_BYTES = 1024 ** 3;

/**
 * The same in memory where the machine has room for it, for databases that no process is killed over: there SQLite
 * flushes as it always does, and nobody waits for a disk.
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
