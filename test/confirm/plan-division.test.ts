import { expect, it } from "vitest";
import {
  beginDivision,
  divideRefused,
  nextPart,
  type Progress,
  refusesAll,
  resumeDivision,
  settleAccepted,
} from "../../src/confirm/plan-division.ts";

const IDS = ["1", "2", "3", "4", "5"];
const begin = (ids: readonly string[]): Progress => ({
  ...beginDivision(ids, []),
  left: new Set(ids),
  accepted: new Set(),
  uncounted: 0,
});

/** Sends what is due until the end; orders named in `bad` are refused. */
function run(progress: Progress, bad: readonly string[]): number {
  let [requests, isRefused] = [0, false];
  for (let part = nextPart(progress, false); part !== undefined; part = nextPart(progress, isRefused)) {
    requests += 1;
    if (!part.some((id) => bad.includes(id))) {
      settleAccepted(progress, part);
      continue;
    }
    divideRefused(progress, part);
    isRefused ||= part.length === 1;
  }
  return requests;
}

it("leaves the refused orders alone and confirms the others", () => {
  const progress = begin(IDS);
  expect(progress.waiting).toEqual([
    ["1", "2", "3"],
    ["4", "5"],
  ]);
  expect(run(progress, ["2", "5"])).toBe(8);
  expect([...progress.left]).toEqual(["2", "5"]);
  expect([...progress.accepted].sort()).toEqual(["1", "3", "4"]);
  expect(progress.alone).toEqual(["2", "5"]);
});

it("sends what comes after a refused part in parts of the same size", () => {
  expect(beginDivision(["1"], ["2", "3"])).toEqual({ waiting: [["2"], ["3"]], alone: ["1"] });
});

it("finds that all are refused once three are refused alone and none is accepted", () => {
  const progress = begin(IDS);
  expect(refusesAll({ ...progress, alone: ["1", "2"] })).toBe(false);
  expect(refusesAll({ ...progress, alone: ["1", "2", "3"] })).toBe(true);
  expect(refusesAll({ ...progress, alone: ["1", "2", "3"], uncounted: 1 })).toBe(false);
  expect(refusesAll({ ...progress, alone: ["1", "2", "3"], accepted: new Set(["4"]) })).toBe(false);
});

it("goes on with the orders that the batch still has, and ends with one that is refused now", () => {
  const division = { waiting: [["1", "2"], ["3"]], alone: ["4", "6"] };
  expect(resumeDivision(division, ["2", "4"])).toEqual({ waiting: [["2"]], alone: ["4"] });
  expect(resumeDivision(division, ["4"])).toBeUndefined();
  const last: Progress = { waiting: [], alone: ["4"], left: new Set(["4"]), accepted: new Set(), uncounted: 0 };
  expect(nextPart(last, false)).toEqual(["4"]);
  expect(nextPart(last, true)).toBeUndefined();
});
