import { defineConfig } from "rolldown";

// The native module loads its prebuilt binary from its own package folder, so it stays outside the bundle.
const common = { platform: "node" as const, external: ["better-sqlite3"] };
const output = { format: "esm", codeSplitting: false, minify: false } as const;

export default defineConfig([
  { ...common, input: "src/main.ts", output: { ...output, file: "dist/erp-bridge.mjs" } },
  // Copies a database in a process of its own; it is looked for beside the program.
  { ...common, input: "src/backup/copy-child.ts", output: { ...output, file: "dist/copy-child.mjs" } },
]);
