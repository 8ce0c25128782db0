import { describe, expect, it } from "vitest";
import { acceptForms } from "../../src/pass/accept-forms.ts";
import { loadObservations } from "../../src/probe/observations.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { ENDPOINT } from "../../src/service/outcome/answer-form.ts";
import { startTestBridge } from "../support/bridge.ts";
import { batchStates, createOrders, expectComplete } from "../support/pull.ts";
import { fillStock, IMPORT_TIMEOUT_MS, type PushedFeeds, startFeeds } from "../support/pushed.ts";
import { startStatusBridge } from "../support/statuses.ts";
import { itSome, itWhole, some } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const answer = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

/** Each is answered with 200 by a service, or by what stands before it, that has done nothing. */
const NO: string[] = [
  "500 Internal Server Error",
  "Connection refused",
  "upstream request timeout",
  "Ошибка: нет связи с базой",
  '["error","database is down"]',
  '{"code":"E500","message":"database is down"}',
  '{"code":-1,"msg":"database is down"}',
  '{"success":null,"message":"database is down"}',
  '{"data":{"result":{"error":"database is down"}}}',
  '{"imported":0,"skipped":1}',
  '{"queued":false}',
  '{"maintenance":true}',
  '{"ошибка":"нет связи с базой"}',
  "status: error",
  "status=error&message=down",
  'a:1:{s:5:"error";s:16:"database is down";}',
  'cb({"error":"database is down"})',
];
/** No word in these says it. */
const STRANGE = ["Good day", '{"result":"see the other shop"}', "{}", "[]", "null", '{"updates":[]}', "7"];

/** A feed whose service has accepted three requests in its usual form. */
async function startUsed(options: Parameters<typeof startFeeds>[0] = {}) {
  const feeds = await startFeeds({ settings: { imports: { stocks: { chunk: 1 } } }, ...options });
  fillStock(feeds.erp, 4);
  await feeds.run("stocks");
  return feeds;
}

describe("an import that is answered as usual", () => {
  it.each<[key: string, body: string]>([
    ["ok", '{"ok":true}'],
    ["OK", "OK"],
    ["200", '{"code":200,"ok":true}'],
    ["status", '{"status":"ok"}'],
  ])("is accepted also where it sends one article alone, whose key is a word of the answer: %s", async (key, body) => {
    const { erp, sandbox, run, holds, rows } = await startFeeds({ settings: { imports: { stocks: { chunk: 1 } } } });
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: answer(body) });
    fillStock(erp, 4);
    await run("stocks");
    erp.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 7)").run(key);
    await run("stocks");
    expect([holds(), rows("SELECT k0 FROM feed_outbox")]).toEqual([[], []]);
  });
});

