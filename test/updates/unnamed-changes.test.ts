import { describe, expect, it } from "vitest";
import { boundedPass } from "../support/bounded-pass.ts";
import { startWithRewritten } from "../support/rewritten.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/unnamed-changes");

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

type Change = Record<string, unknown>;
const quarantined = "SELECT state, reason FROM quarantine ORDER BY id";

/** One order is cancelled and its change served like this; others are changed far beyond the overlap, and theirs are served as ever. */
async function cancelUnder(
  as: (change: Change, number: string) => Change,
  updates: { history?: "log"; carry?: "whole"; sinceAgeMax?: number } = {},
) {
  const settings = updates.carry === undefined ? {} : { settings: { updates: { carry: updates.carry } } };
  const test = await startWithRewritten(4, { service: { updates }, ...settings });
  const { ids } = test;
  const [id, , , other] = ids as [string, string, string, string];
  const { number } = test.rows<{ number: string }>("SELECT number FROM orders WHERE order_id = ?", id)[0]!;
  let polled = 0;
  const polls = async (times: number, ms = MINUTE_MS) => {
    for (let time = 0; time < times; time++) {
      if (polled++ % 15 === 0) test.change(other, { status: `s${polled}` });
      await test.poll(ms);
    }
  };
  await polls(30);
  test.rewrite("updates", (change) => (change["order_id"] === id ? as(change, number) : change));
  test.change(id, { status: "cancelled" });
  return { ...test, id, polls, end: () => test.rewrite("updates", undefined) };
}

describe("a change whose order is named in another place or form", () => {
  itSome(1)<[string, (change: Change, number: string) => Change]>([
    ["under another key", ({ order_id, ...rest }) => ({ id: order_id, ...rest })],
    ["in braces", (change) => ({ ...change, order_id: `{${String(change["order_id"]).toUpperCase()}}` })],
    ["by its number", ({ order_id, ...rest }, number) => ({ ...rest, number })],
    ["by its number in the place of the id", (change, number) => ({ ...change, order_id: number })],
  ])("is found within minutes, and its record is released: %s", async (_, as) => {
    const { polls, id, statusOf, rows, end, snapshots } = await cancelUnder(as);
    await polls(2);
    expect(rows(quarantined)).toMatchObject([{ state: "held" }]);
    expect(statusOf(id).status).toBe("cancelled");
    await polls(6);
    expect(rows(quarantined)).toMatchObject([{ state: "released" }]);
    const asked = snapshots(id);
    // It is served for as long as the pages overlap.
    await polls(8);
    end();
    await polls(20);
    expect(snapshots(id) - asked).toBeLessThanOrEqual(1);
    expect(rows(quarantined)).toEqual([
      { state: "released", reason: expect.stringContaining(`stored since as order ${id}`) },
    ]);
  });

  itWhole("is not settled by an answer that is older than the change", async () => {
    const test = await cancelUnder(({ order_id, ...rest }) => ({ id: order_id, ...rest }));
    const { polls, id, statusOf, rows, sandbox } = test;
    const former = rows<{ payload: string }>("SELECT payload FROM orders WHERE order_id = ?", id)[0]!.payload;
    const rule = sandbox.faults.add({
      match: { path: "snapshot", order: id },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body: former },
    });
    await polls(8);
    expect(rows(quarantined)).toMatchObject([{ state: "held" }]);
    sandbox.faults.remove(rule);
    await polls(60);
    expect(statusOf(id).status).toBe("cancelled");
    expect(rows(quarantined)).toMatchObject([{ state: "released" }]);
  });
});

whole.describe("a cancellation that names its order otherwise, while the order cannot be read", () => {
  const cannotRead = { match: { path: "snapshot" }, times: "forever", do: { kind: "status", status: 503 } } as const;

  itSome(1)<[string, (test: Awaited<ReturnType<typeof cancelUnder>>) => void]>([
    [
      "and this machine's clock was set back",
      ({ bridge, id }) => {
        const later = "UPDATE orders SET changed_at = '2026-03-09T00:00:00.000Z' WHERE order_id = ?";
        bridge.store.db.prepare(later).run(id);
      },
    ],
    [
      "and an older change of the order comes after it",
      (test) => test.change(test.id, { status: "packed", lateByMs: 1.5 * MINUTE_MS }),
    ],
  ])("stays held where the stored order is older, %s", async (_, change) => {
    const as = (each: Change) =>
      each["status"] === "cancelled" ? { ...each, order_id: `{${String(each["order_id"])}}` } : each;
    const test = await cancelUnder(as, { history: "log", carry: "whole" });
    const rule = test.sandbox.faults.add(cannotRead);
    const poll = async (ms = MINUTE_MS) => {
      test.clock.advance(ms);
      await test.run("updates");
    };
    await poll();
    change(test);
    await poll();
    for (let time = 0; time < 3; time++) await poll(HOUR_MS);
    expect(test.statusOf(test.id).status).not.toBe("cancelled");
    expect(test.rows(quarantined)).toMatchObject([{ state: "held" }]);
    test.sandbox.faults.remove(rule);
    test.end();
    for (let time = 0; time < 3; time++) await poll(HOUR_MS);
    expect(test.rows(quarantined)).toMatchObject([{ state: "released" }]);
  });
});

