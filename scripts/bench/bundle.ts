import { execFileSync } from "node:child_process";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");
const ROLLDOWN = path.join(root, "node_modules", ".bin", "rolldown");

/** One file of everything that `entry` imports, but for the native module, which is linked beside it. */
export function bundle(entry: string, file: string): void {
  const options = ["-f", "esm", "-p", "node", "--external", "better-sqlite3", "-o", file, "--no-codeSplitting"];
  execFileSync(ROLLDOWN, [path.join(root, entry), ...options], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}
