import path from "node:path";
import { defineConfig } from "vitest/config";

/** For tests that need no installed program: to make one takes longer than they do. */
export default defineConfig({
  root: path.join(import.meta.dirname, "../.."),
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["scripts/bugs/set-up-tests.ts"],
    maxWorkers: 1,
    // As for `npm test`: a machine that is busy is no bug that was found.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
