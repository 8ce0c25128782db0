import path from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // As the sources import them; tests import the real ones.
    alias: [
      {
        find: /^(\.\.?\/)+(platform\/)?child-program\.ts$/,
        replacement: path.resolve("test/support/child-program.ts"),
      },
      { find: /^(\.\.\/)+platform\/helper-process\.ts$/, replacement: path.resolve("test/support/helper-process.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/set-up.ts"],
    setupFiles: ["test/support/properties.ts", "src/backup/backup-helper.ts"],
    // Each file works on its own temporary folders and ports. One worker more than the smallest CI machine has cores, because some
    // wait for programs and disks.
    pool: "forks",
    maxWorkers: 3,
    isolate: false,
    // A machine that is busy with other things makes each test slow; what hangs is told all the same.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
