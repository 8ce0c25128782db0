import { describe, expect, it } from "vitest";
import { parseTimestamp } from "../../src/answers/timestamp.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { showsWhole } from "../../src/updates/pages/step-over.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole, size } from "../support/whole.ts";

const whole = inWhole("updates/follow-rest");
/** The default of `orders.updates.overlap`, and a second. */
const OVERLAP_MS = 601_000;

const statuses = (test: Followed) => new Set(test.ids.map((id) => test.statusOf(id).status));
const tie = (test: Followed) =>
  test.rows<{ detail: string }>("SELECT detail FROM holds WHERE area = 'updates' AND reason = 'tie'");

const alarms = (test: Followed) => test.logs.filter(({ level }) => level === "error").map(({ message }) => message);

/** Changes carry whole orders, so that a pass is its pages alone. */
async function startBurst(service: SandboxOptionsPatch, spreadMs: number, count: number): Promise<Followed> {
  const updates = { pageLimit: 100, carry: "whole", ...service.updates } as const;
  const test = await startFollowed(count, {
    service: { ...service, updates },
    settings: { updates: { carry: "whole", next: updates.next ? `$.${updates.next.join(".")}` : null } },
  });
  const start = Math.ceil(test.clock.nowMs() / 1_000) * 1_000;
  for (const [index, id] of test.ids.entries()) {
    test.sandbox.service.changeOrder(id, { status: "paid", timestamp: start + Math.floor((index * spreadMs) / count) });
  }
  test.clock.advance(spreadMs + 1_000);
  return test;
}

describe("a thousand changes within thirty seconds, a hundred in a page", () => {
  // One in five of the changes and of what a page holds: the same number of pages.
  // A page in another order than that of its times is asked for up to five times more, each without more of its oldest changes.
  itSome(1)([
    ["inclusive", "descending", "ms", 12, 5],
    ["inclusive", "ascending", "ms", 12, 1],
    ["inclusive", "shuffled", "ms", 17, 5],
    ["exclusive", "ascending", "ms", 13, 5],
    ["exclusive", "shuffled", "ms", 18, 5],
    ["inclusive", "ascending", "s", 16, 5],
    ["exclusive", "ascending", "s", 17, 1],
  ] as const)("are all seen: %s, %s, timestamps in %s", async (boundary, order, precision, requests, scale) => {
    const updates = { boundary, order, pageLimit: 100 / scale };
    const test = await startBurst({ precision, updates }, 30_000, 1_000 / scale);
    await test.poll(0);
    expect(statuses(test)).toEqual(new Set(["paid"]));
    expect(test.sinces().length).toBeLessThanOrEqual(requests);
    // Of the last seconds, which may bring a change of the same timestamp still, those of one are read at most.
    expect(test.snapshots()).toBeLessThanOrEqual(precision === "s" ? 100 : 0);
    expect(tie(test)).toEqual([]);
  });

  itWhole.each(["unix", "unix_ms"] as const)(
    "are all seen where since is %s and coarser than the timestamps",
    async (since) => {
      const test = await startFollowed(300, {
        service: { precision: "us", updates: { since, pageLimit: 60 } },
        settings: { updates: { since } },
      });
      for (const id of test.ids) test.change(id, { status: "paid" }, 30);
      await test.poll();
      expect(statuses(test)).toEqual(new Set(["paid"]));
      expect(tie(test)).toEqual([]);
    },
  );
});

