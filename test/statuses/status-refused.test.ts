import { describe, expect, it } from "vitest";
import { STATUS_PATH, startStatusBridge } from "../support/statuses.ts";
import { inWhole, itSome, itWhole, some } from "../support/whole.ts";

const whole = inWhole("statuses/status-refused");

const MINUTE = 60_000;
const transitions = { new: ["accepted"], accepted: ["shipped"] };

const isIllegal = { options: { status: { transitions } } } as const;
const refuse = (status: number, body: string, contentType = "application/json") =>
  ({ kind: "status", status, body, headers: { "content-type": contentType } }) as const;

describe("a status that the service refuses", () => {
  itSome(1)([409, 422] as const)(
    "keeps the service's words (%i), beside another one that is accepted",
    async (refusal) => {
      const { ids, ask, send, request, effects, posts } = await startStatusBridge({
        orders: 2,
        sandbox: { options: { status: { transitions, refusal } } },
      });
      const bad = ask(ids[0]!, "shipped");
      const after = ask(ids[0]!, "accepted");
      const good = ask(ids[1]!, "accepted");
      expect(await send()).toMatchObject({ error: null, counts: { refused: 1, sent: 2 } });
      expect(request(bad)).toMatchObject({ state: "refused", http_status: refusal, echo: null, attempts: 2 });
      expect(request(bad).last_error).toContain("an order with status new cannot become shipped");
      expect([request(after).state, request(good).state]).toEqual(["sent", "sent"]);
      // It was asked once more after another one had been accepted.
      expect(posts()).toHaveLength(4);
      expect(effects()).toEqual(["accepted", "accepted"]);
    },
  );

  itWhole.each([409, 422, 400] as const)(
    "waits where nothing else is accepted, and is sent where the service refused everything for a while (%i)",
    async (status) => {
      const { ids, ask, sendFor, sandbox, request, effects, posts, rows } = await startStatusBridge({ orders: 2 });
      ask(ids[1]!, "paid");
      await sendFor(1);
      const id = ask(ids[0]!, "paid");
      const readOnly = refuse(status, '{"error":"read-only: data is being converted"}');
      sandbox.faults.add({ match: { path: "status" }, times: "forever", do: readOnly });
      await sendFor(30);
      await sendFor(29 * 60, 10);
      expect(request(id)).toMatchObject({ state: "pending", http_status: status });
      expect(request(id).last_error).toContain("read-only");
      expect(posts().length).toBeLessThanOrEqual(150);
      sandbox.faults.clear();
      await sendFor(16);
      expect(request(id)).toMatchObject({ state: "sent", last_error: null });
      expect(effects(ids[0])).toEqual(["paid"]);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    },
  );

  itWhole("is refused where it is refused alone for long, and again as soon as another one was accepted", async () => {
    const { ids, ask, sendFor, send, request, effects } = await startStatusBridge({ orders: 2, sandbox: isIllegal });
    const bad = ask(ids[0]!, "shipped");
    await sendFor(60, 5);
    expect(request(bad)).toMatchObject({ state: "pending" });
    ask(ids[1]!, "accepted");
    await send();
    expect(request(bad)).toMatchObject({ state: "refused" });
    expect(effects()).toEqual(["accepted"]);
  });

  itWhole("is refused where each pass is a process of its own, and another one was accepted in between", async () => {
    const { ids, ask, send, request, restart, posts, clock } = await startStatusBridge({
      orders: 2,
      sandbox: isIllegal,
    });
    const pass = async () => {
      clock.advance(MINUTE);
      await restart();
      await send();
    };
    const bad = ask(ids[0]!, "shipped");
    for (let times = 0; times < 3; times++) await pass();
    expect(request(bad)).toMatchObject({ state: "pending" });
    ask(ids[1]!, "accepted");
    for (let times = 0; times < 2; times++) await pass();
    expect(request(bad)).toMatchObject({ state: "refused" });
    const sent = posts().length;
    await pass();
    expect(posts()).toHaveLength(sent);
  });

  itWhole(
    "is refused where the service answers 200 with the order in the status that it had, again and again",
    async () => {
      const { ids, ask, send, sendFor, sandbox, request, effects } = await startStatusBridge({ orders: 2 });
      const id = ask(ids[0]!, "paid");
      const body = JSON.stringify({ order_id: ids[0], status: "new" });
      sandbox.faults.add({
        match: { path: "status", order: ids[0]! },
        times: "forever",
        do: { kind: "raw", contentType: "application/json", body },
      });
      await send();
      expect(request(id)).toMatchObject({ state: "sending" });
      ask(ids[1]!, "paid");
      await sendFor(59);
      expect(request(id)).toMatchObject({ state: "sending", attempts: 1 });
      await sendFor(5);
      expect(request(id)).toMatchObject({ state: "refused", http_status: 200, attempts: 2 });
      expect(request(id).last_error).toContain('the order in the status "new"');
      expect(effects()).toEqual(["paid"]);
    },
  );

  itWhole.each([
    ["in between", 30, 1, 2],
    ["a day after its last time", 26 * 60, 3, 4],
  ])(
    "is refused also where the daemon was restarted, and another one was accepted %s",
    async (_, minutes, before, after) => {
      const bridge = await startStatusBridge({ orders: 2 });
      const { ids, ask, send, sendFor, sandbox, request, effects, restart } = bridge;
      const id = ask(ids[0]!, "paid");
      const body = JSON.stringify({ order_id: ids[0], status: "new" });
      const match = { path: "status", order: ids[0]! } as const;
      sandbox.faults.add({ match, times: "forever", do: { kind: "raw", contentType: "application/json", body } });
      await send();
      await sendFor(minutes, 10);
      expect(request(id)).toMatchObject({ state: "sending", attempts: before });
      ask(ids[1]!, "paid");
      await send();
      await restart();
      await sendFor(130, 10);
      expect(request(id)).toMatchObject({ state: "refused", http_status: 200, attempts: after });
      expect(request(id).last_error).toContain('the order in the status "new"');
      expect(effects()).toEqual(["paid"]);
    },
  );

  itWhole.each(["new", "Y7-1234567"])(
    "is not sent again at once where the answer shows another status (%s) and says that it was not processed",
    async (status) => {
      const { ids, ask, send, sendFor, sandbox, posts } = await startStatusBridge();
      ask(ids[0]!, "paid");
      const body = JSON.stringify({ order_id: ids[0], status, message: "not processed yet" });
      const do_ = { kind: "raw", contentType: "application/json", body } as const;
      sandbox.faults.add({ match: { path: "status" }, times: "forever", do: do_ });
      await send();
      expect(posts()).toHaveLength(1);
      await sendFor(10);
      expect(posts().length).toBeLessThan(15);
    },
  );

  itWhole("is refused, and not sent again, also where its order can be read only after a restart", async () => {
    const { ids, ask, send, sendFor, sandbox, request, posts, restart } = await startStatusBridge({ orders: 2 });
    const id = ask(ids[0]!, "paid");
    const body = JSON.stringify({ order_id: ids[0], status: "new" });
    const match = { path: "status", order: ids[0]! } as const;
    sandbox.faults.add({ match, times: "forever", do: { kind: "raw", contentType: "application/json", body } });
    await send();
    ask(ids[1]!, "paid");
    await sendFor(30, 5);
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (asked) => {
      const isUnread = asked.method === "GET" && asked.path.endsWith(ids[0]!) && posts().length > 2;
      return isUnread ? handle({ ...asked, path: "/nowhere" }) : handle(asked);
    };
    await sendFor(60, 5);
    expect([request(id).state, posts().length]).toEqual(["sending", 3]);
    sandbox.service.handle = handle;
    await restart();
    await sendFor(60, 5);
    expect([request(id).state, posts().length]).toEqual(["refused", 3]);
  });

  itWhole.each(["$", "data", "order"])(
    "is sent once more where one answer shows the status from before (%s)",
    async (place) => {
      const { ids, ask, send, sendFor, sandbox, request, effects } = await startStatusBridge();
      const id = ask(ids[0]!, "paid");
      const order = { order_id: ids[0], status: "new" };
      const body = JSON.stringify(place === "$" ? order : { [place]: order });
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "raw", contentType: "application/json", body } });
      await send();
      await sendFor(61);
      expect(request(id)).toMatchObject({ state: "sent", http_status: 200 });
      expect(effects()).toEqual(["paid"]);
    },
  );

  itWhole(
    "is sent and takes effect once where the answer shows the status from before, and it comes later",
    async () => {
      const { ids, ask, send, sendFor, sandbox, request, posts } = await startStatusBridge();
      const id = ask(ids[0]!, "paid");
      const body = JSON.stringify({ order_id: ids[0], status: "new" });
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "raw", contentType: "application/json", body } });
      await send();
      sandbox.service.changeOrder(ids[0]!, { status: "paid" });
      await sendFor(3);
      expect(request(id)).toMatchObject({ state: "sent" });
      expect(posts()).toHaveLength(1);
    },
  );

  itWhole(
    "is refused where the service answers 200 with the order cancelled, also where no stored order is",
    async () => {
      const { ids, ask, send, sendFor, sandbox, request, effects } = await startStatusBridge({ orders: 2 });
      const id = ask(ids[0]!, "paid");
      sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
      const body = JSON.stringify({ order_id: ids[0], status: "cancelled" });
      const match = { path: "status", order: ids[0]! } as const;
      sandbox.faults.add({ match, times: "forever", do: { kind: "raw", contentType: "application/json", body } });
      await send();
      expect(request(id)).toMatchObject({ state: "sending" });
      await sendFor(12);
      expect([request(id).state, effects()]).toEqual(["refused", []]);
    },
  );

  itWhole.each([
    ["a status of other orders", "ready"],
    ["a status whose name says no", "declined"],
    ["no known status", "Y7-1234567"],
  ])(
    "is sent once where the service moves the order on at once, and answers with it as it is then: %s",
    async (_, next) => {
      const bridge = await startStatusBridge({
        orders: 4,
        sandbox: { options: { status: { movesOn: { packed: next } } } },
      });
      const { ids, ask, send, sendFor, sandbox, run, clock, states, posts, rows, order } = bridge;
      if (next === "ready") sandbox.service.changeOrder(ids[3]!, { status: next });
      clock.advance(MINUTE);
      await run("updates");
      for (const id of ids.slice(0, 3)) ask(id, "packed");
      await send();
      await sendFor(2 * 60, 5);
      expect([states(), posts().length]).toEqual([["sent", "sent", "sent"], 3]);
      expect(order(ids[0]!).status).toBe(next);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    },
  );

  itWhole.each([
    ["no answer has a date", { dateHeader: false }],
    ["times are written to the minute", { precision: "min" }],
  ] as const)(
    "is sent once, and refused after ten minutes, where nothing shows when the order was moved on: %s",
    async (_, form) => {
      const options = { ...form, status: { movesOn: { packed: "ready" } } };
      const bridge = await startStatusBridge({ orders: 2, sandbox: { options } });
      const { ids, ask, send, sendFor, sandbox, run, clock, states, posts } = bridge;
      sandbox.service.changeOrder(ids[1]!, { status: "ready" });
      clock.advance(MINUTE * 2 - ((sandbox.service.now() + MINUTE / 2) % MINUTE));
      await run("updates");
      ask(ids[0]!, "packed");
      await send();
      await sendFor(9);
      expect(states()).toEqual(["sending"]);
      await sendFor(2 * 60, 5);
      expect([states(), posts().length]).toEqual([["refused"], 1]);
    },
  );

  itWhole.each([
    ["to the status of another order", { isKnown: true, dateHeader: true }],
    ["to a status that no order had, and no answer has a date", { isKnown: false, dateHeader: false }],
  ])(
    "is sent once where the order bore a later time before, and is moved on %s",
    async (_, { isKnown, dateHeader }) => {
      const options = { dateHeader, status: { movesOn: { packed: "ready" } } };
      const { ids, ask, send, sendFor, sandbox, run, clock, rows, posts } = await startStatusBridge({
        orders: 2,
        sandbox: { options },
      });
      if (isKnown) sandbox.service.changeOrder(ids[1]!, { status: "ready" });
      clock.advance(MINUTE);
      await run("updates");
      rows("UPDATE orders SET service_updated_at = '2026-03-02T12:00:00.000Z' WHERE order_id = ? RETURNING 1", ids[0]!);
      ask(ids[0]!, "packed");
      await send();
      for (const _ of [1, 2, 3]) {
        await sendFor(30, 5);
        await run("updates");
      }
      await sendFor(3 * 60, 5);
      expect(posts()).toHaveLength(1);
    },
  );

  itWhole("is sent once where the order had the status before to which it is moved on", async () => {
    const options = { status: { movesOn: { packed: "ready" }, timed: true } };
    const { ids, ask, send, sendFor, sandbox, run, clock, states, posts } = await startStatusBridge({
      sandbox: { options },
    });
    sandbox.service.changeOrder(ids[0]!, { status: "ready" });
    clock.advance(MINUTE);
    await run("updates");
    ask(ids[0]!, "packed");
    await send();
    await sendFor(3 * 60, 5);
    expect([states(), posts().length]).toEqual([["sent"], 1]);
  });

  itWhole.each([
    ["no answer has a date", { dateHeader: false }],
    ["times are written to the minute", { precision: "min" }],
  ] as const)(
    "is sent once more where the order had the status before to which it is moved on, and nothing shows when: %s",
    async (_, form) => {
      const options = { ...form, status: { movesOn: { packed: "ready" }, timed: true } };
      const { ids, ask, send, sendFor, sandbox, run, clock, states, posts } = await startStatusBridge({
        sandbox: { options },
      });
      sandbox.service.changeOrder(ids[0]!, { status: "ready" });
      clock.advance(MINUTE);
      await run("updates");
      clock.advance(MINUTE * 2 - ((sandbox.service.now() + MINUTE / 2) % MINUTE));
      ask(ids[0]!, "packed");
      await send();
      await sendFor(55, 5);
      expect([states(), posts().length]).toEqual([["sending"], 1]);
      await sendFor(10, 5);
      expect([states(), posts().length]).toEqual([["sent"], 2]);
    },
  );

  itWhole.each<[string, number, { paid: boolean; before: string; dateHeader?: boolean }]>([
    ["a status, from the one that was asked for", 422, { paid: true, before: "packed" }],
    ["a status", 422, { paid: true, before: "new" }],
    ["a status, and nothing shows when", 400, { paid: true, before: "new", dateHeader: false }],
    ["the status that it had before", 400, { paid: true, before: "ready" }],
    ["the status that it had before, and nothing shows when", 422, { paid: true, before: "ready", dateHeader: false }],
    ["a status, under a path that was never accepted", 404, { paid: false, before: "new" }],
    ["a status", 409, { paid: true, before: "new" }],
    ["a status", 404, { paid: true, before: "new" }],
    ["a status", 200, { paid: true, before: "new" }],
    ["the status that it had before, under a path that was never accepted", 404, { paid: false, before: "ready" }],
  ])(
    "is sent once where it was taken and moved on at once to %s, and refused all the same (%i)",
    async (_, status, { paid, before, dateHeader = true }) => {
      const options = { dateHeader, status: { movesOn: { packed: "ready" } } };
      const { ids, ask, send, sendFor, sandbox, request, effects, run, clock } = await startStatusBridge({
        orders: 2,
        sandbox: { options },
        settings: { statuses: { body: { status: "{status}", note: "{comment}" } } },
      });
      if (paid) ask(ids[1]!, "paid", { comment: "" });
      sandbox.service.changeOrder(ids[0]!, { status: before });
      await run("updates");
      clock.advance(MINUTE);
      await send();
      const handle = sandbox.service.handle.bind(sandbox.service);
      sandbox.service.handle = (asked) => {
        const answer = handle(asked);
        return asked.path.endsWith("/status")
          ? { ...answer, status, body: Buffer.from('{"error":"not now"}') }
          : answer;
      };
      const id = ask(ids[0]!, "packed", { comment: "by hand" });
      await send();
      expect(request(id)).toMatchObject({ state: "sending", last_error: expect.stringContaining("not now") });
      await sendFor(3 * 60, 5);
      expect(request(id)).toMatchObject({ state: "refused", attempts: 1 });
      expect(request(id).last_error).toContain("changed meanwhile");
      expect(effects(ids[0]!)).toHaveLength(1);
    },
  );

  itWhole("is refused by its words where others are accepted by being moved on at once", async () => {
    const { ids, ask, send, sendFor, sandbox, request, run, clock, states } = await startStatusBridge({
      orders: 3,
      sandbox: { options: { status: { movesOn: { packed: "ready" } } } },
    });
    sandbox.service.changeOrder(ids[2]!, { status: "ready" });
    clock.advance(MINUTE);
    await run("updates");
    const id = ask(ids[0]!, "packed");
    const body = JSON.stringify({ order_id: ids[0], status: "new" });
    const match = { path: "status", order: ids[0]! } as const;
    sandbox.faults.add({ match, times: "forever", do: { kind: "raw", contentType: "application/json", body } });
    await send();
    ask(ids[1]!, "packed");
    await sendFor(65, 5);
    expect(states()).toEqual(["refused", "sent"]);
    expect(request(id).last_error).toContain('the order in the status "new"');
  });

  itWhole("is sent once where the order cannot be read after an answer that shows another status", async () => {
    const bridge = await startStatusBridge({
      orders: 2,
      sandbox: { options: { status: { movesOn: { packed: "ready" } } } },
    });
    const { ids, ask, send, sendFor, sandbox, run, clock, posts } = bridge;
    sandbox.service.changeOrder(ids[1]!, { status: "ready" });
    clock.advance(MINUTE);
    await run("updates");
    ask(ids[0]!, "packed");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 4, do: { kind: "status", status: 500 } });
    await send();
    await sendFor(2 * 60, 5);
    expect(posts()).toHaveLength(1);
  });

  itWhole.each([200, 202])(
    "is sent once in an hour where the service carries it out later, and answers with the order as it is (%i)",
    async (status) => {
      const { ids, ask, send, sendFor, sandbox, request, run, posts } = await startStatusBridge({ orders: 4 });
      const body = (id: string) => JSON.stringify({ order_id: id, status: "new" });
      const asked = ids.slice(0, 3).map((id) => {
        const do_ = {
          kind: "status",
          status,
          body: body(id),
          headers: { "content-type": "application/json" },
        } as const;
        sandbox.faults.add({ match: { path: "status", order: id }, times: "forever", do: do_ });
        return ask(id, "packed");
      });
      await send();
      ask(ids[3]!, "packed");
      await sendFor(20);
      for (const id of ids.slice(0, 2)) sandbox.service.changeOrder(id, { status: "packed" });
      // One is moved on, and the changes have shown both.
      await run("updates");
      sandbox.service.changeOrder(ids[1]!, { status: "ready" });
      await run("updates");
      await sendFor(35);
      expect(asked.map((id) => request(id).state)).toEqual(["sent", "sent", "sending"]);
      expect(posts()).toHaveLength(4);
    },
  );

  itWhole("is not sent again where it was seen at the order since a refusal, and the order was moved on", async () => {
    const { ids, ask, send, sendFor, sandbox, clock, run, states, posts } = await startStatusBridge();
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: refuse(409, '{"error":"busy"}') });
    sandbox.faults.add({ match: { path: "snapshot" }, times: 4, do: { kind: "status", status: 500 } });
    ask(ids[0]!, "packed");
    await send();
    clock.advance(1_000);
    await run("updates");
    sandbox.faults.clear();
    clock.advance(MINUTE / 2);
    await run("updates");
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[0]!, { status: "ready" });
    await run("updates");
    await sendFor(20);
    expect([states(), posts().length]).toEqual([["sent"], 1]);
  });

  itWhole.each(["on_hold", "На проверке", "Y7-1234567"])(
    "is read where the service answers 200 with the order in another status (%s), and refused where it has that",
    async (status) => {
      // Nothing shows when the request left: another client may have set that status before.
      const { ids, ask, send, sendFor, sandbox, request } = await startStatusBridge({
        orders: 5,
        sandbox: { options: { dateHeader: false } },
      });
      // What else the answers hold says nothing of that.
      for (const each of ids.slice(1, 4)) ask(each, "paid");
      await send();
      const id = ask(ids[0]!, "paid");
      sandbox.service.changeOrder(ids[0]!, { status });
      const body = JSON.stringify({ ok: true, order_id: ids[0], status });
      const match = { path: "status", order: ids[0]! } as const;
      sandbox.faults.add({ match, times: "forever", do: { kind: "raw", contentType: "application/json", body } });
      await send();
      expect(request(id).state).toBe("sending");
      await sendFor(15);
      expect(request(id).state).toBe("refused");
    },
  );

  itWhole(
    "is sent where the answers name statuses otherwise than the orders, and each is read until that is known",
    async () => {
      const { ids, ask, send, sandbox, request, posts } = await startStatusBridge({ orders: 5 });
      const reads = () => sandbox.ledger.ofKind("snapshot").length;
      for (const [index, each] of ids.entries()) {
        const body = JSON.stringify({ order_id: each, status: "Оплачен" });
        const match = { path: "status", order: each } as const;
        sandbox.faults.add({ match, when: "after", do: { kind: "raw", contentType: "application/json", body } });
        const id = ask(each, "paid");
        await send();
        expect([index, request(id)]).toMatchObject([index, { state: "sent", http_status: index < 3 ? null : 200 }]);
      }
      expect([posts().length, reads()]).toEqual([5, 5]);
    },
  );

  itWhole.each([
    ["the wanted status", "paid"],
    ["a word that is the status of no order", "ok"],
  ])("is sent where the answer names the order and has %s", async (_, status) => {
    const { ids, ask, send, sandbox, request, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    const body = JSON.stringify({ order_id: ids[0], status });
    const answer = { kind: "raw", contentType: "application/json", body } as const;
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: answer });
    await send();
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200 });
    expect(posts()).toHaveLength(1);
  });

  const ANSWERS = [
    ["400 in JSON", refuse(400, '{"error":"maintenance"}')],
    ["409 in JSON", refuse(409, '{"error":"maintenance"}')],
    ["422 in JSON", refuse(422, '{"error":"maintenance"}')],
    ["400 as a page", refuse(400, "<html>maintenance</html>", "text/html")],
    ["404 as a page", refuse(404, "<html>no such ingress</html>", "text/html")],
    ["404 in JSON", refuse(404, '{"error":"not found"}')],
    ["405", refuse(405, "")],
    ["410", refuse(410, "")],
    ["200 with an error", refuse(200, '{"error":"database is down"}')],
    ["false", refuse(200, "false")],
    ["401", refuse(401, "")],
    ["402", refuse(402, "")],
    ["403", refuse(403, "")],
    ["423", refuse(423, "")],
    ["429", refuse(429, "")],
    ["a redirect", { kind: "redirect", to: "https://elsewhere.example/x" }],
    ["500", refuse(500, "")],
    [
      "200 that says it is none",
      { kind: "raw", contentType: "application/json", body: '{"success":false,"message":"maintenance"}' },
    ],
  ] as const;

  itWhole.each(some(ANSWERS, 1))(
    "is not, whatever every status meets for three hours (%s), and all continue by themselves",
    async (_, action) => {
      const bridge = await startStatusBridge({ orders: 5 });
      const { ids, ask, sendFor, sandbox, states, effects, rows, run, posts } = bridge;
      ask(ids[4]!, "paid");
      await sendFor(1);
      for (const id of ids.slice(0, 4)) ask(id, "paid");
      sandbox.faults.add({ match: { path: "status" }, times: "forever", do: action });
      await sendFor(10);
      await sendFor(170, 10);
      expect(states().filter((state) => state === "refused")).toEqual([]);
      // Nobody else waits, and the service is not hammered.
      expect(await run("orders")).toMatchObject({ error: null });
      expect(rows("SELECT area FROM holds WHERE area <> 'statuses' OR scope <> 'flow'")).toEqual([]);
      expect(posts().length).toBeLessThanOrEqual(150);
      sandbox.faults.clear();
      await sendFor(30, 3);
      expect([new Set(states()), effects().length]).toEqual([new Set(["sent"]), 5]);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    },
  );

  itWhole("is not where a restart keeps it from being asked twice", async () => {
    const bridge = await startStatusBridge({ orders: 2, sandbox: isIllegal });
    const bad = bridge.ask(bridge.ids[0]!, "shipped");
    for (let restarts = 0; restarts < 3; restarts++) {
      await bridge.send();
      await bridge.restart();
    }
    expect(bridge.request(bad)).toMatchObject({ state: "pending" });
    await bridge.sendFor(15, 15);
    bridge.ask(bridge.ids[1]!, "accepted");
    await bridge.send();
    expect(bridge.request(bad)).toMatchObject({ state: "refused" });
  });

  itWhole(
    "stays pending where the order has no state that the template can give, and is sent once it is put right",
    async () => {
      const bridge = await startStatusBridge({ settings: { statuses: { body: { state: "{status}" } } } });
      const id = bridge.ask(bridge.ids[0]!, "paid");
      await bridge.sendFor(60);
      expect(bridge.request(id)).toMatchObject({ state: "pending", http_status: 400 });
      expect(bridge.request(id).last_error).toContain("the body lacks the text status");
      await bridge.restart({ statuses: { path: STATUS_PATH } });
      await bridge.send();
      expect(bridge.request(id)).toMatchObject({ state: "sent" });
    },
  );

  itWhole("is refused where a success says that it is none, and the order shows no effect", async () => {
    const { ids, ask, send, sandbox, request, effects } = await startStatusBridge({ orders: 2 });
    const id = ask(ids[0]!, "paid");
    const other = ask(ids[1]!, "paid");
    sandbox.faults.add({
      match: { path: "status", order: ids[0]! },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body: '{"success":false,"message":"payment is open"}' },
    });
    expect(await send()).toMatchObject({ error: null, counts: { refused: 1, sent: 1 } });
    expect(request(id)).toMatchObject({ state: "refused", http_status: 200 });
    expect(request(id).last_error).toContain("payment is open");
    expect(request(other)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["paid"]);
  });

  itWhole("is not taken for refused where the answer repeats a status with an unlucky name", async () => {
    const { ids, ask, send, sandbox, request, effects, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "failed");
    sandbox.faults.add({
      match: { path: "status" },
      when: "after",
      do: { kind: "raw", contentType: "application/json", body: '{"status":"failed"}' },
    });
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["failed"]);
    expect(posts()).toHaveLength(1);
  });

  itWhole.each([409, 422, 404])(
    "is sent where the service has it after a lost answer, and refuses the repeat (%i)",
    async (status) => {
      const { ids, ask, send, sandbox, request, effects, sendFor } = await startStatusBridge({ orders: 2 });
      const id = ask(ids[0]!, "shipped");
      // A replica shows the order as it was when it is read, and the status arrives after that.
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
      await send();
      expect(request(id)).toMatchObject({ state: "sent" });
      const late = ask(ids[1]!, "shipped");
      let posts = 0;
      const handle = sandbox.service.handle.bind(sandbox.service);
      sandbox.service.handle = (call) => {
        if (call.method === "POST" && call.path.includes(ids[1]!) && ++posts === 2) {
          sandbox.service.changeOrder(ids[1]!, { status: "shipped" });
          const body = Buffer.from('{"error":"already shipped"}');
          return { status, headers: { "content-type": "application/json" }, body } as unknown as ReturnType<
            typeof handle
          >;
        }
        return handle(call);
      };
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
      await sendFor(20);
      expect(posts).toBe(2);
      expect(request(late)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["shipped"]);
    },
  );
});

