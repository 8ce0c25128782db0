/*
 * How far a database has come, as numbers that grow with every batch that is stored. They stand in the database, in the
 * transaction that stores the batch, and in a small file beside it, which is written after that commit and before the
 * confirm. So the file is never ahead of the database that it was written for; where it is, that is an older one.
 */
import { hash } from "node:crypto";

export interface Progress {
  /** The number that a database got when it was made. */
  database: string;
  batches: number;
  events: number;
}

/** `log`: what only the log held may be lost. `damage`: SQLite has met a damaged page. */
export type Suspicion = "log" | "damage";

/** `older`: the database is not the one that was there last. */
export type DoubtKind = Suspicion | "older";

export interface Note extends Progress {
  /** Grows with each writing. */
  n: number;
  /** When it was written. */
  at: string;
  /** Why the database must be verified before it is used again; null where nothing speaks against it. */
  suspect: Suspicion | null;
}

/** Each of two slots is overwritten in turn, so that one that was torn leaves the other. */
export const SLOT_BYTES = 512;
export const SLOTS = 2;
const DIGEST_CHARACTERS = 16;

export function isBehind(own: Progress, note: Progress | undefined): boolean {
  if (note === undefined || note.database !== own.database) return false;
  return own.batches < note.batches || own.events < note.events;
}

/** What speaks against a database that is found; undefined where nothing does. */
export function doubtOf(own: Progress | undefined, note: Note | undefined): DoubtKind | undefined {
  if (own === undefined || note?.database !== own.database) return undefined;
  return note.suspect ?? (isBehind(own, note) ? "older" : undefined);
}

/** One slot: a digest and a line of JSON, filled up with spaces. */
export function encodeSlot(note: Note): Buffer {
  const json = JSON.stringify(note);
  const line = Buffer.from(`${digestOf(json)} ${json}`);
  return Buffer.concat([line, Buffer.alloc(SLOT_BYTES - 1 - line.length, " "), Buffer.from("\n")]);
}

/** The newest of the slots that are whole. */
export function decodeSlots(bytes: Buffer): Note | undefined {
  let newest: Note | undefined;
  for (let at = 0; at < SLOTS * SLOT_BYTES; at += SLOT_BYTES) {
    const text = bytes.toString("utf8", at, at + SLOT_BYTES).trimEnd();
    const [digest, json] = [text.slice(0, DIGEST_CHARACTERS), text.slice(DIGEST_CHARACTERS + 1)];
    if (digest === "" || digest !== digestOf(json)) continue;
    const note = JSON.parse(json) as Note;
    if (newest === undefined || note.n > newest.n) newest = note;
  }
  return newest;
}

function digestOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, DIGEST_CHARACTERS);
}
