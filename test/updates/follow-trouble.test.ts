import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

async function failure(test: Followed): Promise<{ code: string; message: string }> {
  test.clock.advance(60_000);
  const { error } = await test.run("updates");
  return { code: error?.code ?? "", message: error?.message ?? "" };
}

/** Changes a record's text on its way, as a service would that was rebuilt overnight. */
const serve = (test: Followed, body: string, contentType = "application/json", times = 1) =>
  test.sandbox.faults.add({ match: { path: "updates" }, times, do: { kind: "raw", body, contentType } });

describe("an answer that is not understood", () => {
  const WRONG: [name: string, action: FaultAction, code: string, words: RegExp][] = [
    [
      "another key",
      { kind: "raw", body: '{"changes":[],"total":0}', contentType: "application/json" },
      "answer_shape",
      /\$\.updates.*changes, total/,
    ],
    ["an empty object", { kind: "raw", body: "{}", contentType: "application/json" }, "answer_shape", /\$\.updates/],
    [
      "an object in place of the list",
      { kind: "raw", body: '{"updates":{"a":1}}', contentType: "application/json" },
      "answer_shape",
      /\$\.updates.*object/,
    ],
    [
      "records without the id",
      { kind: "raw", body: '{"updates":[{"id":1,"state":"x"}]}', contentType: "application/json" },
      "answer_shape",
      /\$\.order_id.*id, state/,
    ],
    ["a web page", { kind: "html" }, "answer_unreadable", /web page/],
    ["half an answer", { kind: "cut", bytes: 40 }, "unreachable", /updates/],
  ];

  itSome(1)(WRONG)("moves nothing and says what was seen: %s", async (_name, action, code, words) => {
    const test = await startFollowed(2);
    const before = { dump: test.dump(), watermark: test.watermark() };
    test.change(test.ids[0]!, { status: "paid" });
    test.sandbox.faults.add({ match: { path: "updates" }, times: 3, do: action });
    const error = await failure(test);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(words);
    expect(test.dump()).toEqual(before.dump);
    expect(test.watermark()).toBe(before.watermark);
    test.sandbox.faults.clear();
    await test.poll();
    expect(test.statusOf(test.ids[0]!).status).toBe("paid");
  });

  itWhole.each<[string, SandboxOptionsPatch | undefined, FaultAction]>([
    ["a wrong path", { shape: { updates: ["changes"] } }, { kind: "html" }],
    ["a web page", undefined, { kind: "html" }],
    ["an error for hours", undefined, { kind: "status", status: 500 }],
  ])("keeps nothing from being read that is owed already: %s", async (_name, options, action) => {
    const test = await startFollowed(1);
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    const rule = test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "html" } });
    await test.poll();
    expect(test.statusOf(id).status).toBe("new");
    test.sandbox.faults.remove(rule);
    if (options === undefined) test.sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: action });
    else test.sandbox.service.setOptions(options);
    expect((await failure(test)).code).not.toBe("");
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
  });

  itWhole("in the middle of the pages keeps what came before it", async () => {
    const test = await startFollowed(6, { service: { updates: { pageLimit: 4 } } });
    for (const id of test.ids) test.change(id, { status: "paid" });
    const first = test.watermark();
    test.sandbox.faults.add({ match: { path: "updates" }, skip: 1, do: { kind: "html" } });
    expect((await failure(test)).code).toBe("answer_unreadable");
    expect(test.watermark()).toBe(first);
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid", "paid", "new", "new"]);
  });
});

describe("a record that cannot be used", () => {
  it("is quarantined once, hides no other, and holds no position back", async () => {
    const test = await startFollowed(2);
    const [id] = test.ids as [string, string];
    test.change(id, { status: "paid" });
    const good = `{"order_id":"${id}","status":"paid","updated_at":"2026-03-01T12:01:01.000Z"}`;
    const bad = '{"order_id":"no uuid","status":"paid","updated_at":"2026-03-01T12:01:02.000Z"}';
    for (const text of [bad, bad.replace('"status":"paid",', "").replace("}", ',"status": "paid"}')]) {
      serve(test, `{"updates":[${good},${text}, 17]}`, "application/json", 2);
      await test.poll();
    }
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.watermark()).toBe("2026-03-01T12:01:02.000Z");
    expect(test.rows("SELECT kind, reference, payload, times FROM quarantine ORDER BY id")).toEqual([
      { kind: "change", reference: "no uuid", payload: bad, times: 1 },
      { kind: "change", reference: null, payload: "17", times: 1 },
    ]);
  });
});