whole.describe("one order that is always answered badly", () => {
  it.each(some([401, 402, 403, 404, 405, 410, 413, 423, 429, 451, 302, 500, 503], 1))(
    "keeps no other waiting (%i)",
    async (status) => {
      const bridge = await startStatusBridge({ orders: 3 });
      const { ids, ask, send, sandbox, request, effects, clock, rows, run, posts } = bridge;
      ask(ids[1]!, "accepted");
      await send();
      const bad = ask(ids[0]!, "paid");
      const action =
        status === 302 ? ({ kind: "redirect", to: "/elsewhere" } as const) : refuse(status, '{"error":"no"}');
      sandbox.faults.add({ match: { path: "status", order: ids[0]! }, times: "forever", do: action });
      for (let passes = 0; passes < 15; passes++) {
        ask(ids[1 + (passes % 2)]!, `step ${passes}`);
        const before = clock.monotonicMs();
        const result = await bridge.bridge.runners.get("statuses")!.runNow(new AbortController().signal);
        expect(result).toMatchObject({ error: null, counts: { sent: 1 } });
        // No pass waits for anything.
        expect(clock.monotonicMs() - before).toBeLessThan(1_000);
        clock.advance(2 * MINUTE);
      }
      expect(await run("orders")).toMatchObject({ error: null });
      expect(effects(ids[1])).toHaveLength(9);
      expect(request(bad).state).toMatch(/pending|sending/);
      expect(request(bad).last_error).toContain(String(status));
      expect(rows("SELECT area FROM holds")).toEqual([]);
      expect(posts().filter(({ path }) => path.includes(ids[0]!)).length).toBeLessThanOrEqual(10);
      sandbox.faults.clear();
      clock.advance(20 * MINUTE);
      await send();
      expect(request(bad)).toMatchObject({ state: "sent", last_error: null });
    },
  );

  itWhole("asks for a wait that all statuses keep, but not again and again", async () => {
    const { ids, ask, sendFor, sandbox, request, effects, rows } = await startStatusBridge({ orders: 2 });
    const bad = ask(ids[0]!, "paid");
    const wait = { kind: "status", status: 429, headers: { "retry-after": "120" } } as const;
    sandbox.faults.add({ match: { path: "status", order: ids[0]! }, times: "forever", do: wait });
    await sendFor(1);
    expect(rows("SELECT area, reason, scope FROM holds")).toEqual([
      { area: "statuses", reason: "rate limit", scope: "flow" },
    ]);
    for (let minutes = 0; minutes < 40; minutes++) {
      ask(ids[1]!, `step ${minutes}`);
      await sendFor(1);
    }
    expect(request(bad)).toMatchObject({ state: "pending", http_status: 429 });
    expect(request(bad).attempts).toBeGreaterThan(2);
    expect(rows("SELECT area FROM holds")).toEqual([]);
    expect(effects(ids[1])).toHaveLength(40);
  });

  itWhole("is refused with the service's words where the service no longer knows the order", async () => {
    for (const goneStatus of [404, 410] as const) {
      const { ids, ask, send, sendFor, sandbox, request, rows, run } = await startStatusBridge({
        orders: 2,
        sandbox: { options: { goneStatus } },
      });
      const id = ask(ids[0]!, "paid");
      sandbox.service.deleteOrder(ids[0]!);
      for (let minutes = 0; minutes < 40; minutes++) {
        if (minutes % 10 === 0) {
          ask(ids[1]!, `step ${minutes}`);
          sandbox.service.changeOrder(ids[1]!, { lines: [{ sku: `S-${minutes}` }] });
        }
        await sendFor(1);
        await run("updates");
      }
      await send();
      expect(request(id)).toMatchObject({ state: "refused", http_status: 404 });
      expect(request(id).last_error).toContain("there is no such order");
      expect(rows("SELECT removed_at IS NOT NULL AS removed FROM orders WHERE order_id = ?", ids[0]!)).toEqual([
        { removed: 1 },
      ]);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    }
  });
});

