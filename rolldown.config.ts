import { defineConfig } from "rolldown";

export default defineConfig({
  input: "src/main.ts",
  platform: "node",
  // The native module loads its prebuilt binary from its own package folder, so it stays outside the bundle.
  external: ["better-sqlite3"],
  output: { file: "dist/erp-bridge.mjs", format: "esm", codeSplitting: false, minify: false },
});
