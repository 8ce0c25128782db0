import { saveHeld } from "../backup/save-held.ts";
import type { ReadSpace } from "../backup/watch-disk.ts";
import { acceptedConfig } from "../config/accepted.ts";
import { handedOverSecret } from "../config/credential.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { ErpObjects } from "../database/erp-objects.ts";
import { acquireInstanceLock, type InstanceLock } from "../database/instance-lock.ts";
import type { FileTrouble, Store } from "../database/store.ts";
import { finishSwap } from "../database/swap-files.ts";
import { disarmTriggers } from "../feeds/feed-triggers.ts";
import { savePageSilent } from "../health/notices.ts";
import { reportConditions } from "../health/status.ts";
import { LOOK_MS as WATCH_MS, type Watch } from "../health/watch.ts";
import { type Watched, watchConditions } from "../health/watched.ts";
import { readAllTexts } from "../messages/catalogues.ts";
import { m } from "../messages/messages.ts";
import { type Fenced, saveFenced } from "../mirror/fenced.ts";
import { switchMirror } from "../mirror/mirror-state.ts";
import type { RunMirror } from "../mirror/run-mirror.ts";
import { wideViewsOf } from "../orders/wide-views.ts";
import { createClient } from "../pass/build-client.ts";
import type { JobContext } from "../pass/job.ts";
import { type FlowName, JOB_NAMES, type JobName, UPKEEP_NAMES } from "../pass/job-names.ts";
import { newDatabaseStatements } from "../pass/open-database.ts";
import { endFirstPasses, hasFlow, saveFlow } from "../pass/runs.ts";
import { closeSyncRequests, type SyncOutcome } from "../pass/sync-request-rows.ts";
import { machineZone } from "../platform/clock.ts";
import { asError, BridgeError } from "../platform/errors.ts";
import { Liveness } from "../platform/liveness.ts";
import { type Clock, isoTime, type Log } from "../platform/ports.ts";
import { Troubles } from "../platform/troubles.ts";
import type { ServiceClient } from "../service/client.ts";
import type { WebServer } from "../web/web-server.ts";
import { accountKeeper, checkAccount, liftCredentialHolds } from "./account.ts";
import { outcomeOf, SyncRequestPoller } from "./answer-sync.ts";
import { buildJobs } from "./build-jobs.ts";
import { buildMirror } from "./build-mirror.ts";
import { buildWatch } from "./build-watch.ts";
import { buildWeb } from "./build-web.ts";
import { openForDaemon, settleDoubts } from "./doubtful-database.ts";
import { addUp, dueIn, type JobRunner } from "./job-runner.ts";
import { noteDatabase, refuseMissingDatabase } from "./missing-database.ts";
import { applyConfiguration } from "./repair.ts";
import type { RunResult } from "./run-job.ts";
import { Scheduler } from "./scheduler.ts";

/** A pass under way gets this long to end by itself after the first SIGTERM, then its request is cut off. */
const DRAIN_MS = 7_000;
const ABORT_MS = 2_000;
/** A caller of a job waits for what is due so soon, at most so often, and finds it settled. */
const DUE_SOON_MS = 30_000;
const DUE_ROUNDS = 2;
/** How often a wait looks whether the program is to end. */
const STOP_LOOK_MS = 250;
/** A pass that waits for longer than the longest request may take, and this on top, waits for something that never comes. */
const HANGING_MS = 10 * 60_000;
/** How often the files are looked at while nothing is written. */
const LOOK_MS = 1_000;

export interface BridgeOptions {
  loaded: LoadedConfig;
  log: Log;
  clock: Clock;
  /** Called with every finished pass, instead of its line in the log. */
  onResult?: (job: string, result: RunResult) => void;
  /** What a file system has left; read from the system unless given. */
  readSpace?: ReadSpace;
  /** Troubles of the process, kept over every beginning anew; its own if absent. */
  troubles?: Troubles;
}

