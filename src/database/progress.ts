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
  /** The newest row of each table: its key and a digest. Absent where there is none, and in notes of older versions. */
  rows?: { [table in WitnessTable]?: RowMark | undefined };
  /** How many passes and starts there were. Not in the note beside the database, which is not written at each pass. */
  passes?: number;
}

/** What is noted with something that is put elsewhere. */
export type Reached = Required<Pick<Progress, "batches" | "events" | "passes">>;

/** An older copy that has come as far again has other rows under the same keys. */
export type WitnessTable = "orders" | "order_event_rows" | "batches";
export type RowMark = [key: number, digest: string];

/** A database as it is found, compared with a note. */
export interface Standing extends Progress {
  /** A row that was noted is another one, or an order that was noted is not there. */
  lacksRow: boolean;
  /** Numbers of SQLite's that another program has reset; they count as noted. */
  isReset: boolean;
  /** `noted`: a note was written beside it once; `settled`: a restore has settled what may be missing. */
  mark: ProgressMark | undefined;
}

export type ProgressMark = "noted" | "settled";

/** `log`: what only the log held may be lost. `damage`: SQLite has found a damaged page. */
export type Suspicion = "log" | "damage";

/** `older`: the database is not the one that was there last. */
export type DoubtKind = Suspicion | "older";

export interface Note extends Progress {
  /** Grows with each writing. */
  n: number;
  /** When it was written. */
  at: string;
  /** Why the database must be verified before it is used again; null where there is no reason. */
  suspect: Suspicion | null;
}

/** Each of two slots is overwritten in turn, so that one that was torn leaves the other. */
export const SLOT_BYTES = 512;
export const SLOTS = 2;
const DIGEST_CHARACTERS = 16;

export function isBehind(own: Progress & Partial<Standing>, note: Progress | undefined): boolean {
  if (note === undefined || note.database !== own.database || own.mark === "settled") return false;
  if (own.passes !== undefined && note.passes !== undefined && own.passes < note.passes) return true;
  return own.lacksRow === true || own.batches < note.batches || own.events < note.events;
}

/** Which of two states of one database is the later one, by what it holds: no clock's word. As a sort does, earlier first. */
export function compareReach(a: Partial<Progress>, b: Partial<Progress>): number {
  for (const number of ["batches", "events", "passes"] as const) {
    const difference = (a[number] ?? 0) - (b[number] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Whether the note of a database that had one is gone: it may be an earlier copy, with everything else removed. The number
 * of a database that lost its own is another one than the note's.
 */
export function isUnnoted(own: Standing | undefined, note: Note | undefined): boolean {
  if (own === undefined || own.mark === "settled" || note?.database === own.database) return false;
  return (own.mark === NOTED && own.batches > 0) || (note !== undefined && note.batches > 0);
}

export function markOf(key: number, row: string): RowMark {
  return [key, digestOf(row)];
}

/** In the database: that a note was written beside it once, or that a restore has settled what it may lack beside this note. */
export const NOTED = "noted";

export function settledBeside(note: Note | undefined): string {
  return `settled:${note === undefined ? 0 : note.n + (note.suspect === null ? 0 : 1)}`;
}

export function readMark(mark: string | undefined, note: Note | undefined): ProgressMark | undefined {
  if (mark === undefined) return undefined;
  return mark === `settled:${note?.n ?? 0}` ? "settled" : NOTED;
}

/** Why a database that is found must be verified; undefined where there is no reason. */
export function doubtOf(
  own: (Progress & Partial<Standing>) | undefined,
  note: Note | undefined,
): DoubtKind | undefined {
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
