/*
 * Nothing confirmed is missing, nothing is stored that was not served, nothing older replaces anything newer.
 */
import { hash } from "node:crypto";
import type { LedgerEntry } from "../../../src/sandbox/ledger.ts";
import { REQUESTED } from "../deeds.ts";
import { isUnsafe, namesOneBatch } from "../forms.ts";
import { withoutError } from "../hostile/lies.ts";
import type { Sent, Told } from "../network.ts";
import type { Scene } from "../scene.ts";
import type { Versions } from "../versions.ts";

interface EventRow {
  seq: number;
  order_id: string;
  payload: string;
  payload_hash: Buffer;
  is_removed: number;
}

/** What an order may lack, or have under another name. */
interface LostRecord {
  total?: unknown;
  unnumbered?: unknown;
  items?: { price?: unknown }[] | null;
  status?: unknown;
}

const MISSING_FOR_MS = 10 * 60_000;
/** A pass that reads many orders, one of them badly, takes no longer. */
const WELL_WITHIN_MS = 5 * 60_000;

/** So long nothing is believed that all orders have lost at once. */
const SOON_MS = 55 * 60_000;
/** Of so many orders it is seen what is usual. */
const USUAL_MIN = 6;

const SQL = {
  usual: `SELECT count(*) FROM orders o WHERE status IS NOT NULL AND total IS NOT NULL AND number IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = o.order_id AND l.price IS NULL)`,
  isStored: "SELECT 1 FROM orders WHERE order_id = ?",
  isQuarantined: "SELECT 1 FROM quarantine WHERE reference = ? OR payload = ?",
  held: "SELECT payload FROM quarantine WHERE state = 'held' AND payload IS NOT NULL",
  lastEvent: "SELECT seq FROM sqlite_sequence WHERE name = 'order_event_rows'",
  events: `SELECT DISTINCT o.order_id, o.payload, o.payload_hash, o.removed_at IS NOT NULL AS is_removed
    FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key WHERE e.seq > ?`,
  hidden: `SELECT DISTINCT o.order_id FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key
    WHERE e.seq > ? AND e.source = 'own' AND e.changes LIKE '%"$.${REQUESTED}"%'`,
  order: "SELECT order_id, payload, payload_hash, removed_at IS NOT NULL AS is_removed FROM orders WHERE order_id = ?",
  ofBatch: "SELECT payload FROM orders WHERE order_id = ? AND payload_source = 'batch'",
  both: `SELECT o.order_id FROM orders o JOIN quarantine q ON q.payload = o.payload
    WHERE q.state = 'held' AND q.kind IN ('order', 'change', 'snapshot') AND q.reason NOT LIKE 'its snapshot%'`,
  twice: "SELECT order_id FROM order_events WHERE kind = 'created' GROUP BY order_id HAVING count(*) > 1",
};

const MINUTE_MS = 60_000;

