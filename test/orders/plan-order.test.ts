import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePath } from "../../src/answers/json-path.ts";
import { scanJson } from "../../src/answers/scan-json.ts";
import { type PlanRules, planOrder, type StoredOrder, stateOfStatus } from "../../src/orders/plan-order.ts";
import { type OrderValues, readOrderValues } from "../../src/records/order-mapping.ts";
import { batchMapping } from "../support/rules.ts";

const mapping = batchMapping({ order_id: "$.id", created_at: "$.created", updated_at: "$.at" });

const rules: PlanRules = {
  ignore: ["$.at", "$.seen"].map(parsePath),
  cancelled: new Set(["cancelled"]),
  closed: new Set(["cancelled", "done"]),
  statusPaths: [parsePath("$.status")],
  linesPaths: [parsePath("$.items")],
  timezone: "UTC",
};

interface Sketch {
  status: string;
  at: number | null;
  total: string;
  items: { sku: string; quantity: number }[];
  seen?: number | undefined;
}

function read(text: string): { text: string; values: OrderValues } {
  const bytes = Buffer.from(text);
  const values = readOrderValues(bytes, scanJson(bytes), mapping);
  if ("reason" in values) throw new Error(String(values.reason));
  return { text, ...values };
}

const textOf = ({ at, ...rest }: Sketch) =>
  JSON.stringify({ ...rest, ...(at === null ? {} : { at: `2026-03-01T12:00:0${at}Z` }) });

function storedAs(text: string, removed = false): StoredOrder {
  const { values } = read(text);
  return {
    status: values.status,
    isCancelled: stateOfStatus(values.status, rules).isCancelled,
    updatedAt: values.updatedAt,
    removed,
    payload: text,
    values,
    lines: values.lines,
  };
}

const line = fc.record({ sku: fc.constantFrom("a", "b"), quantity: fc.nat(2) });
const sketch = fc.record<Sketch>({
  status: fc.constantFrom("new", "paid", "cancelled"),
  at: fc.option(fc.nat(3)),
  total: fc.constantFrom("1.10", "1.1"),
  items: fc.array(line, { maxLength: 3 }),
  seen: fc.option(fc.nat(1), { nil: undefined }),
});
const source = fc.constantFrom("batch" as const, "update" as const, "snapshot" as const);

const plan = (stored: Sketch, incoming: Sketch, from: "batch" | "update" | "snapshot", removed = false) =>
  planOrder(storedAs(textOf(stored), removed), read(textOf(incoming)), from, rules);

/** What counts of an order: all but its timestamp and the ignored place. */
const content = ({ status, total, items }: Sketch) => JSON.stringify({ status, total, items });
const isNewer = (a: Sketch, b: Sketch) => a.at !== null && b.at !== null && a.at > b.at;

describe("what a record of a known order means", () => {
  it("is nothing where it equals what is stored, key order and white space aside", () => {
    fc.assert(
      fc.property(sketch, source, (one, from) => {
        expect(plan(one, one, from)).toEqual({ kind: "same" });
        const other = `{ "seen":${one.seen ?? "null"}, ${textOf({ ...one, seen: undefined }).slice(1)}`;
        if (one.seen !== undefined)
          expect(planOrder(storedAs(textOf(one)), read(other), from, rules)).toEqual({ kind: "same" });
      }),
    );
  });

  it("is never a change where only ignored places differ", () => {
    fc.assert(
      fc.property(sketch, sketch, source, (one, other, from) => {
        const incoming = { ...one, at: other.at, seen: other.seen };
        expect(["same", "refresh"]).toContain(plan(one, incoming, from).kind);
      }),
    );
  });

  it("replaces by a batch or an update only what is strictly older, and otherwise asks for the order", () => {
    fc.assert(
      fc.property(sketch, sketch, fc.constantFrom("batch" as const, "update" as const), (one, other, from) => {
        fc.pre(content(one) !== content(other));
        expect(plan(one, other, from).kind).toBe(isNewer(other, one) ? "apply" : "read");
      }),
    );
  });

  it("is always taken from a snapshot that differs, whatever its timestamp", () => {
    fc.assert(
      fc.property(sketch, sketch, (one, other) => {
        fc.pre(content(one) !== content(other));
        expect(plan(one, other, "snapshot").kind).toBe("apply");
      }),
    );
  });

  it("brings a removed order back by a newer record or a snapshot", () => {
    fc.assert(
      fc.property(sketch, sketch, (one, other) => {
        const isNewer = other.at !== null && one.at !== null && other.at > one.at;
        expect(plan(one, other, "batch", true).kind).toBe(isNewer ? "apply" : "read");
        expect(plan(one, other, "snapshot", true).kind).toBe("apply");
      }),
    );
  });

  it("says what changed: the status, the lines, other fields, each with what was and is", () => {
    fc.assert(
      fc.property(sketch, sketch, (one, other) => {
        const planned = plan(one, other, "snapshot");
        fc.pre(planned.kind === "apply");
        if (planned.kind !== "apply") return;
        const { event } = planned;
        expect(event.statusChanged).toBe(one.status !== other.status);
        expect(event.linesChanged).toBe(JSON.stringify(one.items) !== JSON.stringify(other.items));
        expect(event.fieldsChanged).toBe(one.total !== other.total);
        expect(event.kind).toBe(other.status === "cancelled" && one.status !== "cancelled" ? "cancelled" : "changed");
        const changes = JSON.parse(event.changes) as Record<string, { was: unknown; is: unknown }>;
        if (one.status !== other.status) expect(changes["$.status"]).toEqual({ was: one.status, is: other.status });
      }),
    );
  });

  it("keeps the numbers of a change as they were sent", () => {
    const before = '{"status":"new","items":[],"total":9007199254740993.10}';
    const after = '{"status":"new","items":[],"total":9007199254740993.1}';
    const planned = planOrder(storedAs(before), read(after), "snapshot", rules);
    expect(planned).toMatchObject({
      kind: "apply",
      event: { changes: '{"$.total":{"was":9007199254740993.10,"is":9007199254740993.1}}' },
    });
  });

  it("keeps the list of changes short where everything changed", () => {
    const items = Array.from({ length: 500 }, (_, index) => ({ sku: "x".repeat(500), quantity: index }));
    const other = items.map((item) => ({ ...item, sku: "y".repeat(500) }));
    const one: Sketch = { status: "new", at: 1, total: "1", items };
    const planned = plan(one, { ...one, items: other }, "snapshot");
    expect(planned).toMatchObject({ kind: "apply", event: { linesChanged: true, statusChanged: false } });
    if (planned.kind === "apply") expect(planned.event.changes.length).toBeLessThanOrEqual(64 * 1024);
  });
});