/** Everything that acts, built once from the configuration. `run` and `sync` share it, and so do the tests. */
export class Bridge {
  readonly store: Store;
  readonly client: ServiceClient;
  readonly context: JobContext;
  readonly runners: ReadonlyMap<FlowName, JobRunner>;
  readonly watch: Watch;
  /** How things stand, for everything that looks every few seconds. */
  readonly watched: () => Watched;
  /** Undefined where it is switched off. */
  readonly web: WebServer | undefined;
  readonly #lock: InstanceLock;
  readonly #scheduler: Scheduler;
  readonly #desk: SyncRequestPoller;
  /** How a feed is made to look at one row alone. */
  readonly #limits: ReadonlyMap<string, (key: string) => () => void>;
  /** How a job is made to end with what waits now. */
  readonly #backlogs: ReadonlyMap<string, () => () => void>;
  /** What jobs still write at the end. */
  readonly #ends: readonly (() => void)[];
  readonly #hangingMs: number;
  readonly #mirror: RunMirror | undefined;
  /** Ends once something has happened to the files for which only a new start helps. */
  readonly trouble: Promise<FileTrouble | { kind: "fenced"; error: Fenced }>;
  #endFenced: (error: Fenced) => void = () => {};
  #isLogRemoved = false;
  #looks: NodeJS.Timeout | undefined;
  #isStopping = false;

  /**
   * Takes the instance lock, opens the database and builds the jobs; no request leaves yet.
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
      const gap = settleDoubts(store, options.loaded, { nowMs: clock.nowMs(), ...verify });
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
      this.#limits = new Map(
        schedules.flatMap(({ runner, limitTo }) => (limitTo === undefined ? [] : [[runner.name, limitTo] as const])),
      );
      this.#backlogs = new Map(
        schedules.flatMap(({ runner, endWithBacklog }) =>
          endWithBacklog === undefined ? [] : [[runner.name, endWithBacklog] as const],
        ),
      );
      this.#ends = schedules.flatMap(({ atEnd }) => atEnd ?? []);
      this.#scheduler = new Scheduler(schedules, { ...options, zone: options.loaded.config.timezone ?? machineZone() });
      let made: string[] = [];
      const isRemapOwed = store.write(() => {
        made = objects.restore();
        this.#saveFlows();
        switchMirror(store, this.#mirror !== undefined);
        savePageSilent(store, undefined);
        if (liftCredentialHolds(store, options.loaded) > 0) options.log.info({}, m.daemon.newCredentials);
        return applyConfiguration(store, options.loaded, isoTime(options.clock.nowMs()));
      });
      objects.noteRestored();
      // A configuration that asks for others is no news.
      const names = made.filter((name) => !Object.hasOwn(wideViews, name));
      if (names.length > 0) options.log.warn({}, m.database.ownMadeAgain({ names }));
      if (isRemapOwed) options.log.warn({}, m.daemon.newMapping);
    } catch (error) {
      this.store.close();
      this.#lock.release();
      throw error;
    }
    const limits = { erpReadWithinMs: config.erp.read_within };
    this.watched = watchConditions({ store, clock, startedAtMs, everyMs: WATCH_MS }, limits);
    this.watch = buildWatch(beside, objects, options.loaded, this.watched);
    this.web = buildWeb(this.context, options.loaded);
    this.#desk = new SyncRequestPoller(beside, (name, only) => this.runJob(name as JobName, only));
  }

  /** Records for `sync_status` which flows there are; feeds that were switched off leave no triggers, whose notes would grow for ever. */
  #saveFlows(): void {
    const { store } = this;
    endFirstPasses(store);
    for (const name of [...JOB_NAMES, ...UPKEEP_NAMES]) {
      const runner = this.runners.get(name);
      const intervalMs = runner === undefined ? 0 : (this.#scheduler.intervals.get(runner) ?? 0);
      // Most shops have no mirror: no line says that it is off.
      if (name === "mirror" && runner === undefined && !hasFlow(store, name)) continue;
      saveFlow(store, { flow: name, enabled: runner !== undefined, staleAfterS: staleAfterS(intervalMs) });
    }
    for (const name of FEED_NAMES) if (!this.runners.has(name)) disarmTriggers(store, name);
  }

  /** Runs the jobs by schedule until `stop`. */
  start(): void {
    const { store, context } = this;
    store.write(() => closeSyncRequests(store, isoTime(context.clock.nowMs())));
    this.#scheduler.start();
    this.#desk.start(this.#scheduler.signal);
    this.watch.start();
    this.web?.start();
    this.#lock.signal(this.store.troubles.first);
    this.#looks = setInterval(() => this.#look(), LOOK_MS);
  }

