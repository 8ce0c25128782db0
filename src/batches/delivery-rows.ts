/*
 * The mark of an open delivery: after a crash it shows that an answer of `GET /orders` may be missing. It delays
 * confirms that name nothing. Where confirms name their batch a loss matters only if they are changed to name nothing:
 * there one note per process (`Unanswered`) takes its place, which saves a write per poll.
 */

import { MetaValue } from "../database/meta.ts";
import { onlyRow } from "../database/only-row.ts";
import { deleteRows, findRow, updateRows } from "../database/queries.ts";
import { openDelivery as openDeliveries } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { leastAgoMs } from "../pass/machine-clock.ts";
import { loadBehindMs } from "../pass/orders-behind.ts";
import type { Covered } from "../pass/shown.ts";

export interface OpenDelivery {
  /** When the oldest GET without an answer was sent. */
  openedAt: string;
  /** The answer of an earlier GET is missing: what it delivered is not stored. */
  lost: boolean;
  /** When the newest GET was sent whose answer is missing, if it is another one. */
  lostAt: string | null;
}

/**
 * To be called before a GET. A GET that is still open has lost its answer: its delivery counts as lost until the
 * service has served everything once more from here.
 * @param date the service's clock, where it is known
 */
export function openDelivery(store: Store, at: string, date?: string): OpenDelivery {
  bringDeliveryBack(store, at);
  const row = onlyRow(
    store
      .prepare<{ openedAt: string; lost: number; lostAt: string | null }>(
        `INSERT INTO pull_mark (id, opened_at, is_open, lost, service_ms, asked_at) VALUES (1, @at, 1, 0, @service, @at)
       ON CONFLICT (id) DO UPDATE SET lost = 1, is_open = 1,
         lost_at = CASE WHEN is_open THEN nullif(asked_at, opened_at) ELSE lost_at END, asked_at = excluded.asked_at,
         service_ms = coalesce(max(service_ms, excluded.service_ms), service_ms, excluded.service_ms),
         last_batch_id = CASE WHEN is_open THEN (SELECT max(id) FROM batches) ELSE last_batch_id END,
         first_served = CASE WHEN is_open THEN NULL ELSE first_served END,
         behind_ms = CASE WHEN is_open THEN NULL ELSE behind_ms END
       RETURNING opened_at AS openedAt, lost, lost_at AS lostAt`,
      )
      .get({ at, service: msOf(date) ?? null }),
  );
  return { ...row, lost: row.lost === 1 };
}

/** Brings a time of a loss after `now` to it, because the clock was ahead. To be called inside a transaction. */
export function bringDeliveryBack(store: Store, now: string): void {
  store.prepare("UPDATE pull_mark SET opened_at = @now WHERE opened_at > @now").run({ now });
}

/**
 * The note where confirms name their batch. `since`: when the process sent its first GET, or a process before that lost
 * an answer.
 */
export interface Unanswered {
  since: string;
  isLost: boolean;
  /** Row id of the newest unconfirmed batch when a GET was sent whose answer is not stored. */
  due?: number | undefined;
  loss?: AnswerLoss | undefined;
}

/** Missing answers, or a set-back, by which other orders may have the names of unconfirmed batches. */
export interface AnswerLoss {
  /** Row id of the newest of these batches; 0 where there is none. */
  upTo: number;
  /** An answer is missing, so that there may be other orders that were never served again. */
  isAnswer?: boolean | undefined;
  /** Times of the first and the last missing answer. */
  since: string;
  at: string;
  /** How often the service has answered a pull completely since. */
  polls: number;
  /** The batch that it has served alone in the last of these pulls, and in how many. */
  repeated?: { batch: number; times: number } | undefined;
}

/** To be deleted where every GET was answered, or the mark of an open delivery replaces the note. */
export const UNANSWERED = new MetaValue<Unanswered | undefined>("unanswered");

