import { statfsSync } from "node:fs";
import type { DiskSpace } from "./space-rule.ts";

/** Space of a folder's file system. Throws where the folder does not exist. */
export function readDiskSpace(folder: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}