describe("an import that is answered with 200 and another no", () => {
  it.each(some(NO, 1))("as the first answer of all is not accepted: %s", async (body) => {
    const { erp, sandbox, run, minute, level, clock, quarantined } = await startFeeds();
    fillStock(erp, 1);
    sandbox.faults.add({ match: { path: "import" }, when: "before", times: 1, do: answer(body) });
    await run("stocks");
    expect(level("S-1")).toBeUndefined();
    clock.advance(IMPORT_TIMEOUT_MS);
    for (let minutes = 0; minutes < 15; minutes++) await minute();
    expect(level("S-1")).toBe(10);
    expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
  });

  itWhole.each(some([...NO, ...STRANGE], 2))(
    "in a form that is not the usual one leaves the row in doubt: %s",
    async (body) => {
      const { erp, sandbox, run, minute, level, clock, holds, quarantined } = await startUsed();
      erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-1'");
      sandbox.faults.add({ match: { path: "import" }, when: "before", times: 1, do: answer(body) });
      await run("stocks");
      expect(level("S-1")).toBe(10);
      clock.advance(IMPORT_TIMEOUT_MS);
      for (let minutes = 0; minutes < 15; minutes++) await minute();
      expect(level("S-1")).toBe(3);
      expect(holds()).toEqual([]);
      expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
    },
  );

  itWhole("says so in a hold, sends again with the newest value, and is over with the next acceptance", async () => {
    const { erp, sandbox, run, minute, requests, rows, clock, holds, levels } = await startUsed();
    erp.exec("UPDATE stock SET quantity = 3");
    sandbox.faults.add({ match: { path: "import" }, when: "before", do: answer("Good day"), times: "forever" });
    requests();
    expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "answer_unknown" } });
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    expect(rows<{ detail: string }>("SELECT detail FROM holds")[0]?.detail).toMatch(
      /answered with "good day", which is not known to be an acceptance; usual is \{accepted, errors\}\./,
    );
    for (let minutes = 0; minutes < 30; minutes++) await minute();
    expect(rows("SELECT count(*) AS n FROM feed_outbox WHERE state = 'refused'")).toEqual([{ n: 0 }]);
    erp.exec("UPDATE stock SET quantity = 4");
    sandbox.faults.clear();
    clock.advance(2 * HOUR_MS);
    for (let minutes = 0; minutes < 5; minutes++) await minute();
    expect(levels("S-1")).toEqual([10, 4]);
    expect(holds()).toEqual([]);
  });

  /** The ERP fills its table anew. */
  function refill({ erp }: PushedFeeds, quantity: number): void {
    erp.exec("DELETE FROM stock");
    fillStock(erp, 3, quantity);
  }

  /** So many requests show what the service usually says. */
  async function showUsual(feeds: PushedFeeds, requests: number): Promise<void> {
    for (let round = 0; round < requests; round++) {
      refill(feeds, round + 1);
      expect(await feeds.run("stocks")).toMatchObject({ outcome: "done" });
    }
  }

  /** A service that takes all records but one, and says how many those were, or of each in its place whether it was. */
  function leaveOut(feeds: PushedFeeds, say: (taken: number, of: number, each: readonly boolean[]) => string) {
    const { service } = feeds.sandbox;
    const handle = service.handle.bind(service);
    const trouble = { leavesOut: undefined as string | undefined };
    service.handle = (request) => {
      if (!request.path.includes("/import/")) return handle(request);
      const { stocks } = JSON.parse(request.body.toString()) as { stocks: { sku: string }[] };
      const taken = stocks.filter(({ sku }) => sku !== trouble.leavesOut);
      const response = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks: taken })) });
      const each = stocks.map(({ sku }) => sku !== trouble.leavesOut);
      return { ...response, body: Buffer.from(say(taken.length, stocks.length, each)) };
    };
    return trouble;
  }

  itWhole.each<[(each: readonly boolean[]) => object]>([
    [(each) => ({ results: each.map((is) => (is ? "ok" : "skipped")) })],
    [(each) => ({ results: each.map((is) => ({ status: is ? "updated" : "unknown" })) })],
    [(each) => each.map((is) => (is ? 200 : 404))],
    [(each) => ({ ok: true, warnings: each.flatMap((is, at) => (is ? [] : [`Строка ${at + 1}: нет такого товара`])) })],
    [(each) => ({ ok: true, details: each.flatMap((is, line) => (is ? [] : [{ line, reason: "unknown sku" }])) })],
  ])(
    "says of one record, by its place alone, what it usually does not, and keeps that one in doubt: %s",
    async (say) => {
      const feeds = await startFeeds();
      const { run, minute, rows, clock, holds, level } = feeds;
      const trouble = leaveOut(feeds, (_taken, _of, each) => JSON.stringify(say(each)));
      await showUsual(feeds, 4);
      trouble.leavesOut = "S-3";
      refill(feeds, 20);
      await run("stocks");
      for (let minutes = 0; minutes < 30; minutes++) await minute();
      expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
      expect([level("S-1"), level("S-2"), level("S-3")]).toEqual([20, 20, 4]);
      expect(rows("SELECT 1 FROM feed_outbox WHERE record LIKE '%S-3%'")).toHaveLength(1);
      trouble.leavesOut = undefined;
      clock.advance(2 * HOUR_MS);
      for (let minutes = 0; minutes < 10; minutes++) await minute();
      expect(level("S-3")).toBe(20);
      expect([holds(), rows("SELECT 1 FROM feed_outbox")]).toEqual([[], []]);
    },
  );

  itWhole.each<[(taken: number, of: number) => string]>([
    [(taken, of) => JSON.stringify({ status: "ok", progress: `${taken}/${of}` })],
    [(taken, of) => JSON.stringify({ ok: true, message: `updated ${taken} of ${of}` })],
    [(taken, of) => JSON.stringify({ processed: `${taken}/${of}` })],
  ])("says that a part was taken, and keeps the request in doubt: %s", async (say) => {
    for (const before of [0, 4]) {
      const feeds = await startFeeds();
      const { run, minute, rows, clock, holds, level, quarantined } = feeds;
      const trouble = leaveOut(feeds, say);
      await showUsual(feeds, before);
      trouble.leavesOut = "S-3";
      refill(feeds, 20);
      expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "answer_unknown" } });
      expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
      expect(rows<{ detail: string }>("SELECT detail FROM holds")[0]?.detail).toMatch(/2\/3|2 of 3|не найдено: 1/);
      for (let minutes = 0; minutes < 60; minutes++) await minute();
      expect(level("S-3")).not.toBe(20);
      expect(rows("SELECT 1 FROM feed_outbox WHERE record LIKE '%S-3%'")).toHaveLength(1);
      trouble.leavesOut = undefined;
      clock.advance(2 * HOUR_MS);
      for (let minutes = 0; minutes < 10; minutes++) await minute();
      expect(level("S-3")).toBe(20);
      expect(rows("SELECT 1 FROM feed_outbox")).toEqual([]);
      expect([holds(), quarantined().filter(({ state }) => state === "held")]).toEqual([[], []]);
    }
  });

  itWhole(
    "says that a part was taken in numbers that are known by then: the row that was left out is named, and goes once it is taken",
    async () => {
      const feeds = await startFeeds();
      const { run, minute, clock, holds, level, quarantined } = feeds;
      const trouble = leaveOut(feeds, (taken, of) => `Обновлено: ${taken}, не найдено: ${of - taken}`);
      await showUsual(feeds, 4);
      trouble.leavesOut = "S-3";
      refill(feeds, 20);
      await run("stocks");
      expect([level("S-1"), level("S-2"), level("S-3"), holds()]).toEqual([20, 20, 4, []]);
      expect(quarantined()).toEqual([{ reference: "S-3", reason: "200: updated: 0 of 1", state: "held" }]);
      trouble.leavesOut = undefined;
      clock.advance(2 * HOUR_MS);
      for (let minutes = 0; minutes < 10; minutes++) await minute();
      expect(level("S-3")).toBe(20);
      expect(quarantined().filter(({ state }) => state === "held")).toEqual([]);
    },
  );

  itWhole("says that a part was taken, which a person accepts; an error in the same form is none", async () => {
    const { erp, sandbox, run, minute, clock, holds, bridge, rows } = await startFeeds();
    const said = (message: string) =>
      sandbox.faults.add({
        match: { path: "import" },
        when: "after",
        times: "forever",
        do: answer(JSON.stringify({ message })),
      });
    const part = said("Updated 2, skipped 1");
    fillStock(erp, 3, 5);
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    bridge.store.write(() => acceptForms(bridge.store, [ENDPOINT.import("/api/v1/import/stocks")]));
    clock.advance(HOUR_MS);
    await minute();
    erp.exec("UPDATE stock SET quantity = 6");
    await run("stocks");
    expect(rows("SELECT 1 FROM feed_outbox")).toEqual([]);
    sandbox.faults.remove(part);
    said("The database is down");
    erp.exec("UPDATE stock SET quantity = 7");
    await run("stocks");
    expect(rows("SELECT 1 FROM feed_outbox")).toHaveLength(3);
  });

  itWhole("counts as usual when all requests got it for as long as the usual one was seen", async () => {
    const { erp, sandbox, minute, clock, holds, rows } = await startUsed();
    for (const quantity of [101, 102]) {
      clock.advance(24 * HOUR_MS);
      erp.exec(`UPDATE stock SET quantity = ${quantity}`);
      await minute();
    }
    erp.exec("UPDATE stock SET quantity = 3");
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: answer('{"queued":true}') });
    for (let hours = 0; hours < 20; hours++) {
      clock.advance(HOUR_MS);
      await minute();
    }
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).not.toEqual([{ n: 0 }]);
    for (let hours = 0; hours < 8; hours++) {
      clock.advance(HOUR_MS);
      await minute();
    }
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
    expect(holds()).toEqual([]);
  });

  /** What the service answers to every import without acting on it. */
  async function answerFor(feeds: Awaited<ReturnType<typeof startUsed>>, body: string, hours: number) {
    feeds.sandbox.faults.add({ match: { path: "import" }, when: "before", times: "forever", do: answer(body) });
    for (let hour = 0; hour < hours; hour++) await hourPasses(feeds);
  }

  async function hourPasses({ clock, run }: Awaited<ReturnType<typeof startUsed>>) {
    clock.advance(HOUR_MS);
    await run("stocks");
    await run("stocks");
  }

  itWhole.each([
    ["works of a weekend", 48, 27],
    ["works of an evening", 4, 6],
  ])("stays in doubt without a sign of an acceptance, however long it lasts: %s", async (_, usualHours, hours) => {
    const feeds = await startUsed();
    const { erp, sandbox, clock, holds, level } = feeds;
    clock.advance(usualHours * HOUR_MS);
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-1'");
    await answerFor(feeds, '{"notice":"works until monday"}', hours);
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    sandbox.faults.clear();
    for (let hour = 0; hour < 2; hour++) await hourPasses(feeds);
    expect(level("S-1")).toBe(0);
    expect(holds()).toEqual([]);
    erp.exec("UPDATE stock SET quantity = 7 WHERE sku = 'S-1'");
    expect(await feeds.run("stocks")).toMatchObject({ outcome: "done" });
    expect(level("S-1")).toBe(7);
  });

  itWhole(
    "is believed after a day where it has a sign, is shown, and goes again once when the usual one is back",
    async () => {
      const feeds = await startUsed({ settings: { imports: { stocks: { chunk: 1, delete_after: "0s" } } } });
      const { erp, sandbox, clock, holds, level, levels, rows, site, bridge } = feeds;
      clock.advance(48 * HOUR_MS);
      erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-1'");
      await answerFor(feeds, '{"status":"ok","job":1}', 30);
      erp.exec("UPDATE stock SET quantity = 1 WHERE sku = 'S-2'; DELETE FROM stock WHERE sku = 'S-3'");
      for (let hour = 0; hour < 3; hour++) await hourPasses(feeds);
      expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
      expect(holds()).toEqual([]);
      expect(loadObservations(bridge.store)).toMatchObject([
        { kind: "answer", name: "/api/v1/import/stocks {status, job} status=ok", state: "new" },
      ]);
      expect(["S-1", "S-2", "S-3", "S-4"].map(level)).toEqual([10, 10, 10, 10]);
      sandbox.faults.clear();
      erp.exec("UPDATE stock SET quantity = 4 WHERE sku = 'S-4'");
      for (let hour = 0; hour < 3; hour++) await hourPasses(feeds);
      expect(site()).toMatchObject({ "S-1": { quantity: 0 }, "S-2": { quantity: 1 }, "S-4": { quantity: 4 } });
      expect(level("S-3") ?? 0).toBe(0);
      expect(["S-1", "S-2"].map(levels)).toEqual([
        [10, 0],
        [10, 1],
      ]);
      expect(loadObservations(bridge.store)).toEqual([]);
      // Nothing goes a third time.
      feeds.requests();
      await feeds.compare();
      expect(feeds.requests()).toEqual([]);
    },
  );

  itWhole(
    "that was the only one in the first hours puts all that it accepted in doubt once the service answers well",
    async () => {
      const feeds = await startFeeds({ settings: { imports: { stocks: { chunk: 1 } } } });
      const { erp, sandbox, level, holds } = feeds;
      fillStock(erp, 4);
      await answerFor(feeds, '{"notice":"Good day"}', 2);
      expect(holds()).toEqual([]);
      sandbox.faults.clear();
      erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-1'");
      for (let hour = 0; hour < 8; hour++) await hourPasses(feeds);
      expect(["S-1", "S-2", "S-3", "S-4"].map(level)).toEqual([3, 10, 10, 10]);
      expect(holds()).toEqual([]);
    },
  );

  itWhole("counts as usual once a person has resumed the feed", async () => {
    const { erp, sandbox, run, minute, bridge, clock, holds, rows } = await startUsed();
    erp.exec("UPDATE stock SET quantity = 3");
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: "forever", do: answer('{"imported":0}') });
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    bridge.store.write(() => acceptForms(bridge.store, [ENDPOINT.import("/api/v1/import/stocks")]));
    clock.advance(HOUR_MS);
    await minute();
    expect(holds()).toEqual([]);
    expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
  });

  itWhole(
    "is over after a restart too, where the acceptances that settle it are those that make a form usual",
    async () => {
      const { erp, sandbox, run, minutes, restart, clock, holds, levels, rows } = await startFeeds({
        settings: { imports: { stocks: { chunk: 1 } } },
      });
      fillStock(erp, 1);
      await run("stocks");
      sandbox.faults.add({ match: { path: "import" }, when: "after", times: 1, do: answer("Connection refused") });
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-2', 10)");
      expect(await run("stocks")).toMatchObject({ outcome: "failed", error: { code: "answer_unknown" } });
      expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
      await restart({ imports: { stocks: { chunk: 1 } } });
      erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-3', 10)");
      clock.advance(HOUR_MS);
      await minutes(3);
      expect(levels("S-3")).toEqual([10]);
      expect(rows("SELECT count(*) AS n FROM feed_outbox")).toEqual([{ n: 0 }]);
      expect(holds()).toEqual([]);
    },
  );

  /** Of S-2 the service says something else than of all others; `strange.body` undefined: as of the others. */
  function answerOne(feeds: PushedFeeds) {
    const { service } = feeds.sandbox;
    const handle = service.handle.bind(service);
    const strange: { body: string | undefined; status: number } = { body: undefined, status: 200 };
    service.handle = (request) => {
      const { body, status } = strange;
      if (body === undefined || !request.body.includes('"S-2"')) return handle(request);
      return { ...handle({ ...request, path: "/" }), status, headers: {}, body: Buffer.from(body) };
    };
    return strange;
  }

  const SETTINGS = { imports: { stocks: { chunk: 1 } } };

  itWhole.each([
    ["refused with 409", 409, false],
    ["refused with 409, after a restart", 409, true],
    ["failed at with 500", 500, false],
    ["failed at with 500, after a restart", 500, true],
  ])("is over with the next acceptance of another row once its row is %s", async (_, status, isRestarted) => {
    const feeds = await startUsed();
    const { erp, minutes, restart, clock, holds, level, rows } = feeds;
    const strange = answerOne(feeds);
    Object.assign(strange, { body: '{"elsewhere":"warehouse"}', status: 200 });
    erp.exec("UPDATE stock SET quantity = 3 WHERE sku = 'S-2'");
    await minutes(1);
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    Object.assign(strange, { body: '{"error":"busy"}', status });
    if (isRestarted) await restart(SETTINGS);
    for (let hours = 0; hours < 3; hours++) await hourPasses(feeds);
    expect(holds().filter(({ reason }) => reason === "answer")).toHaveLength(1);
    for (const quantity of [4, 5, 6]) {
      erp.exec(`UPDATE stock SET quantity = ${quantity} WHERE sku = 'S-1'`);
      clock.advance(HOUR_MS);
      await minutes(2);
    }
    expect([level("S-1"), level("S-2")]).toEqual([6, 10]);
    expect(rows("SELECT k0, state FROM feed_outbox")).toEqual([{ k0: "S-2", state: "waiting" }]);
    expect(holds()).toEqual([]);
  });

  itWhole("stands while its row is answered so, however often the program starts and takes others", async () => {
    const feeds = await startUsed();
    const { erp, minutes, restart, clock, holds, level, rows } = feeds;
    const strange = answerOne(feeds);
    strange.body = '{"elsewhere":"warehouse"}';
    erp.exec("UPDATE stock SET quantity = 30 WHERE sku = 'S-2'");
    await minutes(1);
    const since = rows("SELECT since FROM holds");
    for (let quantity = 9; quantity > 0; quantity--) {
      await restart(SETTINGS);
      erp.exec(`UPDATE stock SET quantity = ${quantity} WHERE sku = 'S-1'`);
      await minutes(3);
      expect([level("S-1"), holds()]).toEqual([quantity, [{ area: "stocks", reason: "answer" }]]);
    }
    expect(rows("SELECT since FROM holds")).toEqual(since);
    strange.body = undefined;
    clock.advance(2 * HOUR_MS);
    await minutes(5);
    expect([level("S-2"), holds()]).toEqual([30, []]);
  });

  itWhole("is over once its row is in quarantine, where the acceptances since have made a form usual", async () => {
    const feeds = await startFeeds({ settings: SETTINGS });
    const { erp, run, minutes, restart, clock, holds, quarantined } = feeds;
    const strange = answerOne(feeds);
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-1', 10), ('S-3', 10)");
    await run("stocks");
    strange.body = "Connection refused";
    erp.exec("INSERT INTO stock (sku, quantity) VALUES ('S-2', 10)");
    await run("stocks");
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    await restart(SETTINGS);
    Object.assign(strange, { body: '{"error":"no such article"}', status: 422 });
    erp.exec("UPDATE stock SET quantity = 9 WHERE sku = 'S-1'");
    clock.advance(HOUR_MS);
    await minutes(3);
    expect(quarantined()).toMatchObject([{ reference: "S-2", state: "held" }]);
    expect(holds()).toEqual([]);
  });

  itWhole("for one record alone keeps back no other", async () => {
    const { erp, sandbox, minute, level, quarantined, clock, rows } = await startUsed();
    erp.exec("UPDATE stock SET quantity = 3");
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    let isStrange = true;
    service.handle = (request) =>
      isStrange && request.body.includes('"S-2"')
        ? {
            ...handle({ ...request, path: "/" }),
            status: 200,
            headers: {},
            body: Buffer.from('{"elsewhere":"warehouse"}'),
          }
        : handle(request);
    clock.advance(IMPORT_TIMEOUT_MS);
    for (let minutes = 0; minutes < 20; minutes++) await minute();
    expect(["S-1", "S-2", "S-3", "S-4"].map(level)).toEqual([3, 10, 3, 3]);
    expect(quarantined()).toEqual([]);
    isStrange = false;
    clock.advance(2 * HOUR_MS);
    for (let minutes = 0; minutes < 5; minutes++) await minute();
    expect(level("S-2")).toBe(3);
    expect(rows("SELECT * FROM holds")).toEqual([]);
  });
});

