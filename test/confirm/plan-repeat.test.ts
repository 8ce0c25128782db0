import { expect, it } from "vitest";
import { isRepeat, type NamedOrder } from "../../src/confirm/plan-repeat.ts";

const BEFORE: NamedOrder = {
  source: "batch",
  isConfirmed: true,
  isUnconfirmed: false,
  mayHaveChanged: false,
  isRemoved: false,
};
const GONE: NamedOrder = { ...BEFORE, source: "snapshot", isConfirmed: false, isUnconfirmed: true, isRemoved: true };
const CHANGED: NamedOrder = { ...BEFORE, source: "update", isConfirmed: false };

it.each<[string, NamedOrder[], boolean, boolean]>([
  ["one order confirmed before", [BEFORE], false, true],
  ["all orders confirmed before", [BEFORE, BEFORE], false, true],
  ["one of them new in it, or confirmed to another account", [BEFORE, { ...BEFORE, isConfirmed: false }], false, false],
  ["one of them changed since", [BEFORE, CHANGED], false, false],
  ["one of them changed since in the same millisecond", [BEFORE, { ...CHANGED, isConfirmed: true }], false, false],
  ["one of them in an earlier batch without a confirm", [BEFORE, { ...BEFORE, isUnconfirmed: true }], false, false],
  ["one of them with a read queued, or a record held", [BEFORE, { ...BEFORE, mayHaveChanged: true }], false, false],
  ["one of them gone", [BEFORE, GONE], false, true],
  ["one of them gone, and a read queued", [BEFORE, { ...GONE, mayHaveChanged: true }], false, false],
  ["one of them not stored", [BEFORE, { ...BEFORE, source: null, isConfirmed: false }], false, false],
  ["a record of it quarantined", [BEFORE], true, false],
  ["no order", [], false, false],
])("a batch repeats orders that were confirmed: %s", (_name, orders, hasBad, expected) => {
  expect(isRepeat(orders, hasBad)).toBe(expected);
});
