import { MetaValue } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { LearnedTopic } from "../../pass/learned-rows.ts";
import type { ReadBudget } from "../reads/plan-read-budget.ts";
import type { SetBack } from "../reads/plan-set-back.ts";
import type { Learned } from "./learn-form.ts";

const NOTHING: Learned = { boundary: undefined, pageMax: 0, form: undefined, cutSize: undefined, limits: undefined };
const CHANGES = new LearnedTopic<Learned>("changes", NOTHING);

/** What was learned from answers with changes. */
export function loadLearned(store: Store): Learned {
  return CHANGES.load(store, "updates");
}

export function saveLearned(store: Store, learned: Learned): void {
  CHANGES.save(store, "updates", learned);
}

/** Whether, and since when, the service is back in an earlier state. */
export const SET_BACK = new MetaValue<SetBack>("set_back", { lost: [] });

/** A watermark ahead of this machine's clock, with a service that sends no `Date`. */
export interface Ahead {
  /** When, by this machine's clock. */
  at: string;
  /** Once proved wrong, as it was then: the last of the wrong times. */
  watermark: string;
  /** The newest earlier time from the service that is not ahead. */
  near?: string;
  /** Later changes had earlier times: the service's clock, or one order's time, was wrong, not this machine's clock. */
  isProven: boolean;
  /** Days, counted from 1970, of times that were ignored since and are still to come. */
  wrongDays?: readonly number[];
  /** A person has seen it. */
  isSeen?: true;
}

export const AHEAD = new MetaValue<Ahead | undefined>("ahead");

/**
 * Orders that a change calls cancelled while their own answer has another status: by that status, the first order of
 * each.
 */
export const CALLED_CANCELLED = new MetaValue<Record<string, { orderId: string; at: string; isSeen?: true }>>(
  "called_cancelled",
  {},
);

/** More than the names of statuses of a shop. */
const CALLED_MAX = 30;

export function saveCalledCancelled(store: Store, order: { status: string; orderId: string; at: string }): void {
  const { status, ...first } = order;
  const called = CALLED_CANCELLED.load(store);
  if (status in called || Object.keys(called).length >= CALLED_MAX) return;
  CALLED_CANCELLED.save(store, { ...called, [status]: first });
}

/** Orders whose status changed while the list named nothing newer (`looks/unlisted-changes.ts`). */
export interface UnlistedChanges {
  /** The position of the list; a count for another position is over. */
  position: string;
  count: number;
  /** When the first of them was found, UTC. */
  since: string;
  /** When there were enough of them to report, UTC. */
  enoughAt?: string;
}

export const UNLISTED = new MetaValue<UnlistedChanges | undefined>("unlisted_changes");

/** Wide re-polls that fail in a row (`pages/wide-failure.ts`). */
export interface WideFailure {
  /** When the first one failed. */
  since: string;
  /** When the last one failed (the machine's monotonic clock). */
  lastMs: number;
  tries: number;
}

/** To be deleted when one succeeds. */
export const WIDE_FAILURE = new MetaValue<WideFailure | undefined>("wide_failed");

/** How many orders are read in the background. */
export const READ_BUDGET = new MetaValue<ReadBudget>("read_budget", { reads: [] });

/** Of them those in an hour; undefined where there is no limit. */
export function loadReadsPerHour(store: Store): number | undefined {
  return READ_BUDGET.load(store).limit?.perHour;
}
