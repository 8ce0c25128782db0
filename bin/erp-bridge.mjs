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

// By itself Node opens a debugger at this signal, through which any user of the machine could read the secret. The units
// and the launcher switch that off with --disable-sigusr1 from the first instant on; this is for every other way to start.
process.on("SIGUSR1", () => {});

// A daemon that mostly waits is better small than fast: going through a large table takes 100 MB less and a tenth longer.
const { setFlagsFromString } = await import("node:v8");
setFlagsFromString("--optimize-for-size");
// The parser of HTTP is WebAssembly. Compiling it once more, to be quicker, takes 12 MB that are never given back.
setFlagsFromString("--wasm-tiering-budget=1000000000");

const { createRequire } = await import("node:module");
const require = createRequire(import.meta.url);
const source = "../src/main.ts";
// A checkout runs its sources, an installed package its bundle; an old bundle in a checkout must not hide new sources.
const { main } = require(
  require("node:fs").existsSync(new URL(source, import.meta.url)) ? source : "../dist/erp-bridge.cjs",
);
process.exitCode = await main(process.argv.slice(2));
