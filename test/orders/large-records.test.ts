import { describe, expect, it } from "vitest";
import { loadQuarantined } from "../../src/pass/held-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { confirmBodies, createOrders, orderCount } from "../support/pull.ts";
import { inWhole, itSome, itWhole, some } from "../support/whole.ts";

const MIB = 1024 * 1024;
const LARGE = 17 * MIB;
const ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const OTHER = "3f2504e0-4f89-41d3-9a0c-0305e82c3302";

const order = (id: string, more = "") =>
  `{"order_id":"${id}","number":"1","status":"new","created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z","items":[]${more}}`;
const large: Record<string, string> = {
  "one long text": order(ID, `,"note":"${"текст, ".repeat(LARGE / 12)}"`),
  "a text of escapes": order(ID, `,"note":"${"\\u0430".repeat(LARGE / 6)}"`),
  "a text of quotes": order(ID, `,"note":"${'\\"'.repeat(LARGE / 2)}"`),
  "one long number": order(ID, `,"discount":1${"7".repeat(LARGE)}`),
  "one long key": order(ID, `,"${"k".repeat(LARGE)}":1`),
  "many members": order(
    ID,
    Array.from({ length: 200_000 }, (_, n) => `,"k${n}":"${"x".repeat(LARGE / 200_000)}"`).join(""),
  ),
  "a status of that length": `{"order_id":"${ID}","number":"1","status":"${"s".repeat(LARGE)}","items":[]}`,
};

function answer({ sandbox }: TestBridge, path: "orders" | "updates" | "snapshot" | "confirm", body: string): void {
  sandbox.faults.add({ match: { path }, do: { kind: "raw", contentType: "application/json", body } });
}

const held = (t: TestBridge) =>
  t.rows(
    "SELECT id, kind, reference, reason, payload, body_id IS NOT NULL AS inParts, times FROM quarantine WHERE state = 'held'",
  ) as { id: number; kind: string; reference: string }[];
const parts = (t: TestBridge) => t.rows<{ n: number }>("SELECT count(*) AS n FROM body_parts")[0]!.n;

/** The most bytes of parts that one transaction has written, and whether the loop had its turn between any two. */
function watchWrites({ bridge: { store } }: TestBridge): { longest: () => number } {
  const bytes = () =>
    (store.db.prepare("SELECT coalesce(sum(length(bytes)), 0) AS n FROM body_parts").get() as { n: number }).n;
  const write = store.write.bind(store);
  let longest = 0;
  let before = bytes();
  store.write = (fn) => {
    const result = write(fn);
    longest = Math.max(longest, bytes() - before);
    before = bytes();
    return result;
  };
  return { longest: () => longest };
}