  /** Another machine works for the shop: what is under way ends at its next step, and nothing is begun. */
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

  /** What is wrong with the files ends `trouble`; what stands in the way of a look fails the passes as well. */
  #look(): void {
    this.#lock.signal(this.store.troubles.first);
    try {
      this.store.look();
      // Last: with the whole folder the lock is gone as well.
      if (this.#lock.isLost()) this.store.onTrouble({ kind: "lock removed" });
    } catch (error) {
      this.context.log.debug({ errorCode: asError(error).code }, "A look at the database's files failed.");
    }
  }

  /** Saves what the open connection holds, where its files were taken from under it: the name of the copy. */
  saveHeld(): Promise<string | undefined> {
    return saveHeld(this.store, this.context.clock.nowMs());
  }

  /** The name of a flow that hangs, for which only a restart helps; undefined where everything gets on. */
  findStalled(): string | undefined {
    return this.#scheduler.findStalled(this.#hangingMs);
  }

  /**
   * Runs one job to its end, beside whatever the schedule does: never twice at once.
   * @param only the one key of a feed that is wanted, as it stands in `quarantine`
   */
  async runJob(name: FlowName, only?: string): Promise<RunResult> {
    const runner = this.runners.get(name);
    if (runner === undefined) {
      throw new BridgeError("usage", m.daemon.notSwitchedOn({ name }), { hint: m.daemon.setPath({ name }) });
    }
    const release = only === undefined ? this.#backlogs.get(name)?.() : this.#limits.get(name)?.(only);
    try {
      let result = await runner.runNow(this.#scheduler.signal);
      for (let round = 0; round < DUE_ROUNDS && result !== undefined; round++) {
        const dueInMs = dueIn(result) ?? Number.POSITIVE_INFINITY;
        if (dueInMs > DUE_SOON_MS || !(await this.#waitFor(dueInMs))) break;
        const next = await runner.runNow(this.#scheduler.signal);
        if (next !== undefined) result = addUp(result, next);
      }
      return result ?? { outcome: "stopped", counts: {}, error: new BridgeError("stopped", m.daemon.stopped) };
    } finally {
      release?.();
    }
  }

  /** Between passes, so that whatever else runs goes on. Returns false where the program is to end. */
  async #waitFor(ms: number): Promise<boolean> {
    const { clock } = this.context;
    const untilMs = clock.monotonicMs() + ms;
    for (let leftMs = ms; leftMs > 0; leftMs = untilMs - clock.monotonicMs()) {
      if (this.#isStopping || this.#scheduler.signal.aborted) return false;
      await clock.sleep(Math.min(leftMs, STOP_LOOK_MS));
    }
    return !this.#isStopping;
  }

  /**
   * One bounded pass of each job, in order, until it has drained what waits.
   * @throws Fenced where another machine works for the shop
   */
  async sync(names: readonly JobName[], onOutcome: (outcome: SyncOutcome) => void, only?: string): Promise<void> {
    for (const name of names) {
      const result = await this.runJob(name, only);
      if (this.#mirror?.fenced !== undefined) throw this.#mirror.fenced;
      onOutcome(outcomeOf(name, result, this.client.hideSecrets));
    }
  }

  /** Lets passes under way end, cuts them off where they take too long, and closes everything. Within 10 s. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looks);
    this.#desk.stop();
    this.#scheduler.pause();
    const watched = Promise.all([this.watch.stop(), this.web?.stop()]);
    const passes = Promise.all([...this.runners.values(), this.#desk].map((worker) => worker.whenIdle()));
    if (!(await this.#endsWithin(passes, DRAIN_MS))) {
      this.#scheduler.abort();
      await this.#endsWithin(passes, ABORT_MS);
    }
    this.#scheduler.abort();
    await watched;
    await this.client.close();
    this.#mirror?.close();
    this.#endJobs();
    // Without its name the log goes with the connection.
    if (this.#isLogRemoved && this.store.db.open && !this.store.settle()) await this.saveHeld();
    this.store.close();
    this.#lock.release();
  }

  /** Where the disk does not let it, the next start finds what a crash leaves. */
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

/** Silence of three intervals is worth attention, but never less than a few minutes: a restart is no incident. */
function staleAfterS(intervalMs: number): number {
  return Math.max(300, Math.ceil((3 * intervalMs) / 1000));
}
