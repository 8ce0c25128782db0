import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/set-up.ts"],
    // Each file works on its own temporary folders and ports; two workers are what the smallest CI machine has.
    pool: "forks",
    maxWorkers: 2,
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
