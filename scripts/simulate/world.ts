import type { LoadedConfig } from "../../src/config/load.ts";
import type { RunResult } from "../../src/daemon/run-job.ts";
import type { ScheduleEntry } from "../../src/daemon/scheduler.ts";
import type { LedgerEntry } from "../../src/sandbox/ledger.ts";
import type { SandboxResponse } from "../../src/sandbox/messages.ts";
import { integerBetween, type Random, seededRandom } from "../../src/sandbox/random.ts";
import { SandboxService } from "../../src/sandbox/service.ts";
import { MachineClock, SimulatedTime } from "./clock.ts";
import { CREDENTIALS, type Written } from "./configurations.ts";
import { Coverage } from "./coverage.ts";
import { Erp } from "./erp.ts";
import { type Forms, serviceOptions } from "./forms.ts";
import {
  DAY_MS,
  isCached,
  isOfBefore,
  type Lie,
  lacksValues,
  nameOfScope,
  OTHERWISE,
  queuedForMs,
  SILENCE,
} from "./hostile/grammar.ts";
import { Former, Lies, lieResponse, recordsOf } from "./hostile/lies.ts";
import { CopyInvariants } from "./invariants/copies.ts";
import { CountInvariants, countsChanges } from "./invariants/counts.ts";
import { DatabaseInvariants } from "./invariants/database.ts";
import { DeliveryInvariants } from "./invariants/deliveries.ts";
import { DisciplineInvariants } from "./invariants/discipline.ts";
import { EmptinessInvariants } from "./invariants/emptiness.ts";
import { GuardInvariants } from "./invariants/guard.ts";
import { OrderInvariants } from "./invariants/orders.ts";
import { PositionInvariants } from "./invariants/position.ts";
import { type ImportEffect, PushInvariants } from "./invariants/pushes.ts";
import { StatusInvariants } from "./invariants/statuses.ts";
import { JournalDisk } from "./journal.ts";
import { type CommitHooks, ProgramLife } from "./life.ts";
import type { LightConnection } from "./light-store.ts";
import { type Answer, type Line, ORIGIN, type Sent, type Told } from "./network.ts";
import type { Scene } from "./scene.ts";
import {
  type Asked,
  type CrashPoint,
  changesSchema,
  type Fate,
  type FeedName,
  type Schedule,
  type WorldKind,
} from "./schedule.ts";
import type { SecondConnection } from "./second-connection.ts";
import { Versions } from "./versions.ts";
import type { Lent } from "./workshop.ts";

const TICK_MS = 10_000;
const DRAIN_MS = 7_000;
const ENDED_MS = 9_000;
/** The hour after which a batch without orders is confirmed, and the polls of a quiet day around it. */
const EMPTY_MS = 90 * 60_000;
/** The time of six answers, ever further apart, after which a new form of answers is usual that has a yes in it. */
const FORM_MS = 6 * 3_600_000;
const TICKS_PER_MINUTE = 6;
/** Rounds of passes in a long stretch of the schedule: a lie that lasts for hours is to be met several times. */
const STRETCH_TICKS: Record<WorldKind, number> = { usual: 5, hostile: 10 };
const PAGES_MAX = 10;
/** Requests a minute that an endpoint with a limit of its own answers. */
const LIMIT = 4;
const REQUESTS_MAX = 10_000;
/** What tells whether a commit has moved an order or the position. */
const MOVES = `SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows') AS event,
  (SELECT value FROM watermarks WHERE stream = 'updates') AS mark`;
const JOBS = new Set(["orders", "updates", "statuses", "stocks", "prices", "catalog"]);

export interface Violation {
  readonly invariant: number;
  readonly what: string;
  readonly atMs: number;
}

