import { execFileSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  createFile,
  freshName,
  leftNames,
  openOnlyName,
  readRegular,
  replaceFile,
  setMode,
  syncFile,
} from "../../src/platform/fresh-file.ts";
import { tempFolder } from "../support/temp.ts";

const KINDS: [string, (name: string, precious: string) => void][] = [
  ["link", (name, precious) => symlinkSync(precious, name)],
  ["link to nothing", (name, precious) => symlinkSync(`${precious}-made`, name)],
  ["hard link", (name, precious) => linkSync(precious, name)],
  ["pipe", (name) => execFileSync("mkfifo", [name])],
  ["folder", (name) => mkdirSync(name)],
];

describe.each(KINDS)("a %s in the place of a file", (kind, plant) => {
  function scene() {
    const treasure = tempFolder("treasure");
    const precious = path.join(treasure, "precious");
    writeFileSync(precious, "precious", { mode: 0o640 });
    const name = path.join(tempFolder("planted"), "name");
    plant(name, precious);
    const isUntouched = () => {
      expect(readdirSync(treasure)).toEqual(["precious"]);
      expect(readFileSync(precious, "utf8")).toBe("precious");
      expect(statSync(precious).mode & 0o777).toBe(0o640);
    };
    return { name, isUntouched };
  }

  it("is never written to, and never waited for", () => {
    const { name, isUntouched } = scene();
    expect(() => createFile(name, 0o600)).toThrow(/EEXIST/);
    if (kind === "folder")
      expect(() => replaceFile(name, "new", { mode: 0o600, flush: true })).toThrow(/EISDIR|ENOTEMPTY/);
    else {
      replaceFile(name, "new", { mode: 0o600, flush: true });
      expect(lstatSync(name).isFile()).toBe(true);
      expect(readFileSync(name, "utf8")).toBe("new");
    }
    expect(readdirSync(path.dirname(name))).toEqual(["name"]);
    isUntouched();
  });

  it("is never opened for writing, and its mode stays", () => {
    const { name, isUntouched } = scene();
    expect(() => openOnlyName(name)).toThrow();
    expect(() => setMode(name, 0o666)).toThrow();
    isUntouched();
  });

  it.skipIf(kind === "hard link")("is never read", () => {
    const { name } = scene();
    for (const act of [readRegular, syncFile]) expect(() => act(name)).toThrow();
  });
});

describe("a name that nobody can know", () => {
  it("differs each time, and is found again by what it was made for alone", () => {
    const file = path.join(tempFolder("left"), "bridge.db");
    const names = [freshName(file, "partial"), freshName(file, "partial")];
    expect(new Set(names).size).toBe(2);
    for (const name of [
      ...names,
      `${names[0]}-wal`,
      `${file}.partial`,
      freshName(file, "new"),
      freshName(`${file}2`, "partial"),
    ])
      writeFileSync(name, "");
    expect(leftNames(file, "partial").sort()).toEqual([...names, `${names[0]}-wal`].sort());
  });
});