export class OrderInvariants {
  readonly #scene: Scene;
  readonly #isUnsafe: boolean;
  /** The version that is stored of each order, as far as it was looked at. */
  readonly #stored = new Map<string, number>();
  /** The last payload of each order that was stored whole. */
  readonly #whole = new Map<string, string>();
  /** Orders that are stored without something that no answer told of them. */
  readonly #lacking = new Set<string>();
  /** Orders that the service thinks the bridge has, and that it can not have. Only under unsafe readings. */
  readonly losses = new Set<string>();
  /** Ids, as they were written, of batches and orders that reached the bridge whole. */
  readonly #receivedBatches = new Set<string>();
  readonly #receivedIds = new Set<string>();
  /** What was received as orders since the last confirm that the service carried out. */
  #sinceConfirm = "";
  /** The program that received it. */
  #sinceConfirmBy = 0;
  /** Number of confirms that the service carried out for more orders than it had delivered. */
  largerConfirms = 0;
  #lastEvent = 0;
  /** Rows as they were looked at last. */
  readonly #looked = new Map<string, { payload: string; isRemoved: number; record: object }>();
  /** Answers that hold records, in the order in which they came. */
  #bodies: { isBatch: boolean; text: string }[] = [];
  /** Of each order, when the service first said that it has none, in an answer that was no web page. */
  readonly #saidMissing = new Map<string, number>();
  readonly #removed = new Set<string>();
  /** Of the orders that were read well, when that was last. */
  readonly #readWell = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#isUnsafe = isUnsafe(scene.forms);
  }

  /** What a program that died had received is served again. Only what it had stored counts as told by others. */
  onStart() {
    this.#bodies = this.#bodies.filter(({ isBatch }) => !isBatch);
  }

  /**
   * Orders that a confirm covers, whose newest content came with a batch, and which the journal does not have. What a read
   * of the order has brought is read again after a restore: a batch may have had it before, beside what only the order settles.
   */
  #missingInJournal(ids: readonly string[]): string[] {
    const { forms, journal, wasMisinformed } = this.#scene;
    // With its keys in another order a record is the same and no news.
    if (journal.folder === undefined || forms.shuffleKeys || wasMisinformed) return [];
    return ids.filter((id) => {
      const payload = this.#sql("ofBatch").pluck().get(id) as string | undefined;
      if (payload === undefined) return false;
      const first = this.#bodies.find(({ text }) => text.includes(payload));
      return first?.isBatch === true && !journal.entries.some(({ body }) => body.includes(payload));
    });
  }

  /** Whether the order is on disk, in one way or the other. */
  isKept(orderId: string): boolean {
    const { versions } = this.#scene;
    const bad = versions.bad.get(orderId);
    if (bad === undefined && this.#sql("isStored").get(orderId) !== undefined) return true;
    if (this.#sql("isQuarantined").get(orderId, bad ?? "") !== undefined) return true;
    return (
      bad !== undefined && (this.#sql("held").pluck().all() as string[]).some((text) => versions.isOfBad(bad, text))
    );
  }

  /** Deleted by the service before it was shown to anybody: nobody can have it any more. */
  #isGone(orderId: string): boolean {
    const { service, versions } = this.#scene;
    return versions.newest(orderId) !== undefined && service.statusOf(orderId) === undefined;
  }

  onSent({ route, request }: Sent) {
    if (route.kind !== "confirm") return;
    const body = request.body.toString("utf8");
    const covered = this.#coveredBy(body);
    if (covered === undefined) {
      this.#scene.fail(8, `a confirm names what was never received whole: ${body}`);
      return;
    }
    const unjournaled = this.#missingInJournal(covered);
    if (unjournaled.length > 0) {
      this.#scene.fail(2, `a confirm leaves for what is not in the journal: ${unjournaled.join(", ")}`);
    }
    const missing = covered.filter((id) => !this.isKept(id) && !this.#isGone(id));
    if (missing.length === 0) return;
    if (this.#isUnsafe || this.#isSetBackUntold()) for (const id of missing) this.losses.add(id);
    else this.#scene.fail(2, `a confirm leaves for orders that are not on disk: ${missing.join(", ")}`);
  }

  /**
   * The clock of a service without `Date` was set back: it serves again in another order, which nothing shows, so that what comes again
   * does not prove that a lost answer has come again.
   */
  #isSetBackUntold(): boolean {
    const { forms, service } = this.#scene;
    const { entries } = service.ledger;
    return !forms.date && entries.some(({ at }, place) => at < (entries[place - 1]?.at ?? 0) - MINUTE_MS);
  }

  onTold({ route, fate, life }: Sent, told: Told) {
    const holdsRecords = route.kind === "orders" || route.kind === "updates" || route.kind === "snapshot";
    if (this.#scene.forms.journal && holdsRecords && told.kind === "answer" && told.status < 300) {
      this.#bodies.push({ isBatch: route.kind === "orders", text: told.body });
    }
    const isMissing = told.kind === "answer" && (told.status === 404 || told.status === 410);
    if (route.kind === "snapshot" && isMissing && !told.body.startsWith("<")) {
      const id = (route.orderId ?? "").toLowerCase();
      if (!this.#saidMissing.has(id)) this.#saidMissing.set(id, this.#scene.time.elapsedMs);
    }
    if (route.kind === "snapshot" && told.kind === "answer" && told.status === 200) {
      this.#readWell.set((route.orderId ?? "").toLowerCase(), this.#scene.time.elapsedMs);
    }
    if (route.kind !== "orders" || told.kind !== "answer" || told.status >= 300) return;
    // Orders that stand beside an error are stored, and a confirm that names orders may name them.
    const isBesideError = fate?.kind === "lie" && fate.lie.body === "error beside" && fate.lie.when === "after";
    // The pages that a program had before it died are of a batch that has no row: nothing tells the next one that they were of it.
    if (this.#scene.forms.pages !== null && this.#sinceConfirmBy !== life.number) this.#sinceConfirm = "";
    this.#sinceConfirmBy = life.number;
    this.#sinceConfirm += told.body.toLowerCase();
    if (!told.isReadable && !(isBesideError && this.#scene.forms.confirm === "order_ids")) return;
    for (const [, literal] of told.body.matchAll(/"batch_id":("[^"]*"|\d+)/g)) this.#receivedBatches.add(literal ?? "");
    for (const [, literal] of told.body.matchAll(/"order_id":("[^"]*"|\d+)/g)) this.#receivedIds.add(literal ?? "");
  }

  /** The service has taken something as confirmed. */
  onEntry({ effect }: LedgerEntry) {
    if (effect?.kind !== "confirmed") return;
    for (const id of effect.orderIds) this.#scene.journal.confirmed.add(id);
    if (!effect.orderIds.every((id) => this.#sinceConfirm.includes(id.toLowerCase()))) this.largerConfirms += 1;
    this.#sinceConfirm = "";
    const missing = effect.orderIds.filter((id) => !this.isKept(id) && !this.#isGone(id));
    if (missing.length === 0) return;
    if (this.#isUnsafe || this.#isSetBackUntold()) for (const id of missing) this.losses.add(id);
    else this.#scene.fail(1, `confirmed and not on disk: ${missing.join(", ")}`);
  }

  onCommit() {
    const last = (this.#sql("lastEvent").pluck().get() as number | undefined) ?? 0;
    if (last === this.#lastEvent) return;
    for (const row of this.#sql("events").all(this.#lastEvent) as EventRow[]) this.#checkRow(row);
    const hidden = this.#sql("hidden").pluck().all(this.#lastEvent);
    if (hidden.length > 0)
      this.#scene.fail(3, `what a customer asks for came as a status of the ERP's: ${hidden.join(", ")}`);
    this.#lastEvent = last;
  }

  /** Whether a version is stored now, a later one, or one that says the same. A change of the timestamp alone makes no event. */
  hasVersion(orderId: string, seq: number): boolean {
    const row = this.#sql("order").get(orderId) as EventRow | undefined;
    if (row === undefined) return false;
    // Asked of the same row again and again: what a page told is looked for at each move of the watermark.
    let looked = this.#looked.get(orderId);
    if (looked?.payload !== row.payload || looked.isRemoved !== row.is_removed) {
      this.#checkRow(row);
      looked = { payload: row.payload, isRemoved: row.is_removed, record: JSON.parse(row.payload) as object };
      this.#looked.set(orderId, looked);
    }
    const { versions } = this.#scene;
    // Of several versions that look alike it may be the last.
    const stored = versions.shownBy(orderId, recordOf(row.payload, versions, looked.record)).at(-1)?.seq ?? -1;
    return stored >= seq || versions.saysTheSame(orderId, stored, seq);
  }

  /** At every crash and at the end. */
  checkImage() {
    const { fail, service } = this.#scene;
    const confirmed = [...service.ledger.confirmedOrderIds()].filter(
      (id) => !this.isKept(id) && !this.losses.has(id) && !this.#isGone(id),
    );
    if (confirmed.length > 0) fail(1, `confirmed and not on disk: ${confirmed.join(", ")}`);
    const both = this.#sql("both").all() as { order_id: string }[];
    if (both.length > 0) fail(3, `stored and quarantined: ${both.map(({ order_id }) => order_id).join(", ")}`);
    const twice = this.#sql("twice").all() as { order_id: string }[];
    if (twice.length > 0) fail(3, `created twice: ${twice.map(({ order_id }) => order_id).join(", ")}`);
  }

  #checkRow({ order_id: id, payload, payload_hash, is_removed }: EventRow) {
    const { fail, service, versions } = this.#scene;
    const served = service.ledger.servedVersions(id);
    // Of a cancelled order that cannot be read nothing but the status and its time is taken over; of one that was opened before it was cancelled
    // again, the status alone. What it stands in may have been told with something lost.
    const hadStatus = (each: unknown) => versions.hadStatus(id, each);
    const isAlone = (whole: readonly string[]) => isStatusAlone(payload, whole, hadStatus);
    if (versions.hadStatus(id, "cancelled") && (isAlone(served) || isAlone([this.#whole.get(id) ?? payload]))) return;
    if (!served.includes(withoutError(payload)) && !versions.isOfLost(payload)) {
      return fail(3, `order ${id} is stored with a payload that was never served`);
    }
    this.#whole.set(id, payload);
    if (this.#isBelievedSoon(id, payload)) {
      return fail(16, `order ${id} is stored without what all orders have lost within the hour`);
    }
    if (!hash("sha256", payload, "buffer").equals(payload_hash)) return fail(5, `order ${id}: its hash is another's`);
    if (is_removed === 1 && !this.#removed.has(id)) this.#checkRemoved(id);
    if (is_removed === 1) this.#removed.add(id);
    else this.#removed.delete(id);
    const shown = versions.shownBy(id, recordOf(payload, versions));
    const before = this.#stored.get(id) ?? -1;
    const version = shown.find(({ seq }) => seq >= before) ?? shown.at(-1);
    if (version === undefined) return fail(3, `order ${id} is stored in a version that there never was`);
    // Whoever asks a replica that lags behind is told so once it has shown something later; afterwards everything is as it is.
    const isShown = this.#scene.wasMisinformed && !this.#scene.lies.isReplicaAt(this.#scene.time.elapsedMs);
    if (!isShown && version.seq < before && is_removed === 0 && versions.isTellable(id, version.seq, before)) {
      return fail(6, `order ${id}: version ${version.seq} replaced version ${before}`);
    }
    this.#stored.set(id, version.seq);
  }

  /**
   * Lines, or a status, that all orders have under another name from one moment on: of some orders it is known that they had them. Not where
   * another order was stored without while too few were known: it shows that some orders of the shop have none.
   */
  #isBelievedSoon(id: string, payload: string): boolean {
    const { versions, time } = this.#scene;
    this.#lacking.delete(id);
    if (time.elapsedMs - versions.lostSinceMs > SOON_MS || versions.everOdd.size > 0 || !versions.isOfLost(payload))
      return false;
    const { total, unnumbered, items, status, ...others } = JSON.parse(payload) as LostRecord;
    const hasLost = total === null || unnumbered !== undefined || items?.some(({ price }) => price === null);
    const hasElsewhere = "state" in others || "positions" in others;
    // Of a cancelled order there may be nothing left.
    if (status === "cancelled" || !(hasLost || hasElsewhere)) return false;
    const isFirst = this.#lacking.size === 0;
    this.#lacking.add(id);
    return isFirst && (this.#sql("usual").pluck().get() as number) >= USUAL_MIN;
  }

  /** A deployment or a proxy says it once, and so does a replica that lags behind. */
  #checkRemoved(id: string) {
    const { fail, service, time } = this.#scene;
    if (service.statusOf(id) === undefined) return;
    const firstMs = this.#saidMissing.get(id);
    if (firstMs === undefined || time.elapsedMs - firstMs < MISSING_FOR_MS) {
      return fail(16, `order ${id} is marked as removed, which the service has not said for ten minutes`);
    }
    const others = [...this.#readWell].filter(([other]) => other !== id).map(([, atMs]) => atMs);
    if (time.elapsedMs - Math.max(0, ...others) < WELL_WITHIN_MS) return;
    fail(16, `order ${id} is marked as removed while the service answers for no other order`);
  }

  #sql(name: keyof typeof SQL) {
    return this.#scene.auditor.prepare(SQL[name]);
  }

  /** Undefined where the confirm names what the bridge cannot know. */
  #coveredBy(body: string): string[] | undefined {
    const { forms } = this.#scene;
    const { confirm, batchId } = forms;
    const { service } = this.#scene;
    const { ledger } = service;
    if (confirm === "all" || confirm === "everything" || (confirm === "batch_id" && batchId === "constant")) {
      // The first batch of all may be one without orders.
      if (this.#receivedIds.size === 0 && this.#receivedBatches.size === 0) return undefined;
      const confirmed = ledger.confirmedOrderIds();
      // What was deleted there since it was handed out is no order any more that could be confirmed.
      return [...ledger.handedOutOrderIds()].filter((id) => !confirmed.has(id) && service.statusOf(id) !== undefined);
    }
    const [, literal] = /^\{"batch_id":(.*)\}$/s.exec(body) ?? [];
    if (literal !== undefined && namesOneBatch(forms)) {
      if (!this.#receivedBatches.has(literal)) return undefined;
      return [...(ledger.effects("handed-out").findLast((effect) => effect.batchId === literal)?.orderIds ?? [])];
    }
    const [, list] = /^\{"order_ids":\[(.*)\]\}$/s.exec(body) ?? [];
    const literals = list?.split(",") ?? [];
    if (list === undefined || list === "" || !literals.every((each) => this.#receivedIds.has(each))) return undefined;
    return literals.filter((each) => /^"[0-9a-f-]{36}"$/i.test(each)).map((each) => each.slice(1, -1).toLowerCase());
  }
}

/** What a record shows of its version: lines that are lost show nothing. */
function recordOf(payload: string, versions: Versions, record = JSON.parse(payload) as object): object {
  if (!versions.isOfLost(payload)) return record;
  const { items: _, ...rest } = record as { items?: unknown };
  return rest;
}

/** A record that was served before, with the status, and the timestamp, of its cancellation, or with another one that the order had. */
function isStatusAlone(payload: string, served: readonly string[], hadStatus: (status: unknown) => boolean): boolean {
  const record = JSON.parse(payload) as { status?: unknown };
  if (!hadStatus(record.status) || served.includes(payload)) return false;
  const rest = (each: object) => JSON.stringify(Object.entries({ ...each, status: "", updated_at: "" }).toSorted());
  return served.some((each) => rest(JSON.parse(each) as object) === rest(record));
}
