import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { STATUS_PATH, type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole, some } from "../support/whole.ts";

const MINUTE = 60_000;
/** Whoever asks for updates is given whole orders. */
const WHOLE = { options: { updates: { carry: "whole" } } } as const;

/** Ways in which an answer tells nothing of the outcome. */
const LOST: [string, FaultAction][] = [
  ["the connection is reset", { kind: "reset" }],
  ["the answer is cut in its head", { kind: "cut", bytes: 20, of: "answer" }],
  ["the answer is cut in its body", { kind: "cut", bytes: 5 }],
  ["no answer comes in time", { kind: "hang" }],
  ["the answer drips for too long", { kind: "drip", bytesPerSecond: 1 }],
  ["a web page answers", { kind: "html" }],
  ["the answer is compressed unasked", { kind: "gzip" }],
  ["the answer's head is too large", { kind: "big-headers" }],
  ["the service answers 500", { kind: "status", status: 500 }],
  [
    "a proxy answers 502",
    { kind: "status", status: 502, body: "<html>bad gateway</html>", headers: { "content-type": "text/html" } },
  ],
  ["the service answers 408", { kind: "status", status: 408 }],
];
/** Long enough for a busy machine, and waited for only where an answer does not come. */
const timeouts = { headers: "300ms", total: "450ms" };

describe("a status that the order had before, with another comment", () => {
  async function startShipped() {
    const settings = { statuses: { body: { status: "{status}", comment: "{comment}" } }, service: { timeouts } };
    const t = await startStatusBridge({ settings });
    t.ask(t.ids[0]!, "shipped", { comment: "parcel 4711" });
    await t.send();
    t.clock.advance(MINUTE);
    await t.run("updates");
    t.clock.advance(MINUTE);
    const id = t.ask(t.ids[0]!, "shipped", { comment: "parcel 4712" });
    const { service } = t.sandbox;
    const comments: string[] = [];
    const handle = service.handle.bind(service);
    service.handle = (call) => {
      if (call.path.endsWith("/status"))
        comments.push((JSON.parse(call.body.toString()) as { comment: string }).comment);
      return handle(call);
    };
    return Object.assign(t, { id, comments });
  }

  it.each(some(LOST, 2))("is sent again where it has not arrived and %s", async (_, action) => {
    const { send, sendFor, sandbox, request, id, comments, posts } = await startShipped();
    sandbox.faults.add({ match: { path: "status" }, when: "before", do: action });
    await send();
    await sendFor(3);
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200, last_error: null });
    expect(comments.at(-1)).toBe("parcel 4712");
    expect(posts()).toHaveLength(3);
  });

  itWhole("is not sent again where the order was changed after it left", async () => {
    const { ids, send, sendFor, sandbox, request, id, posts } = await startShipped();
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    service.handle = (call) => {
      const answer = handle(call);
      // This service keeps comments with the order, which changes its time.
      if (call.path.endsWith("/status")) service.changeOrder(ids[0]!, {});
      return answer;
    };
    await send();
    await sendFor(3);
    expect(request(id)).toMatchObject({ state: "sent", http_status: null, last_error: null });
    expect(posts()).toHaveLength(2);
  });
});