whole.describe("more changes of one timestamp than a page holds", () => {
  itWhole.each([
    ["inclusive", ["next"]],
    ["inclusive", null],
    ["exclusive", null],
    ["exclusive", ["next"]],
  ] as const)(
    "raise an alarm, are found order by order, and later changes are followed on: %s, the next time named at %s",
    async (boundary, next) => {
      const test = await startBurst({ updates: { boundary, next } }, 1, 300);
      const first = test.watermark();
      await test.poll();
      expect(alarms(test)).toEqual([
        expect.stringMatching(/full page of 100 changes carries the timestamp 2026-03-01T.*read one by one/),
      ]);
      expect(test.watermark()).not.toBe(first);
      expect(statuses(test)).toEqual(new Set(["paid"]));
      const later = test.ids.at(-1)!;
      test.change(later, { status: "shipped" });
      await test.poll();
      expect(test.statusOf(later).status).toBe("shipped");
      expect(alarms(test)).toHaveLength(1);
      // A change with that time appears late, and only the orders themselves show it.
      const late = test.ids[250]!;
      const [{ at } = { at: "" }] = test.rows<{ at: string }>(
        "SELECT service_updated_at AS at FROM orders WHERE order_id = ?",
        late,
      );
      test.sandbox.service.changeOrder(late, { status: "cancelled", timestamp: Date.parse(at) });
      await test.poll();
      expect([tie(test).length, test.statusOf(late).status]).toEqual([1, "paid"]);
      test.clock.advance(OVERLAP_MS);
      await test.poll();
      expect([tie(test), test.statusOf(late).status]).toEqual([[], "cancelled"]);
    },
  );

  itWhole.each(["inclusive", "exclusive"] as const)(
    "in the middle hide nothing of what comes after them: %s",
    async (boundary) => {
      const page = size(20, 100);
      const test = await startFollowed(4 * page, { service: { updates: { boundary, pageLimit: page } } });
      const timestamp = test.clock.nowMs() + 10_000;
      const [before, tied, after] = [
        test.ids.slice(0, page / 2),
        test.ids.slice(page / 2, 2 * page),
        test.ids.slice(2 * page),
      ];
      for (const id of before) test.change(id, { status: "paid" }, 10);
      for (const id of tied) test.sandbox.service.changeOrder(id, { status: "paid", timestamp });
      test.clock.advance(60_000);
      for (const id of after) test.change(id, { status: "paid" }, 10);
      await test.poll();
      expect([...before, ...after].filter((id) => test.statusOf(id).status !== "paid")).toEqual([]);
      expect(tied.filter((id) => test.statusOf(id).status !== "paid")).toEqual([]);
      expect(alarms(test)).toHaveLength(1);
    },
  );

  itWhole("raise the alarm once: lifted by a person, it stays so although the changes are still served", async () => {
    const test = await startBurst({}, 1, 150);
    await test.poll();
    test.bridge.store.db.prepare("DELETE FROM holds").run();
    await test.poll();
    await test.sweep();
    expect(tie(test)).toEqual([]);
  });

  it("are no alarm where a page has held more before", async () => {
    const test = await startBurst({ updates: { pageLimit: 100 } }, 30_000, 150);
    await test.poll();
    const timestamp = test.clock.nowMs();
    for (const id of test.ids.slice(0, 60)) test.sandbox.service.changeOrder(id, { status: "shipped", timestamp });
    await test.poll(3_600_000);
    expect(tie(test)).toEqual([]);
    expect(test.ids.filter((id) => test.statusOf(id).status === "shipped")).toHaveLength(60);
  });

  itWhole("raise the alarm for smaller pages than before too, where later changes show that one was cut", async () => {
    const test = await startBurst({}, 30_000, 150);
    await test.poll();
    test.sandbox.service.setOptions({ updates: { pageLimit: 40 } });
    test.clock.advance(3_600_000);
    const timestamp = test.clock.nowMs();
    for (const id of test.ids.slice(0, 60)) test.sandbox.service.changeOrder(id, { status: "shipped", timestamp });
    test.change(test.ids[149]!, { status: "shipped" });
    await test.poll();
    expect(test.statusOf(test.ids[149]!).status).toBe("shipped");
    expect(alarms(test)).toEqual([expect.stringMatching(/full page of 40 changes/)]);
    expect(test.ids.slice(0, 60).filter((id) => test.statusOf(id).status !== "shipped")).toEqual([]);
  });

  // A page in the order of ids, of a service whose times are cut to the minute: what is made later in that minute takes the place of others or none.
  itWhole.each([
    ["before any of them is known", 25],
    ["when the position bears their time already", 5],
  ])("are found once their minute is over, where more of them come %s", async (_, before) => {
    const test = await startFollowed(30, {
      service: { precision: "min", updates: { keeps: "first-ids", order: "ids", pageLimit: 12, carry: "whole" } },
      settings: { updates: { carry: "whole", overlap: "30s" } },
    });
    await test.poll();
    test.clock.advance(3_600_000 - (test.clock.nowMs() % 60_000));
    const [first, later] = [test.ids.slice(0, before), test.ids.slice(before)];
    for (const id of first) test.change(id, { status: "paid" }, 100);
    await test.poll(5_000);
    for (const id of later) test.change(id, { status: "paid" }, 100);
    for (let polls = 0; polls < 3; polls++) await test.poll(10_000);
    expect(alarms(test)).toHaveLength(1);
    expect(tie(test)).toHaveLength(1);
    expect(statuses(test).size).toBe(2);
    // A restart forgets nothing of it.
    await test.restart();
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect(statuses(test)).toEqual(new Set(["paid"]));
    expect(tie(test)).toEqual([]);
    const { length } = test.sinces();
    const read = test.snapshots();
    await test.poll();
    expect([test.sinces().length - length <= 3, test.snapshots() - read]).toEqual([true, 0]);
  });
});

