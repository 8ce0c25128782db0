/*
 * Notices that are stored with what was learned about the service, because answers are compared with it: how each is
 * listed, and how it is marked as read.
 */

import { describeForm as describeTimes } from "../answers/timestamp-form.ts";
import type { LearnedMetadata } from "../completeness/learned-metadata.ts";
import type { Store } from "../database/store.ts";
import { plainName } from "../messages/inert-text.ts";
import { LearnedTopic, type TopicName } from "../pass/learned-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { describeForm, type LearnedForms } from "../service/outcome/known-forms.ts";
import type { Learned } from "../updates/times/learn-form.ts";
import { AHEAD, CALLED_CANCELLED, SET_BACK } from "../updates/times/learned-rows.ts";
import type { LongSteps } from "./long-steps.ts";
import type { Observation } from "./observation.ts";

export interface Notice extends Observation {
  firstSeenAt: string;
}

/** Where a notice is stored. */
interface Place<T> {
  load(store: Store): T | undefined;
  save(store: Store, value: NoInfer<T>): void;
}

/** `markRead` modifies the value passed to it. */
interface Rules<T> {
  list(value: T): Notice[];
  markRead(value: T): void;
}

interface Notices {
  list(store: Store): Notice[];
  markRead(store: Store): void;
}

function noticesAt<T>(place: Place<T>, { list, markRead }: Rules<T>): Notices {
  return {
    list: (store) => {
      const value = place.load(store);
      return value === undefined ? [] : list(value);
    },
    markRead: (store) => {
      const value = place.load(store);
      if (value === undefined) return;
      const before = JSON.stringify(value);
      markRead(value);
      if (JSON.stringify(value) !== before) place.save(store, value);
    },
  };
}

function inTopic<T extends object>(topic: TopicName, endpoint: string, rules: Rules<Partial<T>>): Notices {
  const learned = new LearnedTopic<Partial<T>>(topic, {});
  const place: Place<Partial<T>> = {
    load: (store) => learned.load(store, endpoint),
    save: (store, value) => learned.save(store, endpoint, value),
  };
  return noticesAt(place, rules);
}

interface Readable {
  isSeen?: boolean | undefined;
}

function isUnread<T extends Readable>(noticed: T | undefined): noticed is T {
  return noticed !== undefined && noticed.isSeen !== true;
}

function markSeen(...noticed: readonly (Readable | undefined)[]): void {
  for (const one of noticed) if (one !== undefined) one.isSeen = true;
}

/** Forms of answers to POSTs that count as acceptances only because enough time has passed since they appeared. */
const FORMS = new LearnedTopic<Partial<LearnedForms>>("forms", {});
const formsOf = (endpoint: string) =>
  inTopic<LearnedForms>("forms", endpoint, {
    list: ({ known = [] }) =>
      known.flatMap((form) => {
        const { adoptedAt: at } = form;
        if (at === undefined || form.isSeen) return [];
        const name = `${plainName(endpoint)} ${plainName(describeForm(form))}`;
        return [{ kind: "answer", name, sample: `since ${at}`, firstSeenAt: at }];
      }),
    // Consequences of the return of the usual form are not notices, and stay.
    markRead: ({ known = [] }) => markSeen(...known.filter(({ adoptedAt }) => adoptedAt !== undefined)),
  });

const NOTICES: readonly Notices[] = [
  // The service went back to an earlier state.
  noticesAt(SET_BACK, {
    list: ({ noticed }) => {
      if (!isUnread(noticed)) return [];
      const sample = "several orders had lost their newest version";
      return [{ kind: "return", name: isoTime(noticed.keptMs), sample, firstSeenAt: isoTime(noticed.atMs) }];
    },
    markRead: ({ noticed }) => markSeen(noticed),
  }),
  // Times of orders have no zone any more, or times of orders and changes have different forms.
  inTopic<Learned>("changes", "updates", {
    list: ({ form, other, zoneLost }) => {
      if (isUnread(zoneLost)) {
        const { at, timezone } = zoneLost;
        return [{ kind: "zone", name: at, sample: `understood as ${timezone}`, firstSeenAt: at }];
      }
      if (zoneLost !== undefined || form === undefined || !isUnread(other)) return [];
      const sample = `changes are followed as ${describeTimes(form)}`;
      return [{ kind: "times", name: describeTimes(other.form), sample, firstSeenAt: other.at }];
    },
    markRead: ({ zoneLost, other }) => markSeen(zoneLost, other),
  }),
  // Timestamps of orders have a coarse resolution.
  inTopic<LongSteps>("changes", "steps", {
    list: ({ text, at = "", isSeen }) => {
      if (text === undefined || isSeen) return [];
      const sample = "a second change with the same timestamp may come an hour late";
      return [{ kind: "steps", name: plainName(text), sample, firstSeenAt: at }];
    },
    markRead: (steps) => markSeen(steps.text === undefined ? undefined : steps),
  }),
  // The watermark is ahead of this machine's clock, and the service sends no time to compare with.
  noticesAt(AHEAD, {
    list: ({ at, watermark, isProven, isSeen }) => {
      if (isSeen) return [];
      const sample = isProven ? "later changes lay before it" : "changes are asked for from before it as well";
      return [{ kind: "ahead", name: plainName(watermark), sample, firstSeenAt: at }];
    },
    markRead: (ahead) => markSeen(ahead),
  }),
  // A change and the order itself give the same version two different statuses.
  noticesAt(CALLED_CANCELLED, {
    list: (called) =>
      Object.entries(called).flatMap(([status, { orderId, at, isSeen }]) => {
        const name = plainName(`${orderId}: ${status}`);
        return isSeen ? [] : [{ kind: "cancelled", name, sample: "a change of it says cancelled", firstSeenAt: at }];
      }),
    markRead: (called) => markSeen(...Object.values(called)),
  }),
  // Batches that were confirmed although something suggests that they held more, counted since the notice was last
  // marked as read.
  inTopic<LearnedMetadata>("list", "orders", {
    list: ({ short }) => {
      if (short === undefined) return [];
      const { batches, at, what } = short;
      const sample = `${batches} since the last notice was read`;
      return [{ kind: "short", name: plainName(`${at} ${what}`), sample, firstSeenAt: at }];
    },
    markRead: (learned) => {
      delete learned.short;
    },
  }),
];

function allOf(store: Store): Notices[] {
  return [...FORMS.list(store).map(({ endpoint }) => formsOf(endpoint)), ...NOTICES];
}

/** Notices that no person has read. */
export function listNotices(store: Store): Notice[] {
  return allOf(store).flatMap((notices) => notices.list(store));
}

/** Marks all notices as read. */
export function markNoticesRead(store: Store): void {
  for (const notices of allOf(store)) notices.markRead(store);
}
