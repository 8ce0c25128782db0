/*
 * The files of an open database: whether they are whole, and still have its names. Once they are damaged, nothing is
 * written any more, and the next start verifies the database.
 */

import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import type { FileWatch } from "./file/file-watch.ts";
import type { LogKeeper } from "./log/log-keeper.ts";
import { isDamagedFile } from "./sqlite-errors.ts";
import type { Store } from "./store.ts";

/**
 * Damage to the files of an open database. `log removed`: the log was removed, and there is no other; `saved`: whether all
 * commits are in the database file by now. `replaced`: another program uses a new file of the same name, or the database
 * itself was removed. `older`: the content is an earlier state. `damaged`: the log was truncated, or the database was
 * overwritten or is corrupt; nothing is written any more.
 */
export type FileTrouble =
  | { kind: "log removed"; saved: boolean }
  | { kind: "lock removed" }
  | { kind: "older"; error: BridgeError }
  | { kind: "damaged"; error: BridgeError }
  | { kind: "replaced"; error: BridgeError };

type Checked = Pick<Store, "path" | "progress" | "onTrouble" | "noteTrouble">;

export class StoreFiles {
  readonly #store: Checked;
  readonly #watch: FileWatch;
  /** Protects the log from checkpoints without an fsync by other programs; only for the daemon's connection. */
  readonly #keeper: LogKeeper | undefined;
  /** Set once the database is damaged: nothing is written any more. */
  #damage: BridgeError | undefined;

  constructor(store: Checked, watch: FileWatch, keeper?: LogKeeper) {
    this.#store = store;
    this.#watch = watch;
    this.#keeper = keeper;
  }

  /** @throws BridgeError where the files are damaged, replaced or removed */
  check(): void {
    this.refuseDamage();
    this.refuseReplaced();
    this.refuseSpoilt();
  }

  /** Damage that was detected before. */
  refuseDamage(): void {
    if (this.#damage === undefined) return;
    this.#store.onTrouble({ kind: "damaged", error: this.#damage });
    throw this.#damage;
  }

  refuseReplaced(): void {
    try {
      this.#watch.refuseReplacedDatabase();
    } catch (error) {
      if (error instanceof BridgeError && this.#watch.databaseState() !== "same")
        this.#store.onTrouble({ kind: "replaced", error });
      this.#store.noteTrouble("files", error);
      throw error;
    }
  }

  /** Whether another program has truncated the log, or has overwritten the database. */
  isSpoilt(): boolean {
    return this.#keeper?.isCut() === true || this.#isOverwritten();
  }

  /** A log that was truncated in place must be neither appended to nor checkpointed. Outside of a transaction. */
  refuseSpoilt(): void {
    if (this.#isOverwritten()) this.#stop(this.#overwritten());
    else if (this.#keeper?.isCut() !== true) return;
    else if (this.#keeper.renew())
      throw new BridgeError("database_busy", m.database.logTruncated({ file: this.#store.path }));
    else {
      const hint = m.database.restartNeverTouch;
      this.#stop(new BridgeError("disk_failed", m.database.logSpoilt({ file: this.#store.path }), { hint }));
    }
    this.refuseDamage();
  }

  /**
   * Commits must be where the next start finds them. Where the log was removed and no program has created another, the
   * open connection still has it: it is checkpointed at once, and the commit is valid.
   */
  lookAtLog(): void {
    const state = this.#watch.logState();
    if (state === "same") {
      this.#keeper?.tend();
      return;
    }
    if (state === "gone") {
      const saved = this.settle();
      this.#store.onTrouble({ kind: "log removed", saved });
      if (saved) return;
    }
    const error = new BridgeError(
      "database_refused",
      state === "gone"
        ? m.database.logRemoved({ file: this.#store.path })
        : m.database.logReplaced({ file: this.#store.path }),
      { hint: m.database.closeAndRestart },
    );
    if (state === "another") this.#store.onTrouble({ kind: "replaced", error });
    throw error;
  }

  /** Checkpoints and flushes all commits. False where they remain in the log, on disk. Never throws. */
  settle(): boolean {
    return this.#damage === undefined && (this.#keeper?.settle() ?? false);
  }

  /** As `settle`; where commits remain in the log, the log is checked. */
  secure(): void {
    if (this.#keeper?.secure() !== true) this.lookAtLog();
  }

  /** Checkpoints a log that other programs have filled. */
  tend(): void {
    this.#keeper?.tend({ again: true });
  }

  /** Whether the open files have their names. `away`: all names are missing, as after its folder was moved or unmounted. */
  where(): "there" | "away" | "lost" {
    const [database, log] = [this.#watch.databaseState(), this.#watch.logState()];
    if (database === "same" && log === "same") return "there";
    const isAway = database === "gone" && log !== "another" && this.#keeper?.isDatabaseRemoved() === false;
    return isAway ? "away" : "lost";
  }

  /** To be called with errors of passes and checks. A damaged database is no longer written to; the next start verifies it. */
  notice(error: BridgeError): void {
    if (error.code === "database_corrupt" && this.#keeper !== undefined && isDamagedFile(error)) this.#stop(error);
  }

  /** Before the database is closed: ends the protection of the log. False where damage forbids to close it. Never throws. */
  release(): boolean {
    if (this.#damage === undefined && this.#isOverwritten()) this.#stop(this.#overwritten());
    if (this.#damage !== undefined) {
      this.#keeper?.abandon();
      return false;
    }
    this.#keeper?.settle();
    this.#keeper?.close();
    return true;
  }

  /** A log that was removed or replaced is left as it is, for other programs that have it open and for a person. */
  hasLog(): boolean {
    return this.#watch.logState() === "same";
  }

  #stop(error: BridgeError): void {
    if (this.#damage === undefined) {
      this.#damage = error;
      this.#store.progress?.suspect(error.code === "database_corrupt" ? "damage" : "log");
    }
    this.#store.onTrouble({ kind: "damaged", error: this.#damage });
  }

  /** Where the log was replaced, another program may checkpoint its own log; the replacement is reported instead. */
  #isOverwritten(): boolean {
    return this.#keeper?.isOverwritten() === true && this.#watch.logState() === "same";
  }

  #overwritten(): BridgeError {
    return new BridgeError("disk_failed", m.database.overwritten({ file: this.#store.path }), {
      hint: m.database.restartBringBack,
    });
  }
}