/** Row id of the newest batch of another name that is still to be confirmed or read. */
export function loadNewestDue(store: Store, { except = null }: { except?: string | null } = {}): number | undefined {
  const newestIn = (state: string) => `SELECT max(id) AS id FROM batches INDEXED BY batches_${state}
    WHERE state = '${state}' AND (@except IS NULL OR service_batch_id IS NOT @except)`;
  const sql = `SELECT max(id) AS newest
    FROM (${newestIn("stored")} UNION ALL ${newestIn("refused")} UNION ALL ${newestIn("unread")})`;
  return onlyRow(store.prepare<{ newest: number | null }>(sql).get({ except })).newest ?? undefined;
}

/** Row ids of batches that are still to be confirmed or read. */
export function loadOpenBatches(store: Store, limit: number): number[] {
  const idsIn = (state: string) => `SELECT id FROM batches INDEXED BY batches_${state} WHERE state = '${state}'`;
  const sql = `${idsIn("stored")} UNION ALL ${idsIn("refused")} UNION ALL ${idsIn("unread")} LIMIT ?`;
  return store.prepare<number>(sql).pluck().all(limit);
}

/** A kept body gets a new row when it is read; as to losses it is as old as its old row. */
export function moveDue(store: Store, from: number, to: number): void {
  const unanswered = UNANSWERED.load(store);
  if (unanswered === undefined) return;
  const { due = 0, loss } = unanswered;
  UNANSWERED.save(store, {
    ...unanswered,
    ...(from <= due && { due: to }),
    ...(loss !== undefined && from <= loss.upTo && { loss: { ...loss, upTo: to } }),
  });
}

/** The last GET's delivery is stored or kept, so it cannot hold other orders under the name of an unconfirmed batch. */
export function noteAccounted(store: Store): void {
  const unanswered = UNANSWERED.load(store);
  if (unanswered?.due === undefined) return;
  const { due: _, ...accounted } = unanswered;
  UNANSWERED.save(store, accounted);
}

/**
 * Confirms name nothing from now on, or names are shared, so what was lost before becomes a lost delivery.
 * @param mayBeLost the last GET may have been sent, and its answer is not stored
 */
export function replaceNote(store: Store, { mayBeLost }: { mayBeLost: boolean }): void {
  const unanswered = UNANSWERED.load(store);
  if (unanswered === undefined) return;
  if (mayBeLost || unanswered.isLost) openDelivery(store, unanswered.since);
  UNANSWERED.delete(store);
}

export function loadDelivery(store: Store): OpenDelivery | undefined {
  const row = findRow(store, openDeliveries, {});
  return row === undefined ? undefined : { openedAt: row.openedAt, lost: row.lost, lostAt: row.lostAt };
}

/**
 * The last GET is answered and stored, or delivered nothing. A delivery that was lost before stays lost, and so does one
 * from before confirms named their batch: the note has the place of the mark, which is of another GET.
 */
export function closeDelivery(store: Store): void {
  const isNoted = UNANSWERED.load(store) !== undefined;
  noteAccounted(store);
  if (isNoted) return;
  deleteRows(store, openDeliveries, { lost: false });
  updateRows(store, openDeliveries, { isOpen: true }, { isOpen: false });
}

/** A batch that the service has served. */
interface Served {
  fingerprint: string;
  /** Its row, where it was stored before. */
  known: { id: number } | undefined;
  /** The service's clock: the answer's `Date`, if it has one. */
  date: string | undefined;
  /** The machine's clock. */
  machineMs: number;
}