describe("an order that nobody knows here", () => {
  itSome(1)(["changes", "whole"] as const)("is rescued when its change arrives: %s", async (carry) => {
    const test = await startFollowed(1, {
      service: { updates: { carry, scope: "all" } },
      settings: { updates: { carry } },
    });
    const stranger = test.sandbox.service.createOrder();
    test.change(stranger, { status: "paid" });
    const counts = await test.poll();
    expect(counts).toMatchObject(carry === "whole" ? { created: 1 } : { rescued: 1 });
    expect(test.statusOf(stranger)).toEqual({ status: "paid", revision: 1 });
    expect(test.rows("SELECT kind, source FROM order_events WHERE order_id = ?", stranger)).toEqual([
      { kind: "created", source: carry === "whole" ? "update" : "snapshot" },
    ]);
    expect(test.rows("SELECT why FROM orders_pending WHERE order_id = ?", stranger)).toEqual([{ why: "new" }]);
    // Its batch comes later and is old news.
    await test.run("orders");
    await test.poll();
    expect(test.statusOf(stranger)).toEqual({ status: "paid", revision: 1 });
    expect(test.sandbox.ledger.confirmedOrderIds().has(stranger)).toBe(true);
  });

  itWhole.each([
    [404, 15],
    [410, 60],
  ] as const)(
    "and that the service answers with %s again is quarantined once and asked for ever more seldom, polled every %i minutes",
    async (status, minutes) => {
      const pollFor = async (hours: number) => {
        for (let passed = 0; passed < hours * 60; passed += minutes)
          expect(await test.poll(minutes * 60_000)).toEqual({});
      };
      const test = await startWithIll(1, {
        service: { shape: { shuffleKeys: true }, updates: { scope: "all", history: "log" } },
      });
      const stranger = test.sandbox.service.createOrder();
      test.change(stranger, { status: "paid" });
      test.ill.set(stranger, { kind: "status", status });
      await test.poll();
      const waiting = () => test.rows("SELECT waiting, failing_since FROM sync_status WHERE flow = 'updates'");
      for (let polls = 0; polls < 9; polls++) expect(await test.poll()).toEqual({});
      expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
      expect(waiting()).toEqual([{ waiting: 1, failing_since: null }]);
      expect(test.snapshots(stranger)).toBe(1);
      await test.poll(120_000);
      const held = [
        { kind: "change", reference: stranger, reason: expect.stringContaining(String(status)), state: "held" },
      ];
      expect(test.rows("SELECT kind, reference, reason, state FROM quarantine")).toEqual(held);
      expect(waiting()).toEqual([{ waiting: 1, failing_since: null }]);
      const asked = test.snapshots(stranger);
      await pollFor(20);
      expect(test.snapshots(stranger) - asked).toBeGreaterThan(15);
      expect(test.snapshots(stranger) - asked).toBeLessThan(30);
      expect(waiting()).toEqual([{ waiting: 1, failing_since: null }]);
      await pollFor(20);
      expect(waiting()).toEqual([{ waiting: 0, failing_since: null }]);
      const last = test.snapshots(stranger);
      await test.sweep();
      expect(test.snapshots(stranger)).toBe(last);
      // The sweep's pull has brought the order: what was held of it is settled.
      expect(test.statusOf(stranger)).toEqual({ status: "paid", revision: 1 });
      test.ill.clear();
      test.change(stranger, { status: "packed" });
      await test.poll();
      expect(test.statusOf(stranger)).toEqual({ status: "packed", revision: 2 });
      expect(test.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
    },
  );
});

describe("an order that is gone at the service", () => {
  itSome(1)(["changes", "whole"] as const)(
    "is kept, marked, told once and never asked for in a loop: %s",
    async (carry) => {
      const test = await startWithIll(2, {
        service: { updates: { carry, history: "log" } },
        settings: { updates: { carry } },
      });
      const [id] = test.ids as [string];
      test.ill.set(id, { kind: "status", status: 410 });
      test.change(id, { status: "paid" });
      // Where the answer carries whole orders, only what is doubtful is read.
      test.change(id, { status: "packed", keepTimestamp: true });
      await test.poll();
      const order = () =>
        test.rows(
          "SELECT revision, erp_revision, is_open, removed_at IS NOT NULL AS removed FROM orders WHERE order_id = ?",
          id,
        );
      expect(order()).toEqual([{ revision: 1, erp_revision: 1, is_open: 1, removed: 0 }]);
      expect(await test.poll(11 * 60_000)).toEqual({ removed: 1 });
      const removed = [{ revision: 2, erp_revision: 2, is_open: 0, removed: 1 }];
      expect(order()).toEqual(removed);
      expect(test.rows("SELECT kind FROM order_events WHERE order_id = ? ORDER BY seq", id)).toEqual([
        { kind: "created" },
        { kind: "removed" },
      ]);
      expect(test.rows("SELECT 1 FROM order_lines WHERE order_id = ?", id).length).toBeGreaterThan(0);
      for (let polls = 0; polls < 3; polls++) expect(await test.poll()).toEqual({});
      expect(test.snapshots(id)).toBe(2);
      expect(order()).toEqual(removed);
      test.ill.clear();
      test.change(id, { status: "shipped" });
      await test.poll();
      expect(order()).toEqual([{ revision: 3, erp_revision: 3, is_open: 1, removed: 0 }]);
    },
  );
});
