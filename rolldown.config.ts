import type { InputOptions, OutputOptions, Plugin, RolldownOptions } from "rolldown";

/** What undici brings along for HTTP/2, fetch and another parser: the client uses none of it, and each start would read it. */
const UNUSED = /\/undici\/lib\/(web\/|milo\/|dispatcher\/client-h2\.js$)/;

const leaveOut: Plugin = {
  name: "leave-out",
  load: (id) => (UNUSED.test(id) ? "module.exports = {};" : null),
};

export type Bundle = InputOptions & { plugins: Plugin[]; output: OutputOptions & { file: string } };

/**
 * One file of everything that `input` imports. CommonJS, because an ES module's `import` of a part of Node reads all that
 * this part offers: of node:http that is a whole fetch. ASCII, because one other letter doubles what V8 keeps of the text.
 */
export function bundleOf(input: string, file: string): Bundle {
  return {
    input,
    platform: "node",
    // The native module loads its prebuilt binary from its own package folder, so it stays outside the bundle.
    external: ["better-sqlite3"],
    plugins: [leaveOut],
    output: {
      file,
      format: "cjs",
      codeSplitting: false,
      comments: false,
      // Names and lines stay as they were written: a stack trace in the debug log can be read.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
    },
  };
}

export default [
  bundleOf("src/main.ts", "dist/erp-bridge.cjs"),
  // Copies a database in a process of its own; it is looked for beside the program.
  bundleOf("src/backup/copy-child.ts", "dist/copy-child.cjs"),
  // Moves a long write-ahead log into the database, likewise.
  bundleOf("src/store/checkpoint-child.ts", "dist/checkpoint-child.cjs"),
  // Tries a feed's SELECT in a process of its own.
  bundleOf("src/store/source-child.ts", "dist/source-child.cjs"),
] satisfies RolldownOptions[];
