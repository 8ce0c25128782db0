import { describe, expect, it } from "vitest";
import { startShop } from "../support/shop.ts";

describe("sync beside a hold", () => {
  it("ends with the holds of what it was asked for, and not with another area's", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    await shop.command("sync");
    shop.write(
      "INSERT INTO holds (area, reason, since, scope) VALUES ('stocks', 'refused', '2026-01-01T00:00:00.000Z', 'flow')",
    );
    expect(await shop.command("sync", "orders")).toMatchObject({ code: 0 });
    const stocks = await shop.command("sync", "stocks");
    expect(stocks.code).not.toBe(0);
  });
});
