import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Answer, get, handClock, sandboxFor } from "./client.ts";

interface Change {
  order_id: string;
  status: string;
  updated_at: string;
  items?: unknown[];
}

/** A sandbox with handed-out orders, each changed once, a second apart. */
async function changed(count: number, updates: SandboxOptionsPatch["updates"] = {}, more: SandboxOptionsPatch = {}) {
  const clock = handClock();
  const sandbox = await sandboxFor({ now: clock.now, options: { ...more, updates } });
  const ids = Array.from({ length: count }, () => sandbox.service.createOrder());
  await get(sandbox);
  const timestamps = ids.map((id) => {
    clock.pass(1000);
    sandbox.service.changeOrder(id, { status: "paid" });
    return new Date(clock.now()).toISOString();
  });
  const since = (value: string): Promise<Answer> => get(sandbox, `/updates?since=${encodeURIComponent(value)}`);
  const idsOf = (answer: Answer) => (answer.json.updates as unknown as Change[]).map(({ order_id }) => order_id);
  return { sandbox, clock, ids, timestamps, since, idsOf };
}

describe("updates", () => {
  it("tells changes from a moment on, that moment included or not", async () => {
    const { sandbox, ids, timestamps, since, idsOf } = await changed(3);
    expect(idsOf(await since(timestamps[1] ?? ""))).toEqual(ids.slice(1));
    sandbox.service.setOptions({ updates: { boundary: "exclusive" } });
    expect(idsOf(await since(timestamps[1] ?? ""))).toEqual(ids.slice(2));
    expect(idsOf(await since("2027-01-01T00:00:00Z"))).toEqual([]);
  });

  it("asks for since, in a form that it knows and encoded", async () => {
    const { sandbox, since } = await changed(1, { since: "unix" });
    for (const path of ["/updates", "/updates?since=", "/updates?since=2026-03-01T10:00:00Z", "/updates?since=x"]) {
      const answer = await get(sandbox, path);
      expect(answer.status).toBe(400);
      expect(answer.json.error).toMatch(/since/);
    }
    expect((await since("0")).json.updates).toHaveLength(1);
    sandbox.service.setOptions({ updates: { since: "any" } });
    expect((await get(sandbox, "/updates?since=2026-03-01T13:00:00+03:00")).status).toBe(400);
    expect((await get(sandbox, "/updates?since=2026-03-01T13:00:00%2B03:00")).status).toBe(200);
  });

  it("holds the oldest changes in a page, sorted as told", async () => {
    const { sandbox, ids, since, idsOf } = await changed(5, { pageLimit: 3 });
    expect(idsOf(await since("0"))).toEqual(ids.slice(0, 3));
    sandbox.service.setOptions({ updates: { order: "descending" } });
    expect(idsOf(await since("0"))).toEqual(ids.slice(0, 3).toReversed());
    sandbox.service.setOptions({ updates: { order: "shuffled" } });
    expect(idsOf(await since("0")).toSorted()).toEqual(ids.slice(0, 3).toSorted());
  });

  it("carries changes with or without lines, under their own names, or whole orders", async () => {
    const { sandbox, ids, since } = await changed(1);
    const change = async () => (await since("0")).json.updates?.[0] ?? {};
    expect(Object.keys(await change())).toEqual(["order_id", "status", "updated_at", "items"]);
    sandbox.service.setOptions({ updates: { lines: false }, shape: { change: { status: "new_status" } } });
    expect(Object.keys(await change())).toEqual(["order_id", "new_status", "updated_at"]);
    sandbox.service.setOptions({ updates: { carry: "whole" }, shape: { updates: ["d", "u"] } });
    expect((await since("0")).text).toBe(`{"d":{"u":[${sandbox.service.newestText(ids[0] ?? "")}]}}`);
    expect(sandbox.ledger.newest(ids[0] ?? "")).toBe(sandbox.service.newestText(ids[0] ?? ""));
    expect(sandbox.ledger.servedChanges(ids[0] ?? "")).toHaveLength(2);
  });

  it("leaves out what was not handed out and what was only created, unless told otherwise", async () => {
    const { sandbox, ids, since, idsOf } = await changed(1);
    const waiting = sandbox.service.createOrder();
    expect(idsOf(await since("0"))).toEqual(ids);
    sandbox.service.changeOrder(waiting, { status: "paid" });
    expect(idsOf(await since("0"))).toEqual(ids);
    sandbox.service.setOptions({ updates: { scope: "all" } });
    expect(idsOf(await since("0"))).toEqual([...ids, waiting]);
    const created = sandbox.service.createOrder();
    expect(idsOf(await since("0"))).not.toContain(created);
    sandbox.service.setOptions({ updates: { created: true } });
    expect(idsOf(await since("0"))).toContain(created);
  });

  it("tells each order once at its newest, or every change of it", async () => {
    const { sandbox, clock, ids, since } = await changed(1);
    clock.pass(1000);
    sandbox.service.changeOrder(ids[0] ?? "", { status: "shipped" });
    const statuses = async () => ((await since("0")).json.updates as unknown as Change[]).map(({ status }) => status);
    expect(await statuses()).toEqual(["shipped"]);
    sandbox.service.setOptions({ updates: { history: "log" } });
    expect(await statuses()).toEqual(["paid", "shipped"]);
  });

  it("timestamps a change late, at a given time, not anew, in words or not at all", async () => {
    const { sandbox, clock, ids, timestamps, since } = await changed(1);
    const id = ids[0] ?? "";
    const timestampOf = async () => ((await since("-1")).json.updates as unknown as Change[])[0]?.updated_at;
    clock.pass(60_000);
    sandbox.service.changeOrder(id, { status: "a", keepTimestamp: true });
    expect(await timestampOf()).toBe(timestamps[0]);
    sandbox.service.changeOrder(id, { status: "b", lateByMs: 10_000 });
    expect(await timestampOf()).toBe(new Date(clock.now() - 10_000).toISOString());
    sandbox.service.changeOrder(id, { status: "c", timestamp: Date.parse("2099-01-01T00:00:00Z") });
    expect(await timestampOf()).toBe("2099-01-01T00:00:00.000Z");
    sandbox.service.changeOrder(id, { status: "d", timestampText: null });
    expect(await timestampOf()).toBeUndefined();
    sandbox.service.changeOrder(id, { status: "e", timestampText: '"soon"' });
    expect(await timestampOf()).toBe("soon");
    expect(JSON.parse(sandbox.service.newestText(id) ?? "")).toMatchObject({ status: "e", updated_at: "soon" });
  });

  it("gives changes of one millisecond one timestamp, or different microseconds", async () => {
    const { sandbox, ids, since } = await changed(3);
    for (const id of ids) sandbox.service.changeOrder(id, { status: "x" });
    const timestamps = async () =>
      new Set(((await since("0")).json.updates as unknown as Change[]).map((c) => c.updated_at)).size;
    expect(await timestamps()).toBe(1);
    sandbox.service.setOptions({ precision: "us" });
    for (const id of ids) sandbox.service.changeOrder(id, { status: "y" });
    expect(await timestamps()).toBe(3);
  });

  it("rounds timestamps down, so that with whole seconds an exclusive boundary loses what shares the second", async () => {
    const { sandbox, clock, ids, since, idsOf } = await changed(2, { boundary: "exclusive" }, { precision: "s" });
    clock.pass(10_700);
    sandbox.service.changeOrder(ids[0] ?? "", { status: "x" });
    const timestamp = new Date(clock.now() - 700).toISOString().replace(".000Z", "Z");
    expect((await since("0")).json.updates?.[1]).toMatchObject({ order_id: ids[0], updated_at: timestamp });
    clock.pass(200);
    sandbox.service.changeOrder(ids[1] ?? "", { status: "x" });
    expect(idsOf(await since(timestamp))).toEqual([]);
  });

  it("tells nothing of deleted orders", async () => {
    const { sandbox, ids, since, idsOf } = await changed(2);
    sandbox.service.deleteOrder(ids[0] ?? "");
    expect(idsOf(await since("0"))).toEqual(ids.slice(1));
  });

  it("names the next since as the newest timestamp of the page, whatever its order", async () => {
    const { timestamps, since } = await changed(3, { next: ["meta", "next"], pageLimit: 2, order: "descending" });
    expect((await since("0")).json.meta?.next).toBe(timestamps[1]);
    const empty = await since("2027-01-01T00:00:00Z");
    expect(empty.json).toEqual({ updates: [], meta: { next: "2027-01-01T00:00:00Z" } });
  });

  it("hands out cursors that skip nothing, not even a late change", async () => {
    const { sandbox, ids, since, idsOf } = await changed(3, { next: ["next"], nextForm: "cursor", pageLimit: 2 });
    const first = await since("0");
    expect(idsOf(first)).toEqual(ids.slice(0, 2));
    const second = await since(String(first.json.next));
    expect(idsOf(second)).toEqual(ids.slice(2));
    sandbox.service.changeOrder(ids[0] ?? "", { status: "late", lateByMs: 3_600_000 });
    const third = await since(String(second.json.next));
    expect(idsOf(third)).toEqual([ids[0]]);
    expect(idsOf(await since("0"))).toEqual([ids[1], ids[2]]);
    expect((await since(String(third.json.next))).json.updates).toEqual([]);
  });

  it("breaks as told: the same page for ever, or nothing", async () => {
    const { sandbox, ids, since, idsOf } = await changed(3, { stuck: "same-page", pageLimit: 2 });
    expect(idsOf(await since("2027-01-01T00:00:00Z"))).toEqual(ids.slice(0, 2));
    sandbox.service.setOptions({ updates: { stuck: "empty" }, emptyForm: "204" });
    expect((await since("0")).status).toBe(204);
  });
});
