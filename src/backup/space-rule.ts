import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

/** What a file system has left, in bytes. */
export interface DiskSpace {
  /** For this program: without what the system keeps back for its administrator. */
  free: number;
  total: number;
}

/** As everywhere where people read it: a million. */
const MB = 1_000_000;

/**
 * Below this no further batch is asked for. A batch needs room twice, in the write-ahead log and in the database, and
 * what is stored already must still be confirmed, pushed and taken by the ERP, which all write too.
 */
const STOP_BYTES = 128 * MB;
/** Below this a person is notified: the copy before a migration and a day of orders need room. */
const WARN_BYTES = 512 * MB;
/** Twice what stopped it: otherwise one batch would use up what has just become free, and so on. */
const RESUME_FACTOR = 2;
/** Of a small file system such sizes would be all or much of it: there a share of the whole counts. */
const STOP_SHARE = 0.03;
const WARN_SHARE = 0.1;

export function stopBelow({ total }: DiskSpace): number {
  return Math.min(STOP_BYTES, total * STOP_SHARE);
}

/** `full`: no further batch; `low`: a person should look. A stop that stands ends only with some room to spare. */
export function judgeSpace(space: DiskSpace, isStopped: boolean): "room" | "low" | "full" {
  const stop = stopBelow(space);
  if (space.free < (isStopped ? stop * RESUME_FACTOR : stop)) return "full";
  return space.free < Math.min(WARN_BYTES, space.total * WARN_SHARE) ? "low" : "room";
}

/** `90 MB`, `1.5 GB` */
export function sizeOf(bytes: number): Message {
  return m.common.size({ bytes });
}
