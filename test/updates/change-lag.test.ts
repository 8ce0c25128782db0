import { describe, expect, it } from "vitest";
import { type ChangeLag, isWithinLag, learnLag, NO_LAG } from "../../src/updates/times/change-lag.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { inWhole } from "../support/whole.ts";

const whole = inWhole("updates/change-lag");

const AT = (second: number) =>
  `2026-03-01T12:${String(Math.floor(second / 60)).padStart(2, "0")}:${String(second % 60).padStart(2, "0")}Z`;

/** Reads whose changes were listed so many seconds later than the order's own timestamp. */
function learn(lags: readonly number[], isNews = true, from: ChangeLag = NO_LAG): ChangeLag {
  return lags.reduce((lag, s) => learnLag(lag, { announced: AT(600 + s), own: AT(600), isNews }, "UTC"), from);
}

const counts = (lag: ChangeLag, s: number) => isWithinLag(lag, { announced: AT(600 + s), own: AT(600) }, "UTC");

describe("the lag of changes", () => {
  it.each([
    ["none was read", NO_LAG, 3, false],
    ["two were behind", learn([3, 3]), 3, false],
    ["three were behind", learn([3, 2, 3]), 3, true],
    ["this one is further behind", learn([3, 2, 3]), 4, false],
    ["three brought nothing new", learn([3, 3, 3], false), 3, false],
    ["they were behind by more than any lag", learn([301, 301, 301]), 301, false],
    ["three were as announced since", learn([0, 0, 0], true, learn([3, 3, 3])), 3, false],
    ["two were", learn([0, 0], true, learn([3, 3, 3])), 3, true],
  ])("where %s", (_words, lag, s, expected) => {
    expect(counts(lag, s)).toBe(expected);
  });

  /** The same of changes that say what was stored before. */
  const alike = (lags: readonly number[], from: ChangeLag = NO_LAG) =>
    lags.reduce(
      (lag, s) => learnLag(lag, { announced: AT(600 + s), own: AT(600), isNews: false, isAlike: true }, "UTC"),
      from,
    );

  it.each([
    ["two said what was stored", alike([30, 30]), 30, false],
    ["three did", alike([30, 31, 29]), 30, true],
    ["this one is further behind", alike([30, 31, 29]), 50, false],
    ["three did after different times", alike([30, 100, 31]), 30, false],
    ["the last three did after much the same", alike([200, 30, 31, 30]), 30, true],
    ["one was as announced since", learn([0], true, alike([30, 31, 29])), 30, false],
    ["three were further behind than any lag", alike([301, 301, 301]), 301, false],
  ])("where %s", (_words, lag, s, expected) => {
    expect(counts(lag, s)).toBe(expected);
  });

  it("is none of an order that is newer than announced, or has no timestamp", () => {
    const lag = learn([3, 3, 3]);
    for (const own of [AT(700), null, "soon"])
      expect(learnLag(lag, { announced: AT(600), own, isNews: true }, "UTC")).toBe(lag);
    expect(isWithinLag(lag, { announced: null, own: AT(1) }, "UTC")).toBe(false);
  });
});

/** The changes are listed so much later than the orders' own timestamps. */
function delay({ sandbox }: Followed, ms: number): void {
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (request) => {
    const answer = handle(request);
    if (!request.path.includes("/orders/updates")) return answer;
    const later = (_text: string, at: string) => `"updated_at":"${new Date(Date.parse(at) + ms).toISOString()}"`;
    return { ...answer, body: Buffer.from(answer.body.toString("utf8").replace(/"updated_at":"([^"]+)"/g, later)) };
  };
}

const STATUSES = ["paid", "packed", "shipped", "paid", "packed", "cancelled"];

whole.describe("changes that are listed three seconds after the orders' own timestamps", () => {
  it("are stored within a minute or two, each, and nothing waits in the end", async () => {
    const test = await startFollowed(3);
    delay(test, 3_000);
    const [id] = test.ids as [string];
    for (const status of STATUSES) {
      test.change(id, { status });
      for (let polls = 0; polls < 2; polls++) await test.poll();
      expect(test.statusOf(id).status).toBe(status);
    }
    for (let polls = 0; polls < 8; polls++) await test.poll();
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    const before = test.snapshots();
    for (let polls = 0; polls < 20; polls++) await test.poll();
    expect(test.snapshots()).toBe(before);
    await test.restart();
    test.change(test.ids[1]!, { status: "paid" });
    await test.poll();
    expect(test.statusOf(test.ids[1]!).status).toBe("paid");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});

whole.it("is learned where only our own statuses change, which are read before they are listed", async () => {
  const test = await startFollowed(6, { settings: { statuses: { path: STATUS_PATH } } });
  delay(test, 40_000);
  const insert = test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'accepted')");
  for (const [place, id] of test.ids.entries()) {
    insert.run(id);
    await test.run("statuses");
    await test.run("statuses");
    for (let polls = 0; polls < 3; polls++) await test.poll();
    // From the fourth on nothing more is asked for.
    if (place === 4) expect(test.rows("SELECT * FROM owed_reads WHERE order_id = ?", id)).toEqual([]);
  }
  for (let polls = 0; polls < 90; polls++) await test.poll();
  expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  expect(test.rows("SELECT state, count(*) AS n FROM status_requests GROUP BY state")).toEqual([
    { state: "sent", n: 6 },
  ]);
});
