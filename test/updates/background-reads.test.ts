import { describe, expect, it } from "vitest";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { requestRead } from "../../src/pass/position-rows.ts";
import { isoTime } from "../../src/platform/ports.ts";
import { loadReconcileState } from "../../src/reconcile/reconcile-rows.ts";
import { loadReadsPerHour, READ_BUDGET } from "../../src/updates/times/learned-rows.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/background-reads");

const MINUTE_MS = 60_000;
const settings = { statuses: { path: STATUS_PATH } };

const asked = ({ sandbox }: Followed, from = 0) =>
  sandbox.ledger
    .ofKind("snapshot")
    .slice(from)
    .map(({ path }) => path.split("/").at(-1)?.toLowerCase() ?? "");

/** Two reads in five minutes. */
function limit({ bridge: { store }, clock }: Followed): void {
  store.write(() => READ_BUDGET.save(store, { reads: [], limit: { perHour: 24, sinceMs: clock.nowMs(), days: 1 } }));
}

function queue({ bridge: { store }, clock }: Followed, ids: readonly string[]): void {
  const at = isoTime(clock.nowMs());
  store.write(() => {
    for (const id of ids) requestRead(store, { orderId: id, serviceId: id }, at);
  });
}

/** To the beginning of the next five minutes. */
function goOn({ clock }: Followed): void {
  clock.advance(5 * MINUTE_MS - (clock.nowMs() % (5 * MINUTE_MS)));
}

describe("where few orders are read in the background", () => {
  it("queued reads are spread over the hour, and ask for no further pass", async () => {
    const test = await startFollowed(7);
    limit(test);
    goOn(test);
    queue(test, test.ids);
    const outcomes: number[] = [];
    for (let slots = 0; slots < 4; slots++) {
      const before = asked(test).length;
      const polls = test.sinces().length;
      for (let minutes = 0; minutes < 3; minutes++) await test.run("updates");
      outcomes.push(asked(test).length - before);
      expect(test.sinces().length - polls).toBeLessThanOrEqual(12);
      goOn(test);
    }
    expect(outcomes).toEqual([2, 2, 2, 1]);
    expect(new Set(asked(test)).size).toBe(7);
  });

  it("a cancellation is read at once, and so is what a status waits for, or what has failed before", async () => {
    const test = await startFollowed(9, { settings });
    const { store } = test.bridge;
    limit(test);
    queue(test, test.ids);
    await test.poll();
    await test.poll();
    const [cancelled, sent, failing] = test.ids.filter((id) => !asked(test).includes(id)) as [string, string, string];
    const before = asked(test).length;
    const statuses = "INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')";
    store.db.prepare(statuses).run(sent.toUpperCase());
    store.db.prepare("UPDATE owed_reads SET urgency = 1, attempts = 1 WHERE order_id = ?").run(failing);
    test.change(cancelled, { status: "cancelled" });
    test.clock.advance(1_000);
    await test.run("updates");
    expect(new Set(asked(test, before))).toEqual(new Set([cancelled, sent, failing]));
    await test.run("statuses");
    expect(test.sandbox.ledger.effects("status")).toHaveLength(1);
  });

  itWhole("orders that are not stored are read first", async () => {
    const test = await startFollowed(5);
    limit(test);
    goOn(test);
    queue(test, test.ids);
    test.clock.advance(1_000);
    const unstored = test.sandbox.service.createOrder();
    queue(test, [unstored]);
    await test.run("updates");
    expect(asked(test)).toContain(unstored);
    expect(asked(test)).toHaveLength(2);
  });

  it("the comparison goes on where it was, and leaves room for queued reads", async () => {
    const test = await startFollowed(5, { service: { updates: { stuck: "empty" } } });
    test.sandbox.service.changeOrder(test.ids[4] as string, { status: "paid" });
    limit(test);
    goOn(test);
    const results: unknown[] = [];
    for (let slots = 0; slots < 5; slots++) {
      const { outcome, counts, ...rest } = await test.run("reconcile");
      results.push([outcome, counts["checked"], counts["differ"], "dueInMs" in rest]);
      if (slots < 4) expect(await test.run("reconcile")).toMatchObject({ outcome: "idle", counts: {} });
      if (slots < 4) expect(loadReconcileState(test.bridge.store)).toMatchObject({ finishedAt: null, round: {} });
      goOn(test);
      if (slots === 1) await test.restart();
    }
    // The last one finds that no order is left.
    expect(results.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => ["done", 1, 0, true]));
    expect(results[4]).toEqual(["done", 1, 1, false]);
    expect(loadReconcileState(test.bridge.store)).toMatchObject({ round: null, finishedAt: expect.any(String) });
    expect(asked(test)).toEqual(test.ids);
  });

  it("status says why orders are not read", async () => {
    const test = await startFollowed(3);
    queue(test, test.ids);
    expect(loadFacts(test.bridge.store).queuedReads?.why).toBeNull();
    limit(test);
    expect(String(loadFacts(test.bridge.store).queuedReads?.why)).toContain("24 an hour");
  });
});

whole.describe("few orders are read in the background once the service", () => {
  const waits = (path: "orders" | "updates" | "import", seconds: number, status = 429) => ({
    match: { path },
    times: "forever" as const,
    do: { kind: "status" as const, status, headers: { "retry-after": String(seconds) } },
  });

  itSome(2)<[string, number, boolean, ReturnType<typeof waits>[]]>([
    ["asks all to wait for an hour", 60, true, (["orders", "updates"] as const).map((path) => waits(path, 3_600))],
    ["is closed for maintenance", 60, true, (["orders", "updates"] as const).map((path) => waits(path, 900, 503))],
    ["asks all to wait for a minute", 60, false, (["orders", "updates"] as const).map((path) => waits(path, 60))],
    ["asks one path to wait for an hour", 60, false, [waits("updates", 3_600)]],
    ["asks imports to wait for an hour", 60, false, [waits("import", 3_600)]],
    [
      "is closed, and hardly any order was read before",
      20,
      false,
      (["orders", "updates"] as const).map((path) => waits(path, 900, 503)),
    ],
  ])("%s", async (_, orders, isLimited, faults) => {
    const test = await startFollowed(orders);
    await test.run("stocks");
    await test.poll();
    await test.run("reconcile");
    await test.poll();
    await test.run("orders");
    test.clock.advance(MINUTE_MS);
    for (const fault of faults) test.sandbox.faults.add(fault);
    test.bridge.store.db.prepare("INSERT INTO stock (sku, quantity) VALUES ('A', 1)").run();
    for (let minutes = 0; minutes < 5; minutes++) {
      for (const job of ["orders", "updates", "stocks"] as const) await test.run(job);
      test.clock.advance(MINUTE_MS);
    }
    expect(test.rows("SELECT 1 FROM holds")).not.toEqual([]);
    expect(loadReadsPerHour(test.bridge.store) !== undefined).toBe(isLimited);
  });
});
