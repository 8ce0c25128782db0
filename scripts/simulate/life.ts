import type { LoadedConfig } from "../../src/config/load.ts";
import { checkAccount, liftCredentialHolds } from "../../src/daemon/account.ts";
import { buildJobs } from "../../src/daemon/build-jobs.ts";
import { dueIn } from "../../src/daemon/job-runner.ts";
import { type Pattern, PLANNED, PlannedWork } from "../../src/daemon/planned-work.ts";
import { applyConfiguration, bringTimesBack } from "../../src/daemon/repair.ts";
import type { RunResult } from "../../src/daemon/run-job.ts";
import type { ScheduleEntry } from "../../src/daemon/scheduler.ts";
import { switchAccount } from "../../src/daemon/switch-account.ts";
import { MIGRATIONS_FOLDER } from "../../src/database/migrations.ts";
import { ErpObjects } from "../../src/database/objects/erp-objects.ts";
import { openStore } from "../../src/database/open.ts";
import type { Store } from "../../src/database/store.ts";
import type { Message } from "../../src/messages/message.ts";
import { createClient } from "../../src/pass/build-client.ts";
import { commit } from "../../src/pass/commit.ts";
import type { JobContext } from "../../src/pass/job.ts";
import { JOB_NAMES } from "../../src/pass/job-names.ts";
import { endFirstPasses, saveFlow } from "../../src/pass/runs.ts";
import { isoTime, type Log } from "../../src/platform/ports.ts";
import type { Random } from "../../src/sandbox/random.ts";
import { clockOfLife, type MachineClock, type SimulatedTime } from "./clock.ts";
import { type JournalDisk, SimulatedJournal } from "./journal.ts";
import { type LightConnection, LightStore } from "./light-store.ts";
import { type Line, SimulatedNetwork } from "./network.ts";

/** As in `Bridge.runJob`: work that is due so soon is waited for, so often. */
const DUE_SOON_MS = 30_000;
const DUE_ROUNDS = 2;

