import type { FeedRules } from "../feed.ts";

/** Rows that went to zero or away at one time. */
export interface Drop {
  atMs: number;
  count: number;
}

/** `waiting`: not approved, and due; `sent`: without an approval; `live`: rows that the site sells now. */
export interface Drops {
  waiting: readonly Drop[];
  sent: readonly Drop[];
  live: number;
}

/**
 * The times of waiting rows that must wait for a person: those within any span of `overMs` in which at least `from` rows
 * went to zero or away, and more than `percent` of the articles on sale before it. What counts is when a row went, not when
 * it is sent: sales that pile up while nothing can be sent are let through as they would have been one by one.
 */
export function heldTimes(
  { percent, overMs, from }: FeedRules["guard"],
  { waiting, sent, live }: Drops,
): ReadonlySet<number> {
  const drops = [
    ...waiting.map((drop) => ({ ...drop, isSent: false })),
    ...sent.map((drop) => ({ ...drop, isSent: true })),
  ].sort((a, b) => a.atMs - b.atMs);
  const held = new Set<number>();
  let [dropping, end, marked] = [0, 0, 0];
  // What waits is still on sale on the site, and what was sent is not.
  let before = live;
  for (const [start, first] of drops.entries()) {
    for (let next = drops[end]; next !== undefined && next.atMs <= first.atMs + overMs; next = drops[++end]) {
      dropping += next.count;
      if (next.isSent) before += next.count;
    }
    if (dropping >= from && dropping * 100 > percent * before) {
      for (const { atMs, isSent } of drops.slice(Math.max(start, marked), end)) if (!isSent) held.add(atMs);
      marked = end;
    }
    dropping -= first.count;
    before -= first.count;
  }
  return held;
}

/** The times of sent rows that share no span of `overMs` with a waiting row, nor with one that goes from `nowMs` on. */
export function spentTimes(
  { sent, waiting }: Pick<Drops, "sent" | "waiting">,
  { overMs, nowMs }: { overMs: number; nowMs: number },
): number[] {
  const times = [...waiting.map(({ atMs }) => atMs), nowMs].sort((a, b) => a - b);
  let next = 0;
  return sent
    .map(({ atMs }) => atMs)
    .sort((a, b) => a - b)
    .filter((atMs) => {
      while ((times[next] ?? Number.POSITIVE_INFINITY) < atMs - overMs) next++;
      return (times[next] ?? Number.POSITIVE_INFINITY) > atMs + overMs;
    });
}