describe("a status whose outcome is unknown", () => {
  it.each(some(LOST, 1))("is not sent again where it has arrived and %s", async (_, action) => {
    const { ids, ask, send, sandbox, request, effects, posts, order, pending } = await startStatusBridge({
      settings: { service: { timeouts } },
    });
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: action });
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({
      state: "sent",
      status_before: "new",
      attempts: 1,
      last_error: null,
      echo: null,
    });
    expect(effects()).toEqual(["paid"]);
    expect(posts()).toHaveLength(1);
    expect(order(ids[0]!)).toMatchObject({ status: "paid", revision: 2, erp_revision: 1 });
    expect(pending()).toEqual([]);
  });

  itWhole.each(some(LOST, 1))(
    "is read, and only then sent again, where it has not arrived and %s",
    async (_, action) => {
      const { ids, ask, send, sandbox, request, effects, posts, order } = await startStatusBridge({
        settings: { service: { timeouts } },
      });
      const id = ask(ids[0]!, "paid");
      sandbox.faults.add({ match: { path: "status" }, when: "before", do: action });
      expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
      expect(request(id)).toMatchObject({ state: "sent", http_status: 200, attempts: 2, last_error: null });
      expect(effects()).toEqual(["paid"]);
      expect(posts()).toHaveLength(2);
      const kinds = sandbox.ledger.entries
        .filter(({ kind }) => kind === "status" || kind === "snapshot")
        .map(({ kind }) => kind);
      expect(kinds).toEqual(["status", "snapshot", "snapshot", "status", "snapshot"]);
      expect(order(ids[0]!)).toMatchObject({ status: "paid", revision: 2, erp_revision: 1 });
    },
  );

  itWhole.each([
    ["lost on its way", "before", ["packed", "new"]],
    ["that has arrived", "after", ["packed", "new"]],
  ] as const)("is not settled by a read from before the status accepted last: one %s", async (_, when, set) => {
    const { ids, ask, send, sendFor, sandbox, clock, request, effects, order } = await startStatusBridge();
    // A replica that is behind answers for the order, until it has caught up.
    const { service } = sandbox;
    let behindSinceMs: number | undefined = service.now();
    const handle = service.handle.bind(service);
    service.handle = (call) =>
      call.method === "GET" && call.path.endsWith(ids[0]!) && behindSinceMs !== undefined
        ? service.handleStale(call, service.now() - behindSinceMs)
        : handle(call);
    clock.advance(MINUTE);
    ask(ids[0]!, "packed");
    await send();
    expect(order(ids[0]!).status).toBe("new");
    const id = ask(ids[0]!, "new");
    sandbox.faults.add({ match: { path: "status" }, when, do: { kind: "reset" } });
    await send();
    await sendFor(3);
    expect(request(id)).toMatchObject({ state: "sending" });
    expect(request(id).last_error).toContain("as it was before the status that was accepted");
    behindSinceMs = undefined;
    await sendFor(3);
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(effects()).toEqual(set);
    expect(service.statusOf(ids[0]!)).toBe("new");
  });

  itWhole.each([
    ["the connection is reset", { kind: "reset" }],
    ["the service answers 409", { kind: "status", status: 409 }],
  ] as [string, FaultAction][])(
    "is not sent again where a change shows it, the order is read from a copy of before, and %s",
    async (_, action) => {
      const { ids, ask, send, sendFor, run, sandbox, clock, request, effects, posts } = await startStatusBridge();
      // What stands before the service answers for the order: first with an error, then with a copy, and says nothing of it.
      const { service } = sandbox;
      let state: "ill" | "behind" | "well" = "ill";
      const sinceMs = service.now();
      const handle = service.handle.bind(service);
      service.handle = (call) => {
        if (call.method !== "GET" || !call.path.endsWith(ids[0]!) || state === "well") return handle(call);
        if (state === "ill") return { ...handle(call), status: 500, body: Buffer.alloc(0) };
        return service.handleStale(call, service.now() - sinceMs);
      };
      clock.advance(MINUTE);
      const id = ask(ids[0]!, "packed");
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: action });
      await send();
      await run("updates");
      state = "behind";
      // Longer than the change itself holds a status back.
      await sendFor(120, 5);
      expect(posts()).toHaveLength(1);
      expect(request(id).state).not.toBe("sent");
      state = "well";
      await run("updates");
      await sendFor(20);
      expect(request(id)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["packed"]);
    },
  );

  itWhole(
    "is not sent again where a cache answers for the order with what it was a moment before it left",
    async () => {
      const { ids, ask, send, sendFor, sandbox, clock, request, effects, posts } = await startStatusBridge({
        settings: { service: { timeouts: { headers: "20s" } } },
      });
      // It has the first answer for the order. Nothing but its `Date` says so.
      const { service } = sandbox;
      const handle = service.handle.bind(service);
      let kept: ReturnType<typeof handle> | undefined;
      service.handle = (call) => {
        if (call.method !== "GET" || !call.path.endsWith(ids[0]!)) return handle(call);
        kept ??= handle(call);
        return kept;
      };
      ask(ids[0]!, "packed");
      await send();
      const id = ask(ids[0]!, "shipped");
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "status", status: 502 } });
      await send();
      clock.advance(25_000);
      await send();
      expect(effects()).toEqual(["packed", "shipped"]);
      expect(request(id).state).toBe("sending");
      service.handle = handle;
      await sendFor(5);
      expect(request(id)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["packed", "shipped"]);
      expect(posts()).toHaveLength(2);
    },
  );

  itWhole("is sent again where the order stays as it was before a status that was accepted for nothing", async () => {
    const { ids, ask, send, sendFor, sandbox, request, posts } = await startStatusBridge();
    const body = '{"success":true}';
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "raw", contentType: "application/json", body } });
    ask(ids[0]!, "packed");
    await send();
    const id = ask(ids[0]!, "new");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    await send();
    await sendFor(12);
    expect(request(id)).toMatchObject({ state: "sent", http_status: 200 });
    expect(posts()).toHaveLength(3);
  });

  itWhole("is sent again where the order was changed before it left, and that was not known here", async () => {
    const { ids, ask, send, sendFor, sandbox, clock, request, effects, order } = await startStatusBridge({ orders: 2 });
    ask(ids[1]!, "paid");
    await send();
    sandbox.service.changeOrder(ids[0]!, { status: "shipped" });
    clock.advance(2 * MINUTE);
    expect(order(ids[0]!).status).toBe("new");
    const id = ask(ids[0]!, "packed");
    sandbox.faults.add({
      match: { path: "status" },
      when: "before",
      times: "forever",
      do: { kind: "status", status: 500 },
    });
    await sendFor(11);
    sandbox.faults.clear();
    await sendFor(20);
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(effects(ids[0])).toEqual(["packed"]);
  });

  itWhole.each(some([401, 403, 404, 409, 423, 429, 302] as const, 1))(
    "is not sent again where it took effect and %i was answered, also after a restart",
    async (status) => {
      for (const hasRestart of [false, true]) {
        const bridge = await startStatusBridge({ orders: 2 });
        const { ids, ask, send, sendFor, sandbox, request, effects } = bridge;
        ask(ids[1]!, "paid");
        await send();
        const id = ask(ids[0]!, "paid");
        sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "status", status } });
        sandbox.faults.add({ match: { path: "snapshot" }, when: "before", do: { kind: "status", status: 503 } });
        await sendFor(1);
        if (hasRestart) await bridge.restart({ statuses: { path: STATUS_PATH } });
        await sendFor(20);
        expect(request(id)).toMatchObject({ state: "sent" });
        expect(effects(ids[0])).toEqual(["paid"]);
      }
    },
  );

  itWhole.each([
    ['{"ok":true,"updated":1}', '{"ok":true,"updated":0}'],
    ['{"ok":true,"stats":{"ignored":0}}', '{"ok":true,"stats":{"ignored":1}}'],
    ["1", "0", 5],
    ['{"ok":true,"message":"Изменено заказов: 1"}', '{"ok":true,"message":"Изменено заказов: 0"}', 5],
    ['{"success":true,"rows":1}', '{"success":true,"rows":0}', 5],
  ])("is read where the answer counts none: after %s, %s", async (usual, none, times = 2) => {
    const { ids, ask, send, sendFor, sandbox, request, effects, posts } = await startStatusBridge({
      orders: 2 + times,
    });
    const answered = (body: string, when: "before" | "after", times: number) =>
      sandbox.faults.add({
        match: { path: "status" },
        when,
        times,
        do: { kind: "raw", contentType: "application/json", body },
      });
    answered(usual, "after", times);
    for (const id of ids.slice(0, times)) ask(id, "paid");
    await send();
    answered(none, "after", 1);
    const arrived = ask(ids[times]!, "paid");
    await send();
    expect(request(arrived)).toMatchObject({ state: "sent", last_error: null });
    expect([effects(ids[times]), posts().length]).toEqual([["paid"], times + 1]);
    answered(none, "before", 1);
    const left = ask(ids[times + 1]!, "paid");
    await send();
    await sendFor(12);
    expect(request(left)).toMatchObject({ state: "sent", last_error: null });
    expect(effects(ids[times + 1])).toEqual(["paid"]);
  });

  itWhole.each<[string, (id: string, word: string) => unknown]>([
    ["in a list", (id, word) => ({ orders: [{ order_id: id, result: word }], message: "done" })],
    ["by its id", (id, word) => ({ report: { [id]: word } })],
  ])("is read where another word than the usual one stands for it %s", async (_, body) => {
    const { ids, ask, send, sendFor, sandbox, request, effects } = await startStatusBridge({ orders: 6 });
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    let word = "OK";
    service.handle = (call) => {
      const [, id] = /orders\/([^/]+)\/status$/.exec(call.path) ?? [];
      if (id === undefined) return handle(call);
      const { headers, delivery } =
        word === "OK" ? handle(call) : { headers: {}, delivery: { kind: "plain" as const } };
      return { status: 200, headers, delivery, body: Buffer.from(JSON.stringify(body(id, word))) };
    };
    for (const id of ids.slice(0, 4)) ask(id, "paid");
    await send();
    word = "TO REVIEW";
    const left = ask(ids[4]!, "paid");
    await send();
    expect(request(left)).not.toMatchObject({ state: "sent" });
    word = "OK";
    await sendFor(70, 5);
    expect(request(left)).toMatchObject({ state: "sent", last_error: null });
    expect(effects(ids[4])).toEqual(["paid"]);
  });

  itWhole.each([
    ['{"status":0,"message":"no such transition"}', '{"status":1}'],
    ['{"code":10010,"msg":"no permission"}', '{"code":0,"msg":"done"}'],
    ['{"meta":{"code":1001},"data":null}', '{"meta":{"code":0},"data":null}'],
    ['{"resultCode":"F"}', '{"resultCode":"S"}'],
    ['{"updated":false}', '{"updated":true}'],
  ])("is unknown where the first answers of all may be refusals: %s", async (no, yes) => {
    const { ids, ask, send, sendFor, sandbox, request, states, effects } = await startStatusBridge({ orders: 9 });
    const answer = (body: string, when: "before" | "after") => {
      sandbox.faults.clear();
      const contentType = "application/json";
      sandbox.faults.add({ match: { path: "status" }, when, times: "forever", do: { kind: "raw", contentType, body } });
    };
    answer(no, "before");
    for (const id of ids.slice(0, 4)) ask(id, "paid");
    await send();
    expect(states()).not.toContain("sent");
    answer(yes, "after");
    for (const id of ids.slice(4, 8)) ask(id, "paid");
    await send();
    expect(states().slice(4)).toEqual(["sent", "sent", "sent", "sent"]);
    answer(no, "before");
    const last = ask(ids[8]!, "paid");
    await send();
    expect(request(last)).not.toMatchObject({ state: "sent" });
    answer(yes, "after");
    await sendFor(27 * 60, 30);
    expect([...new Set(states())]).toEqual(["sent"]);
    expect(effects()).toHaveLength(9);
  });

  itWhole("is known where answers that may be refusals are a service's own acceptances", async () => {
    const { ids, ask, send, sandbox, states, effects, posts } = await startStatusBridge({ orders: 5 });
    const body = '{"code":1,"data":null}';
    const raw = { kind: "raw", contentType: "application/json", body } as const;
    sandbox.faults.add({ match: { path: "status" }, when: "after", times: "forever", do: raw });
    for (const id of ids) ask(id, "paid");
    await send();
    expect([states(), effects().length, posts().length]).toEqual([ids.map(() => "sent"), 5, 5]);
  });

  itWhole("is not where a message, a code or a note of the answer is another one each time", async () => {
    const {
      ids,
      ask,
      send,
      rows,
      sandbox: { service },
    } = await startStatusBridge({ orders: 8 });
    const handle = service.handle.bind(service);
    let turn = 0;
    service.handle = (call) => {
      const [, id] = /orders\/([^/]+)\/status$/.exec(call.path) ?? [];
      if (id === undefined) return handle(call);
      const { headers, delivery } = handle(call);
      const name = String.fromCharCode(65 + ++turn).repeat(4);
      const said = { order_id: id, result: "OK", message: `Changed for ${name}`, code: `${name}-${turn}`, note: name };
      const body = Buffer.from(JSON.stringify({ orders: [said], notified: turn < 5, log: turn % 2 ? [] : [name] }));
      return { status: 200, headers, delivery, body };
    };
    for (const id of ids) {
      ask(id, "paid");
      await send();
    }
    expect(rows("SELECT DISTINCT state, http_status FROM status_requests")).toEqual([
      { state: "sent", http_status: 200 },
    ]);
  });

  itWhole("is not sent again before it has had its time to arrive", async () => {
    const { ids, ask, send, sandbox, clock } = await startStatusBridge();
    ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    const before = clock.monotonicMs();
    await send();
    const [lost, again] = sandbox.ledger.ofKind("status");
    expect(again!.at - lost!.at).toBeGreaterThanOrEqual(15_000);
    expect(clock.monotonicMs() - before).toBeLessThan(20_000);
  });

  itWhole("is found where it takes effect late, and is not sent twice", async () => {
    const { ids, ask, send, sandbox, request, posts } = await startStatusBridge({
      settings: { service: { timeouts } },
    });
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "hang" } });
    // The first read still shows the former status; by the second one the effect is there.
    let reads = 0;
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (call) => {
      if (call.method === "GET" && call.path.endsWith(ids[0]!) && ++reads === 2)
        sandbox.service.changeOrder(ids[0]!, { status: "paid" });
      return handle(call);
    };
    await send();
    expect(request(id)).toMatchObject({ state: "sent", attempts: 1 });
    expect(posts()).toHaveLength(1);
  });

  itWhole.each([
    ["has changed the order", "accepted", "refused"],
    ["has set the same status", "paid", "sent"],
  ])("keeps the next one waiting until it can arrive no more, where somebody else %s", async (_, status, state) => {
    const { ids, ask, send, sendFor, sandbox, request, posts } = await startStatusBridge({
      sandbox: {
        onAnswer: ({ path }) => {
          if (path.endsWith("/status") && posts().length === 1) sandbox.service.changeOrder(ids[0]!, { status });
        },
      },
    });
    const [first, next] = [ask(ids[0]!, "paid"), ask(ids[0]!, "shipped")];
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    expect(await send()).toMatchObject({ error: null });
    if (state === "refused") await sendFor(10);
    expect(request(first)).toMatchObject({ state, http_status: null });
    expect(request(next)).toMatchObject({ state: "sent", http_status: 200 });
    const [lost, after] = posts();
    expect(after!.at - lost!.at).toBeGreaterThanOrEqual(15_000);
  });

  itWhole("is not given up before it can arrive no more, where the order was changed meanwhile", async () => {
    const { ids, ask, send, sandbox, request, posts } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    // By the first read somebody has cancelled the order, and by the second one the late effect is there.
    const statuses = ["cancelled", "paid"];
    const handle = sandbox.service.handle.bind(sandbox.service);
    sandbox.service.handle = (call) => {
      const status = call.method === "GET" && call.path.endsWith(ids[0]!) ? statuses.shift() : undefined;
      if (status !== undefined) sandbox.service.changeOrder(ids[0]!, { status });
      return handle(call);
    };
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(posts()).toHaveLength(1);
  });

  itWhole("is refused where the order was changed meanwhile", async () => {
    const { ids, ask, send, sendFor, sandbox, request, effects, order, pending } = await startStatusBridge({
      sandbox: {
        onAnswer: ({ path }) => {
          if (path.endsWith("/status")) sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
        },
      },
    });
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    expect(await send()).toMatchObject({ error: null });
    await sendFor(9);
    expect(request(id)).toMatchObject({ state: "sending", last_error: expect.stringContaining("to be read again") });
    await sendFor(1);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null });
    expect(request(id).last_error).toMatch(/^changed meanwhile: the order was "new" and is "cancelled" now/);
    expect(effects()).toEqual([]);
    expect(order(ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
    expect(pending()).toMatchObject([{ why: "cancelled" }]);
  });

  it("is not read from the content of another order", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, sandbox, request, effects, clock } = bridge;
    const other = JSON.parse(sandbox.service.newestText(ids[0]!)!);
    const at = new Date(clock.nowMs() - 60 * MINUTE).toISOString();
    const items = [{ ...other.items[0], sku: "Z-9", quantity: 7 }];
    const body = JSON.stringify({ ...other, number: "Z-9", created_at: at, updated_at: at, status: "paid", items });
    const answers = sandbox.faults.add({
      match: { path: "snapshot", order: ids[0]! },
      times: "forever",
      do: { kind: "raw", contentType: "application/json", body },
    });
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "before", do: { kind: "status", status: 500 } });
    await bridge.sendFor(3);
    expect(request(id)).toMatchObject({ state: "sending" });
    sandbox.faults.remove(answers);
    await bridge.sendFor(20);
    expect(request(id)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["paid"]);
  });

  itWhole("is sent again where each pass is a process of its own that ends before", async () => {
    const settings = { service: { timeouts: { headers: "300s", total: "300s" } } };
    const bridge = await startStatusBridge({ settings });
    const { ids, ask, sandbox, request, effects, clock } = bridge;
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "before", do: { kind: "reset" } });
    for (let minute = 0; minute < 4; minute++) {
      await bridge.send();
      expect(request(id)).toMatchObject({ state: "sending", attempts: 1 });
      await bridge.restart();
      clock.advance(MINUTE);
    }
    clock.advance(MINUTE);
    await bridge.send();
    expect(request(id)).toMatchObject({ state: "sent", attempts: 2 });
    expect(effects()).toEqual(["paid"]);
  });

  itWhole("is refused also where each pass is a process of its own", async () => {
    const bridge = await startStatusBridge({
      sandbox: {
        onAnswer: ({ path }) => {
          if (path.endsWith("/status")) bridge.sandbox.service.changeOrder(bridge.ids[0]!, { status: "cancelled" });
        },
      },
    });
    const { ids, ask, send, sandbox, request, clock } = bridge;
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    await send();
    const since = request(id).unshown_since;
    expect(since).not.toBeNull();
    for (const minutes of [4, 4]) {
      await bridge.restart();
      clock.advance(minutes * MINUTE);
      await send();
      expect(request(id)).toMatchObject({ state: "sending", unshown_since: since });
    }
    await bridge.restart();
    clock.advance(2 * MINUTE);
    await send();
    expect(request(id)).toMatchObject({ state: "refused", unshown_since: null });
  });

  itWhole(
    "is found where it was seen on the order, and is not sent again after somebody has set the order back",
    async () => {
      const bridge = await startStatusBridge({ settings: { updates: { carry: "whole" } }, sandbox: WHOLE });
      const { ids, ask, send, run, sandbox, request, effects, posts, clock } = bridge;
      const id = ask(ids[0]!, "paid");
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
      sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 503 } });
      expect(await send()).toMatchObject({ outcome: "failed" });
      await run("updates");
      sandbox.service.changeOrder(ids[0]!, { status: "new" });
      await bridge.restart();
      clock.advance(MINUTE);
      expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
      expect(request(id)).toMatchObject({ state: "sent", last_error: null, echo: null });
      expect([effects(), posts().length]).toEqual([["paid"], 1]);
      expect(sandbox.service.statusOf(ids[0]!)).toBe("new");
    },
  );

  itWhole("is refused where it came and went unseen, and only the order's timestamp tells", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, send, sendFor, sandbox, request, effects, clock, pending } = bridge;
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 503 } });
    await send();
    clock.advance(MINUTE);
    sandbox.service.changeOrder(ids[0]!, { status: "new" });
    await bridge.restart();
    expect(await send()).toMatchObject({ error: null });
    await sendFor(10);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null });
    expect(request(id).last_error).toMatch(/^changed meanwhile: the order is "new" again and was changed in between/);
    expect(effects()).toEqual(["paid"]);
    expect(pending()).toEqual([]);
  });

  itWhole("is sent again where another change explains the order's newer timestamp", async () => {
    const { ids, ask, send, sandbox, request, effects, clock } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "snapshot" }, times: 3, do: { kind: "status", status: 503 } });
    await send();
    clock.advance(MINUTE);
    sandbox.service.changeOrder(ids[0]!, { lines: [{ sku: "A-1", quantity: 2 }] });
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({ state: "sent" });
    expect(effects()).toEqual(["paid"]);
  });

  describe("while the order is read wrongly", () => {
    const lose = async (settings: Parameters<typeof startStatusBridge>[0] = {}) => {
      const bridge = await startStatusBridge(settings);
      const { sandbox } = bridge;
      const snapshot = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });
      const whileRead = async (body: string, minutes: number) => {
        sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: snapshot(body) });
        await bridge.send();
        await bridge.sendFor(minutes);
        sandbox.faults.clear();
      };
      return { ...bridge, whileRead };
    };

    it("is not given up for an answer that one read alone has given", async () => {
      const { ids, ask, sendFor, sandbox, request, effects, whileRead } = await lose();
      const id = ask(ids[0]!, "paid");
      const text = sandbox.service.newestText(ids[0]!)!;
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
      await whileRead(text.replace('"new"', '"cancelled"'), 4);
      expect(request(id)).toMatchObject({ state: "sending" });
      await sendFor(15);
      expect(request(id)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["paid"]);
    });

    itWhole.each(["true", "5", '""', "null", '"  "'])("is not given up for the status %s", async (nonsense) => {
      const { ids, ask, sendFor, sandbox, request, effects, whileRead } = await lose();
      const id = ask(ids[0]!, "paid");
      const text = sandbox.service.newestText(ids[0]!)!;
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
      await whileRead(text.replace('"new"', nonsense), 45);
      expect(request(id)).toMatchObject({ state: "sending" });
      await sendFor(20);
      expect(request(id)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["paid"]);
    });

    itWhole("does not take its own status, accepted before and not seen, for somebody else's", async () => {
      const { ids, ask, send, sendFor, sandbox, request, effects, whileRead } = await lose();
      const text = sandbox.service.newestText(ids[0]!)!;
      const first = ask(ids[0]!, "paid");
      // The copy of before: the status that was accepted is not seen.
      await whileRead(text, 2);
      expect(request(first)).toMatchObject({ state: "sent" });
      const second = ask(ids[0]!, "packed");
      sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
      await send();
      await sendFor(30);
      expect(request(second)).toMatchObject({ state: "sent", last_error: null });
      expect(effects()).toEqual(["paid", "packed"]);
    });

    itWhole("is sent after all where it is seen on the order after it was given up", async () => {
      const { ids, ask, run, sandbox, request, whileRead } = await lose({
        settings: { updates: { carry: "whole" } },
        sandbox: WHOLE,
      });
      const id = ask(ids[0]!, "paid");
      const text = sandbox.service.newestText(ids[0]!)!;
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
      await whileRead(text.replace('"new"', '"cancelled"'), 20);
      expect(request(id)).toMatchObject({ state: "refused" });
      await run("updates");
      expect(request(id)).toMatchObject({ state: "sent", last_error: null, echo: null });
    });
  });

  itWhole("stays on its way while the order cannot be read, and is settled when it can", async () => {
    const { ids, ask, send, sandbox, request, effects, clock } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "snapshot" }, times: 6, do: { kind: "status", status: 503 } });
    expect(await send()).toMatchObject({ outcome: "failed", error: { code: "unavailable" } });
    expect(request(id)).toMatchObject({ state: "sending", http_status: null });
    expect(request(id).last_error).toContain("503");
    clock.advance(2 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "failed" });
    clock.advance(4 * MINUTE);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(request(id)).toMatchObject({ state: "sent", last_error: null });
    expect(effects()).toEqual(["paid"]);
  });

  itWhole(
    "keeps no other one waiting where its order alone is answered in another shape, and none was read before",
    async () => {
      const { ids, ask, send, sandbox, request, effects } = await startStatusBridge({ orders: 2 });
      const [odd, other] = [ask(ids[0]!, "paid"), ask(ids[1]!, "paid")];
      const body = `[${sandbox.service.newestText(ids[0]!)}]`;
      sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
      sandbox.faults.add({ match: { path: "snapshot" }, do: { kind: "raw", contentType: "application/json", body } });
      await send();
      expect(request(odd)).toMatchObject({ state: "sending", last_error: expect.stringContaining("order_id") });
      expect(request(other)).toMatchObject({ state: "sent" });
      expect(effects(ids[1])).toEqual(["paid"]);
    },
  );

  itWhole.each<[string, FaultAction]>([
    ["a record that is no JSON", { kind: "raw", contentType: "application/json", body: '{"order":{"total":007}}' }],
    ["a failure", { kind: "status", status: 500 }],
    ["a refusal", { kind: "status", status: 423 }],
  ])("fails no pass where its order alone is answered with %s", async (_, answer) => {
    const { ids, ask, send, sandbox, request, clock } = await startStatusBridge({ orders: 2 });
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    sandbox.faults.add({ match: { path: "snapshot", order: ids[0]! }, times: "forever", do: answer });
    for (let passes = 0; passes < 5; passes++) {
      expect(await send()).toMatchObject({ error: null });
      expect(request(id)).toMatchObject({ state: "sending", last_error: expect.any(String) });
      clock.advance(20 * MINUTE);
    }
    sandbox.faults.add({ match: { path: "snapshot" }, times: "forever", do: answer });
    expect(await send()).toMatchObject({ outcome: "failed" });
    sandbox.faults.clear();
    clock.advance(60 * MINUTE);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
  });

  itWhole("is settled after a restart in the middle of its request", async () => {
    for (const when of ["before", "after"] as const) {
      const bridge = await startStatusBridge();
      const { ids, ask, send, sandbox, request, effects } = bridge;
      const id = ask(ids[0]!, "paid");
      sandbox.faults.add({ match: { path: "status" }, when, do: { kind: "hang" } });
      const arrived = new Promise<void>((resolve) => {
        const append = sandbox.ledger.append.bind(sandbox.ledger);
        sandbox.ledger.append = (draft) => {
          if (draft.kind === "status") resolve();
          return append(draft);
        };
      });
      const running = send();
      await arrived;
      await bridge.restart();
      expect(await running).toMatchObject({ outcome: "stopped" });
      expect(request(id)).toMatchObject({ state: "sending", status_before: "new" });
      expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
      expect(request(id)).toMatchObject({ state: "sent", attempts: when === "before" ? 2 : 1 });
      expect(effects()).toEqual(["paid"]);
    }
  });

  itWhole("is left as it is where a stop cuts off the look at its order", async () => {
    const bridge = await startStatusBridge();
    const { ids, ask, send, sandbox, request } = bridge;
    const id = ask(ids[0]!, "nonsense");
    const asked = new Promise<void>((resolve) => {
      const append = sandbox.ledger.append.bind(sandbox.ledger);
      sandbox.ledger.append = (draft) => {
        if (draft.kind === "snapshot") resolve();
        return append(draft);
      };
    });
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "status", status: 500 } });
    sandbox.faults.add({ match: { path: "snapshot" }, when: "before", do: { kind: "hang" } });
    const running = send();
    await asked;
    await bridge.restart();
    expect(await running).toMatchObject({ outcome: "stopped", error: { code: "stopped" } });
    expect(request(id).last_error ?? "").not.toContain("abort");
  });

  itWhole("waits as the service asks before the order is read", async () => {
    const { ids, ask, send, sandbox, request, effects, clock, rows } = await startStatusBridge();
    const id = ask(ids[0]!, "paid");
    sandbox.faults.add({
      match: { path: "status" },
      when: "after",
      do: { kind: "status", status: 503, headers: { "retry-after": "600" } },
    });
    expect(await send()).toMatchObject({ outcome: "failed" });
    expect(rows("SELECT area, reason FROM holds")).toEqual([{ area: "statuses", reason: "rate limit" }]);
    expect(request(id)).toMatchObject({ state: "sending" });
    clock.advance(9 * MINUTE);
    expect(await send()).toMatchObject({ outcome: "idle" });
    expect(sandbox.ledger.ofKind("snapshot")).toEqual([]);
    clock.advance(2 * MINUTE);
    expect(await send()).toMatchObject({ error: null, counts: { sent: 1 } });
    expect(effects()).toEqual(["paid"]);
    expect(rows("SELECT area FROM holds")).toEqual([]);
  });

  itWhole("keeps the others going where the service fails for one order for ever", async () => {
    let broken = "";
    const bridge = await startStatusBridge({
      orders: 2,
      sandbox: {
        onRequest: ({ path, method }) => {
          if (method === "POST" && broken !== "" && path.includes(broken)) throw new Error("too much");
        },
      },
    });
    const { ids, ask, send, request, effects, clock } = bridge;
    broken = ids[0]!;
    const bad = ask(ids[0]!, "paid");
    for (let passes = 0; passes < 8; passes++) {
      ask(ids[1]!, `step ${passes}`);
      expect(await send()).toMatchObject({ error: null });
      clock.advance(MINUTE);
    }
    expect(effects(ids[1])).toHaveLength(8);
    expect(request(bad)).toMatchObject({ state: "sending" });
    expect(request(bad).last_error).toContain("500");
    broken = "";
    clock.advance(15 * MINUTE);
    await send();
    expect(request(bad)).toMatchObject({ state: "sent" });
    expect(effects(ids[0])).toEqual(["paid"]);
  });
});

