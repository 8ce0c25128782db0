import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { PAGES } from "../support/pages.ts";
import { itWhole } from "../support/whole.ts";

/** Pages that come with packages and campaigns of their own. */
const ELSEWHERE = new Set(["docs/installation.md", "docs/sharing-the-database.md", "docs/reliability.md"]);

/** The anchors that a page's headings get where it is shown. */
function anchorsOf(file: string): string[] {
  const text = readFileSync(file, "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function brokenLinks(page: string): string[] {
  const links = [...readFileSync(page, "utf8").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links.filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const place = file === "" ? page : path.join(path.dirname(page), file);
    if (!existsSync(place)) return !ELSEWHERE.has(place);
    return anchor !== undefined && !anchorsOf(place).includes(anchor);
  });
}

describe("the pages", () => {
  itWhole("link to pages and headings that are there", () => {
    expect(PAGES.flatMap((page) => brokenLinks(page).map((target) => `${page}: ${target}`))).toEqual([]);
  });

  it("name files and rooms of src that are there", () => {
    const page = readFileSync("docs/architecture.md", "utf8");
    const named = [...page.matchAll(/`([\w/-]+(?:\/|\/[\w-]+\.ts))`/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((name) => ![`src/${name}`, name].some((place) => existsSync(place)))).toEqual([]);
  });
});
