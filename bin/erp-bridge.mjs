#!/usr/bin/env node
// The version is checked before anything else is imported: the native SQLite module ends an older Node with a
// silent segmentation fault, and a person would see nothing at all.
const NODE_MAJOR_MIN = 24;
const major = Number(process.versions.node.split(".")[0]);
if (!(major >= NODE_MAJOR_MIN)) {
  const { LC_ALL, LC_MESSAGES, LANG } = process.env;
  const isRussian = /^ru(?![a-z])/i.test(LC_ALL || LC_MESSAGES || LANG || "");
  const [here, way] = [`${process.versions.node} (${process.execPath})`, "npm run --silent erp-bridge -- status"];
  process.stderr.write(
    isRussian
      ? `Для erp-bridge нужен Node ${NODE_MAJOR_MIN} или новее, а это ${here}. ` +
          `Установите более новый Node или запускайте через npm, у которого есть свой: ${way}\n`
      : `erp-bridge needs Node ${NODE_MAJOR_MIN} or newer, and this is ${here}. ` +
          `Install a newer Node, or start it through npm, which brings one along: ${way}\n`,
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