const DAY_MS = 86_400_000;
/** When the work of the night is due. */
const NIGHTLY: Pattern = {
  nextMs: (nowMs) => (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS,
  longestIntervalMs: () => DAY_MS,
};

/** Thrown when the program is killed. Nothing that the dead program does with it has an effect. */
class Killed extends Error {}

/** Called around each commit; the world may kill the program there. */
export interface CommitHooks {
  /** True: the program is killed here. */
  beforeCommit(life: ProgramLife): boolean;
  inCommit(life: ProgramLife): boolean;
  afterCommit(life: ProgramLife): boolean;
}

export interface LifeOptions {
  number: number;
  loaded: LoadedConfig;
  /** Undefined: a connection with everything that guards the database's files. */
  connection: LightConnection | undefined;
  /** Whether the schema may change while the program runs. */
  isSchemaWatched: boolean;
  /** A person has confirmed that the other address belongs to the same shop. */
  isAccountNew: boolean;
  /** The former life had the same secret, so it is not checked again: that costs more than a pass. */
  isSecretKnown: boolean;
  time: SimulatedTime;
  machine: MachineClock;
  line: Line;
  random: Random;
  hooks: CommitHooks;
  /** The disk with the journal of batches, where one is configured. */
  journal?: JournalDisk | undefined;
  /** Pages of updates per pass, where it is not the product's own limit. */
  pagesMax?: number | undefined;
  onLog: (level: string, message: string) => void;
  onResult: (life: ProgramLife, job: string, result: RunResult) => void;
}

/**
 * One life of the program, from start to end: the real store, client and jobs, assembled as in the daemon, without what
 * waits in real time (the scheduler) or outlives a crash (the instance lock).
 */
export class ProgramLife {
  readonly number: number;
  readonly secret: string;
  readonly origin: string;
  readonly store: Store;
  readonly context: JobContext;
  readonly entries: readonly ScheduleEntry[];
  readonly random: Random;
  readonly startedAtMs: number;
  readonly #connection: LightConnection | undefined;
  readonly #planned: PlannedWork;
  readonly #abort = new AbortController();
  #isDead = false;
  #isStopping = false;
  #preparing = 0;

  constructor(options: LifeOptions) {
    const { loaded, time, machine, line, hooks } = options;
    this.number = options.number;
    this.secret = loaded.config.service.client_secret;
    this.origin = loaded.config.service.base_url;
    this.random = options.random;
    this.startedAtMs = time.elapsedMs;
    const clock = clockOfLife(time, machine, this);
    const { path } = loaded.config.database;
    this.#connection = options.connection;
    this.store =
      options.connection === undefined
        ? openStore({ path, migrationsFolder: MIGRATIONS_FOLDER, mode: "daemon", now: clock.nowMs })
        : new LightStore(options.connection);
    // SQLite would wait for the ERP's lock in real time; the jobs wait in simulated time.
    this.store.db.pragma("busy_timeout = 0");
    const client = createClient({ loaded, clock, admit: undefined, dispatcher: new SimulatedNetwork(line, this) });
    const log = logTo(options.onLog);
    // The schema does not change in other lives.
    const objects = options.isSchemaWatched ? { objects: new ErpObjects(this.store) } : {};
    this.context = { store: this.store, client, clock, log, isStopping: () => this.#isStopping, ...objects };
    this.#planned = new PlannedWork(this.context, () => NIGHTLY);
    if (options.isAccountNew) this.store.write(() => switchAccount(this.store, loaded, clock.nowMs()));
    checkAccount(this.store, loaded);
    this.entries = buildJobs(this.context, {
      loaded,
      onResult: (job, result) => options.onResult(this, job, result),
      ...(options.pagesMax === undefined ? {} : { pagesMax: options.pagesMax }),
      ...(options.journal?.folder === undefined
        ? {}
        : { journal: new SimulatedJournal(options.journal, options.journal.folder, clock) }),
      readSpace: () => ({ free: 1e12, total: 2e12 }),
    });
    this.store.write(() => {
      bringTimesBack(this.store, isoTime(clock.nowMs()));
      endFirstPasses(this.store);
      const names = new Set(this.entries.map(({ runner }) => runner.name));
      for (const flow of JOB_NAMES) {
        const staleAfterS = flow === "reconcile" ? 3 * 86_400 : 300;
        saveFlow(this.store, { flow, enabled: names.has(flow), staleAfterS });
      }
      if (!options.isSecretKnown) liftCredentialHolds(this.store, loaded);
      applyConfiguration(this.store, loaded, isoTime(clock.nowMs()));
    });
    this.#watchCommits(hooks);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** From now on nothing that this program does has an effect. */
  die(): void {
    this.#isDead = true;
  }

  /** Runs jobs as the schedule does, except jobs in backoff. */
  trigger(filter: (entry: ScheduleEntry) => boolean): void {
    if (this.#isDead || this.#isStopping) return;
    for (const entry of this.entries) if (filter(entry)) entry.runner.trigger(this.#abort.signal);
  }

  /** As the command does: a pass of each of these jobs, one after the other, whatever their backoff. */
  sync(names: ReadonlySet<string>): void {
    this.#preparing += 1;
    const end = () => {
      this.#preparing -= 1;
    };
    this.#syncAll(names).then(end, end);
  }

  async #syncAll(names: ReadonlySet<string>): Promise<void> {
    for (const { runner, before, endWithBacklog } of this.entries) {
      if (this.#isStopping) return;
      if (before !== undefined || !names.has(runner.name) || this.#isDead) continue;
      const prepared = this.entries.filter((each) => each.before !== undefined && each.runner === runner);
      const release = endWithBacklog?.();
      try {
        await this.#planned.prepareDue(prepared, this.#abort.signal).catch(() => {}); // as in the command
        let result = await runner.runNow(this.#abort.signal);
        for (let round = 0; round < DUE_ROUNDS && result !== undefined; round++) {
          const dueInMs = dueIn(result) ?? Number.POSITIVE_INFINITY;
          if (dueInMs > DUE_SOON_MS || this.#isStopping) break;
          await this.context.clock.sleep(dueInMs, this.#abort.signal);
          result = await runner.runNow(this.#abort.signal);
        }
      } finally {
        release?.();
      }
    }
  }

  /**
   * Makes the planned work of this entry due, as when its time comes between two processes: the next one does it.
   */
  setDue({ runner }: ScheduleEntry): void {
    const { store, clock } = this.context;
    this.#preparing += 1;
    const end = () => {
      this.#preparing -= 1;
    };
    commit(this.context, this.#abort.signal, () => {
      const times = { ...PLANNED.load(store), [runner.name]: isoTime(clock.nowMs()) };
      PLANNED.save(store, times);
    }).then(end, end);
  }

  retryDue(): void {
    if (this.#isDead || this.#isStopping) return;
    for (const { runner, before } of this.entries) if (before === undefined) runner.retryIfDue(this.#abort.signal);
  }

  /**
   * Runs a job as the nightly schedule does: first its preparation (a wide re-poll, a comparison of all rows), which
   * takes time, then the pass.
   */
  triggerNightly(entry: ScheduleEntry): void {
    this.#preparing += 1;
    void this.#prepare(entry).then(() => {
      this.#preparing -= 1;
      this.trigger((each) => each === entry);
    });
  }

  async #prepare(entry: ScheduleEntry): Promise<void> {
    try {
      await entry.before?.(this.#abort.signal);
    } catch {
      // As in the scheduler, the pass runs anyway.
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isBusy(): boolean {
    return this.#preparing > 0 || this.entries.some(({ runner }) => runner.isRunning);
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The last writes of the jobs before the program ends by itself. */
  end(): void {
    try {
      for (const { atEnd } of this.entries) atEnd?.();
    } catch {
      // As in the daemon, the next start recovers.
    }
  }

  /** As on SIGTERM: running passes end at their next step, and are aborted when the daemon would abort them. */
  beginStop(): void {
    this.#isStopping = true;
  }

  abort(): void {
    this.#abort.abort();
  }

  /** Closes the program's files, as the kernel does when it has ended; `isClean`: as it does itself before. */
  close(isClean = false): void {
    this.#isDead = true;
    if (this.#connection === undefined && isClean) this.store.close();
    else if (this.#connection === undefined) this.store.db.close();
    else this.#connection.leave();
  }

  #watchCommits(hooks: CommitHooks): void {
    const { store } = this;
    const write = store.write.bind(store);
    const dieIf = (condition: boolean) => {
      if (!condition) return;
      this.die();
      throw new Killed();
    };
    store.write = <T>(fn: () => T): T => {
      dieIf(this.#isDead || hooks.beforeCommit(this));
      const result = write(() => {
        const done = fn();
        dieIf(hooks.inCommit(this));
        return done;
      });
      dieIf(hooks.afterCommit(this));
      return result;
    };
  }
}

function logTo(onLog: LifeOptions["onLog"]): Log {
  const at = (level: string) => (_fields: object, message: string | Message) => onLog(level, String(message));
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
