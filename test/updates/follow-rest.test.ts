import { describe, expect, it } from "vitest";
import { boundedPass as pass } from "../support/bounded-pass.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const whole = inWhole("updates/follow-rest");

const TOKENS = {
  service: { updates: { next: ["next"], nextForm: "cursor", pageLimit: 4 } },
  settings: { updates: { next: "$.next" } },
} as const;

const page = (test: Followed, next: string, records: readonly string[] = [], times = 1) =>
  test.sandbox.faults.add({
    match: { path: "updates" },
    times,
    do: { kind: "raw", body: `{"updates":[${records.join(",")}],"next":${next}}`, contentType: "application/json" },
  });
const textOf = (test: Followed, id: string) => test.sandbox.service.newestText(id)!;
const behind = (test: Followed) =>
  test.rows("SELECT held FROM sync_status WHERE flow = 'updates'").map(({ held }) => held)[0] ?? null;
const rests = (test: Followed) => test.rows("SELECT key FROM meta WHERE key LIKE '%rest'");

const WHOLE = { updates: { carry: "whole" } } as const;

/** A bridge whose position is a token. */
async function startByToken(): Promise<Followed> {
  const test = await startFollowed(10, TOKENS);
  for (const id of test.ids) test.change(id, { status: "paid" });
  await test.poll();
  expect(test.watermark()).toBe("cursor-20");
  return test;
}

describe("a position that the service names", () => {
  itSome(1)(['""', '" "', "null", "0", "0.0", '"0"', "false", '"false"', "true", "[]", "{}", '["cursor-99"]'])(
    "ends the pass and stays what it was where it names none: %s",
    async (next) => {
      const test = await startByToken();
      test.change(test.ids[0]!, { status: "packed" });
      page(test, next, [textOf(test, test.ids[0]!)]);
      await test.poll();
      expect(test.watermark()).toBe("cursor-20");
      expect(test.statusOf(test.ids[0]!).status).toBe("packed");
      test.change(test.ids[1]!, { status: "packed" });
      await test.poll();
      expect(test.statusOf(test.ids[1]!).status).toBe("packed");
      expect(test.watermark()).toBe("cursor-22");
    },
  );

  itWhole.each(['"cursor-20"', '"cursor-3"'])("never goes back or to and fro: %s", async (next) => {
    const test = await startByToken();
    test.change(test.ids[0]!, { status: "packed" });
    page(test, next, [textOf(test, test.ids[0]!)], 3);
    const before = test.sinces().length;
    await test.poll();
    expect(test.sinces().slice(before)).toEqual(["cursor-20"]);
    expect(test.watermark()).toBe("cursor-20");
    expect(test.statusOf(test.ids[0]!).status).toBe("packed");
  });

  itWhole.each([
    ["", () => Promise.resolve()],
    [", also where each pass is a process of its own", (test: Followed) => test.restart()],
  ])("goes back where the service insists on it, which repeats and loses nothing%s", async (_where, end) => {
    const test = await startByToken();
    test.change(test.ids[0]!, { status: "packed" });
    await test.poll();
    const before = test.sinces().length;
    const orders = test.ids.map((id) => test.statusOf(id));
    let minutes = 0;
    for (; !test.sinces().slice(before).includes("cursor-3") && minutes < 20; minutes++) {
      page(test, '"cursor-3"', [textOf(test, test.ids[0]!)]);
      await test.poll();
      await end(test);
    }
    expect(minutes).toBeGreaterThan(9);
    expect(minutes).toBeLessThan(13);
    expect(test.ids.map((id) => test.statusOf(id))).toEqual(orders);
    expect(test.logs.filter(({ message }) => message.includes("lies before the one asked"))).toHaveLength(1);
  });

  itWhole("is kept only once it was asked and answered", async () => {
    const test = await startByToken();
    test.change(test.ids[0]!, { status: "packed" });
    page(test, '"no such cursor"', [textOf(test, test.ids[0]!)]);
    test.clock.advance(60_000);
    expect(await test.run("updates")).toMatchObject({ outcome: "failed", error: { code: "request_refused" } });
    expect(test.watermark()).toBe("cursor-20");
    expect(test.statusOf(test.ids[0]!).status).toBe("packed");
    test.clock.advance(300_000);
    await test.poll();
    expect(test.watermark()).toBe("cursor-21");
    expect(test.rows("SELECT * FROM holds")).toEqual([]);
  });

  itWhole.each([400, 404, 410])("survives that it is answered with %s for a while", async (status) => {
    const test = await startByToken();
    test.change(test.ids[0]!, { status: "packed" });
    const rule = test.sandbox.faults.add({
      match: { path: "updates" },
      times: "forever",
      do: { kind: "status", status },
    });
    for (let pass = 0; pass < 3; pass++) {
      test.clock.advance(301_000);
      expect(await test.run("updates")).toMatchObject({ outcome: "failed" });
      expect(test.watermark()).toBe("cursor-20");
    }
    test.sandbox.faults.remove(rule);
    await test.poll(301_000);
    expect(test.watermark()).toBe("cursor-21");
    expect(test.statusOf(test.ids[0]!).status).toBe("packed");
  });

  itWhole("that the service forgets gives way to the time stored beside it", async () => {
    const test = await startByToken();
    const { db } = test.bridge.store;
    db.prepare("UPDATE watermarks SET value = 'forgotten' WHERE stream = 'updates'").run();
    test.change(test.ids[0]!, { status: "packed" });
    await test.poll();
    expect(test.statusOf(test.ids[0]!).status).toBe("packed");
    expect(test.watermark()).toBe("cursor-21");
    expect(test.logs.filter(({ message }) => message.includes("refuses its own position"))).toHaveLength(1);
  });
});

