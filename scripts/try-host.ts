import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { checkCopies } from "./host/copies.ts";
import { checkLife } from "./host/life.ts";
import { Machine, prepareBase } from "./host/machine.ts";
import { checkPlanted } from "./host/planted.ts";
import { checkArchive, checkArrival, checkDeparture, checkShops, checkUpgrade } from "./host/stay.ts";
import { Trial } from "./host/trial.ts";

/**
 * Takes the package through its life on a Debian of its own: `npm run host -- [--base FOLDER] [--release bookworm|trixie]
 * [--mirror URL] [--keep]`. Needs root, debootstrap and systemd-container. The base tree is made once, below --base.
 */

const FORMER_VERSION = "0.0.9";
const root = path.resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    base: { type: "string", default: path.join(os.tmpdir(), "erp-bridge-host") },
    release: { type: "string", default: "bookworm" },
    mirror: { type: "string", default: "http://deb.debian.org/debian" },
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
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return path.join(out, `erp-bridge_${version}_amd64.deb`);
}

function refuseWithoutMeans(): void {
  const missing = ["debootstrap", "systemd-nspawn", "nsenter"].filter(
    (name) => spawnSync("which", [name]).status !== 0,
  );
  if (process.getuid?.() === 0 && missing.length === 0) return;
  console.error(
    `This needs root, debootstrap and systemd-container${missing.length > 0 ? `; missing: ${missing.join(", ")}` : ""}.`,
  );
  process.exit(64);
}

refuseWithoutMeans();
const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
mkdirSync(values.base, { recursive: true });
const work = mkdtempSync(path.join(values.base, "trial-"));
const packages = {
  former: build(work, FORMER_VERSION, "--deb-only"),
  present: build(work, version),
  formerVersion: FORMER_VERSION,
  version,
};
const [archive = ""] = globSync(path.join(work, "*.tar.gz"));
const machine = new Machine(prepareBase(values.base, values.release, values.mirror), path.join(work, "machine"));
const trial = new Trial(machine, packages);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void giveUp());

async function giveUp(): Promise<void> {
  await machine.cutPower();
  rmSync(work, { recursive: true, force: true });
  process.exit(130);
}

try {
  await machine.boot();
  console.log(
    `        ${machine.must(". /etc/os-release; echo $PRETTY_NAME")}, ${machine.must("systemctl --version | head -1")}`,
  );
  await checkArrival(trial);
  await checkLife(trial);
  await checkPlanted(trial);
  await checkShops(trial);
  await checkUpgrade(trial);
  await checkCopies(trial);
  await checkDeparture(trial);
  await checkArchive(trial, archive);
} catch (error) {
  trial.failures += 1;
  console.log(`FAILED  the trial itself: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  await machine.shutDown();
  if (values.keep) console.log(`        the machine is kept: ${machine.root}`);
  else rmSync(work, { recursive: true, force: true });
}
console.log(trial.failures === 0 ? "All is well." : `${trial.failures} failed.`);
process.exitCode = trial.failures === 0 ? 0 : 1;