/** A time as HTTP writes it, in milliseconds since 1970. */
function msOf(date: string | undefined): number | undefined {
  const ms = Date.parse(date ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

/** A smaller step may be between two machines of the service. */
const STEP_MS = 60_000;
/** Then the service's time that was noted counts as the wrong one. */
const BEHIND_MAX_MS = 86_400_000;
/** In `behind_ms`: this loss has waited until the service's clock had made up for what it was set back by. */
const HAS_WAITED = -1;

/**
 * Whether the service's clock is behind what it was since the loss. What is served then comes again before what was delivered
 * earlier, because the time to deliver that again has not come by this clock.
 * @param timesBehindMs by how much new orders have earlier times than before, which says so where no `Date` does
 */
function isBehindLoss(
  { serviceMs: newestMs, behindMs }: { serviceMs: number | null; behindMs: number | null },
  { serviceMs, machineMs, timesBehindMs }: { serviceMs: number | undefined; machineMs: number; timesBehindMs: number },
): boolean {
  if (behindMs === HAS_WAITED) return false;
  const isDated = serviceMs !== undefined || newestMs !== null;
  const isBehind = serviceMs === undefined ? behindMs !== null : serviceMs < (newestMs ?? serviceMs) - STEP_MS;
  const maxMs = isDated ? BEHIND_MAX_MS : timesBehindMs;
  return (isDated ? isBehind : timesBehindMs > 0) && (behindMs === null || leastAgoMs(behindMs, machineMs) < maxMs);
}

/**
 * To be called when a served batch is stored. Returns whether the mark was removed. A batch that was first served after
 * the loss and comes again shows that the service has served everything once more, including the lost delivery. One
 * served before the loss shows nothing, because the service may serve it before the lost one; nor does one that was served while
 * the service's clock was behind.
 */
export function settleDelivery(store: Store, served: Served): boolean {
  const mark = findRow(store, openDeliveries, { lost: true });
  if (mark === undefined) return false;
  const change = (set: Partial<typeof mark>) => updateRows(store, openDeliveries, {}, set);
  const { fingerprint, known, machineMs } = served;
  const serviceMs = msOf(served.date);
  if (isBehindLoss(mark, { serviceMs, machineMs, timesBehindMs: loadBehindMs(store) })) {
    change({ behindMs: mark.behindMs ?? machineMs, firstServed: null });
    return false;
  }
  if (mark.behindMs !== null && mark.behindMs !== HAS_WAITED) {
    countAnew(store, served);
    change({ behindMs: HAS_WAITED });
    return false;
  }
  if (mark.firstServed === fingerprint || (known !== undefined && known.id > (mark.lastBatchId ?? 0))) {
    clearDelivery(store);
    return true;
  }
  const latestMs = Math.max(mark.serviceMs ?? 0, serviceMs ?? 0);
  change({ firstServed: mark.firstServed ?? fingerprint, serviceMs: latestMs === 0 ? null : latestMs });
  return false;
}

/**
 * Requests go to another account from now on: batches served before prove nothing about a delivery lost before
 * (`lostAt`).
 */
export function loseAgain(store: Store, lostAt: string | undefined): void {
  if (lostAt !== undefined && loadDelivery(store) === undefined) openDelivery(store, lostAt);
  countAnew(store, {});
}

/** From here on the service has to serve everything once more, whatever it has served since the loss. */
function countAnew(store: Store, { fingerprint, date }: Partial<Served>): void {
  store
    .prepare(
      `UPDATE pull_mark SET first_served = ?, last_batch_id = (SELECT max(id) FROM batches), service_ms = ?,
         behind_ms = NULL WHERE lost = 1`,
    )
    .run(fingerprint ?? null, msOf(date) ?? null);
}

/** Nothing is missing any more, or the note where confirms name their batch has the place of the mark. */
export function clearDelivery(store: Store): void {
  deleteRows(store, openDeliveries, {});
}

/** What a person gives up: the losses until now. Those are not shown that came after the hold began (`since`). */
export function coveredLosses(store: Store, since: string | undefined): Covered {
  const { lostAt = null } = loadDelivery(store) ?? {};
  return { what: lostAt ?? "", isShown: lostAt === null || since === undefined || lostAt < since };
}

/**
 * A person has decided that nothing is missing of what was lost until now. The GET that is open may still lose its answer, so its
 * mark stays. Returns the times of the first and the last loss.
 */
export function giveUpLost(store: Store): { from: string; to: string } | undefined {
  const mark = findRow(store, openDeliveries, { lost: true });
  if (mark === undefined) return undefined;
  const { lostAt, askedAt, openedAt } = mark;
  deleteRows(store, openDeliveries, { isOpen: false });
  const left = { lost: false, lostAt: null, firstServed: null, openedAt: askedAt ?? openedAt };
  updateRows(store, openDeliveries, {}, left);
  return { from: openedAt, to: lostAt ?? openedAt };
}
