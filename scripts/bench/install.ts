import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");
const ROLLDOWN = path.join(root, "node_modules", ".bin", "rolldown");

/** One file of everything that `entry` imports, but for the native module, which is linked beside it. */
export function bundle(entry: string, file: string): void {
  const options = ["-f", "esm", "-p", "node", "--external", "better-sqlite3", "-o", file, "--no-codeSplitting"];
  execFileSync(ROLLDOWN, [path.join(root, entry), ...options], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}

/** The program as it is installed. Gives the launcher's path. */
export function installProgram(folder: string): string {
  mkdirSync(path.join(folder, "node_modules"), { recursive: true });
  symlinkSync(path.join(root, "node_modules/better-sqlite3"), path.join(folder, "node_modules/better-sqlite3"));
  for (const part of ["drizzle", "bin"]) cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  bundle("src/main.ts", path.join(folder, "dist/erp-bridge.mjs"));
  return path.join(folder, "bin/erp-bridge.mjs");
}
