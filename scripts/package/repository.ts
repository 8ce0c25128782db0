import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

const SUITE = "stable";
const COMPONENT = "main";

export interface RepositoryOptions {
  /** The repository's folder: what a web server serves. Packages that are there already stay. */
  folder: string;
  deb: string;
  arch: string;
  /** The key that signs it, as gpg knows it; null: unsigned, for trying it out only. */
  key: string | null;
  epoch: number;
}

/** Puts a package into an apt repository, and writes and signs its lists anew. Needs apt-ftparchive (apt-utils) and gpg. */
export function publish({ folder, deb, arch, key, epoch }: RepositoryOptions): void {
  const pool = path.join("pool", COMPONENT, "e", "erp-bridge");
  mkdirSync(path.join(folder, pool), { recursive: true });
  copyFileSync(deb, path.join(folder, pool, path.basename(deb)));
  const suite = path.join(folder, "dists", SUITE);
  const lists = path.join(suite, COMPONENT, `binary-${arch}`);
  mkdirSync(lists, { recursive: true });
  const packages = run("apt-ftparchive", ["--arch", arch, "packages", "pool"], folder, epoch);
  writeFileSync(path.join(lists, "Packages"), packages);
  writeFileSync(path.join(lists, "Packages.gz"), gzipSync(packages, { level: 9 }));
  for (const name of ["Release", "InRelease", "Release.gpg"]) rmSync(path.join(suite, name), { force: true });
  const facts = {
    Origin: "erp-bridge",
    Label: "erp-bridge",
    Suite: SUITE,
    Codename: SUITE,
    Architectures: architecturesOf(suite),
    Components: COMPONENT,
  };
  const options = Object.entries(facts).flatMap(([name, value]) => [
    "-o",
    `APT::FTPArchive::Release::${name}=${value}`,
  ]);
  writeFileSync(path.join(suite, "Release"), run("apt-ftparchive", [...options, "release", suite], folder, epoch));
  if (key === null) return;
  const sign = ["--batch", "--yes", "--local-user", key, "--digest-algo", "SHA512"];
  run("gpg", [...sign, "--clearsign", "--output", "InRelease", "Release"], suite, epoch);
  run("gpg", [...sign, "--armor", "--detach-sign", "--output", "Release.gpg", "Release"], suite, epoch);
  run("gpg", ["--batch", "--yes", "--output", path.join(folder, "erp-bridge.gpg"), "--export", key], suite, epoch);
}

function architecturesOf(suite: string): string {
  return readdirSync(path.join(suite, COMPONENT))
    .map((name) => name.replace("binary-", ""))
    .sort()
    .join(" ");
}

function run(program: string, args: readonly string[], cwd: string, epoch: number): string {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(epoch), LC_ALL: "C" };
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
  return stdout;
}
