import { describe, expect, it } from "vitest";
import type { Sandbox, StartOptions } from "../../src/sandbox/start-sandbox.ts";
import { inFormOf, isBefore, isOtherForm } from "../../src/updates/pages/next-token.ts";
import { NARROWED_MAX } from "../../src/updates/pages/since-limits.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/position-gone-back");

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

    itWhole("is given up within minutes also where each pass is a process of its own", async () => {
      const test = await startWithCursors(4, letters);
      const [, second] = test.ids as [string, string];
      goBack(test, letters, 900);
      test.change(second, { status: "cancelled" });
      for (let polls = 0; polls < 7; polls++) {
        await test.restart();
        await test.poll();
      }
      expect(test.statusOf(second).status).toBe("cancelled");
    });

    itWhole("loses no change that came before the count was there again", async () => {
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

whole.describe("a position of the service's own", () => {
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

  itWhole("stays where the service takes no times, which it is asked by seldom", async () => {
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

type Unit = "s" | "ms" | "text";
const UNIT_MS = { s: 1_000, ms: 1 };

/** Digits of a time, or letters of which only the service knows what they mean. */
function write(ms: number, unit: Unit): string {
  return unit === "text" ? `"${Buffer.from(`p:${ms}`).toString("base64")}"` : String(Math.floor(ms / UNIT_MS[unit]));
}

/** What the service takes a position for; undefined where that is a time in letters. */
function read(since: string, unit: Unit): number | undefined {
  if (/^\d{4}-/u.test(since)) return undefined;
  if (unit !== "text") return /^\d+$/u.test(since) ? Number(since) * UNIT_MS[unit] : Number.POSITIVE_INFINITY;
  const text = Buffer.from(since, "base64").toString();
  return text.startsWith("p:") ? Number(text.slice(2)) : Number.POSITIVE_INFINITY;
}

/** A service that names positions in a unit which changes, the present one where it has nothing, and after a while takes no times. */
async function startWithUnits(first: Unit) {
  const settings = { updates: { next: "$.next" } };
  const updates = { next: ["next"], nextForm: "timestamp" } as const;
  const test = await startFollowed(5, { service: { updates }, settings });
  const is = { unit: first, takesTimes: true };
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (call) => {
    if (!call.path.includes("/updates")) return handle(call);
    const [path, query] = call.path.split("?");
    const since = new URLSearchParams(query).get("since") ?? "";
    const ms = read(since, is.unit);
    if (ms === undefined && !is.takesTimes) return { ...handle(call), status: 400, body: Buffer.from("{}") };
    const iso = ms === undefined ? since : new Date(Math.min(ms, Date.UTC(9000, 0))).toISOString();
    const answered = handle({ ...call, path: `${path}?since=${encodeURIComponent(iso)}` });
    const text = answered.body.toString();
    const next = Date.parse(/"next":"([^"]*)"/u.exec(text)?.[1] ?? "");
    const named = write(text.includes("order_id") ? next : test.clock.nowMs(), is.unit);
    return { ...answered, body: Buffer.from(text.replace(/"next":"[^"]*"/u, `"next":${named}`)) };
  };
  test.change(test.ids[0]!, { status: "paid" });
  await pollFor(test, 3);
  is.takesTimes = false;
  await pollFor(test, 30);
  return { test, is };
}

whole.describe("a position in another form than those that the service names by now", () => {
  itSome(1)<[Unit, Unit]>([
    ["ms", "s"],
    ["s", "ms"],
  ])("is asked for in that one too, where both are digits of a time: %s, then %s", async (before, after) => {
    const { test, is } = await startWithUnits(before);
    is.unit = after;
    test.change(test.ids[1]!, { status: "paid" });
    await pollFor(test, 2);
    test.change(test.ids[2]!, { status: "paid" });
    await pollFor(test, 2);
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid", "new", "new"]);
    expect(test.watermark()).toMatch(after === "s" ? /^\d{10}$/u : /^\d{13}$/u);
  });

  itSome(1)([
    ["of one process", async () => {}],
    [
      "of which each is a process of its own",
      async (test: Awaited<ReturnType<typeof startWithUnits>>["test"]) => test.restart(),
    ],
  ] as const)("stays, and is reported, where nothing shows what it means, in passes %s", async (_, begin) => {
    const { test, is } = await startWithUnits("s");
    const position = test.watermark();
    is.unit = "text";
    test.change(test.ids[1]!, { status: "paid" });
    for (let minute = 0; minute < 9; minute++) {
      await begin(test);
      await pollFor(test, 1);
    }
    const later = async () => {
      for (let minute = 0; minute < 5; minute++) {
        await begin(test);
        await pollFor(test, 1);
      }
    };
    await expect(later()).rejects.toMatchObject({ code: "answer_unreadable" });
    expect(test.watermark()).toBe(position);
    is.unit = "s";
    await pollFor(test, 2);
    expect(test.statusOf(test.ids[1]!).status).toBe("paid");
  });
});

describe("a token of the service's own", () => {
  it("lies before another by its time where the two are digits of different units", () => {
    expect(isBefore("1772369690", "1772366461007", "UTC")).toBe(false);
    expect(isBefore("1772366460", "1772366461007", "UTC")).toBe(true);
    expect(isBefore("cursor-7", "cursor-12", "UTC")).toBe(true);
  });

  it("is written in the form of another one where both are digits of a time", () => {
    expect(inFormOf("1772366461007", "1772369690")).toBe("1772366461");
    expect(inFormOf("c-1772366461", "1772369690008")).toBe("1772366461000");
    for (const named of ["1772369690008", "17", "f00d", ""]) expect(inFormOf("1772366461007", named)).toBeUndefined();
  });

  it.each<[string, string, boolean]>([
    ["1772369690", "1772366461007", true],
    ["c-7", "7", true],
    ["f00d", "7", true],
    ["100", "99", false],
    ["f00d", "beef", false],
    ["1000000000", "999999999", false],
  ])("is of another form or not: %s, %s", (token, than, isOther) => {
    expect(isOtherForm(token, than)).toBe(isOther);
  });
});
