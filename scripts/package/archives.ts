import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  globSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { ARCHITECTURES } from "./runtime.ts";
import type { TreeOptions } from "./tree.ts";

export type Compression = "xz" | "gzip" | "none";

/** `erp-bridge_VERSION_ARCH.deb` in `out`, from a tree that is complete. Adds the folder DEBIAN to the tree. */
export function writeDeb(options: TreeOptions, out: string, compression: Compression): string {
  const { root, folder, version, epoch, arch } = options;
  const control = path.join(folder, "DEBIAN");
  mkdirSync(control);
  for (const script of ["postinst", "prerm", "postrm"]) {
    copyFileSync(path.join(root, "packaging/debian", script), path.join(control, script));
    chmodSync(path.join(control, script), 0o755);
  }
  const files = globSync("usr/**/*", { cwd: folder })
    .filter((file) => statSync(path.join(folder, file)).isFile())
    .sort();
  const sizeKb = files.reduce((sum, file) => sum + Math.ceil(statSync(path.join(folder, file)).size / 1024), 0);
  writeFileSync(path.join(control, "control"), controlFile(options, sizeKb));
  const sums = files.map((file) => `${md5(path.join(folder, file))}  ${file}\n`);
  writeFileSync(path.join(control, "md5sums"), sums.join(""));
  settleModes(folder, epoch);
  const deb = path.join(out, `erp-bridge_${version}_${arch}.deb`);
  run("dpkg-deb", ["--root-owner-group", `-Z${compression}`, "--build", folder, deb], epoch);
  return deb;
}

/** The same tree for other systems: `erp-bridge-VERSION/` with install.sh and uninstall.sh beside it. */
export function writeTarball(options: TreeOptions, out: string): string {
  const { root, folder, version, epoch, arch } = options;
  for (const script of ["install.sh", "uninstall.sh"]) {
    const text = readFileSync(path.join(root, "packaging", script), "utf8");
    writeFileSync(path.join(folder, script), text.replaceAll("@UNAME@", ARCHITECTURES[arch].uname));
    chmodSync(path.join(folder, script), 0o755);
  }
  settleModes(folder, epoch);
  const tarball = path.join(out, `erp-bridge-${version}-linux-${ARCHITECTURES[arch].npm}.tar.gz`);
  const args = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--exclude=./DEBIAN"];
  const named = [`--transform=s,^\\.,erp-bridge-${version},`, "-I", "gzip -9n", "-cf", tarball];
  run("tar", [...args, ...named, "-C", folder, "."], epoch);
  return tarball;
}

function controlFile({ version, arch, maintainer }: TreeOptions, sizeKb: number): string {
  return `Package: erp-bridge
Version: ${version}
Architecture: ${arch}
Maintainer: ${maintainer}
Installed-Size: ${sizeKb}
Depends: libc6 (>= 2.34), libstdc++6 (>= 11), libgcc-s1, passwd
Recommends: systemd, sqlite3
Section: misc
Priority: optional
Description: keeps a shop's SQLite ERP database in step with its online service
 A daemon for a shop's server. It pulls order batches from an online sales
 service, stores them in a local SQLite database, and only then confirms them;
 it follows later changes, sends order statuses back, and pushes changed stock,
 price, catalog and image rows. Nothing that was confirmed is ever lost.
 .
 The package carries its own Node.js.
`;
}

/** One date and plain modes for everything, whatever the mask and the clock of the machine that builds it. */
function settleModes(folder: string, epoch: number): void {
  for (const file of [".", ...globSync("**/*", { cwd: folder })]) {
    const place = path.join(folder, file);
    const stat = statSync(place);
    chmodSync(place, stat.isDirectory() || (stat.mode & 0o100) !== 0 ? 0o755 : 0o644);
    lutimesSync(place, epoch, epoch);
  }
}

function md5(file: string): string {
  return createHash("md5").update(readFileSync(file)).digest("hex");
}

function run(program: string, args: readonly string[], epoch: number): void {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(epoch), LC_ALL: "C" };
  const { status, stderr, error } = spawnSync(program, args, { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
}
