import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import type { Settings } from "../support/bridge.ts";
import { startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

type Case = [name: string, service: SandboxOptionsPatch, updates: Settings, since: RegExp];

const ISO: Case[] = [
  ["seconds and Z", { precision: "s" }, {}, /^2026-03-01T\d\d:\d\d:\d\dZ$/],
  ["microseconds and Z", { precision: "us" }, {}, /^2026-03-01T\d\d:\d\d:\d\d\.\d{6}Z$/],
  ["an offset", { timestamps: "iso-offset" }, {}, /^2026-03-01T\d\d:\d\d:\d\d\.\d{3}\+03:00$/],
  ["no zone", { timestamps: "iso-naive", naiveOffsetMinutes: 180 }, {}, /^2026-03-01T1[45]:\d\d:\d\d\.\d{3}$/],
  [
    "without hyphens and colons",
    { timestamps: "iso-basic", precision: "s", updates: { since: "iso-basic" } },
    {},
    /^20260301T\d{6}Z$/,
  ],
  [
    "dots, the day first",
    { timestamps: "dotted", naiveOffsetMinutes: 180, precision: "us", updates: { since: "dotted" } },
    {},
    /^01\.03\.2026 1[45]:\d\d:\d\d\.\d{6}$/,
  ],
  ["epoch seconds", { timestamps: "unix", precision: "us" }, {}, /^17723\d{5}\.\d{6}$/],
  ["epoch milliseconds", { timestamps: "unix_ms" }, {}, /^17723\d{8}$/],
];
const EPOCHS: Case[] = [
  ["unix seconds, whatever the timestamps are", { updates: { since: "unix" } }, { since: "unix" }, /^17723\d{5}$/],
  [
    "unix_ms, whatever the timestamps are",
    { updates: { since: "unix_ms" }, precision: "us" },
    { since: "unix_ms" },
    /^17723\d{8}$/,
  ],
];

describe("since", () => {
  itWhole.each([...ISO, ...EPOCHS])(
    "is asked in the service's own form: %s",
    async (_name, service, updates, since) => {
      const test = await startFollowed(6, { service, settings: { updates, service: { timezone: "Europe/Moscow" } } });
      for (const id of test.ids) {
        test.change(id, { status: "paid" });
        await test.poll();
      }
      await test.poll();
      for (const asked of test.sinces()) expect(asked).toMatch(since);
      expect(test.ids.map((id) => test.statusOf(id))).toEqual(test.ids.map(() => ({ status: "paid", revision: 2 })));
      // Those that were pulled within their own second are read once more, of which one has changed by then.
      expect(test.snapshots()).toBe(service.precision === "s" ? 11 : 6);
    },
  );

  it("sends the plus of an offset encoded, so that it arrives as one", async () => {
    const test = await startFollowed(1, { service: { timestamps: "iso-offset" } });
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    const queries = test.sandbox.ledger.ofKind("updates").map(({ query }) => query);
    expect(queries.length).toBeGreaterThan(1);
    for (const query of queries) expect(query).toMatch(/%2B03(%3A|:)00/);
  });

  itWhole("begins ten minutes before the watermark, and as far back as the sweep says when it is due", async () => {
    const test = await startFollowed(2);
    test.change(test.ids[0]!, { status: "paid" });
    await test.poll();
    await test.poll(3_600_000);
    const mark = Date.parse(test.watermark()!);
    // A page of one change may be cut: it is stepped over once.
    const asked = [mark - 600_000, mark, mark + 1].map((ms) => new Date(ms).toISOString());
    expect(test.sinces().slice(-3)).toEqual(asked);
  });

  itWhole.each(["inclusive", "exclusive"] as const)(
    "reaches what appears late in the minute before, where timestamps are cut to the minute and the boundary is %s",
    async (boundary) => {
      const test = await startFollowed(1, {
        service: { precision: "min", updates: { boundary } },
        settings: { updates: { overlap: "30s" } },
      });
      const [id] = test.ids;
      test.change(id!, { status: "paid", lateByMs: 80_000 });
      await test.poll(0);
      expect(test.statusOf(id!).status).toBe("paid");
    },
  );

  itWhole.each(["min", "s", "ms"] as const)(
    "reaches what came after the position in its own unit (%s), without an overlap and where the boundary is exclusive",
    async (precision) => {
      const test = await startFollowed(2, {
        service: { precision, updates: { boundary: "exclusive" } },
        settings: { updates: { overlap: "0s" } },
      });
      const [first, second] = test.ids;
      test.change(first!, { status: "paid" });
      await test.poll(0);
      test.change(second!, { status: "paid" }, 0);
      await test.poll(0);
      expect(test.statusOf(second!).status).toBe("paid");
    },
  );

  itWhole("keeps the finest digits where the service leaves out a fraction that is zero", async () => {
    const test = await startFollowed(3, { service: { updates: { pageLimit: 2, boundary: "exclusive" } } });
    const [a, b, c] = test.ids as [string, string, string];
    const timestamp = Math.ceil(test.clock.nowMs() / 1_000) * 1_000;
    test.change(a, {
      status: "paid",
      timestamp: timestamp - 1,
      timestampText: JSON.stringify(new Date(timestamp - 1).toISOString()),
    });
    test.change(b, {
      status: "paid",
      timestamp,
      timestampText: JSON.stringify(new Date(timestamp).toISOString().replace(".000", "")),
    });
    test.change(c, {
      status: "paid",
      timestamp,
      timestampText: JSON.stringify(new Date(timestamp).toISOString().replace(".000", "")),
    });
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(["paid", "paid", "paid"]);
    expect(test.watermark()).toBe(new Date(timestamp).toISOString().replace(".000", ""));
  });
});

describe("times as DD.MM.YYYY", () => {
  const DOTTED = {
    timestamps: "dotted",
    naiveOffsetMinutes: 180,
    precision: "s",
    updates: { since: "dotted" },
  } as const;
  const settings = { service: { timezone: "Europe/Moscow" } };

  it("are followed over the end of a month, where they fall as texts", async () => {
    const test = await startFollowed(2, { service: DOTTED, settings });
    const [first, second] = test.ids as [string, string];
    test.change(first, { status: "paid" }, Date.parse("2026-03-31T20:59:30Z") - test.clock.nowMs());
    await test.poll();
    expect(test.watermark()).toBe("31.03.2026 23:59:30");
    test.change(second, { status: "paid" });
    await test.poll();
    expect(test.watermark()).toBe("01.04.2026 00:00:31");
    await test.poll();
    expect(test.sinces()).toContain("31.03.2026 23:50:31");
    expect([first, second].map((id) => test.statusOf(id).status)).toEqual(["paid", "paid"]);
  });

  itWhole("have the hour written with one digit where the service writes it so", async () => {
    const test = await startFollowed(1, { service: DOTTED, settings });
    const [id] = test.ids as [string];
    const text = JSON.stringify("02.03.2026 9:05:03");
    test.change(id, { status: "paid", timestampText: text }, Date.parse("2026-03-02T06:05:03Z") - test.clock.nowMs());
    await test.poll();
    expect(test.watermark()).toBe("02.03.2026 9:05:03");
    await test.poll();
    expect(test.sinces()).toContain("02.03.2026 8:55:03");
  });
});

describe("a change that appears late", () => {
  itSome(1)([
    ["seconds", 5_000],
    ["minutes", 8 * 60_000],
  ])("is caught by the overlap when its timestamp is %s old", async (_name, lateByMs) => {
    const test = await startFollowed(3);
    test.change(test.ids[0]!, { status: "paid" }, 1_200_000);
    await test.poll();
    test.change(test.ids[1]!, { status: "paid", lateByMs });
    await test.poll();
    expect(test.statusOf(test.ids[1]!).status).toBe("paid");
  });

  itWhole("is caught by the sweep when its timestamp is hours old, and the sweep repeats nothing", async () => {
    const test = await startFollowed(5, { service: { updates: { history: "log" } } });
    for (const status of ["paid", "packed", "shipped"]) {
      for (const id of test.ids) test.change(id, { status }, 0);
      await test.poll(3_600_000);
    }
    const [late] = test.ids as [string];
    test.change(late, { status: "cancelled", lateByMs: 5 * 3_600_000 });
    await test.poll();
    expect(test.statusOf(late).status).toBe("shipped");
    const before = test.snapshots();
    await test.sweep();
    expect(test.statusOf(late).status).toBe("cancelled");
    expect(test.snapshots() - before).toBe(1);
    await test.poll();
    await test.sweep();
    expect(test.snapshots() - before).toBe(1);
  });
});

describe("an answer that names the next since", () => {
  it("is followed by its opaque tokens, kept verbatim, page by page and over a restart", async () => {
    const updates = { next: ["meta", "cursor"], nextForm: "cursor", pageLimit: 4 } as const;
    const test = await startFollowed(10, { service: { updates }, settings: { updates: { next: "$.meta.cursor" } } });
    for (const id of test.ids) test.change(id, { status: "paid" });
    await test.poll();
    expect(test.watermark()).toBe("cursor-20");
    expect(test.sinces().slice(1)).toEqual(["cursor-14", "cursor-18", "cursor-20"]);
    await test.restart();
    test.change(test.ids[0]!, { status: "shipped", lateByMs: 86_400_000 });
    await test.poll();
    expect(test.sinces().slice(-2)).toEqual(["cursor-20", "cursor-21"]);
    expect(test.statusOf(test.ids[0]!)).toEqual({ status: "shipped", revision: 3 });
    const before = test.sinces().length;
    await test.poll();
    expect(test.sinces().slice(before)).toEqual(["cursor-21"]);
  });

  itWhole("tells a change by its token where the record itself looks like the one before", async () => {
    const updates = { next: ["next"], nextForm: "cursor", lines: false } as const;
    const test = await startFollowed(1, {
      service: { updates, shape: { change: { updated_at: "at" } } },
      settings: { updates: { next: "$.next" } },
    });
    const [id] = test.ids as [string];
    for (const quantity of [1, 2, 3]) {
      test.change(id, { status: "paid", lines: [{ sku: "A", quantity }], timestampText: null });
      await test.poll();
      expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", id)).toEqual([
        { quantity: String(quantity) },
      ]);
    }
    await test.poll();
    expect(test.snapshots()).toBe(3);
  });

  itWhole("is followed by timestamps with the overlap, and a timestamp from the future is not taken", async () => {
    const updates = { next: ["next"], nextForm: "timestamp", pageLimit: 4 } as const;
    const test = await startFollowed(10, { service: { updates }, settings: { updates: { next: "$.next" } } });
    for (const id of test.ids.slice(0, 8)) test.change(id, { status: "paid" });
    await test.poll();
    const mark = test.watermark()!;
    expect(mark).toBe(JSON.parse(test.sandbox.service.newestText(test.ids[7]!)!).updated_at);
    test.change(test.ids[8]!, { status: "paid", lateByMs: 300_000 });
    test.change(test.ids[9]!, { status: "paid", timestamp: Date.UTC(2099, 0, 1) });
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(test.ids.map(() => "paid"));
    expect(test.watermark()).toBe(mark);
  });
});
