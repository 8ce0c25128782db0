/*
 * How the bridge behaves towards the service: the rate, the waits it was asked for, holds that stay in their area,
 * no pull repeated at once, nobody else asked.
 */
import type { RunResult } from "../../../src/daemon/run-job.ts";
import type { Lie, LieBody } from "../hostile/grammar.ts";
import { recordsOf } from "../hostile/lies.ts";
import type { ProgramLife } from "../life.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";
import type { Asked, FeedName } from "../schedule.ts";

type Answered = Extract<Told, { kind: "answer" }>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** So many waits of one record are everybody's; then it is to blame itself. */
const WAITS_OF_ONE = 2;
/** The least that a job backs off after a failure. */
const BACKOFF_MIN_MS = 900;

const FEEDS: readonly string[] = ["stocks", "prices", "catalog"] satisfies FeedName[];

/** Jobs that send such requests. */
export const SENDERS: Record<Asked, readonly string[]> = {
  orders: ["orders"],
  confirm: ["orders"],
  updates: ["updates"],
  snapshot: ["updates", "statuses", "reconcile"],
  status: ["statuses"],
  import: FEEDS,
};

interface Closed {
  readonly life: number;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly why: string;
  /** The ERP held the lock when the bridge was told. */
  readonly isHeldUp: boolean;
  /** The newest batch that the bridge had by then. */
  readonly batch: number;
}

/** Successes that tell nothing of records. */
const NO_ANSWERS: ReadonlySet<LieBody> = new Set<LieBody>([
  ...([
    "error beside nothing",
    "refusal",
    "html",
    "false",
    "0",
    "success false",
    "success 0",
    "success text",
    "contradicted",
  ] as const),
]);

function saysNothingTrue({ status, body }: Lie): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205 && NO_ANSWERS.has(body);
}

/** What one flow asks for, as far as a request tells. */
function groupOf(route: Sent["route"]): string {
  if (route.kind === "import") return `feed ${route.feed}`;
  return route.kind === "orders" || route.kind === "confirm" ? "pull" : "others";
}

/** Credentials are refused as they are; others have not been. */
function causeOf(area: string, reason: string, secret: string): string {
  return reason === "credentials" ? `${area} ${reason} ${secret}` : `${area} ${reason}`;
}

/** So often a minute `GET /orders` may leave beside the orders that there are: twice what two passes of batches without a new order ask. */
const PULLS_MAX = 200;

/** So many batches whose confirms are refused in a row are the service's trouble. */
const CONFIRMS_IN_ROW = 3;

const QUARANTINED = `SELECT f.name || ' ' || x.k0 FROM feed_outbox x JOIN feeds f ON f.feed_id = x.feed_id WHERE x.state = 'refused'`;
const NEWEST_BATCH = "SELECT max(id) FROM batches";
const ROW_OF_NAME = "SELECT max(id) FROM batches WHERE service_batch_id = ?";
const ROW_OF_IDS = "SELECT max(id) FROM batches WHERE instr(order_ids, ?) > 0 AND instr(order_ids, ?) > 0";
const IS_IN_OTHER_BATCH = `SELECT 1 FROM (SELECT max(id) AS newest, count(*) AS n FROM batches WHERE instr(order_ids, ?) > 0)
  WHERE newest > ? OR n > 1`;

function confirmOf({ request }: Sent): string {
  return `confirm ${request.body.toString("utf8")}`;
}

/** The orders that a confirm names; none where it names its batch. */
function namedBy({ request }: Sent): readonly string[] {
  return (JSON.parse(request.body.toString("utf8")) as { order_ids?: string[] }).order_ids ?? [];
}