whole.describe("more changes than a pass may read", () => {
  it("are read on from where the last pass stopped, and status says that more wait until all are stored", async () => {
    const test = await startFollowed(40, { service: { updates: { pageLimit: 1 } } });
    for (const id of test.ids) test.change(id, { status: "paid" }, 10);
    const first = test.watermark();
    const stored = () => test.rows("SELECT 1 FROM seen_changes").length;
    test.clock.advance(1_000);
    expect(await pass(test)).toMatchObject({ outcome: "more" });
    expect(behind(test)).toBe("behind");
    const early = stored();
    expect(early).toBeGreaterThan(10);
    expect(early).toBeLessThan(40);
    const before = test.sinces().length;
    expect(await pass(test)).toMatchObject({ outcome: "more" });
    expect(Date.parse(test.sinces()[before]!)).toBeGreaterThan(Date.parse(first!));
    while (behind(test) !== null) await pass(test);
    expect(stored()).toBe(40);
    expect(rests(test)).toEqual([]);
    expect(test.watermark()).toBe(JSON.parse(textOf(test, test.ids.at(-1)!)).updated_at);
    // All of it once more, because it lies inside the overlap: nothing is written, and nothing is left open.
    const dump = test.dump();
    const passes = [await pass(test), await pass(test), await pass(test), await pass(test)];
    expect(passes.map(({ outcome }) => outcome)).toContain("idle");
    expect(test.dump()).toEqual(dump);
  });

  itWhole(
    "are asked for from the watermark again in another form, or where the service refuses to go on from there",
    async () => {
      const test = await startFollowed(40, { service: { updates: { pageLimit: 1 } } });
      for (const id of test.ids) test.change(id, { status: "paid" }, 10);
      await pass(test);
      const { db } = test.bridge.store;
      // Whether the pass begins ten minutes before the watermark, and not where the last one stopped.
      const beginsAnew = async (act: () => void) => {
        act();
        const mark = Date.parse(test.watermark()!);
        const before = test.sinces().length;
        await pass(test).catch(() => undefined);
        return Date.parse(test.sinces()[before]!) <= mark - 600_000;
      };
      const refuse = () =>
        void test.sandbox.faults.add({ match: { path: "updates" }, do: { kind: "status", status: 400 } });
      const rewrite = () =>
        void db.exec("UPDATE meta SET value = json_set(value, '$.signature', 'x') WHERE key = 'updates_rest'");
      expect(await beginsAnew(() => {})).toBe(false);
      expect(await beginsAnew(refuse)).toBe(false);
      expect(await beginsAnew(() => {})).toBe(true);
      expect(await beginsAnew(rewrite)).toBe(true);
    },
  );

  itWhole("in a sweep are read on after what is new, and the sweep counts once it is whole", async () => {
    const test = await startFollowed(40, { service: { updates: { pageLimit: 1 } } });
    for (const id of test.ids) test.change(id, { status: "paid" }, 10);
    await test.poll();
    const sweptAt = () => test.rows<{ value: string }>("SELECT value FROM watermarks WHERE stream = 'sweep'")[0]?.value;
    const before = sweptAt();
    test.clock.advance(26 * 3_600_000);
    await test.run("orders");
    expect(await pass(test)).toMatchObject({ outcome: "more" });
    expect(sweptAt()).toBe(before);
    expect(rests(test)).toEqual([{ key: "sweep_rest" }]);
    expect(behind(test)).toBeNull();
    test.change(test.ids[0]!, { status: "packed" });
    const asked = test.sinces().length;
    await pass(test, 90);
    expect(test.statusOf(test.ids[0]!).status).toBe("packed");
    // What is new first, from the watermark less ten minutes; then the sweep from where it stopped.
    const sinces = test
      .sinces()
      .slice(asked)
      .map((since) => Date.parse(since));
    expect(sinces.findIndex((since, index) => since < (sinces[index - 1] ?? 0))).toBeGreaterThan(1);
    expect(rests(test)).toEqual([]);
    expect(Date.parse(sweptAt()!)).toBeGreaterThan(Date.parse(before!));
  });
});