describe("a change that named its order otherwise, and is listed under its id since", () => {
  itSome(1)<[string, (change: Change, number: string) => Change]>([
    ["under another key", ({ order_id, ...rest }) => ({ id: order_id, ...rest })],
    ["in braces", (change) => ({ ...change, order_id: `{${String(change["order_id"]).toUpperCase()}}` })],
    ["by its number", ({ order_id, ...rest }, number) => ({ ...rest, number })],
  ])("is released though the order cannot be read, whose read goes on: %s", async (_, as) => {
    const { polls, id, statusOf, rows, end, sandbox } = await cancelUnder(as);
    const rule = sandbox.faults.add({
      match: { path: "snapshot", order: id },
      times: "forever",
      do: { kind: "status", status: 403 },
    });
    await polls(4);
    expect(rows(quarantined)).toMatchObject([{ state: "held" }]);
    end();
    await polls(6);
    expect(rows(quarantined)).toMatchObject([{ state: "released" }]);
    expect(rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    sandbox.faults.remove(rule);
    await polls(60);
    expect(rows("SELECT order_id FROM owed_reads")).toEqual([]);
    expect(statusOf(id).status).toBe("cancelled");
  });
});

describe("a change that named its order otherwise, and whose order has changed since", () => {
  const inBraces = (change: Change) => ({ ...change, order_id: `{${String(change["order_id"])}}` });
  const isRefused = { times: "forever", do: { kind: "status", status: 403 } } as const;
  type Test = Awaited<ReturnType<typeof cancelUnder>>;
  const queued = "UPDATE owed_reads SET record = json_set(record, '$.updated_at', ?)";

  itSome(1)<[string, (change: Change, number: string) => Change]>([
    ["in braces", inBraces],
    ["under another key", ({ order_id, ...rest }) => ({ id: order_id, ...rest })],
    ["by its number", ({ order_id, ...rest }, number) => ({ ...rest, number })],
  ])("is released after a day though the order cannot be read, whose read goes on: %s", async (_, as) => {
    const test = await cancelUnder(as);
    const { polls, id, statusOf, rows, end, sandbox, change } = test;
    const rule = sandbox.faults.add({ match: { path: "snapshot", order: id }, ...isRefused });
    await polls(4);
    end();
    change(id, { status: "packed" });
    await polls(22 * 6, 10 * MINUTE_MS);
    expect(rows(quarantined)).toMatchObject([{ state: "held" }]);
    await polls(4 * 6, 10 * MINUTE_MS);
    expect(rows(quarantined)).toMatchObject([{ state: "released" }]);
    expect(rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: id }]);
    sandbox.faults.remove(rule);
    await polls(25, 10 * MINUTE_MS);
    expect(rows("SELECT order_id FROM owed_reads")).toEqual([]);
    expect(statusOf(id).status).toBe("packed");
  });

  itSome(1)<[string, (test: Test) => void]>([
    [
      "the change that is listed is an older one",
      ({ bridge }) => bridge.store.db.prepare(queued).run("2026-03-01T00:00:00Z"),
    ],
    ["the change that is listed has no time", ({ bridge }) => bridge.store.db.prepare(queued).run(null)],
    [
      "the time of the change that is listed cannot be read",
      ({ bridge }) => bridge.store.db.prepare(queued).run("soon"),
    ],
    ["the read was queued for no change", ({ bridge }) => bridge.store.db.exec("UPDATE owed_reads SET record = ''")],
    [
      "it may be of another order too",
      ({ bridge, ids, id }) => {
        const payload = "UPDATE quarantine SET payload = replace(payload, '{\"', '{\"instead_of\":\"' || ? || '\",\"')";
        bridge.store.db.prepare(payload).run(ids.find((each) => each !== id));
      },
    ],
  ])("stays held where %s", async (_, spoil) => {
    const test = await cancelUnder(inBraces);
    const { polls, id, ids, rows, end, sandbox, change } = test;
    for (const order of [id, ids.find((each) => each !== id)!])
      sandbox.faults.add({ match: { path: "snapshot", order }, ...isRefused });
    await polls(4);
    end();
    change(id, { status: "packed" });
    await polls(4);
    spoil(test);
    await polls(30 * 6, 10 * MINUTE_MS);
    expect(rows(quarantined)).toMatchObject([{ state: "held" }]);
  });
});

