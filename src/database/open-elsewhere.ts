/*
 * Which other programs have a database open, and what becomes of those that go on with one whose name another file has got.
 * Only looks, but for `spoilSharedMemory`.
 */
import { closeSync, readFileSync, readSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { openOnlyName } from "../platform/fresh-file.ts";

export interface Opener {
  pid: number;
  /** The program's name; its number where it is hidden. */
  name: string;
}

/** Where SQLite locks a database file (`PENDING_BYTE` and the 512 bytes from there) … */
const FILE_LOCKS = [1_073_741_824, 1_073_742_335] as const;
/** … and the memory that is shared over its log: a connection that has it open holds the last of these. */
const MEMORY_LOCKS = [120, 128] as const;
const LOCK = /^\d+: (?:POSIX|OFDLCK)\s+ADVISORY\s+\S+\s+(\d+)\s+\w+:\w+:(\d+)\s+(\d+)\s+(\d+|EOF)/gm;

/**
 * Every program but this one that has read the database in the write-ahead log's mode and has not closed it: it holds a
 * lock from then on. One that has never read, or that another container hides, is not found.
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

/** Of the header of the shared memory, in wal.c `WalIndexHdr`: it stands there twice. */
const HEADER_BYTES = 48;
const SUM_AT = 40;
/** No version of SQLite's. */
const NO_VERSION = 0xffff_ffff;

/**
 * Makes every connection that has this memory open fail with SQLITE_CANTOPEN at its next statement. It would go on reading
 * and writing a file that no other program uses any more. Nothing of the database or its log is changed: the memory is
 * made anew from the log by who opens it next.
 */
export function spoilSharedMemory(memory: string): void {
  if (statSync(memory, { throwIfNoEntry: false }) === undefined) return;
  const file = openOnlyName(memory);
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    const words = new Uint32Array(header.buffer, header.byteOffset, HEADER_BYTES / 4);
    words[0] = NO_VERSION;
    // With a wrong sum it would be taken for damaged, and made anew.
    words.set(sumOf(words.subarray(0, SUM_AT / 4)), SUM_AT / 4);
    writeSync(file, Buffer.concat([header, header]), 0, 2 * HEADER_BYTES, 0);
  } finally {
    closeSync(file);
  }
}

/** `walChecksumBytes` of wal.c, in the machine's own order of bytes. */
function sumOf(words: Uint32Array): [number, number] {
  let [first, second] = [0, 0];
  for (let at = 0; at + 1 < words.length; at += 2) {
    first = (first + (words[at] ?? 0) + second) >>> 0;
    second = (second + (words[at + 1] ?? 0) + first) >>> 0;
  }
  return [first, second];
}
