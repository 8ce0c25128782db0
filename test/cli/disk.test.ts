import { expect, it, vi } from "vitest";
import { startShop } from "../support/shop.ts";

const MB = 1024 * 1024;
const space = vi.hoisted(() => ({ free: 0, total: 1e12 }));
vi.mock("../../src/backup/disk-space.ts", () => ({ readDiskSpace: () => space }));

it.each([
  [100 * MB, true],
  [300 * MB, true],
  [600 * MB, false],
])("check and status judge a disk with %i bytes left alike", async (free, isLow) => {
  const shop = await startShop();
  space.free = 1e12;
  await shop.command("sync", "orders");
  space.free = free;
  const check = await shop.command("check");
  const status = await shop.command("status", "--json");
  const { conditions } = JSON.parse(status.out) as { conditions: { code: string; command: string | null }[] };
  expect([/^FAIL disk: only/m.test(check.out), conditions.some(({ code }) => code === "disk_low")]).toEqual([
    isLow,
    isLow,
  ]);
});