describe("of several changes that name their order otherwise", () => {
  const payloads = "SELECT payload FROM quarantine WHERE state = 'held' ORDER BY id";

  itSome(1)<[string, (change: Change) => Change]>([
    ["in braces", (change) => ({ ...change, order_id: `{${change["order_id"]}}` })],
    ["by a number beside an id that all of them bear", (change) => ({ ...change, order_id: "unknown" })],
  ])("each is kept: a log lists an older one behind the cancellation: %s", async (_, as) => {
    const service = { updates: { history: "log", order: "descending", carry: "whole" } } as const;
    const test = await startWithRewritten(3, { service });
    const [id, other] = test.ids as [string, string];
    test.change(other, { status: "paid" });
    await test.poll();
    test.rewrite("updates", as);
    test.change(id, { status: "accepted" });
    test.change(id, { status: "cancelled" });
    test.change(other, { status: "packed" });
    await test.poll();
    const held = test.rows<{ payload: string }>(payloads).map(({ payload }) => JSON.parse(payload) as Change);
    expect(held.map(({ status }) => status)).toEqual(expect.arrayContaining(["accepted", "cancelled", "packed"]));
  });

  itWhole("an older record of an order does not take the place of the one that is held", async () => {
    const test = await startWithRewritten(2, {
      service: { updates: { carry: "whole" } },
      settings: { updates: { carry: "whole" } },
    });
    const id = "11111111-2222-4333-8444-555555555555";
    const record = (status: string, minute: number) =>
      JSON.stringify({ order_id: id, status, items: "none", updated_at: `2026-03-01T12:0${minute}:00Z` });
    for (const records of [[record("cancelled", 2), record("paid", 1)], [record("packed", 1)]]) {
      const body = `{"updates":[${records.join()}]}`;
      test.sandbox.faults.add({
        match: { path: "updates" },
        do: { kind: "raw", contentType: "application/json", body },
      });
      await test.poll();
    }
    expect(test.rows<{ payload: string }>(payloads).map(({ payload }) => JSON.parse(payload) as Change)).toMatchObject([
      { status: "cancelled" },
    ]);
  });

  itWhole("those of a list with times of its own are released once their orders were read for a day", async () => {
    const test = await cancelUnder(({ order_id, updated_at, ...rest }) => {
      const ms = Date.parse(String(updated_at)) + 4 * MINUTE_MS;
      return { ...rest, id: order_id, updated_at: new Date(ms).toISOString() };
    });
    await test.polls(20);
    test.end();
    expect(test.statusOf(test.id).status).toBe("cancelled");
    expect(test.rows(quarantined)).toMatchObject([{ state: "held" }]);
    await test.polls(25 * 6, 10 * MINUTE_MS);
    expect(test.rows(quarantined)).toMatchObject([{ state: "released" }]);
  });
});

