import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";

export interface LockedPackage {
  version?: string;
  integrity?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
}

/** What the bundle is made of: every package that is needed to run, as it is locked. */
export function bundledPackages(root: string): [string, LockedPackage][] {
  const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(lock.packages).filter(
    ([place, { dev, optional }]) =>
      place !== "" && dev !== true && optional !== true && existsSync(path.join(root, place, "package.json")),
  );
}

/** The machine-readable copyright file of a Debian package, with the licences of all that the package carries in full. */
export function copyrightFile(root: string, runtime: { version: string; licence: string }): string {
  const own = readFileSync(path.join(root, "LICENSE"), "utf8");
  const holder = /^Copyright \(c\) (.+)$/m.exec(own)?.[1] ?? "";
  const parts = bundledPackages(root).map(([place, { version, license }]) => {
    const name = place.replace(/^.*node_modules\//, "");
    return `${name} ${version} (${license ?? "see its licence"})\n\n${licenceOf(path.join(root, place))}`;
  });
  const carried = [...parts, `Node.js ${runtime.version}\n\n${readFileSync(runtime.licence, "utf8")}`];
  return [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: erp-bridge",
    "Comment: The licences of the packages in the bundle, of the native module and of Node.js follow after erp-bridge's own.",
    "",
    "Files: *",
    `Copyright: ${holder}`,
    "License: MIT",
    indent(own.slice(own.indexOf("Permission is hereby"))),
    "",
    "Files: dist/* node node_modules/*",
    "Copyright: their authors, named below",
    "License: bundled",
    indent(carried.join(`\n\n${"-".repeat(80)}\n\n`)),
    "",
  ].join("\n");
}

function licenceOf(folder: string): string {
  const [file] = globSync("{LICENSE,LICENCE,License,license}*", { cwd: folder }).sort();
  return file === undefined
    ? "(names its licence in its package.json alone)"
    : readFileSync(path.join(folder, file), "utf8");
}

/** A paragraph of the format: each line indented, empty ones as a dot. */
function indent(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => (line.trim() === "" ? " ." : ` ${line.trimEnd()}`))
    .join("\n");
}
