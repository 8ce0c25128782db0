/*
 * Controls: rows that are sent to find out whether the service accepts anything at all, where it refuses others. To be sent are
 * the rows beside those of the pass; without limits there are none.
 */
import { onlyValue } from "../../database/only-row.ts";
import type { Store } from "../../database/store.ts";
import { commit } from "../../pass/commit.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import {
  DROPS,
  isPresent,
  loadRows,
  loadSendableRow,
  MAY_GO,
  OTHERS,
  type OutboxRow,
  PARENT_IS_THERE,
  type SendLimits,
} from "../feed-outbox.ts";
import { hasOtherRow, type KeyParts, keyOf, sameKey } from "../feed-rows.ts";

/** How many controls may wait at a service that refuses them: more would show no more. */
const ACCEPTED_QUEUED_MAX = 3;
/** SQL: rows of which no refusal is known. */
const UNREFUSED = "refusal IS NULL AND denied = 0 AND probed = 0";

/**
 * A row that waits and whose article the service has accepted before, or one that it has, sent once more; else the row from the
 * end of the outbox.
 */
export async function loadControl(
  context: FeedContext,
  rules: FeedRules,
  { limits, signal }: { limits: SendLimits | undefined; signal: AbortSignal },
): Promise<OutboxRow | undefined> {
  const { store, clock, files } = context;
  if (limits === undefined) return undefined;
  let row = loadKnownSendable(store, rules, limits);
  if (row === undefined) {
    const key = await commit(context, signal, () => queueAccepted(store, rules, isoTime(clock.nowMs())));
    row = (key && loadSendableRow(store, rules, limits, key)[0]) ?? loadLastSendable(store, rules, limits);
  }
  return row === undefined || files === undefined ? row : (await files.take([row], signal)).rows[0];
}

/**
 * The one row of a probe of refused credentials or a refused payment: a control, or where all rows that may go were refused
 * before, the one that was a probe least often. So one row that the service refuses like this keeps no hold, however often it changes.
 */
export async function loadProbe(
  context: FeedContext,
  rules: FeedRules,
  options: { limits: SendLimits; signal: AbortSignal },
): Promise<OutboxRow | undefined> {
  const { store, files } = context;
  const control = await loadControl(context, rules, options);
  if (control !== undefined) return control;
  const [row] = loadRows(store, rules, { ...options.limits })(
    `WHERE feed_id = @feed AND state = 'waiting' AND (drop_round IS NULL OR drop_round <= @dropRound) AND ${MAY_GO}
       AND ${PARENT_IS_THERE} ORDER BY probed, id DESC LIMIT 1`,
  );
  return row === undefined || files === undefined ? row : (await files.take([row], options.signal)).rows[0];
}

/** The row that would be sent last. */
export function loadLastSendable(
  store: Store,
  rules: FeedRules,
  limits: SendLimits | undefined,
): OutboxRow | undefined {
  return (
    limits &&
    loadRows(store, rules, { ...limits })(
      `${OTHERS} AND ${MAY_GO} AND ${UNREFUSED} ${rules.parent === null ? "" : `AND ${PARENT_IS_THERE}`}
       ORDER BY priority DESC, id DESC LIMIT 1`,
    )[0]
  );
}

/** A row whose article the service has accepted before, drops first: where it is refused too, the service is the cause. */
function loadKnownSendable(store: Store, rules: FeedRules, limits: SendLimits): OutboxRow | undefined {
  const load = loadRows(store, rules, { ...limits });
  const known = `AND ${MAY_GO} AND ${UNREFUSED} AND ${isPresent("x")}`;
  // The last ones: what was refused just now are probably the first.
  const drop = load(`${DROPS} ${known} ORDER BY drop_round DESC, dropped_at DESC, away_since_ms DESC LIMIT 1`)[0];
  return drop ?? load(`${OTHERS} ${known} ORDER BY priority DESC, id DESC LIMIT 1`)[0];
}

/**
 * Queues a row that the service has accepted and that is unchanged since; undefined where there is none, or enough wait. Only what
 * changes nothing on the site: an article that is sold out, or a price, of which no other row may have said anything else since. To be called
 * inside a transaction.
 */
function queueAccepted(store: Store, rules: FeedRules, at: string): string[] | undefined {
  if (rules.name !== "prices" && rules.name !== "stocks") return undefined;
  const waiting = onlyValue<number>(
    store,
    `SELECT count(*) FROM (SELECT 1 FROM feed_outbox x JOIN feed_sent s ON s.feed_id = x.feed_id AND ${sameKey("s", "x")}
     WHERE x.feed_id = ? AND x.record = s.record AND s.gone = 0 AND x.gone = 0 LIMIT ${ACCEPTED_QUEUED_MAX})`,
    rules.feedId,
  );
  if (waiting === ACCEPTED_QUEUED_MAX) return undefined;
  const hasOther = hasOtherRow(rules, rules.name === "stocks" ? "t.live = 1" : "1");
  const row = store
    .prepare<KeyParts>(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, waiting_since)
       SELECT s.feed_id, s.k0, s.k1, s.k2, s.k3, s.record, @at FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
       WHERE s.feed_id = @feed AND s.gone = 0 AND s.epoch = f.epoch ${rules.name === "stocks" ? "AND s.live = 0" : ""}
         AND NOT EXISTS (SELECT 1 FROM feed_outbox x WHERE x.feed_id = s.feed_id AND ${sameKey("s", "x")})
         AND NOT ${hasOther}
       LIMIT 1 RETURNING k0, k1, k2, k3`,
    )
    .get({ feed: rules.feedId, at });
  return row && keyOf(rules, row);
}
