import path from "node:path";
import { describe, expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { BACKFILL, failBackfill, requestBackfill } from "../../src/updates/looks/backfill.ts";
import { startFollowed } from "../support/followed.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const DAY_MS = 86_400_000;

/** A database that begins when the service's orders were confirmed, and changed each day, long ago. */
async function startAnew(service: SandboxOptionsPatch = {}) {
  const test = await startFollowed(6, {
    service: { ...service, updates: { scope: "all", pageLimit: 2, ...service.updates } },
  });
  const beganAt = new Date(test.clock.nowMs()).toISOString();
  for (const [at, id] of test.ids.entries()) test.change(id, { status: `day ${at}` }, DAY_MS);
  test.clock.advance(10 * DAY_MS);
  await test.restart({ database: { path: path.join(tempFolder(), "bridge.db") } });
  expect((await test.run("orders")).error).toBeNull();
  await test.poll();
  expect(test.rows("SELECT 1 FROM orders")).toEqual([]);
  const { store } = test.bridge;
  const request = (from: string) => store.write(() => requestBackfill(store, from));
  const stored = () =>
    test.rows<{ status: string }>("SELECT status FROM orders ORDER BY status").map(({ status }) => status);
  return { ...test, store, request, stored, beganAt, bridge: () => test.bridge };
}

const drain = async (test: Awaited<ReturnType<typeof startAnew>>) => {
  for (let pass = 0; pass < 10; pass++) await test.poll();
};

describe("changes from a time that a person names", () => {
  it("are read and stored, although their orders were confirmed elsewhere; what came later is followed as before", async () => {
    const test = await startAnew();
    const before = test.watermark();
    test.request(test.beganAt);
    await drain(test);
    expect(test.stored()).toEqual([0, 1, 2, 3, 4, 5].map((at) => `day ${at}`));
    expect(BACKFILL.load(test.store)).toBeUndefined();
    const asked = test.sinces().length;
    await test.poll();
    expect(test.sinces().length).toBe(asked + 1);
    test.change(test.ids[0]!, { status: "later" });
    await test.poll();
    expect(test.stored()).toContain("later");
    expect(Date.parse(test.watermark()!)).toBeGreaterThanOrEqual(Date.parse(before!));
    expect(test.rows("SELECT area, reason FROM holds")).toEqual([]);
  });

  itWhole("are those from that time on, and no older ones", async () => {
    const test = await startAnew();
    test.request(new Date(Date.parse(test.beganAt) + 3.5 * DAY_MS).toISOString());
    await drain(test);
    expect(test.stored()).toEqual(["day 3", "day 4", "day 5"]);
  });

  itWhole("are asked for again after a failure and after a start, and what is new does not wait for them", async () => {
    const test = await startAnew();
    test.request(test.beganAt);
    test.sandbox.faults.add({ match: { path: "updates" }, skip: 2, do: { kind: "status", status: 500 } });
    await test.poll().catch(() => undefined);
    const { database } = { database: test.bridge().store.path };
    await test.restart({ database: { path: database } });
    const { store } = test.bridge();
    for (let pass = 0; pass < 10; pass++) await test.poll();
    expect(store.db.prepare("SELECT count(*) FROM orders").pluck().get()).toBe(6);
    expect(BACKFILL.load(store)).toBeUndefined();
  });

  itWhole("are given up where the service fails at them again and again", async () => {
    const { store } = await startAnew();
    store.write(() => requestBackfill(store, "2026-01-01T00:00:00.000Z"));
    const ends = [1, 2, 3, 4, 5, 6].map(() => store.write(() => failBackfill(store)));
    expect(ends).toEqual([false, false, false, false, true, false]);
    expect(BACKFILL.load(store)).toBeUndefined();
  });

  itWhole("are said to be refused where the service does not go back so far, and a later time is taken", async () => {
    const test = await startAnew({ updates: { sinceAgeMax: 14 * DAY_MS } });
    test.request(test.beganAt);
    await expect(test.poll()).rejects.toMatchObject({ code: "request_refused", hint: m.updates.backfillNearer });
    expect(BACKFILL.load(test.store)).toBeUndefined();
    await test.poll();
    expect(test.stored()).toEqual([]);
    test.request(new Date(test.clock.nowMs() - 12 * DAY_MS).toISOString());
    await drain(test);
    expect(test.stored()).toEqual(["day 4", "day 5"]);
    expect(test.rows("SELECT reason FROM holds")).toEqual([]);
  });
});
