import { describe, expect, it } from "vitest";
import type { Sandbox, StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { NARROWED_MAX } from "../../src/updates/since-limits.ts";
import { type Followed, startFollowed } from "../support/followed.ts";

const UPDATES = { next: ["next"], nextForm: "cursor" } as const;

/** A service whose positions are plain numbers. */
function numberPositions({ sandbox }: Followed): void {
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (call) => {
    const answered = handle({ ...call, path: call.path.replace(/since=(\d+)$/, "since=cursor-$1") });
    const body = answered.body.toString().replace(/"cursor-(\d+)"/, "$1");
    return { ...answered, body: Buffer.from(body) };
  };
}

type Letters = "cursor-" | "";

async function startWithCursors(
  count: number,
  letters: Letters = "cursor-",
  sandbox: Omit<StartOptions, "options"> = {},
) {
  const settings = { updates: { next: "$.next" } };
  const test = await startFollowed(count, { service: { updates: UPDATES }, settings, sandbox });
  if (letters === "") numberPositions(test);
  test.change(test.ids[0]!, { status: "paid" });
  await test.poll();
  expect(countedBy(test, letters)).toBeGreaterThan(0);
  return test;
}

/** The number in the position; NaN where that is a time. */
function countedBy(test: Followed, letters: Letters): number {
  return Number(new RegExp(`^${letters}(\\d+)$`).exec(test.watermark() ?? "")?.[1]);
}

async function pollFor(test: Followed, minutes: number): Promise<void> {
  for (let polls = 0; polls < minutes; polls++) await test.poll();
}

/** As if the service had counted up to here before it was restored to an earlier copy. */
function goBack(test: Followed, letters: Letters, position: number): void {
  const { db } = test.bridge.store;
  db.prepare("UPDATE watermarks SET value = ? WHERE stream = 'updates'").run(`${letters}${position}`);
}

describe.each<Letters>(["cursor-", ""])(
  "a position %sN of the service's own that lies beyond what it counts",
  (letters) => {
    it("is given up within minutes: changes are followed by time, and then by the positions that are named anew", async () => {
      const test = await startWithCursors(4, letters);
      const [, second, third] = test.ids as [string, string, string];
      await pollFor(test, 3);
      goBack(test, letters, 900);
      test.change(second, { status: "cancelled" });
      await test.poll();
      expect(test.statusOf(second).status).toBe("new");
      await pollFor(test, 6);
      expect(test.statusOf(second).status).toBe("cancelled");
      const told = test.logs.filter(({ level, message }) => level === "warn" && message.includes("have gone back"));
      expect(told).toHaveLength(1);
      test.change(third, { status: "cancelled" });
      await test.poll();
      expect(test.statusOf(third).status).toBe("cancelled");
      expect(countedBy(test, letters)).toBeLessThan(100);
    });

    it("loses no change that came before the count was there again", async () => {
      const test = await startWithCursors(4, letters);
      const [, second, third] = test.ids as [string, string, string];
      goBack(test, letters, countedBy(test, letters) + 1);
      test.change(second, { status: "cancelled" });
      test.change(third, { status: "cancelled" });
      await test.poll();
      expect([second, third].map((id) => test.statusOf(id).status)).toEqual(["new", "cancelled"]);
      await pollFor(test, 6);
      expect(test.statusOf(second).status).toBe("cancelled");
    });
  },
);

describe("a position of the service's own", () => {
  it("is asked beside the time every five minutes, and stays where it is good", async () => {
    const test = await startWithCursors(4);
    const before = test.sinces().length;
    for (let polls = 0; polls < 60; polls++) {
      if (polls % 7 === 0) test.change(test.ids[polls % 4]!, { status: polls % 2 === 0 ? "packed" : "paid" });
      await test.poll();
    }
    const byTime = test
      .sinces()
      .slice(before)
      .filter((since) => !since.startsWith("cursor-"));
    expect(byTime.length).toBeGreaterThanOrEqual(9);
    expect(byTime.length).toBeLessThanOrEqual(12);
    expect(test.watermark()).toMatch(/^cursor-\d+$/);
    expect(test.logs.filter(({ level }) => level === "warn")).toEqual([]);
  });

  it("stays where the service takes no times, which it is asked by seldom", async () => {
    const holder: { sandbox?: Sandbox } = {};
    const onRequest = ({ path }: { path: string }) => {
      const isByTime = path.includes("/updates") && !path.includes("cursor-");
      if (isByTime) holder.sandbox?.faults.add({ match: { path: "updates" }, do: { kind: "status", status: 400 } });
    };
    const test = await startWithCursors(4, "cursor-", { onRequest });
    holder.sandbox = test.sandbox;
    const before = test.sinces().length;
    for (let polls = 0; polls < 60; polls++) await test.poll();
    const byTime = test
      .sinces()
      .slice(before)
      .filter((since) => !since.startsWith("cursor-"));
    // Each is repeated, and the next one asks from less long ago, because a limit of its age would let that in.
    expect(new Set(byTime).size).toBe(NARROWED_MAX);
    expect(test.watermark()).toMatch(/^cursor-\d+$/);
  });
});
