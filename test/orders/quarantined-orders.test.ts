import { describe, expect, it } from "vitest";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import type { Sandbox } from "../../src/sandbox/start-sandbox.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const BAD_ID = "11111111-2222-4333-8444-555555555555";

/** Every answer of the updates holds this record, which is another one each time. */
async function startWithChanging(record: (n: number) => string, carry: "whole" | "changes") {
  const holder: { sandbox?: Sandbox; good?: string } = {};
  let n = 0;
  const onRequest = ({ method, path }: SandboxRequest) => {
    if (method !== "GET" || !path.includes("/orders/updates")) return;
    n += 1;
    const body = `{"updates":[${holder.good},${record(n)}]}`;
    holder.sandbox?.faults.add({
      match: { path: "updates" },
      do: { kind: "raw", contentType: "application/json", body },
    });
  };
  const test = await startFollowed(2, {
    settings: { updates: { carry } },
    service: { updates: { carry } },
    sandbox: { onRequest },
  });
  holder.sandbox = test.sandbox;
  holder.good = test.sandbox.service.newestText(test.ids[0]!)!;
  return { test, asked: () => n };
}

describe("a bad record of one order that changes with every answer", () => {
  itSome(1)<[string, (n: number) => string]>([
    ["no status", (n) => `{"order_id":"${BAD_ID}","items":[],"n":${n},"updated_at":"2026-03-01T12:01:00Z"}`],
    [
      "a status that is none",
      (n) => `{"order_id":"${BAD_ID}","status":{"n":${n}},"items":[],"updated_at":"2026-03-01T12:01:00Z"}`,
    ],
    [
      "an id that is none",
      (n) => `{"order_id":"A-17","status":"new","items":[],"n":${n},"updated_at":"2026-03-01T12:01:00Z"}`,
    ],
    [
      "a timestamp that moves on",
      (n) =>
        `{"order_id":"${BAD_ID}","items":[],"updated_at":"2026-03-01T12:01:00.${String(n % 1000).padStart(3, "0")}Z"}`,
    ],
  ])("is one held row and ends the pass: %s", async (_name, record) => {
    const { test, asked } = await startWithChanging(record, "whole");
    for (let polls = 0; polls < 5; polls++) {
      const before = asked();
      test.clock.advance(60_000);
      expect(await test.run("updates")).toMatchObject({ error: null, outcome: expect.not.stringMatching("more") });
      expect(asked() - before).toBeLessThan(100);
    }
    const rows = test.rows<{ payload: string; times: number; state: string }>(
      "SELECT payload, times, state FROM quarantine",
    );
    // Where several of one timestamp contradict one another the order itself is asked for, which the service does not have.
    const waiting = test.rows<{ record: string }>("SELECT record FROM owed_reads WHERE record <> ''");
    expect([...rows.map(({ payload }) => payload), ...waiting.map((row) => row.record)]).toEqual([
      expect.not.stringContaining(record(1)),
    ]);
    for (const row of rows) expect(row).toMatchObject({ state: "held", times: expect.any(Number) });
    expect(rows.every(({ times }) => times > 3)).toBe(true);
  });

  itWhole("is kept apart from what a person has dropped, and from other orders", async () => {
    const { test } = await startWithChanging((n) => `{"order_id":"${n % 2 === 0 ? "A-1" : "A-2"}","n":${n}}`, "whole");
    for (let polls = 0; polls < 4; polls++) {
      test.clock.advance(60_000);
      await test.run("updates");
    }
    expect(test.rows("SELECT reference, state FROM quarantine ORDER BY reference")).toEqual([
      { reference: "A-1", state: "held" },
      { reference: "A-2", state: "held" },
    ]);
    test.bridge.store.db.prepare("UPDATE quarantine SET state = 'dropped' WHERE reference = 'A-1'").run();
    const dropped = test.rows("SELECT payload FROM quarantine WHERE state = 'dropped'");
    for (let polls = 0; polls < 4; polls++) {
      test.clock.advance(60_000);
      await test.run("updates");
    }
    expect(test.rows("SELECT payload FROM quarantine WHERE state = 'dropped'")).toEqual(dropped);
    expect(test.rows("SELECT reference FROM quarantine WHERE state = 'held' ORDER BY reference")).toEqual([
      { reference: "A-1" },
      { reference: "A-2" },
    ]);
  });
});

describe("changes that name no order and differ in each answer", () => {
  const held = (test: { rows: <T>(sql: string) => T[] }) =>
    test.rows<{ reference: string | null; payload: string; times: number }>(
      "SELECT reference, payload, times FROM quarantine WHERE state = 'held' ORDER BY id",
    );

  itWhole.each<["changes" | "whole"]>([["changes"], ["whole"]])(
    "share a row beyond twenty of one shape, which has the newest, and others are kept: %s",
    async (carry) => {
      const beat = (n: number) => `{"type":"heartbeat","n":${n},"updated_at":"2026-03-01T12:01:00Z"}`;
      const mark = '{"type":"end","count":1}';
      const { test, asked } = await startWithChanging((n) => (n === 1 ? mark : beat(n)), carry);
      for (let polls = 0; polls < 40; polls++) {
        test.clock.advance(60_000);
        expect((await test.run("updates")).error).toBeNull();
      }
      expect(asked()).toBeGreaterThan(40);
      const rows = held(test);
      expect(rows).toHaveLength(21);
      expect(rows[0]!.payload).toBe(mark);
      expect(rows.at(-1)!.payload).toBe(beat(asked()));
      expect(rows.reduce((sum, { times }) => sum + times, 0)).toBeGreaterThanOrEqual(asked());
    },
  );

  itWhole("are bounded where each has other keys", async () => {
    const { test } = await startWithChanging((n) => `{"k${n}":1}`, "changes");
    const insert = test.bridge.store.db.prepare(
      `INSERT INTO quarantine (kind, reason, payload, payload_hash, first_seen_at, last_seen_at, state, times)
       VALUES ('change', '', ?, ?, '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.000Z', 'held', 1)`,
    );
    for (let n = 0; n < 1_000; n++) insert.run(`{"x${n}":1}`, Buffer.from(`hash ${n}`.padEnd(32)));
    for (let polls = 0; polls < 3; polls++) {
      test.clock.advance(60_000);
      await test.run("updates");
    }
    expect(held(test)).toHaveLength(1_000);
  });

  it("are each kept where they come in a batch: each is an order", async () => {
    const test = await startTestBridge({ sandbox: { options: { batchSize: 100 } } });
    test.sandbox.service.createOrder();
    for (let n = 0; n < 30; n++) test.sandbox.service.createOrder({ raw: `{"status":"new","items":[],"n":${n}}` });
    await test.run("orders");
    expect(held(test).map(({ times }) => times)).toEqual(Array.from({ length: 30 }, () => 1));
  });
});
