/*
 * Finds the other programs that have a database open, and stops those that still use a database after it was replaced.
 * Only `spoilSharedMemory` writes.
 */
import { closeSync, readFileSync, readSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { openOnlyName } from "../../platform/fresh-file.ts";

export interface Opener {
  pid: number;
  /** The program's name; its pid where the name is hidden. */
  name: string;
}

/** Byte range of SQLite's locks in a database file: `PENDING_BYTE` and the next 511. */
const FILE_LOCKS = [1_073_741_824, 1_073_742_335] as const;
/** Byte range of the locks in the log's shared memory: each connection that has it open holds the last one. */
const MEMORY_LOCKS = [120, 128] as const;
const LOCK = /^\d+: (?:POSIX|OFDLCK)\s+ADVISORY\s+\S+\s+(\d+)\s+\w+:\w+:(\d+)\s+(\d+)\s+(\d+|EOF)/gm;

/**
 * All other programs that have read the database in WAL mode and not closed it: they hold a lock from then on. A program
 * that has not yet read, or that runs in another container, is not found.
 */
export function listOpeners(database: string): Opener[] {
  const places = [
    { inode: inodeOf(database), range: FILE_LOCKS },
    { inode: inodeOf(`${database}-shm`), range: MEMORY_LOCKS },
  ];
  const pids = new Set<number>();
  for (const [, pid, inode, from] of readLocks().matchAll(LOCK)) {
    const at = Number(from);
    if (places.some(({ inode: own, range }) => own === inode && at >= range[0] && at <= range[1]))
      pids.add(Number(pid));
  }
  pids.delete(process.pid);
  return [...pids].map((pid) => ({ pid, name: nameOf(pid) }));
}

function readLocks(): string {
  try {
    return readFileSync("/proc/locks", "latin1");
  } catch {
    return ""; // no such system
  }
}

function inodeOf(file: string): string | undefined {
  return statSync(file, { throwIfNoEntry: false, bigint: true })?.ino.toString();
}

function nameOf(pid: number): string {
  try {
    const [program = ""] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return path.basename(program) || String(pid);
  } catch {
    return String(pid);
  }
}

/** The header of the shared memory, `WalIndexHdr` in wal.c; it is stored twice. */
const HEADER_BYTES = 48;
const SUM_AT = 40;
/** Not a version of the WAL index that SQLite accepts. */
const NO_VERSION = 0xffff_ffff;

/**
 * Makes every connection that has this shared memory open fail with SQLITE_CANTOPEN at its next statement: it would
 * otherwise go on using a file that has been replaced. The database and its log are not changed; the next connection that
 * opens them rebuilds the shared memory from the log.
 */
export function spoilSharedMemory(memory: string): void {
  if (statSync(memory, { throwIfNoEntry: false }) === undefined) return;
  const file = openOnlyName(memory);
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    const words = new Uint32Array(header.buffer, header.byteOffset, HEADER_BYTES / 4);
    words[0] = NO_VERSION;
    // With a wrong checksum SQLite would treat it as damaged and rebuild it.
    words.set(sumOf(words.subarray(0, SUM_AT / 4)), SUM_AT / 4);
    writeSync(file, Buffer.concat([header, header]), 0, 2 * HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
}

/** `walChecksumBytes` of wal.c, in native byte order. */
function sumOf(words: Uint32Array): [number, number] {
  let [first, second] = [0, 0];
  for (let at = 0; at + 1 < words.length; at += 2) {
    first = (first + (words[at] ?? 0) + second) >>> 0;
    second = (second + (words[at + 1] ?? 0) + first) >>> 0;
  }
  return [first, second];
}
