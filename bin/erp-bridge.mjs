#!/usr/bin/env node
// The version is checked before anything else is imported: the native SQLite module ends an older Node with a
// silent segmentation fault, and a person would see nothing at all.
const NODE_MAJOR_MIN = 24;
const major = Number(process.versions.node.split(".")[0]);
if (!(major >= NODE_MAJOR_MIN)) {
  process.stderr.write(
    `erp-bridge needs Node ${NODE_MAJOR_MIN} or newer, and this is ${process.versions.node} (${process.execPath}). ` +
      "Install a newer Node, or start it through npm, which brings one along: npm run --silent erp-bridge -- status\n",
  );
  process.exit(78);
}

// A daemon that mostly waits is better small than fast: going through a large table takes 100 MB less and a tenth longer.
const { setFlagsFromString } = await import("node:v8");
setFlagsFromString("--optimize-for-size");

const { existsSync } = await import("node:fs");
const bundle = new URL("../dist/erp-bridge.mjs", import.meta.url);
const source = new URL("../src/main.ts", import.meta.url);
// A checkout runs its sources, an installed package its bundle; an old bundle in a checkout must not hide new sources.
const entry = existsSync(source) ? source : bundle;
const { main } = await import(entry.href);
process.exitCode = await main(process.argv.slice(2));
