import { saveUnlinked } from "../backup/save-unlinked.ts";
import type { ReadSpace } from "../backup/watch-disk.ts";
import { acceptedConfig } from "../config/accepted.ts";
import { handedOverSecret } from "../config/credential.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { acquireInstanceLock, type InstanceLock } from "../database/file/instance-lock.ts";
import { finishSwap } from "../database/file/swap-files.ts";
import { ErpObjects } from "../database/objects/erp-objects.ts";
import type { Store } from "../database/store.ts";
import type { FileTrouble } from "../database/store-files.ts";
import { disarmTriggers } from "../feeds/source/feed-triggers.ts";
import { PAGE_SILENCE } from "../health/health-rows.ts";
import { reportConditions } from "../health/status.ts";
import { LOOK_MS as WATCH_MS, type Watch } from "../health/watch.ts";
import { type Watched, watchConditions } from "../health/watched.ts";
import { readAllTexts } from "../messages/catalogues.ts";
import { m } from "../messages/messages.ts";
import { type Fenced, saveFenced } from "../mirror/claim/fenced.ts";
import { switchMirror } from "../mirror/mirror-state.ts";
import type { RunMirror } from "../mirror/run-mirror.ts";
import { wideViewsOf } from "../orders/wide-views.ts";
import { createClient } from "../pass/build-client.ts";
import { commit, LAST_WRITES_MS } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { type FlowName, JOB_NAMES, type JobName, UPKEEP_NAMES } from "../pass/job-names.ts";
import { newDatabaseStatements } from "../pass/open-database.ts";
import { endFirstPasses, hasFlow, saveFlow } from "../pass/runs.ts";
import { closeSyncRequests } from "../pass/sync-request-rows.ts";
import { machineZone } from "../platform/clock.ts";
import { asError } from "../platform/errors.ts";
import { Liveness } from "../platform/liveness.ts";
import { type Clock, isoTime, type Log } from "../platform/ports.ts";
import { Troubles } from "../platform/troubles.ts";
import type { ServiceClient } from "../service/client.ts";
import { KEPT_REQUESTS } from "../statuses/waiting-requests.ts";
import type { WebServer } from "../web/web-server.ts";
import { accountKeeper, checkAccount, liftCredentialHolds } from "./account.ts";
import { SyncRequestPoller } from "./answer-sync.ts";
import { buildJobs } from "./build-jobs.ts";
import { buildMirror } from "./build-mirror.ts";
import { buildWatch } from "./build-watch.ts";
import { buildWeb } from "./build-web.ts";
import { CronTimes } from "./cron-times.ts";
import type { JobRunner } from "./job-runner.ts";
import { noteDatabase, refuseMissingDatabase } from "./missing-database.ts";
import { PlannedWork } from "./planned-work.ts";
import { applyConfiguration, bringTimesBack } from "./repair.ts";
import { RunByName } from "./run-by-name.ts";
import type { RunResult } from "./run-job.ts";
import { Scheduler } from "./scheduler.ts";
import { openForDaemon, settleDatabaseProblem } from "./suspect-database.ts";

/** How long passes may continue after the first SIGTERM before their requests are aborted. */
const DRAIN_MS = 7_000;
/** How long an abort may take: its last writes, and what follows them. */
const ABORT_MS = LAST_WRITES_MS + 500;
/** Added to the longest request timeout: a pass that shows no sign of life for longer hangs. */
const HANGING_MS = 10 * 60_000;
/** Interval of checks of the files while nothing is written. */
const LOOK_MS = 1_000;

export interface BridgeOptions {
  loaded: LoadedConfig;
  log: Log;
  clock: Clock;
  /** Called with every finished pass, instead of logging it. */
  onResult?: (job: string, result: RunResult) => void;
  /** Free space of a file system; from the system by default. */
  readSpace?: ReadSpace;
  /** Troubles of the process, which outlive a reload; new ones if absent. */
  troubles?: Troubles;
}

/** All acting parts, built once from the configuration. Shared by `run`, `sync` and the tests. */
export class Bridge {
  readonly store: Store;
  readonly client: ServiceClient;
  readonly context: JobContext;
  readonly runners: ReadonlyMap<FlowName, JobRunner>;
  readonly watch: Watch;
  /** The current facts and conditions, cached for everything that polls them. */
  readonly watched: () => Watched;
  /** Undefined where it is switched off. */
  readonly web: WebServer | undefined;
  readonly #lock: InstanceLock;
  readonly #scheduler: Scheduler;
  readonly #byName: RunByName;
  readonly #poller: SyncRequestPoller;
  /** Last writes of jobs at the end of the program. */
  readonly #ends: readonly (() => void)[];
  readonly #hangingMs: number;
  readonly #mirror: RunMirror | undefined;
  /**
   * Resolves when the files have changed in a way that only a new start can handle, or another machine has the shop.
   */
  readonly trouble: Promise<FileTrouble | { kind: "fenced"; error: Fenced }>;
  #endFenced: (error: Fenced) => void = () => {};
  #isLogRemoved = false;
  #looks: NodeJS.Timeout | undefined;
  #isStopping = false;

