import { readFileSync } from "node:fs";

/** Written beside the bundle by the build: its date, in ISO 8601. */
const BUILD_FILE = new URL("../build.json", import.meta.url);
/** A Node release this old lacks security fixes. */
const MONTHS_MAX = 6;

/** By major: the first version whose Brotli decoder is safe. */
export const MENDED_IN: Readonly<Record<number, string>> = { 24: "24.22.1", 26: "26.12.1" };
export const BROTLI_ADVISORY = "CVE-2026-111497";

/** Whether this version of Node has the fix. A major that is not listed counts as not fixed. */
export function isMended(version: string): boolean {
  const floor = MENDED_IN[Number(version.split(".")[0])];
  return floor !== undefined && compareVersions(version, floor) >= 0;
}

export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** When the package was built; undefined in a checkout. */
export function loadBuildDate(file: URL = BUILD_FILE): string | undefined {
  try {
    const { date } = JSON.parse(readFileSync(file, "utf8")) as { date?: unknown };
    return typeof date === "string" && !Number.isNaN(Date.parse(date)) ? date : undefined;
  } catch {
    return undefined;
  }
}

/** Age of the package in whole months, where it is too old; else undefined. */
export function monthsTooOld(date: string, nowMs: number): number | undefined {
  const months = Math.floor((nowMs - Date.parse(date)) / (30.44 * 24 * 3_600_000));
  return months >= MONTHS_MAX ? months : undefined;
}
