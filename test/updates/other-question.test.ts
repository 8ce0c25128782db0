import { describe, expect, it } from "vitest";
import { parseTimestamp, type ServedTimestamp } from "../../src/answers/timestamp.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Anchor, liesBefore, showsOtherQuestion } from "../../src/updates/pages/page-cover.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/other-question", "updates/look-past");

type Updates = NonNullable<SandboxOptionsPatch["updates"]>;

const HOUR_MS = 3_600_000;
const PAGE = 12;

const cut = (test: Followed) =>
  test.rows<{ detail: string }>("SELECT detail FROM holds WHERE area = 'updates' AND reason = 'cut'");

/** A service with more changes of some days ago than a page holds, and a few of today that were followed. */
async function start(updates: Updates = {}, settings = {}): Promise<Followed> {
  const test = await startFollowed(30, { service: { updates: { pageLimit: PAGE, ...updates } }, settings });
  for (const id of test.ids.slice(0, 20)) test.change(id, { status: "accepted" });
  await test.poll();
  await test.poll(72 * HOUR_MS);
  for (const id of test.ids.slice(20, 23)) test.change(id, { status: "accepted" });
  await test.poll();
  await test.poll();
  expect(cut(test)).toEqual([]);
  return test;
}

function ignoreSince(test: Followed, stuck: Updates["stuck"] = "same-page"): void {
  test.sandbox.service.setOptions({ updates: { stuck } });
}

whole.describe("a service that does not read since any more, and answers its first page each time", () => {
  itSome(1)([
    ["each order once", {}, {}],
    ["every change", { history: "log" }, {}],
    ["a boundary that is not counted in", { boundary: "exclusive" }, {}],
    ["times as seconds", { since: "unix" }, { updates: { since: "unix" } }],
  ] as const)(
    "is told of, and what changes meanwhile is found by reading open orders: %s",
    async (_, updates, settings) => {
      const test = await start(updates as Updates, settings);
      const before = test.watermark();
      ignoreSince(test);
      const [first = "", second = ""] = test.ids.slice(25);
      test.change(first, { status: "cancelled" });
      for (let polls = 0; polls < 4; polls++) await test.poll();
      expect(cut(test)).toMatchObject([{ detail: expect.stringContaining("does not answer what was requested") }]);
      expect(test.statusOf(first).status).toBe("cancelled");
      // As long as it goes on.
      await test.poll(2 * HOUR_MS);
      test.change(second, { status: "cancelled" });
      for (let polls = 0; polls < 3; polls++) await test.poll(11 * 60_000);
      expect(cut(test)).toHaveLength(1);
      expect(test.statusOf(second).status).toBe("cancelled");
      expect(test.watermark()).toBe(before);

      ignoreSince(test, "none");
      for (let polls = 0; polls < 3; polls++) await test.poll();
      expect(cut(test)).toEqual([]);
      const [third = ""] = test.ids.slice(27);
      test.change(third, { status: "cancelled" });
      await test.poll();
      await test.poll();
      expect(test.statusOf(third).status).toBe("cancelled");
      expect(test.watermark()).not.toBe(before);
    },
  );

  itWhole("is asked for each open order no more than every ten minutes", async () => {
    const test = await start();
    ignoreSince(test);
    for (let polls = 0; polls < 3; polls++) await test.poll();
    const before = test.snapshots();
    for (let polls = 0; polls < 60; polls++) await test.poll();
    expect(test.snapshots() - before).toBeGreaterThan(4 * 30);
    expect(test.snapshots() - before).toBeLessThanOrEqual(7 * 30);
  });

  itWhole("counts no answer of a single machine, and loses no change by it", async () => {
    const test = await start();
    ignoreSince(test);
    await test.poll();
    ignoreSince(test, "none");
    test.change(test.ids[25]!, { status: "cancelled" });
    for (let polls = 0; polls < 4; polls++) {
      await test.poll();
      expect(cut(test)).toEqual([]);
    }
    expect(test.statusOf(test.ids[25]!).status).toBe("cancelled");
  });

  itWhole("is answered whole where all its changes, or the newest of them, fit the page", async () => {
    for (const updates of [{ pageLimit: 1_000 }, { keeps: "newest" }] as const) {
      const test = await start(updates);
      const before = test.snapshots();
      ignoreSince(test);
      for (let polls = 0; polls < 3; polls++) await test.poll(3 * HOUR_MS);
      expect(cut(test)).toEqual([]);
      expect(test.snapshots() - before).toBeLessThanOrEqual(12);
    }
  });

  itWhole("does not end a sweep, or what a person has asked for", async () => {
    const test = await start();
    const sweep = () => test.rows("SELECT value FROM watermarks WHERE stream = 'sweep'");
    const before = sweep();
    ignoreSince(test);
    await test.sweep();
    expect(sweep()).toEqual(before);
  });
});

