import { statfsSync } from "node:fs";
import type { DiskSpace } from "./space-rule.ts";

/** What the file system of a folder has left. Throws where the folder is not there. */
export function readDiskSpace(folder: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}
