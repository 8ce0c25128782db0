/*
 * Builds the Debian package and the tarball: `npm run release:package -- [--out FOLDER] [--version VERSION] [--compress xz|gzip|none]
 * [--arch amd64|arm64] [--maintainer "NAME <ADDRESS>"] [--repository FOLDER [--sign KEY]] [--deb-only]`. The maintainer also comes
 * from DEBFULLNAME and DEBEMAIL. The same commit gives the same files, byte for byte, with the same dpkg and tar.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { compareVersions } from "../src/platform/runtime.ts";
import { type Compression, writeDeb, writeTarball } from "./package/archives.ts";
import { readMaintainer } from "./package/maintainer.ts";
import { publish } from "./package/repository.ts";
import {
  ARCHITECTURES,
  type Architecture,
  architectureOf,
  findRuntime,
  GLIBC_MAX,
  newestGlibc,
  warnOfRuntime,
} from "./package/runtime.ts";
import { writeTree } from "./package/tree.ts";

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
    arch: { type: "string", default: "amd64" },
    maintainer: { type: "string" },
    repository: { type: "string" },
    sign: { type: "string" },
  },
});

/** The date of everything: the last commit's, so that a build can be repeated. */
function buildDate(): number {
  const given = process.env["SOURCE_DATE_EPOCH"];
  if (given !== undefined) return Number(given);
  const { stdout } = spawnSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  return Number(stdout.trim()) || Math.floor(Date.now() / 1000);
}

/** Whoever installs the package must be able to ask somebody. */
function maintainer(): string {
  const named = readMaintainer(values.maintainer, process.env);
  return (
    named ?? refuse('Name who answers for the package: --maintainer "NAME <ADDRESS>", or DEBFULLNAME and DEBEMAIL.')
  );
}

function architecture(): Architecture {
  if (values.arch in ARCHITECTURES) return values.arch as Architecture;
  return refuse(`There is no architecture ${values.arch}. Known: ${Object.keys(ARCHITECTURES).join(", ")}`);
}

function refuse(why: string): never {
  console.error(why);
  process.exit(64);
}

function lookAtRuntime(arch: Architecture): void {
  const { version, program } = findRuntime(root, arch);
  console.log(`The package carries Node ${version}.`);
  const warning = warnOfRuntime(version);
  if (warning !== null) console.warn(`Warning: ${warning}`);
  const native = path.join(root, `node_modules/better-sqlite3/prebuilds/linux-${ARCHITECTURES[arch].npm}.node`);
  for (const file of [program, native]) {
    if (architectureOf(file) !== arch) throw new Error(`${file} is not for ${arch}.`);
    const glibc = newestGlibc(file);
    if (compareVersions(glibc, GLIBC_MAX) > 0)
      throw new Error(`${file} needs glibc ${glibc}, the package promises ${GLIBC_MAX}.`);
  }
}

function tell(file: string): void {
  console.log(`${path.relative(process.cwd(), file)}  ${(statSync(file).size / 1024 / 1024).toFixed(1)} MB`);
}

const [arch, answering] = [architecture(), maintainer()];
lookAtRuntime(arch);
const folder = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-package-"));
try {
  const options = { root, folder, version: values.version, epoch: buildDate(), arch, maintainer: answering };
  await writeTree(options);
  if (!existsSync(values.out)) mkdirSync(values.out, { recursive: true });
  const deb = writeDeb(options, values.out, values.compress as Compression);
  tell(deb);
  if (values.repository !== undefined) {
    const key = values.sign ?? null;
    publish({ folder: path.resolve(values.repository), deb, arch, key, epoch: options.epoch });
    console.log(
      `${values.repository} ${key === null ? "is not signed: only for trying it out" : `is signed with ${key}`}`,
    );
  }
  if (!values["deb-only"]) tell(writeTarball(options, values.out));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
