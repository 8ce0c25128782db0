import { describe, expect, it } from "vitest";
import { m } from "../../src/messages/messages.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole, size } from "../support/whole.ts";

const changeAll = (test: Followed) => {
  for (const id of test.ids) test.change(id, { status: "paid" });
};
const owed = (test: Followed) =>
  test.rows<{ order_id: string; attempts: number; last_error: string }>(
    "SELECT order_id, attempts, last_error FROM owed_reads",
  );

describe("an order that cannot be read", () => {
  itSome(1)<[string, FaultAction, RegExp]>([
    ["500", { kind: "status", status: 500 }, /500/],
    ["a broken connection", { kind: "reset" }, /cut off/],
    ["a web page", { kind: "html" }, /web page/],
    ["an empty object", { kind: "raw", body: "{}", contentType: "application/json" }, /order_id/],
    [
      "another order",
      {
        kind: "raw",
        body: '{"order_id":"00000000-0000-4000-8000-000000000000","status":"x","items":[]}',
        contentType: "application/json",
      },
      /another order/,
    ],
    ["a refusal of it alone", { kind: "status", status: 422 }, /422/],
    ["401", { kind: "status", status: 401 }, /401/],
    ["402", { kind: "status", status: 402 }, /402/],
    ["403", { kind: "status", status: 403 }, /403/],
    ["423", { kind: "status", status: 423 }, /423/],
    ["429", { kind: "status", status: 429 }, /429/],
    ["a redirect", { kind: "redirect", to: "https://elsewhere.example/login" }, /302/],
    ["503", { kind: "status", status: 503 }, /503/],
  ])("never keeps the others waiting, and is read when that is possible: %s", async (_name, action, words) => {
    const test = await startWithIll(8);
    const [bad, ...good] = test.ids as [string, ...string[]];
    test.ill.set(bad, action);
    changeAll(test);
    await test.poll();
    expect(test.rows("SELECT * FROM holds")).toEqual([]);
    expect(good.map((id) => test.statusOf(id).status)).toEqual(good.map(() => "paid"));
    // An order that another one was answered with is asked for as well, and this service does not know it.
    const owedOfShop = () => owed(test).filter(({ order_id: id }) => test.ids.includes(id));
    expect(owedOfShop()).toEqual([{ order_id: bad, attempts: 1, last_error: expect.stringMatching(words) }]);
    // Requests that failed on the way are repeated after a pause, which would make this test slow.
    if (action.kind !== "status" && action.kind !== "reset") {
      test.change(good[0]!, { status: "packed" });
      await test.poll();
      expect(test.statusOf(good[0]!).status).toBe("packed");
    }
    expect(test.rows("SELECT * FROM orders WHERE order_id LIKE '00000000%'")).toEqual([]);
    test.ill.clear();
    await test.poll();
    expect(test.statusOf(bad)).toEqual({ status: "paid", revision: 2 });
    expect(owedOfShop()).toEqual([]);
  });

  it("is read before others where its change calls it cancelled", async () => {
    const test = await startFollowed(5);
    const asked = () => test.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1));
    for (const id of test.ids) test.change(id, { status: "paid" });
    const last = test.ids.at(-1) as string;
    test.change(last, { status: "cancelled" });
    await test.poll();
    expect(asked()[0]).toBe(last);
    expect(new Set(asked())).toEqual(new Set(test.ids));
  });

  itWhole("waits as long as it was asked, and lets the others wait a minute at most", async () => {
    const test = await startWithIll(3);
    const [bad, good] = test.ids as [string, string];
    const asked = () => test.sandbox.ledger.ofKind("snapshot").filter(({ path }) => path.endsWith(`/${bad}`)).length;
    const busy = { kind: "status", status: 429, headers: { "retry-after": "1800" } } as const;
    test.ill.set(bad, busy);
    test.change(bad, { status: "paid" });
    await test.run("updates");
    expect(asked()).toBe(1);
    test.change(good, { status: "paid" });
    for (let minutes = 1; minutes < 30; minutes++) {
      test.clock.advance(60_000);
      await test.run("updates");
      if (minutes === 2) expect(test.statusOf(good).status).toBe("paid");
    }
    expect(asked()).toBe(1);
    test.ill.clear();
    test.clock.advance(60_000);
    await test.run("updates");
    expect([asked(), test.statusOf(bad).status]).toEqual([2, "paid"]);
  });

  it("is counted in its run under a name that has words", async () => {
    const test = await startWithIll(2, { service: { updates: { carry: "changes" } } });
    changeAll(test);
    for (const id of test.ids) test.ill.set(id, { kind: "html" });
    await test.run("updates");
    const sql = "SELECT counts FROM runs WHERE job = 'updates' ORDER BY id DESC LIMIT 1";
    const [run] = test.rows<{ counts: string }>(sql);
    expect(JSON.parse(run?.counts ?? "")).toEqual({ owed: 2 });
    expect(Object.keys(m.counts)).toContain("owed");
  });

  itWhole(
    "is one of several after which the service is given a rest, and no pass is spent on them for ever",
    async () => {
      const test = await startWithIll(12);
      for (const id of test.ids.slice(0, 6)) test.ill.set(id, { kind: "html" });
      changeAll(test);
      for (let polls = 0; polls < 12; polls++) {
        test.clock.advance(60_000);
        const before = test.snapshots();
        await test.run("updates");
        // Each of the ill, the well ones once, and two to see whether the service is well.
        expect(test.snapshots() - before).toBeLessThanOrEqual(polls < 1 ? 15 : 9);
      }
      expect(test.snapshots()).toBeLessThan(6 * 8 + 20);
      expect(test.ids.slice(6).map((id) => test.statusOf(id).status)).toEqual(test.ids.slice(6).map(() => "paid"));
      // They fail no pass, and something new goes first.
      for (let polls = 0; polls < 4; polls++) await test.run("updates");
      test.change(test.ids[11]!, { status: "packed" });
      expect(await test.poll()).toMatchObject({ changed: 1 });
      expect(owed(test)).toHaveLength(6);
    },
  );

  itWhole("stops the pass at once where the fault is everybody's", async () => {
    const test = await startFollowed(8);
    changeAll(test);
    test.sandbox.faults.add({
      match: { path: "snapshot" },
      times: "forever",
      do: { kind: "status", status: 503, headers: { "retry-after": "30" } },
    });
    expect(await test.run("updates")).toMatchObject({ outcome: "failed" });
    expect(test.snapshots()).toBe(1);
    // The answer was for this order; whatever it meant, another one is asked for next.
    expect(owed(test).map(({ attempts }) => attempts)).toEqual([1, ...Array(7).fill(0)]);
  });
});

