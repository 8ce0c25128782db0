/*
 * Takes the package through its life on a Debian of its own: `npm run campaign:host -- [--base FOLDER] [--release bookworm|trixie]
 * [--mirror URL] [--only PART,…] [--keep]`. Needs root, debootstrap, systemd-container, apt-utils and gpg. The base tree is made
 * once, below --base. With --only the arrival and the named parts are tried.
 */

import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { checkCopies } from "./host/copies.ts";
import { checkLife } from "./host/life.ts";
import { Machine, prepareBase } from "./host/machine.ts";
import { checkInstances, checkOperations } from "./host/operate.ts";
import { checkPlanted } from "./host/planted.ts";
import { checkArchive, checkArrival, checkDeparture, checkRepository, checkShops, checkUpgrade } from "./host/stay.ts";
import { Trial } from "./host/trial.ts";

const FORMER_VERSION = "0.0.9";
const SIGNER = "trial@host.example";
const root = path.resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    base: { type: "string", default: path.join(os.tmpdir(), "erp-bridge-host") },
    release: { type: "string", default: "bookworm" },
    mirror: { type: "string", default: "http://deb.debian.org/debian" },
    only: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});

function build(out: string, version: string, ...more: string[]): string {
  const args = [
    path.join(root, "scripts/package.ts"),
    "--out",
    out,
    "--version",
    version,
    "--compress",
    "none",
    "--maintainer",
    "Trial <trial@host.example>",
    ...more,
  ];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(stderr);
  return path.join(out, `erp-bridge_${version}_amd64.deb`);
}

/** A key that lives as long as this trial. */
function makeKey(): void {
  mkdirSync(env.GNUPGHOME, { mode: 0o700 });
  const args = ["--batch", "--passphrase", "", "--quick-generate-key", SIGNER, "ed25519", "sign", "never"];
  const { status, stderr } = spawnSync("gpg", args, { encoding: "utf8", env });
  if (status !== 0) throw new Error(stderr);
}

/** The parts in their order; each leaves the service running as it was found. */
const PARTS: Record<string, () => Promise<void>> = {
  life: () => checkLife(trial),
  operations: () => checkOperations(trial),
  planted: () => checkPlanted(trial),
  shops: () => checkShops(trial),
  instances: () => checkInstances(trial),
  upgrade: () => checkUpgrade(trial),
  copies: () => checkCopies(trial),
  departure: () => checkDeparture(trial),
  repository: () => checkRepository(trial, repository),
  archive: () => checkArchive(trial, archive),
};

function partsToTry(): string[] {
  const parts = values.only?.split(",") ?? Object.keys(PARTS);
  const unknown = parts.filter((part) => !(part in PARTS));
  if (unknown.length === 0) return parts;
  console.error(`There is no part ${unknown.join(", ")}. Known: ${Object.keys(PARTS).join(", ")}`);
  process.exit(64);
}

function refuseWithoutMeans(): void {
  const missing = ["debootstrap", "systemd-nspawn", "nsenter", "apt-ftparchive", "gpg"].filter(
    (name) => spawnSync("which", [name]).status !== 0,
  );
  if (process.getuid?.() === 0 && missing.length === 0) return;
  console.error(
    `This needs root, debootstrap, systemd-container, apt-utils and gpg${missing.length > 0 ? `; missing: ${missing.join(", ")}` : ""}.`,
  );
  process.exit(64);
}

const parts = partsToTry();
refuseWithoutMeans();
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
mkdirSync(values.base, { recursive: true });
const work = mkdtempSync(path.join(values.base, "trial-"));
const repository = path.join(work, "apt");
const env = { ...process.env, GNUPGHOME: path.join(work, "gnupg") };
makeKey();
const packages = {
  former: build(work, FORMER_VERSION, "--deb-only"),
  present: build(work, version, "--repository", repository, "--sign", SIGNER),
  formerVersion: FORMER_VERSION,
  version,
};
const [archive = ""] = globSync(path.join(work, "*.tar.gz"));
const machine = new Machine(prepareBase(values.base, values.release, values.mirror), path.join(work, "machine"));
const trial = new Trial(machine, packages);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void giveUp());

/** gpg starts one for its folder, and nobody else would end it. */
function endKeyAgent(): void {
  spawnSync("gpgconf", ["--kill", "all"], { env });
}

async function giveUp(): Promise<void> {
  await machine.cutPower();
  endKeyAgent();
  rmSync(work, { recursive: true, force: true });
  process.exit(130);
}

try {
  await machine.boot();
  console.log(
    `        ${machine.must(". /etc/os-release; echo $PRETTY_NAME")}, ${machine.must("systemctl --version | head -1")}`,
  );
  await checkArrival(trial);
  for (const part of parts) await PARTS[part]?.();
} catch (error) {
  trial.failures += 1;
  console.log(`FAILED  the trial itself: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  await machine.shutDown();
  endKeyAgent();
  if (values.keep) console.log(`        the machine is kept: ${machine.root}`);
  else rmSync(work, { recursive: true, force: true });
}
console.log(trial.failures === 0 ? "All is well." : `${trial.failures} failed.`);
process.exitCode = trial.failures === 0 ? 0 : 1;
