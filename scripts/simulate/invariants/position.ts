/*
 * The watermark: sent by the service, moved only with the rows it covers, never from the future, never back without a
 * reason.
 */
import { readTimestamp } from "../../../src/sandbox/timestamps.ts";
import { asJson } from "../hostile/lies.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";

interface Change {
  readonly orderId: string;
  readonly seq: number;
  readonly us: number;
}

/** A pass may be kept from writing for so long by an ERP that holds the lock. */
const RECENT_MS = 5 * 60_000;
/** The program takes a position that lies further ahead of its own clock for a wrong one. */
const AHEAD_MS = 3_600_000;
const WATERMARK = "SELECT value FROM watermarks WHERE stream = 'updates'";
const IS_OWED = `SELECT 1 FROM owed_reads WHERE order_id = @id UNION ALL SELECT 1 FROM quarantine WHERE reference = @id
  UNION ALL SELECT 1 FROM orders WHERE order_id = @id AND removed_at IS NOT NULL`;
const DATE = /^[A-Z][a-z]{2}, /;
const NAMES_NO_ZONE = /^\d{4}-\d\d-\d\d[T ][\d:.,]+$/;
const OFFSET_MAX_US = 14 * 3_600_000_000;

export class PositionInvariants {
  readonly #scene: Scene;
  readonly #sentTexts = new Set<string>();
  #received: Change[] = [];
  #value: string | undefined;
  /** Whether any answer has told this life what the service's clock shows: without that nothing is known to be the future. */
  #wasToldDate = false;
  /** The `Date` that was told last, and when that was. */
  #dated: { atMs: number; showedMs: number } | undefined;
  /** Times of the orders of batches: following may begin with one of them. */
  readonly #orderTexts = new Set<string>();
  /** Times of orders that were read: a position that is ahead goes back to the newest time of an order that is not. */
  readonly #readTexts = new Set<string>();
  /** What the service's clock showed with its last answers, and when that was. */
  #clocks: { atMs: number; showedMs: number }[] = [];
  /** Records of changes that were served, and when the last one came for the first time that bears an earlier time than the position. */
  readonly #served = new Set<string>();
  #newsBehindMs = Number.NEGATIVE_INFINITY;
  /** Since when a record has shown how the service writes its times. */
  shownMs = Number.POSITIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** What a program that died had received is served again, and counts from then. */
  onStart() {
    this.#received = [];
    this.#wasToldDate = false;
    this.#dated = undefined;
  }

  onMoved() {
    this.#value = undefined;
    // The service at another address has a clock of its own.
    this.#clocks = [];
    this.#dated = undefined;
  }

