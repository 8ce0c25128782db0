import { execFileSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { tempFolder } from "../support/temp.ts";

/** Opens a database while so many files may still be opened, and says what came of it, for 0 to 11 of them. */
const SCRIPT = `
  const { closeSync, openSync } = await import("node:fs");
  const { openStore } = await import("./src/database/open.ts");
  const { asError } = await import("./src/platform/errors.ts");
  const [path, migrationsFolder] = process.argv.slice(1);
  const open = () => openStore({ path, migrationsFolder, mode: "daemon" }).db.close();
  open();
  const held = [];
  const fill = () => { try { for (;;) held.push(openSync("/dev/null", "r")); } catch {} };
  const said = [];
  for (let free = 0; free < 12; free++) {
    fill();
    for (let files = 0; files < free; files++) closeSync(held.pop());
    try { open(); said.push("opened"); } catch (error) {
      const { code, message, hint } = asError(error);
      said.push(code + ": " + message + " " + hint);
    }
  }
  while (held.length > 0) closeSync(held.pop());
  console.log(JSON.stringify(said));`;

it("a database that cannot be opened because too many files are open says so, wherever that is met", () => {
  const node = [process.execPath, "--input-type=module", "-e", SCRIPT, "--"];
  const files = [path.join(tempFolder(), "bridge.db"), MIGRATIONS_FOLDER];
  const out = execFileSync("/bin/sh", ["-c", 'ulimit -n 100; exec "$@"', "sh", ...node, ...files], {
    encoding: "utf8",
  });
  const said = JSON.parse(out) as string[];
  const first = said.indexOf("opened");
  expect(first).toBeGreaterThan(3);
  expect(said.slice(first)).toEqual(said.slice(first).map(() => "opened"));
  for (const each of said.slice(0, first))
    expect(each).toMatch(/^disk_failed: .*may open no more files .*EMFILE.* LimitNOFILE=/);
});
