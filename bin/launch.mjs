/*
 * Runs a file with a Node that is new enough, whichever Node starts this: `node bin/launch.mjs [NODE OPTIONS] FILE [ARGUMENTS]`.
 * A FILE without a folder or an ending is a tool of node_modules/.bin, such as `vitest`. Plain JavaScript that old versions of
 * Node read, and no imports besides Node's own: it also runs where nothing else of the project can.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const NODE_MAJOR_MIN = 24;
const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const VERSION_WITHIN_MS = 10_000;

/** True for `v24.1.0` and `24.1.0`. */
export function isNewEnough(version) {
  return Number(/^v?(\d+)\./.exec(version)?.[1]) >= NODE_MAJOR_MIN;
}

/** The first Node that is new enough: the one that runs this, the package that the project brings along, those in PATH. */
export function findNode() {
  if (isNewEnough(process.version)) return process.execPath;
  return listNodes().find((file) => existsSync(file) && isNewEnough(versionOf(file)));
}

function listNodes() {
  // npm links this package's program into node_modules/.bin only from version 11 on.
  const packaged = path.join("node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  // Beside the project's own files, or beside the project itself where it is installed as a package.
  const folders = [ROOT, path.join(ROOT, "..", "..")];
  const inPath = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return [
    ...folders.map((folder) => path.join(folder, packaged)),
    ...inPath.map((folder) => path.join(folder, "node")),
  ];
}

/** Empty where it cannot run here, for instance with another C library. */
function versionOf(file) {
  try {
    const options = { encoding: "utf8", timeout: VERSION_WITHIN_MS, stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(file, ["--version"], options).trim();
  } catch {
    return "";
  }
}

/** In the language of the locale, because it is read before anything of the program is. */
export function describeTooOld() {
  const { LC_ALL, LC_MESSAGES, LANG } = process.env;
  const isRussian = /^ru(?![a-z])/i.test(LC_ALL || LC_MESSAGES || LANG || "");
  const here = `${process.versions.node} (${process.execPath})`;
  return isRussian
    ? `Для erp-bridge нужен Node ${NODE_MAJOR_MIN} или новее, а это ${here}. ` +
        "Установите более новый Node или выполните в рабочей копии npm ci: с ней приходит свой.\n"
    : `erp-bridge needs Node ${NODE_MAJOR_MIN} or newer, and this is ${here}. ` +
        "Install a newer Node, or run npm ci in a checkout, which brings one along.\n";
}

/** Runs `node ARGS` in the place of this process, as far as that goes: same terminal, signals passed on, same end. */
export function runNode(node, args) {
  const env = { ...process.env, PATH: [path.dirname(node), process.env["PATH"]].filter(Boolean).join(path.delimiter) };
  let child;
  // Before the program begins, so that no signal finds this process without it. A terminal sends Ctrl+C to every process by
  // itself: passed on, it would arrive twice.
  const passedOn = ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", ...(process.stdin.isTTY ? [] : ["SIGINT"])];
  for (const signal of passedOn) process.on(signal, () => child?.kill(signal));
  if (process.stdin.isTTY) process.on("SIGINT", () => {});
  // Otherwise Node opens a debugger at this signal, and the environment may hold a secret.
  process.on("SIGUSR1", () => {});
  child = spawn(node, args, { stdio: "inherit", env });
  child.on("error", (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

/** Arguments for Node, with a tool's name replaced by its file. */
function resolveFile(args) {
  const at = args.findIndex((arg) => !arg.startsWith("-"));
  const file = args[at];
  if (file === undefined || /[\\/.]/.test(file)) return args;
  const tool = path.join(ROOT, "node_modules", ".bin", file);
  if (!existsSync(tool)) {
    process.stderr.write(`There is no ${file} here. Run: npm ci\n`);
    process.exit(1);
  }
  return [...args.slice(0, at), realpathSync(tool), ...args.slice(at + 1)];
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(describeTooOld());
    process.exit(78);
  }
  runNode(node, resolveFile(process.argv.slice(2)));
}
