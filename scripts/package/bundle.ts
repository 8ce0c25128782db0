import { readFileSync } from "node:fs";
import path from "node:path";
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from "rolldown";
import config from "../../rolldown.config.ts";

type Bundle = InputOptions & { output: OutputOptions & { file: string } };

/** Writes the program's bundles below `folder`. They call themselves `version`, whatever package.json says. */
export async function writeBundles(root: string, folder: string, version: string): Promise<void> {
  for (const { output, ...input } of config as Bundle[]) {
    const bundle = await rolldown({ ...input, cwd: root, plugins: [tellVersion(root, version)] });
    await bundle.write({ ...output, file: path.join(folder, output.file) });
    await bundle.close();
  }
}

function tellVersion(root: string, version: string): Plugin {
  const file = path.join(root, "package.json");
  return {
    name: "tell-version",
    load: (id) => (id === file ? JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), version }) : null),
  };
}