describe("a status path that is wrong", () => {
  itSome(1)([
    ["404", { settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/state" } } }],
    ["405", { settings: { statuses: { method: "PUT" } } }],
  ])("holds the statuses and refuses nothing (%s)", async (status, options) => {
    const bridge = await startStatusBridge({ ...options, orders: 2 });
    const { ids, ask, send, rows, request, states, clock, sandbox, effects } = bridge;
    const id = ask(ids[0]!, "paid");
    ask(ids[1]!, "paid");
    const result = await send();
    expect(result).toMatchObject({ outcome: "failed", error: { code: "request_refused" } });
    expect(result.error!.message).toContain("the order exists, so statuses.path or statuses.method is wrong");
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "statuses", reason: "refused" }]);
    expect(states()).toEqual(["pending", "pending"]);
    expect(request(id)).toMatchObject({ http_status: Number(status), echo: null });
    expect(request(id).last_error).toContain("statuses.path");
    const asked = sandbox.ledger.entries.length;
    clock.advance(4 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "held" });
    expect(sandbox.ledger.entries).toHaveLength(asked);
    expect(await bridge.run("orders")).toMatchObject({ error: null });
    // One probe in the hold's window, and another request tries it.
    clock.advance(2 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "failed" });
    expect(await send()).toMatchObject({ outcome: "held" });
    await bridge.restart({ statuses: { path: "/api/v1/1c/orders/{order_id}/status" } });
    clock.advance(6 * MINUTE);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 2 } });
    expect(rows("SELECT area FROM holds")).toEqual([]);
    expect(effects()).toEqual(["paid", "paid"]);
  });

  itSome(2)(["less", "more"])(
    "for one order alone lets the next probe try another one, which was tried %s often",
    async (tried) => {
      const { ids, ask, send, run, rows, clock, sandbox, effects } = await startStatusBridge({ orders: 2 });
      const [refused, other] = ids as [string, string];
      const probe = async () => {
        clock.advance(31 * MINUTE);
        await run("updates");
        return await send();
      };
      const gone = { kind: "status", status: 410, body: "<html>The site is being updated.</html>" } as const;
      const down = { kind: "status", status: 503 } as const;
      sandbox.faults.add({ match: { path: "status", order: refused }, times: "forever", do: gone });
      const first = tried === "less" ? refused : other;
      const fault = sandbox.faults.add({ match: { path: "status", order: other }, times: "forever", do: down });
      ask(first, "paid");
      for (let probes = 0; probes < 5; probes++) await probe();
      sandbox.faults.remove(fault);
      ask(first === refused ? other : refused, "paid");
      if (tried === "more") expect(await probe()).toMatchObject({ outcome: "failed" });
      expect(await probe()).toMatchObject({ counts: { sent: 1 } });
      expect(effects()).toEqual(["paid"]);
      expect(rows("SELECT area FROM holds")).toEqual([]);
    },
  );

  itWhole("says nothing while it cannot be told whether the order exists", async () => {
    const { ids, ask, send, sandbox, states, rows } = await startStatusBridge({
      settings: { statuses: { path: "/wrong/{order_id}" } },
    });
    ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 500 } });
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(states()).toEqual(["pending"]);
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });
});

