import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import type { Settings } from "../support/bridge.ts";
import { STATUS_PATH, type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { SLOW, whileWaiting } from "../support/turns.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("statuses/status-kept");

const HOUR_MS = 3_600_000;
const FORBIDDEN: FaultAction = { kind: "status", status: 403, body: '{"error":"cancelled orders are archived"}' };
const BUSY: FaultAction = { kind: "status", status: 503, body: '{"error":"busy"}' };
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

interface IllBridge extends StatusBridge {
  /** What is answered instead of one order, or of all. */
  ill(order: string | null, answer: FaultAction): void;
  /** `GET /updates` lists this once and nothing else. */
  announce(id: string, fields: object): void;
  poll(minutes?: number): Promise<void>;
}

/** Statuses of an order that cannot be read. Two others have been sent one, so that the service is known as well. */
async function startIll(settings?: Settings): Promise<IllBridge> {
  const bridge = await startStatusBridge({ orders: 4, ...(settings && { settings }) });
  const { sandbox, run, send, ask, clock, ids } = bridge;
  await run("updates");
  for (const id of ids.slice(1, 3)) ask(id, "accepted");
  await send();
  clock.advance(60_000);
  await run("updates");
  const more = {
    ill: (order: string | null, answer: FaultAction) =>
      void sandbox.faults.add({
        match: { path: "snapshot", ...(order === null ? {} : { order }) },
        times: "forever",
        do: answer,
      }),
    announce: (id: string, fields: object) => {
      const record = { order_id: id, updated_at: new Date(clock.nowMs()).toISOString(), ...fields };
      sandbox.faults.add({ match: { path: "updates" }, do: raw(JSON.stringify({ updates: [record] })) });
    },
    poll: async (minutes = 1) => {
      for (let passed = 0; passed < minutes; passed++) {
        clock.advance(60_000);
        await run("updates");
        await send();
      }
    },
  };
  return Object.defineProperties(more as IllBridge, Object.getOwnPropertyDescriptors(bridge));
}

/** The ERP asks, the customer cancels, and the changes say so. */
async function cancelUnread(bridge: IllBridge, answer: FaultAction, at: string | null = bridge.ids[0]!) {
  const { ids, ask, clock, sandbox, ill, run } = bridge;
  const id = ask(ids[0]!, "shipped");
  ill(at, answer);
  clock.advance(1_000);
  sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
  clock.advance(1_000);
  await run("updates");
  return id;
}

const WAITS = /^the service has named the status "cancelled" for this order/;

describe("a status for an order that the changes call cancelled, and that cannot be read", () => {
  itSome(1)<[string, FaultAction | "older" | "other"]>([
    ["refused", FORBIDDEN],
    ["not found", { kind: "status", status: 404, body: '{"error":"no such order"}' }],
    ["an error", { kind: "status", status: 500, body: "" }],
    ["an older version", "older"],
    ["another order", "other"],
    ["a list", raw("[{}]")],
    ["cut off", raw('{"order_id":"\u0442')],
  ])("waits, is told so, and is refused once the change counts: %s", async (_, answer) => {
    const bridge = await startIll();
    const { ids, send, poll, posts, request, order, sandbox, ask, effects } = bridge;
    const text = (id: string) => raw(sandbox.service.newestText(id)!);
    const given = answer === "older" ? text(ids[0]!) : answer === "other" ? text(ids[3]!) : answer;
    const before = posts().length;
    const id = await cancelUnread(bridge, given);
    const other = ask(ids[3]!, "packed");
    await send();
    expect(request(id)).toMatchObject({ state: "pending", attempts: 0, http_status: null });
    expect(request(id).last_error).toMatch(WAITS);
    expect(request(other).state).toBe("sent");
    await poll(15);
    expect(request(id)).toMatchObject({ state: "refused", attempts: 0 });
    expect(request(id).last_error).toMatch(/^the order was cancelled after this request was made/);
    expect(order(ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
    expect([posts().length - before, effects(ids[0]!)]).toEqual([1, []]);
  });

  itWhole("is refused where no order can be read at all, as soon as the change counts", async () => {
    const bridge = await startIll();
    const { send, poll, request, effects, ids, order } = bridge;
    const id = await cancelUnread(bridge, BUSY, null);
    await send();
    await poll(2);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    await poll(30);
    await send();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
    expect(order(ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
  });

  itWhole("waits for a day and is refused where nothing shows which of the two is the later one", async () => {
    const bridge = await startIll();
    const { ids, ask, ill, announce, poll, request, order, clock, rows, effects } = bridge;
    const [{ at }] = rows<{ at: string }>(
      "SELECT service_updated_at AS at FROM orders WHERE order_id = ?",
      ids[0]!,
    ) as [{ at: string }];
    const id = ask(ids[0]!, "shipped");
    ill(ids[0]!, FORBIDDEN);
    announce(ids[0]!, { status: "cancelled", updated_at: at });
    await poll(30);
    expect([request(id).state, order(ids[0]!).status]).toEqual(["pending", "new"]);
    for (let hours = 0; hours < 26; hours++) {
      clock.advance(HOUR_MS - 60_000);
      await poll();
    }
    expect([request(id).state, order(ids[0]!).status, effects(ids[0]!)]).toEqual(["refused", "cancelled", []]);
    // The ERP knows it now.
    const again = ask(ids[0]!, "shipped");
    await poll();
    expect(request(again).state).toBe("sent");
  });

  itWhole("waits after a restart as before, also where its outcome was unknown", async () => {
    const bridge = await startIll();
    const { ids, send, clock, request, effects, ill, sandbox, ask, run } = bridge;
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "reset" } });
    ill(ids[0]!, FORBIDDEN);
    const id = ask(ids[0]!, "shipped");
    await send();
    expect(request(id).state).toBe("sending");
    sandbox.faults.clear();
    ill(ids[0]!, raw(sandbox.service.newestText(ids[0]!)!));
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
    await run("updates");
    await bridge.restart();
    for (let minutes = 0; minutes < 3; minutes++) {
      clock.advance(60_000);
      await send();
    }
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    expect(request(id).last_error).toMatch(WAITS);
  });

  itWhole("does not leave where the change comes while it waits for its turn", async () => {
    const bridge = await startIll(SLOW);
    const { ids, ask, send, clock, request, posts, bridge: running } = bridge;
    const before = posts().length;
    const id = ask(ids[0]!, "shipped");
    const record = JSON.stringify({ order_id: ids[0], status: "cancelled", updated_at: "2099-01-01T00:00:00Z" });
    whileWaiting(
      clock,
      () =>
        running.store.db
          .prepare(
            "INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, since) VALUES (?, ?, 'update', ?, x'00', ?)",
          )
          .run(ids[0], ids[0], record, new Date(clock.nowMs()).toISOString()),
      { after: 1 },
    );
    await send();
    expect([posts().length - before, request(id).state]).toEqual([0, "pending"]);
    expect(request(id).last_error).toMatch(WAITS);
  });

  itWhole("waits where whole orders are listed, and the change cannot be stored", async () => {
    const bridge = await startIll({ updates: { carry: "whole" } });
    const { ids, ask, ill, announce, poll, request, sandbox, effects, clock } = bridge;
    const id = ask(ids[0]!, "shipped");
    ill(ids[0]!, FORBIDDEN);
    clock.advance(1_000);
    const whole = JSON.parse(sandbox.service.newestText(ids[0]!)!) as object;
    announce(ids[0]!, {
      ...whole,
      status: "cancelled",
      items: "none",
      updated_at: new Date(clock.nowMs()).toISOString(),
    });
    await poll();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    expect(request(id).last_error).toMatch(WAITS);
    // Once the order is read, what it says counts.
    sandbox.faults.clear();
    clock.advance(2 * HOUR_MS);
    await poll(20);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["sent", ["shipped"]]);
  });

  itWhole("waits also where an older change, or a batch, is named after it", async () => {
    const bridge = await startIll();
    const { ids, announce, poll, request, effects, rows } = bridge;
    const id = await cancelUnread(bridge, FORBIDDEN);
    const old = rows<{ at: string }>("SELECT service_updated_at AS at FROM orders WHERE order_id = ?", ids[0]!)[0]!.at;
    announce(ids[0]!, { status: "paid", updated_at: old });
    await poll();
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    expect(request(id).last_error).toMatch(WAITS);
  });

  itWhole("leaves where what it asks for is a cancellation", async () => {
    const bridge = await startIll();
    const { ids, ask, ill, announce, poll, request } = bridge;
    ill(ids[3]!, FORBIDDEN);
    announce(ids[3]!, { status: "cancelled" });
    const cancelling = ask(ids[3]!, "cancelled");
    await poll();
    expect(request(cancelling).state).toBe("sent");
  });
});

interface Named {
  orderId: string;
  number: string;
  at: string;
}

/** Records that may be of an order and may say that it is cancelled. */
const MAY_BE: readonly [string, (order: Named) => object][] = [
  ["under another key", ({ orderId, number, at }) => ({ id: orderId, number, status: "cancelled", updated_at: at })],
  [
    "in braces",
    ({ orderId, number, at }) => ({ order_id: `{${orderId}}`, number, status: "cancelled", updated_at: at }),
  ],
  ["by its number", ({ number, at }) => ({ number, status: "cancelled", updated_at: at })],
  [
    "with an earlier time",
    ({ orderId }) => ({ order_id: orderId, status: "cancelled", updated_at: "2020-01-01T00:00:00Z" }),
  ],
  ["without a status", ({ orderId, at }) => ({ order_id: orderId, updated_at: at })],
  ["under another key and without a status", ({ orderId, at }) => ({ id: orderId, updated_at: at })],
];

whole.describe("a status for an order that a record may be of, and may call cancelled", () => {
  async function startNamed(isBatch: boolean, make: (order: Named) => object) {
    const bridge = await startIll();
    const { ids, rows, clock, sandbox, run, send } = bridge;
    const orderId = ids[0]!;
    const { number } = rows<{ number: string }>("SELECT number FROM orders WHERE order_id = ?", orderId)[0]!;
    const served = () => {
      const record = make({ orderId, number, at: new Date(clock.nowMs()).toISOString() });
      const body = JSON.stringify(isBatch ? { batch_id: "again", orders: [record] } : { updates: [record] });
      sandbox.faults.add({ match: { path: isBatch ? "orders" : "updates" }, do: raw(body) });
    };
    const pollAll = async (minutes = 1) => {
      for (let passed = 0; passed < minutes; passed++) {
        clock.advance(60_000);
        await run("orders");
        await run("updates");
        await send();
      }
    };
    return Object.defineProperties({} as IllBridge & { served(): void; pollAll: typeof pollAll }, {
      ...Object.getOwnPropertyDescriptors(bridge),
      served: { value: served },
      pollAll: { value: pollAll },
    });
  }

  const CASES = MAY_BE.flatMap(([name, make]) => [
    [`a change, ${name}`, false, make] as const,
    [`a batch, ${name}`, true, make] as const,
  ]);

  itSome(1)(CASES)(
    "waits until the order was read, and costs no other order anything: %s",
    async (_, isBatch, make) => {
      const bridge = await startNamed(isBatch, make);
      const { ids, ask, ill, served, pollAll, request, sandbox, effects } = bridge;
      ill(ids[0]!, BUSY);
      served();
      const id = ask(ids[0]!, "shipped");
      const other = ask(ids[3]!, "packed");
      await pollAll(3);
      expect([request(id).state, request(other).state]).toEqual(["pending", "sent"]);
      expect(request(id)).toMatchObject({ attempts: 0, http_status: null });
      expect(request(id).last_error).toMatch(/the order was not read since; the request waits for that$/);
      await bridge.restart({ statuses: { path: STATUS_PATH } });
      await pollAll();
      expect(request(id).state).toBe("pending");
      sandbox.faults.clear();
      await pollAll(10);
      expect([request(id).state, effects(ids[0]!)]).toEqual(["sent", ["shipped"]]);
    },
  );

  itWhole.each(CASES)("waits no longer than for a day: %s", async (_, isBatch, make) => {
    const { ids, ask, ill, served, pollAll, request, clock } = await startNamed(isBatch, make);
    ill(ids[0]!, FORBIDDEN);
    served();
    const id = ask(ids[0]!, "shipped");
    for (let hours = 0; hours < 23; hours++) {
      await pollAll();
      clock.advance(HOUR_MS - 60_000);
    }
    expect(request(id).state).toBe("pending");
    for (let hours = 0; hours < 3; hours++) {
      await pollAll();
      clock.advance(HOUR_MS - 60_000);
    }
    expect(request(id).state).toBe("sent");
  });

  itSome(1)(CASES)("waits for hours where the clock is set ahead by a year: %s", async (_, isBatch, make) => {
    const { ids, ask, ill, served, pollAll, request, clock } = await startNamed(isBatch, make);
    clock.advance(5 * HOUR_MS);
    ill(ids[0]!, FORBIDDEN);
    served();
    const id = ask(ids[0]!, "shipped");
    await pollAll();
    clock.jump(365 * 24 * HOUR_MS);
    await pollAll(20);
    expect(request(id).state).toBe("pending");
    for (let hours = 0; hours < 6; hours++) {
      await pollAll();
      clock.advance(HOUR_MS - 60_000);
    }
    expect(request(id).state).toBe("sent");
  });

  itWhole.each(CASES.filter(([, , make]) => "status" in make({ orderId: "", number: "", at: "" })))(
    "leaves at once where that names a status that is no cancellation: %s",
    async (_, isBatch, make) => {
      const paid = (order: Named) => ({ ...make(order), status: "new" });
      const { ids, ask, ill, served, pollAll, request } = await startNamed(isBatch, paid);
      ill(ids[0]!, BUSY);
      served();
      await pollAll();
      const id = ask(ids[0]!, "shipped");
      await pollAll();
      expect(request(id).state).toBe("sent");
    },
  );

  itWhole("leaves as soon as an ordinary change without a status was read", async () => {
    const { ids, ask, announce, run, send, request, sandbox } = await startIll();
    sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    const { updated_at } = JSON.parse(sandbox.service.newestText(ids[0]!)!) as { updated_at: string };
    announce(ids[0]!, { updated_at });
    const id = ask(ids[0]!, "shipped");
    await run("updates");
    await send();
    expect(request(id)).toMatchObject({ state: "sent", status_before: "paid" });
  });
});

describe("a status for an order that the changes give another status, and that cannot be read", () => {
  it("waits for the read, and leaves after it", async () => {
    const bridge = await startIll();
    const { ids, ask, ill, clock, sandbox, run, send, request } = bridge;
    const id = ask(ids[0]!, "shipped");
    ill(ids[0]!, BUSY);
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    await run("updates");
    await send();
    expect(request(id).state).toBe("pending");
    expect(request(id).last_error).toMatch(/^the service has named the status "paid"/);
    sandbox.faults.clear();
    clock.advance(35_000);
    await run("updates");
    await send();
    expect(request(id)).toMatchObject({ state: "sent", status_before: "paid", last_error: null });
  });

  itWhole("waits for a cancellation in a record that has the order's id and looks like another order", async () => {
    const { ids, ask, ill, clock, sandbox, run, poll, request, effects, rows } = await startIll();
    const { items, ...known } = JSON.parse(sandbox.service.newestText(ids[0]!)!);
    clock.advance(HOUR_MS);
    const at = new Date(clock.nowMs()).toISOString();
    const lines = [{ ...items[0], sku: "ANOTHER", quantity: 7 }];
    const placed = { ...known, number: "N-1", created_at: at, updated_at: at, status: "cancelled", items: lines };
    ill(ids[0]!, raw(JSON.stringify(placed)));
    await run("reconcile");
    await poll();
    expect(rows("SELECT reference FROM quarantine WHERE state = 'held'")).toContainEqual({
      reference: `${ids[0]!} N-1`,
    });
    const id = ask(ids[0]!, "shipped");
    await poll(5);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", []]);
    expect(request(id).last_error).toMatch(/the status "?cancelled/);
    // The order itself was read so again after ten minutes, and counts.
    await poll(20);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["refused", []]);
  });

  itWhole("waits no longer than for four tries", async () => {
    const bridge = await startIll();
    const { ids, ask, ill, clock, sandbox, poll, request } = bridge;
    const id = ask(ids[0]!, "shipped");
    ill(ids[0]!, FORBIDDEN);
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    await poll(15);
    expect(request(id).state).toBe("sent");
  });

  itWhole.each([
    ["cannot be read", false],
    ["has been in quarantine for days", true],
  ])(
    "goes again where the order %s, and shows afterwards what was said of it before the lost request left",
    async (_, isHeld) => {
      const bridge = await startIll();
      const { ids, ask, ill, clock, sandbox, poll, request, rows, effects } = bridge;
      sandbox.service.setOptions({ dateHeader: false });
      clock.advance(1_000);
      sandbox.service.changeOrder(ids[0]!, { status: "paid" });
      const whole = JSON.parse(sandbox.service.newestText(ids[0]!)!) as object;
      ill(ids[0]!, isHeld ? raw(JSON.stringify({ ...whole, items: "none" })) : FORBIDDEN);
      await poll();
      for (let hours = 0; isHeld && hours < 30; hours++) {
        clock.advance(HOUR_MS);
        await poll();
      }
      expect(rows("SELECT 1 FROM owed_reads")).toHaveLength(isHeld ? 0 : 1);
      const id = ask(ids[0]!, "shipped");
      sandbox.faults.add({ match: { path: "status" }, times: "forever", do: { kind: "reset" } });
      await poll(10);
      expect(request(id)).toMatchObject({ state: "sending", status_before: "paid" });
      sandbox.faults.clear();
      await poll(30);
      expect([request(id).state, effects(ids[0]!)]).toEqual(["sent", ["shipped"]]);
    },
  );

  itWhole("is not kept waiting by the status that the bridge has sent itself", async () => {
    const bridge = await startIll();
    const { ids, ask, ill, announce, run, send, erp, clock, request } = bridge;
    const first = ask(ids[0]!, "packed");
    await send();
    erp.exec("UPDATE status_requests SET echo = 'awaited'");
    ill(ids[0]!, FORBIDDEN);
    clock.advance(1_000);
    announce(ids[0]!, { status: "packed" });
    await run("updates");
    const id = ask(ids[0]!, "shipped");
    await send();
    expect([request(first).state, request(id).state]).toEqual(["sent", "sent"]);
  });
});

describe("a status that the changes show at an order which answers as it was before", () => {
  const REFUSED: FaultAction = { kind: "status", status: 409, body: '{"error":"busy"}' };

  itSome(1)([
    ["refused", ""],
    ["lost", ", http_status = NULL, answered_at = NULL"],
  ] as const)("is not sent again where it was %s, and its order read before the changes", async (_, set) => {
    const { ids, ask, ill, erp, poll, sandbox, send, request, effects } = await startIll();
    const id = ask(ids[0]!, "shipped");
    sandbox.faults.add({ match: { path: "status" }, when: "after", do: REFUSED });
    ill(ids[0]!, raw(sandbox.service.newestText(ids[0]!)!));
    await send();
    // What was lost, and read as it was before, waits to be sent again as well.
    erp.exec(`UPDATE status_requests SET echo = NULL ${set} WHERE state = 'pending'`);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", ["shipped"]]);
    await poll(90);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["pending", ["shipped"]]);
    expect(request(id).last_error).toMatch(/older/);
    sandbox.faults.clear();
    await poll(40);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["sent", ["shipped"]]);
  });

  itWhole.each([
    ["was read after them with its former status", true],
    ["cannot be read, and the changes give it the status of another client's", false],
  ])("is sent again where the order %s", async (_, isRead) => {
    const { ids, ask, ill, clock, poll, sandbox, send, request, effects } = await startIll();
    const id = ask(ids[0]!, "shipped");
    sandbox.faults.add({ match: { path: "status" }, do: REFUSED });
    await send();
    clock.advance(1_000);
    sandbox.service.changeOrder(ids[0]!, { status: isRead ? "shipped" : "paid" });
    if (isRead) {
      clock.advance(1_000);
      sandbox.service.changeOrder(ids[0]!, { status: "new" });
    } else ill(ids[0]!, FORBIDDEN);
    await poll(40);
    if (!isRead) sandbox.faults.clear();
    await poll(40);
    expect([request(id).state, effects(ids[0]!)]).toEqual(["sent", ["shipped"]]);
  });
});
