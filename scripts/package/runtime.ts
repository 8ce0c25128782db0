import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { BROTLI_ADVISORY, compareVersions, isMended, MENDED_IN } from "../../src/platform/runtime.ts";

/** Debian's name of an architecture, npm's, and the machine's number in the header of its programs (ELF). */
export const ARCHITECTURES = {
  amd64: { npm: "x64", uname: "x86_64", elf: 62 },
  arm64: { npm: "arm64", uname: "aarch64", elf: 183 },
} as const;
export type Architecture = keyof typeof ARCHITECTURES;

/** What the packaged native parts may ask of the machine: Debian 12, Ubuntu 22.04 and newer. */
export const GLIBC_MAX = "2.34";

export interface Runtime {
  /** The `node` program that goes into the package. */
  program: string;
  version: string;
  licence: string;
}

/**
 * The Node that the project's own optional dependency carries: pinned, locked by its hash, without install scripts. That of
 * another architecture is not installed here, and is fetched into `cache` as the lockfile names it.
 */
export function findRuntime(root: string, arch: Architecture = "amd64", cache = path.join(root, "dist")): Runtime {
  const name = `node-linux-${ARCHITECTURES[arch].npm}`;
  const installed = path.join(root, "node_modules", name);
  const folder = existsSync(installed) ? installed : fetchRuntime(root, name, cache);
  const { version } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as { version: string };
  return { program: path.join(folder, "bin", "node"), version, licence: path.join(folder, "LICENSE") };
}

/** @throws Error where what came is not what the lockfile names. */
function fetchRuntime(root: string, name: string, cache: string): string {
  const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`The lockfile names no ${name}.`);
  const folder = path.join(cache, `${name}-${locked.version}`);
  if (existsSync(path.join(folder, "package.json"))) return folder;
  mkdirSync(folder, { recursive: true });
  run("npm", ["pack", "--silent", "--pack-destination", cache, `${name}@${locked.version}`], root);
  const archive = path.join(cache, `${name}-${locked.version}.tgz`);
  const sum = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (sum !== locked.integrity) throw new Error(`${archive} is not what the lockfile names.`);
  run("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"], root);
  return folder;
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}

/** The architecture that a program or library is for, by its header; undefined for another one. */
export function architectureOf(file: string): Architecture | undefined {
  const header = readFileSync(file).subarray(0, 20);
  const machine = header.subarray(0, 4).toString("latin1") === "\x7fELF" ? header.readUInt16LE(18) : 0;
  const names = Object.keys(ARCHITECTURES) as Architecture[];
  return names.find((name) => ARCHITECTURES[name].elf === machine);
}

function mendedIn(version: string): string {
  return MENDED_IN[Number(version.split(".")[0])] ?? Object.values(MENDED_IN).join(" or ");
}

/** What is known against a Node of this version, in the form of an advisory; empty where nothing is. */
export function knownVulnerabilities(version: string): { id: string; mendedIn: string }[] {
  if (isMended(version)) return [];
  return [{ id: BROTLI_ADVISORY, mendedIn: mendedIn(version) }];
}

/** A word of warning where the runtime is older than it should be; null where it is not. */
export function warnOfRuntime(version: string): string | null {
  if (isMended(version)) return null;
  const wanted = mendedIn(version);
  return (
    `Node ${version} is older than ${wanted}, which mends ${BROTLI_ADVISORY} (Brotli decoder). ` +
    "The bridge asks for answers without compression, refuses all others and never decodes Brotli."
  );
}

/** The newest glibc symbol version that a program or library names. */
export function newestGlibc(file: string): string {
  const names = readFileSync(file)
    .toString("latin1")
    .matchAll(/GLIBC_(\d+\.\d+(?:\.\d+)?)/g);
  const versions = new Set(Array.from(names, (match) => match[1] ?? "0.0"));
  return [...versions].sort(compareVersions).at(-1) ?? "0.0";
}
