import { describe, expect, it } from "vitest";
import { loadObservations } from "../../src/probe/observations.ts";
import { AHEAD } from "../../src/updates/times/learned-rows.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

async function pollFor(test: Followed, minutes: number): Promise<void> {
  for (let polls = 0; polls < minutes; polls += 5) await test.poll(5 * MINUTE_MS);
}

const statuses = (test: Followed) => test.ids.map((id) => test.statusOf(id).status);
const noDate = { service: { dateHeader: false, updates: { scope: "all" as const } } };

describe("a watermark that lies ahead of this machine's clock, of a service without Date", () => {
  itWhole(
    "goes back where the service's clock was a year ahead for an hour, and changes are followed within minutes",
    async () => {
      const test = await startFollowed(6, noDate);
      const [a, b, c, d, e] = test.ids as [string, string, string, string, string];
      test.change(e, { status: "paid" });
      await pollFor(test, 15);
      test.sandbox.service.setOptions({ clockOffsetMs: YEAR_MS });
      test.change(a, { status: "paid" });
      await pollFor(test, 15);
      test.change(b, { status: "cancelled" });
      const created = test.sandbox.service.createOrder();
      await test.run("orders");
      await pollFor(test, 25);
      expect(Date.parse(test.watermark()!)).toBeGreaterThan(test.clock.nowMs() + YEAR_MS / 2);
      test.sandbox.service.setOptions({ clockOffsetMs: 0 });
      test.change(c, { status: "cancelled" });
      test.change(a, { status: "cancelled" });
      test.change(created, { status: "cancelled" });
      await pollFor(test, 15);
      test.change(d, { status: "paid" });
      await pollFor(test, 15);
      expect(statuses(test)).toEqual(["cancelled", "cancelled", "cancelled", "paid", "paid", "new"]);
      expect(test.statusOf(created).status).toBe("cancelled");
      expect(Date.parse(test.watermark()!)).toBeLessThanOrEqual(test.clock.nowMs());
      // What lies ahead is served with each poll, and moves the watermark no more.
      test.change(e, { status: "cancelled" }, HOUR_MS);
      await test.poll();
      expect(test.statusOf(e).status).toBe("cancelled");
      expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(e)!).updated_at);
      expect(test.logs.filter(({ message }) => /the watermark goes back/.test(message))).toHaveLength(1);
    },
  );

  itWhole("goes back, and is not moved by those times again in the hour before they come", async () => {
    const test = await startFollowed(4, noDate);
    const [a, b, c, d] = test.ids as [string, string, string, string];
    test.change(c, { status: "paid" });
    await pollFor(test, 15);
    test.sandbox.service.setOptions({ clockOffsetMs: 2 * HOUR_MS });
    for (const id of [a, b]) {
      test.change(id, { status: "paid" });
      await pollFor(test, 5);
    }
    test.sandbox.service.setOptions({ clockOffsetMs: 0 });
    for (let polls = 0; polls < 30; polls++) {
      test.change(d, { status: `v${polls}` });
      await test.poll(5 * MINUTE_MS);
      if (polls < 2) continue;
      expect(Date.parse(test.watermark()!)).toBeLessThanOrEqual(test.clock.nowMs());
      expect(test.statusOf(d).status).toBe(`v${polls}`);
    }
  });

  itWhole("goes back, and times that were wrong later move it neither, once they are near", async () => {
    const test = await startFollowed(4, noDate);
    const [a, b, c, d] = test.ids as [string, string, string, string];
    test.change(a, { status: "paid", timestamp: test.clock.nowMs() + 2 * HOUR_MS });
    await test.poll();
    test.change(d, { status: "paid" });
    await pollFor(test, 3 * 60);
    expect(AHEAD.load(test.bridge.store)).toMatchObject({ isProven: true });
    const wrongMs = test.clock.nowMs() + 30 * HOUR_MS;
    test.change(b, { status: "paid", timestamp: Date.UTC(2099, 0, 1) });
    test.change(c, { status: "paid", timestamp: wrongMs });
    await test.poll();
    const known = AHEAD.load(test.bridge.store);
    await test.restart();
    await test.poll();
    expect(AHEAD.load(test.bridge.store)).toEqual(known);
    await test.poll(wrongMs - test.clock.nowMs() - 50 * MINUTE_MS);
    for (let polls = 0; polls < 4; polls++) {
      test.change(d, { status: `v${polls}` });
      await test.poll(5 * MINUTE_MS);
      expect(Date.parse(test.watermark()!)).toBeLessThanOrEqual(test.clock.nowMs());
      expect(test.statusOf(d).status).toBe(`v${polls}`);
    }
  });

  itWhole("goes back, and an order that bears such a time is what it is answered with", async () => {
    const test = await startWithIll(3, noDate);
    const [a, b] = test.ids as [string, string];
    test.sandbox.service.setOptions({ clockOffsetMs: YEAR_MS });
    test.change(a, { status: "paid" });
    await pollFor(test, 15);
    test.sandbox.service.setOptions({ clockOffsetMs: 0 });
    test.change(b, { status: "paid" });
    await pollFor(test, 10);
    expect(AHEAD.load(test.bridge.store)).toMatchObject({ isProven: true });
    // No page of changes has room for it.
    test.unlisted.add(a);
    test.change(a, { status: "cancelled" });
    await test.run("reconcile");
    await test.poll();
    expect(test.statusOf(a).status).toBe("cancelled");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });

  it("goes back, and a short page full of such times stops nothing behind it", async () => {
    const test = await startFollowed(4, {
      service: { dateHeader: false, updates: { scope: "all", boundary: "exclusive", pageLimit: 2 } },
    });
    const [a, b, c] = test.ids as [string, string, string];
    // This machine's clock is a day behind, and for a while the service's is as well.
    test.clock.jump(-24 * HOUR_MS);
    test.sandbox.service.setOptions({ clockOffsetMs: 24 * HOUR_MS });
    test.change(a, { status: "paid" });
    test.change(b, { status: "paid" });
    await test.poll();
    test.sandbox.service.setOptions({ clockOffsetMs: 0 });
    test.change(c, { status: "paid" });
    await pollFor(test, 15);
    test.sandbox.service.setOptions({ clockOffsetMs: 24 * HOUR_MS });
    test.change(c, { status: "cancelled" });
    await test.poll();
    expect(test.statusOf(c).status).toBe("cancelled");
    expect(Date.parse(test.watermark()!)).toBeLessThan(test.clock.nowMs());
  });

  itWhole("goes back where one order alone bears such a time", async () => {
    const test = await startFollowed(3, noDate);
    const [a, b, c] = test.ids as [string, string, string];
    test.change(a, { status: "paid", timestamp: Date.UTC(2099, 0, 1) });
    await test.poll();
    test.change(b, { status: "cancelled" });
    await pollFor(test, 10);
    test.change(c, { status: "cancelled" });
    await test.poll();
    expect(statuses(test)).toEqual(["paid", "cancelled", "cancelled"]);
    expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(c)!).updated_at);
  });

  it("goes back where it lay there before, and nothing is known of where it came from", async () => {
    const test = await startFollowed(3, noDate);
    const [a, b, c] = test.ids as [string, string, string];
    test.change(c, { status: "paid" });
    await test.poll();
    const { store } = test.bridge;
    store.write(() => store.prepare("UPDATE watermarks SET value = '2099-01-01T00:00:00.000Z'").run());
    expect(test.watermark()).toBe("2099-01-01T00:00:00.000Z");
    test.change(a, { status: "cancelled" });
    await test.poll();
    await test.restart();
    test.change(b, { status: "cancelled" });
    await pollFor(test, 10);
    expect([a, b].map((id) => test.statusOf(id).status)).toEqual(["cancelled", "cancelled"]);
    expect(test.watermark()! < "2027").toBe(true);
  });

  itWhole(
    "stays where this machine's clock is behind, and asks seldom from before where many changes lie between",
    async () => {
      let serviceMs = Date.UTC(2026, 2, 1, 12);
      const test = await startFollowed(3, { ...noDate, sandbox: { now: () => serviceMs } });
      test.clock.jump(-YEAR_MS);
      for (let polls = 0; polls < 12; polls++) {
        serviceMs += 5 * MINUTE_MS;
        test.sandbox.service.changeOrder(test.ids[polls % 3]!, { status: `step ${polls}` });
        await test.poll(5 * MINUTE_MS);
      }
      expect(test.watermark()).toBe(JSON.parse(test.sandbox.service.newestText(test.ids[2]!)!).updated_at);
      expect(statuses(test)).toEqual(["step 9", "step 10", "step 11"]);
      expect(AHEAD.load(test.bridge.store)).toMatchObject({ isProven: false });
    },
  );

  itWhole("asks ever more seldom from before where the service refuses that", async () => {
    const test = await startFollowed(1, noDate);
    const ms = test.clock.nowMs();
    test.change(test.ids[0]!, { status: "paid", timestamp: ms + YEAR_MS });
    await test.poll();
    const handle = test.sandbox.service.handle.bind(test.sandbox.service);
    const times: number[] = [];
    test.sandbox.service.handle = (request) => {
      const since = new URLSearchParams(request.path.split("?")[1] ?? "").get("since");
      if (since === null || Date.parse(since) > ms + HOUR_MS) return handle(request);
      const minutes = Math.floor((test.clock.nowMs() - ms) / MINUTE_MS);
      // A refused request is repeated within a minute.
      if (minutes > (times.at(-1) ?? -2) + 1) times.push(minutes);
      return { status: 400, headers: {}, body: Buffer.from("{}"), delivery: { kind: "plain" } };
    };
    await pollFor(test, 300);
    const gaps = times.slice(1).map((at, index) => Math.round((at - times[index]!) / 5) * 5);
    expect(gaps).toEqual([10, 20, 40, 60, 60, 60]);
  });

  itWhole("asks seldom from before where that takes many requests, because a page holds one change", async () => {
    const serviceMs = Date.UTC(2026, 2, 1, 12);
    let passedMs = 0;
    const service = { ...noDate.service, updates: { ...noDate.service.updates, pageLimit: 1 } };
    const test = await startFollowed(15, { service, sandbox: { now: () => serviceMs + passedMs } });
    for (const id of test.ids) {
      passedMs += MINUTE_MS;
      test.sandbox.service.changeOrder(id, { status: "paid" });
    }
    test.clock.jump(-YEAR_MS);
    await test.poll();
    await pollFor(test, 65);
    const looks = test.sinces().filter((since) => Date.parse(since) < serviceMs - HOUR_MS);
    // The first pass begins at the beginning.
    expect(looks).toHaveLength(1 + 2);
    expect(statuses(test).every((status) => status === "paid")).toBe(true);
  });

  itWhole(
    "stays where this machine's clock is behind, and an order changes just before it is asked from before",
    async () => {
      let serviceMs = Date.UTC(2026, 2, 1, 12);
      const test = await startFollowed(3, { ...noDate, sandbox: { now: () => serviceMs } });
      const { service } = test.sandbox;
      serviceMs += 5 * MINUTE_MS;
      test.change(test.ids[0]!, { status: "paid" });
      await test.poll(5 * MINUTE_MS);
      serviceMs += YEAR_MS;
      const handle = service.handle.bind(service);
      let raced = 0;
      service.handle = (request) => {
        const since = new URLSearchParams(request.path.split("?")[1] ?? "").get("since");
        if (since !== null && Date.parse(since) < serviceMs - HOUR_MS)
          service.changeOrder(test.ids[raced % 3]!, { status: `raced ${raced++}` });
        return handle(request);
      };
      for (let polls = 0; polls < 12; polls++) {
        serviceMs += 5 * MINUTE_MS;
        service.changeOrder(test.ids[polls % 3]!, { status: `step ${polls}` });
        await test.poll(5 * MINUTE_MS);
      }
      expect(raced).toBeGreaterThan(3);
      expect(AHEAD.load(test.bridge.store)).toMatchObject({ isProven: false });
      expect(Date.parse(test.watermark()!)).toBeGreaterThan(serviceMs - 10 * MINUTE_MS);
    },
  );

  itWhole(
    "stays where this machine's clock is behind, and an order is said otherwise with its former time",
    async () => {
      let serviceMs = Date.UTC(2026, 2, 1, 12) + 7;
      const test = await startFollowed(3, { ...noDate, sandbox: { now: () => serviceMs } });
      const { service } = test.sandbox;
      serviceMs += 5 * MINUTE_MS;
      test.change(test.ids[0]!, { status: "paid" });
      await test.poll(5 * MINUTE_MS);
      serviceMs += YEAR_MS;
      for (let polls = 0; polls < 12; polls++) {
        serviceMs += 5 * MINUTE_MS;
        if (polls === 6) service.changeOrder(test.ids[0]!, { status: "packed", keepTimestamp: true });
        else service.changeOrder(test.ids[1]!, { status: `step ${polls}` });
        await test.poll(5 * MINUTE_MS);
      }
      expect(statuses(test)).toEqual(["packed", "step 11", "new"]);
      expect(AHEAD.load(test.bridge.store)).toMatchObject({ isProven: false });
      expect(test.watermark()).toBe(JSON.parse(service.newestText(test.ids[1]!)!).updated_at);
    },
  );

  itWhole("is noticed until a person has seen it, and stands in no way where the service sends its time", async () => {
    const test = await startFollowed(2, noDate);
    const shown = () => loadObservations(test.bridge.store).filter(({ kind }) => kind === "ahead");
    expect(shown()).toEqual([]);
    test.change(test.ids[0]!, { status: "paid", timestamp: Date.UTC(2099, 0, 1) });
    await test.poll();
    expect(shown()).toMatchObject([{ name: "2099-01-01T00:00:00.000Z", state: "new" }]);
    test.sandbox.service.setOptions({ dateHeader: true });
    test.change(test.ids[1]!, { status: "paid" });
    await test.poll();
    await test.poll();
    expect(test.statusOf(test.ids[1]!).status).toBe("paid");
    expect(test.watermark()! < "2027").toBe(true);
  });
});
