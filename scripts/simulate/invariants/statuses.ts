/*
 * Statuses that the ERP asks for: each takes effect once, in the order in which they were asked for, and none is sent
 * again without a look at its order.
 */
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import { MOVES_ON } from "../forms.ts";
import { hasStatus, isOfBefore, type LieBody } from "../hostile/grammar.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";
import { isBefore } from "../versions.ts";

/** What the bridge has on disk of an order. */
interface Known {
  revision: number;
  status: string | null;
  timestamp: string | null;
}

/** The latest that the changes have said of an order. */
interface Called {
  /** Null: two of one time say different things. */
  status: string | null;
  readonly timestamp: string;
  readonly atMs: number;
  /** The error of the machine's wall clock then. */
  readonly wallOffsetMs: number;
  /** An answer has shown the order itself since. */
  isRead: boolean;
  /** The record named its order otherwise than usual, or bore an earlier time. */
  readonly isUnsure: boolean;
}

interface Effect {
  readonly orderId: string;
  /** What the bridge knew when the request left that took effect. */
  readonly known: Known | undefined;
  /** By the service's clock. */
  readonly atMs: number;
  /** The order had another status before. */
  readonly isStatusNew: boolean;
}

const KNOWN = "SELECT revision, status, service_updated_at AS timestamp FROM orders WHERE order_id = ?";
/** What a pass may take beside its requests, each of which may wait for its turn; a read that fails is repeated at once. */
const IDLE_MS = 3_000;
const IDLE_PER_REQUEST_MS = 500;
const IDLE_PER_READ_MS = 5_000;
const IS_REFUSED_HERE = `SELECT 1 FROM status_requests WHERE comment = ? AND state = 'refused'
  AND last_error LIKE 'the order was cancelled after%'`;
/** The order was changed while the request stood in a queue, and does not have its status. */
const IS_REFUSED_UNKNOWN =
  "SELECT 1 FROM status_requests WHERE comment = ? AND state = 'refused' AND last_error LIKE 'changed meanwhile%'";
/** A request for the status that its order had: none can tell by looking at it. */
const IS_OF_SAME =
  "SELECT 1 FROM status_requests WHERE comment = json_extract(?, '$.comment') AND status_sent IS status_before";
/** What is younger is no older than what the next request would bring; with the seconds that a date leaves out. */
const DATE_FRESH_MS = 65_000;
/** Whether a record that does not name its order is one of it, only the order shows: nothing waits longer than for a day. */
const UNSURE_FOR_MS = 23 * 3_600_000;
/** Nor less than so long where the day passes because the clock is set ahead. */
const UNSURE_AT_LEAST_MS = 3.9 * 3_600_000;
/** How often a request that waits in a queue may be carried out: it is repeated after an hour and after a day. */
const QUEUED_MAX = 3;
const SENDING = "SELECT comment FROM status_requests WHERE state = 'sending'";
const SETTLED = `SELECT comment, state, status_before IS NOT NULL AS began, http_status AS httpStatus FROM status_requests
  WHERE state IN ('sent', 'refused')`;
/** A change shortly before the request left, with a time that is cut or of another clock, may be taken for what it did. */
const SHOWN_WITHIN_MS = 120_000;
/** What the service answers of an order that is not confirmed. */
const NOT_CONFIRMED = 409;
/** An order that is known from changes alone may have been confirmed long ago. */
const CONFIRM_IS_OWED = `SELECT 1 FROM batches, json_each(order_ids) mine
  WHERE state = 'stored' AND lower(mine.value) = ?`;
const HAS_OTHER_STATUS = `SELECT 1 FROM order_events WHERE order_id = ? AND revision > ? AND status_changed
  AND new_status IS NOT (SELECT status_before FROM status_requests WHERE comment = ?)`;

/** Somebody else has cancelled the order since that revision of it, as it is stored, whatever it is by now. */
const WAS_CANCELLED = `SELECT 1 FROM orders o JOIN order_events e ON e.order_id = o.order_id
  WHERE o.order_id = ? AND e.kind = 'cancelled' AND e.source <> 'own' AND e.revision > ?
    AND NOT EXISTS (SELECT 1 FROM status_requests s WHERE s.order_id = o.order_id AND s.status_sent = e.new_status)`;

const STORED = "SELECT status, service_updated_at AS timestamp FROM orders WHERE order_id = ?";
/** A pass over changes is new enough for a status for so long. */
const KNOWN_FOR_MS = 10_000;

/** A person has cancelled it through the bridge. */
const OWN_CANCELLATION = "SELECT 1 FROM status_requests WHERE order_id = ? AND status = 'cancelled'";

