/*
 * What `status` reads: read-only, on any connection, beside a running daemon. SQL names the index, so that no look walks
 * through orders or batches.
 */

import path from "node:path";
import { eq, getViewSelectedFields } from "drizzle-orm";
import { readDiskSpace } from "../backup/disk-space.ts";
import type { DiskSpace } from "../backup/space-rule.ts";
import { journalSince } from "../database/foreign-journal.ts";
import { onlyValue } from "../database/only-row.ts";
import { doubtOf } from "../database/progress.ts";
import { progressOf, readNote } from "../database/progress-note.ts";
import { type Query, select } from "../database/queries.ts";
import { batches, feeds, flows, syncStatus } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { loadErpWrites } from "../feeds/erp-writes.ts";
import { countMirrorRefused } from "../mirror/mirror-state.ts";
import {
  countKeptBodies,
  countLargeConfirms,
  countRefusedConfirms,
  loadFailedConfirms,
  loadUnnamedBatches,
} from "../orders/batch-rows.ts";
import { loadUnshown } from "../orders/echo-rows.ts";
import { loadHolds } from "../pass/hold-rows.ts";
import { loadOwedTimes } from "../pass/position-rows.ts";
import { loadUnansweredSince } from "../pass/sync-request-rows.ts";
import { countRefusedRequests, listUnsettledSince } from "../statuses/status-rows.ts";
import { loadChannels } from "./alert-rows.ts";
import type { Facts } from "./facts.ts";
import { loadNotices } from "./notices.ts";
import { loadPageSilent } from "./page-silence.ts";

/** By the numbers of batches, which grow with time; a maximum would read every batch there is. */
function loadLastOrderAt(store: Store): string | null {
  const rest = "WHERE state <> 'unread' ORDER BY id DESC LIMIT 1";
  return select(store, batches, ["receivedAt"], rest).get()?.receivedAt ?? null;
}

function loadDiskSpace(store: Store): DiskSpace | undefined {
  try {
    return readDiskSpace(path.dirname(store.path));
  } catch {
    return undefined;
  }
}

function loadDoubt(store: Store): Facts["doubt"] {
  const note = readNote(store.path);
  const kind = doubtOf(progressOf(store.db, note), note);
  return kind === undefined || note === undefined ? undefined : { kind, since: note.at };
}

const FLOWS = (query: Query) => {
  const { erpWroteAt, isErpSilent, ...status } = getViewSelectedFields(syncStatus);
  const { staleAfterS, firstPassSince } = flows;
  const isOf = eq(flows.flow, syncStatus.flow);
  return query
    .select({ ...status, staleAfterS, firstPassSince })
    .from(syncStatus)
    .leftJoin(flows, isOf)
    .prepare();
};

export function loadFacts(store: Store): Facts {
  const owed = loadOwedTimes(store);
  return {
    flows: store
      .prepared(FLOWS)
      .all()
      .map(({ error, staleAfterS, ...flow }) => ({
        ...flow,
        error: store.messageOf(error),
        staleAfterS: staleAfterS ?? 0,
      })),
    holds: loadHolds(store).map(({ nextProbeAt: _, ...hold }) => hold),
    lastOrderAt: loadLastOrderAt(store),
    orders: onlyValue<number>(store, "SELECT coalesce(max(order_key), 0) FROM orders"),
    unread: countKeptBodies(store),
    unreadSince: onlyValue<string | null>(
      store,
      `SELECT min(received_at) FROM batches INDEXED BY batches_unread
       WHERE state = 'unread' AND last_error IS NOT NULL`,
    ),
    refusedBatches: countRefusedConfirms(store),
    largeConfirms: countLargeConfirms(store),
    unnamedBatches: loadUnnamedBatches(store),
    failedConfirms: loadFailedConfirms(store),
    owedReads: { ...owed, why: store.messageOf(owed.why) },
    refusedRequests: countRefusedRequests(store),
    unsettledRequests: listUnsettledSince(store),
    unshown: loadUnshown(store),
    acceptedByStatusOnly: select(store, feeds, ["name"], "WHERE accepted_by = 'status' ORDER BY feed_id")
      .all()
      .map(({ name }) => name),
    erpWrites: loadErpWrites(store),
    walBytes: store.walBytes(),
    disk: loadDiskSpace(store),
    undelivered: Object.entries(loadChannels(store)).flatMap(([channel, { failing }]) =>
      failing === null ? [] : [{ channel, ...failing }],
    ),
    pageSilent: loadPageSilent(store),
    mirrorRefused: countMirrorRefused(store),
    doubt: loadDoubt(store),
    journalSince: journalSince(store.path),
    met: store.troubles.first,
    unanswered: loadUnansweredSince(store),
    notices: loadNotices(store),
  };
}