  onTold({ route }: Sent, told: Told) {
    if (told.kind !== "answer") return;
    if (told.date !== undefined) {
      this.#sentTexts.add(told.date);
      this.#wasToldDate = true;
    }
    const { addressedNow, time } = this.#scene;
    this.#clocks = this.#clocks.filter(({ atMs }) => atMs > time.elapsedMs - RECENT_MS);
    // The answer may have been on its way while the clock was set back.
    const datedMs = told.date === undefined ? Number.NEGATIVE_INFINITY : Date.parse(told.date);
    this.#clocks.push({ atMs: time.elapsedMs, showedMs: Math.max(addressedNow, datedMs) });
    if (told.date !== undefined) this.#dated = { atMs: time.elapsedMs, showedMs: datedMs };
    const textsOf = { orders: this.#orderTexts, updates: this.#sentTexts, snapshot: this.#readTexts };
    const texts = textsOf[route.kind as keyof typeof textsOf] as Set<string> | undefined;
    if (texts === undefined || told.status >= 300) return;
    for (const [, text, number] of told.body.matchAll(/"updated_at":(?:"([^"]*)"|([\d.]+))/g)) {
      texts.add(text ?? number ?? "");
      this.shownMs = Math.min(this.shownMs, time.elapsedMs);
    }
    if (route.kind !== "updates") return;
    const { bare, next } = this.#scene.forms;
    const [, token, digits] = (next === "none" ? null : /"next":(?:"([^"]*)"|([\d.]+))/.exec(told.body)) ?? [];
    const asked = new URLSearchParams(route.query).get("since");
    // Nothing is no position, unless it was asked for.
    if (![undefined, "", "0"].includes(token ?? digits) || token === asked) this.#sentTexts.add(token ?? digits ?? "");
    if (!told.isTrue || told.body === "") return;
    const root = JSON.parse(asJson(told.body)) as
      | { data?: { updates?: object[] | null } | null; next?: unknown }
      | object[];
    const list = Array.isArray(root) ? (bare ? root : []) : (root.data?.updates ?? []);
    for (const record of list) this.#note(record);
  }

  #note(record: object) {
    const { versions } = this.#scene;
    const { order_id, updated_at } = record as { order_id?: unknown; updated_at?: unknown };
    if (typeof order_id !== "string") return;
    const orderId = order_id.toLowerCase();
    if (versions.odd.has(orderId)) return;
    const us = this.#micros(String(updated_at));
    this.#noteNews(JSON.stringify(record), us);
    const [version] = versions.shownBy(orderId, record);
    if (this.#scene.forms.carry === "whole" && versions.isMisleading(orderId)) return;
    if (us !== undefined && version !== undefined) this.#received.push({ orderId, seq: version.seq, us });
  }

  #noteNews(record: string, us: number | undefined) {
    if (this.#served.has(record)) return;
    this.#served.add(record);
    const { atMs } = this;
    if (us !== undefined && atMs !== undefined && us < atMs * 1000) this.#newsBehindMs = this.#scene.time.elapsedMs;
  }

  /** @param hasVersion whether a version of an order is stored, or a later one. */
  onCommit(hasVersion: (orderId: string, seq: number) => boolean) {
    const value = this.#scene.auditor.prepare(WATERMARK).pluck().get() as string | undefined;
    if (value === this.#value || value === undefined) return;
    const before = this.#value;
    this.#value = value;
    const { fail, addressedNow, forms, coverage, machine, time } = this.#scene;
    coverage.count("watermark", before === undefined ? "first" : "moved");
    const beforeUs = before === undefined ? undefined : this.#micros(before);
    const isAheadHere =
      beforeUs !== undefined && !this.#wasToldDate && beforeUs > (time.trueMs + machine.wallOffsetMs + AHEAD_MS) * 1000;
    const mayBeOfOrder = before === undefined || isAheadHere;
    const isOfOrder = mayBeOfOrder && (this.#orderTexts.has(value) || (isAheadHere && this.#readTexts.has(value)));
    if (!this.#sentTexts.has(value) && !isOfOrder)
      return fail(7, `the watermark ${value} was never sent by the service`);
    if (value.startsWith("cursor-")) return;
    const us = this.#micros(value);
    if (us === undefined) return fail(7, `the watermark ${value} is no time`);
    // Where the clock was set back and no answer has borne a `Date` since, all that can be known is the last one and the time that has passed.
    const expectedMs =
      this.#dated === undefined ? addressedNow : this.#dated.showedMs + time.elapsedMs - this.#dated.atMs;
    const latestMs = Math.max(addressedNow, expectedMs, ...this.#clocks.map(({ showedMs }) => showedMs));
    if (this.#wasToldDate && us > (latestMs + 2_000) * 1000) fail(7, `the watermark ${value} is from the future`);
    if (beforeUs !== undefined && us < beforeUs) {
      coverage.count("watermark", "set back");
      // The service at another address has a clock of its own: to the program that is a clock that was set back.
      const isSetBack = addressedNow * 1000 < beforeUs - forms.lookBackMs * 1000;
      // Where it began is the service's `Date`; the place that the service names then may be written in a form that is not known for a time.
      const isNamed = forms.next !== "none" && DATE.test(before ?? "");
      // A time without a zone and one with a zone do not show which is the later one, unless they lie further apart than two zones.
      const isZoneUnclear = NAMES_NO_ZONE.test(before ?? "") !== NAMES_NO_ZONE.test(value);
      const isOtherForm = isZoneUnclear && !DATE.test(value) && us >= beforeUs - OFFSET_MAX_US;
      // A clock that is ahead for a while, and of which nothing tells, looks like one order whose time is wrong: what is new and bears an
      // earlier time speaks for the latter, also where it was written before the clock went ahead.
      const isUnclear = isAheadHere && this.#newsBehindMs > time.elapsedMs - RECENT_MS;
      if (!isSetBack && !isNamed && !isOtherForm && !isUnclear)
        fail(7, `the watermark went back from ${before} to ${value}`);
    }
    // The pull of the first orders says where following begins, also while changes from the beginning are being read: an order that no batch
    // has brought yet comes with one.
    const isOfPull = before === undefined && (isOfOrder || DATE.test(value));
    // The timestamp itself included: what shares it and was served is stored as well.
    const isUncovered = ({ orderId, us: changeUs }: Change) => changeUs > us || (isOfPull && !this.#isStored(orderId));
    const covered = this.#received.filter((change) => !isUncovered(change));
    // Of several versions that came, the last one counts: where it says what is stored of the one before them, as where an order went back to
    // its former status, nothing is stored anew.
    const isDealtWith = (change: Change) => this.#isDealtWith(change.orderId, change.seq, hasVersion);
    const isSurpassed = ({ orderId, seq }: Change) =>
      covered.some((later) => later.orderId === orderId && later.seq > seq && isDealtWith(later));
    const missing = covered.find((change) => !isDealtWith(change) && !isSurpassed(change));
    if (missing !== undefined && !this.#scene.wasMisinformed) {
      fail(7, `the watermark ${value} covers version ${missing.seq} of ${missing.orderId}, which is not stored`);
    }
    this.#received = this.#received.filter(isUncovered);
  }

  /**
   * Where the position stands ahead of a service that has never told what its clock shows: nothing can tell that, and the
   * polls are shown what bears a later timestamp only. Undefined where it stands anywhere else.
   */
  get aheadMs(): number | undefined {
    const { atMs } = this;
    return atMs !== undefined && !this.#wasToldDate && atMs > this.#scene.addressedNow ? atMs : undefined;
  }

  /** Where the position stands, where it is a time. */
  get atMs(): number | undefined {
    const us = this.#value === undefined ? undefined : this.#micros(this.#value);
    return us === undefined ? undefined : us / 1000;
  }

  #isStored(orderId: string): boolean {
    return this.#scene.auditor.prepare("SELECT 1 FROM orders WHERE order_id = ?").get(orderId) !== undefined;
  }

  #isDealtWith(orderId: string, seq: number, hasVersion: (orderId: string, seq: number) => boolean): boolean {
    return hasVersion(orderId, seq) || this.#scene.auditor.prepare(IS_OWED).get({ id: orderId }) !== undefined;
  }

  #micros(text: string): number | undefined {
    if (DATE.test(text)) return Date.parse(text) * 1000;
    const us = readTimestamp(text, "any", this.#scene.service.options);
    return us === undefined || !Number.isFinite(us) ? undefined : us;
  }
}
