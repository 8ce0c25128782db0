import { BatchJournal } from "../../src/backup/batch-journal.ts";
import type { JournalEntry } from "../../src/batches/journal-batches.ts";
import { m } from "../../src/messages/messages.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import type { Clock } from "../../src/platform/ports.ts";

/** The disk with the journal, shared by all lives of the program. */
export class JournalDisk {
  readonly bodies: Buffer[] = [];
  isFull = false;
}

/** A journal in memory: appended data counts as flushed. */
export class SimulatedJournal extends BatchJournal {
  readonly #disk: JournalDisk;

  constructor(disk: JournalDisk, clock: Clock) {
    super("/journal", clock, { account: undefined, database: undefined });
    this.#disk = disk;
  }

  override append({ body }: JournalEntry): Promise<undefined> {
    if (this.#disk.isFull) return Promise.reject(new BridgeError("disk_full", m.platform.diskFull));
    this.#disk.bodies.push(Buffer.from(body));
    return Promise.resolve(undefined);
  }

  override prune(): Promise<number> {
    return Promise.resolve(0);
  }
}
