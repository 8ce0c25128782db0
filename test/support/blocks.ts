import { readFileSync } from "node:fs";

export interface Block {
  page: string;
  line: number;
  /** "" for commands. */
  language: string;
  /** Without the indent of the list around it. */
  text: string;
}

/** The code blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { indent: string; language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of readFileSync(page, "utf8").split("\n").entries()) {
    const [, indent = "", language = ""] = /^( *)```(\w*)$/.exec(line) ?? [];
    const isFence = /^ *```/.test(line);
    if (open === undefined) {
      if (isFence) open = { indent, language, line: index + 1, lines: [] };
      continue;
    }
    if (!isFence) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
      continue;
    }
    blocks.push({ page, line: open.line, language: open.language.replace("console", ""), text: open.lines.join("\n") });
    open = undefined;
  }
  return blocks;
}
