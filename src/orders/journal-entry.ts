import type { Reached } from "../database/progress.ts";

/** What is known of a body, beside the body itself. */
export interface JournalNote {
  /** When the answer came: UTC, ISO 8601. */
  receivedAt: string;
  /** What makes it the same batch again. */
  fingerprint: string;
  /** The `Date` header of the answer. */
  date: string | undefined;
  /** Whose batch it is; absent in journals of older versions. */
  account?: string | undefined;
  database?: string | undefined;
  /** How far the database had come before this batch was stored; absent in journals of older versions. */
  reached?: Reached | undefined;
}

export interface JournalEntry {
  note: JournalNote;
  body: Buffer;
}

/** Where bodies are kept a second time. */
export interface BodyJournal {
  /** Flushed when it resolves. Throws `disk_full`, `disk_failed`, `database_refused` with the journal's folder. */
  append(entry: JournalEntry): Promise<void>;
}
