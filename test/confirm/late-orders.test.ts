import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { boundedPass } from "../support/bounded-pass.ts";
import type { Settings } from "../support/bridge.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE = 60_000;
const owed = ({ rows }: Followed) =>
  rows<{ order_id: string }>("SELECT order_id FROM owed_reads").map(({ order_id }) => order_id);

/** An order is handed out, and its confirm fails for so long, while another one changes every minute. */
async function confirmLate(
  minutes: number,
  { settings = {}, ...service }: { settings?: Settings } & SandboxOptionsPatch = {},
) {
  const test = await startFollowed(1, {
    settings,
    service: { handOut: "next", redeliverAfterMs: null, ...service, updates: { scope: "confirmed", carry: "whole" } },
  });
  const [known] = test.ids as [string];
  await test.poll();
  const late = test.sandbox.service.createOrder();
  const fault = { match: { path: "confirm" as const }, times: "forever" as const };
  test.sandbox.faults.add({ ...fault, do: { kind: "status", status: 503 } });
  await test.run("orders");
  test.change(late, { status: "cancelled" });
  for (let minute = 0; minute < minutes; minute += 1) {
    test.change(known, { status: minute % 2 === 0 ? "paid" : "assembling" });
    await test.poll();
  }
  test.sandbox.faults.clear();
  test.clock.advance(10 * MINUTE);
  expect(test.statusOf(late).status).toBe("new");
  await test.run("orders");
  expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
  return { test, late };
}

