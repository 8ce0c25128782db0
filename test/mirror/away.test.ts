import { expect } from "vitest";
import { expectMirrored, startMirroredShop } from "../support/mirror.ts";
import { describeWithPostgres, testProxy } from "../support/postgres.ts";
import { createOrders } from "../support/pull.ts";
import { inWhole } from "../support/whole.ts";

const HOURS = 7 * 24;
const STEP_HOURS = 4;

describeWithPostgres("a week without PostgreSQL", () => {
  inWhole("mirror/down", "mirror/up").it("stops nothing else, is bounded, and is made up for by itself", async () => {
    const proxy = await testProxy();
    const shop = await startMirroredShop({
      url: ({ name }) => proxy.url(name),
      settings: { imports: { stocks: { path: "/import/stocks" } } },
    });
    createOrders(shop, 3);
    await shop.run("orders");
    await shop.mirror();
    proxy.isRefusing = true;
    proxy.onStatement = () => "before";
    for (let hour = 0; hour < HOURS; hour += STEP_HOURS) {
      createOrders(shop, 2);
      for (const flow of ["orders", "updates", "stocks", "upkeep"] as const)
        expect([flow, (await shop.run(flow)).error]).toEqual([flow, null]);
      expect((await shop.run("mirror")).error?.code).toBe("mirror_away");
      shop.clock.advance(STEP_HOURS * 3_600_000);
    }
    const codes = shop.bridge.watched().conditions.map(({ code, subject }) => `${code} ${subject}`);
    expect(codes).toContain("flow_stale mirror");
    // A row for each batch, however often it has changed, and none for orders: their events are kept anyway.
    const [waiting] = shop.rows<{ n: number }>("SELECT count(*) AS n FROM mirror_changes");
    const [batches] = shop.rows<{ n: number }>("SELECT count(*) AS n FROM batches");
    expect(waiting?.n).toBeLessThanOrEqual(batches?.n ?? 0);
    proxy.isRefusing = false;
    proxy.onStatement = undefined;
    await shop.mirror();
    await expectMirrored(shop);
    expect(shop.rows("SELECT 1 FROM mirror_changes")).toEqual([]);
    expect(await shop.there("SELECT is_silent FROM shops")).toEqual(["f"]);
  });
});
