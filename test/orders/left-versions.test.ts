import { expect, it } from "vitest";
import { startFollowed } from "../support/followed.ts";
import { itWhole } from "../support/whole.ts";

itWhole(
  "keeps an order as it was read last where a batch holds a later version that the changes do not list any more",
  async () => {
    const test = await startFollowed(2, { service: { updates: { carry: "changes" } } });
    const { sandbox, clock, change, poll, run, statusOf } = test;
    const [id = ""] = test.ids;
    change(id, { status: "paid" });
    const left = sandbox.service.newestText(id)!;
    await poll(1_000);
    sandbox.service.setOptions({ clockOffsetMs: -20_000 });
    change(id, { status: "packed" });
    const newest = sandbox.service.newestText(id)!;
    for (let polls = 0; polls < 5; polls++) await poll();
    expect(statusOf(id).status).toBe("packed");
    const { revision } = statusOf(id);
    const body = `{"batch_id":"b-2","orders":[${newest},${left}]}`;
    sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", body, contentType: "application/json" } });
    clock.advance(60_000);
    expect(await run("orders")).toMatchObject({ error: null });
    for (let polls = 0; polls < 20; polls++) {
      change(test.ids[1]!, { status: `s${polls}` });
      await poll();
    }
    expect(statusOf(id)).toEqual({ status: "packed", revision });
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  },
);

it("takes what a batch brings first of a change whose read has failed", async () => {
  const test = await startFollowed(2, { service: { updates: { carry: "changes" } } });
  const { sandbox, clock, change, run, statusOf } = test;
  const [id = ""] = test.ids;
  sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 403 } });
  change(id, { status: "paid" });
  clock.advance(60_000);
  await run("updates");
  expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
  const body = `{"batch_id":"b-2","orders":[${sandbox.service.newestText(id)}]}`;
  sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", body, contentType: "application/json" } });
  await run("orders");
  expect(statusOf(id).status).toBe("paid");
});

itWhole(
  "keeps an order as it was read last where a batch also holds a version whose time lies in the future",
  async () => {
    const test = await startFollowed(2, { service: { updates: { carry: "changes" } } });
    const { sandbox, clock, change, poll, run, statusOf } = test;
    const [id = ""] = test.ids;
    change(id, { status: "packed" });
    await poll();
    const { status, revision } = statusOf(id);
    expect(status).toBe("packed");
    const newest = sandbox.service.newestText(id)!;
    const left = newest.replace('"packed"', '"paid"').replace(/("updated_at":")\d{4}/, "$12126");
    expect(left).not.toBe(newest);
    const body = `{"batch_id":"b-2","orders":[${newest},${left}]}`;
    sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", body, contentType: "application/json" } });
    clock.advance(60_000);
    expect(await run("orders")).toMatchObject({ error: null });
    expect(statusOf(id)).toEqual({ status: "packed", revision });
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    for (let polls = 0; polls < 5; polls++) await poll();
    expect(statusOf(id)).toEqual({ status: "packed", revision });
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  },
);