/** One simulated shop: the service, the line, the machine, the ERP, and one life of the program after the other. */
export class World implements Scene, Line, CommitHooks {
  readonly time = new SimulatedTime();
  readonly machine = new MachineClock();
  readonly coverage = new Coverage();
  readonly seed: number;
  readonly kind: WorldKind;
  readonly forms: Forms;
  readonly lies = new Lies();
  readonly former = new Former();
  /** What imports did, by the number of their request; until they were answered. */
  readonly #imports = new Map<number, ImportEffect>();
  #lastEffect: LedgerEntry["effect"] = null;
  /** True acceptances that the bridge was told of, by endpoint. */
  readonly #accepted = new Map<string, number>();
  readonly journal = new JournalDisk();
  /** The folder of the journal, as it is configured now. */
  journalFolder: string | undefined;
  /** What a reload has changed. */
  changed: Written = {};
  wasMisinformed = false;
  /** Copies that the service was restored to, and the orders that went back with them and may show it. */
  readonly restored: { atMs: number; madeMs: number; orders: readonly string[] }[] = [];
  /** Until then statuses wait in the service's queue. */
  queuedUntilMs = 0;
  /** Since when, by its own clock, the service's clock is right again that was wrong and said so nowhere. */
  skewOverMs: number | undefined;
  /** By how much its clock was set back at most, with which leases and times of orders are behind for as long. */
  setBackMs = 0;
  /** Answers for the changes, as the ledger counts them, that did not depend on what was asked. */
  readonly stuckAnswers = new Set<number>();
  /** Answers that came while no program was there to read them, or that were lost with one that had committed nothing of them. */
  readonly unheardAnswers = new Set<number>();
  /** Answers for the changes since orders or the position moved. */
  readonly #uncommitted = new Set<number>();
  /** The last order with a change whose time was far ahead of all clocks, without `Date`, and that time. */
  wrong: { orderId: string; atMs: number } | undefined;
  /** Of an endpoint that answers few requests. */
  #answeredAtMs: number[] = [];
  /** The service itself has refused single records, or confirms. */
  hadRefusedRecords = false;
  hadRejects = false;
  hadRefusedConfirms = false;
  /** Since when every fault is over and nothing may fail any more. */
  quietMs = Number.POSITIVE_INFINITY;
  /** Since when each answer to GET /orders is a batch without orders. */
  #emptySinceMs: number | undefined;
  readonly random: Random;
  readonly service: SandboxService;
  /** The service at another address, where few lives go. */
  #elsewhere: SandboxService | undefined;
  isElsewhereReady = false;
  readonly erp: Erp;
  readonly auditor: SecondConnection;
  readonly versions: Versions;
  readonly lines: string[] = [];
  readonly orders: OrderInvariants;
  readonly position: PositionInvariants;
  readonly pushes: PushInvariants;
  readonly counts: CountInvariants;
  readonly guard: GuardInvariants;
  readonly discipline: DisciplineInvariants;
  readonly statuses: StatusInvariants;
  readonly emptiness: EmptinessInvariants;
  readonly deliveries: DeliveryInvariants;
  readonly database: DatabaseInvariants;
  readonly copies: CopyInvariants;
  violation: Violation | undefined;
  /** Failed passes of the pull, and holds that ever stood: what an operator was told. */
  readonly told = new Set<string>();
  readonly fates: { on: Asked; fate: Fate }[] = [];
  crashes: { at: CrashPoint; skip: number; reboot: boolean }[] = [];
  /** Done as soon as the next import has left. */
  inFlight: (() => void)[] = [];
  /** Done as the next question for updates leaves, and when it has been answered. */
  races: (() => void)[] = [];
  racesAfter: (() => void)[] = [];
  isTicking = true;
  rescued = 0;
  #hasNews = false;
  #seen: { event: number | null; mark: string | null } = { event: null, mark: null };
  readonly #connection: LightConnection | undefined;
  readonly #isSchemaWatched: boolean;
  readonly #configure: (changed: Written) => LoadedConfig;
  #life: ProgramLife | undefined;
  #lives = 0;
  /** With which the database was opened last. */
  #secret: string | undefined;
  #address = ORIGIN;
  #stocksPath: string | null | undefined;
  #requests = 0;
  #ticks = 0;
  /** Ticks are so many times rarer: hours go by without every minute being played. */
  #pace = 1;
  #nextTick: ReturnType<SimulatedTime["at"]> | undefined;

