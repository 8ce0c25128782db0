import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type Shop, startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

const PAST = "2026-01-01T00:00:00.000Z";

/** As if its time had come since the last `sync`. */
function setDue(shop: Shop, name: string): void {
  shop.write(`UPDATE meta SET value = json_set(value, '$.' || ?, ?) WHERE key = 'planned'`, name, PAST);
}

function plannedOf(shop: Shop, name: string): string {
  const [row] = shop.rows<{ at: string }>("SELECT value ->> ('$.' || ?) AS at FROM meta WHERE key = 'planned'", name);
  return row?.at ?? "";
}

describe("sync without a daemon", () => {
  it("compares a feed when its time has come, and then not before the next night", async () => {
    const shop = await startShop();
    await shop.command("sync", "stocks");
    expect(plannedOf(shop, "stocks") > new Date().toISOString()).toBe(true);
    shop.write("UPDATE feeds SET compared_at = ? WHERE name = 'stocks'", PAST);
    const compared = () =>
      shop.rows<{ at: string }>("SELECT compared_at AS at FROM feeds WHERE name = 'stocks'")[0]?.at;
    await shop.command("sync", "stocks");
    expect(compared()).toBe(PAST);
    setDue(shop, "stocks");
    await shop.command("sync", "stocks");
    expect(compared()).not.toBe(PAST);
    expect(plannedOf(shop, "stocks") > new Date().toISOString()).toBe(true);
    shop.write("UPDATE feeds SET compared_at = ? WHERE name = 'stocks'", PAST);
    await shop.command("sync", "stocks");
    expect(compared()).toBe(PAST);
  });

  itWhole("re-polls a wide window of changes when its time has come", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder({ status: "new" });
    await shop.command("sync", "orders", "updates");
    const asked = () => shop.sandbox.ledger.ofKind("updates").map(({ query }) => decodeURIComponent(query));
    const count = asked().length;
    await shop.command("sync", "updates");
    const usual = asked().slice(count);
    setDue(shop, "updates");
    await shop.command("sync", "updates");
    const wide = asked().slice(count + usual.length);
    const sinceOf = (url: string) => /since=([^&]*)/.exec(url)?.[1] ?? "";
    expect(Date.parse(sinceOf(usual[0]!)) - Date.parse(sinceOf(wide[0]!))).toBeGreaterThan(3_600_000);
    expect(shop.rows("SELECT 1 FROM meta WHERE key = 'sweep_wanted'")).toEqual([]);
  });

  itWhole("makes a copy on the first day and then at its time, beside all jobs only", async () => {
    const shop = await startShop();
    const copies = () => {
      try {
        return readdirSync(path.join(shop.folder, "backups")).filter((name) => name.endsWith(".db")).length;
      } catch {
        return 0;
      }
    };
    await shop.command("sync", "orders");
    expect(copies()).toBe(0);
    expect((await shop.command("sync")).out).toContain("backup: 1 ");
    expect(copies()).toBe(1);
    expect((await shop.command("sync")).out).not.toContain("backup");
    setDue(shop, "backup");
    setDue(shop, "upkeep");
    const { out } = await shop.command("sync");
    expect(out).toContain("backup");
    expect(out).toContain("upkeep");
    const succeeded = "SELECT flow FROM sync_status WHERE last_success_at IS NOT NULL ORDER BY flow";
    expect(shop.rows(succeeded)).toEqual(expect.arrayContaining([{ flow: "backup" }, { flow: "upkeep" }]));
  });

  itWhole("tries a copy that failed again after an hour, not with each sync", async () => {
    const shop = await startShop({ settings: { backup: { dir: "bridge.db/none" } } });
    const { out, code } = await shop.command("sync");
    expect(out).toContain("backup");
    expect(code).not.toBe(0);
    expect((await shop.command("sync")).out).not.toContain("backup");
    const left = Date.parse(plannedOf(shop, "backup")) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(3_600_000);
  });

  itWhole("compares stored orders in parts, and is due again until all are compared", async () => {
    const shop = await startShop();
    for (let count = 0; count < 150; count++) shop.sandbox.service.createOrder({ status: "new" });
    await shop.command("sync", "orders");
    const past = () => plannedOf(shop, "reconcile") <= new Date().toISOString();
    const first = await shop.command("sync");
    expect(first.out).toContain("reconcile");
    expect(shop.sandbox.ledger.ofKind("snapshot").length).toBeLessThanOrEqual(101);
    setDue(shop, "reconcile");
    for (let turns = 0; turns < 10 && past(); turns++) await shop.command("sync");
    expect(past()).toBe(false);
    expect((await shop.command("sync")).out).not.toContain("reconcile");
    expect(new Set(shop.sandbox.ledger.ofKind("snapshot").map(({ path: at }) => at)).size).toBeGreaterThanOrEqual(150);
  });
});
