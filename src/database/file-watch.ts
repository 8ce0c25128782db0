/*
 * Whether the files that the open connections use still bear the database's names. A log that was removed under the
 * bridge would take commits that are never read again, and a second shared memory would make two worlds of locks.
 * Looks at metadata only.
 */

import { statSync } from "node:fs";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

interface FileIdentity {
  dev: bigint;
  ino: bigint;
}

/** `gone`: the name is free, or the file that has it is empty. `another`: another program works with a file of that name. */
export type FileState = "same" | "gone" | "another";

export class FileWatch {
  readonly #file: string;
  readonly #identities: ReadonlyMap<string, FileIdentity | undefined>;

  /** To be made once the connection has opened its log. */
  constructor(file: string) {
    this.#file = file;
    this.#identities = new Map(["", "-wal", "-shm"].map((suffix) => [suffix, identityOf(`${file}${suffix}`)]));
  }

  /** What has become of the write-ahead log and of the memory that is shared over it. */
  logState(): FileState {
    const states = (["-wal", "-shm"] as const).map((suffix) => this.#stateOf(suffix));
    return states.find((state) => state === "another") ?? states.find((state) => state === "gone") ?? "same";
  }

  databaseState(): FileState {
    return this.#stateOf("");
  }

  /**
   * A database that was renamed over or deleted under a running bridge would take rows that are never read again, and
   * they would be confirmed to the service. A second name makes a second log.
   */
  refuseReplacedDatabase(): void {
    if (this.databaseState() !== "same") {
      throw new BridgeError("database_refused", m.database.replaced({ file: this.#file }), {
        hint: m.database.bringBack,
      });
    }
    for (const suffix of ["", "-wal"]) {
      const stat = statSync(`${this.#file}${suffix}`, { throwIfNoEntry: false });
      const names = stat?.nlink ?? 1;
      // A folder always has several; that it is another file shows where the log is looked for.
      if (names <= 1 || stat?.isFile() !== true) continue;
      throw new BridgeError("database_refused", m.database.hardLinks({ file: `${this.#file}${suffix}`, names }), {
        hint: m.database.leaveOneName,
      });
    }
  }

  #stateOf(suffix: string): FileState {
    const known = this.#identities.get(suffix);
    const stat = statSync(`${this.#file}${suffix}`, { bigint: true, throwIfNoEntry: false });
    if (known === undefined) return "same";
    if (stat === undefined) return "gone";
    if (stat.dev === known.dev && stat.ino === known.ino) return "same";
    // Opening the database makes an empty log, which shows nothing yet.
    return suffix === "-wal" && stat.size === 0n ? "gone" : "another";
  }
}

function identityOf(file: string): FileIdentity | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : { dev: stat.dev, ino: stat.ino };
}
