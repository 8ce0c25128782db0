/*
 * Moves a database to another address or client id of the same shop. It may be another installation of the service, so
 * the former acknowledgements do not apply, and its list of changes has positions of its own. Everything is changed in
 * the transaction that records the new account.
 */

import { countUnconfirmedOf } from "../batches/batch-rows.ts";
import { loadDelivery, loseAgain } from "../batches/delivery-rows.ts";
import { FEED_NAMES } from "../config/feed-names.ts";
import type { LoadedConfig } from "../config/load.ts";
import { deleteMeta, loadMeta, MetaValue, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { invalidateAcknowledged } from "../feeds/acknowledged-rows.ts";
import { m } from "../messages/messages.ts";
import { forgetLearned } from "../pass/learned-rows.ts";
import {
  deleteWatermark,
  loadWatermark,
  SWEEP_STREAM,
  saveWatermark,
  TIME_STREAM,
  UPDATES_STREAM,
} from "../pass/position-rows.ts";
import { HOUR_MS } from "../platform/durations.ts";
import { isoTime } from "../platform/ports.ts";
import { requestReconcile } from "../reconcile/reconcile-rows.ts";
import { COVERED_STREAM, deleteCut } from "../updates/cuts/cut-rows.ts";
import { isToken } from "../updates/pages/follow.ts";
import { RESTS } from "../updates/pages/rest-rows.ts";
import { requestSentSince } from "../updates/reads/set-back.ts";
import { loadLearned } from "../updates/times/learned-rows.ts";
import { accountOf } from "./account.ts";

/** A wide re-poll is due where the last one is older than its overlap plus some hours. */
const SWEEP_DUE_MS = 3 * HOUR_MS;
/** Accounts whose positions are kept; the one left longest ago is dropped first. */
const ACCOUNTS_MAX = 10;
const STREAMS = [UPDATES_STREAM, TIME_STREAM, COVERED_STREAM, SWEEP_STREAM] as const;
/** What says nothing of another account. */
const PASSING = [
  "anchors",
  "set_back",
  "ahead",
  "called_cancelled",
  "confirms",
  "open_confirm",
  "unnamed",
  "served_again",
  "repeated_batches",
  "read_pages",
  "orders_behind",
] as const;

interface Left {
  at: string;
  /** When the oldest GET /orders whose answer is missing was sent to that account. */
  lostAt?: string | undefined;
  positions: { [stream in (typeof STREAMS)[number]]?: string };
}

/** By account. */
const ACCOUNTS = new MetaValue<Record<string, Left>>("accounts", {});

export interface Switched {
  formerUrl: string;
  formerId: string;
  /** When this account was left before; undefined where it is new to this database. */
  leftAt: string | undefined;
  /** Where following changes starts; undefined where it never ran. */
  position: string | undefined;
  /** Orders to be read because their status was sent to the other account. */
  reads: number;
  /** Batches to be confirmed to the account that is left; only that one has them. */
  unconfirmed: number;
  /** Batches that this account served before it was left, to be confirmed to it now. */
  confirmedNow: number;
}

/** Inside a write transaction. Undefined where the database belongs to this account already. */
export function switchAccount(store: Store, { config }: LoadedConfig, nowMs: number): Switched | undefined {
  const [former, account] = [loadMeta(store, "account"), accountOf(config)];
  if (former === account) return undefined;
  saveMeta(store, "account", account);
  if (former === undefined) return undefined;
  const at = isoTime(nowMs);
  const known = exchangePositions(store, { former, account, at, timezone: config.service.timezone });
  const overlapMs = config.updates.sweep.overlap;
  const repolledAt = isoTime(nowMs - overlapMs - SWEEP_DUE_MS);
  const lastWide = known?.positions[SWEEP_STREAM];
  saveWatermark(store, SWEEP_STREAM, lastWide !== undefined && lastWide < repolledAt ? lastWide : repolledAt, at);
  forgetLearned(store);
  for (const key of PASSING) deleteMeta(store, key);
  invalidateAcknowledged(store, FEED_NAMES, { since: "", at, because: m.daemon.accountMoved });
  const reads = requestSentSince(store, known?.at ?? isoTime(nowMs - overlapMs), at);
  requestReconcile(store);
  const [formerUrl, formerId] = JSON.parse(former) as [string, string];
  const [unconfirmed, confirmedNow] = [countUnconfirmedOf(store, former), countUnconfirmedOf(store, account)];
  const position = loadWatermark(store, UPDATES_STREAM);
  return { formerUrl, formerId, leftAt: known?.at, position, reads, unconfirmed, confirmedNow };
}

/**
 * Stores the positions of the account that is left, and restores those of the new one if it was used before: everything
 * up to them is known. For an account that was never used, following continues by time.
 */
function exchangePositions(
  store: Store,
  { former, account, at, timezone }: { former: string; account: string; at: string; timezone: string },
): Left | undefined {
  const { [former]: _, [account]: known, ...others } = ACCOUNTS.load(store);
  const positions = Object.fromEntries(
    STREAMS.flatMap((stream) => {
      const value = loadWatermark(store, stream);
      return value === undefined ? [] : [[stream, value] as const];
    }),
  ) as Left["positions"];
  const lostAt = loadDelivery(store)?.openedAt;
  const left = { at, positions, ...(lostAt !== undefined && { lostAt }) } satisfies Left;
  const kept = [...Object.entries(others), [former, left] as const].slice(-ACCOUNTS_MAX);
  ACCOUNTS.save(store, Object.fromEntries(kept));
  // Both addresses may lead to the same service: a lost delivery stays open until it is served at either.
  loseAgain(store, known?.lostAt);
  for (const rest of Object.values(RESTS)) rest.delete(store);
  deleteCut(store);
  const { form } = loadLearned(store);
  const here = positions[UPDATES_STREAM];
  const isForeign = here !== undefined && isToken(here, form, timezone);
  const next =
    known?.positions ?? (isForeign ? { ...positions, [UPDATES_STREAM]: positions[TIME_STREAM] ?? here } : positions);
  for (const stream of STREAMS) {
    const value = next[stream];
    if (value === undefined) deleteWatermark(store, stream);
    else saveWatermark(store, stream, value, at);
  }
  return known;
}