const UNSHOWN = `SELECT comment FROM status_requests r JOIN orders o ON o.order_id = lower(r.order_id)
  WHERE r.unshown_since IS NOT NULL AND o.status = r.status_sent`;

const STAMP = /"updated_at":\s*"?([^",}]+)/;

export class StatusInvariants {
  readonly #scene: Scene;
  /** Orders with a status request of which nobody knows whether it took effect. */
  readonly #open = new Set<string>();
  /** The request that left last for each order. */
  readonly #openNumber = new Map<string, number>();
  /** Of each order, the status of the last request that left. */
  readonly #wantedStatus = new Map<string, string>();
  /** Those of which an answer came that did not accept it. */
  readonly #isAnswered = new Set<string>();
  /** Those whose last request was for the status that the order had as it left: a look at the order tells nothing of that one. */
  readonly #wasOfSame = new Set<string>();
  /** Requests that have left for the status which their order had, as far as was known here. */
  readonly #leftOfSame = new Set<number>();
  readonly #effects = new Map<number, Effect>();
  /** Those that a restored service has lost since. */
  readonly #lostEffects = new Set<number>();
  readonly #knownWhenSent = new Map<number, Known | undefined>();
  /** Requests whose last answer was that their order was not confirmed yet, while the bridge still sent the confirm. */
  readonly #refusedEarly = new Set<number>();
  /** Requests that the service itself has refused. */
  readonly refused = new Set<number>();
  /** Requests that took effect out of a queue after the service had refused them, or after the bridge had said that their effect is not known. */
  readonly #carriedOutAfterRefusal = new Set<number>();
  /** Requests of which it was not known for a while whether they had taken effect. */
  readonly #wasUnknown = new Set<number>();
  readonly #unanswered = new Set<number>();
  /** Requests that were to leave as the program died, and when that was by the service's clock: it may have sent them. */
  readonly #lostAtMs = new Map<number, number>();
  /** What the requests of a pass took. */
  #pace = { busyMs: 0, requests: 0, failedReads: 0 };
  /** The ERP held the write lock until then. */
  lockedUntilMs = 0;
  /** Requests that never began to travel the last time that they were to leave, and in which life. */
  readonly #neverLeft = new Map<number, number>();
  /** Requests that stood in a queue, and how often they took effect. */
  readonly #queued = new Map<number, number>();
  /** How often each was put into the queue. */
  readonly #taken = new Map<number, number>();
  #deaths = 0;
  readonly #sentAtMs = new Map<number, number>();
  /** Of requests that leave again: nothing on disk tells that the order was changed since they took effect. */
  readonly #untold = new Set<number>();

  /** Of each order, the date of the last answer for it and when it first came; and the newest date of other answers. Of one program. */
  readonly #dates = new Map<string, { date: string; atMs: number }>();
  #newestDateMs = 0;
  #datesOf = 0;
  /** When requests left for a place that answers nothing but errors without a `Date`: whether they took effect, and when they left, is not known. */
  readonly #blindAtMs = new Map<number, number>();