describe("a page that holds one change", () => {
  itSome(1)(["inclusive", "exclusive"] as const)("is followed to the end, %s", async (boundary) => {
    const test = await startFollowed(20, { service: { updates: { pageLimit: 1, boundary } } });
    for (const id of test.ids) test.change(id, { status: "paid" }, 100);
    await test.poll();
    expect(test.ids.map((id) => test.statusOf(id).status)).toEqual(test.ids.map(() => "paid"));
    expect(test.rows("SELECT * FROM holds")).toEqual([]);
  });
});

whole.describe("a service that answers few requests a minute", () => {
  const few = (requestsPerMinute: number) => ({ limits: { requestsPerMinute } });
  /** A pass of each minute; those that are asked to wait fail. */
  const follow = async (test: Followed, minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) await test.poll().catch(() => {});
  };
  const changed = (test: Followed) => test.ids.filter((id) => test.statusOf(id).status === "paid").length;

  it("is followed on from where it asked to wait, however many pages there are", async () => {
    const test = await startFollowed(14, { service: { updates: { pageLimit: 2, carry: "whole" } }, settings: WHOLE });
    await test.poll();
    for (const id of test.ids) test.change(id, { status: "paid" });
    const before = test.watermark();
    test.sandbox.service.setOptions(few(3));
    await follow(test, 30);
    expect(changed(test)).toBe(14);
    expect(test.watermark()).not.toBe(before);
    expect(rests(test)).toEqual([]);
    expect(behind(test)).toBeNull();
  });

  itWhole("stores what is new although the look back of a day takes more than a minute's requests", async () => {
    const test = await startFollowed(14, { service: { updates: { pageLimit: 2, carry: "whole" } }, settings: WHOLE });
    await test.poll();
    for (const id of test.ids) test.change(id, { status: "paid" });
    await test.poll();
    expect(changed(test)).toBe(14);
    test.sandbox.service.setOptions(few(5));
    test.clock.advance(26 * 3_600_000);
    await test.run("orders");
    test.change(test.ids[0] ?? "", { status: "packed" });
    await follow(test, 40);
    expect(test.statusOf(test.ids[0] ?? "").status).toBe("packed");
    expect(rests(test)).toEqual([]);
  });
});
