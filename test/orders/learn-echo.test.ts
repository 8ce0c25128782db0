import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { isStatusAlone, type LearnedEchoes, learnEcho } from "../../src/orders/learn-echo.ts";
import { keysBesideStatus } from "../../src/orders/plan-order.ts";
import { itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const STARTED_MS = Date.parse("2026-03-01T00:00:00.000Z");
const echo = (turn: number, keys: readonly string[], hours = 2) => ({
  kind: "batch snapshot packed",
  orderId: `order ${turn}`,
  at: new Date(STARTED_MS + turn * hours * HOUR_MS).toISOString(),
  keys,
});

/** What is known after statuses that came with these keys. */
function learned(all: readonly (readonly string[])[], hours?: number): LearnedEchoes {
  return all.reduce<LearnedEchoes>((known, keys, turn) => learnEcho(known, echo(turn, keys, hours)), {});
}

describe("what comes with our statuses", () => {
  it("is the service's after three of them, of one status and one kind of answer", () => {
    const known = learned([["+.a"], ["+.a"], ["+.a", "+.b"]]);
    expect(isStatusAlone(known, echo(9, ["+.a"]))).toBe(true);
    expect(isStatusAlone(known, echo(9, ["+.a", "+.b"]))).toBe(false);
    expect(isStatusAlone(known, echo(9, ["-.a"]))).toBe(false);
    expect(isStatusAlone(known, { ...echo(9, ["+.a"]), kind: "batch snapshot shipped" })).toBe(false);
    expect(isStatusAlone(learned([["+.a"], ["+.a"]]), echo(9, ["+.a"]))).toBe(false);
    expect(isStatusAlone({}, echo(9, []))).toBe(true);
  });

  it("is somebody else's where it came with less than half of them", () => {
    expect(isStatusAlone(learned([["+.a"], ["+.a"], ["+.a"], [], [], []]), echo(9, ["+.a"]))).toBe(true);
    expect(isStatusAlone(learned([["+.a"], ["+.a"], ["+.a"], [], [], [], []]), echo(9, ["+.a"]))).toBe(false);
  });

  it("counts once for one order, and for what happened within an hour", () => {
    expect(isStatusAlone(learned(Array(50).fill(["+.recalled"]), 0.019), echo(99, ["+.recalled"]))).toBe(false);
    const same = Array(5)
      .fill(0)
      .reduce<LearnedEchoes>((known, _, turn) => {
        return learnEcho(known, { ...echo(turn, ["+.a"]), orderId: "one" });
      }, {});
    expect(isStatusAlone(same, echo(9, ["+.a"]))).toBe(false);
  });

  it("is learned anew where the service comes to bring something else", () => {
    const before = Array<string[]>(40).fill(["+.a"]);
    const known = learned([...before, ...Array<string[]>(10).fill(["+.b"])]);
    expect(isStatusAlone(known, echo(99, ["+.b"]))).toBe(true);
    expect(isStatusAlone(known, echo(99, ["+.a"]))).toBe(false);
  });

  itWhole("takes little room, whatever a service sends", () => {
    let known: LearnedEchoes = {};
    for (let turn = 0; turn < 200; turn++) {
      known = learnEcho(known, {
        ...echo(
          turn,
          Array.from({ length: 150 }, (_, key) => `+.${turn} ${key}`),
        ),
      });
      known = learnEcho(known, { ...echo(turn, ["+.a"]), kind: `batch snapshot ${turn}` });
    }
    expect(Object.keys(known)).toHaveLength(30);
    expect(JSON.stringify(known).length).toBeLessThan(20_000);
    expect(learnEcho({}, echo(0, ["x".repeat(1_000)]))).toEqual({});
    expect(
      learnEcho(
        {},
        echo(
          0,
          Array.from({ length: 300 }, (_, key) => `+.${key}`),
        ),
      ),
    ).toEqual({});
  });
});

describe("keysBesideStatus", () => {
  const rules = { ignore: [parsePath("$.updated_at")], statusPaths: [parsePath("$.status")] };
  const values = {
    number: null,
    status: null,
    createdAt: null,
    currency: null,
    total: null,
    updatedAt: null,
    lines: [],
  };
  const keysOf = (was: object, is: object, total: string | null = null) =>
    keysBesideStatus(
      {
        ...{ status: "new", isCancelled: false, updatedAt: null, removed: false },
        ...{ payload: JSON.stringify({ status: "new", updated_at: 1, ...was }), values, lines: [] },
      },
      { text: JSON.stringify({ status: "packed", updated_at: 2, ...is }), values: { ...values, total } },
      rules,
    );

  it.each([
    [{}, {}, []],
    [{ b: 1 }, { a: 1 }, ["+.a", "-.b"]],
    [{ o: {} }, { o: { a: 1 } }, ["+.o.a"]],
    [
      { items: [{ n: 1 }, { n: 2 }] },
      {
        items: [
          { n: 1, vat: 7 },
          { n: 2, vat: 7 },
        ],
      },
      ["+.items[].vat"],
    ],
    [{ log: [1] }, { log: [1, 2, 3] }, ["+.log[]", "+.log[] (2)"]],
    [{ a: null, b: null }, { a: 1, c: null }, ["+.a"]],
    [{ a: false }, { a: true }, undefined],
    [{ log: [1] }, { log: [2, 1] }, undefined],
  ])("of %j and %j", (was, is, keys) => {
    expect(keysOf(was, is)).toEqual(keys);
  });

  it("is undefined where a column is another one", () => {
    expect(keysOf({}, { total: "9.90" }, "9.90")).toBeUndefined();
  });
});
