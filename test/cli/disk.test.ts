import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { expect, onTestFinished } from "vitest";
import { startShop } from "../support/shop.ts";
import { itSome } from "../support/whole.ts";

const MB = 1_000_000;

/** Every file system has so much left, until the test has ended. */
function leave(free: number): void {
  const real = fs.statfsSync;
  onTestFinished(() => {
    fs.statfsSync = real;
    syncBuiltinESMExports();
  });
  fs.statfsSync = (() => ({ bavail: free, bfree: free, blocks: 1e12, bsize: 1 })) as never;
  syncBuiltinESMExports();
}

itSome(1)([
  [100 * MB, true],
  [300 * MB, true],
  [600 * MB, false],
])("check and status judge a disk with %i bytes left alike", async (free, isLow) => {
  const shop = await startShop();
  await shop.command("sync", "orders");
  leave(free);
  const check = await shop.command("check");
  const status = await shop.command("status", "--json");
  const { conditions } = JSON.parse(status.out) as { conditions: { code: string }[] };
  const isSaid = [/^FAIL disk: only/m.test(check.out), conditions.some(({ code }) => code === "disk_low")];
  expect(isSaid).toEqual([isLow, isLow]);
});