describe("the snapshot's place", () => {
  it("may be nested as the configuration says", async () => {
    const test = await startFollowed(2, {
      service: { shape: { snapshot: ["data", "order"] } },
      settings: { updates: { snapshot: "$.data.order" } },
    });
    changeAll(test);
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid"]);
    expect(JSON.parse(test.rows<{ payload: string }>("SELECT payload FROM orders")[0]!.payload).order_id).toBe(
      test.ids[0],
    );
  });

  itWhole.each(["$.data.order", "$"])(
    "is named with the keys seen where it is wrong (%s), and nothing is lost until it is right",
    async (snapshot) => {
      const test = await startFollowed(3, {
        service: { shape: { snapshot: ["result"] } },
        settings: { updates: { snapshot } },
      });
      changeAll(test);
      test.clock.advance(60_000);
      const { error } = await test.run("updates");
      expect(error).toMatchObject({ code: "answer_shape", message: expect.stringMatching(/result/) });
      expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
      await test.restart({ updates: { snapshot: "$.result" } });
      await test.poll();
      expect(test.statusOf(test.ids[0]!)).toEqual({ status: "paid", revision: 2 });
    },
  );
});

describe("one order that is answered in another shape, where no order was read before", () => {
  const inAnotherShape: [string, (text: string) => string][] = [
    ["in a list", (text) => `[${text}]`],
    ["in an object", (text) => `{"order":${text}}`],
    ["with nothing", () => "{}"],
    ["with null", () => "null"],
    ["with something else", () => '{"id":5,"state":"archived"}'],
  ];
  const of = (test: Followed, id: string, spoil: (text: string) => string): FaultAction => ({
    kind: "raw",
    contentType: "application/json",
    body: spoil(test.sandbox.service.newestText(id)!),
  });

  itSome(1)(inAnotherShape)("waits behind the others, and its cancellation counts without it: %s", async (_, spoil) => {
    const test = await startWithIll(3, { service: { updates: { scope: "all" } } });
    const [odd, paid, cancelled] = test.ids as [string, string, string];
    test.change(odd, { status: "cancelled" });
    test.ill.set(odd, of(test, odd, spoil));
    await test.poll();
    test.change(paid, { status: "paid" });
    test.change(cancelled, { status: "cancelled" });
    const unknown = test.sandbox.service.createOrder();
    test.change(unknown, { status: "packed" });
    await test.poll();
    expect([paid, cancelled, unknown].map((id) => test.statusOf(id).status)).toEqual(["paid", "cancelled", "packed"]);
    expect(owed(test)).toMatchObject([{ order_id: odd }]);
    for (let polls = 0; polls < 10; polls++) await test.poll();
    expect(test.statusOf(odd)).toEqual({ status: "cancelled", revision: 2 });
  });

  itWhole.each([1, 2])("is its own also where too few others are there to ask: %i", async (count) => {
    const test = await startWithIll(count);
    for (const id of test.ids) {
      test.change(id, { status: "cancelled" });
      test.ill.set(
        id,
        of(test, id, (text) => `[${text}]`),
      );
    }
    for (let polls = 0; polls < 10; polls++) await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(test.ids.map(() => "cancelled"));
  });

  itWhole("is no wrong configuration where the others fail in another way", async () => {
    const test = await startWithIll(3);
    changeAll(test);
    for (const id of test.ids) test.ill.set(id, { kind: "html" });
    test.ill.set(
      test.ids[2]!,
      of(test, test.ids[2]!, (text) => `[${text}]`),
    );
    test.clock.advance(60_000);
    expect(await test.run("updates")).toMatchObject({ error: { code: "answer_unreadable" } });
  });
});

