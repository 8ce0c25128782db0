/*
 * Compares the open database with the note of its progress. An earlier copy can be loaded through SQLite itself, which
 * replaces no file: only the content reveals it.
 */

import { m } from "../../messages/messages.ts";
import { asError, BridgeError, isMachineFault } from "../../platform/errors.ts";
import { faultCodeOf, machineFaultOf } from "../sqlite-errors.ts";
import type { Store } from "../store.ts";
import {
  type DatabaseProblem,
  isBehind,
  isUnnoted,
  NOTED,
  type Note,
  type Progress,
  problemOf,
  type Standing,
  type Suspicion,
} from "./progress.ts";
import { countStart, markNoted, type ProgressNote, progressOf, raiseSequences } from "./progress-note.ts";

type Checked = Pick<Store, "db" | "path" | "write" | "onTrouble">;

export class ProgressCheck {
  readonly #store: Checked;
  readonly #note: ProgressNote;
  /** Whether the start has verified the database, and the note is of it. */
  #isTrusted = false;

  constructor(store: Checked, note: ProgressNote) {
    this.#store = store;
    this.#note = note;
  }

  /**
   * Writes the database's progress, already on disk, to the note. The note never decreases: where it is ahead, or of
   * another database, this is not the database that it was written for.
   * @throws BridgeError `database_refused`
   */
  save(): void {
    const own = this.compare();
    const { last } = this.#note;
    if (own === undefined || (last?.database === own.database && last.suspect !== null)) return;
    this.#write(own);
  }

  /** @throws BridgeError `database_refused` where the database is behind its note, or is another one */
  compare(): Standing | undefined {
    const { last } = this.#note;
    const own = this.#read(last);
    const isAnother = this.#isTrusted && (own?.database !== last?.database || own?.mark !== NOTED);
    if (isAnother || (own !== undefined && isBehind(own, last))) {
      const error = new BridgeError("database_refused", m.database.older({ file: this.#store.path }), {
        hint: m.database.restartVerifies,
      });
      if (this.#isTrusted) this.#store.onTrouble({ kind: "older", error });
      throw error;
    }
    if (this.#isTrusted && own?.isReset === true) this.#store.write(() => raiseSequences(this.#store.db, own));
    return own;
  }

  /** Why the database must be verified before use; undefined where there is no reason. */
  findProblem(): { kind: DatabaseProblem; isBehind: boolean; note: Note } | undefined {
    const note = this.#note.last;
    const own = progressOf(this.#store.db, note);
    const kind = problemOf(own, note);
    return kind === undefined || own === undefined || note === undefined
      ? undefined
      : { kind, isBehind: isBehind(own, note), note };
  }

  /** Whether a copy of this database has progressed further. */
  isBehind(other: Progress | undefined): boolean {
    if (other === undefined) return false;
    const asNote = { ...other, n: 0, at: "", suspect: null };
    const own = progressOf(this.#store.db, asNote);
    return own !== undefined && isBehind({ ...own, mark: undefined }, asNote);
  }

  /** Whether a daemon has used this database before. */
  get wasNoted(): boolean {
    return progressOf(this.#store.db, this.#note.last)?.mark !== undefined;
  }

  /** Whether anything was ever done with this database. */
  get wasUsed(): boolean {
    return (progressOf(this.#store.db, this.#note.last)?.passes ?? 0) > 0;
  }

  /** Whether this database once had a note and has none now. */
  get isUnnoted(): boolean {
    const { last } = this.#note;
    return isUnnoted(progressOf(this.#store.db, last), last);
  }

  /** To be called after the database was verified and possible losses were reported. */
  trust(): void {
    const own = progressOf(this.#store.db, this.#note.last);
    if (own === undefined) return;
    this.#write(own);
    if (own.mark !== NOTED) this.#store.write(() => markNoted(this.#store.db));
    this.#isTrusted = true;
    try {
      this.#store.write(() => countStart(this.#store.db));
    } catch (error) {
      // A full disk does not prevent the start; `write` has recorded it.
      if (!isMachineFault(asError(error))) throw error;
    }
  }

  /** For the next start, and for `status` until then. Uses the last note: the database may be unreadable by now. */
  suspect(suspicion: Suspicion): void {
    try {
      const own = this.#note.last ?? progressOf(this.#store.db, undefined);
      if (own !== undefined) this.#note.write(own, suspicion);
    } catch {
      // The next start detects the damage when it reads it.
    }
  }

  /** At a clean end: what was stored since the last request counts too. Never throws. */
  saveLast(): void {
    if (!this.#isTrusted) return;
    try {
      this.save();
    } catch {
      // The next start compares with the note as it is.
    }
  }

  close(): void {
    this.#note.close();
  }

  #read(note: Note | undefined): Standing | undefined {
    try {
      return progressOf(this.#store.db, note);
    } catch (error) {
      // The tables of another database, or none.
      if (this.#isTrusted && faultCodeOf(error) === "SQLITE_ERROR") return undefined;
      throw machineFaultOf(error, m.database.reading, this.#store.path) ?? error;
    }
  }

  #write(own: Progress): void {
    try {
      this.#note.write(own, null);
    } catch (error) {
      throw machineFaultOf(error, m.database.writingBeside, `${this.#store.path}.progress`) ?? error;
    }
  }
}
