import { describe, expect, it } from "vitest";
import {
  loadDueReads,
  postponeRead,
  queueRead,
  requestRead,
  URGENCY,
  type Urgency,
} from "../../src/pass/position-rows.ts";
import { ReadTurns } from "../../src/updates/reads/read-turns.ts";
import { startTestBridge } from "../support/bridge.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole, size } from "../support/whole.ts";

const asked = (test: Followed) =>
  test.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1)?.toLowerCase() ?? "");
const raw = (body: string) => ({ kind: "raw", contentType: "application/json", body }) as const;

/** What `GET /updates` has of these orders, once. */
function list(test: Followed, changes: readonly { id: string; [field: string]: unknown }[]): void {
  const at = new Date(test.clock.nowMs()).toISOString();
  const updates = changes.map(({ id, ...fields }) => ({ order_id: id, updated_at: at, ...fields }));
  test.sandbox.faults.add({ match: { path: "updates" }, do: raw(JSON.stringify({ updates })) });
}

/** The service's job touches all orders; the last of them by id, which comes last by age too, has what is given. */
async function touchAll(test: Followed, ofLast: object, ofOthers: object = {}): Promise<string> {
  const ids = test.ids.toSorted();
  const last = ids.at(-1) as string;
  list(
    test,
    ids.map((id) => ({ id, status: "new", ...ofOthers, ...(id === last ? ofLast : {}) })),
  );
  await test.poll();
  return last;
}

describe("of the reads that are due after a job of the service that touches all orders", () => {
  itSome(2)<[string, object, object]>([
    ["cancels its order", { status: "cancelled" }, {}],
    ["has another status", { status: "paid" }, {}],
    ["has another status, where the others are spelled otherwise", { status: "paid" }, { status: " NEW" }],
    ["cancels its order, where all others have another status", { status: "cancelled" }, { status: "packed" }],
    ["cancels its order, where the list has no other status", { status: "cancelled" }, { status: undefined }],
    ["may be of any change, because it has no status", { status: undefined }, {}],
  ])("the one whose change %s comes first", async (_name, ofLast, ofOthers) => {
    const test = await startFollowed(7);
    const last = await touchAll(test, ofLast, ofOthers);
    expect(asked(test)[0]).toBe(last);
    expect(new Set(asked(test))).toEqual(new Set(test.ids));
  });

  it("those of orders that are cancelled already come after the one that is cancelled now", async () => {
    const settings = { orders: { statuses: { cancelled: ["cancelled", "voided"] } } };
    const test = await startFollowed(7, { settings });
    const ids = test.ids.toSorted();
    const last = ids.at(-1) as string;
    for (const id of ids) if (id !== last) test.change(id, { status: "cancelled" });
    await test.poll();
    const before = asked(test).length;
    list(
      test,
      ids.map((id) => ({ id, status: id === last ? "cancelled" : "voided" })),
    );
    await test.poll();
    expect(asked(test)[before]).toBe(last);
  });

  itSome(1)([
    ["all have the stored status", { status: "new" }],
    ["all have another status", { status: "paid" }],
    ["none has a status", { status: undefined }],
  ])("the oldest come first where %s", async (_name, fields) => {
    const test = await startFollowed(7);
    await touchAll(test, fields, fields);
    expect(asked(test)).toEqual(test.ids.toSorted());
  });

  it("one that is cancelled is read in the next pass, however many wait before it", async () => {
    const test = await startFollowed(2);
    const [id = "", touched = ""] = test.ids;
    const { store } = test.bridge;
    const since = new Date(test.clock.nowMs()).toISOString();
    store.write(() => {
      for (let n = 0; n < 2_500; n++) {
        const other = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
        store
          .prepare(
            `INSERT INTO owed_reads (order_id, service_id, source, record, record_hash, since, urgency)
             VALUES (?, ?, 'update', '{"status":"new"}', zeroblob(32), ?, 0)`,
          )
          .run(other, touched, since);
      }
    });
    // The service answers so few requests that a pass is over after ten reads.
    test.sandbox.faults.add({
      match: { path: "snapshot" },
      skip: 10,
      times: "forever",
      do: { kind: "status", status: 429, headers: { "retry-after": "600" } },
    });
    test.change(id, { status: "cancelled" });
    await test.run("updates");
    expect(asked(test)[0]).toBe(id);
    expect(test.statusOf(id).status).toBe("cancelled");
  });
});

