import type { Said } from "../message.ts";
import { counted } from "../numbers.ts";

export const updates = {
  partOfOrder: ({ orderId }: { orderId: string }) => `Order ${orderId}: the service answers with a part of it (206).`,
  backfillTooFar: ({ from }: { from: string }) => `The service refuses to go back to ${from}.`,
  backfillNearer:
    "Ask from a later time: erp-bridge sync updates --since TIME. Single orders: erp-bridge sync updates --orders FILE",
  backfillGivenUp: "The service has not answered the changes from the requested time; they are no longer requested.",
  emptyRecords: ({ empty, size }: { empty: number; size: number }) =>
    `Empty records (null, {} or []) among the changes: ${empty} of ${size}. The position stays until they come whole, for an hour at most.`,
  emptyPassed: "Changes were served with empty records for an hour. The position goes on; they are in quarantine.",
  cutSettled: "The orders whose changes may have been left out have been read.",
  sinceRefused: ({ from, to }: { from: string; to: string }) =>
    `The service refuses to go back to ${from} and was asked from ${to}: changes between the two may be missing. Open orders are read one by one to find them, then closed ones; the position stays until then.`,
  cutUnordered: ({ size }: { size: number }) =>
    `Changes may be cut: the service answers in another order than that of their times, ${counted(size, "change")} a page. Open orders are read one by one to find the others, then closed ones; the position stays until then.`,
  cutNewestFirst: ({ size }: { size: number }) =>
    `Changes may be cut: the service answers only the newest, ${counted(size, "change")} a page. Open orders are read one by one to find the others, then closed ones; the position stays until then.`,
  otherQuestion: ({ size }: { size: number }) =>
    `The service does not answer what was requested: ${counted(size, "change")}, none of them later than the requested time, and changes known to be later are missing. What has changed since then is not shown; open orders are read one by one meanwhile, and the position stays.`,
  foundAtService: ({ count }: { count: number }) =>
    `${counted(count, "quarantined record")} without a usable id found at the service by an id elsewhere in it, and released.`,
  servedByName: ({ count }: { count: number }) =>
    `The changes of the time in which records named no order were served again, each with its order: ${counted(count, "quarantined record")} released.`,
  timeRefused: "The service refuses the time from which changes are asked for; the next request asks from a later one.",
  wideUnfinished: "The wide re-poll did not fit into one pass; it continues after the next one.",
  moreWait: "More changes wait than one pass may read; the next one goes on from there.",
  fromFuture: "Changes have timestamps later than the service's clock; the watermark ignores them.",
  otherForm: ({ form }: { form: string }) =>
    `Changes come where since is written in another form of times (${form}): it is written so from now on.`,
  watermarkAhead:
    "The watermark lies ahead of this machine's clock, and the service sends no Date to compare with; changes are asked for from before it as well, every few minutes.",
  watermarkBack:
    "Changes came from before the watermark, which lies ahead of this machine's clock: the watermark goes back. The service's clock, or the time of an order, was wrong.",
  foundStored: ({ count }: { count: number }) =>
    `${counted(count, "quarantined record")} without a usable id found among the stored orders, and released.`,
  cached: ({ orderId }: { orderId: string }) => `The answer of GET /orders/${orderId} comes from a cache.`,
  changedEachTime: ({ orderId }: { orderId: string }) => `The order ${orderId} changed each time while it was read.`,
  unusable: ({ orderId, reason }: { orderId: string; reason: Said }) => `GET /orders/${orderId}: ${reason}.`,
  noStatus: ({ orderId, path }: { orderId: string; path: string }) =>
    `The answer of GET /orders/${orderId} has no ${path} (status).`,
  older: ({ orderId }: { orderId: string }) =>
    `The answer of GET /orders/${orderId} is older than what is stored of the order.`,
  otherContent: ({ orderId }: { orderId: string }) =>
    `The answer of GET /orders/${orderId} is another order than the one stored under this id.`,
  snapshotUnusable: "its snapshot could not be used",
  unknownOrder: ({ status }: { status: number }) => `the service does not know this order (${status})`,
  fewReads: ({ perHour }: { perHour: number }) =>
    `the service asks to wait for long once it was sent many requests, so orders that no cancellation or new status names are read one after another, ${perHour} an hour`,
  otherStatus: ({ orderId }: { orderId: string }) =>
    `The answer of GET /orders/${orderId} has another status than the change of the same time.`,
  answerQuarantined: ({ orderId }: { orderId: string }) =>
    `The answer of GET /orders/${orderId} could not be used and is in quarantine.`,
  positionRefused:
    "The service refuses its own position for changes; they are asked for by the last time known instead.",
  positionsWentBack:
    "The service's positions for changes have gone back, perhaps because it was restored to an earlier copy: changes are followed by time until it names the next one.",
  positionsOfOtherForm: ({ since, token }: { since: string; token: string }) =>
    `The service names its positions for changes in another form (${token}) than the one that it answers with nothing (${since}), and takes no time to ask from: changes may be missing.`,
  askOfPositions:
    "Ask the service's support from which position its changes go on. Orders that differ meanwhile are found by: erp-bridge sync reconcile",
  positionBefore: "The service names a position for changes that lies before the one asked; it is not followed.",
  allUnknown: ({ count }: { count: number }) =>
    `The service says that it knows none of ${counted(count, "order")} that it handed out itself; none of them is marked as removed.`,
  lookAtOne: "Look at one of them on the site. If orders are only kept there for a while, set reconcile.sample to 0.",
  reportsError: ({ orderId, words }: { orderId: string; words: string }) =>
    `The answer of GET /orders/${orderId} reports an error: ${words}`,
  moreThanOnce: ({ orderId, place }: { orderId: string; place: string }) =>
    `The answer of GET /orders/${orderId} has ${place} more than once.`,
  noSnapshot: ({ orderId, path, miss }: { orderId: string; path: string; miss: Said }) =>
    `The answer of GET /orders/${orderId} has no ${path} (updates.snapshot): ${miss}.`,
  fixSnapshot:
    "What waits for such reads waits until updates.snapshot fits. The probe finds it: erp-bridge probe --write",
  otherOrder: ({ id }: { id: string }) => `it answered with another order (${id})`,
  incomplete: ({ orderId }: { orderId: string }) => `The answer of GET /orders/${orderId} is no complete JSON.`,
  statusLost: ({ orderId }: { orderId: string }) =>
    `The service has lost a status of the order ${orderId}, which is sent again.`,
  restored: "the service was restored to an earlier state",
  wentBack:
    "The service has gone back to an earlier state: several orders have lost their newest version. What it has accepted since then is sent again.",
  pageWithoutTime: ({ count, path }: { count: number; path: string }) =>
    `A full page of ${counted(count, "change")} has no time at ${path}, so that those after them cannot be requested: correct updates.fields.updated_at, then: erp-bridge resume updates --hold tie`,
  pageOfOneTime: ({ count, timestamp }: { count: number; timestamp: string }) =>
    `A full page of ${counted(count, "change")} carries the timestamp ${timestamp}. If the service has more with it, they were not served: orders are read one by one to find them.`,
  equalTimestampsServed: "The changes of the timestamp at which a page may have been cut have all been served since.",
  passFull: ({ count }: { count: number }) =>
    `A pass ended after ${counted(count, "change")}; more wait. The next one goes on from there by itself.`,
  mergedInto: ({ asked, orderId }: { asked: string; orderId: string }) =>
    `GET /orders/${asked}: it answered with another order (${orderId}), into which it may have been merged.`,
  calledCancelled: ({ orderId, status, listed }: { orderId: string; status: string; listed: string }) =>
    `A change calls the order ${orderId} ${listed}, and the order itself says ${status}: it is not cancelled here. If that status means a cancellation, add it to orders.statuses.cancelled.`,
  cancelledByChange: ({ orderId }: { orderId: string }) =>
    `The order ${orderId} is cancelled by the change of it: the order itself cannot be read so far.`,
};

export const reconcile = {
  checked: ({ checked, differ, more }: { checked: number; differ: number; more: readonly string[] }) =>
    `reconcile: ${[`${counted(checked, "order")} checked`, counted(differ, "differs", "differ"), ...more].join(", ")}.`,
  unknown: ({ n }: { n: number }) => `${n} unknown to the service`,
  returned: ({ n }: { n: number }) => `${n} returned`,
  unread: ({ n }: { n: number }) => `${n} could not be read`,
  payloads: ({ looked, damaged }: { looked: number; damaged: number }) =>
    `${counted(looked, "stored payload")} looked at, ${damaged} damaged`,
  healed: ({ n }: { n: number }) => `${n} healed`,
  damagedFound: ({ count }: { count: number }) =>
    `${counted(count, "damaged payload")} found; the orders are read again. Check the disk.`,
  payloadDiffers: "the stored payload is not what was stored (its hash does not match)",
};
