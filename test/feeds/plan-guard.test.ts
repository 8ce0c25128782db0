import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Drop, heldTimes, spentTimes } from "../../src/feeds/guard/plan-guard.ts";

const guard = { percent: 30, overMs: 60, from: 20 };
/** `[time, rows]` */
type Pair = readonly [atMs: number, count: number];
const drops = (pairs: readonly Pair[]): Drop[] => pairs.map(([atMs, count]) => ({ atMs, count }));
const held = (rule: typeof guard, waiting: readonly Pair[], sent: readonly Pair[], live: number) =>
  [...heldTimes(rule, { waiting: drops(waiting), sent: drops(sent), live })].sort((a, b) => a - b);

describe("the guard holds", () => {
  it.each<[string, readonly Pair[], readonly Pair[], number, readonly number[]]>([
    ["not 30 of 100", [[0, 30]], [], 100, []],
    ["31 of 100", [[0, 31]], [], 100, [0]],
    ["not 5 of 100 where 25 of them are sent", [[0, 5]], [[0, 25]], 75, []],
    ["6 of 100 where 25 of them are sent", [[0, 6]], [[0, 25]], 75, [0]],
    ["not fewer than from", [[0, 19]], [], 19, []],
    ["from rows", [[0, 20]], [], 20, [0]],
    ["nothing that does not wait", [], [[0, 90]], 10, []],
    ["rows within the time, at its very end", [[0, 20], [60, 20]], [], 100, [0, 60]], // biome-ignore format: a line a case
    ["not rows just beyond it", [[0, 20], [61, 20]], [], 100, []], // biome-ignore format: a line a case
    ["what came slowly, as a whole", [[0, 10], [25, 10], [50, 11]], [], 100, [0, 25, 50]], // biome-ignore format: a line a case
    ["what a chain of spans contains, and no more", [[0, 16], [50, 16], [100, 16], [161, 16]], [], 100, [0, 50, 100]], // biome-ignore format: a line a case
    ["not what comes later", [[0, 40], [100, 1]], [], 100, [0]], // biome-ignore format: a line a case
    ["not what came earlier", [[0, 1], [100, 40]], [], 100, [100]], // biome-ignore format: a line a case
    ["what came together with rows sent long ago", [[9, 15]], [[0, 25], [500, 5]], 70, [9]], // biome-ignore format: a line a case
    ["not sales of days that nobody could send", [[0, 20], [100, 20], [200, 20]], [], 150, []], // biome-ignore format: a line a case
    ["of what the last of them would have left on sale", [[0, 20], [100, 20], [200, 20]], [], 100, [200]], // biome-ignore format: a line a case
    ["more than are known to be on sale, where a request was not answered", [[0, 50]], [], 0, [0]],
  ])("%s", (_, waiting, sent, live, times) => {
    expect(held(guard, waiting, sent, live)).toEqual(times);
  });
});

const rule = fc.record({
  percent: fc.integer({ min: 1, max: 100 }),
  overMs: fc.integer({ min: 1, max: 40 }),
  from: fc.integer({ min: 0, max: 30 }),
});
const pair = fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 12 }));
const some = fc.array(pair, { maxLength: 12 });
const live = fc.integer({ min: 0, max: 150 });
const total = (pairs: readonly Pair[]) => pairs.reduce((sum, [, count]) => sum + count, 0);
const check = <T extends unknown[]>(property: fc.IProperty<T>) => fc.assert(property);

describe("whatever goes to zero, the guard", () => {
  it("frees none because of another one that waits", () =>
    check(
      fc.property(rule, some, some, live, pair, (by, waiting, sent, live, more) => {
        const after = new Set(held(by, [...waiting, more], sent, live));
        for (const time of held(by, waiting, sent, live)) expect(after).toContain(time);
      }),
    ));

  it("frees none because of what is sent meanwhile, and holds no more where the first go first", () =>
    check(
      fc.property(rule, some, some, live, pair, (by, waiting, sent, live, [at, count]) => {
        const times = new Set(waiting.map(([time]) => time));
        const before = held(by, [...waiting, [at, count]], sent, live + count).filter((time) => times.has(time));
        const after = held(by, waiting, [...sent, [at, count]], live);
        expect(after).toEqual(expect.arrayContaining(before));
        if (waiting.every(([time]) => time >= at)) expect(after).toEqual(before);
      }),
    ));

  it("does not depend on the order, nor on how rows of one time are counted", () =>
    check(
      fc.property(rule, some, some, live, (by, waiting, sent, live) => {
        const single = waiting.flatMap(([at, count]) => Array.from({ length: count }, () => [at, 1] as const));
        expect(held(by, single.reverse(), sent.toReversed(), live)).toEqual(held(by, waiting, sent, live));
      }),
    ));

  it("counts what lies within one span together, as parts of what was on sale", () =>
    check(
      fc.property(rule, some, some, live, (by, waiting, sent, live) => {
        const rows = total(waiting) + total(sent);
        fc.pre(rows <= live + total(sent));
        const isHeld = rows > 0 && rows >= by.from && rows * 100 > by.percent * (live + total(sent));
        const times = [...new Set(waiting.map(([at]) => at))].sort((a, b) => a - b);
        expect(held({ ...by, overMs: 200 }, waiting, sent, live)).toEqual(isHeld ? times : []);
      }),
    ));

  it("never holds rows that are far apart and fewer than from", () =>
    check(
      fc.property(rule, fc.array(fc.integer({ min: 1, max: 12 })), live, (by, counts, live) => {
        const pairs = counts.map((count, index) => [index * (by.overMs + 1), Math.min(count, by.from - 1)] as const);
        expect(held(by, by.from < 2 ? [] : pairs, [], live)).toEqual([]);
      }),
    ));

  it("holds the same without sent rows that share no span with what waits or goes later", () =>
    check(
      fc.property(rule, some, some, some, live, (by, waiting, sent, later, live) => {
        const options = { overMs: by.overMs, nowMs: 200 };
        const spent = spentTimes({ waiting: drops(waiting), sent: drops(sent) }, options);
        const now = [...waiting, ...later.map(([at, count]) => [at + 200, count] as const)];
        const kept = sent.filter(([at]) => !spent.includes(at));
        expect(held(by, now, kept, live)).toEqual(held(by, now, sent, live));
        for (const [at] of kept)
          expect([...waiting, [200]].some(([time]) => Math.abs(at - time!) <= by.overMs)).toBe(true);
      }),
    ));
});
