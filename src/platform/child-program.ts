import path from "node:path";
import { fileURLToPath } from "node:url";

/** The file of a program that is started as a process of its own. It lies beside the caller, in the sources and in the bundle alike. */
export function childProgram(name: string, caller: string): string {
  return fileURLToPath(new URL(`./${name}${path.extname(caller)}`, caller));
}
