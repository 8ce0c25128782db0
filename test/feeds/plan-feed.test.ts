import { describe, expect, it } from "vitest";
import { type FeedKeyState, type OutboxState, planRow, type SentState } from "../../src/feeds/diff/plan-feed.ts";
import { stockRules } from "../support/rules.ts";

const rules = stockRules();

const record = (quantity: number | string) => `{"sku":"A","quantity":${quantity}}`;
const row = (quantity: number | string) => ({ kind: "row", record: record(quantity) }) as const;
const absent = { kind: "absent" } as const;
const sent = (quantity: number, over: Partial<SentState> = {}): SentState => ({
  record: record(quantity),
  gone: false,
  live: quantity > 0,
  current: true,
  ...over,
});
const waiting = (quantity: number, over: Partial<OutboxState> = {}): OutboxState => ({
  record: record(quantity),
  gone: false,
  state: "waiting",
  flightRecord: null,
  lastError: null,
  ...over,
});
const known = (over: Partial<FeedKeyState> = {}): FeedKeyState => ({ sent: undefined, outbox: undefined, ...over });

describe("what a row owes", () => {
  it.each([
    ["a new row is owed", row(5), known(), { kind: "send", gone: false, isDrop: false, priority: 2 }],
    ["an equal row owes nothing", row("5.0"), known({ sent: sent(5) }), { kind: "keep" }],
    [
      "a row set back to what the site has is settled",
      row(5),
      known({ sent: sent(5), outbox: waiting(4) }),
      { kind: "settled" },
    ],
    [
      "a row in doubt is owed although it equals what was acknowledged",
      row(5),
      known({ sent: sent(5), outbox: waiting(4, { flightRecord: record(4) }) }),
      { kind: "send" },
    ],
    ["a row that waits already stays as it is", row(4), known({ sent: sent(5), outbox: waiting(4) }), { kind: "keep" }],
    [
      "a refused row is tried again when it changes",
      row(3),
      known({ outbox: waiting(4, { state: "refused" }) }),
      { kind: "send" },
    ],
    [
      "a refused row is not tried again as it is",
      row(4),
      known({ outbox: waiting(4, { state: "refused" }) }),
      { kind: "keep" },
    ],
    [
      "what another address acknowledged is owed to this one",
      row(5),
      known({ sent: sent(5, { current: false }) }),
      { kind: "send" },
    ],
    [
      "a row that comes back after its deletion is owed",
      row(0),
      known({ sent: sent(0, { gone: true }) }),
      { kind: "send" },
    ],
    [
      "a decrease goes before an increase",
      row(4),
      known({ sent: sent(5) }),
      { kind: "send", priority: 1, isDrop: false },
    ],
    [
      "a zero goes first, and counts as a drop where the site sells it",
      row(0),
      known({ sent: sent(5) }),
      { kind: "send", priority: 0, isDrop: true },
    ],
    ["a zero of what the site does not sell is no drop", row(0), known(), { kind: "send", priority: 0, isDrop: false }],
    [
      "a zero of what the site may sell, its answer lost, is a drop",
      row(0),
      known({ outbox: waiting(5, { flightRecord: record(5) }) }),
      { kind: "send", isDrop: true },
    ],
  ] as const)("%s", (_, local, state, plan) => {
    expect(planRow(rules, local, state)).toMatchObject(plan);
  });
});

describe("what an absent row owes", () => {
  it.each([
    [
      "its deletion, which is a drop",
      known({ sent: sent(5) }),
      { kind: "send", gone: true, record: record(0), isDrop: true, priority: 0 },
    ],
    ["nothing where the site never had it", known(), { kind: "keep" }],
    ["nothing where it waited and the site never had it", known({ outbox: waiting(5) }), { kind: "settled" }],
    [
      "its deletion where the site may have it",
      known({ outbox: waiting(5, { flightRecord: record(5) }) }),
      { kind: "send", gone: true, isDrop: true },
    ],
    ["nothing where the site shows zero already", known({ sent: sent(0) }), { kind: "keep" }],
    ["nothing where it was deleted", known({ sent: sent(0, { gone: true }) }), { kind: "keep" }],
    [
      "nothing more where its deletion waits already",
      known({ sent: sent(5), outbox: waiting(0, { gone: true }) }),
      { kind: "keep" },
    ],
    [
      "nothing more where its deletion was refused",
      known({ sent: sent(5), outbox: waiting(0, { gone: true, state: "refused" }) }),
      { kind: "keep" },
    ],
  ] as const)("is %s", (_, state, plan) => {
    expect(planRow(rules, absent, state)).toMatchObject(plan);
  });

  it("is its absence where the whole table is sent, although its record stays the same", () => {
    const whole = { ...rules, scope: "whole", onDelete: null } as const;
    expect(planRow(whole, absent, known({ sent: sent(0) }))).toMatchObject({ kind: "send", gone: true });
  });
});
