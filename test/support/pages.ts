import { globSync } from "node:fs";

/** All English pages; their commands, options and keys are checked. */
export const PAGES = ["README.md", ...globSync("docs/*.md").filter((page) => !page.endsWith("-ru.md"))].sort();
