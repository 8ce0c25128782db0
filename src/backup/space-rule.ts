import { statfsSync } from "node:fs";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** Free and total space of a file system, in bytes. */
export interface DiskSpace {
  /** Available to this program, without the part reserved for root. */
  free: number;
  total: number;
}

/** A million, as in all displayed sizes. */
const MB = 1_000_000;

/**
 * Below this no further batch is pulled. A batch needs its size twice, in the write-ahead log and in the database, and
 * stored data must still be confirmed, sent and read by the ERP, which all write too.
 */
const STOP_BYTES = 128 * MB;
/** Below this a person is notified: the copy before a migration and a day of orders need room. */
const WARN_BYTES = 512 * MB;
/** Twice the stop limit: otherwise one batch would use up the space that was just freed. */
const RESUME_FACTOR = 2;
/** On a small file system the limits are shares of the whole. */
const STOP_SHARE = 0.03;
const WARN_SHARE = 0.1;

export function stopBelow({ total }: DiskSpace): number {
  return Math.min(STOP_BYTES, total * STOP_SHARE);
}

/** `full`: no further batch; `low`: a person should look. An existing stop ends only with some room to spare. */
export function judgeSpace(space: DiskSpace, isStopped: boolean): "room" | "low" | "full" {
  const stop = stopBelow(space);
  if (space.free < (isStopped ? stop * RESUME_FACTOR : stop)) return "full";
  return space.free < Math.min(WARN_BYTES, space.total * WARN_SHARE) ? "low" : "room";
}

/** `90 MB`, `1.5 GB` */
export function sizeOf(bytes: number): Message {
  return m.common.size({ bytes });
}

/** Space of a folder's file system. Throws where the folder does not exist. */
export function readDiskSpace(folder: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}