describe("a cancellation whose order cannot be read, among thousands of reads that are due", () => {
  const AT = "2026-03-01T12:00:00.000Z";
  const LATER = "2026-03-01T13:00:00.000Z";
  const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

  async function startQueue() {
    const { bridge } = await startTestBridge();
    const { store } = bridge;
    const queue = (n: number, urgency: Urgency, attempts = 0) =>
      store.write(() => {
        const hash = Buffer.alloc(32, 1);
        const read = { orderId: idOf(n), serviceId: idOf(n), source: "update", record: "{}" } as const;
        const now = { at: AT, machineMs: 0 };
        queueRead(store, { ...read, recordHash: hash, contentHash: hash, urgency }, now);
        if (attempts > 0) postponeRead(store, idOf(n), { attempts, error: "500", dueAt: AT });
      });
    const order = () =>
      loadDueReads(store, { at: LATER, limit: 9, isUrgentFirst: true }).map(({ orderId }) => Number(orderId.slice(-2)));
    return { store, queue, order };
  }

  it("is tried again before what was only touched, as often as it takes until it counts without the order", async () => {
    const { store, queue, order } = await startQueue();
    queue(1, URGENCY.sameStatus);
    queue(2, URGENCY.otherStatus);
    queue(3, URGENCY.cancels, 1);
    queue(4, URGENCY.cancels);
    queue(5, URGENCY.otherStatus, 1);
    queue(6, URGENCY.cancels, 4);
    store.write(() => requestRead(store, { orderId: idOf(7), serviceId: idOf(7) }, AT));
    // Other failing orders delay nothing.
    expect(order()).toEqual([4, 2, 3, 1, 7, 5, 6]);
  });

  itWhole("is as urgent as the newest record of its order", async () => {
    const { store, queue, order } = await startQueue();
    queue(1, URGENCY.sameStatus);
    queue(2, URGENCY.sameStatus);
    store.write(() => {
      const read = { orderId: idOf(2), serviceId: idOf(2), source: "update", record: "{ }" } as const;
      const hash = Buffer.alloc(32, 2);
      const now = { at: LATER, machineMs: 0 };
      queueRead(store, { ...read, recordHash: hash, contentHash: hash, urgency: URGENCY.cancels }, now);
    });
    expect(order()).toEqual([2, 1]);
  });

  it("counts after its time, however many others wait, where the service answers for no order", async () => {
    const test = await startWithIll(size(220, 450));
    await test.poll();
    for (const id of test.ids) test.ill.set(id, { kind: "status", status: 500, body: "" });
    const ids = test.ids.toSorted();
    const last = ids.at(-1) as string;
    list(
      test,
      ids.map((id) => ({ id, status: "new" })),
    );
    test.clock.advance(1_000);
    await test.run("updates");
    test.change(last, { status: "cancelled" });
    for (let minutes = 0; minutes < 4; minutes++) {
      test.clock.advance(60_000);
      await test.run("updates");
    }
    expect(test.statusOf(last).status).toBe("cancelled");
  });
});

describe("the share of the reads that wait longest", () => {
  const readOf = (orderId: string) => ({ orderId });
  const take = (turns: ReadTurns, urgent: string, oldest: string, count: number) => {
    const reads = turns.inTurns({ urgent: [...urgent].map(readOf), oldest: [...oldest].map(readOf) });
    return reads
      .take(count)
      .map(({ orderId }) => orderId)
      .toArray()
      .join("");
  };

  it("is one of four, also where the service answers one read a pass", () => {
    expect(take(new ReadTurns(), "ABCDEFGH", "abcdefgh", 8)).toBe("ABCaDEFb");
    const turns = new ReadTurns();
    const passes = Array.from({ length: 9 }, () => take(turns, "ABCD", "abcd", 1));
    expect(passes.join("")).toBe("AAAaAAAaA");
  });

  itWhole("is not taken from them where nothing is urgent, or what waits longest is", () => {
    expect(take(new ReadTurns(), "abcd", "abcd", 9)).toBe("abcd");
    expect(take(new ReadTurns(), "ABab", "abAB", 9)).toBe("ABab");
    expect(take(new ReadTurns(), "ABCDab", "ABabCD", 9)).toBe("ABCDab");
    expect(take(new ReadTurns(), "ABCDEa", "aABCDE", 9)).toBe("ABCaDE");
    expect(take(new ReadTurns(), "", "", 9)).toBe("");
  });
});
