import { loadMetaJson, saveMetaJson } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { LearnedTopic } from "../../pass/learned-rows.ts";
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
export function loadSetBack(store: Store): SetBack {
  return loadMetaJson<SetBack>(store, "set_back") ?? { lost: [] };
}

export function saveSetBack(store: Store, setBack: SetBack): void {
  saveMetaJson(store, "set_back", setBack);
}

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

export function loadAhead(store: Store): Ahead | undefined {
  return loadMetaJson<Ahead>(store, "ahead");
}

export function saveAhead(store: Store, ahead: Ahead): void {
  saveMetaJson(store, "ahead", ahead);
}

/**
 * Orders that a change calls cancelled while their own answer has another status: by that status, the first order of
 * each.
 */
export type CalledCancelled = Readonly<Record<string, { orderId: string; at: string; isSeen?: true }>>;

/** More than the names of statuses of a shop. */
const CALLED_MAX = 30;

function loadCalledCancelled(store: Store): CalledCancelled {
  return loadMetaJson<CalledCancelled>(store, "called_cancelled") ?? {};
}

export function saveCalledCancelled(store: Store, order: { status: string; orderId: string; at: string }): void {
  const { status, ...first } = order;
  const called = loadCalledCancelled(store);
  if (status in called || Object.keys(called).length >= CALLED_MAX) return;
  saveMetaJson(store, "called_cancelled", { ...called, [status]: first });
}
