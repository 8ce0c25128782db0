import { chmodSync, copyFileSync, cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { configJsonSchema } from "../../src/config/show.ts";
import { writeBundles } from "../install-program.ts";
import { bashCompletion, fishCompletion } from "./completion.ts";
import { manualPage } from "./manual.ts";
import { copyrightFile } from "./notices.ts";
import { ARCHITECTURES, type Architecture, findRuntime, knownVulnerabilities } from "./runtime.ts";
import { billOfMaterials } from "./sbom.ts";
import { tellVersion } from "./tell-version.ts";
import { readCommands } from "./words.ts";

export interface TreeOptions {
  /** The checkout. */
  root: string;
  /** Where the tree is made; it stands for `/`. */
  folder: string;
  version: string;
  /** Seconds since 1970: the date of everything. */
  epoch: number;
  arch: Architecture;
  /** `Name <address>`: who answers for this package. */
  maintainer: string;
}

const PROGRAM = "usr/lib/erp-bridge";
const DOCUMENTS = "usr/share/doc/erp-bridge";
/** Of the native module: its JavaScript. The one binary that this package is for comes on top. */
const NATIVE = ["package.json", "LICENSE", "lib/**/*.js"];
const FOR_ONE_SYSTEM = /^lib\/(darwin|win32|linuxmusl|linux)-/;

/** Everything that is installed, below `folder`, with its modes. */
export async function writeTree(options: TreeOptions): Promise<void> {
  await writeProgram(options);
  writeUnits(options);
  writeDocuments(options);
  writeShellParts(options);
}

async function writeProgram({ root, folder, version, arch, epoch }: TreeOptions): Promise<void> {
  const place = path.join(folder, PROGRAM);
  await writeBundles(place, [tellVersion(root, version)]);
  // Without its first line: what starts it is the package's own Node, never the one in the PATH.
  const launcher = readFileSync(path.join(root, "bin/erp-bridge.mjs"), "utf8").replace(/^#!.*\n/, "");
  write(path.join(place, "bin/erp-bridge.mjs"), launcher);
  put(path.join(root, "bin/launch.mjs"), path.join(place, "bin/launch.mjs"), 0o644);
  put(findRuntime(root, arch).program, path.join(place, "node"), 0o755);
  write(path.join(place, "build.json"), `${JSON.stringify({ date: new Date(epoch * 1000).toISOString() })}\n`);
  cpSync(path.join(root, "drizzle"), path.join(place, "drizzle"), { recursive: true });
  const native = path.join(root, "node_modules/better-sqlite3");
  const system = `linux-${ARCHITECTURES[arch].npm}`;
  const general = NATIVE.flatMap((pattern) => globSync(pattern, { cwd: native })).filter(
    (file) => !FOR_ONE_SYSTEM.test(file),
  );
  for (const file of [...general, `lib/${system}.js`, `prebuilds/${system}.node`]) {
    put(path.join(native, file), path.join(place, "node_modules/better-sqlite3", file), 0o644);
  }
  for (const script of ["with-notify-socket", "prepare-host"])
    put(path.join(root, "packaging", script), path.join(place, script), 0o755);
  put(path.join(root, "packaging/erp-bridge"), path.join(folder, "usr/bin/erp-bridge"), 0o755);
}

function writeUnits({ root, folder }: TreeOptions): void {
  for (const unit of ["erp-bridge.service", "erp-bridge@.service"])
    put(path.join(root, "systemd", unit), path.join(folder, "usr/lib/systemd/system", unit), 0o644);
  // Not among the documents: a small system may be told to leave those out.
  for (const dropIn of ["restart-steps.conf", "erp-group.conf"])
    put(path.join(root, "systemd", dropIn), path.join(folder, PROGRAM, "systemd", dropIn), 0o644);
}

function writeDocuments(options: TreeOptions): void {
  const { root, folder, arch } = options;
  const place = path.join(folder, DOCUMENTS);
  const runtime = findRuntime(root, arch);
  for (const readme of ["README.md", "README.ru.md"]) put(path.join(root, readme), path.join(place, readme), 0o644);
  for (const file of globSync("docs/**/*.{md,json}", { cwd: root }).sort())
    put(path.join(root, file), path.join(place, file), 0o644);
  put(path.join(root, "config/config.example.yaml"), path.join(place, "examples/config.example.yaml"), 0o644);
  for (const file of globSync("examples/**/*.*", { cwd: root }).sort())
    put(path.join(root, file), path.join(place, file), 0o644);
  const changes = readFileSync(path.join(root, "CHANGELOG.md"), "utf8");
  write(path.join(place, "changelog.gz"), packed(changelogOf(changes, options)));
  write(path.join(place, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials({ ...options, runtime }), null, 2)}\n`);
  write(path.join(place, "copyright"), copyrightFile(root, runtime));
}

function writeShellParts({ root, folder, version, epoch }: TreeOptions): void {
  const commands = readCommands();
  const date = new Date(epoch * 1000).toISOString().slice(0, 10);
  const share = path.join(folder, "usr/share");
  write(path.join(share, "man/man1/erp-bridge.1.gz"), packed(manualPage(commands, { version, date })));
  write(path.join(share, "bash-completion/completions/erp-bridge"), bashCompletion(commands));
  write(path.join(share, "fish/vendor_completions.d/erp-bridge.fish"), fishCompletion(commands));
  const schema = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
  write(path.join(share, "erp-bridge/erp-bridge.schema.json"), schema);
  put(path.join(root, "packaging/debian/lintian-overrides"), path.join(share, "lintian/overrides/erp-bridge"), 0o644);
}

/** As `gzip -9n` packs it: neither name nor time, so that the same text gives the same bytes. */
function packed(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}

/** The operator's changelog in the form that Debian's tools read. */
function changelogOf(changes: string, { root, version, epoch, arch, maintainer }: TreeOptions): string {
  const newest = changes.split(/^## /m)[1] ?? "";
  const [, ...lines] = newest
    .replace(/\n {2}/g, " ")
    .replace(/\*\*|\[(.+?)\]\(.+?\)/g, "$1")
    .split("\n");
  const told = [describeRuntime(findRuntime(root, arch).version), ...lines.filter((line) => line !== "")];
  const wrapped = told.flatMap((line) =>
    // In brackets, as Debian's own changelogs have their headings.
    line.startsWith("#") ? ["", `  [ ${line.replace(/^#+ /, "")} ]`] : wrap(`* ${line.replace(/^- /, "")}`, "  "),
  );
  const date = new Date(epoch * 1000).toUTCString().replace("GMT", "+0000");
  return [`erp-bridge (${version}) stable; urgency=medium`, "", ...wrapped, "", ` -- ${maintainer}  ${date}`, ""].join(
    "\n",
  );
}

const CHANGELOG_COLUMNS = 76;

/** Lines of at most so many columns, those after the first one indented below its text. */
function wrap(text: string, indent: string): string[] {
  const lines = [indent];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    const isFull = line.trim() !== "" && line.length + 1 + word.length > CHANGELOG_COLUMNS;
    if (isFull) lines.push(`${indent}  ${word}`);
    else lines[lines.length - 1] = line === indent ? `${indent}${word}` : `${line} ${word}`;
  }
  return lines;
}

/** Which Node the package carries, and what is known against it. */
function describeRuntime(version: string): string {
  const known = knownVulnerabilities(version).map(({ id, mendedIn }) => `${id} (mended in ${mendedIn})`);
  return `Carries Node ${version}, the newest of its line in the registry of npm; ${
    known.length === 0 ? "nothing is known against it" : `known against it: ${known.join(", ")}`
  }.`;
}

function put(from: string, to: string, mode: number): void {
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

function write(file: string, content: string | Buffer): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}
