import { describe, expect, it } from "vitest";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { isWideDue, narrow } from "../../src/updates/pages/wide-failure.ts";
import { LIMITS } from "../support/conditions.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Requests for changes from longer ago than `ageMs` are answered with 504, from the time it is called until `well`. */
function refuseOld(test: Followed, ageMs: number, status = 504): { well: () => void; asked: string[] } {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  const asked: string[] = [];
  service.handle = (request) => {
    const since = new URLSearchParams(request.path.split("?")[1]).get("since");
    if (!request.path.includes("/orders/updates") || since === null) return handle(request);
    const isOld = test.clock.nowMs() - Date.parse(since) > ageMs;
    asked.push(`${isOld ? "old" : "new"} ${since}`);
    return isOld
      ? { status, headers: {}, body: Buffer.from("Gateway Time-out"), delivery: { kind: "plain" } }
      : handle(request);
  };
  return {
    asked,
    well: () => {
      service.handle = handle;
    },
  };
}

/** One pass of the orders and one of the changes, whatever becomes of them. */
async function poll(test: Followed, ms = MINUTE_MS): Promise<void> {
  test.clock.advance(ms);
  await test.run("orders");
  await test.run("updates");
}

const codesOf = (test: Followed) =>
  listConditions(
    { ...loadFacts(test.bridge.store), flows: [] },
    { nowMs: test.clock.nowMs(), isRunning: true },
    LIMITS,
  ).map(({ code }) => code);

describe("a wide re-poll that the service does not answer", () => {
  it.each([
    [1, 5, 24],
    [2, 10, 12],
    [4, 40, 3],
    [9, 60, 0.5],
  ])("is sent again after %i failures in %i minutes, %f hours back", (tries, minutes, hours) => {
    const failure = { since: "", lastMs: 1_000, tries };
    expect(isWideDue(failure, 1_000 + minutes * MINUTE_MS - 1)).toBe(false);
    expect(isWideDue(failure, 1_000 + minutes * MINUTE_MS)).toBe(true);
    expect(narrow(failure, 24 * HOUR_MS, HOUR_MS / 2)).toBe(hours * HOUR_MS);
  });

  it("is sent again over whole milliseconds, however long the last one reached back", async () => {
    expect(narrow({ since: "", lastMs: 0, tries: 3 }, 24 * HOUR_MS + 1, HOUR_MS)).toBe(6 * HOUR_MS + 1);
    const test = await startFollowed(2);
    const { asked } = refuseOld(test, 2 * HOUR_MS);
    test.clock.advance(26 * HOUR_MS + 1);
    for (let polls = 0; polls < 90; polls++) {
      await poll(test);
      expect(test.rows("SELECT error_code FROM runs WHERE job = 'updates' AND error_code = 'internal'")).toEqual([]);
    }
    expect(asked.filter((since) => since.startsWith("old")).length).toBeGreaterThan(2);
  });

  itWhole("keeps no new change from being stored, is told of, and comes over a shorter time", async () => {
    const test = await startFollowed(3);
    await poll(test);
    const [id = "", other = "", late = ""] = test.ids;
    for (let hours = 0; hours < 27; hours++) await poll(test, HOUR_MS);
    test.change(id, { status: "accepted" });
    await poll(test);
    const gateway = refuseOld(test, 5 * HOUR_MS);
    test.bridge.store.db.prepare("INSERT INTO meta (key, value) VALUES ('sweep_wanted', 'now')").run();
    await poll(test);
    expect(gateway.asked.every((each) => each.startsWith("old"))).toBe(true);
    test.change(id, { status: "paid" });
    await poll(test);
    expect(test.statusOf(id).status).toBe("paid");
    expect(codesOf(test)).toContain("wide_failing");
    // Listed late: it has a time from three hours ago.
    test.change(other, { status: "cancelled" });
    for (let polls = 0; polls < 40; polls++) await poll(test, 2 * MINUTE_MS);
    expect(test.statusOf(other).status).toBe("cancelled");
    expect(codesOf(test)).not.toContain("wide_failing");
    const old = gateway.asked.filter((each) => each.startsWith("old"));
    expect(old.length).toBeLessThan(20);
    test.change(late, { status: "paid" });
    await poll(test);
    expect(test.statusOf(late).status).toBe("paid");
  });
});

describe("a position at which the service fails while it answers for orders", () => {
  itSome(1)([504, 500])("is left for a later one after a quarter of an hour: %i", async (status) => {
    const test = await startFollowed(12);
    await poll(test);
    const ids = test.ids;
    test.clock.advance(24 * HOUR_MS);
    for (const id of ids.slice(0, 5)) test.change(id, { status: "cancelled" });
    test.clock.advance(48 * HOUR_MS);
    const gateway = refuseOld(test, 24 * HOUR_MS, status);
    for (let polls = 0; polls < 12; polls++) await poll(test, 5 * MINUTE_MS);
    test.change(ids[6] ?? "", { status: "paid" });
    for (let polls = 0; polls < 12; polls++) await poll(test, 5 * MINUTE_MS);
    expect(test.statusOf(ids[6] ?? "").status).toBe("paid");
    // What lies between is found by reading open orders.
    for (const id of ids.slice(0, 5)) expect(test.statusOf(id).status).toBe("cancelled");
    expect(gateway.asked.some((each) => each.startsWith("new"))).toBe(true);
  });

  itWhole("is asked for again where the whole service fails", async () => {
    const test = await startFollowed(3);
    await poll(test);
    const watermark = test.watermark();
    test.sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: { kind: "status", status: 500 } });
    test.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: { kind: "status", status: 500 } });
    for (let polls = 0; polls < 12; polls++) await poll(test, 5 * MINUTE_MS);
    test.sandbox.faults.clear();
    test.change(test.ids[0] ?? "", { status: "paid" });
    await poll(test, 5 * MINUTE_MS);
    expect(test.statusOf(test.ids[0] ?? "").status).toBe("paid");
    expect(test.sinces().at(-1)! <= watermark!).toBe(true);
  });

  itWhole("is no position where the list of changes alone fails: nothing is left out once it answers", async () => {
    const test = await startFollowed(3);
    await poll(test);
    test.sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: { kind: "status", status: 500 } });
    for (let polls = 0; polls < 30; polls++) {
      if (polls === 4) test.change(test.ids[0] ?? "", { status: "paid" });
      await poll(test, 5 * MINUTE_MS);
    }
    test.sandbox.faults.clear();
    for (let polls = 0; polls < 4; polls++) await poll(test, 5 * MINUTE_MS);
    expect(test.statusOf(test.ids[0] ?? "").status).toBe("paid");
  });
});
