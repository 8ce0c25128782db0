import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Random } from "../../src/sandbox/random.ts";

/** The files that survive a power cut, by their numbers in disk-shim.c; shared memory never does. */
const SUFFIXES = new Map([
  [1, ""],
  [2, "-wal"],
  [3, "-journal"],
]);
const FOLDER = 5;
const HEAD_BYTES = 16;
/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512;

const KINDS = ["", "write", "truncate", "sync", "sync failed", "create", "unlink"] as const;

/** One thing that was done to a file, in the order in which it was done. */
export interface DiskRecord {
  kind: (typeof KINDS)[number];
  file: number;
  /** Where it was written; the new length of a truncation. */
  offset: number;
  data: Buffer;
  /** Length of the log up to and with this record. */
  end: number;
}

/**
 * What a power cut does to what was not synced: nothing of it is there, all of it is, each sector is there or not by
 * chance, everything up to some write is, or everything from some write on.
 */
export const CUTS = ["drop all", "keep all", "random sectors", "prefix", "suffix"] as const;
export type Cut = (typeof CUTS)[number];

/** A log that a kill cut off in its last record ends before it. */
export function readDiskLog(file: string): DiskRecord[] {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const records: DiskRecord[] = [];
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const end = at + HEAD_BYTES + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) break;
    const kind = KINDS[bytes[at] ?? 0] ?? "";
    const data = bytes.subarray(at + HEAD_BYTES, end);
    records.push({ kind, file: bytes[at + 1] ?? 0, offset: Number(bytes.readBigInt64LE(at + 8)), data, end });
    at = end;
  }
  return records;
}

/** Bytes that grow and shrink in place. */
class Content {
  #bytes: Buffer;
  #length: number;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = Buffer.from(bytes);
    this.#length = bytes.length;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  change({ kind, offset, data }: DiskRecord): void {
    const length = kind === "truncate" ? offset : Math.max(this.#length, offset + data.length);
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      this.bytes.copy(larger);
      this.#bytes = larger;
    }
    if (length < this.#length) this.#bytes.fill(0, length, this.#length);
    this.#length = length;
    if (kind === "write") data.copy(this.#bytes, offset);
  }
}

/** One file: what is durable of it, and what was done since its last sync. */
interface FileState {
  durable: Content | undefined;
  pending: DiskRecord[];
}

/**
 * What a disk holds for certain and what it may hold. A sync of a file makes its content durable; making and removing
 * its name becomes durable with a sync of the folder, or by chance before.
 */
export class DiskImage {
  readonly #files = new Map<number, FileState>();

  /** Everything that is there now is durable: the machine has just started. */
  constructor(database: string) {
    for (const [file, suffix] of SUFFIXES) {
      const path = database + suffix;
      const durable = existsSync(path) ? new Content(readFileSync(path)) : undefined;
      this.#files.set(file, { durable, pending: [] });
    }
  }

  apply(record: DiskRecord): void {
    if (record.file === FOLDER) {
      if (record.kind === "sync") for (const state of this.#files.values()) settleNames(state);
      return;
    }
    const state = this.#files.get(record.file);
    if (state === undefined) return;
    if (record.kind === "sync") settleContent(state);
    // The kernel takes pages that could not be written for clean: no later sync brings them back.
    else if (record.kind === "sync failed") state.pending = state.pending.filter(({ kind }) => !isContent(kind));
    else state.pending.push(record);
  }

  /** Writes the files as one such power cut leaves them, under this name; without shared memory. */
  write(database: string, cut: Cut, random: Random): void {
    rmSync(`${database}-shm`, { force: true });
    for (const [file, suffix] of SUFFIXES) {
      const content = contentAfter(this.#files.get(file) as FileState, cut, random);
      if (content === undefined) rmSync(database + suffix, { force: true });
      else writeFileSync(database + suffix, content);
    }
  }
}

function isContent(kind: DiskRecord["kind"]): boolean {
  return kind === "write" || kind === "truncate";
}

/** A file's sync also makes its name durable, as on every journaling file system. */
function settleContent(state: FileState): void {
  for (const record of state.pending) state.durable = done(state.durable, record);
  state.pending = [];
}

function settleNames(state: FileState): void {
  const last = state.pending.findLastIndex(({ kind }) => kind === "create" || kind === "unlink");
  if (last === -1) return;
  state.durable = state.pending[last]?.kind === "create" ? new Content() : undefined;
  state.pending = state.pending.slice(last + 1);
}

function done(content: Content | undefined, record: DiskRecord): Content | undefined {
  if (record.kind === "unlink") return undefined;
  if (record.kind === "create") return new Content();
  const changed = content ?? new Content();
  changed.change(record);
  return changed;
}

function contentAfter({ durable, pending }: FileState, cut: Cut, random: Random): Buffer | undefined {
  if (cut === "drop all" || pending.length === 0) return durable?.bytes;
  const kept = keptOf(pending, cut, random);
  let content = durable === undefined ? undefined : new Content(durable.bytes);
  for (const record of kept) {
    if (cut !== "random sectors" || record.kind === "create") content = done(content, record);
    else if (record.kind === "write") {
      for (const sector of sectorsOf(record)) if (random() < 0.5) content = done(content, sector);
    } else if (random() < 0.5) content = done(content, record);
  }
  return content?.bytes;
}

function keptOf(pending: readonly DiskRecord[], cut: Cut, random: Random): readonly DiskRecord[] {
  if (cut !== "prefix" && cut !== "suffix") return pending;
  const at = Math.floor(random() * (pending.length + 1));
  // Names change in their order; only content is written back in any.
  return cut === "prefix" ? pending.slice(0, at) : pending.filter(({ kind }, index) => index >= at || !isContent(kind));
}

/** The write cut at the disk's own boundaries. */
function sectorsOf(record: DiskRecord): DiskRecord[] {
  const sectors: DiskRecord[] = [];
  for (let at = 0; at < record.data.length; ) {
    const offset = record.offset + at;
    const size = Math.min(SECTOR_BYTES - (offset % SECTOR_BYTES), record.data.length - at);
    sectors.push({ ...record, offset, data: record.data.subarray(at, at + size) });
    at += size;
  }
  return sectors;
}
