import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

/**
 * From now on every attempt to write in this folder is answered with EROFS.
 * @param how `error`: as after an error of ext4, where asking for the right alone still gets it
 */
export function makeReadOnly(folder: string, how: "mounted" | "error"): void {
  const { accessSync, lutimesSync } = fs;
  const refuse = (name: fs.PathLike) => {
    if (!`${String(name)}/`.startsWith(`${folder}/`)) return;
    throw Object.assign(new Error(`EROFS: read-only file system, '${String(name)}'`), { code: "EROFS" });
  };
  fs.lutimesSync = (name, ...times) => {
    refuse(name);
    lutimesSync(name, ...times);
  };
  fs.accessSync = (name, mode = 0) => {
    if (how === "mounted" && (mode & fs.constants.W_OK) !== 0) refuse(name);
    accessSync(name, mode);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { accessSync, lutimesSync });
    syncBuiltinESMExports();
  });
}