describe("a lost status behind a cache that gives the Date of its copies, where each pass is a process of its own", () => {
  type Answer = ReturnType<StatusBridge["sandbox"]["service"]["handle"]>;

  /** @param answered the answer for the order, and once the status is lost a copy from a minute before it left */
  async function startLost(when: "before" | "after", answered: (answer: Answer, copy: Answer) => Answer) {
    const bridge = await startStatusBridge();
    const { ids, clock, run, send, restart, sandbox } = bridge;
    const { service } = sandbox;
    const handle = service.handle.bind(service);
    let first: Answer | undefined;
    let isLost = false;
    let reads = Number.POSITIVE_INFINITY;
    service.handle = (call) => {
      const answer = handle(call);
      if (call.method !== "GET" || !call.path.endsWith(ids[0]!)) return answer;
      if (first === undefined || (reads > 1 && !isLost)) first = answer;
      reads -= 1;
      return reads < 0
        ? { ...answer, status: 500, body: Buffer.from("{}") }
        : answered(answer, isLost ? first : answer);
    };
    const pass = async (minutes: number) => {
      await restart();
      clock.advance(minutes * MINUTE);
      await run("orders");
      await send();
    };
    await run("updates");
    await run("reconcile");
    clock.advance(MINUTE);
    await run("orders");
    const id = bridge.ask(ids[0]!, "packed");
    sandbox.faults.add({ match: { path: "status" }, when, do: { kind: "reset" } });
    // It is read before it leaves, and not by this process afterwards.
    reads = 1;
    await send();
    reads = Number.POSITIVE_INFINITY;
    isLost = true;
    expect(bridge.request(id).state).toBe("sending");
    return { ...bridge, id, pass, restore: () => (service.handle = handle) };
  }

  const hoursBehind = (answer: Answer, hours: number): Answer => {
    const date = new Date(Date.parse(String(answer.headers["date"])) - hours * 60 * MINUTE).toUTCString();
    return { ...answer, headers: { ...answer.headers, date } };
  };

  it("is not sent again for what its order was before it left", async () => {
    const t = await startLost("after", (_, copy) => copy);
    for (let passes = 0; passes < 6; passes++) await t.pass(5);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sending", ["packed"]]);
    expect(t.request(t.id).last_error).toMatch(/cache/);
    t.restore();
    await t.pass(20);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sent", ["packed"]]);
  });

  itWhole("is settled by what it was before if that shows the status", async () => {
    const t = await startLost("after", (answer) => hoursBehind(answer, 2));
    await t.pass(5);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sent", ["packed"]]);
  });

  itWhole.each<[string, number, number, (answer: Answer, first: Answer) => Answer]>([
    [
      "where its order is answered by a server whose clock is some seconds behind",
      1,
      1,
      (answer) => hoursBehind(answer, 1 / 600),
    ],
    [
      "once a clock that is an hour behind has reached the time at which it left",
      14,
      5,
      (answer) => hoursBehind(answer, 1),
    ],
    ["after a day where the clock is a year behind", 27, 60, (answer) => hoursBehind(answer, 365 * 24)],
    ["at once where no answer bears a Date", 1, 1, (answer) => ({ ...answer, headers: {} })],
  ])("is sent again %s", async (_, passes, minutes, answered) => {
    const t = await startLost("before", answered);
    for (let pass = 0; pass < passes; pass++) await t.pass(minutes);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sent", ["packed"]]);
  });

  itWhole("is sent again at once by a daemon that has seen the clock of the order's server go on", async () => {
    const t = await startLost("before", (answer) => hoursBehind(answer, 3));
    await t.sendFor(10);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sent", ["packed"]]);
  });

  itWhole("is sent again at once where the clock of the service is set back meanwhile", async () => {
    const t = await startLost("before", (answer) => answer);
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (call) => hoursBehind(handle(call), 5);
    await t.pass(1);
    expect([t.request(t.id).state, t.effects()]).toEqual(["sent", ["packed"]]);
  });
});
