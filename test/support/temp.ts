import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/**
 * A new folder for the running test (call it in the test or in a `beforeEach`), its path free of symbolic links. Removed
 * when the test has passed; kept, with its path printed, when it has failed.
 */
export function tempFolder(name = "test"): string {
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), `erp-bridge-${name}-`)));
  onTestFinished(({ task }) => {
    if (task.result?.state === "fail") console.error(`kept for inspection: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
