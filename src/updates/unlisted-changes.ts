/*
 * Whether the list of changes is silent while orders change: an index behind it stands still, or a replica of it is not fed. Each poll is
 * answered well then, and the nightly comparison alone learns what has changed. Orders count whose status has changed later than all that was
 * listed, and an hour at least before changes were last followed. As soon as the list names something new they count no more.
 */
import { isStrictlyNewer, parseTimestamp } from "../answers/timestamp.ts";
import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import { findRow } from "../database/queries.ts";
import { flows, watermarks } from "../database/schema.ts";
import type { JobContext } from "../pass/job.ts";
import { UPDATES_STREAM } from "../pass/position-rows.ts";
import { isToken } from "./follow.ts";
import { loadLearned } from "./learned-rows.ts";

/** As it stands in `meta`. */
export interface UnlistedChanges {
  /** Up to where the list had been followed: what is counted is over where it is another. */
  position: string;
  count: number;
  /** When the first of them was found, UTC. */
  since: string;
}

/** A list that is written late is no silent one: the longest that is learned of it is minutes (`change-lag.ts`). */
const LISTED_WITHIN_MS = 3_600_000;
const MS_NS = 1_000_000n;

/**
 * Counts an order whose status the comparison found changed. Inside the transaction that stores it.
 * @param order its timestamp, as the service writes it
 */
export function noteUnlisted(
  { store, client, clock }: Pick<JobContext, "store" | "client" | "clock">,
  order: { timestamp: string | null; timezone: string; at: string },
): void {
  const { timestamp, timezone, at } = order;
  const followed = findRow(store, watermarks, { stream: UPDATES_STREAM });
  const followedAt = findRow(store, flows, { flow: "updates" })?.lastSuccessAt ?? null;
  const changedNs = timestamp === null ? undefined : parseTimestamp(timestamp, timezone)?.latestNs;
  if (followed === undefined || followedAt === null || timestamp === null || changedNs === undefined) return;
  const aheadMs = client.serviceNow === undefined ? 0 : Date.parse(client.serviceNow) - clock.nowMs();
  const changedMs = Number(changedNs / MS_NS) - aheadMs;
  const { value, updatedAt } = followed;
  // A token does not say what it covers: what changed after it was last another one is not covered.
  const isAfter = isToken(value, loadLearned(store).form, timezone)
    ? changedMs > Date.parse(updatedAt)
    : isStrictlyNewer(timestamp, value, timezone);
  if (!isAfter || Date.parse(followedAt) - changedMs < LISTED_WITHIN_MS) return;
  const before = loadMetaJson<UnlistedChanges>(store, "unlisted_changes");
  const { count, since } = before?.position === value ? before : { count: 0, since: at };
  saveMetaJson(store, "unlisted_changes", { position: value, count: count + 1, since });
}
