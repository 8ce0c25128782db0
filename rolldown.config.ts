import { globSync } from "node:fs";
import path from "node:path";
import type { InputOptions, OutputOptions } from "rolldown";

export type Bundle = InputOptions & { output: OutputOptions & { dir: string } };

/** Texts, which are read when the first of them is said: `en/cli` and the like, in the bundle as in `src/messages`. */
const TEXTS = Object.fromEntries(
  globSync("src/messages/{en,ru,words}/*.ts", { cwd: import.meta.dirname }).map((file) => [
    path.relative("src/messages", file).replace(/\.ts$/, ""),
    file,
  ]),
);

/**
 * The programs of `input` (file name → source) and what they share, in one folder; a command's part is read when it is called.
 * CommonJS, because an ES module's `import` of a part of Node reads all that this part offers: of node:http that is a whole
 * fetch. ASCII, because one other letter doubles what V8 keeps of the text.
 */
export function bundleOf(input: Record<string, string>, dir: string): Bundle {
  return {
    input: { ...input, ...TEXTS },
    platform: "node",
    // The native module loads its prebuilt binary from its own package folder, so it stays outside the bundle.
    external: ["better-sqlite3"],
    output: {
      dir,
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: "part-[name].cjs",
      comments: false,
      // Names and lines stay as they were written: a stack trace in the debug log can be read.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    },
  };
}

/** Processes of their own, which are looked for beside the program that starts them. */
export const CHILDREN = {
  // Copies a database .
  "copy-child": "src/backup/copy-child.ts",
  // Moves a long write-ahead log into the database.
  "checkpoint-child": "src/database/log/checkpoint-child.ts",
  // Tries a feed's SELECT.
  // Touch files that may lie on a disk that does not answer.
  "source-helper": "src/feeds/source/source-helper.ts",
  "image-helper": "src/feeds/images/image-helper.ts",
  "config-helper": "src/config/config-helper.ts",
  "program-helper": "src/platform/program-helper.ts",
  "backup-helper": "src/backup/backup-helper.ts",
};

export default bundleOf({ "erp-bridge": "src/main.ts", ...CHILDREN }, "dist");
