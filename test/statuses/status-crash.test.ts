import { describe, expect, it } from "vitest";
import { crashOnce } from "../support/crash.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { inWhole, itWhole } from "../support/whole.ts";

const whole = inWhole("statuses/status-properties", "statuses/status-unknown");

/** Every sync waits for so long where an outcome is unknown; a busy machine answers within it. */
const settings = { statuses: { path: STATUS_PATH }, service: { timeouts: { headers: "1s" } } };

async function shopWithRequests(): Promise<Shop & { orderId: string; other: string }> {
  const shop = await startShop({ settings });
  const orderId = shop.sandbox.service.createOrder({ status: "new" });
  const other = shop.sandbox.service.createOrder({ status: "new" });
  expect(await shop.command("sync", "orders")).toMatchObject({ code: 0 });
  const ask = "INSERT INTO status_requests (order_id, status) VALUES (?, ?)";
  for (const status of ["accepted", "shipped"]) shop.write(ask, orderId, status);
  shop.write(ask, other, "paid");
  return { ...shop, orderId, other };
}

const effectsOf = ({ sandbox }: Shop, id: string) =>
  sandbox.ledger
    .effects("status")
    .filter(({ orderId }) => orderId === id)
    .map(({ status }) => status);

/** Everything arrives once and in its order, and the ERP need not see any of it. */
async function expectSettled(shop: Shop & { orderId: string; other: string }): Promise<void> {
  expect(await shop.command("sync", "statuses")).toMatchObject({ code: 0 });
  expect(shop.rows("SELECT state, last_error, echo FROM status_requests")).toEqual(
    Array(3).fill({ state: "sent", last_error: null, echo: null }),
  );
  expect(effectsOf(shop, shop.orderId)).toEqual(["accepted", "shipped"]);
  expect(effectsOf(shop, shop.other)).toEqual(["paid"]);
  expect(shop.rows("SELECT status, erp_revision FROM orders ORDER BY order_key")).toEqual([
    { status: "shipped", erp_revision: 1 },
    { status: "paid", erp_revision: 1 },
  ]);
  expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
}

describe("a program that is killed while a status is on its way", () => {
  whole.it.each([
    ["after the service has acted on it", "answer"],
    ["before the service acts on it", "request"],
  ] as const)("sends nothing twice and forgets nothing: %s", async (_, at) => {
    const shop = await shopWithRequests();
    await crashOnce(shop, { kind: "status", at }, ["sync", "statuses"], () => {});
    expect(shop.rows("SELECT state, status_before, status_sent FROM status_requests WHERE id = 1")).toEqual([
      { state: "sending", status_before: "new", status_sent: "accepted" },
    ]);
    expect(effectsOf(shop, shop.orderId)).toEqual(at === "request" ? [] : ["accepted"]);
    await expectSettled(shop);
  });

  whole.it("sends nothing twice where the service acts on it after the program is gone", async () => {
    const shop = await shopWithRequests();
    const program = shop.start("sync", "statuses");
    shop.hooks.onRequest = async ({ path }) => {
      if (!path.endsWith("/status")) return;
      delete shop.hooks.onRequest;
      await program.kill();
    };
    expect(await program.exited).toMatchObject({ signal: "SIGKILL" });
    await expect.poll(() => effectsOf(shop, shop.orderId)).toEqual(["accepted"]);
    await expectSettled(shop);
  });

  whole.it("reads the order again where it is killed while it reads it", async () => {
    const shop = await shopWithRequests();
    shop.sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "reset" } });
    await crashOnce(shop, { kind: "snapshot", at: "answer" }, ["sync", "statuses"], () => {});
    expect(shop.rows("SELECT state FROM status_requests WHERE id = 1")).toEqual([{ state: "sending" }]);
    await expectSettled(shop);
  });

  whole.it("reads the order back where it is killed after the answer", async () => {
    const shop = await shopWithRequests();
    await crashOnce(shop, { kind: "snapshot", at: "request" }, ["sync", "statuses"], () => {});
    expect(shop.rows("SELECT state, echo FROM status_requests WHERE id = 1")).toEqual([
      { state: "sent", echo: "owed" },
    ]);
    await expectSettled(shop);
  });
});

describe("the commands", () => {
  it("send what waits with sync, say what was refused, and know when it is switched off", async () => {
    const shop = await shopWithRequests();
    shop.write("INSERT INTO status_requests (order_id, status) VALUES ('nobody', 'paid')");
    const sent = await shop.command("sync", "statuses");
    expect(sent.code).toBe(2);
    expect(sent.out).toMatch(/^statuses: .*3 sent/);
    expect(sent.out).toContain("1 refused");
    expect(await shop.command("sync", "statuses")).toMatchObject({ code: 0, out: "statuses: nothing to do" });
    expect((await shop.command("sync")).out).toContain("statuses: nothing to do");
    expect(shop.rows("SELECT enabled, waiting FROM sync_status WHERE flow = 'statuses'")).toEqual([
      { enabled: 1, waiting: 0 },
    ]);
    shop.writeConfig({ statuses: { path: null } });
    expect(await shop.command("sync", "statuses")).toMatchObject({ code: 64 });
    expect((await shop.command("sync")).out).not.toContain("statuses");
  });

  itWhole("name the hold of a wrong path, and lift it with resume", async () => {
    const shop = await shopWithRequests();
    shop.writeConfig({ statuses: { path: "/api/v1/1c/orders/{order_id}/state" } });
    const failed = await shop.command("sync", "statuses");
    expect(failed.code).not.toBe(0);
    expect(failed.out).toContain("statuses.path or statuses.method is wrong");
    expect(await shop.command("sync", "statuses")).toMatchObject({ code: 2 });
    shop.writeConfig();
    expect(await shop.command("resume", "statuses")).toMatchObject({ code: 0 });
    expect(await shop.command("sync", "statuses")).toMatchObject({ code: 0 });
    expect(effectsOf(shop, shop.orderId)).toEqual(["accepted", "shipped"]);
  });
});
