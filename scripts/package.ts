import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type Compression, writeDeb, writeTarball } from "./package/archives.ts";
import { compareVersions, findRuntime, GLIBC_MAX, newestGlibc, warnOfRuntime } from "./package/runtime.ts";
import { writeTree } from "./package/tree.ts";

/**
 * Builds the Debian package and the tarball: `npm run package -- [--out FOLDER] [--version VERSION] [--compress xz|gzip|none]
 * [--deb-only]`. The same commit gives the same files, byte for byte, with the same dpkg and tar.
 */

const root = path.resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    out: { type: "string", default: path.join(root, "dist") },
    version: {
      type: "string",
      default: (JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string }).version,
    },
    compress: { type: "string", default: "xz" },
    "deb-only": { type: "boolean", default: false },
  },
});

/** The date of everything: the last commit's, so that a build can be repeated. */
function buildDate(): number {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined) return Number(given);
  const { stdout } = spawnSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  return Number(stdout.trim()) || Math.floor(Date.now() / 1000);
}

function lookAtRuntime(): void {
  const { version, program } = findRuntime(root);
  console.log(`The package carries Node ${version}.`);
  const warning = warnOfRuntime(version);
  if (warning !== null) console.warn(`Warning: ${warning}`);
  const native = path.join(root, "node_modules/better-sqlite3/prebuilds/linux-x64.node");
  for (const file of [program, native]) {
    const glibc = newestGlibc(file);
    if (compareVersions(glibc, GLIBC_MAX) > 0)
      throw new Error(`${file} needs glibc ${glibc}, the package promises ${GLIBC_MAX}.`);
  }
}

function tell(file: string): void {
  console.log(`${path.relative(process.cwd(), file)}  ${(statSync(file).size / 1024 / 1024).toFixed(1)} MB`);
}

lookAtRuntime();
const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-package-"));
try {
  const options = { root, folder, version: values.version, epoch: buildDate() };
  await writeTree(options);
  if (!existsSync(values.out)) mkdirSync(values.out, { recursive: true });
  tell(writeDeb(options, values.out, values.compress as Compression));
  if (!values["deb-only"]) tell(writeTarball(options, values.out));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