export class DisciplineInvariants {
  readonly #scene: Scene;
  #closed: Record<string, Closed | undefined> = {};
  readonly #causes = new Set<string>();
  /** Confirms that were refused, without one accepted since. */
  readonly #refusedConfirms = new Set<string>();
  /** How often each order, or the confirm of each batch, was answered with a wait. */
  readonly #waits = new Map<string, number>();
  /** When a flow was last asked to wait, and when anything of an area was last answered well. */
  readonly #asked = new Map<string, { area: string; life: number; atMs: number }>();
  readonly #answeredAtMs = new Map<string, number>();
  /** Feeds that a pass was accepted for, with its life and its end; and since when each feed is refused. */
  readonly #accepted = new Map<string, { life: number; atMs: number }>();
  readonly #refusedSinceMs = new Map<string, number>();
  /** When an import of a feed was last accepted, with its life; and the records that were denied alone beside accepted ones. */
  readonly #imported = new Map<string, { life: number; atMs: number }>();
  readonly #denied = new Set<string>();
  #lastSent = { life: 0, atMs: Number.NEGATIVE_INFINITY };
  /** When `GET /orders` left in the last minute. */
  #pulledAtMs: number[] = [];
  #lostPull: { life: number; atMs: number } | undefined;
  /** The service's clock, as the last answer with a `Date` has shown it to this process. */
  #shown: { dateMs: number; atMs: number } | undefined;
  /** Jobs that were answered with something else than they were told to expect. */
  readonly #notUnderstood = new Set<string>();
  #lives: readonly ProgramLife[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** A person has lifted all holds. */
  reopen() {
    this.#closed = {};
  }

  onStart(life: ProgramLife) {
    this.#notUnderstood.clear();
    this.#refusedConfirms.clear();
    this.#shown = undefined;
    this.#lives = [life];
  }

  onSent(sent: Sent) {
    const { fail, time, forms } = this.#scene;
    const { route, request, life, origin } = sent;
    if (origin !== life.origin || route.kind === "unknown") return fail(11, `a request to ${origin}${request.path}`);
    // Nothing in this world holds it: what was no text has been read as one.
    if (request.body.includes("\ufffd"))
      fail(18, `${request.path} is sent what nobody wrote: ${request.body.toString("utf8")}`);
    const gapMs = time.elapsedMs - this.#lastSent.atMs;
    if (life.number === this.#lastSent.life && gapMs < 1000 / forms.perSecond - 0.01) {
      fail(11, `two requests within ${gapMs} ms`);
    }
    this.#lastSent = { life: life.number, atMs: time.elapsedMs };
    this.#checkClosed(sent);
    if (route.kind === "orders") this.#checkPull(sent);
  }

