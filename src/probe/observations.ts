/*
 * What was noticed about the service, and how far the history of orders has been looked at. Written apart from the
 * orders, in small transactions of its own; after a crash the same orders are looked at again, and what is known
 * already is no second row and no write.
 */

import { describeForm } from "../answers/timestamp-form.ts";
import { loadShort, markShortSeen } from "../completeness/list-rows.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { listRows, updateRows } from "../database/queries.ts";
import { observations } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { listAdoptedForms, markFormsSeen } from "../pass/answer-form-rows.ts";
import { isoTime } from "../platform/ports.ts";
import type { OrderSource } from "../records/order-mapping.ts";

import {
  loadAhead,
  loadCalledCancelled,
  loadLearned,
  loadSetBack,
  markAheadSeen,
  markCalledSeen,
  markSetBackSeen,
  markTimesSeen,
} from "../updates/learned-rows.ts";
import { loadLongSteps, markLongStepsSeen } from "./long-steps.ts";
import { type Observation, plainName } from "./observation.ts";
import type { Misses } from "./observe.ts";

export interface ObservationRow extends Observation {
  firstSeenAt: string;
  state: "new" | "dismissed" | "over";
}

/** How far the history was looked at. `paths` is a memory of what matched; losing it only delays a notice. */
export interface ObservedMark {
  seq: number;
  misses: Misses;
}

export function loadObservations(store: Store): ObservationRow[] {
  return [
    ...loadAnswers(store),
    ...loadReturn(store),
    ...loadZone(store),
    ...loadTimes(store),
    ...loadSteps(store),
    ...loadAheads(store),
    ...loadCalled(store),
    ...loadShorts(store),
    ...listRows(store, observations, {}, ["firstSeenAt", "kind", "name"]),
  ];
}

/** The service went back to an earlier state. */
function loadReturn(store: Store): ObservationRow[] {
  const { noticed } = loadSetBack(store);
  if (noticed === undefined || noticed.isSeen) return [];
  const { keptMs, atMs } = noticed;
  const sample = "several orders had lost their newest version";
  return [{ kind: "return", name: isoTime(keptMs), sample, firstSeenAt: isoTime(atMs), state: "new" }];
}

/** The times of orders name no zone any more. */
function loadZone(store: Store): ObservationRow[] {
  const { zoneLost } = loadLearned(store);
  if (zoneLost === undefined || zoneLost.isSeen) return [];
  const { at, timezone } = zoneLost;
  return [{ kind: "zone", name: at, sample: `understood as ${timezone}`, firstSeenAt: at, state: "new" }];
}

/** The times of orders and changes are written in two ways. */
function loadTimes(store: Store): ObservationRow[] {
  const { form, other, zoneLost } = loadLearned(store);
  if (form === undefined || other === undefined || other.isSeen || zoneLost !== undefined) return [];
  const sample = `changes are followed as ${describeForm(form)}`;
  return [{ kind: "times", name: describeForm(other.form), sample, firstSeenAt: other.at, state: "new" }];
}

function loadSteps(store: Store): ObservationRow[] {
  const { text, at = "", isSeen } = loadLongSteps(store);
  if (text === undefined || isSeen === true) return [];
  const sample = "a second change with the same timestamp may come an hour late";
  return [{ kind: "steps", name: plainName(text), sample, firstSeenAt: at, state: "new" }];
}

/** The watermark went ahead of this machine's clock, and the service sends no time to compare with. */
function loadAheads(store: Store): ObservationRow[] {
  const ahead = loadAhead(store);
  if (ahead === undefined || ahead.isSeen) return [];
  const { at, watermark, isProven } = ahead;
  const sample = isProven ? "later changes lay before it" : "changes are asked for from before it as well";
  return [{ kind: "ahead", name: plainName(watermark), sample, firstSeenAt: at, state: "new" }];
}

/** A change and the order itself call the same version by two names. */
function loadCalled(store: Store): ObservationRow[] {
  return Object.entries(loadCalledCancelled(store)).flatMap(([status, { orderId, at, isSeen }]) => {
    if (isSeen === true) return [];
    const name = plainName(`${orderId}: ${status}`);
    return [{ kind: "cancelled", name, sample: "a change of it says cancelled", firstSeenAt: at, state: "new" }];
  });
}

/** Batches that were confirmed beside what may say that they held more. */
function loadShorts(store: Store): ObservationRow[] {
  const short = loadShort(store);
  if (short === undefined) return [];
  const { batches, at, what } = short;
  const sample = `${batches} since somebody was told`;
  return [{ kind: "short", name: plainName(`${at} ${what}`), sample, firstSeenAt: at, state: "new" }];
}

/** These stand where the answers are compared with them. */
function loadAnswers(store: Store): ObservationRow[] {
  return listAdoptedForms(store).map(({ endpoint, form, at }) => ({
    kind: "answer",
    name: `${plainName(endpoint)} ${plainName(form)}`,
    sample: `since ${at}`,
    firstSeenAt: at,
    state: "new",
  }));
}

/** A row the first time; a path that went away again after it was over is new again. */
export function saveObservation(store: Store, observation: Observation, at: string): boolean {
  return (
    store
      .prepare(
        `INSERT INTO observations (kind, name, sample, first_seen_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (kind, name) DO UPDATE SET state = 'new', sample = excluded.sample WHERE state = 'over'`,
      )
      .run(observation.kind, observation.name, observation.sample, at).changes > 0
  );
}

/** What was noticed has ended by itself. */
export function markObservationOver(store: Store, kind: Observation["kind"], name: string): void {
  if (kind !== "field" && kind !== "status" && kind !== "path") return;
  updateRows(store, observations, { kind, name, state: "new" }, { state: "over" });
}

/** A person has read them. Returns the names that were dismissed. */
export function dismissObservations(store: Store): string[] {
  const answers = [
    ...loadAnswers(store),
    ...loadReturn(store),
    ...loadZone(store),
    ...loadTimes(store),
    ...loadSteps(store),
    ...loadAheads(store),
    ...loadCalled(store),
    ...loadShorts(store),
  ];
  markShortSeen(store);
  markFormsSeen(store);
  markSetBackSeen(store);
  markTimesSeen(store);
  markAheadSeen(store);
  markCalledSeen(store);
  markLongStepsSeen(store);
  const rows = store
    .prepare<{ kind: string; name: string }>(
      "UPDATE observations SET state = 'dismissed' WHERE state = 'new' RETURNING kind, name",
    )
    .all();
  return [...answers, ...rows].map(({ kind, name }) => `${kind} ${name}`);
}

export interface ObservedOrder {
  /** The event by which the order came or changed. */
  seq: number;
  status: string | null;
  source: OrderSource;
  payload: string;
}

/** Orders that came or changed after `seq`, each with its newest content, in the order of history. */
export function loadOrdersSince(store: Store, seq: number, limit: number): ObservedOrder[] {
  return store
    .prepare<ObservedOrder>(
      `SELECT e.seq, o.status, o.payload_source AS source, o.payload
       FROM order_event_rows e JOIN orders o ON o.order_key = e.order_key
       WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
    )
    .all(seq, limit);
}

/** What cannot be read means that nothing was looked at: the names are known all the same. */
export function loadObservedMark(store: Store): ObservedMark {
  const mark: Partial<ObservedMark> = loadMetaJson(store, "observed") ?? {};
  return { seq: mark.seq ?? 0, misses: mark.misses ?? {} };
}

export function saveObservedMark(store: Store, mark: ObservedMark): void {
  saveMetaJson(store, "observed", mark);
}
