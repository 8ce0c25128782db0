#!/usr/bin/env node
import { describeTooOld, findNode, isNewEnough, runNode } from "./launch.mjs";

// Before anything else is read: the native SQLite module ends an older Node with a silent segmentation fault.
if (isNewEnough(process.version)) await start();
else {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(describeTooOld());
    process.exit(78);
  }
  runNode(node, ["--disable-sigusr1", ...process.argv.slice(1)]);
}

async function start() {
  // By itself Node opens a debugger at this signal, through which any user of the machine could read the secret. The units
  // and the launcher switch that off with --disable-sigusr1 from the first instant on; this is for every other way to start.
  process.on("SIGUSR1", () => {});
  // A reload that comes while the daemon starts: the configuration is not even read yet. Otherwise it would end the process.
  if (process.argv.includes("run")) process.on("SIGHUP", () => {});

  const { createRequire, enableCompileCache } = await import("node:module");
  // Given by systemd (CacheDirectory=), and the daemon's own: what is cached there runs.
  const cache = process.env["CACHE_DIRECTORY"];
  if (cache) enableCompileCache(cache);
  const require = createRequire(import.meta.url);
  const source = "../src/main.ts";
  // A checkout runs its sources, an installed package its bundle; an old bundle in a checkout must not hide new sources.
  const { main } = require(
    require("node:fs").existsSync(new URL(source, import.meta.url)) ? source : "../dist/erp-bridge.cjs",
  );
  process.exitCode = await main(process.argv.slice(2));
}