  constructor(
    schedule: Schedule,
    { database, configure }: { database: Lent; configure: (changed: Written) => LoadedConfig },
  ) {
    this.seed = schedule.seed;
    this.kind = schedule.world;
    this.machine.wallOffsetMs = schedule.clockMs;
    this.forms = schedule.forms;
    this.journalFolder = this.forms.journal === true ? "/journal" : undefined;
    this.#connection = database.connection;
    this.#isSchemaWatched = schedule.isGuarded || changesSchema(schedule);
    // What a database was made with that has been used before.
    this.#secret = schedule.isGuarded ? undefined : CREDENTIALS.clientSecret;
    this.random = seededRandom(schedule.seed ^ 0x5eed);
    this.service = new SandboxService({
      credentials: CREDENTIALS,
      now: () => this.time.trueMs,
      random: seededRandom(schedule.seed ^ 0xca11),
      options: serviceOptions(schedule.forms),
      onEntry: (entry) => this.#onEntry(entry),
    });
    this.#configure = configure;
    this.time.onStandstill = () => this.fail(15, "time stands still");
    this.auditor = database.second;
    this.erp = new Erp(this.auditor, this.forms);
    this.versions = new Versions(this.service);
    this.orders = new OrderInvariants(this);
    this.position = new PositionInvariants(this);
    this.pushes = new PushInvariants(this);
    this.counts = new CountInvariants(this, this.pushes);
    this.guard = new GuardInvariants(this);
    this.discipline = new DisciplineInvariants(this);
    this.statuses = new StatusInvariants(this);
    this.emptiness = new EmptinessInvariants(this);
    this.deliveries = new DeliveryInvariants(this);
    this.copies = new CopyInvariants(this);
    this.database = new DatabaseInvariants(this);
  }

  /** The configuration as it is written now. */
  get loaded(): LoadedConfig {
    return this.#configure(this.changed);
  }

