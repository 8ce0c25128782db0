import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { itWhole } from "./support/whole.ts";

const IMPORT = /^import (?!type )[^;"]*?"(\.[^"]+)";/gm;

/** The files that are read with these, before anything runs. */
function filesReadWith(...files: readonly string[]): Set<string> {
  const found = new Set(files);
  for (const file of found)
    for (const [, from = ""] of readFileSync(file, "utf8").matchAll(IMPORT))
      found.add(path.join(path.dirname(file), from));
  return found;
}

describe("what is passed through", () => {
  // Beside these it reads at most five files of texts.
  it("is at most 65 files that status is read with", () => {
    expect(filesReadWith("src/main.ts", "src/cli/status.ts").size).toBeLessThanOrEqual(65);
  });

  itWhole("has no more files than a reader can follow, for an order, a row of stock and status", () => {
    execFileSync(process.execPath, ["scripts/count-walks.ts"], { stdio: "ignore" });
  });
});