whole.describe("changes that name no order at all", () => {
  const nameless = ({ order_id, number, ...rest }: Change) => rest;

  it("are asked for again until they name their orders, long after the position has moved over them", async () => {
    const { polls, id, statusOf, rows, end, watermark } = await cancelUnder(nameless);
    const before = watermark();
    await polls(40);
    end();
    await polls(1);
    expect(statusOf(id).status).toBe("new");
    expect(Date.parse(watermark()!) - Date.parse(before!)).toBeGreaterThan(30 * MINUTE_MS);
    await polls(60);
    expect(statusOf(id).status).toBe("cancelled");
    expect(rows(quarantined)).toEqual([{ state: "released", reason: expect.stringContaining("each with its order") }]);
    expect(rows("SELECT 1 FROM meta WHERE key IN ('look_back', 'backfill')")).toEqual([]);
  });

  itWhole(
    "are asked for again as well where they came with the first answer, before there was a position",
    async () => {
      const test = await startWithRewritten(2, { service: { dateHeader: false } });
      const { ids, rows, poll, rewrite, statusOf } = test;
      test.change(ids[0]!, { status: "cancelled" });
      test.change(ids[1]!, { status: "packed" });
      rewrite("updates", (change) => (change["order_id"] === ids[0] ? nameless(change) : change));
      expect(test.watermark()).toBeUndefined();
      const polls = async (times: number) => {
        for (let time = 0; time < times; time++) await poll();
      };
      await polls(30);
      expect([rows(quarantined), statusOf(ids[0]!).status]).toMatchObject([[{ state: "held" }], "new"]);
      rewrite("updates", undefined);
      for (let time = 0; time < 20; time++) {
        test.change(ids[1]!, { status: `s${time}` });
        await polls(3);
      }
      expect(statusOf(ids[0]!).status).toBe("cancelled");
      expect(rows(quarantined)).toMatchObject([{ state: "released" }]);
      expect(rows("SELECT 1 FROM meta WHERE key IN ('look_back', 'backfill')")).toEqual([]);
    },
  );

  itWhole("are over once every order was read, where the service does not go back so far", async () => {
    const { polls, id, statusOf, rows, end, snapshots } = await cancelUnder(nameless, { sinceAgeMax: HOUR_MS });
    await polls(75);
    end();
    await polls(40);
    expect(statusOf(id).status).toBe("cancelled");
    expect(rows(quarantined)).toEqual([
      { state: "released", reason: expect.stringContaining("every open order was read") },
    ]);
    expect(rows("SELECT 1 FROM meta WHERE key IN ('look_back', 'backfill', 'cut')")).toEqual([]);
    const asked = snapshots(id);
    await polls(60);
    expect(snapshots(id)).toBe(asked);
  });

  itWhole("are searched for twice a day at most, where the service names none for ever", async () => {
    const { id, rows, snapshots, change, clock, run } = await cancelUnder(nameless, { sinceAgeMax: HOUR_MS });
    const asked = snapshots(id);
    for (let times = 0; times < 24 * 6; times++) {
      if (times % 6 === 0) change(id, { status: ["packed", "paid"][(times / 6) % 2]! });
      clock.advance(10 * MINUTE_MS);
      await run("updates");
    }
    expect(snapshots(id) - asked).toBeLessThanOrEqual(3);
    expect(rows(quarantined)).toContainEqual(expect.objectContaining({ state: "held" }));
  });

  itWhole.each([
    ["are released where they name their orders, also where one pass cannot read all changes of that time", true],
    ["stay held where only the last of the passes that read that time met names alone", false],
  ])("%s", async (_, isNamed) => {
    const test = await startWithRewritten(12, { service: { updates: { pageLimit: 1 } } });
    const { ids, rows, clock } = test;
    const passes = async (times: number, ms: number) => {
      for (let time = 0; time < times; time++) {
        clock.advance(ms);
        await test.run("orders");
        await boundedPass(test, 4);
      }
    };
    test.change(ids[1]!, { status: "accepted" });
    await passes(10, MINUTE_MS);
    test.rewrite("updates", (change) => (change["order_id"] === ids[0] ? nameless(change) : change));
    test.change(ids[0]!, { status: "cancelled" });
    await passes(4, MINUTE_MS);
    if (isNamed) test.rewrite("updates", undefined);
    for (const id of ids.slice(1)) test.change(id, { status: "paid" }, 30_000);
    await passes(30, MINUTE_MS);
    await passes(40, MINUTE_MS);
    const released = { state: "released", reason: expect.stringContaining("each with its order") };
    expect(rows(quarantined)).toMatchObject([isNamed ? released : { state: "held" }]);
    expect(rows("SELECT 1 FROM meta WHERE key IN ('backfill', 'sweep_rest')")).toEqual([]);
  });

  itWhole("are asked for ever more seldom where they never do, and not for ever", async () => {
    const { polls, rows, sinces } = await cancelUnder(nameless);
    const asked = () => sinces().map((since) => Date.parse(since));
    const wide = () => asked().filter((ms, index, all) => index > 0 && ms < all[index - 1]! - HOUR_MS / 2).length;
    await polls(30 * 6, 10 * MINUTE_MS);
    expect(wide()).toBeGreaterThanOrEqual(4);
    // With the sweep of the day.
    expect(wide()).toBeLessThanOrEqual(9);
    expect(rows("SELECT DISTINCT state FROM quarantine")).toEqual([{ state: "held" }]);
  });
});