describe("changes that appear between two questions", () => {
  /** The first page holds two changes of one timestamp, as many as any before; `appear` runs before the second question. */
  const start = async (appear: (test: Followed, timestamp: number) => void) => {
    const test = await startFollowed(6, {
      service: { updates: { carry: "whole" } },
      settings: { updates: { carry: "whole" } },
    });
    test.clock.advance(3_600_000);
    await test.run("orders");
    const timestamp = test.clock.nowMs();
    for (const id of test.ids.slice(0, 2)) test.sandbox.service.changeOrder(id, { status: "paid", timestamp });
    test.clock.advance(1_500);
    const { service } = test.sandbox;
    const handle = service.handle.bind(service);
    let questions = 0;
    service.handle = (request) => {
      if (request.path.includes("updates") && ++questions === 3) appear(test, timestamp);
      return handle(request);
    };
    await test.poll(0);
    return test;
  };

  it("are no proof of a cut where they were made since", async () => {
    const test = await start(({ ids, sandbox, clock }) => {
      clock.advance(2_000);
      sandbox.service.changeOrder(ids[3]!, { status: "paid", timestamp: clock.nowMs() });
    });
    await test.poll();
    expect(test.statusOf(test.ids[3]!).status).toBe("paid");
    expect(tie(test)).toEqual([]);
  });
});

describe("a tie", () => {
  const at = (...seconds: number[]) => seconds.map((s) => parseTimestamp(`2026-03-01T12:00:${10 + s}Z`, "UTC")!);
  const page = (...seconds: number[]) => ({ timestamps: at(...seconds).map((t) => ({ ...t, text: "" })), fresh: 0 });
  const asked = (s: number) => ({ since: "", ns: at(s)[0]!.instantNs, isKnownTimestamp: false });
  const tied = { fromNs: at(5)[0]!.instantNs, toNs: at(6)[0]!.instantNs, overNs: at(6)[0]!.instantNs };
  const inOrderOfIds = [9, 5, 7, 5, 9, 5, 7, 5, 9, 5, 7, 5];

  it.each<[string, number[], boolean]>([
    ["rises from before it to behind it", [4, 5, 5, 7], true],
    ["ends with it", [4, 5, 5], false],
    ["is so full that its order may hide what was cut", inOrderOfIds, false],
    ["comes newest first, and may have been cut in it", [9, 9, 8, 8, 7, 7, 6, 6, 5, 5], false],
    ["comes newest first, and goes down behind it", [9, 9, 8, 8, 7, 7, 6, 6, 5, 4], true],
  ])("is over or not where a page %s", (_, seconds, isOver) => {
    expect(showsWhole(page(...seconds), asked(3), tied)).toBe(isOver);
    expect(showsWhole(page(...seconds), asked(5), tied)).toBe(false);
    expect(showsWhole(page(...seconds), asked(3), undefined)).toBe(false);
  });

  itWhole("of an earlier version is looked for, too, and one that a page shows to be whole is not", async () => {
    const test = await startBurst({}, 1_000, 60);
    await test.poll();
    const insert = () => {
      const { db } = test.bridge.store;
      db.exec(
        `INSERT INTO holds (area, scope, reason, since) VALUES ('updates', 'flow', 'tie', '2026-03-01T12:00:00.000Z')`,
      );
      db.exec(
        `INSERT OR REPLACE INTO meta (key, value) VALUES ('tie', '["1772300000000000000","1772300000001000000"]')`,
      );
    };
    insert();
    const before = test.snapshots();
    await test.poll();
    expect(tie(test)).toEqual([]);
    expect(test.snapshots() - before).toBe(60);
    insert();
    await test.sweep();
    expect(tie(test)).toEqual([]);
    expect(test.snapshots() - before).toBe(60);
  });
});

