import { describe, expect } from "vitest";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const EMPTY = { code: "answer_shape", message: expect.stringContaining("Empty records") };

async function start() {
  const test = await startFollowed(3);
  let rule: number | undefined;
  /** From now on these are the changes. */
  const serve = (...records: string[]) => {
    end();
    const body = `{"updates":[${records.join()}]}`;
    const action = { kind: "raw", contentType: "application/json", body } as const;
    rule = test.sandbox.faults.add({ match: { path: "updates" }, times: "forever", do: action });
  };
  const end = () => {
    if (rule !== undefined) test.sandbox.faults.remove(rule);
    rule = undefined;
  };
  const poll = async (minutes: number) => {
    test.clock.advance(minutes * MINUTE_MS);
    return (await test.run("updates")).error;
  };
  return { test, serve, end, poll };
}

const cancel = (test: Followed, id: string) => {
  test.change(id, { status: "cancelled" });
  return test.sandbox.service.newestText(id)!;
};
const quarantined = ({ rows }: Followed) => rows("SELECT kind, payload FROM quarantine");

describe("changes with records that hold nothing", () => {
  itSome(1)(["null", "{ }", "[]", '""'])(
    "are stored without them, and the position waits for the rest: %s",
    async (empty) => {
      const { test, serve, end, poll } = await start();
      const [first, second] = test.ids as [string, string];
      await poll(1);
      const before = test.watermark();
      cancel(test, first);
      serve(empty, cancel(test, second));
      for (let polls = 0; polls < 5; polls++) expect(await poll(10)).toMatchObject(EMPTY);
      expect(test.watermark()).toBe(before);
      expect([first, second].map((id) => test.statusOf(id).status)).toEqual(["new", "cancelled"]);
      end();
      expect(await poll(1)).toBeNull();
      expect(test.statusOf(first).status).toBe("cancelled");
      expect(test.watermark()).not.toBe(before);
      expect(quarantined(test)).toEqual([]);
    },
  );

  itWhole("keep the position for an hour, over a restart too; then they are in quarantine", async () => {
    const { test, serve, poll } = await start();
    await poll(1);
    const before = test.watermark();
    serve("null", cancel(test, test.ids[0]!));
    expect(await poll(1)).toMatchObject(EMPTY);
    expect(await poll(30)).toMatchObject(EMPTY);
    await test.restart();
    expect(await poll(29)).toMatchObject(EMPTY);
    expect(quarantined(test)).toEqual([]);
    expect(await poll(1)).toBeNull();
    expect(test.watermark()).not.toBe(before);
    expect(quarantined(test)).toEqual([{ kind: "change", payload: "null" }]);
  });

  itWhole("are held for each time, until all changes of that time have come with their orders", async () => {
    const { test, serve, end, poll } = await start();
    await poll(1);
    for (const id of test.ids.slice(0, 2)) {
      serve("null", cancel(test, id));
      for (let polls = 0; polls < 7; polls++) await poll(10);
      expect(test.rows("SELECT state FROM quarantine")).toEqual([{ state: "held" }]);
      end();
      for (let polls = 0; polls < 12; polls++) expect(await poll(10)).toBeNull();
      expect(test.rows("SELECT state FROM quarantine")).toEqual([{ state: "released" }]);
    }
  });
});
