import { describe, expect, it } from "vitest";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const ENDED = "Orders held since 12:49: the service refuses the credentials.";

describe("the line of a flow in status", () => {
  it("does not begin with a condition that has ended since it was written down", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    shop.write(
      `INSERT INTO conditions (rank, code, severity, subject, params, text, seen_at)
       VALUES (1, 'hold_credentials', 'critical', 'orders', '{"reason":"credentials"}', ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
      ENDED,
    );
    expect(shop.rows("SELECT sentence FROM sync_status WHERE flow = 'orders'")).toEqual([
      { sentence: expect.stringContaining(ENDED) },
    ]);
    const { out } = await shop.command("status");
    expect(out).toMatch(/^ {2}orders +Succeeded /m);
    expect(out).not.toContain(ENDED);
    const { flows } = JSON.parse((await shop.command("status", "--json")).out) as {
      flows: { flow: string; sentence: string }[];
    };
    expect(flows.find(({ flow }) => flow === "orders")?.sentence).toMatch(/^Succeeded /);
  });

  itWhole("begins with a condition that stands, in the words of now", async () => {
    const shop = await startShop();
    await shop.command("sync", "orders");
    shop.write(
      "INSERT INTO holds (area, scope, reason, since) VALUES ('orders', 'area', 'credentials', '2026-01-01T00:00:00.000Z')",
    );
    shop.write(
      `INSERT INTO conditions (rank, code, severity, subject, params, text, seen_at)
       VALUES (1, 'hold_credentials', 'critical', 'orders', '{"reason":"credentials"}', ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
      ENDED,
    );
    const { out } = await shop.command("status");
    expect(out).toMatch(/^ {2}orders +Orders held since .*2026.*credentials.* Succeeded /m);
    expect(out).not.toContain(ENDED);
  });
});
