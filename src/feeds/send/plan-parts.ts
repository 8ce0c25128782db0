/*
 * Divides rows into requests, so that a record at which the service fails delays few others. Pure: the rows of one failed
 * request are those whose outcome is open until the same time.
 */

import type { OutboxRow } from "../feed-outbox.ts";

/** Parts of a failed request: of the 500 rows of an ordinary one, each is alone after two failures. */
const PARTS_MAX = 25;

type Sent = Pick<OutboxRow, "record" | "flightRecord" | "flightUntilMs">;

/**
 * Rows without a failed request are one part, which comes first. The rows of each failed request are sent in smaller parts,
 * apart from all others, those that failed last after the rest.
 *
 * @param outageUntilMs rows whose outcome was open until then, or for a shorter time, failed with all others: they are
 *   like rows without a failed request
 * @example
 * planParts([a, b, c, d], 0); // where the request with a and b has failed: [[c, d], [a], [b]]
 */
export function planParts<R extends Sent>(rows: readonly R[], outageUntilMs: number): R[][] {
  const failedAt = ({ flightRecord, flightUntilMs }: R) =>
    flightRecord === null || flightUntilMs === null || flightUntilMs <= outageUntilMs ? 0 : flightUntilMs;
  const groups = Map.groupBy(rows, failedAt);
  const fresh = groups.get(0);
  groups.delete(0);
  const parts = [...groups].sort(([a], [b]) => a - b).flatMap(([, some]) => inParts(some));
  return fresh === undefined ? parts : [fresh, ...parts];
}

/** Rows that have changed since come first: a service that counts only changes shows by them what it accepts. */
function inParts<R extends Sent>(rows: readonly R[]): R[][] {
  const isSame = ({ record, flightRecord }: R) => Number(record === flightRecord);
  const all = rows.toSorted((a, b) => isSame(a) - isSame(b));
  const size = Math.ceil(all.length / PARTS_MAX);
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}