inWhole("orders/pull-giant", "answers/mend-json").describe("a record of more than 16 MB", () => {
  it.each(some(Object.entries(large), 1))(
    "is quarantined in parts, and the others are stored: %s",
    async (_, record) => {
      const t = await startTestBridge();
      const writes = watchWrites(t);
      answer(t, "orders", `{"orders":[${order(OTHER)},${record}]}`);
      await t.run("orders");
      expect(t.rows("SELECT order_id FROM orders")).toEqual([{ order_id: OTHER }]);
      expect(held(t)).toMatchObject([
        {
          kind: "order",
          reference: ID,
          reason: `the record is larger than 16000000 bytes`,
          payload: null,
          inParts: 1,
        },
      ]);
      expect(loadQuarantined(t.bridge.store, held(t)[0]!.id)?.payload === record).toBe(true);
      // The sandbox has served none of them, and refuses each.
      expect(JSON.parse(confirmBodies(t)[0] ?? "")).toEqual({ order_ids: [OTHER, ID] });
      expect(writes.longest()).toBe(MIB);
      // What is held is not removed, and nothing else is left behind.
      await t.run("orders");
      expect(parts(t)).toBe(Math.ceil(Buffer.byteLength(record) / MIB));
    },
  );

  itWhole.each([
    ["alone", []],
    ["with another", [order(OTHER)]],
  ])("is not lost where the program dies before it is quarantined: %s", async (_, others) => {
    const t = await startTestBridge();
    answer(t, "orders", `{"batch_id":"B1","orders":[${[large["one long text"], ...others].join()}]}`);
    const { store } = t.bridge;
    const write = store.write.bind(store);
    let isGone = false;
    store.write = (fn) =>
      write(() => {
        const result = fn();
        isGone ||= held(t).length > 0;
        if (isGone) throw new Error("the process is gone");
        return result;
      });
    await t.run("orders");
    expect([held(t), confirmBodies(t)]).toEqual([[], []]);
    await t.restart();
    // The service has handed it out once.
    await t.run("orders");
    expect([orderCount(t), held(t).length]).toEqual([others.length, 1]);
    expect(confirmBodies(t)).toHaveLength(1);
  });

  itWhole("is written once where it is served again, and a good record releases it", async () => {
    const t = await startTestBridge();
    const record = large["one long text"]!;
    for (let times = 0; times < 2; times++) {
      answer(t, "orders", `{"orders":[${order(OTHER)},${record}]}`);
      await t.run("orders");
    }
    expect(held(t)).toHaveLength(1);
    await t.run("orders");
    expect(parts(t)).toBe(Math.ceil(Buffer.byteLength(record) / MIB));
    // Another large record of the order takes the place of the first, with its bytes.
    const other = large["one long number"]!;
    answer(t, "orders", `{"orders":[${order(OTHER, ',"n":1')},${other}]}`);
    await t.run("orders");
    expect(held(t)).toHaveLength(1);
    expect(loadQuarantined(t.bridge.store, held(t)[0]!.id)?.payload === other).toBe(true);
    await t.run("orders");
    expect(parts(t)).toBe(Math.ceil(Buffer.byteLength(other) / MIB));
    answer(t, "orders", `{"orders":[${order(ID)}]}`);
    await t.run("orders");
    expect(held(t)).toEqual([]);
    expect(t.rows("SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
  });

  itWhole("is quarantined where it comes as a change, and the page goes on", async () => {
    const t = await startTestBridge();
    createOrders(t, 1);
    await t.run("orders");
    const writes = watchWrites(t);
    const record = large["a text of escapes"]!;
    answer(t, "updates", `{"updates":[${order(OTHER)},${record}]}`);
    await t.run("updates");
    expect(held(t)).toMatchObject([{ kind: "change", reference: ID, payload: null, inParts: 1 }]);
    expect(loadQuarantined(t.bridge.store, held(t)[0]!.id)?.payload === record).toBe(true);
    expect(writes.longest()).toBe(MIB);
    expect(orderCount(t) + t.rows("SELECT 1 FROM owed_reads").length).toBeGreaterThan(1);
  });

  itWhole(
    "is quarantined where the order itself is asked for, and keeps its bytes while others remove theirs",
    async () => {
      const t = await startTestBridge();
      const [id = ""] = createOrders(t, 1);
      await t.run("orders");
      const record = large["one long text"]!.replace(ID, id);
      answer(t, "snapshot", record);
      const { store } = t.bridge;
      const write = store.write.bind(store);
      let others: Promise<unknown> | undefined;
      store.write = (fn) => {
        const result = write(fn);
        if (parts(t) > 0) others ??= t.run("orders");
        return result;
      };
      const reconciled = await t.run("reconcile");
      await others;
      expect(reconciled.error).toBeNull();
      expect(held(t)).toMatchObject([{ kind: "snapshot", reference: id, payload: null, inParts: 1 }]);
      expect(loadQuarantined(t.bridge.store, held(t)[0]!.id)?.payload === record).toBe(true);
    },
  );
});

describe("what an answer holds beside its records", () => {
  itSome(1)([
    [
      "a text",
      `{"note":"${"x".repeat(LARGE)}","orders":[${order(OTHER)}]}`,
      "more than 16000000 bytes outside its records",
    ],
    [
      "a key",
      `{"orders":[${order(OTHER)}],"${"к".repeat(LARGE / 2)}":1}`,
      "more than 16000000 bytes outside its records",
    ],
    [
      "a number",
      `{"total":${"7".repeat(LARGE)},"orders":[${order(OTHER)}]}`,
      "more than 16000000 bytes outside its records",
    ],
    ["blanks", `{"orders":[${" ".repeat(2 * MIB)}]}`, "more than 1000000 bytes of white space"],
    ["blanks after it", `{"orders":[]}${" ".repeat(2 * MIB)}`, "more than 1000000 bytes of white space"],
  ])("is refused by a limit that is named, and nothing is confirmed: %s", async (_, body, words) => {
    const t = await startTestBridge();
    answer(t, "orders", body);
    const { error } = await t.run("orders");
    expect(error).toMatchObject({ code: "answer_too_large" });
    expect(error?.message).toContain(words);
    expect([confirmBodies(t), orderCount(t)]).toEqual([[], 0]);
    await t.run("orders");
    expect(confirmBodies(t)).toEqual([]);
  });
});
