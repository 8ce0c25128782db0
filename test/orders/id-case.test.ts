import { expect, it } from "vitest";
import { type Followed, startFollowed } from "../support/followed.ts";
import { NO_SUCH_ORDER } from "../support/ill-orders.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE = 60_000;
const DAY = 24 * 3_600_000;

/** A service that writes ids in upper case and, from a release on, in lower case; it compares paths letter by letter. */
async function startStrict(count: number) {
  const holder: { test?: Followed; isLower?: boolean } = {};
  const onRequest = ({ path }: { path: string }) => {
    const [, id, status] = /orders\/([0-9a-fA-F-]{36})(\/status)?$/.exec(path) ?? [];
    const wanted = holder.isLower === true ? id?.toLowerCase() : id?.toUpperCase();
    const match = { path: status === undefined ? ("snapshot" as const) : ("status" as const) };
    if (id !== wanted) holder.test?.sandbox.faults.add({ match, do: NO_SUCH_ORDER });
  };
  const test = await startFollowed(count, {
    settings: { statuses: { path: "/api/v1/1c/orders/{order_id}/status" } },
    service: { shape: { upperCaseIds: true } },
    sandbox: { onRequest },
  });
  holder.test = test;
  const release = () => {
    holder.isLower = true;
    test.sandbox.service.setOptions({ shape: { upperCaseIds: false } });
  };
  return Object.defineProperties({ release }, Object.getOwnPropertyDescriptors(test)) as Followed & {
    release: () => void;
  };
}

itWhole(
  "is followed where the service writes its ids in another case, and no order counts as missing for it",
  async () => {
    const test = await startStrict(4);
    const [id, changed, served] = test.ids as [string, string, string];
    const serviceIds = () => test.rows("SELECT DISTINCT service_id FROM orders WHERE order_id <> ?", served);
    expect(serviceIds()).toHaveLength(3);
    test.release();
    test.clock.advance(DAY);
    test.bridge.store.db.prepare("INSERT INTO status_requests (order_id, status) VALUES (?, 'packed')").run(id);
    test.change(changed, { status: "paid" });
    for (let round = 0; round < 40; round++) {
      test.clock.advance(MINUTE);
      for (const job of ["orders", "updates", "statuses"] as const) await test.run(job);
      if (round % 20 === 0) await test.run("reconcile");
    }
    expect(test.rows("SELECT order_id FROM orders WHERE removed_at IS NOT NULL")).toEqual([]);
    expect(test.rows("SELECT * FROM missing_orders")).toEqual([]);
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "sent" }]);
    expect(test.rows("SELECT count(*) AS n FROM orders WHERE service_id IS NOT NULL")).toEqual([{ n: 0 }]);
    expect(test.statusOf(changed)).toEqual({ status: "paid", revision: 2 });
    // The case alone is no change of an order.
    expect(test.statusOf(served)).toMatchObject({ revision: 1 });
  },
);

it("is taken from a record that says nothing new but the case of its id", async () => {
  const test = await startStrict(2);
  const [id] = test.ids as [string];
  const record = test.sandbox.service.newestText(id)!.replace(id.toUpperCase(), id);
  const body = `{"batch_id": 900, "orders": [${record}]}`;
  test.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
  test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
  await test.run("orders");
  expect(test.rows("SELECT service_id, revision FROM orders WHERE order_id = ?", id)).toEqual([
    { service_id: null, revision: 1 },
  ]);
});