  /** It is known how imports of the feed are answered. */
  isImportKnown(feed: FeedName, times = FORM_TIMES): boolean {
    return (this.#accepted.get(placeOf({ kind: "import", feed })) ?? 0) >= times;
  }

  get life(): ProgramLife | undefined {
    return this.#life?.isDead === false ? this.#life : undefined;
  }

  begin(): void {
    this.#start();
    this.#tick();
  }

  readonly fail = (invariant: number, what: string): void => {
    this.trace(`INVARIANT ${invariant}: ${what}`);
    this.violation ??= { invariant, what, atMs: this.time.elapsedMs };
  };

  /** So rare that a stretch of that length costs a few rounds of passes at most. */
  setPace(ms: number, ticks = STRETCH_TICKS[this.kind]): void {
    const wanted = Math.floor(ms / ticks / TICK_MS);
    // Never rounds more often than once a minute.
    const pace = wanted < TICKS_PER_MINUTE ? 1 : wanted;
    if (pace === this.#pace) return;
    this.#pace = pace;
    if (this.#nextTick !== undefined) this.time.cancel(this.#nextTick);
    this.#nextTick = this.time.at(TICK_MS, () => this.#tick());
  }

  trace(line: string): void {
    this.lines.push(`${(this.time.elapsedMs / 1000).toFixed(3)} ${line}`);
  }

  /** The program ends with its world. */
  close(): void {
    this.#life?.close();
  }

  get addressedNow(): number {
    return this.#life === undefined || this.#life.origin === ORIGIN ? this.service.now() : this.time.trueMs;
  }

  // ------------------------------------------------------------------------------------------------------ program

  #start(): void {
    const number = ++this.#lives;
    this.trace(`start ${number}`);
    const { loaded } = this;
    const { client_secret, base_url } = loaded.config.service;
    if (base_url !== this.#address) this.#onMoved();
    const { path } = loaded.config.imports.stocks;
    if (path !== this.#stocksPath) this.#onOtherPath();
    this.journal.folder = this.journalFolder;
    const life = new ProgramLife({
      number,
      loaded,
      connection: this.#connection,
      isSchemaWatched: this.#isSchemaWatched,
      isAccountNew: base_url !== this.#address,
      isSecretKnown: client_secret === this.#secret,
      time: this.time,
      machine: this.machine,
      line: this,
      random: this.random,
      hooks: this,
      // So that few changes are more than one pass may read.
      pagesMax: this.kind === "hostile" ? PAGES_MAX : undefined,
      journal: this.journal,
      onLog: (level, message) => this.#onLog(level, message),
      onResult: (of, job, result) => this.#onResult(of, job, result),
    });
    this.#life = life;
    this.#secret = client_secret;
    this.#address = base_url;
    this.#stocksPath = path;
    // What a program that died in its commit had written is gone.
    this.#seen = { event: null, mark: null };
    if (this.#connection === undefined) this.database.onStart(life.store.db);
    this.discipline.onStart(life);
    this.position.onStart();
    this.orders.onStart();
    this.emptiness.onStart();
    this.counts.onStart();
    if (this.forms.cron) life.sync(JOBS);
    else this.triggerAll();
  }

  /** What was learned of the answers there says nothing of those here; positions of each place are its own. */
  #onMoved(): void {
    this.#accepted.clear();
    this.pushes.forgetLeftOut();
    this.counts.forget();
    this.position.onMoved();
  }

  /** Nor does what was learned of the answers to stocks at another path. */
  #onOtherPath(): void {
    this.#accepted.delete(placeOf({ kind: "import", feed: "stocks" }));
    this.pushes.forgetLeftOut();
    this.counts.forget();
  }

  #tick(): void {
    this.#nextTick = this.time.at(TICK_MS * this.#pace, () => this.#tick());
    if (!this.isTicking) return;
    if (!this.forms.cron) this.life?.retryDue();
    if (this.#ticks++ % TICKS_PER_MINUTE !== 0 && this.#pace <= 1) return;
    if (this.forms.cron) this.#runFromCron();
    else this.triggerAll();
  }

  /** Each pass is a process of its own; while the one before it runs, or the ERP holds the lock, there is none. */
  #runFromCron(): void {
    const { life } = this;
    if (life === undefined || life.isBusy || life.isStopping || this.erp.isLocking) return;
    life.end();
    if (life.isDead) return;
    life.die();
    life.close(true);
    this.#start();
  }

  /** What the night makes due for this entry; from cron the next process does what is not a job of its own. */
  triggerNightly(entry: ScheduleEntry): void {
    if (this.forms.cron && entry.before !== undefined) this.life?.setDue(entry);
    else this.life?.triggerNightly(entry);
  }

  triggerAll(): void {
    this.life?.trigger(({ before, runner }) => before === undefined && JOBS.has(runner.name));
  }

  /** The program is gone in the middle of whatever it did, and is started again by itself. */
  kill(why: string, reboot = false): void {
    if (this.life === undefined) return;
    this.trace(`killed: ${why}`);
    for (const seq of this.#uncommitted) this.unheardAnswers.add(seq);
    this.life.die();
    this.afterDeath(reboot);
  }

  /** SIGTERM: what is under way may end, then it is cut off. `then`: before the program starts again. */
  stop(then = () => {}): void {
    const { life } = this;
    if (life === undefined) return;
    life.beginStop();
    this.time.at(DRAIN_MS, () => life.abort());
    this.time.at(ENDED_MS, () => {
      if (life.isDead) return;
      if (life.isBusy) this.fail(15, "a pass did not end within the time of a stop");
      life.end();
      const isKilled = life.isDead;
      life.die();
      then();
      if (!isKilled) this.afterDeath(false, 0);
    });
  }

  /** What was committed is checked, and the program starts again: at once where `waitMs` says so. */
  afterDeath(reboot: boolean, waitMs = integerBetween(this.random, 1, 30_000)): void {
    this.statuses.onDeath();
    this.time.at(waitMs, () => this.#startAgain(reboot));
  }

  #startAgain(reboot: boolean): void {
    // Its migrations would wait for the ERP in real time.
    if (this.erp.isLocking) return void this.time.at(1_000, () => this.#startAgain(reboot));
    this.#life?.close();
    if (reboot) this.machine.bootedAtMs = this.time.elapsedMs - 5_000;
    this.orders.checkImage();
    this.#start();
  }

  beforeCommit(): boolean {
    return this.#dies("before commit");
  }

  inCommit(life: ProgramLife): boolean {
    // Looked at inside the transaction, where it costs no lock: most commits move neither orders nor the position.
    const { event, mark } = life.store.prepare(MOVES).get() as { event: number | null; mark: string | null };
    this.#hasNews ||= event !== this.#seen.event || mark !== this.#seen.mark;
    this.#seen = { event, mark };
    return this.#dies("in commit");
  }

  afterCommit(): boolean {
    this.guard.onCommit();
    if (this.#hasNews) {
      this.#hasNews = false;
      this.#uncommitted.clear();
      this.orders.onCommit();
      this.position.onCommit((id, seq) => this.orders.hasVersion(id, seq));
    }
    return this.#dies("after commit");
  }

  /** Whether the program dies at this point. Its death is noted; its caller sees to it that it stops at once. */
  #dies(at: CrashPoint, detail = ""): boolean {
    const crash = this.crashes.find((each) => each.at === at && each.skip-- <= 0);
    if (crash === undefined) return false;
    this.crashes = this.crashes.filter((each) => each !== crash);
    this.coverage.count("crash", `${at}${detail}`);
    if (crash.reboot) this.coverage.count("crash", "with the machine");
    this.kill(`${at}${detail}`, crash.reboot);
    return true;
  }

  #onLog(level: string, message: string): void {
    if (level !== "debug") this.trace(`${level}: ${message}`);
    // The logger hides what it recognises in each of its lines.
    if (this.forms.repeatsSecret) this.database.checkLine(this.#life?.context.client.hideSecrets(message) ?? message);
  }

  /**
   * A batch without orders that the service serves once it has forgotten no confirm any more is confirmed within an hour, or at the poll
   * after; within a day more where no empty answer had that form before.
   */
  #isEmptyYet(job: string, error: RunResult["error"]): boolean {
    if (job !== "orders") return false;
    const isForm = error?.text.id === "orders.emptyUnusual" && this.service.hasEmptyBatch;
    if (error?.text.id !== "orders.emptyBatch" && !isForm) this.#emptySinceMs = undefined;
    else this.#emptySinceMs ??= this.time.elapsedMs;
    const forMs = EMPTY_MS + (isForm ? DAY_MS : 0);
    return this.#emptySinceMs !== undefined && this.time.elapsedMs - this.#emptySinceMs <= forMs;
  }

  #onResult(life: ProgramLife, job: string, result: RunResult): void {
    if (life.isDead) return;
    const { error, outcome, counts } = result;
    if (outcome !== "idle") this.trace(`${job} ${outcome} ${error?.code ?? JSON.stringify(counts)}`);
    if (error?.code === "internal")
      this.fail(18, `${job}: ${error.message} ${(error.cause as Error | undefined)?.stack}`);
    // A status that the service does not allow is asked for twice before that is believed.
    const isRefusal = job === "statuses" && error?.code === "request_refused";
    // What an endpoint with a limit of its own refuses is asked for again.
    const isLimited = this.forms.limited !== "none" && error?.code === "rate_limited";
    // A position that is too old for a service is asked for nearer, once it was refused.
    const isTooOld = job === "updates" && error?.code === "request_refused" && error.message.includes("too old");
    const isEmptyYet = this.#isEmptyYet(job, error);
    // How a service writes its times is known from the pass on after it has shown one.
    const isTimeUnknown =
      job === "updates" && error?.code === "request_refused" && this.time.elapsedMs - this.position.shownMs < DRAIN_MS;
    // What was answered from the first time on, however long, was taken for usual, and what is well looks new.
    const isFormNew = error?.code === "answer_unknown" && this.time.elapsedMs - this.quietMs < FORM_MS;
    if (
      error !== null &&
      !isRefusal &&
      !isLimited &&
      !isTooOld &&
      !isEmptyYet &&
      !isTimeUnknown &&
      !isFormNew &&
      this.time.elapsedMs >= this.quietMs &&
      this.lies.standing.length === 0 &&
      outcome !== "stopped"
    ) {
      this.fail(18, `${job} fails though all is well: ${error.message} (${error.code})`);
    }
    if (error !== null) this.coverage.count("error", error.code);
    if (error?.code === "database_refused") this.database.checkLines(life);
    if (error !== null && job === "orders") this.told.add("failed pull");
    if (error !== null && result.hold !== undefined) this.coverage.count("hold", result.hold.reason);
    this.rescued += counts["rescued"] ?? 0;
    this.discipline.onResult(life, job, result);
    this.emptiness.onResult(job, result);
    const runner = life.entries.find((entry) => entry.runner.name === job)?.runner;
    this.deliveries.onResult(job, result, runner?.sinceLastStartMs() ?? 0);
    if (job === "statuses") {
      this.statuses.onResult(life.number);
      this.statuses.checkPace(runner?.sinceLastStartMs() ?? 0);
    }
    if (job === "stocks" || job === "prices" || job === "catalog") {
      this.pushes.checkLeftOut(job);
      this.counts.onResult(job);
    }
    if (job === "stocks" && error === null) this.guard.onResult();
    if ((counts["quarantined"] ?? 0) > 0) this.database.checkHeld();
    if (this.kind === "hostile" && (counts["refused"] ?? 0) > 0) this.pushes.checkBlamed(job, this);
  }

  // --------------------------------------------------------------------------------------------------------- line

  nextNumber(): number {
    if (++this.#requests === REQUESTS_MAX) this.fail(15, `${REQUESTS_MAX} requests`);
    return this.#requests;
  }

  takeFate(kind: Asked, { route, request }: Sent): Fate | undefined {
    const index = this.fates.findIndex(({ on }) => on === kind);
    const [taken] = index === -1 ? [] : this.fates.splice(index, 1);
    if (taken === undefined) {
      const scene = { nowMs: this.time.elapsedMs, orderIds: this.versions.ids };
      // Whether a page without orders is the end of its batch nobody can tell: what lies about batches begins with their first page.
      const lie = isLaterPage(route) ? undefined : this.lies.take(route, request, scene);
      if (lie !== undefined) this.#countLie(lie);
      if (lie?.status === SILENCE) return { kind: "silence", when: "before" };
      if (lie?.body === "queued") this.statuses.noteTaken(request);
      return lie === undefined ? this.#limit(kind) : { kind: "lie", lie };
    }
    const { fate } = taken;
    if (fate.kind === "renamed" || (fate.kind === "slow" && kind === "status")) this.lies.noteWell(kind);
    this.coverage.count("fate", "when" in fate ? `${fate.kind} ${fate.when}` : fate.kind);
    this.coverage.count("fate of", kind);
    if (fate.kind === "status") {
      this.lies.noteRefusal(route, request, fate.status);
      this.coverage.count("status", fate.status);
      if (fate.retryAfter !== null) this.coverage.count("retry-after", fate.retryAfter);
    }
    return fate;
  }

  /** An endpoint that answers few requests a minute, whatever the others do. */
  #limit(kind: Asked): Fate | undefined {
    const { elapsedMs } = this.time;
    if (this.forms.limited !== kind) return undefined;
    this.#answeredAtMs = this.#answeredAtMs.filter((atMs) => elapsedMs - atMs < 60_000);
    const [firstMs] = this.#answeredAtMs;
    if (firstMs === undefined || this.#answeredAtMs.length < LIMIT) {
      this.#answeredAtMs.push(elapsedMs);
      return undefined;
    }
    this.coverage.count("limited", kind);
    const waitS = Math.ceil((firstMs + 60_000 - elapsedMs) / 1000);
    return { kind: "status", status: 429, when: "before", retryAfter: this.seed % 2 === 0 ? String(waitS) : null };
  }

  #countLie(lie: Lie): void {
    const { on, status, body, of, when, span } = lie;
    const { coverage } = this;
    if (isOfBefore(lie) || body === "another record") this.wasMisinformed = true;
    if (body === "queued") this.queuedUntilMs = Math.max(this.queuedUntilMs, this.time.elapsedMs + queuedForMs(lie));
    coverage.count("lie to", on);
    coverage.count("lie body", body);
    coverage.count("lie status", `${Math.floor(status / 100)}xx`);
    coverage.count("lie status of", `${on} ${Math.floor(status / 100)}xx`);
    coverage.count("lie scope", nameOfScope(of));
    coverage.count("lie when", when);
    coverage.count("lie span", span === "for ever" ? span : "requests" in span ? "requests" : `${span.ms / 1000} s`);
  }

