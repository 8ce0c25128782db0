import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTimestamp } from "../../src/answers/timestamp.ts";
import type { TimestampForm } from "../../src/answers/timestamp-form.ts";
import type { FollowRules, SinceForm } from "../../src/updates/pages/follow.ts";
import { type Feed, type FeedChange, followFeed } from "../support/simulated-feed.ts";
import { runs } from "../support/whole.ts";

const START_NS = 1_772_366_400_000_000_000n;
const UNITS = { s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n } as const;
const FRACTION = { s: 0, ms: 3, us: 6 } as const;
const SINCE_UNIT: Record<SinceForm, bigint> = { iso: 0n, unix: UNITS.s, unix_ms: UNITS.ms };

const isoForm = (precision: keyof typeof UNITS): TimestampForm => ({
  kind: "iso",
  precision: "second",
  fraction: FRACTION[precision],
  point: ".",
  zone: "Z",
  separator: "T",
});

interface World {
  feed: Feed;
  rules: FollowRules;
  /** What `since` can tell apart here. */
  unitNs: bigint;
}

const world: fc.Arbitrary<World> = fc
  .record({
    precision: fc.constantFrom<keyof typeof UNITS>("s", "ms", "us"),
    since: fc.constantFrom<SinceForm>("iso", "iso", "unix", "unix_ms"),
    boundary: fc.constantFrom<Feed["boundary"]>("inclusive", "exclusive"),
    pageLimit: fc.integer({ min: 1, max: 12 }),
    // Small steps, many of them none: ties of every size, at page ends too.
    steps: fc.array(
      fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2_500 })),
      { maxLength: 80 },
    ),
  })
  .map(({ precision, since, boundary, pageLimit, steps }) => {
    let ns = START_NS;
    const changes: FeedChange[] = steps.map((step, id) => {
      ns += BigInt(step) * UNITS[precision];
      return { id, ns };
    });
    const unitNs = SINCE_UNIT[since] > UNITS[precision] ? SINCE_UNIT[since] : UNITS[precision];
    return {
      feed: { changes, boundary, pageLimit, form: isoForm(precision) },
      rules: { since, timezone: "UTC", overlapMs: 0 },
      unitNs,
    };
  });

const watermark = formatTimestamp(START_NS - 1_000_000_000n, isoForm("s"), "UTC");
const unitOf = (ns: bigint, { unitNs }: World) => ns / unitNs;
/** How many changes `since` cannot tell from this one. */
const crowd = (change: FeedChange, each: World) =>
  each.feed.changes.filter(({ ns }) => unitOf(ns, each) === unitOf(change.ns, each)).length;

describe("a pass over any feed", () => {
  it("sees every change that is not hidden among more of one timestamp than a page holds", () => {
    fc.assert(
      fc.property(world, (each) => {
        const { seen, ended } = followFeed(each.feed, each.rules, { watermark });
        expect(ended).toBe(true);
        const missed = each.feed.changes.filter(
          (change) => !seen.has(change.id) && crowd(change, each) < each.feed.pageLimit,
        );
        expect(missed).toEqual([]);
      }),
      { numRuns: runs(130, 3_000) },
    );
  });

  it("steps over a timestamp, and says so, wherever it leaves a change unseen", () => {
    fc.assert(
      fc.property(world, (each) => {
        const { seen, ties } = followFeed(each.feed, each.rules, { watermark });
        const told = new Set([...ties].map((ns) => unitOf(ns, each)));
        // An exclusive service may cut a page in the unit after the one that was asked for.
        const isTold = ({ ns }: FeedChange) =>
          told.has(unitOf(ns, each)) || told.has(unitOf(ns, each) - 1n) || told.has(unitOf(ns, each) + 1n);
        expect(each.feed.changes.filter((change) => !seen.has(change.id) && !isTold(change))).toEqual([]);
      }),
      { numRuns: runs(130, 3_000) },
    );
  });

  it("asks no more often than the pages, the crowded timestamps and a few to find the end demand", () => {
    fc.assert(
      fc.property(world, (each) => {
        const { requests } = followFeed(each.feed, each.rules, { watermark });
        const crowds = Map.groupBy(each.feed.changes, ({ ns }) => unitOf(ns, each));
        // A page brings at least what it holds beyond the timestamp that it repeats.
        const largest = Math.max(0, ...[...crowds.values()].map(({ length }) => length));
        const perPage = Math.max(1, each.feed.pageLimit - 2 * Math.min(largest, each.feed.pageLimit - 1));
        expect(requests.length).toBeLessThanOrEqual(
          6 + Math.ceil(each.feed.changes.length / perPage) + 3 * crowds.size,
        );
      }),
      { numRuns: runs(130, 3_000) },
    );
  });

  it("ends although changes move on, vanish and appear while it reads", () => {
    fc.assert(
      fc.property(world, fc.infiniteStream(fc.nat(1_000)), (each, chances) => {
        const moving: Feed = { ...each.feed, changes: [...each.feed.changes] };
        const between = () => {
          const changes = moving.changes as FeedChange[];
          const at = (chances.next().value ?? 0) % Math.max(1, changes.length);
          const taken = changes[at];
          if (taken === undefined) return;
          if ((chances.next().value ?? 0) % 2 === 0) changes.splice(at, 1);
          else changes[at] = { id: taken.id, ns: taken.ns + each.unitNs * BigInt((chances.next().value ?? 0) % 5) };
        };
        expect(followFeed(moving, each.rules, { watermark, between }).ended).toBe(true);
      }),
      { numRuns: runs(80, 2_000) },
    );
  });

  it("ends after the first look when it is repeated and the boundary is known", () => {
    fc.assert(
      fc.property(world, (each) => {
        const first = followFeed(each.feed, each.rules, { watermark });
        if (first.high === undefined) return;
        const again = followFeed(each.feed, each.rules, { watermark: first.high.text, learned: first.learned });
        const last = each.feed.changes.filter(
          (change) => unitOf(change.ns, each) === unitOf(first.high!.ns, each),
        ).length;
        expect(again.requests.length).toBeLessThanOrEqual(last >= 2 ? 4 : 3);
        // An exclusive service asked from its last change has nothing to tell.
        expect(again.high ?? first.high).toEqual(first.high);
      }),
      { numRuns: runs(80, 2_000) },
    );
  });
});
