import path from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Path of a program that runs as a process of its own. It is beside the caller, both in the sources and in the bundle.
 */
export function childProgram(name: string, caller: string): string {
  return fileURLToPath(new URL(`./${name}${path.extname(caller)}`, caller));
}