describe("a feed that is broken or still", () => {
  itWhole("ends a pass over the same page for ever, for every form of it", async () => {
    for (const updates of [{}, { next: ["next"] }, { next: ["next"], nextForm: "cursor" }] as const) {
      const next = "next" in updates ? "$.next" : null;
      const test = await startFollowed(30, {
        service: { updates: { pageLimit: 12, ...updates } },
        settings: { updates: { next } },
      });
      for (const id of test.ids) test.change(id, { status: "paid" });
      test.sandbox.service.setOptions({ updates: { stuck: "same-page" } });
      await test.poll();
      const requests = test.sinces().length;
      await test.poll();
      expect(test.sinces().length - requests).toBeLessThanOrEqual(3);
      expect(test.snapshots()).toBe(12);
      expect(tie(test)).toEqual([]);
    }
  });

  itSome(1)([
    ["an empty list", { emptyForm: "list" }],
    ["null", { emptyForm: "null" }],
    ["a bare list", { emptyForm: "bare-list" }],
    ["no content", { emptyForm: "204" }],
  ] as const)("reads %s as no changes, with one request, and writes nothing", async (_name, service) => {
    const test = await startFollowed(3, { service: { ...service, updates: { stuck: "empty" } } });
    await test.poll();
    const first = test.watermark();
    test.change(test.ids[0]!, { status: "paid" });
    const before = { dump: test.dump(), requests: test.sinces().length };
    expect(await test.run("updates")).toMatchObject({ outcome: "idle", counts: {} });
    expect(test.dump()).toEqual(before.dump);
    expect(test.watermark()).toBe(first);
    expect(test.sinces().length).toBe(before.requests + 1);
  });

  itWhole("says so where a full page of changes names no time, and reads them all the same", async () => {
    const test = await startFollowed(20, {
      service: { shape: { change: { updated_at: "moment" } } },
      settings: { updates: { fields: {} } },
    });
    for (const id of test.ids) test.change(id, { status: "paid" });
    await test.poll();
    expect(statuses(test)).toEqual(new Set(["paid"]));
    expect(tie(test)).toEqual([
      { detail: expect.stringMatching(/no time at \$\.updated_at.*updates\.fields\.updated_at/) },
    ]);
    expect(test.watermark()).toBe("Sun, 01 Mar 2026 12:00:00 GMT");
  });
});

describe("a backlog of more pages than a pass reads", () => {
  whole.it(
    "is followed in several passes at once, each with a position of its own, and misses nothing",
    async () => {
      // A page tells its first change once more and one that is new.
      const updates = { carry: "whole", pageLimit: 2 } as const;
      const test = await startFollowed(1_050, {
        service: { batchSize: 1_050, updates },
        settings: { updates: { carry: "whole", overlap: "1s" } },
      });
      const start = test.clock.nowMs();
      for (const [index, id] of test.ids.entries())
        test.sandbox.service.changeOrder(id, { status: "paid", timestamp: start + index * 10 });
      await test.poll();
      expect(statuses(test)).toEqual(new Set(["paid"]));
      expect(test.watermark()).toBe(new Date(start + 10_490).toISOString());
      expect(test.rows("SELECT 1 FROM runs WHERE job = 'updates'").length).toBeGreaterThan(1);
    },
    60_000,
  );
});

whole.describe("the same again", () => {
  it("is no write: many unchanged changes at every poll", async () => {
    const count = size(100, 1_000);
    const test = await startFollowed(count, {
      service: { batchSize: count, updates: { pageLimit: count, carry: "whole", created: true } },
      settings: { updates: { carry: "whole", overlap: "10d" } },
    });
    await test.poll();
    const { db } = test.bridge.store;
    db.exec("CREATE TEMP TABLE writes (name TEXT)");
    for (const name of Object.keys(test.dump())) {
      for (const verb of ["INSERT", "UPDATE", "DELETE"]) {
        db.exec(
          `CREATE TEMP TRIGGER "w_${name}_${verb}" AFTER ${verb} ON main."${name}" BEGIN INSERT INTO writes VALUES ('${name}'); END`,
        );
      }
    }
    const requests = test.sinces().length;
    expect(await test.poll()).toEqual({});
    expect(test.sinces().length - requests).toBeLessThanOrEqual(3);
    expect(test.rows("SELECT * FROM temp.writes")).toEqual([]);
    expect(test.rows("SELECT count(*) AS n, max(revision) AS newest FROM orders")).toEqual([{ n: count, newest: 1 }]);
  }, 60_000);
});