  /** What the running program was told of orders. */
  readonly #called = new Map<string, Called>();
  /**
   * Cancellations that an answer has listed beside what came after them, the revision that was stored then, the number of
   * requests until then, and when the later one was.
   */
  readonly #overtaken = new Map<string, { revision: number; requests: number; nextAt: string }>();
  /** The number of requests when a cancellation was listed first, by order and time: a history lists it again and again. */
  readonly #listedAt = new Map<string, number>();
  readonly #onCalled = new Map<string, () => void>();
  /** Requests for orders that were cancelled before the ERP asked, of which no answer could have told since. */
  readonly #unseen = new Map<number, string>();
  /** What has shown an order since a status of it took effect: copies of which nothing tells that they are, or also a true answer. */
  readonly #shownBy = new Map<string, "copies" | "itself">();
  /** When the changes were last answered. */
  #followedMs = 0;
  /** Some changes have named their orders as usual. */
  #areChangesKnown = false;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** The ERP has just asked for another status of an order that a customer has just cancelled. */
  onUnseen(orderId: string, isStopped: boolean): void {
    const { auditor, coverage, erp } = this.#scene;
    const sql = "SELECT failures FROM flows WHERE flow = 'updates' AND last_success_at IS NOT NULL";
    const failures = auditor.prepare(sql).pluck().get() as number | undefined;
    // Before the changes were ever followed, orders are as new as their batches; of what happened a moment after they were, nobody can know.
    if (failures === undefined || this.#scene.time.elapsedMs - this.#followedMs <= KNOWN_FOR_MS) return;
    coverage.count("cancelled unseen", isStopped ? "stopped" : failures > 0 ? "away" : "between two passes");
    this.#unseen.set(erp.asked.length, orderId);
  }

  /** The changes, or the order itself, may have told of the cancellation. */
  #noteSeen({ route }: Sent, told: Told): void {
    if (told.kind !== "answer" || (told.status >= 300 && told.status !== 404 && told.status !== 410)) return;
    if (route.kind === "updates") this.#followedMs = this.#scene.time.elapsedMs;
    for (const [number, orderId] of this.#unseen)
      if (route.kind === "updates" || (route.kind === "snapshot" && route.orderId?.toLowerCase() === orderId))
        this.#unseen.delete(number);
  }

  onSent({ route, request, isElsewhere }: Sent) {
    if (route.kind !== "status") return;
    const orderId = (route.orderId ?? "").toLowerCase();
    const isOfSame = this.#scene.auditor.prepare(IS_OF_SAME).get(request.body.toString("utf8")) !== undefined;
    const isToldByAnswer = this.#isAnswered.has(orderId) && (isOfSame || this.#wasOfSame.has(orderId));
    if (this.#open.has(orderId) && !isToldByAnswer && !this.#isOverHere(orderId))
      this.#scene.fail(12, `a status of ${orderId} is sent again without a look at the order`);
    this.#open.add(orderId);
    this.#openNumber.set(orderId, numberOf(request.body.toString("utf8")));
    this.#wantedStatus.set(orderId, (JSON.parse(request.body.toString("utf8")) as { status: string }).status);
    if (isOfSame) this.#wasOfSame.add(orderId);
    else this.#wasOfSame.delete(orderId);
    if (isOfSame) this.#leftOfSame.add(numberOf(request.body.toString("utf8")));
    this.#isAnswered.delete(orderId);
    this.#neverLeft.delete(numberOf(request.body.toString("utf8")));
    const number = numberOf(request.body.toString("utf8"));
    if (!this.#sentAtMs.has(number)) this.#sentAtMs.set(number, this.#scene.service.now());
    this.#unanswered.add(number);
    const asked = this.#scene.erp.asked[number - 1];
    const isUndone = asked !== undefined && this.#scene.auditor.prepare(WAS_CANCELLED).get(orderId, asked.revision);
    if (isUndone !== undefined && asked?.status !== "cancelled")
      this.#scene.fail(12, `request ${number} leaves for an order that was cancelled since`);
    if (asked?.status !== "cancelled" && this.#isCalledCancelled(orderId))
      this.#scene.fail(
        12,
        `request ${number} leaves for an order that an answer has called cancelled, and that was not read since`,
      );
    if (asked !== undefined && asked.status !== "cancelled" && this.#isOvertaken(orderId, number, asked.revision))
      this.#scene.fail(12, `request ${number} leaves for an order that the changes have listed as cancelled since`);
    const isUnseen = this.#unseen.get(number) === orderId && this.#scene.service.statusOf(orderId) === "cancelled";
    if (isUnseen && !isElsewhere)
      this.#scene.fail(
        12,
        `request ${number} leaves for an order that was cancelled before it was asked for, and nothing was asked since`,
      );
    const known = this.#scene.auditor.prepare(KNOWN).get(orderId) as Known | undefined;
    const first = this.#effects.get(number);
    if (first === undefined) this.#knownWhenSent.set(number, known);
    else if (this.#isUntold(number, first, known)) this.#untold.add(number);
  }

  /**
   * The request before was refused by an answer, and while it waited the program refused it because the changes had shown that the order was
   * cancelled: it is not sent again, and what the ERP asks for afterwards repeats nothing.
   */
  #isOverHere(orderId: string): boolean {
    const comment = `request ${this.#openNumber.get(orderId)}`;
    return this.#isAnswered.has(orderId) && this.#scene.auditor.prepare(IS_REFUSED_HERE).get(comment) !== undefined;
  }

  onTold(sent: Sent, told: Told) {
    const { route, request, fate, life } = sent;
    this.#noteCalled(sent, told);
    this.#noteSeen(sent, told);
    this.noteDuration(sent, told);
    if (route.kind === "status" && told.kind === "nothing" && told.effect === "none") {
      this.#neverLeft.set(numberOf(request.body.toString("utf8")), life.number);
    }
    if (route.kind === "status" && told.kind === "answer") {
      const number = numberOf(request.body.toString("utf8"));
      const isRefusal = told.status >= 400 && told.status < 500 && told.status !== 408;
      if (isRefusal || told.isTrue) this.#unanswered.delete(number);
      if (isRefusal && (fate === undefined || fate.kind === "slow")) this.refused.add(number);
      const isEarly = told.status === NOT_CONFIRMED && told.body.includes("was not confirmed yet");
      const owed = isEarly
        ? this.#scene.auditor.prepare(CONFIRM_IS_OWED).get((route.orderId ?? "").toLowerCase())
        : undefined;
      if (owed !== undefined) this.#scene.coverage.count("refused", "before the confirm");
      if (owed !== undefined) this.#refusedEarly.add(number);
      else this.#refusedEarly.delete(number);
    }
    const orderId = (route.orderId ?? "").toLowerCase();
    if (route.kind === "status" && this.#unanswered.has(numberOf(request.body.toString("utf8")))) {
      this.#wasUnknown.add(numberOf(request.body.toString("utf8")));
    }
    if (told.kind === "answer") this.#noteDate(sent, told.date);
    if (told.kind === "nothing") {
      if (told.effect === "none") this.#open.delete(orderId);
      return;
    }
    const { status } = told;
    // A refusal may come from somewhere else than the service, and hide that the status took effect.
    if (route.kind === "status" && told.isTrue) this.#open.delete(orderId);
    if (route.kind === "status" && status < 500 && status !== 408) this.#isAnswered.add(orderId);
    if (route.kind === "snapshot" && (told.isTrue || status === 404 || status === 410 || isFormer(sent, told)))
      this.#open.delete(orderId);
    // Its status is what it is, whatever became of its lines, and of the texts that are no UTF-8: a status is written in ASCII here.
    const isTextAlone = fate?.kind === "lie" && fate.lie.body === "cp1251" && told.body.toLowerCase().includes(orderId);
    if (route.kind === "snapshot" && fate?.kind === "lie" && (hasStatus(fate.lie) || isTextAlone))
      this.#open.delete(orderId);
    const isCopy = route.kind === "snapshot" && this.#isOfReplica(sent, told);
    if (isCopy) this.#open.delete(orderId);
    if (isCopy && !this.#shownBy.has(orderId)) this.#shownBy.set(orderId, "copies");
    if (route.kind === "snapshot" && told.isTrue) this.#shownBy.set(orderId, "itself");
    // Changes and batches show orders too: one that has the status is looked at as well as by its own answer.
    if ((route.kind === "updates" || route.kind === "orders") && told.isTrue) this.#closeShown(told.body);
  }

  /** Once, as soon as an answer says so. */
  onCalledCancelled(orderId: string, then: () => void): void {
    this.#onCalled.set(orderId, then);
  }

  #noteCalled({ route }: Sent, told: Told): void {
    if (told.kind !== "answer") return;
    const { status, isTrue, body, shown } = told;
    const read = this.#called.get((route.orderId ?? "").toLowerCase());
    // Whatever it shows: the program goes by it.
    if (route.kind === "snapshot" && read !== undefined && (status < 300 || status === 404 || status === 410))
      read.isRead = true;
    const text = isTrue ? body : (shown ?? "");
    if (text === "" || (route.kind !== "orders" && route.kind !== "updates")) return;
    // Where no change had its id at the configured place yet, nothing tells such an answer from a wrong configuration: it is not understood.
    if (!isTrue && route.kind === "updates" && !this.#areChangesKnown) return;
    const records = recordsIn(parsed(text));
    if (isTrue && route.kind === "updates") this.#areChangesKnown ||= records.length > 0;
    for (const record of records) {
      if (route.kind === "orders" && isTrue) this.#called.delete(String(record.order_id).toLowerCase());
      else this.#noteChange(record, !isTrue);
    }
    if (isTrue && route.kind === "updates") this.#noteOvertaken(records);
  }

  #noteOvertaken(records: ReturnType<typeof recordsIn>): void {
    for (const { order_id, status, updated_at } of records) {
      const orderId = String(order_id).toLowerCase();
      const stored = this.#scene.auditor.prepare(KNOWN).get(orderId) as Known | undefined;
      if (typeof status !== "string" || stored === undefined) continue;
      const place = `${orderId} ${status} ${updated_at}`;
      const requests = this.#listedAt.get(place) ?? this.#scene.erp.asked.length;
      this.#listedAt.set(place, requests);
      // Of an order that is cancelled already, the same record comes with a change of anything else: it is no other cancellation, unless one is
      // listed before it that is none.
      const wasCancelled = stored.status === "cancelled";
      if ((status === "cancelled") === wasCancelled) continue;
      if (!isBefore(stored.timestamp ?? undefined, String(updated_at))) continue;
      const later = records.filter(
        (other) =>
          String(other.order_id).toLowerCase() === orderId && isBefore(String(updated_at), String(other.updated_at)),
      );
      const next = later.find((other) => (other.status === "cancelled") === wasCancelled);
      // Not where it is opened, cancelled again and moved on in one answer: of what lies in between only one record is kept.
      if (next === undefined || (wasCancelled && later.some((other) => other.status !== "cancelled"))) continue;
      // Of several versions with one time none is known to be the last.
      const isOfNext = ({ updated_at: at }: typeof next) => String(at) === String(next.updated_at);
      if (later.some((other) => isOfNext(other) && (other.status === "cancelled") !== wasCancelled)) continue;
      if (!wasCancelled) this.#scene.coverage.count("listed", "cancelled and moved on");
      this.#overtaken.set(orderId, { revision: stored.revision, requests, nextAt: String(next.updated_at) });
    }
  }

  /** Once what came later is stored. */
  #isOvertaken(orderId: string, number: number, revision: number): boolean {
    const { auditor, versions } = this.#scene;
    const overtaken = this.#overtaken.get(orderId);
    if (overtaken === undefined || versions.odd.has(orderId)) return false;
    if (number > overtaken.requests || revision > overtaken.revision) return false;
    if (auditor.prepare(OWN_CANCELLATION).get(orderId) !== undefined) return false;
    const stored = auditor.prepare(KNOWN).get(orderId) as Known | undefined;
    return stored !== undefined && stored.timestamp !== null && !isBefore(stored.timestamp, overtaken.nextAt);
  }

  #noteChange({ order_id, status, updated_at }: ReturnType<typeof recordsIn>[number], isUnsure: boolean): void {
    if (typeof status !== "string") return;
    const orderId = String(order_id).toLowerCase();
    const timestamp = String(updated_at);
    const before = this.#called.get(orderId);
    const { time, machine } = this.#scene;
    const at = { atMs: time.elapsedMs, wallOffsetMs: machine.wallOffsetMs };
    if (before === undefined || isBefore(before.timestamp, timestamp))
      this.#called.set(orderId, { status, timestamp, ...at, isRead: false, isUnsure });
    else if (!isBefore(timestamp, before.timestamp) && status !== before.status) before.status = null;
    if (this.#called.get(orderId)?.status !== "cancelled") return;
    this.#onCalled.get(orderId)?.();
    this.#onCalled.delete(orderId);
  }

  /** Since a moment ago at least, by a change that is later than what is stored. */
  #isCalledCancelled(orderId: string): boolean {
    const { auditor, machine, time, versions } = this.#scene;
    const called = this.#called.get(orderId);
    if (called?.status !== "cancelled" || called.isRead || called.atMs >= time.elapsedMs) return false;
    const agoMs = time.elapsedMs - called.atMs;
    const wallAgoMs = agoMs + machine.wallOffsetMs - called.wallOffsetMs;
    if (called.isUnsure && wallAgoMs > UNSURE_FOR_MS && agoMs > UNSURE_AT_LEAST_MS) return false;
    if (versions.odd.has(orderId) || auditor.prepare(OWN_CANCELLATION).get(orderId) !== undefined) return false;
    const stored = auditor.prepare(STORED).get(orderId) as { status: string; timestamp: string | null } | undefined;
    if (stored === undefined || stored.status === "cancelled") return false;
    return isBefore(stored.timestamp ?? undefined, called.timestamp);
  }

  #closeShown(body: string): void {
    if (this.#open.size + this.#shownBy.size === 0 || body === "") return;
    for (const { order_id, status } of recordsIn(parsed(body))) {
      const orderId = String(order_id).toLowerCase();
      if (this.#wantedStatus.get(orderId) === status) this.#shownBy.set(orderId, "itself");
      if (this.#wantedStatus.get(orderId) === status && !this.#wasOfSame.has(orderId)) this.#open.delete(orderId);
    }
  }

  /** An answer of a replica that lags, and is not older than what is stored: nothing tells that it is one. */
  #isOfReplica({ route, fate }: Sent, { status, body, age }: Told & { kind: "answer" }): boolean {
    const orderId = (route.orderId ?? "").toLowerCase();
    // A cache that tells the age of its answer, or gives a date that stands still, tells that it is one. Below a second the age is 0,
    // which caches also give to what they have just fetched.
    const isTold = fate?.kind === "lie" && (Number(age ?? 0) > 0 || this.#isDateStill(orderId));
    const isStale = fate?.kind === "lie" && isOfBefore(fate.lie) && !isTold && status < 300;
    if (!isStale || !body.toLowerCase().includes(orderId)) return false;
    const known = this.#scene.auditor.prepare(KNOWN).get(orderId) as Known | undefined;
    return !isBefore(STAMP.exec(body)?.[1], known?.timestamp ?? undefined);
  }

  /** The same date came with an answer for the order more than a minute ago, and later ones have come with other answers since. */
  #isDateStill(orderId: string): boolean {
    const served = this.#dates.get(orderId);
    if (served === undefined) return false;
    const { elapsedMs } = this.#scene.time;
    return elapsedMs - served.atMs > DATE_FRESH_MS && this.#newestDateMs - Date.parse(served.date) > DATE_FRESH_MS;
  }

  #noteDate({ route, life }: Sent, date: string | undefined): void {
    // What a program has seen is gone with it.
    if (this.#datesOf !== life.number) {
      this.#datesOf = life.number;
      this.#dates.clear();
      this.#newestDateMs = 0;
    }
    if (date === undefined) return;
    if (route.kind !== "snapshot") this.#newestDateMs = Math.max(this.#newestDateMs, Date.parse(date));
    const orderId = (route.orderId ?? "").toLowerCase();
    if (route.kind !== "snapshot" || this.#dates.get(orderId)?.date === date) return;
    this.#dates.set(orderId, { date, atMs: this.#scene.time.elapsedMs });
  }

  /** A pass that waits for one order keeps the others waiting. */
  checkPace(passMs: number): void {
    const { time, fail } = this.#scene;
    const { busyMs, requests, failedReads } = this.#pace;
    this.#pace = { busyMs: 0, requests: 0, failedReads: 0 };
    const mayIdleMs = IDLE_MS + requests * IDLE_PER_REQUEST_MS + failedReads * IDLE_PER_READ_MS;
    if (time.elapsedMs < this.lockedUntilMs + passMs || passMs - busyMs <= mayIdleMs) return;
    fail(12, `a pass of statuses waited for ${Math.round((passMs - busyMs) / 1000)} s beside its requests`);
  }

  noteDuration({ atMs, route }: Sent, told: Told): void {
    if (route.kind !== "status" && route.kind !== "snapshot") return;
    this.#pace.busyMs += this.#scene.time.elapsedMs - atMs;
    this.#pace.requests += 1;
    this.#pace.failedReads += Number(told.kind === "nothing" || told.status >= 400);
  }

  /** After a pass: what cannot have had an effect is not kept as if it might have had one. */
  onResult(life: number): void {
    if (this.#neverLeft.size === 0) return;
    const sending = this.#scene.auditor.prepare(SENDING).pluck().all() as string[];
    for (const comment of sending) {
      const number = Number(comment.replace("request ", ""));
      if (this.#neverLeft.get(number) !== life) continue;
      this.#scene.fail(12, `request ${number} is taken for sent, and no connection came about`);
    }
  }

  /** At the end: whatever counts as sent has left, and what took effect does not count as refused. */
  listWrong(): string[] {
    const rows = this.#scene.auditor.prepare(SETTLED).all() as {
      comment: string;
      state: string;
      began: number;
      httpStatus: number | null;
    }[];
    const unshown = this.#scene.auditor.prepare(UNSHOWN).pluck().all() as string[];
    const wrong = unshown.map((comment) => `${comment} counts as not shown by its order, which has the status`);
    const settled = rows.flatMap(({ comment, state, began, httpStatus }) => {
      const number = Number(comment.replace("request ", ""));
      const effect = this.#effects.get(number);
      // Where the order was changed once more nobody can tell by looking at it.
      // Nor where the service moved it on at once: what was asked for was never to be seen.
      const isTold =
        effect?.isStatusNew === true &&
        !this.hasMovedOn(number) &&
        !this.#scene.versions.hasMoreSince(effect.orderId, effect.atMs);
      const isRefusedFirst = this.#carriedOutAfterRefusal.has(number);
      if (state === "refused") return isTold && !isRefusedFirst ? [`request ${number} is refused and took effect`] : [];
      const isCome = this.#hasCome(number) || this.#leftOfSame.has(number);
      if (httpStatus !== null && httpStatus < 300 && !isCome)
        return [`request ${number} counts as accepted and did nothing`];
      // Whether one that was to leave as the program died has left nobody can tell where the order had the status before.
      return this.#sentAtMs.has(number) || began === 1 ? [] : [`request ${number} counts as sent and never left`];
    });
    // While its confirm is still sent such a refusal says nothing of the order; that it is gone, or was cancelled, is another reason.
    const early = rows.flatMap(({ comment, state, httpStatus }) => {
      const isEarly = this.#refusedEarly.has(Number(comment.replace("request ", "")));
      return isEarly && state === "refused" && httpStatus === NOT_CONFIRMED
        ? [`${comment} is refused because its order was not confirmed`]
        : [];
    });
    return [...wrong, ...settled, ...early, ...rows.flatMap((row) => this.#listVain(row))];
  }

  /** Its order had the status before, and nothing has come to the service or changed the order since: that it has the status shows nothing. */
  #listVain({ comment, state, httpStatus }: { comment: string; state: string; httpStatus: number | null }): string[] {
    const number = Number(comment.replace("request ", ""));
    const orderId = this.#scene.erp.asked[number - 1]?.orderId.toLowerCase() ?? "";
    const leftAtMs = this.#sentAtMs.get(number);
    if (
      state !== "sent" ||
      httpStatus !== null ||
      this.#hasCome(number) ||
      leftAtMs === undefined ||
      !this.#leftOfSame.has(number)
    )
      return [];
    if (!this.#unanswered.has(number) || this.#scene.versions.hasOtherSince(orderId, leftAtMs - SHOWN_WITHIN_MS))
      return [];
    return [`${comment} counts as sent, has not arrived, and its order had the status before`];
  }

  #hasCome(number: number): boolean {
    return this.#effects.has(number) || this.#lostEffects.has(number) || this.#queued.has(number);
  }

  /** Whether the service has carried a request out and moved its order on at once. */
  hasMovedOn(number: number): boolean {
    const status = this.#scene.erp.asked[number - 1]?.status ?? "";
    return (
      this.#scene.forms.movesOn &&
      Object.hasOwn(MOVES_ON, status) &&
      (this.#effects.has(number) || this.#lostEffects.has(number))
    );
  }

  /** The service has lost what it accepted since. */
  forgetSince(sinceMs: number): void {
    this.#called.clear();
    for (const [number, { atMs }] of this.#effects) {
      if (atMs <= sinceMs) continue;
      this.#effects.delete(number);
      this.#lostEffects.add(number);
    }
  }

  /** The service has taken the request into a queue. */
  noteTaken(request: Sent["request"]): void {
    const number = numberOf(request.body.toString("utf8"));
    this.#queued.set(number, this.#queued.get(number) ?? 0);
    const times = (this.#taken.get(number) ?? 0) + 1;
    this.#taken.set(number, times);
    // Of what left as the program died it does not know that it was taken.
    if (times > QUEUED_MAX + this.#deaths)
      this.#scene.fail(12, `request ${number} was put into a queue ${times} times`);
  }

  /** Whether a request for the order stood in a queue, and never took effect. */
  wasQueued(orderId: string, { isInVain }: { isInVain: boolean }): boolean {
    const times = this.#scene.erp.asked.flatMap((each, index) =>
      each.orderId === orderId ? (this.#queued.get(index + 1) ?? []) : [],
    );
    return times.some((each) => !isInVain || each === 0);
  }

  #noteQueued(orderId: string, number: number): void {
    const { fail, service, versions } = this.#scene;
    const times = (this.#queued.get(number) ?? 0) + 1;
    this.#queued.set(number, times);
    const isUnknown = this.#scene.auditor.prepare(IS_REFUSED_UNKNOWN).get(`request ${number}`) !== undefined;
    if (this.refused.has(number) || isUnknown) this.#carriedOutAfterRefusal.add(number);
    if (times > QUEUED_MAX) fail(12, `request ${number} was taken into a queue and took effect ${times} times`);
    this.#effects.set(number, {
      orderId,
      known: this.#knownWhenSent.get(number),
      atMs: service.now(),
      isStatusNew: versions.isStatusNew(orderId),
    });
  }

  /** When a request has left, as far as the bridge can tell; undefined where it knows that none did. */
  leftAtMs(number: number): number | undefined {
    return this.#sentAtMs.get(number) ?? this.#lostAtMs.get(number);
  }

  /** A request has left for a place that is not ready. */
  onSentBlind({ route, request }: Sent): void {
    if (route.kind !== "status") return;
    this.#blindAtMs.set(numberOf(request.body.toString("utf8")), this.#scene.service.now());
  }

  blindAtMs(number: number): number | undefined {
    return this.#blindAtMs.get(number);
  }

  wasUnknown(number: number): boolean {
    return this.#wasUnknown.has(number) || this.#unanswered.has(number) || this.#lostAtMs.has(number);
  }

  /** The program has died: of what was committed as about to leave it will not know whether it left. */
  onDeath(): void {
    this.#deaths += 1;
    // What was not stored yet it will be told again.
    this.#called.clear();
    for (const [orderId, { nextAt }] of this.#overtaken) {
      const stored = this.#scene.auditor.prepare(KNOWN).get(orderId) as Known | undefined;
      if (stored === undefined || isBefore(stored.timestamp ?? undefined, nextAt)) this.#overtaken.delete(orderId);
    }
    for (const comment of this.#scene.auditor.prepare(SENDING).pluck().all() as string[]) {
      const number = Number(comment.replace("request ", ""));
      if (!this.#sentAtMs.has(number) && !this.#lostAtMs.has(number))
        this.#lostAtMs.set(number, this.#scene.service.now());
    }
  }

  onEntry({ effect, requestBody }: LedgerEntry) {
    if (effect?.kind !== "status") return;
    const { fail, versions, coverage } = this.#scene;
    const { orderId } = effect;
    const number = numberOf(requestBody ?? "{}");
    // Who is told that it waits cannot tell when it is carried out: two repetitions are the most, and what comes by then overtakes it.
    if (this.#queued.has(number)) return this.#noteQueued(orderId, number);
    if (this.#effects.has(number)) {
      // It came and went, and left no trace that any client could have seen.
      // A record that is served as it stands shows no status that it was given.
      // Nor does one that had the status before as far as was known here: somebody had changed it meanwhile, and no answer said so.
      const isOfSame = this.#effects.get(number)?.isStatusNew === false || this.#leftOfSame.has(number);
      const { atMs = 0 } = this.#effects.get(number) ?? {};
      // Its version was taken back with the status: what a service that was restored has lost is sent again.
      if (versions.isStatusNew(orderId) && versions.hasGoneBackSince(orderId, atMs))
        coverage.count("untold", "a status of an order that went back");
      else if (isOfSame) coverage.count("untold", "a status that the order had before");
      else if (versions.odd.has(orderId)) coverage.count("untold", "a status of an absurd record");
      // Where the service moves an order on at once, only the order's change shows that: here another change explains it,
      // such as lines that a restored service has lost.
      else if (this.#untold.has(number) && (versions.isStatusNew(orderId) || this.hasMovedOn(number)))
        coverage.count("untold", "a status that came and went");
      // The status was answered with nothing that is understood, and a cache without a sign of it shows the order as it was.
      else if (this.#shownBy.get(orderId) === "copies") coverage.count("untold", "a status that a copy hides");
      else fail(12, `request ${number} took effect twice`);
    }
    const later = [...this.#effects].find(
      ([other, each]) => each.orderId === orderId && other > number && !this.#queued.has(other),
    );
    if (later !== undefined) fail(12, `request ${number} took effect after request ${later[0]}`);
    this.#effects.set(number, {
      orderId,
      known: this.#knownWhenSent.get(number),
      atMs: this.#scene.service.now(),
      isStatusNew: versions.isStatusNew(orderId),
    });
    this.#shownBy.delete(orderId);
  }

  /** Another status, or a newer timestamp over the same content, would have told. */
  #isUntold(number: number, { orderId, known: before }: Effect, now: Known | undefined): boolean {
    if (before === undefined || now === undefined) return true;
    // That the order has the status in which it was listed when the request left is known only once it is read.
    const other = this.#scene.auditor.prepare(HAS_OTHER_STATUS).get(orderId, before.revision, `request ${number}`);
    if (other !== undefined) return false;
    return now.revision !== before.revision || !isBefore(before.timestamp ?? undefined, now.timestamp ?? undefined);
  }
}

/** What is answered with the bytes of an earlier answer, which may be the order's own. */
const FORMER_BODIES: ReadonlySet<LieBody> = new Set<LieBody>(["another record", "right"]);

/** An answer that the order itself was given before: whoever looks sees nothing else. */
function isFormer({ route, fate }: Sent, told: Told & { kind: "answer" }): boolean {
  const isRecord = fate?.kind === "lie" && FORMER_BODIES.has(fate.lie.body) && told.status < 300;
  return isRecord && told.body.toLowerCase().includes((route.orderId ?? "").toLowerCase());
}

/** A true answer may hold an absurd record that is no JSON; what it shows of other orders is not looked for. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The records of orders in an answer, wherever it keeps them. */
function recordsIn(value: unknown): { order_id: unknown; status?: unknown; updated_at?: unknown }[] {
  if (Array.isArray(value)) return value.flatMap(recordsIn);
  if (typeof value !== "object" || value === null) return [];
  return "order_id" in value ? [value] : Object.values(value).flatMap(recordsIn);
}

/** The ERP's comment says which request it is. */
function numberOf(body: string): number {
  const { comment } = JSON.parse(body) as { comment: string };
  return Number(comment.replace("request ", ""));
}