  onTold(sent: Sent, told: Told) {
    const { route, life, fate } = sent;
    const { time } = this.#scene;
    const isOther =
      fate?.kind === "renamed" || fate?.kind === "empty object" || (fate?.kind === "lie" && saysNothingTrue(fate.lie));
    const isList = route.kind === "orders" || route.kind === "updates";
    if (isOther && isList && told.kind === "answer" && told.status < 300 && !told.isTrue) {
      this.#notUnderstood.add(route.kind);
    }
    if (told.kind === "nothing") {
      if (route.kind === "orders") this.#lostPull = { life: life.number, atMs: time.elapsedMs };
      return;
    }
    const { status } = told;
    if (told.date !== undefined) this.#shown = { dateMs: Date.parse(told.date), atMs: time.elapsedMs };
    if (status < 300) this.#answeredAtMs.set(route.kind === "import" ? "imports" : "orders", time.elapsedMs);
    const area = route.kind === "import" ? "imports" : "orders";
    const [waitMs, reason] = this.#waitFor(told);
    if (route.kind === "import" && status < 300 && told.isTrue) this.#noteImported(sent);
    if (route.kind === "confirm" && status < 300) this.#refusedConfirms.clear();
    if (waitMs === 0) return;
    this.#causes.add(causeOf(area, reason, life.secret));
    if (route.kind === "import" && reason === "rate limit") this.#accepted.delete(route.feed ?? "");
    if (route.kind === "import" && reason !== "rate limit") this.#noteRefusedFeed(route.feed ?? "");
    if (route.kind === "import" && reason !== "rate limit" && this.#isOfRecords(sent)) return;
    const isOfOrder = route.kind === "snapshot" || route.kind === "status";
    // What one order is refused is its own; a wait that is asked for is everybody's, unless one record alone asks for it.
    const asked = this.#readWait(told);
    if (isOfOrder && (asked === undefined || this.#waitsOf(route.orderId ?? "") > WAITS_OF_ONE)) return;
    const isOfConfirm = route.kind === "confirm" && this.#waitsOf(confirmOf(sent)) > WAITS_OF_ONE;
    const places = () => (isOfConfirm ? [confirmOf(sent)] : this.#waitingPlaces(sent));
    const own = `${route.kind} ${route.orderId}`;
    const closing = reason === "rate limit" ? places() : [this.#refusedPlace(sent)];
    for (const closes of route.kind === "status" ? [...closing, own] : closing) {
      // A status waits as long as it was asked, and others a minute at most: whether they must, the next request shows. An order is read by several flows.
      const untilMs = time.elapsedMs + (isOfOrder && closes !== own ? Math.min(waitMs, MINUTE_MS) : waitMs);
      const closed = this.#closed[closes];
      if (closed !== undefined && closed.life === life.number && closed.untilMs > untilMs) continue;
      const why = `${status} ${told.retryAfter}`;
      const isHeldUp = this.#scene.erp.isLocking;
      const batch = (this.#scene.auditor.prepare(NEWEST_BATCH).pluck().get() as number | null) ?? 0;
      this.#closed[closes] = { life: life.number, sinceMs: time.elapsedMs, untilMs, why, isHeldUp, batch };
    }
  }

  /** The credentials and the payment are in order, whatever this feed was refused before. */
  #noteImported({ route, request, life }: Sent) {
    this.#imported.set(route.feed ?? "", { life: life.number, atMs: this.#scene.time.elapsedMs });
    for (const { name } of recordsOf(route, request, []) ?? []) this.#denied.delete(name);
    const place = this.#flowOf(route);
    if (/^40[123] /.test(this.#closed[place]?.why ?? "")) this.#closed[place] = undefined;
  }

  /** Whether a denied import is about its records: one alone, in a pass that was accepted with another one, or one known for that. */
  #isOfRecords({ route, request, life }: Sent): boolean {
    const { auditor, time } = this.#scene;
    const names = (recordsOf(route, request, []) ?? []).map(({ name }) => name);
    const quarantined = new Set(auditor.prepare(QUARANTINED).pluck().all());
    if (names.length > 0 && names.every((name) => this.#denied.has(name) || quarantined.has(name))) return true;
    const accepted = this.#imported.get(route.feed ?? "");
    const isBeside = this.#lives
      .flatMap(({ entries }) => entries.map(({ runner }) => runner))
      .some(
        (runner) =>
          runner.name === route.feed &&
          accepted?.life === life.number &&
          accepted.atMs >= time.elapsedMs - runner.sinceLastStartMs(),
      );
    if (names.length !== 1 || !isBeside) return false;
    for (const name of names) this.#denied.add(name);
    return true;
  }

  /**
   * What a wait closes at least: the flow that asked; the area where another one was asked to wait too, and nothing there was
   * accepted since. An order is read by several flows.
   */
  #waitingPlaces({ route, life }: Sent): string[] {
    const { time } = this.#scene;
    const area = route.kind === "import" ? "imports" : "orders";
    const group = groupOf(route);
    const others = [...this.#asked].filter(
      ([name, asked]) => name !== group && asked.area === area && asked.life === life.number,
    );
    const isOfAll = others.some(([, { atMs }]) => (this.#answeredAtMs.get(area) ?? Number.NEGATIVE_INFINITY) < atMs);
    this.#asked.set(group, { area, life: life.number, atMs: time.elapsedMs });
    const own = route.kind === "snapshot" ? [] : [this.#flowOf(route)];
    return isOfAll ? [...own, area] : own;
  }

  onResult(life: ProgramLife, job: string, result: RunResult) {
    if (this.#notUnderstood.delete(job) && result.error === null) {
      this.#scene.fail(8, `${job}: an answer that cannot be understood was taken for an empty one`);
    }
    if (result.error !== null) return;
    if (result.outcome !== "held") {
      if ((result.counts["requests"] ?? 0) > 0) this.#noteAcceptedFeed(life, job);
      return;
    }
    const { area, reason } = result.hold;
    this.#scene.coverage.count("hold", reason);
    const own = FEEDS.includes(job) ? ["imports", job] : ["orders", job];
    if (!own.includes(area)) this.#scene.fail(10, `${job} waits for a hold of ${area}`);
    const isOfArea = reason === "credentials" || reason === "payment" || reason === "rate limit";
    if (isOfArea && !this.#causes.has(causeOf(own[0] ?? "", reason, life.secret))) {
      this.#scene.fail(10, `${job} waits for ${reason}, which ${own[0]} never met`);
    }
    if (area === "imports" && reason !== "rate limit") this.#checkHeldFeed(life, job, reason);
  }

  #waitsOf(record: string): number {
    const count = (this.#waits.get(record) ?? 0) + 1;
    this.#waits.set(record, count);
    return count;
  }

  #noteRefusedFeed(feed: string) {
    this.#accepted.delete(feed);
    if (!this.#refusedSinceMs.has(feed)) this.#refusedSinceMs.set(feed, this.#scene.time.elapsedMs);
  }

  #noteAcceptedFeed(life: ProgramLife, feed: string) {
    this.#accepted.set(feed, { life: life.number, atMs: this.#scene.time.elapsedMs });
    this.#refusedSinceMs.delete(feed);
  }

  /** A feed that was accepted before another was refused goes on. */
  #checkHeldFeed(life: ProgramLife, job: string, reason: string) {
    const accepted = this.#accepted.get(job);
    const refused = FEEDS.filter((feed) => feed !== job).flatMap((feed) => this.#refusedSinceMs.get(feed) ?? []);
    const [sinceMs = 0] = refused;
    // Where two others were refused since, all that were tried are.
    if (accepted?.life !== life.number || refused.length !== 1 || accepted.atMs >= sinceMs) return;
    this.#scene.fail(10, `${job} waits for ${reason}, which another feed met after ${job} was accepted`);
  }

  /** The confirm of one batch is that batch's own, until several in a row are refused. */
  #refusedPlace(sent: Sent): string {
    if (sent.route.kind !== "confirm") return this.#flowOf(sent.route);
    this.#refusedConfirms.add(this.#batchOf(sent));
    return this.#refusedConfirms.size < CONFIRMS_IN_ROW ? confirmOf(sent) : this.#flowOf(sent.route);
  }

  /** A batch that comes under another name each time is one, which the bridge keeps in one row; so is one that is confirmed in parts. */
  #batchOf(sent: Sent): string {
    const body = sent.request.body.toString("utf8");
    // Some names are numbers that no double holds.
    const [, name = ""] = /^\{"batch_id":"?(.*?)"?\}$/s.exec(body) ?? [];
    const ids = namedBy(sent);
    const isPart = this.#scene.forms.confirmIds !== null && ids.length > 0;
    const { auditor } = this.#scene;
    const row = (
      isPart
        ? auditor.prepare(ROW_OF_IDS).pluck().get(ids[0], ids.at(-1))
        : auditor.prepare(ROW_OF_NAME).pluck().get(name)
    ) as number | null;
    return row === null ? confirmOf(sent) : `batch ${row}`;
  }

  /** What a refusal at such a place closes at least: the flow that asked. */
  #flowOf(route: Sent["route"]): string {
    return route.kind === "import" ? `flow ${route.feed}` : `flow ${route.kind}`;
  }

  #checkClosed(sent: Sent) {
    this.#checkClosedPlace(sent, this.#closed[sent.route.kind === "import" ? "imports" : "orders"]);
    this.#checkClosedPlace(sent, this.#closed[this.#flowOf(sent.route)]);
    this.#checkClosedPlace(sent, this.#closed[`${sent.route.kind} ${sent.route.orderId}`]);
    if (sent.route.kind !== "confirm") return;
    const closed = this.#closed[confirmOf(sent)];
    if (closed !== undefined && !this.#isOfAnotherBatch(sent, closed)) this.#checkClosedPlace(sent, closed);
  }

  /** A part of a divided confirm may say the same as one of another batch that has the orders which were left. */
  #isOfAnotherBatch(sent: Sent, { batch }: Closed): boolean {
    if (this.#scene.forms.confirmIds === null) return false;
    const [first = ""] = namedBy(sent);
    return this.#scene.auditor.prepare(IS_IN_OTHER_BATCH).get(first, batch) !== undefined;
  }

  #checkClosedPlace({ route, life }: Sent, closed: Closed | undefined) {
    const { time, fail } = this.#scene;
    // A job writes down how far it came before its refusal is known to the others, and an ERP may keep it from that.
    if (this.#scene.erp.isLocking || closed?.isHeldUp === true) return;
    if (closed === undefined || closed.life !== life.number || time.elapsedMs >= closed.untilMs - 1) return;
    // A pass that was under way when another one was refused goes on to its end.
    const passes = this.#lives.flatMap(({ entries }) => entries.map(({ runner }) => runner));
    const isOlder = passes.some(
      (runner) =>
        (route.kind === "unknown" ? [] : SENDERS[route.kind]).includes(runner.name) &&
        runner.isRunning &&
        time.elapsedMs - runner.sinceLastStartMs() < closed.sinceMs,
    );
    if (isOlder) return;
    const leftS = Math.round((closed.untilMs - time.elapsedMs) / 1000);
    fail(11, `a request for ${route.kind} ${leftS} s before the service may be asked again (${closed.why})`);
  }

  #checkPull({ life }: Sent) {
    const { time, fail, versions } = this.#scene;
    this.#pulledAtMs = [...this.#pulledAtMs.filter((atMs) => atMs > time.elapsedMs - MINUTE_MS), time.elapsedMs];
    if (this.#pulledAtMs.length > PULLS_MAX + versions.ids.length) fail(15, "GET /orders leaves without a pause");
    const lost = this.#lostPull;
    this.#lostPull = undefined;
    if (lost === undefined || lost.life !== life.number) return;
    if (time.elapsedMs - lost.atMs < BACKOFF_MIN_MS) fail(12, "GET /orders was repeated at once after a lost answer");
  }

  /** How long nobody may ask after such an answer, in milliseconds, and what that is called. */
  #waitFor(told: Answered): [number, string] {
    const { status } = told;
    if (status === 401 || status === 403) return [5 * MINUTE_MS, "credentials"];
    if (status === 402) return [30 * MINUTE_MS, "payment"];
    if (status !== 429 && status !== 503) return [0, ""];
    const asked = this.#readWait(told);
    if (asked === undefined) return status === 429 ? [MINUTE_MS, "rate limit"] : [0, ""];
    return [Math.min(Math.max(asked, 1_000), HOUR_MS), "rate limit"];
  }

  /** A time is one of the service's clock, where this answer shows it or one before it did. */
  #readWait({ retryAfter: header, date: shown }: Answered): number | undefined {
    if (header === undefined) return undefined;
    const nowMs = shown === undefined ? this.#unshownNow() : Date.parse(shown);
    if (/^-?\d+$/.test(header)) {
      const number = Number(header);
      return number > 1e9 ? number * 1000 - nowMs : number * 1000;
    }
    const date = Date.parse(header);
    return Number.isNaN(date) ? undefined : date - nowMs;
  }

  /**
   * The latest that it may be by what the program knows, as an answer without a `Date` comes: the machine's clock, or the service's that an answer to the same
   * process has shown. Where the two differ, either wait is one that was asked for.
   */
  #unshownNow(): number {
    const { time, machine } = this.#scene;
    const shownMs = this.#shown === undefined ? Number.NaN : this.#shown.dateMs + time.elapsedMs - this.#shown.atMs;
    const machineMs = time.trueMs + machine.wallOffsetMs;
    return Number.isNaN(shownMs) ? machineMs : Math.max(machineMs, shownMs);
  }
}
