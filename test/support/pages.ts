import { globSync } from "node:fs";

/** Every page in English; what it says of commands, options and keys is checked. */
export const PAGES = ["README.md", ...globSync("docs/*.md").filter((page) => !page.endsWith("-ru.md"))].sort();
