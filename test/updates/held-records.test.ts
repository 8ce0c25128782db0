import { describe, expect, it } from "vitest";
import { saveQuarantined } from "../../src/pass/quarantine-rows.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { words } from "../support/messages.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;
const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

/** One answer holds these records instead of what is due, and its confirm is not heard. */
async function serve(test: Followed, records: readonly string[]): Promise<void> {
  test.sandbox.faults.add({ match: { path: "orders" }, do: raw(`{"orders":[${records.join()}]}`) });
  test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
  expect(await test.run("orders")).toMatchObject({ error: null });
}

const held = ({ rows }: Followed) =>
  rows<{ state: string; reason: string }>("SELECT state, reason FROM quarantine ORDER BY id");

describe("a record that came without a usable id", () => {
  itSome(1)<[string, (text: string, id: string) => string]>([
    ["null", (text, id) => text.replace(`"${id}"`, "null")],
    ["a number", (text, id) => text.replace(`"${id}"`, "17")],
    ["an object", (text, id) => text.replace(`"${id}"`, "{}")],
    ["nothing", (text) => text.replace(/"order_id":\s*"[^"]*",/, "")],
    ["other keys first", (text, id) => text.replace(`"${id}"`, "null").replace("{", '{ "order_id": null, ')],
  ])("is released, with a trace, once its order is stored: %s", async (_, spoil) => {
    const test = await startFollowed(2);
    // The first pass of all checks the records, then one an hour.
    await test.poll();
    const id = test.sandbox.service.createOrder();
    await serve(test, [spoil(test.sandbox.service.newestText(id)!, id)]);
    expect(held(test)).toMatchObject([{ state: "held" }]);
    test.clock.advance(60_000);
    await test.run("orders");
    expect(test.statusOf(id)).toMatchObject({ revision: 1 });
    await test.poll();
    expect(held(test)).toMatchObject([{ state: "held" }]);
    await test.poll(HOUR_MS);
    expect(held(test)).toEqual([{ state: "released", reason: expect.stringContaining(`stored since as order ${id}`) }]);
  });

  itWhole("is released where its order was changed before it came right, and no other has its number", async () => {
    const test = await startFollowed(2);
    const id = test.sandbox.service.createOrder();
    await serve(test, [test.sandbox.service.newestText(id)!.replace(`"${id}"`, "null")]);
    test.change(id, { status: "paid" });
    await test.run("orders");
    await test.poll(HOUR_MS);
    expect(held(test)).toMatchObject([{ state: "released" }]);
  });

  itWhole("is released where it says no number, and an order says the same", async () => {
    const test = await startFollowed(2, { settings: { orders: { fields: { number: "$.comment" } } } });
    const id = test.sandbox.service.createOrder();
    await serve(test, [test.sandbox.service.newestText(id)!.replace(`"${id}"`, "null")]);
    await test.run("orders");
    await test.poll(HOUR_MS);
    expect(held(test)).toMatchObject([{ state: "released" }]);
  });

  itWhole(
    "stays held where its order is not stored, or where what has its number was stored before, or is two, with other lines",
    async () => {
      const test = await startFollowed(2);
      const { service } = test.sandbox;
      const [stored] = test.ids as [string];
      const other = service.createOrder();
      const nobody = service.createOrder();
      const spoiled = (id: string, more = "") =>
        service
          .newestText(id)!
          .replace(`"${id}"`, "null")
          .replace("{", `{"more":"${more}",`)
          .replaceAll(/"quantity":\s*[^,}]+/g, '"quantity":12345');
      await serve(test, [spoiled(stored, "a"), spoiled(other, "b"), spoiled(nobody, "c")]);
      service.changeOrder(nobody, { deleted: true } as never);
      await test.run("orders");
      test.bridge.store.db
        .prepare("UPDATE orders SET number = (SELECT number FROM orders WHERE order_id = ?) WHERE order_id IN (?, ?)")
        .run(other, other, test.ids[1]);
      test.bridge.store.db.prepare("DELETE FROM orders WHERE order_id = ?").run(nobody);
      await test.poll(HOUR_MS);
      expect(held(test).map(({ state }) => state)).toEqual(["held", "held", "held"]);
    },
  );
});

describe("orders of which a record is held", () => {
  it("are read again every hour, and released where the service has put them right", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const bad = test.sandbox.service.newestText(id)!.replace(/"status":"[^"]*"/, '"status":{}');
    await serve(test, [bad]);
    expect(held(test)).toMatchObject([{ state: "held" }]);
    test.ill.set(id, raw(bad));
    const before = test.snapshots(id);
    for (let hours = 0; hours < 3; hours++) {
      await test.poll(HOUR_MS);
      for (let polls = 0; polls < 5; polls++) await test.poll();
    }
    expect(test.snapshots(id) - before).toBe(3);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    test.ill.clear();
    await test.poll(HOUR_MS);
    expect(held(test).filter(({ state }) => state === "held")).toEqual([]);
  });

  itWhole("are asked for a hundred an hour, in turn", async () => {
    const test = await startFollowed(1);
    const { store } = test.bridge;
    const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    store.write(() => {
      for (let n = 0; n < 250; n++) {
        const hash = Buffer.alloc(32, n);
        hash.writeUInt32BE(n);
        const at = "2026-03-01T12:00:00.000Z";
        saveQuarantined(store, { kind: "order", reference: idOf(n), reason: words("bad"), payload: "{}", hash, at });
      }
    });
    const ids = () => test.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1) ?? "");
    const asked = () => new Set(ids().filter((id) => id.startsWith("00000000")));
    for (const total of [100, 200, 250, 250]) {
      await test.poll(HOUR_MS);
      expect(asked().size).toBe(total);
    }
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
  });
});

inWhole("updates/find-unnamed").it(
  "keeps, finds and releases records beside tens of thousands that are held",
  async () => {
    const test = await startFollowed(1);
    const { store } = test.bridge;
    const bad = (n: number) => ({
      kind: "order" as const,
      reference: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
      reason: words("bad"),
      payload: "x".repeat(500),
      hash: Buffer.from(String(n).padStart(32, "0")),
      at: "2026-03-01T12:00:00.000Z",
    });
    const insert = store.prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload, payload_hash, first_seen_at, last_seen_at)
     VALUES (@kind, @reference, @reason, @payload, @hash, @at, @at)`,
    );
    store.write(() => {
      for (let n = 0; n < 20_000; n++) insert.run({ ...bad(n), reason: "bad" });
    });
    const begun = process.cpuUsage();
    store.write(() => {
      for (let n = 0; n < 300; n++) saveQuarantined(store, bad(50_000 + n));
    });
    await test.poll(HOUR_MS);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(700);
  },
);