describe("a status that is answered in another form than usual", () => {
  async function startUsedStatuses() {
    const statuses = await startStatusBridge({ orders: 5 });
    for (const id of statuses.ids.slice(0, 3)) statuses.ask(id, "paid");
    await statuses.send();
    expect(statuses.states()).toEqual(["sent", "sent", "sent"]);
    return statuses;
  }

  itSome(1)(["before", "after"] as const)("is looked for at its order: %s", async (when) => {
    const { ids, ask, sendFor, sandbox, request, effects, posts } = await startUsedStatuses();
    const id = ask(ids[3]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when, do: answer('{"job":"a1"}'), times: 1 });
    await sendFor(3);
    await sendFor(when === "before" ? 60 : 0);
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(effects(ids[3])).toEqual(["paid"]);
    expect(posts()).toHaveLength(when === "before" ? 5 : 4);
  });
});

describe("a status that never shows at its order", () => {
  it("hides no proof that others give of a new form", async () => {
    const { ids, ask, send, sendFor, sandbox, request, states, clock } = await startStatusBridge({ orders: 8 });
    for (const id of ids.slice(0, 3)) ask(id, "paid");
    await send();
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (asked) => {
      if (asked.method === "GET" || !asked.path.endsWith("/status")) return handle(asked);
      const answered = asked.path.includes(ids[3]!) ? undefined : handle(asked);
      const headers = { ...answered?.headers, "content-type": "application/json" };
      return { status: 200, headers, body: Buffer.from('{"job":"a1"}'), delivery: { kind: "plain" } };
    };
    const never = ask(ids[3]!, "paid");
    await sendFor(5);
    expect(request(never).state).not.toBe("sent");
    for (const id of ids.slice(4, 7)) {
      ask(id, "paid");
      await sendFor(20);
    }
    clock.advance(3_600_000);
    ask(ids[7]!, "paid");
    await sendFor(20);
    expect(states()).toEqual(Array(8).fill("sent"));
  });
});

