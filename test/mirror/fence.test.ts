import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Claim, judgeWriter, mayBeAtWork } from "../../src/mirror/claim/fence.ts";
import { runs } from "../support/whole.ts";

const NEVER = { writer: null, writerNo: 0, takeoverNo: 0 };
const claim = (writer: string, writerNo?: number, takeoverNo = 0): Claim => ({ writer, writerNo, takeoverNo });

describe("the claim to a shop", () => {
  it.each<[string, Parameters<typeof judgeWriter>[0], Claim, ReturnType<typeof judgeWriter>]>([
    ["the first ever", NEVER, claim("a"), { kind: "claim", writerNo: 1 }],
    ["a start after another", { ...NEVER, writer: "a", writerNo: 4 }, claim("b"), { kind: "claim", writerNo: 5 }],
    ["its own", { ...NEVER, writer: "a", writerNo: 4 }, claim("a", 4), { kind: "ours" }],
    ["its own, whose answer was lost", { ...NEVER, writer: "a", writerNo: 4 }, claim("a"), { kind: "ours" }],
    ["a newer one", { ...NEVER, writer: "b", writerNo: 5 }, claim("a", 4), { kind: "fenced", isTakenOver: false }],
    [
      "an older one, from a restored PostgreSQL",
      { ...NEVER, writer: "z", writerNo: 2 },
      claim("a", 4),
      { kind: "claim", writerNo: 5 },
    ],
    [
      "one of the same number, from a restored PostgreSQL",
      { ...NEVER, writer: "z", writerNo: 4 },
      claim("a", 4),
      { kind: "claim", writerNo: 5 },
    ],
    [
      "a takeover that it does not know",
      { writer: "a", writerNo: 4, takeoverNo: 1 },
      claim("a", 4),
      { kind: "fenced", isTakenOver: true },
    ],
    [
      "the same at a start",
      { writer: "b", writerNo: 5, takeoverNo: 1 },
      claim("c"),
      { kind: "fenced", isTakenOver: true },
    ],
    [
      "a takeover that PostgreSQL has forgotten",
      { writer: "z", writerNo: 2, takeoverNo: 0 },
      claim("a", undefined, 1),
      { kind: "claim", writerNo: 3 },
    ],
    [
      "the same by itself, after its claim",
      { writer: "a", writerNo: 4, takeoverNo: 0 },
      claim("a", 4, 1),
      { kind: "claim", writerNo: 5 },
    ],
    [
      "the machine that was taken over, before PostgreSQL has the takeover again",
      { writer: "z", writerNo: 9, takeoverNo: 0 },
      claim("a", 4, 1),
      { kind: "claim", writerNo: 10 },
    ],
  ])("%s", (_, position, own, verdict) => {
    expect(judgeWriter(position, own)).toEqual(verdict);
  });

  it("belongs to one of all instances once each has looked, whatever the order", () => {
    const instances = ["a", "b", "c", "d"];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...instances), { minLength: 1, maxLength: 40 }), (order) => {
        let position = { writer: null as string | null, writerNo: 0, takeoverNo: 0 };
        const claims = new Map(instances.map((name) => [name, claim(name)]));
        const ended = new Set<string>();
        const look = (name: string) => {
          const own = claims.get(name) as Claim;
          if (ended.has(name)) return;
          const verdict = judgeWriter(position, own);
          if (verdict.kind === "fenced") ended.add(name);
          if (verdict.kind !== "claim") return;
          own.writerNo = verdict.writerNo;
          position = { ...position, writer: name, writerNo: verdict.writerNo };
        };
        for (const name of [...order, ...order]) look(name);
        const running = new Set(order.filter((name) => !ended.has(name)));
        expect([...running]).toEqual([position.writer]);
      }),
      { numRuns: runs(20, 1000) },
    );
  });

  it("stays with the machine of the newest takeover, whatever PostgreSQL is restored to", () => {
    const step = fc.oneof(fc.constantFrom("a", "b", "c"), fc.nat({ max: 20 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const owners = ["a", "b", "c"].map((name, takeoverNo) => claim(name, undefined, takeoverNo));
        const past = [{ writer: null as string | null, writerNo: 0, takeoverNo: 0 }];
        const look = (own: Claim) => {
          const position = past.at(-1) as (typeof past)[number];
          const verdict = judgeWriter(position, own);
          if (verdict.kind !== "claim") return;
          own.writerNo = verdict.writerNo;
          past.push({ writer: own.writer, writerNo: verdict.writerNo, takeoverNo: own.takeoverNo });
        };
        for (const each of steps) {
          const restored = typeof each === "number" ? past[each] : undefined;
          if (restored !== undefined) past.push(restored);
          for (const own of owners) if (own.writer === each) look(own);
        }
        for (const own of [...owners.toReversed(), ...owners]) look(own);
        expect(past.at(-1)).toMatchObject({ writer: "c", takeoverNo: 2 });
      }),
      { numRuns: runs(20, 1000) },
    );
  });
});

describe("another instance that may be at work", () => {
  const SELF = { host: "one", databaseId: "db", account: "a" };
  const SEEN = { writer: "w", host: "one", databaseId: "db", account: "a", heardAtS: 1_000, isSilent: false };
  const KNOWN = { claims: ["w"], heardAtS: 990 };

  it.each<[string, Partial<typeof SEEN>, Partial<Parameters<typeof mayBeAtWork>[1]>, boolean]>([
    ["is none where the claim is this database's", {}, {}, false],
    ["has a claim that this database does not know", { writer: "x" }, {}, true],
    ["went on after this database was copied", { heardAtS: 1_300 }, {}, true],
    ["is on another host", { host: "two" }, {}, true],
    ["has another database, for the same account", { databaseId: "other" }, { claims: undefined }, true],
    ["is none where its account is another", { databaseId: "other", account: "b" }, {}, false],
    ["is none where it is silent", { isSilent: true, host: "two", databaseId: "other" }, {}, false],
  ])("%s", (_, seen, known, expected) => {
    expect(mayBeAtWork({ ...SEEN, ...seen }, { ...KNOWN, ...known }, SELF)).toBe(expected);
  });
});
