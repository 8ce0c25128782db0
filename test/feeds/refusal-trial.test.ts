import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOfRecord, RefusalTrial, retryRefusedMs, setAsideMs } from "../../src/feeds/send/refusal-trial.ts";

interface Row {
  id: number;
  tries: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const REFUSAL = { status: 422, words: "no" };
const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, id) => ({ id, tries: 0 }));

/** Plays a chunk against a service that refuses every request with a bad row in it. */
async function play(
  rows: readonly Row[],
  isBad: (row: Row, request: number) => boolean,
  trial = new RefusalTrial<Row>(0),
) {
  const proven: number[] = [];
  const setAside: number[] = [];
  const accepted: number[] = [];
  let requests = 0;
  let end = "";
  trial.add(rows);
  for (; end === ""; ) {
    const step = await trial.next(async () => undefined);
    if (step.kind !== "send") end = step.kind;
    else {
      requests += 1;
      if (step.rows.some((row) => isBad(row, requests))) {
        setAside.push(...trial.refuse(step.rows, REFUSAL).map(({ row }) => row.id));
      } else {
        accepted.push(...step.rows.map(({ id }) => id));
        proven.push(...trial.accept().map(({ row }) => row.id));
      }
    }
  }
  const left = trial.suspects.map(({ row }) => row.id);
  return {
    proven: trial.hasAccepted && end === "done" ? [...proven, ...left] : proven,
    setAside,
    accepted,
    requests,
    end,
  };
}

describe("a trial of refused records", () => {
  it("finds one bad record among n in about 2·log2(n) requests", async () => {
    for (const count of [2, 10, 100, 1_000]) {
      for (const bad of [0, 1, count >> 1, count - 1]) {
        const { proven, accepted, requests } = await play(rowsOf(count), ({ id }) => id === bad);
        expect([proven, accepted.length]).toEqual([[bad], count - 1]);
        expect(requests).toBeLessThanOrEqual(2 + 2 * Math.ceil(Math.log2(count)));
      }
    }
  });

  it("blames nothing and asks little where everything is refused", async () => {
    for (const count of [1, 2, 3, 10, 1_000]) {
      const { proven, accepted, requests, end } = await play(rowsOf(count), () => true);
      expect([proven, accepted, end]).toEqual([[], [], count < 3 ? "done" : "trouble"]);
      expect(requests).toBeLessThanOrEqual(7);
    }
  });

  it("takes refusals of earlier passes into account", async () => {
    const { end } = await play(rowsOf(1), () => true, new RefusalTrial<Row>(2));
    expect(end).toBe("trouble");
  });

  it("tries those once more that were refused before the service was well again", async () => {
    const { proven } = await play(rowsOf(100), (_, request) => request <= 4);
    expect(proven).toEqual([]);
  });

  it("never blames a record that is good, sends each once at least or says trouble, and ends", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 120 }), async (bad) => {
        const rows = rowsOf(bad.length);
        const { proven, setAside, accepted, requests, end } = await play(rows, ({ id }) => bad[id] === true);
        expect(proven.every((id) => bad[id])).toBe(true);
        expect(accepted.every((id) => !bad[id])).toBe(true);
        expect(new Set(accepted).size).toBe(accepted.length);
        if (end === "done") expect(accepted.length + setAside.length).toBe(rows.length);
        const count = bad.filter(Boolean).length;
        expect(requests).toBeLessThanOrEqual(40 + 2 * (count + 1) * (1 + Math.ceil(Math.log2(rows.length + 1))));
      }),
    );
  });

  it("blames nothing where the service refuses everything from some request on", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 60, max: 200 }), async (from, count) => {
        const bad = 7;
        const { proven } = await play(rowsOf(count), ({ id }, request) => id === bad || request > from);
        expect(proven.every((id) => id === bad)).toBe(true);
      }),
    );
  });
});

describe("when a refused row is tried again", () => {
  it("is ever later, up to a limit", () => {
    expect([0, 1, 2, 3, 4, 50].map((tries) => setAsideMs(tries) / MINUTE_MS)).toEqual([5, 10, 20, 40, 60, 60]);
    expect([0, 1, 2, 3, 50].map((tries) => retryRefusedMs(tries) / MINUTE_MS)).toEqual([10, 60, 360, 720, 720]);
    expect(retryRefusedMs(50)).toBe(12 * HOUR_MS);
  });
});

describe("what refuses a record for good", () => {
  it.each([
    [400, true],
    [413, true],
    [422, true],
    [200, true],
    [404, false],
    [405, false],
    [409, false],
    [423, false],
    [451, false],
    [302, false],
  ])("%i: %s", (status, is) => {
    expect(isOfRecord(status)).toBe(is);
  });
});
