import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
// @ts-expect-error: plain JavaScript, because Node versions read it that know no types.
import { isNewEnough } from "../bin/launch.mjs";
import { tempFolder } from "./support/temp.ts";
import { itWhole } from "./support/whole.ts";

const BUNDLED = path.resolve(`node_modules/node-linux-${process.arch}/bin/node`);

/** Gives a Node the version of an old one, so that the same tests run on every machine. */
const OLD = `data:text/javascript,${encodeURIComponent('Object.defineProperty(process, "version", { value: "v20.1.0" })')}`;

/** A checkout with these files of `bin`, and nothing installed. */
function checkout(): string {
  const folder = tempFolder("launch");
  cpSync("bin", path.join(folder, "bin"), { recursive: true });
  return folder;
}

function withOldNode(folder: string, file: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, ["--import", OLD, path.join(folder, "bin", file), ...args], {
    encoding: "utf8",
    env: { PATH: "", ...env },
  });
}

function bringAlong(folder: string, script: string): string {
  const place = path.join(folder, `node_modules/node-linux-${process.arch}/bin`);
  mkdirSync(place, { recursive: true });
  return writeProgram(path.join(place, "node"), script);
}

function writeProgram(file: string, script: string): string {
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A Node of that version which says what it was started with. */
const nodeOf = (version: string) => `[ "$1" = --version ] && echo ${version} || echo "${version} runs $*"`;

describe("a Node that is new enough", () => {
  it.each([
    ["v24.0.0", true],
    ["26.1.0", true],
    ["v23.11.1", false],
    ["v20.20.2", false],
    ["v2.4.0", false],
    ["", false],
    ["unknown", false],
  ])("%s: %s", (version, expected) => {
    expect(isNewEnough(version)).toBe(expected);
  });
});

describe.runIf(process.platform === "linux")("the launcher under an old Node", () => {
  it("takes the Node that the project brings along, linked or not", () => {
    const folder = checkout();
    bringAlong(folder, nodeOf("v24.21.0"));
    const { stdout, status } = withOldNode(folder, "launch.mjs", ["--disable-sigusr1", "./x.ts", "a b"]);
    expect([stdout, status]).toEqual(["v24.21.0 runs --disable-sigusr1 ./x.ts a b\n", 0]);
  });

  it("takes the first in PATH that is new enough, where the one brought along cannot run here", () => {
    const folder = checkout();
    bringAlong(folder, "exit 127");
    const places = ["old", "new", "newer"].map((name) => path.join(folder, name));
    for (const [at, version] of ["v22.1.0", "v24.1.0", "v26.0.0"].entries()) {
      mkdirSync(places[at]!);
      writeProgram(path.join(places[at]!, "node"), nodeOf(version));
    }
    const env = { PATH: ["relative", ...places, "/bin"].join(":") };
    expect(withOldNode(folder, "launch.mjs", ["./x.ts"], env).stdout).toBe("v24.1.0 runs ./x.ts\n");
  });

  itWhole("starts the program itself in the same way", () => {
    const folder = checkout();
    bringAlong(folder, nodeOf("v24.21.0"));
    const program = path.join(folder, "bin/erp-bridge.mjs");
    expect(withOldNode(folder, "erp-bridge.mjs", ["status", "--json"]).stdout).toBe(
      `v24.21.0 runs --disable-sigusr1 ${program} status --json\n`,
    );
  });

  itWhole.each([
    ["C.UTF-8", /^erp-bridge needs Node 24 or newer, and this is .*npm ci/],
    ["ru_RU.UTF-8", /^Для erp-bridge нужен Node 24 или новее, а это .*npm ci/],
  ])("says what is missing where there is none (%s)", (locale, said) => {
    for (const file of ["launch.mjs", "erp-bridge.mjs"]) {
      const { stderr, status } = withOldNode(checkout(), file, ["./x.ts"], { LC_ALL: locale });
      expect(stderr).toMatch(said);
      expect(stderr).not.toContain("at ");
      expect(status).toBe(78);
    }
  });

  itWhole("hands on the exit code, and a signal as a shell does", () => {
    const folder = checkout();
    bringAlong(folder, '[ "$1" = --version ] && echo v24.0.0 || exec /bin/sh -c "$2"');
    expect(withOldNode(folder, "launch.mjs", ["./-", "exit 7"]).status).toBe(7);
    expect(withOldNode(folder, "launch.mjs", ["./-", "kill -KILL $$"]).status).toBe(137);
  });

  itWhole.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "passes %s on, and ends when the program has ended",
    async (signal) => {
      const folder = checkout();
      const number = { SIGTERM: 15, SIGINT: 2, SIGHUP: 1 }[signal];
      bringAlong(
        folder,
        `[ "$1" = --version ] && { echo v24.0.0; exit; }; trap 'echo ended by ${number}; exit 5' ${number}; echo ready; n=0; while [ $n -lt 200 ]; do n=$((n+1)); /bin/sleep 0.05; done`,
      );
      const child = spawn(process.execPath, ["--import", OLD, path.join(folder, "bin/launch.mjs"), "./x"], {
        env: { PATH: "" },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let out = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        out += text;
        if (out === "ready\n") child.kill(signal);
      });
      const [code] = await once(child, "close");
      expect([out, code]).toEqual([`ready\nended by ${number}\n`, 5]);
    },
  );
});

describe("the launcher and tools", () => {
  itWhole("runs a tool by its name, with the Node that it found first in PATH", () => {
    const folder = checkout();
    const tools = path.join(folder, "node_modules/.bin");
    mkdirSync(tools, { recursive: true });
    writeFileSync(path.join(folder, "tool.cjs"), "console.log(process.argv.slice(2).join(), process.env.PATH)");
    symlinkSync("../../tool.cjs", path.join(tools, "tool"));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [path.join(folder, "bin/launch.mjs"), ...args], {
        encoding: "utf8",
        env: { PATH: "/usr/bin" },
      });
    expect(run("--no-warnings", "tool", "run", "x").stdout).toBe(`run,x ${path.dirname(process.execPath)}:/usr/bin\n`);
    expect(run("other")).toMatchObject({ status: 1, stderr: "There is no other here. Run: npm ci\n" });
  });

  it.runIf(existsSync(BUNDLED))("runs the sources with the Node that is really brought along", () => {
    const { stdout } = spawnSync(
      process.execPath,
      ["--import", OLD, "bin/launch.mjs", "bin/erp-bridge.mjs", "--version"],
      { encoding: "utf8", env: { PATH: "" } },
    );
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