describe("an order whose confirm comes late", () => {
  itWhole("is read once where changes are asked for from later than what is stored of it", async () => {
    const { test, late } = await confirmLate(20);
    expect(owed(test)).toEqual([late]);
    await test.poll();
    expect(test.statusOf(late).status).toBe("cancelled");
    expect(test.snapshots(late)).toBe(1);
    await test.poll();
    expect([owed(test), test.snapshots(late)]).toEqual([[], 1]);
  });

  it("is read where it left its batch before the confirm, however little has changed since", async () => {
    const test = await startFollowed(1, {
      service: { handOut: "repeat", updates: { scope: "confirmed", carry: "whole" } },
    });
    await test.poll();
    const { service, faults } = test.sandbox;
    const [gone, stays] = [service.createOrder(), service.createOrder()];
    faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 500 } });
    await test.run("orders");
    const [{ name } = { name: "" }] = test.rows<{ name: string }>(
      "SELECT service_batch_id AS name FROM batches WHERE state = 'stored'",
    );
    test.change(gone, { status: "cancelled" });
    const body = `{"batch_id":${name},"orders":[${service.newestText(stays)}]}`;
    faults.clear();
    faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
    test.clock.advance(10 * MINUTE);
    await test.run("orders");
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    expect(owed(test)).toEqual([gone]);
    await test.poll();
    expect(test.statusOf(gone).status).toBe("cancelled");
  });

  itWhole("is read as well where the confirm names nothing", async () => {
    const { test, late } = await confirmLate(20, {
      settings: { orders: { confirm: { body: {} } } },
      confirmForm: "all",
    });
    expect(owed(test)).toEqual([late]);
  });

  it("is read where its confirm was refused, and one that names nothing covers it later", async () => {
    const test = await startFollowed(1, {
      settings: { orders: { confirm: { body: {} } } },
      service: {
        handOut: "next",
        redeliverAfterMs: null,
        confirmForm: "all",
        updates: { scope: "confirmed", carry: "whole" },
      },
    });
    const [known] = test.ids as [string];
    await test.poll();
    const { service, faults } = test.sandbox;
    const late = service.createOrder();
    faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 400 } });
    await test.run("orders");
    test.change(late, { status: "cancelled" });
    for (let minute = 0; minute < 20; minute += 1) {
      test.change(known, { status: minute % 2 === 0 ? "paid" : "assembling" });
      await test.poll();
    }
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([{ state: "refused" }]);
    faults.clear();
    service.createOrder();
    await test.run("orders");
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    expect(owed(test)).toEqual([late]);
    await test.poll();
    expect(test.statusOf(late).status).toBe("cancelled");
  });

  async function confirmInVain() {
    const test = await startFollowed(1, {
      settings: { orders: { confirm: { body: { order_ids: "{order_ids}" } } } },
      service: { confirmForm: "order_ids", batchFormedMs: 0, updates: { scope: "confirmed", carry: "whole" } },
    });
    const [known] = test.ids as [string];
    await test.poll();
    const late = test.sandbox.service.createOrder();
    const { faults } = test.sandbox;
    const body = '{"ok":true,"confirmed":1}';
    const inVain = { kind: "raw", contentType: "application/json", body } as const;
    const pollFor = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute += 1) {
        test.change(known, { status: minute % 2 === 0 ? "paid" : "assembling" });
        await test.run("orders");
        await test.poll();
      }
    };
    return { test, late, faults, inVain, pollFor };
  }

  itWhole("is read once as well where its batch counted as confirmed, and was served again until then", async () => {
    const { test, late, faults, inVain, pollFor } = await confirmInVain();
    faults.add({ match: { path: "confirm" }, do: inVain });
    await test.run("orders");
    await test.poll();
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 503 } });
    test.change(late, { status: "cancelled" });
    await pollFor(20);
    expect(test.statusOf(late).status).toBe("new");
    const before = test.snapshots(late);
    faults.clear();
    await pollFor(5);
    expect(test.statusOf(late).status).toBe("cancelled");
    expect(test.snapshots(late)).toBe(before + 1);
  });

  itWhole("is read once its batch is served no more, where confirms of it were accepted in vain", async () => {
    const { test, late, faults, inVain, pollFor } = await confirmInVain();
    faults.add({ match: { path: "confirm" }, times: "forever", do: inVain });
    await pollFor(20);
    test.change(late, { status: "cancelled" });
    await pollFor(20);
    expect(test.statusOf(late).status).toBe("new");
    const before = test.snapshots(late);
    faults.clear();
    await pollFor(3);
    expect(test.statusOf(late).status).toBe("cancelled");
    await pollFor(5);
    expect(test.snapshots(late)).toBe(before + 1);
  });

  /** `meanwhile` runs while the next answer of changes is on its way. */
  async function startWithin(count: number, updates: SandboxOptionsPatch["updates"] = {}) {
    const next: { meanwhile?: (() => Promise<unknown>) | undefined } = {};
    const onAnswer = async ({ path }: { path: string }) => {
      if (!path.includes("/updates")) return;
      const act = next.meanwhile;
      next.meanwhile = undefined;
      await act?.();
    };
    const scoped = { ...updates, scope: "confirmed", carry: "whole" } as const;
    const service = { handOut: "next", redeliverAfterMs: null, updates: scoped } as const;
    return { test: await startFollowed(count, { sandbox: { onAnswer }, service }), next };
  }

  it("is read where the position moves after its confirm, by an answer from before", async () => {
    const { test, next } = await startWithin(1);
    const [known] = test.ids as [string];
    await test.poll();
    const late = test.sandbox.service.createOrder();
    test.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 503 } });
    await test.run("orders");
    test.change(late, { status: "cancelled" });
    test.change(known, { status: "paid" }, 20 * MINUTE);
    test.sandbox.faults.clear();
    next.meanwhile = () => test.run("orders");
    await test.poll(10 * MINUTE);
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    await test.poll();
    expect(test.statusOf(late).status).toBe("cancelled");
    expect([owed(test), test.snapshots(late)]).toEqual([[], 1]);
  });

  itWhole("is read where a search for changes ends after its confirm, and moves the position", async () => {
    const { test, next } = await startWithin(30, { keeps: "newest", order: "descending", pageLimit: 12 });
    const searching = () => test.rows("SELECT value FROM meta WHERE key = 'cut'").length > 0;
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    const late = test.sandbox.service.createOrder();
    test.sandbox.faults.add({ match: { path: "confirm" }, times: "forever", do: { kind: "status", status: 503 } });
    await test.run("orders");
    test.clock.advance(60 * MINUTE);
    for (const id of test.ids) test.change(id, { status: "assembling" });
    await boundedPass(test, 10);
    expect([searching(), test.statusOf(late).status]).toEqual([true, "new"]);
    test.change(late, { status: "cancelled" });
    test.change(test.ids[0]!, { status: "paid" }, 20 * MINUTE);
    test.sandbox.faults.clear();
    next.meanwhile = () => test.run("orders");
    await test.poll(10 * MINUTE);
    expect(test.rows("SELECT state FROM batches WHERE state <> 'confirmed'")).toEqual([]);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect([searching(), test.statusOf(late).status]).toEqual([false, "cancelled"]);
  });

  itWhole("is not read where its changes are still asked for", async () => {
    const { test, late } = await confirmLate(5);
    expect(owed(test)).toEqual([]);
    await test.poll();
    expect(test.statusOf(late).status).toBe("cancelled");
  });

  itWhole("is not read where it is closed, or nothing was followed yet", async () => {
    const test = await startFollowed(0);
    const old = test.sandbox.service.createOrder();
    test.clock.advance(60 * MINUTE);
    await test.run("orders");
    expect(owed(test)).toEqual([]);
    test.change(old, { status: "paid" });
    await test.poll();
    const closed = test.sandbox.service.createOrder({ status: "cancelled" });
    test.clock.advance(60 * MINUTE);
    test.change(old, { status: "assembling" });
    await test.poll();
    await test.run("orders");
    expect(test.statusOf(closed).status).toBe("cancelled");
    expect(owed(test)).toEqual([]);
  });
});
