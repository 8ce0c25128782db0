import { createHash } from "node:crypto";
import { SLICE_BYTES } from "../answers/json-text.ts";
import { atOnce, type Slices } from "../answers/slices.ts";
import type { JournalEntry, JournalNote } from "../batches/journal-batches.ts";

/** Marks the start of a frame, so that frames after a damaged one are found. */
const MAGIC = Buffer.from("EBJ1");
const HASH_BYTES = 32;
const HEADER_BYTES = MAGIC.length + 4 + 4 + HASH_BYTES;
/** A note is a few hundred bytes; a greater length is damage. */
const NOTE_BYTES_MAX = 65_536;

/**
 * Everything before the body of a frame: lengths, a digest of all that follows, and the note. In slices, because the
 * body can be large.
 */
export function* frameHeadInSlices({ note, body }: JournalEntry): Slices<Buffer> {
  const noteBytes = Buffer.from(JSON.stringify(note), "utf8");
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(noteBytes.length, 0);
  lengths.writeUInt32LE(body.length, 4);
  return Buffer.concat([MAGIC, lengths, yield* digestInSlices(lengths, noteBytes, body), noteBytes]);
}

/** Bytes that are not a complete frame. */
export interface DamagedEntry {
  bytes: Buffer;
  /** As far as it can be read; it may be damaged too. */
  note: JournalNote | undefined;
  /** The file ends before the frame does: the program or the machine died while writing, or the end was lost later. */
  isCut: boolean;
}

export interface ReadFrames {
  entries: JournalEntry[];
  damaged: DamagedEntry[];
}

/** Parses a file of frames. Damage is skipped up to the next complete frame. */
export function readFrames(bytes: Buffer): ReadFrames {
  const entries: JournalEntry[] = [];
  let at = 0;
  let goodUntil = 0;
  const damaged: DamagedEntry[] = [];
  const noteDamage = (end: number) => {
    if (end > goodUntil) damaged.push(damagedEntry(bytes.subarray(goodUntil, end), end === bytes.length));
  };
  while (at < bytes.length) {
    const frame = frameAt(bytes, at);
    if (frame !== undefined) {
      noteDamage(at);
      entries.push(frame.entry);
      at = frame.end;
      goodUntil = at;
      continue;
    }
    const next = bytes.indexOf(MAGIC, at + 1);
    at = next === -1 ? bytes.length : next;
  }
  noteDamage(bytes.length);
  return { entries, damaged };
}

function damagedEntry(bytes: Buffer, isLast: boolean): DamagedEntry {
  const head = MAGIC.subarray(0, bytes.length);
  const isHead = bytes.subarray(0, head.length).equals(head);
  return { bytes, note: readFirstNote(bytes), isCut: isLast && isHead && bytes.length < lengthOf(bytes) };
}

/** The length in a frame's header; at least that of the header. */
function lengthOf(bytes: Buffer): number {
  if (bytes.length < HEADER_BYTES) return HEADER_BYTES;
  return HEADER_BYTES + bytes.readUInt32LE(MAGIC.length) + bytes.readUInt32LE(MAGIC.length + 4);
}

/** The note of the first frame, from the start of a file; undefined where it cannot be read. */
export function readFirstNote(head: Buffer): JournalNote | undefined {
  if (head.length < HEADER_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const length = head.readUInt32LE(MAGIC.length);
  if (length > NOTE_BYTES_MAX || HEADER_BYTES + length > head.length) return undefined;
  try {
    return JSON.parse(head.subarray(HEADER_BYTES, HEADER_BYTES + length).toString("utf8")) as JournalNote;
  } catch {
    return undefined;
  }
}

/** Enough bytes to read a file's first note. */
export const FIRST_NOTE_BYTES = HEADER_BYTES + NOTE_BYTES_MAX;

function frameAt(bytes: Buffer, at: number): { entry: JournalEntry; end: number } | undefined {
  if (at + HEADER_BYTES > bytes.length || !bytes.subarray(at, at + MAGIC.length).equals(MAGIC)) return undefined;
  const lengths = bytes.subarray(at + MAGIC.length, at + MAGIC.length + 8);
  const noteLength = lengths.readUInt32LE(0);
  const noteStart = at + HEADER_BYTES;
  const bodyStart = noteStart + noteLength;
  const end = bodyStart + lengths.readUInt32LE(4);
  if (noteLength > NOTE_BYTES_MAX || end > bytes.length) return undefined;
  const noteBytes = bytes.subarray(noteStart, bodyStart);
  const body = bytes.subarray(bodyStart, end);
  const written = bytes.subarray(at + MAGIC.length + 8, noteStart);
  if (!atOnce(digestInSlices(lengths, noteBytes, body)).equals(written)) return undefined;
  return { entry: { note: JSON.parse(noteBytes.toString("utf8")) as JournalNote, body }, end };
}

function* digestInSlices(lengths: Buffer, note: Buffer, body: Buffer): Slices<Buffer> {
  const sum = createHash("sha256").update(lengths).update(note);
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    if (at > 0) yield;
    sum.update(body.subarray(at, at + SLICE_BYTES));
  }
  return sum.digest();
}