describe("a confirm that is answered in another form than usual", () => {
  async function startUsedConfirms() {
    const t = await startTestBridge({ sandbox: { options: { batchSize: 1 } } });
    createOrders(t, 3);
    for (let passes = 0; passes < 3; passes++) await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
    createOrders(t, 1);
    return t;
  }

  it("is sent again where the batch is served again", async () => {
    const t = await startUsedConfirms();
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "before", do: answer("Good day"), times: 1 });
    await t.run("orders");
    expect(batchStates(t).at(-1)).toBe("stored");
    await t.run("orders");
    expect(batchStates(t).at(-1)).toBe("confirmed");
    expectComplete(t);
  });

  itWhole("counts as confirmed once nothing of the batch was served for an hour", async () => {
    const t = await startUsedConfirms();
    t.sandbox.faults.add({ match: { path: "confirm" }, when: "after", do: answer("Good day"), times: "forever" });
    await t.run("orders");
    let polls = 0;
    for (; batchStates(t).at(-1) === "stored"; polls++) {
      t.clock.advance(8 * 60_000);
      await t.run("orders");
    }
    expect(polls).toBeGreaterThan(7);
    expect(batchStates(t).at(-1)).toBe("confirmed");
  });
});

describe("an import of whose records the answer says something new", () => {
  /** A service that leaves these articles alone and says so in a way of its own beside its usual answer. */
  async function startLeavingOut(left: ReadonlySet<string>, say: (keys: string[]) => object, stocks: object = {}) {
    const feeds = await startFeeds({ settings: { imports: { stocks: { chunk: 4, ...stocks } } } });
    const { service } = feeds.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const sent = JSON.parse(request.body.toString() || "{}") as { stocks?: { sku: string }[] };
      const skus = (sent.stocks ?? []).map(({ sku }) => sku).filter((sku) => left.has(sku));
      if (skus.length === 0) return handle(request);
      const stocks = sent.stocks?.filter(({ sku }) => !left.has(sku));
      const answered = handle({ ...request, body: Buffer.from(JSON.stringify({ stocks })) });
      const body = { ...JSON.parse(answered.body.toString()), accepted: sent.stocks?.length, ...say(skus) };
      return { ...answered, body: Buffer.from(JSON.stringify(body)) };
    };
    fillStock(feeds.erp, 12);
    await feeds.run("stocks");
    return feeds;
  }

  it("acknowledges all others, says what was said of that one, and sends it again until it is taken", async () => {
    const left = new Set<string>();
    const { erp, minutes, level, quarantined, rows, clock, holds } = await startLeavingOut(left, (keys) => ({
      unknown_skus: keys,
    }));
    left.add("S-2");
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-2', 'S-3')");
    await minutes(3);
    clock.advance(IMPORT_TIMEOUT_MS);
    await minutes(3);
    expect(["S-1", "S-2", "S-3"].map(level)).toEqual([0, 10, 0]);
    const sent = "SELECT sku, json_extract(sent, '$.quantity') AS level, state FROM stock_sent WHERE sku = 'S-2'";
    expect(rows(sent)).not.toEqual([{ sku: "S-2", level: 0, state: "sent" }]);
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    expect(rows("SELECT detail FROM holds")).toEqual([{ detail: expect.stringContaining('unknown_skus: ["S-2"]') }]);
    left.clear();
    erp.exec("UPDATE stock SET quantity = 1 WHERE sku = 'S-2'");
    await minutes(20);
    expect(level("S-2")).toBe(1);
    expect(quarantined()).toEqual([]);
    expect(holds()).toEqual([]);
  });

  itWhole("is never usual because of its time, however well the answer sounds", async () => {
    const left = new Set<string>();
    const { erp, run, level, rows, clock, holds } = await startLeavingOut(left, (keys) => ({
      success: true,
      not_found: keys,
    }));
    left.add("S-2");
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku = 'S-2'");
    for (let hours = 0; hours < 40; hours++) {
      clock.advance(HOUR_MS);
      await run("stocks");
    }
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "S-2" }]);
    expect(holds()).toEqual([{ area: "stocks", reason: "answer" }]);
    left.clear();
    for (let hours = 0; hours < 3; hours++) {
      clock.advance(HOUR_MS);
      await run("stocks");
    }
    expect(level("S-2")).toBe(0);
    expect(holds()).toEqual([]);
  });

  itWhole("is known by the key column that tells the rows apart, wherever it stands", async () => {
    const left = new Set<string>();
    const feeds = await startLeavingOut(left, (keys) => ({ not_found: keys }), { key: ["warehouse", "sku"] });
    const { erp, minutes, level, rows } = feeds;
    left.add("S-2");
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-2')");
    await minutes(10);
    expect(level("S-1")).toBe(0);
    expect(rows("SELECT k1 FROM feed_outbox")).toEqual([{ k1: "S-2" }]);
  });

  itWhole.each([
    ["in a list of names", (keys: string[]) => ({ not_found: keys })],
    ["beside each", (keys: string[]) => ({ results: keys.map((sku) => ({ sku, status: "unknown" })) })],
    ["in a sentence", (keys: string[]) => ({ note: `There is no ${keys.join(", ")}.` })],
  ])("is known by what names its article where the record lacks the key: %s", async (_, say) => {
    const left = new Set<string>();
    const feeds = await startLeavingOut(left, say, {
      query: "SELECT 'row of ' || sku AS id, sku, quantity, reserved FROM stock",
      ...{ key: ["id"], record: { sku: "{sku}", quantity: "{available}" } },
    });
    const { erp, minutes, level, rows } = feeds;
    left.add("S-2");
    erp.exec("UPDATE stock SET quantity = 0 WHERE sku IN ('S-1', 'S-2')");
    // In the pass that reads it, before the hold of a request that nobody understands would send each record alone.
    await minutes(1);
    expect(level("S-1")).toBe(0);
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "row of S-2" }]);
    await minutes(9);
    expect(rows("SELECT k0 FROM feed_outbox")).toEqual([{ k0: "row of S-2" }]);
  });

  itWhole("is read behind a byte order mark, too", async () => {
    const { erp, sandbox, run, level } = await startFeeds();
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (request) => {
      const answered = handle(request);
      return { ...answered, body: Buffer.concat([Buffer.from("\ufeff"), answered.body]) };
    };
    fillStock(erp, 1);
    expect(await run("stocks")).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(level("S-1")).toBe(10);
  });
});