describe("an answer that speaks of the whole area", () => {
  itWhole.each([
    [401, "credentials", 5],
    [403, "credentials", 5],
    [423, "refused", 5],
    [429, "rate limit", 1],
  ])(
    "holds the statuses alone for %i, after several in a row, and refuses nothing",
    async (status, reason, minutes) => {
      const { ids, ask, send, run, sandbox, rows, request, clock, effects } = await startStatusBridge({ orders: 5 });
      const [first] = ids.map((id) => ask(id, "paid"));
      sandbox.faults.add({ match: { path: "status" }, times: 3, do: { kind: "status", status } });
      expect(await send()).toMatchObject({ outcome: "failed" });
      expect(rows("SELECT area, reason, scope FROM holds")).toEqual([{ area: "statuses", reason, scope: "flow" }]);
      expect(request(first!)).toMatchObject({ state: "pending", http_status: status, echo: null });
      expect(await send()).toMatchObject({ outcome: "held" });
      expect(await run("orders")).toMatchObject({ error: null });
      clock.advance(minutes * MINUTE + 1_000);
      expect(await send()).toMatchObject({ error: null, counts: { sent: 5 } });
      expect(rows("SELECT area FROM holds")).toEqual([]);
      expect(effects()).toEqual(Array(5).fill("paid"));
    },
  );

  it("does not use up the probe of a hold, nor end it, while there is nothing to send", async () => {
    const { send, run, sandbox, rows, clock } = await startStatusBridge();
    sandbox.faults.add({ match: { path: "orders" }, do: { kind: "status", status: 401 } });
    await run("orders");
    clock.advance(MINUTE);
    expect(await send()).toMatchObject({ outcome: "idle" });
    clock.advance(5 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "idle" });
    expect(rows("SELECT area FROM holds")).toEqual([{ area: "orders" }]);
    expect(await run("orders")).toMatchObject({ error: null });
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });

  itWhole("leaves the request pending where the service cannot be reached at all", async () => {
    const { ids, ask, send, sandbox, request } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    await sandbox.close();
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "unreachable" } });
    expect(request(id)).toMatchObject({ state: "pending" });
  });

  itWhole("follows no redirect", async () => {
    const { ids, ask, send, sandbox, request, rows } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "redirect", to: "https://elsewhere.example/x" } });
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "redirected" } });
    expect(request(id)).toMatchObject({ state: "pending" });
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });

  itWhole.each([
    [503, "batch_id"],
    [422, "order_ids"],
  ] as const)(
    "waits while the confirm of its order is answered with %i, and is sent after it",
    async (status, form) => {
      const { ids, ask, sendFor, sandbox, request, run, rows, effects, clock } = await startStatusBridge({
        orders: 2,
        sandbox: { options: { confirmForm: form, ...(form === "order_ids" && { batchIdKind: "none" }) } },
      });
      sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: refuse(status, '{"error":"busy"}') });
      const late = sandbox.service.createOrder({ status: "new" });
      await run("orders");
      expect(rows("SELECT state FROM batches ORDER BY id DESC LIMIT 1")).toEqual([
        { state: status === 503 ? "stored" : "refused" },
      ]);
      const unconfirmed = refuse(409, '{"error":"the order has not been confirmed yet"}');
      sandbox.faults.add({ match: { path: "status", order: late }, times: "forever", do: unconfirmed });
      const id = ask(late, "accepted");
      ask(ids[0]!, "accepted");
      await sendFor(20);
      ask(ids[1]!, "accepted");
      await sendFor(20);
      expect(request(id)).toMatchObject({ state: "pending", http_status: 409 });
      sandbox.faults.clear();
      sandbox.faults.add({ match: { path: "status", order: late }, times: 1, do: unconfirmed });
      clock.advance(40 * MINUTE);
      await run("orders");
      expect(rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
      ask(ids[0]!, "packed");
      await sendFor(40);
      expect(request(id)).toMatchObject({ state: "sent" });
      expect(effects(late)).toEqual(["accepted"]);
    },
  );
});
