import { describe, expect } from "vitest";
import { startShop } from "../support/shop.ts";
import { inWhole, itWhole } from "../support/whole.ts";

describe("repairs on a database of its own or beside a daemon", () => {
  itWhole("sync reconcile says how many orders were checked and how many differ", async () => {
    const shop = await startShop();
    const ids = Array.from({ length: 4 }, () => shop.sandbox.service.createOrder());
    await shop.command("sync", "orders");
    shop.sandbox.service.setOptions({ updates: { stuck: "empty" } });
    shop.sandbox.service.changeOrder(ids[0]!, { status: "paid" });
    expect(await shop.command("sync", "reconcile")).toMatchObject({
      code: 0,
      out: "reconcile: 4 checked, 1 differs, 4 payloads sound",
    });
    expect(await shop.command("sync", "reconcile")).toMatchObject({
      out: "reconcile: 4 checked, 0 differ, 4 payloads sound",
    });
  });

  inWhole("orders/remap").it(
    "remap runs beside a daemon that goes on storing orders, and loses none of its writes",
    async () => {
      const wrong = {
        orders: { fields: { total: "$.currency" }, schedule: "* * * * * *" },
        updates: { schedule: "* * * * * *" },
      };
      const right = {
        orders: { fields: { total: "$.total" }, schedule: "* * * * * *" },
        updates: { schedule: "* * * * * *" },
      };
      const shop = await startShop({ settings: wrong });
      const ids = Array.from({ length: 600 }, () => shop.sandbox.service.createOrder());
      const daemon = shop.start("run");
      await daemon.says("erp-bridge is running");
      await shop.command("sync", "orders");

      const refused = await shop.command("remap", "--dry-run");
      expect(refused).toMatchObject({ code: 0 });
      shop.writeConfig(right);
      expect(await shop.command("remap")).toMatchObject({ code: 78 });
      daemon.child.kill("SIGHUP");
      await daemon.says("stored orders are corrected by: erp-bridge remap");

      const changes = ids.slice(0, 50);
      for (const id of changes) shop.sandbox.service.changeOrder(id, { status: "paid" });
      const remapping = shop.command("remap");
      const syncing = shop.command("sync", "orders", "updates");
      expect(await remapping).toMatchObject({ code: 0, out: expect.stringMatching(/^600 orders looked at: /) });
      expect((await syncing).code).toBeLessThanOrEqual(2);
      await shop.command("sync", "updates");
      expect(
        shop.rows("SELECT count(*) AS n FROM orders WHERE total IN (SELECT DISTINCT currency FROM orders)"),
      ).toEqual([{ n: 0 }]);
      expect(
        shop.rows(
          "SELECT count(*) AS n FROM orders WHERE status = 'paid' AND order_id IN (SELECT value FROM json_each(?))",
          JSON.stringify(changes),
        ),
      ).toEqual([{ n: 50 }]);
      for (const { total, payload } of shop.rows<{ total: string; payload: string }>(
        "SELECT total, payload FROM orders",
      )) {
        expect(payload).toContain(`"total":${total}`);
      }
      // Fifty changes in one millisecond may look like a page that was cut at that timestamp.
      expect(shop.rows("SELECT * FROM holds WHERE reason <> 'tie'")).toEqual([]);
      daemon.child.kill("SIGTERM");
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
    },
    40_000,
  );

  itWhole("status --watch writes a line for each look into a pipe, until it is interrupted", async () => {
    const shop = await startShop();
    await shop.command("sync");
    const watch = shop.start("status", "--watch");
    while (watch.stdout().split("\n").length < 3)
      await new Promise((resolve) => watch.child.stdout?.once("data", resolve));
    watch.child.kill("SIGINT");
    expect((await watch.exited).code).toBe(2);
    const lines = watch.stdout().trimEnd().split("\n");
    for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d The daemon is not running\. Asked \d+ s ago;/);
  });
});