it("an answer full of changes under times from before them is to what was asked where the position that it names leads on", async () => {
  const updates = { pageLimit: 2, history: "log", next: ["next"], nextForm: "cursor" } as const;
  const test = await startFollowed(6, { service: { updates }, settings: { updates: { next: "$.next" } } });
  const [odd = "", other = "", last = ""] = test.ids;
  await test.poll();
  await test.poll(2 * HOUR_MS);
  const { created_at } = JSON.parse(test.sandbox.service.newestText(odd)!) as { created_at: string };
  const since = new Date(test.sandbox.service.now() - 500).toISOString();
  for (let changes = 0; changes < 6; changes++) test.change(odd, { timestampText: JSON.stringify(created_at) });
  for (const id of [other, last]) test.change(id, { status: "paid" });
  for (let polls = 0; polls < 4; polls++) await test.poll();
  // As where the service has refused its own positions.
  test.bridge.store.db.prepare("UPDATE watermarks SET value = ? WHERE stream = 'updates'").run(since);
  for (let polls = 0; polls < 15; polls++) {
    await test.poll();
    expect(cut(test)).toEqual([]);
  }
  expect(test.watermark()).toMatch(/^cursor-/);
  test.change(other, { status: "packed" });
  await test.poll();
  expect(test.statusOf(other).status).toBe("packed");
});

describe("a page from before what was asked", () => {
  const at = (...texts: readonly (string | undefined)[]) =>
    texts.map((text): ServedTimestamp | undefined => {
      const parsed = text === undefined ? undefined : parseTimestamp(text, "UTC");
      return parsed === undefined || text === undefined ? undefined : { text, ...parsed };
    });
  const asked = (text: string) => {
    const { instantNs: ns, form } = parseTimestamp(text, "UTC")!;
    return { ns, form };
  };

  itSome(1)([
    [["2026-03-01T11:00:00Z", "2026-03-01T11:59:58Z"], true],
    [["2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z"], false],
    [["2026-03-01T11:00:00Z", undefined], true],
    [[undefined], false],
    [[], false],
    // A minute may be the one in which `since` lies, a day likewise; a time without a zone may be that of any.
    [["2026-03-01T12:00Z"], false],
    [["2026-03-01"], false],
    [["2026-02-27"], true],
    [["2026-03-01T03:00:00"], false],
    [["2026-02-28T11:00:00"], true],
  ] as const)("%j: %s", (texts, isBefore) => {
    expect(liesBefore(at(...texts), asked("2026-03-01T12:00:00Z"))).toBe(isBefore);
  });

  it("answers another question only where a change that must be in the answer is not", () => {
    const anchors: Anchor[] = [
      { orderId: "a", ns: 20n },
      { orderId: "b", ns: 10n },
    ];
    const shows = (ns: bigint, current: readonly string[], nowNs?: bigint) =>
      showsOtherQuestion(anchors, { ns, nowNs }, (id) => current.includes(id));
    expect(shows(15n, [])).toBe(true);
    expect(shows(15n, ["a"])).toBe(false);
    expect(shows(5n, ["a"])).toBe(true);
    // Of a boundary nobody knows whether it is counted in; an old change may have left the list.
    expect(shows(20n, [])).toBe(false);
    expect(shows(15n, [], 8n * 86_400n * 1_000_000_000n)).toBe(false);
  });
});
