import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { acquireInstanceLock, isLocked, machineMs } from "../../src/database/file/instance-lock.ts";
import { words } from "../support/messages.ts";
import { PATIENT } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

it(
  "status says that a running daemon gives no sign of life, and trusts no sign of another start of the machine",
  PATIENT,
  async () => {
    const shop = await startShop();
    await shop.command("sync", "orders", "updates");
    const lock = acquireInstanceLock(shop.database, { command: "run" });
    const words = `${lock.path}.json`;
    const isSilent = async () => {
      const { out } = await shop.command("status", "--json");
      return (JSON.parse(out) as { conditions: { code: string }[] }).conditions.some(
        ({ code }) => code === "not_answering",
      );
    };
    try {
      expect([isLocked(shop.database)?.holder?.aliveMs, await isSilent()]).toEqual([undefined, false]);
      lock.signal();
      expect(await isSilent()).toBe(false);
      const signalled = readFileSync(words, "utf8");
      for (const [agoMs, silent] of [
        [30_000, false],
        [90_000, true],
        [-90_000, false],
      ] as const) {
        writeFileSync(words, signalled.replace(/"aliveMs":\d+/, `"aliveMs":${machineMs() - agoMs}`));
        expect(await isSilent()).toBe(silent);
      }
      lock.signal();
      expect(await isSilent()).toBe(false);
      expect(isLocked(shop.database)?.holder?.pid).toBe(process.pid);
    } finally {
      lock.release();
    }
  },
);

itWhole("status says what only the running daemon knows, such as a reload that was refused", PATIENT, async () => {
  const shop = await startShop();
  await shop.command("sync", "orders", "updates");
  const lock = acquireInstanceLock(shop.database, { command: "run" });
  const sentence = "The configuration was not taken over, the old one stays: it is of another account.";
  try {
    lock.signal({
      of: "reload",
      code: "account_changed",
      sentence: words(sentence),
      since: "2026-03-01T12:00:00.000Z",
    });
    const { code, out } = await shop.command("status");
    expect([code, out.includes(sentence)]).toEqual([2, true]);
    lock.signal();
    expect((await shop.command("status")).out).not.toContain("not taken over");
  } finally {
    lock.release();
  }
});