  /**
   * Takes the instance lock, opens the database and builds the jobs. Sends no request.
   * @throws BridgeError `instance_running`, `database_…`, `account_changed`
   */
  constructor(options: BridgeOptions, command: string) {
    const startedAtMs = options.clock.nowMs();
    const { config } = options.loaded;
    readAllTexts("en", config.language);
    const { total, import: importing } = config.service.timeouts;
    this.#hangingMs = Math.max(total, importing) + HANGING_MS;
    const secret = handedOverSecret(options.loaded, process.env);
    const accepted = acceptedConfig(options.loaded);
    this.#lock = acquireInstanceLock(config.database.path, {
      command,
      ...(secret === undefined ? {} : { secret }),
      ...(accepted === undefined ? {} : { config: accepted }),
    });
    try {
      finishSwap(config.database.path);
      refuseMissingDatabase(options.loaded);
      this.store = openForDaemon(options.loaded, options.troubles ?? new Troubles(() => options.clock.nowMs()));
    } catch (error) {
      this.#lock.release();
      throw error;
    }
    this.trouble = new Promise((resolve) => {
      this.store.onTrouble = (trouble) => {
        this.#isLogRemoved ||= trouble.kind === "log removed";
        resolve(trouble);
      };
      this.#endFenced = (error) => {
        this.#stopAsking(error);
        resolve({ kind: "fenced", error });
      };
    });
    const clock = Liveness.clock(options.clock);
    const requireAccount = accountKeeper(this.store, options.loaded);
    const admit = async () => {
      await this.#mirror?.admit();
      requireAccount();
    };
    this.client = createClient({ ...options, clock, admit });
    const { store, client } = this;
    const isStopping = () => {
      Liveness.touch();
      return this.#isStopping;
    };
    const beside = { store, client, log: options.log, clock, isStopping };
    const wideViews = wideViewsOf(config.orders);
    const objects = new ErpObjects(store, wideViews);
    this.context = { ...beside, objects, requireAccount };
    try {
      const { journalAside } = store;
      if (journalAside !== undefined)
        options.log.warn({ file: journalAside }, m.daemon.journalAside({ path: store.path, aside: journalAside }));
      checkAccount(store, options.loaded);
      noteDatabase(store, options.loaded);
      const verify = { schema: newDatabaseStatements, log: options.log };
      const gap = settleDatabaseProblem(store, options.loaded, { nowMs: clock.nowMs(), ...verify });
      if (gap !== undefined) options.log.warn({ area: "orders", reason: "restored" }, gap);
      this.#mirror = buildMirror(this.context, options.loaded, {
        sentence: () => {
          const { conditions, facts, nowMs } = this.watched();
          return reportConditions(conditions, facts, { nowMs }).sentence;
        },
        onFenced: (error) => this.#endFenced(error),
      });
      const schedules = buildJobs(this.context, { ...options, mirror: this.#mirror });
      this.runners = new Map(schedules.map(({ runner }) => [runner.name as FlowName, runner]));
      this.#ends = schedules.flatMap(({ atEnd }) => atEnd ?? []);
      const zone = config.timezone ?? machineZone();
      const planned = new PlannedWork(this.context, ({ pattern }) => new CronTimes(pattern, zone));
      this.#scheduler = new Scheduler(schedules, { ...options, zone, planned });
      const { signal } = this.#scheduler;
      this.#byName = new RunByName(this.context, schedules, { planned, signal, mirror: this.#mirror });
      let made: string[] = [];
      const needsRemap = store.write(() => {
        made = objects.restore();
        bringTimesBack(store, isoTime(clock.nowMs()));
        this.#saveFlows();
        switchMirror(store, this.#mirror !== undefined);
        PAGE_SILENCE.delete(store);
        if (liftCredentialHolds(store, options.loaded) > 0) options.log.info({}, m.daemon.newCredentials);
        return applyConfiguration(store, options.loaded, isoTime(options.clock.nowMs()));
      });
      objects.noteRestored();
      // Views that changed with the configuration are not worth a warning.
      const names = made.filter((name) => !Object.hasOwn(wideViews, name));
      if (names.length > 0) options.log.warn({}, m.database.ownMadeAgain({ names }));
      if (needsRemap) options.log.warn({}, m.daemon.newMapping);
    } catch (error) {
      this.#abandon();
      throw error;
    }
    const limits = { erpReadWithinMs: config.erp.read_within };
    this.watched = watchConditions({ store, clock, startedAtMs, everyMs: WATCH_MS }, limits);
    this.watch = buildWatch(beside, objects, options.loaded, this.watched);
    this.web = buildWeb(this.context, options.loaded);
    this.#poller = new SyncRequestPoller(beside, (name, only) => this.runJob(name as JobName, only));
  }

  /**
   * Records the flows for `sync_status`, and drops the triggers of feeds that were switched off, whose rows would pile
   * up unread.
   */
  #saveFlows(): void {
    const { store } = this;
    endFirstPasses(store);
    for (const name of [...JOB_NAMES, ...UPKEEP_NAMES]) {
      const runner = this.runners.get(name);
      const intervalMs = runner === undefined ? 0 : (this.#scheduler.intervals.get(runner) ?? 0);
      // Most shops have no mirror, and need no line about it.
      if (name === "mirror" && runner === undefined && !hasFlow(store, name)) continue;
      saveFlow(store, { flow: name, enabled: runner !== undefined, staleAfterS: staleAfterS(intervalMs) });
    }
    for (const name of FEED_NAMES) if (!this.runners.has(name)) disarmTriggers(store, name);
  }

  /** Closes what a start that failed has opened. */
  #abandon(): void {
    this.#mirror?.close();
    this.store.close();
    this.#lock.release();
  }

  /** Runs the jobs by schedule until `stop`. */
  start(): void {
    const { store, context } = this;
    try {
      store.write(() => {
        closeSyncRequests(store, isoTime(context.clock.nowMs()));
        KEPT_REQUESTS.delete(store);
      });
    } catch (error) {
      this.#abandon();
      throw error;
    }
    this.#scheduler.start();
    this.#poller.start(this.#scheduler.signal);
    this.watch.start();
    this.web?.start();
    this.#lock.signal(this.store.troubles.first);
    this.#looks = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Another machine works for the shop: running passes end at their next step, and none starts. */
  #stopAsking(error: Fenced): void {
    this.#isStopping = true;
    this.#scheduler.pause();
    if (!error.isTakenOver) return;
    try {
      this.store.write(() => saveFenced(this.store, error));
    } catch (thrown) {
      this.context.log.debug({ errorCode: asError(thrown).code }, "The takeover could not be written down.");
    }
  }

  /** Changed files end `trouble`; other failures of a check fail the passes as well, which report them. */
  #look(): void {
    this.#lock.signal(this.store.troubles.first);
    try {
      this.store.look();
      // Last, because the lock also disappears with the whole folder, which the look reports.
      if (this.#lock.isLost()) this.store.onTrouble({ kind: "lock removed" });
    } catch (error) {
      this.context.log.debug({ errorCode: asError(error).code }, "A look at the database's files failed.");
    }
  }

  /** Resolves once no other program holds the write lock, or the signal is aborted, or writing fails for another reason. */
  async whenWritable(signal: AbortSignal): Promise<void> {
    await commit(this.context, signal, () => {}).catch(() => {});
  }

  /** Saves a copy of the open database after its files were removed or replaced. Returns the copy's name. */
  saveUnlinked(): Promise<string | undefined> {
    return saveUnlinked(this.store, this.context.clock.nowMs());
  }

  /** Name of a flow that hangs until the process is restarted; undefined where none does. */
  findStalled(): string | undefined {
    return this.#scheduler.findStalled(this.#hangingMs);
  }

  /** {@link RunByName.runJob} */
  runJob(name: FlowName, only?: string): Promise<RunResult> {
    return this.#byName.runJob(name, only);
  }

  /** {@link RunByName.sync} */
  sync(...given: Parameters<RunByName["sync"]>): Promise<void> {
    return this.#byName.sync(...given);
  }

  /** Lets running passes end, aborts those that take too long, and closes everything. Takes at most 10 s. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looks);
    this.#poller.stop();
    this.#scheduler.pause();
    const watched = Promise.all([this.watch.stop(), this.web?.stop()]);
    const passes = Promise.all([...this.runners.values(), this.#poller].map((worker) => worker.whenIdle()));
    if (!(await this.#endsWithin(passes, DRAIN_MS))) {
      this.#scheduler.abort();
      await this.#endsWithin(passes, ABORT_MS);
    }
    this.#scheduler.abort();
    await watched;
    await this.client.close();
    this.#mirror?.close();
    this.#endJobs();
    // A log that was removed is deleted when the connection closes, so its content is saved first.
    if (this.#isLogRemoved && this.store.db.open && !this.store.settle()) await this.saveUnlinked();
    this.store.close();
    this.#lock.release();
  }

  /** Where the disk refuses these writes, the next start recovers as after a crash. */
  #endJobs(): void {
    try {
      if (this.store.db.open && !this.#isLogRemoved) for (const end of this.#ends) end();
    } catch (error) {
      this.context.log.debug({ errorCode: asError(error).code }, "The end of a job could not be written.");
    }
  }

  async #endsWithin(passes: Promise<unknown>, ms: number): Promise<boolean> {
    const timer = new AbortController();
    const late = this.context.clock.sleep(ms, timer.signal).then(
      () => false,
      () => true,
    );
    const ended = await Promise.race([passes.then(() => true), late]);
    timer.abort();
    return ended;
  }
}

/** Three intervals without success are reported, but never less than five minutes, so that a restart is not. */
function staleAfterS(intervalMs: number): number {
  return Math.max(300, Math.ceil((3 * intervalMs) / 1000));
}