describe("a read that is owed", () => {
  itWhole("outlives a restart, and two hundred and more are drained without waiting for the next poll", async () => {
    const count = size(210, 450);
    const test = await startFollowed(count);
    changeAll(test);
    test.sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: { kind: "html" } });
    await test.run("updates");
    expect(owed(test)).toHaveLength(count);
    await test.restart();
    test.sandbox.faults.clear();
    await test.poll();
    expect(owed(test)).toEqual([]);
    expect(new Set(test.ids.map((id) => test.statusOf(id).status))).toEqual(new Set(["paid"]));
  });

  it("asks with the id as the service writes it", async () => {
    const test = await startFollowed(1, { service: { shape: { upperCaseIds: true } } });
    changeAll(test);
    await test.poll();
    expect(test.sandbox.ledger.ofKind("snapshot").map(({ path, status }) => [path.split("/").at(-1), status])).toEqual([
      [test.ids[0]!.toUpperCase(), 200],
    ]);
    expect(test.statusOf(test.ids[0]!).status).toBe("paid");
  });

  itWhole("ends in quarantine where its snapshot cannot be stored, and a good one settles that", async () => {
    const test = await startFollowed(2);
    const [id, other] = test.ids as [string, string];
    test.change(other, { status: "paid" });
    await test.poll();
    test.change(id, {
      raw: `{"order_id":"${id}","status":{"deep":1},"items":[],"updated_at":"2026-03-01T12:03:00.000Z"}`,
    });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    expect(test.rows("SELECT kind, reference, state FROM quarantine ORDER BY kind")).toEqual([
      { kind: "change", reference: id, state: "held" },
      { kind: "snapshot", reference: id, state: "held" },
    ]);
    expect(await test.poll()).toEqual({ read: 1 });
    test.change(id, { raw: null, status: "paid" });
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "paid", revision: 2 });
    expect(test.rows("SELECT DISTINCT state FROM quarantine")).toEqual([{ state: "released" }]);
  });
});
