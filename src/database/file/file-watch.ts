/*
 * Checks that the files which the open connections use still have the database's names. Commits to a removed log are
 * never read again, and locks in a second shared memory do not exclude those in the first. Reads metadata only.
 */

import { statSync } from "node:fs";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";

interface FileIdentity {
  dev: bigint;
  ino: bigint;
}

/** `gone`: the name does not exist, or its file is empty. `another`: another program uses a new file of that name. */
export type FileState = "same" | "gone" | "another";

export class FileWatch {
  readonly #file: string;
  readonly #identities: ReadonlyMap<string, FileIdentity | undefined>;

  /** To be called after the connection has opened its log. */
  constructor(file: string) {
    this.#file = file;
    this.#identities = new Map(["", "-wal", "-shm"].map((suffix) => [suffix, identityOf(`${file}${suffix}`)]));
  }

  /** The state of the write-ahead log and its shared memory: the worse of the two. */
  logState(): FileState {
    const states = (["-wal", "-shm"] as const).map((suffix) => this.#stateOf(suffix));
    return states.find((state) => state === "another") ?? states.find((state) => state === "gone") ?? "same";
  }

  databaseState(): FileState {
    return this.#stateOf("");
  }

  /**
   * Rows written to a database that was deleted or replaced under a running bridge are never read again, but would be
   * confirmed to the service. A second name of the file would get a second log.
   * @throws BridgeError `database_refused`
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
      // A folder always has several links; `logState` reports a folder in place of the log.
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
    // Opening the database creates an empty log: no evidence yet that another program writes.
    return suffix === "-wal" && stat.size === 0n ? "gone" : "another";
  }
}

function identityOf(file: string): FileIdentity | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : { dev: stat.dev, ino: stat.ino };
}
