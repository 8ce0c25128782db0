import { BatchJournal } from "../../src/backup/batch-journal.ts";
import { ReplayJournal } from "../../src/backup/replay-journal.ts";
import type { JournalEntry } from "../../src/batches/journal-batches.ts";
import { orderRulesOf } from "../../src/daemon/build-jobs.ts";
import { m } from "../../src/messages/messages.ts";
import type { JobContext } from "../../src/pass/job.ts";
import { BridgeError } from "../../src/platform/errors.ts";
import type { Clock } from "../../src/platform/ports.ts";
import { LightConnection, LightStore } from "./light-store.ts";
import type { World } from "./world.ts";

const RESTORED = "SELECT order_id FROM orders UNION SELECT reference FROM quarantine WHERE state = 'held'";

/** Bodies in another shape are kept until their orders were read one by one. */
const UNREAD = "SELECT group_concat(CAST(body AS TEXT)) FROM batches WHERE state = 'unread'";

/** The disk with the journals, shared by all lives of the program. */
export class JournalDisk {
  /** Where the program that runs keeps its journal; undefined: it has none. */
  folder: string | undefined;
  isFull = false;
  readonly #entries = new Map<string, JournalEntry[]>();
  /** By folder, the orders whose confirm was accepted while it was in force. */
  readonly #confirmed = new Map<string, Set<string>>();

  get entries(): JournalEntry[] {
    return this.folder === undefined ? [] : entryOf(this.#entries, this.folder, () => []);
  }

  get confirmed(): Set<string> {
    return this.folder === undefined ? new Set() : entryOf(this.#confirmed, this.folder, () => new Set());
  }
}

function entryOf<T>(map: Map<string, T>, key: string, make: () => T): T {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** A journal in memory: appended data counts as flushed. */
export class SimulatedJournal extends BatchJournal {
  readonly #disk: JournalDisk;

  constructor(disk: JournalDisk, folder: string, clock: Clock) {
    super(folder, clock, { account: undefined, database: undefined });
    this.#disk = disk;
  }

  override append({ note, body }: JournalEntry): Promise<undefined> {
    if (this.#disk.isFull) return Promise.reject(new BridgeError("disk_full", m.platform.diskFull));
    this.#disk.entries.push({ note, body: Buffer.from(body) });
    return Promise.resolve(undefined);
  }

  override prune(): Promise<number> {
    return Promise.resolve(0);
  }
}

/**
 * The database is lost: an empty one, restored from the journal in force, has each order whose confirm was accepted while
 * that one was in force, or holds its record, or keeps a body with it: both are read again.
 */
export async function checkRestore(world: World, file: string): Promise<void> {
  const { journal, versions, loaded, coverage, forms, wasMisinformed } = world;
  if (journal.folder === undefined || wasMisinformed || forms.shuffleKeys) return;
  const store = new LightStore(new LightConnection(file));
  const silent = () => {};
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const sleep = () => Promise.resolve();
  const clock = { nowMs: () => world.time.trueMs, monotonicMs: () => 0, random: () => 0, sleep };
  const context = {
    store,
    client: { hideSecrets: String },
    clock,
    log,
    isStopping: () => false,
  } as unknown as JobContext;
  const job = new ReplayJournal(context, orderRulesOf(loaded));
  for (const entry of journal.entries) await job.store(entry, new AbortController().signal);
  const restored = new Set(store.db.prepare(RESTORED).pluck().all());
  const unread = String(store.db.prepare(UNREAD).pluck().get()).toLowerCase();
  store.db.close();
  coverage.count("restored from the journal", journal.confirmed.size > 0 ? "orders" : "nothing");
  const isWhole = (id: string) => versions.newest(id) !== undefined && !versions.everOdd.has(id);
  const isKept = (id: string) => restored.has(id) || unread.includes(id);
  const missing = [...journal.confirmed].filter((id) => isWhole(id) && !isKept(id));
  if (missing.length > 0) world.fail(1, `confirmed, and a restore from the journal lacks ${missing.join(", ")}`);
}