describe("a service that says of each record whether it was changed", () => {
  const FORMS = ["outcomes", "outcomes in order", "updated"] as const;

  it.each(FORMS)("has a row whose answer was lost, and nothing is held: %s", async (importAnswer) => {
    const { erp, sandbox, run, minute, level, clock, holds, rows } = await startUsed({
      sandbox: { options: { importAnswer } },
    });
    erp.exec("UPDATE stock SET quantity = 3 WHERE sku IN ('S-1', 'S-2')");
    sandbox.faults.add({ match: { path: "import" }, when: "after", times: 2, do: { kind: "reset" } });
    await run("stocks");
    expect(rows("SELECT k0 FROM feed_outbox")).toHaveLength(2);
    clock.advance(IMPORT_TIMEOUT_MS);
    for (let minutes = 0; minutes < 4; minutes++) await minute();
    expect([level("S-1"), level("S-2")]).toEqual([3, 3]);
    expect([holds(), rows("SELECT k0 FROM feed_outbox")]).toEqual([[], []]);
  });

  it("has a level that it has sold down to by itself", async () => {
    const { erp, sandbox, run, holds, rows } = await startUsed({ sandbox: { options: { importAnswer: "outcomes" } } });
    // The site has sold one, and the ERP has the order.
    const site = [...sandbox.service.imported("stocks")];
    const sold = site.map(
      ([key, text]) =>
        [key, text.replace('"S-1","warehouse":"","quantity":10', '"S-1","warehouse":"","quantity":9')] as const,
    );
    expect(sold).not.toEqual(site);
    sandbox.service.restore(Date.now() + HOUR_MS, new Map([["stocks", new Map(sold)]]));
    erp.exec("UPDATE stock SET quantity = 9 WHERE sku = 'S-1'");
    await run("stocks");
    expect([holds(), rows("SELECT k0 FROM feed_outbox")]).toEqual([[], []]);
  });
});
