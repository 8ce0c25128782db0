/*
 * The progress of a database: counters that increase with every stored batch, every event, and every request to the service
 * that cannot be taken back. The transaction that stores the batch or marks the request raises them in the database; a note
 * in a small file beside it is written after that commit and before the request. So the note is never ahead of the database
 * that it was written for: where it is ahead, the database is an older one.
 */
import { hash } from "node:crypto";

export interface Progress {
  /** The id that the database got when it was created. */
  database: string;
  batches: number;
  events: number;
  /** Key and digest of the newest row of each table. Absent where there is none, and in notes of older versions. */
  rows?: { [table in WitnessTable]?: RowMark | undefined };
  /**
   * How often requests were marked before they were sent: imports, statuses, confirms, and a `GET /orders` whose answer may
   * be lost. Absent where none ever was. Older versions counted only the last of them.
   */
  asked?: number;
  /** Number of passes and starts. Not in the note beside the database, which is not written at each pass. */
  passes?: number;
}

/** The counters that are stored with data kept outside of the database, such as copies. */
export type Reached = Required<Pick<Progress, "batches" | "events" | "passes">>;

/** Tables whose newest row is compared: an older copy that has reached the same counters has other rows under the same keys. */
export type WitnessTable = "orders" | "order_event_rows" | "batches";
export type RowMark = [key: number, digest: string];

/** The progress of a database compared with a note. */
export interface Standing extends Progress {
  /** A row in the note has other content in the database, or an order in the note is missing. */
  lacksRow: boolean;
  /** Whether another program has reset counters of SQLite's; the values of the note are then used. */
  isReset: boolean;
  /** `noted`: a note was once written beside it; `settled`: what a restore may have lost was reported. */
  mark: ProgressMark | undefined;
}

export type ProgressMark = "noted" | "settled";

/** `log`: commits that were only in the log may be lost. `damage`: SQLite has found a damaged page. */
export type Suspicion = "log" | "damage";

/** `older`: the database is behind its note. */
export type DatabaseProblem = Suspicion | "older";

export interface Note extends Progress {
  /** Increases with each write. */
  n: number;
  /** When it was written. */
  at: string;
  /** Why the database must be verified before it is used again; null where there is no reason. */
  suspect: Suspicion | null;
}

/** Two slots are overwritten in turn, so that a torn write leaves the other one. */
export const SLOT_BYTES = 512;
export const SLOTS = 2;
const DIGEST_CHARACTERS = 16;

export function isBehind(own: Progress & Partial<Standing>, note: Progress | undefined): boolean {
  if (note === undefined || note.database !== own.database || own.mark === "settled") return false;
  if (own.passes !== undefined && note.passes !== undefined && own.passes < note.passes) return true;
  if ((own.asked ?? 0) < (note.asked ?? 0)) return true;
  return own.lacksRow === true || own.batches < note.batches || own.events < note.events;
}

/** Compares two states of one database by content, not by a clock; earlier first, for `sort`. */
export function compareReach(a: Partial<Progress>, b: Partial<Progress>): number {
  for (const number of ["batches", "events", "passes"] as const) {
    const difference = (a[number] ?? 0) - (b[number] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Whether a database that once had a note has none, or the note beside it is of another database. It may be an earlier
 * copy of which only the database file was put here, however little was in it when it was made.
 */
export function isUnnoted(own: Standing | undefined, note: Note | undefined): boolean {
  if (own === undefined || own.mark === "settled" || note?.database === own.database) return false;
  return own.mark === NOTED || (note !== undefined && (note.batches > 0 || (note.asked ?? 0) > 0));
}

export function markOf(key: number, row: string): RowMark {
  return [key, digestOf(row)];
}

/** Marks stored in the database: a note was once written beside it, or a restore was settled beside this note. */
export const NOTED = "noted";

export function settledBeside(note: Note | undefined): string {
  return `settled:${note === undefined ? 0 : note.n + (note.suspect === null ? 0 : 1)}`;
}

export function readMark(mark: string | undefined, note: Note | undefined): ProgressMark | undefined {
  if (mark === undefined) return undefined;
  return mark === `settled:${note?.n ?? 0}` ? "settled" : NOTED;
}

/** Why a database must be verified before use; undefined where there is no reason. */
export function problemOf(
  own: (Progress & Partial<Standing>) | undefined,
  note: Note | undefined,
): DatabaseProblem | undefined {
  if (own === undefined || note?.database !== own.database) return undefined;
  return note.suspect ?? (isBehind(own, note) ? "older" : undefined);
}

/** One slot: a digest and a line of JSON, padded with spaces. */
export function encodeSlot(note: Note): Buffer {
  const json = JSON.stringify(note);
  const line = Buffer.from(`${digestOf(json)} ${json}`);
  return Buffer.concat([line, Buffer.alloc(SLOT_BYTES - 1 - line.length, " "), Buffer.from("\n")]);
}

/** The newest slot with a valid digest. */
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
