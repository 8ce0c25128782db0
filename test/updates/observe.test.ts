import { describe, expect, it } from "vitest";
import { startTestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const observations = (test: Awaited<ReturnType<typeof startTestBridge>>) =>
  test.rows<{ kind: string; name: string; sample: string; state: string }>(
    "SELECT kind, name, sample, state FROM observations ORDER BY kind, name",
  );

describe("what is noticed about the service", () => {
  it("are fields that nothing reads and statuses that nothing names, once, without what stands in them", async () => {
    const test = await startTestBridge({ settings: { orders: { extra: { comment: "$.comment" } } } });
    for (let n = 0; n < 3; n++) test.sandbox.service.createOrder();
    await test.run("orders");
    await test.bridge.watch.look();
    expect(observations(test)).toEqual([
      { kind: "field", name: "customer", sample: "an object with name, phone", state: "new" },
      { kind: "status", name: "new", sample: "the configuration names no meaning for it", state: "new" },
    ]);
    expect(JSON.stringify([test.logs, observations(test)])).not.toMatch(/Иванова|\+7 900/);
  });

  itWhole("is never written twice, also after a restart, and stays dismissed", async () => {
    const test = await startTestBridge();
    const id = test.sandbox.service.createOrder();
    await test.run("orders");
    await test.bridge.watch.look();
    test.bridge.store.db.prepare("UPDATE observations SET state = 'dismissed', first_seen_at = 'kept'").run();
    await test.restart();
    test.clock.advance(60_000);
    test.sandbox.service.changeOrder(id, { status: "paid" });
    await test.run("updates");
    await test.bridge.watch.look();
    expect(test.rows("SELECT name FROM observations WHERE state = 'new'")).toEqual([{ name: "paid" }]);
    expect(test.rows("SELECT value ->> 'seq' AS seq FROM meta WHERE key = 'observed'")).toEqual(
      test.rows("SELECT max(seq) AS seq FROM order_events"),
    );
    const before = test.bridge.store.db.prepare("SELECT total_changes() AS n").get();
    await test.bridge.watch.look();
    expect(test.bridge.store.db.prepare("SELECT total_changes() AS n").get()).toEqual(before);
  });

  itWhole(
    "is an optional path that used to match and has not for many orders in a row, until it matches again",
    async () => {
      const test = await startTestBridge();
      const pull = async (count: number) => {
        for (let n = 0; n < count; n++) test.sandbox.service.createOrder();
        await test.run("orders");
        await test.bridge.watch.look();
      };
      const paths = () => observations(test).filter(({ kind }) => kind === "path");
      await pull(2);
      test.sandbox.service.setOptions({ shape: { order: { number: "num" } } });
      await pull(9);
      expect(paths()).toEqual([]);
      await test.restart();
      await pull(1);
      expect(paths()).toMatchObject([{ name: "orders.fields.number ($.number)", state: "new" }]);
      expect(paths()[0]?.sample).toMatch(/^fields there now: order_id, num, status/);
      test.sandbox.service.setOptions({ shape: { order: { number: "number" } } });
      await pull(1);
      expect(paths()).toMatchObject([{ state: "over" }]);
    },
  );

  itWhole("stays few when the service makes up field names, and takes hostile names as inert text", async () => {
    const test = await startTestBridge();
    const fields = Array.from({ length: 400 }, (_, n) => `"f${n}":1`).join();
    test.sandbox.service.createOrder({
      raw: `{"order_id":"6f1e9b7e-0000-4000-8000-000000000001","status":"x","items":[],"__proto__":1,"a\\u001b[31m\\u0000":2,${fields}}`,
    });
    await test.run("orders");
    await test.bridge.watch.look();
    const names = observations(test).map(({ name }) => name);
    expect(names).toContain("__proto__");
    expect(names).toContain("a [31m");
    expect(names.length).toBeLessThanOrEqual(300);
  });
});
