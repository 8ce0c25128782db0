/* The SQL of controls: rows that show whether the service accepts anything at all. */
import { onlyValue } from "../../database/only-row.ts";
import type { Store } from "../../database/store.ts";
import type { FeedRules } from "../feed.ts";
import { isPresent, loadRows, MAY_GO, type OutboxRow, PARENT_IS_THERE, type SendLimits } from "../feed-outbox.ts";
import { sameKey } from "../feed-rows.ts";

/** The row that would be sent last, as a control: whether the service accepts anything at all. */
export function loadLastSendable(store: Store, rules: FeedRules, limits: SendLimits): OutboxRow | undefined {
  const [row] = loadRows(store, rules, { ...limits })(
    `INDEXED BY feed_outbox_next WHERE feed_id = @feed AND state = 'waiting' AND drop_round IS NULL AND ${MAY_GO}
       AND refusal IS NULL ${rules.parent === null ? "" : `AND ${PARENT_IS_THERE}`} ORDER BY priority DESC, id DESC LIMIT 1`,
  );
  return row;
}

/** A row whose article the service has accepted before, drops first: where it is refused too, the service is the cause. */
export function loadKnownSendable(store: Store, rules: FeedRules, limits: SendLimits): OutboxRow | undefined {
  const load = loadRows(store, rules, { ...limits });
  const mayGo = `${MAY_GO} AND refusal IS NULL AND ${isPresent("x")} LIMIT 1`;
  const [drop] = load(
    `INDEXED BY feed_outbox_drops WHERE feed_id = @feed AND state = 'waiting' AND drop_round IS NOT NULL
       AND drop_round <= @dropRound AND ${mayGo}`,
  );
  if (drop !== undefined) return drop;
  return load(
    `INDEXED BY feed_outbox_next WHERE feed_id = @feed AND state = 'waiting' AND drop_round IS NULL AND ${mayGo}`,
  )[0];
}

/** How many controls may wait at a service that refuses them: more would show no more. */
const ACCEPTED_QUEUED_MAX = 3;

/**
 * Queues a row that the service has accepted and that is unchanged since, to be sent once more as a control; undefined where there is
 * none, or enough wait. Only what changes nothing on the site: an article that is sold out, or a price. To be called inside a transaction.
 */
export function queueAccepted(store: Store, rules: FeedRules, at: string): string[] | undefined {
  if (rules.name !== "prices" && rules.name !== "stocks") return undefined;
  const waiting = onlyValue<number>(
    store,
    `SELECT count(*) FROM (SELECT 1 FROM feed_outbox x JOIN feed_sent s ON s.feed_id = x.feed_id AND ${sameKey("s", "x")}
     WHERE x.feed_id = ? AND x.record = s.record AND s.gone = 0 AND x.gone = 0 LIMIT ${ACCEPTED_QUEUED_MAX})`,
    rules.feedId,
  );
  if (waiting === ACCEPTED_QUEUED_MAX) return undefined;
  const row = store
    .prepare<Record<"k0" | "k1" | "k2" | "k3", string>>(
      `INSERT INTO feed_outbox (feed_id, k0, k1, k2, k3, record, waiting_since)
       SELECT s.feed_id, s.k0, s.k1, s.k2, s.k3, s.record, @at FROM feed_sent s CROSS JOIN feeds f ON f.feed_id = s.feed_id
       WHERE s.feed_id = @feed AND s.gone = 0 AND s.epoch = f.epoch ${rules.name === "stocks" ? "AND s.live = 0" : ""}
         AND NOT EXISTS (SELECT 1 FROM feed_outbox x WHERE x.feed_id = s.feed_id AND ${sameKey("s", "x")})
       LIMIT 1 RETURNING k0, k1, k2, k3`,
    )
    .get({ feed: rules.feedId, at });
  return row && [row.k0, row.k1, row.k2, row.k3].slice(0, rules.keys.length);
}
