import { describe, expect, it } from "vitest";
import { ServedDates } from "../../src/service/served-dates.ts";
import { startTestBridge } from "../support/bridge.ts";
import { createOrders } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const at = (minutes: number) => new Date(Date.UTC(2026, 2, 1, 12) + minutes * MINUTE_MS).toUTCString();

/** Each answer: method, path, its `Date` and when it came, in minutes. Which of them are told to be copies. */
function copies(...answers: [string, string, number, number][]): number[] {
  const dates = new ServedDates();
  return answers.flatMap(([method, path, date, minutes], index) =>
    dates.note({ method, path, date: at(date), isCached: false }, minutes * MINUTE_MS) === undefined ? [] : [index],
  );
}

describe("the Date of an answer about one order", () => {
  const ORDER = { method: "GET", path: "/orders/1", isCached: false, isOfOrder: true };

  it("that stands still is a copy's as long as no other address shows that all stand still", () => {
    const dates = new ServedDates();
    const ask = (minutes: number) => dates.note({ ...ORDER, date: at(0) }, minutes * MINUTE_MS);
    dates.note({ method: "GET", path: "/orders", date: at(0), isCached: false }, 0);
    expect(ask(0)).toBeUndefined();
    expect(ask(0.05)).toBeUndefined();
    expect(ask(0.1)).toBe(`Date: ${at(0)}`);
    expect(ask(2)).toBe(`Date: ${at(0)}`);
    dates.note({ method: "GET", path: "/orders", date: at(0), isCached: false }, 3 * MINUTE_MS);
    expect(ask(3)).toBeUndefined();
    dates.note({ method: "GET", path: "/orders", date: at(5), isCached: false }, 5 * MINUTE_MS);
    expect(ask(5)).toBe(`Date: ${at(0)}`);
  });
});

describe("the Date of an answer", () => {
  it.each<[string, [string, string, number, number][], number[]]>([
    [
      "stands still at one address while others go on",
      [
        ["GET", "/orders", 0, 0],
        ["POST", "/confirm", 5, 5],
        ["GET", "/orders", 0, 5],
      ],
      [2],
    ],
    [
      "stands still for less than a minute",
      [
        ["GET", "/orders", 0, 0],
        ["POST", "/confirm", 5, 0.9],
        ["GET", "/orders", 0, 0.9],
      ],
      [],
    ],
    [
      "stands still everywhere",
      [
        ["GET", "/orders", 0, 0],
        ["POST", "/confirm", 0, 5],
        ["GET", "/updates", 0, 5],
        ["GET", "/orders", 0, 60],
      ],
      [],
    ],
    [
      "goes on behind that of others",
      [
        ["GET", "/orders", 0, 0],
        ["POST", "/confirm", 65, 5],
        ["GET", "/orders", 5, 5],
        ["GET", "/orders", 6, 6],
      ],
      [],
    ],
    [
      "of two lists stands still",
      [
        ["GET", "/orders", 0, 0],
        ["GET", "/updates", 3, 3],
        ["GET", "/orders", 0, 4],
        ["GET", "/updates", 3, 9],
        ["GET", "/order/1", 10, 10],
        ["GET", "/updates", 3, 10],
      ],
      [2, 5],
    ],
    [
      "of a POST says nothing of it",
      [
        ["POST", "/confirm", 0, 0],
        ["POST", "/import", 9, 9],
        ["POST", "/confirm", 0, 9],
      ],
      [],
    ],
  ])("%s", (_, answers, expected) => {
    expect(copies(...answers)).toEqual(expected);
  });

  it("of a copy does not set back the service's time", () => {
    const dates = new ServedDates();
    const get = (path: string, date: number, minutes: number, isCached = false) =>
      dates.note({ method: "GET", path, date: at(date), isCached }, minutes * MINUTE_MS);
    get("/orders", 0, 0);
    get("/orders", 0, 30);
    expect(dates.last).toEqual({ date: at(0), atMs: 0 });
    get("/updates", 31, 31);
    get("/orders", 0, 32);
    get("/order/1", 2, 33, true);
    expect(dates.last).toEqual({ date: at(31), atMs: 31 * MINUTE_MS });
  });
});

describe("the Date of an answer for one order", () => {
  const dated = (...answers: [string, number, number][]) => {
    const dates = new ServedDates();
    for (const [path, date, minutes] of answers)
      dates.note(
        { method: "GET", path, date: at(date), isCached: false, isOfOrder: path.startsWith("/order/") },
        minutes * MINUTE_MS,
      );
    return dates.last?.date;
  };

  it("shows the time only where it is none of before: an address that was never asked may have been kept for long", () => {
    expect(dated(["/order/1", 0, 5])).toBeUndefined();
    expect(dated(["/orders", 5, 5], ["/order/1", 0, 6])).toBe(at(5));
    expect(dated(["/orders", 5, 5], ["/order/1", 5.5, 6])).toBe(at(5));
    expect(dated(["/orders", 5, 5], ["/order/1", 6, 6])).toBe(at(6));
    expect(dated(["/orders", 5, 5], ["/order/1", 9, 6])).toBe(at(9));
  });

  itWhole("replaces nothing newer by a copy: neither at the first look after a start nor later", async () => {
    const t = await startTestBridge();
    const [id = ""] = createOrders(t, 1);
    expect((await t.run("orders")).error).toBeNull();
    const { service } = t.sandbox;
    const path = `/api/v1/1c/orders/${id}`;
    const handle = service.handle.bind(service);
    let copy: ReturnType<typeof handle> | undefined;
    service.handle = (request) => {
      if (request.path !== path) return handle(request);
      copy ??= handle(request);
      return copy;
    };
    await t.run("reconcile");
    expect(copy?.status).toBe(200);
    t.clock.advance(10 * MINUTE_MS);
    service.changeOrder(id, { status: "cancelled" });
    service.handle = handle;
    expect((await t.run("updates")).error).toBeNull();
    const status = () => t.rows("SELECT status FROM orders");
    expect(status()).toEqual([{ status: "cancelled" }]);
    service.handle = (request) => (request.path === path && copy !== undefined ? copy : handle(request));
    await t.restart();
    await t.run("reconcile");
    expect(status()).toEqual([{ status: "cancelled" }]);
    await t.run("orders");
    await t.run("reconcile");
    expect(status()).toEqual([{ status: "cancelled" }]);
  });
});

describe("lists that a cache answers without a word", () => {
  it("fail the pass, and leave the clock alone", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    expect((await t.run("orders")).error).toBeNull();
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    const kept = new Map<string, ReturnType<typeof handle>>();
    service.handle = (request) => {
      const isList = request.method === "GET" && /orders(?:\?|$)/.test(request.path);
      const copy = isList ? (kept.get(request.path) ?? handle(request)) : handle(request);
      if (isList) kept.set(request.path, copy);
      return copy;
    };
    await t.run("orders");
    createOrders(t, 1);
    t.clock.advance(5 * MINUTE_MS);
    await t.run("updates");
    const { error } = await t.run("orders");
    expect(error).toMatchObject({ code: "answer_unreadable", message: expect.stringContaining("Date: ") });
    const nowMs = Date.parse(t.bridge.client.serviceNow ?? "");
    expect(Math.abs(nowMs - t.clock.nowMs())).toBeLessThan(2_000);
    service.handle = handle;
    t.clock.advance(MINUTE_MS);
    expect((await t.run("orders")).error).toBeNull();
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
  });
});