  lieAnswer(lie: Lie, { route, request, number }: Sent, response: SandboxResponse | undefined): Answer {
    const { former, forms, service } = this;
    const nowMs = this.time.elapsedMs;
    if (lie.body === "named otherwise" && response !== undefined) {
      if (response.status !== 200 || (lie.on === "orders" && !this.#areStored(response))) return response;
      this.coverage.count("named otherwise", `${lie.on} ${OTHERWISE[lie.ageMs]}`);
    }
    const kept = isCached(lie) ? this.lies.cachedFor(lie, request) : undefined;
    const isFormKnown = (this.#accepted.get(placeOf(route)) ?? 0) >= FORM_TIMES;
    const answer = lieResponse(lie, response, { former, forms, service, request, number, isFormKnown, nowMs, kept });
    if (lacksValues(lie) && lie.body !== "part") this.versions.noteLost(answer.body.toString("utf8"), nowMs);
    return answer;
  }

  /** A new order under no name that can be read waits for a person. */
  #areStored({ body }: SandboxResponse): boolean {
    const ids = [...body.toString("utf8").matchAll(/"order_id":"([^"]*)"/g)].map(([, id = ""]) => id.toLowerCase());
    const stored = this.auditor.prepare("SELECT 1 FROM orders WHERE order_id = ?");
    return ids.every((id) => stored.get(id) !== undefined);
  }

  onSent(sent: Sent): void {
    try {
      this.#onSent(sent);
    } catch (error) {
      // The client would take it for a failure of the request.
      this.fail(18, `a check of a request has failed: ${(error as Error).stack}`);
    }
  }

  #onSent(sent: Sent): void {
    const { route, request, fate, number, life } = sent;
    const what = `${request.method} ${request.path} ${request.body.toString("utf8")}`;
    this.trace(`#${number} life ${life.number} > ${what}${fate === undefined ? "" : ` ${JSON.stringify(fate)}`}`);
    if (sent.isElsewhere) {
      this.#onSentElsewhere(sent);
      return;
    }
    this.orders.onSent(sent);
    this.counts.onSent(sent);
    this.copies.onSent(sent);
    this.discipline.onSent(sent);
    this.statuses.onSent(sent);
    if (route.kind === "updates") for (const change of this.races.splice(0)) change();
    if (route.kind === "import") for (const write of this.inFlight.splice(0)) this.time.at(2, write);
    this.#dies("request", ` of ${route.kind}`);
  }

  answerElsewhere({ request, number, origin }: Sent): SandboxResponse {
    const starting = Buffer.from('{"error":"starting"}');
    const notReady = { status: 500, headers: {}, body: starting, delivery: { kind: "plain" } } as const;
    const isOtherPath = origin === ORIGIN;
    this.#elsewhere ??= new SandboxService({
      credentials: CREDENTIALS,
      now: () => this.time.trueMs,
      random: seededRandom(this.seed ^ 0xe15e),
      // It has no catalog where stocks alone go to it.
      options: serviceOptions(isOtherPath ? { ...this.forms, catalog: "none" } : this.forms),
    });
    const { path } = isOtherPath ? this.service.options.imports.stocks : request;
    const response = isOtherPath || this.isElsewhereReady ? this.#elsewhere.handle({ ...request, path }) : notReady;
    this.trace(`#${number} = ${response.status} ${response.body.toString("utf8")}`);
    return response;
  }

  #onSentElsewhere(sent: Sent): void {
    const { route, origin } = sent;
    if (origin !== ORIGIN && !this.isElsewhereReady) this.statuses.onSentBlind(sent);
    this.coverage.count("elsewhere", origin === ORIGIN ? "other path" : route.kind);
    if (route.kind === "confirm") this.fail(8, "a confirm leaves for a place that has served nothing");
    if (route.kind === "unknown") this.fail(11, "a request for nothing that there is");
  }

  onServed({ number, route, request, life }: Sent, response: SandboxResponse): void {
    this.trace(`#${number} = ${response.status} ${response.body.toString("utf8")}`);
    if (route.kind !== "unknown" && !isLaterPage(route)) this.former.note(route.kind, response);
    this.lies.noteServed(route, request, { response, atMs: this.time.elapsedMs });
    if (route.kind === "updates") for (const change of this.racesAfter.splice(0)) change();
    if (this.#lastEffect?.kind === "import") this.#imports.set(number, this.#lastEffect);
    if (life === this.life) this.#dies("answer", ` to ${route.kind}`);
  }

  onTold(sent: Sent, told: Told): void {
    this.trace(`#${sent.number} < ${told.kind === "answer" ? told.status : `nothing, effect ${told.effect}`}`);
    if (sent.isElsewhere || sent.origin !== ORIGIN) {
      this.position.onTold(sent, told);
      this.statuses.noteDuration(sent, told);
      return;
    }
    const isOwn = sent.fate === undefined && told.kind === "answer" && told.status >= 400;
    if (isOwn && sent.route.kind === "confirm") this.hadRefusedConfirms = true;
    // One that names refused records says nothing of the usual form.
    const effect = this.#imports.get(sent.number);
    this.#imports.delete(sent.number);
    const isTrue = told.kind === "answer" && told.isTrue;
    // What is ignored for its article is answered as if it were accepted, whatever was said of it before.
    if (isTrue && effect?.untaken.length === 0 && this.forms.catalog === "silent")
      for (const { name } of recordsOf(sent.route, sent.request, []) ?? []) this.pushes.forgetLeftOut(name);
    if (isTrue && effect !== undefined && !countsChanges(this.forms)) this.pushes.onTold(effect);
    const isUnsent = told.kind === "nothing" && told.effect === "none";
    if (isTrue || isUnsent) this.counts.onTold(sent.number, isTrue ? effect : undefined);
    if (
      isTrue &&
      (effect === undefined || effect.rejected.length === 0) &&
      !/"message":(?!"(?:OK|\d+ rows? updated)")/.test(told.body)
    )
      this.#accepted.set(placeOf(sent.route), (this.#accepted.get(placeOf(sent.route)) ?? 0) + 1);
    this.orders.onTold(sent, told);
    this.position.onTold(sent, told);
    this.discipline.onTold(sent, told);
    this.statuses.onTold(sent, told);
    this.emptiness.onTold(sent, told);
  }

  #onEntry(entry: LedgerEntry): void {
    if (entry.status !== null) this.coverage.count("answered", `${entry.kind} ${entry.status}`);
    this.#lastEffect = entry.effect;
    if (this.life === undefined) this.unheardAnswers.add(entry.seq);
    else if (entry.kind === "updates") this.#uncommitted.add(entry.seq);
    if (entry.kind === "updates" && this.service.options.updates.stuck !== "none") this.stuckAnswers.add(entry.seq);
    if (entry.effect?.kind === "status") this.versions.note(entry.effect.orderId);
    this.orders.onEntry(entry);
    this.pushes.onEntry(entry);
    this.guard.onEntry(entry);
    this.statuses.onEntry(entry);
  }
}

/** From so many on it is known how an endpoint answers. */
const FORM_TIMES = 3;

function isLaterPage({ kind, query }: Sent["route"]): boolean {
  return kind === "orders" && query.includes("page=");
}

function placeOf({ kind, feed }: Pick<Sent["route"], "kind" | "feed">): string {
  return `${kind} ${feed ?? ""}`;
}
