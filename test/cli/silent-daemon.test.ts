import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { acquireInstanceLock, isLocked, machineMs } from "../../src/database/file/instance-lock.ts";
import { asBridgeError } from "../../src/database/sqlite-errors.ts";
import { m } from "../../src/messages/messages.ts";
import { words } from "../support/messages.ts";
import { PATIENT } from "../support/program.ts";
import { makeReadOnly } from "../support/read-only-disk.ts";
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

itWhole.each(["mounted", "error"] as const)(
  "status says that the disk is read-only (%s) in the daemon's words, and not that the daemon is silent",
  PATIENT,
  async (how) => {
    const shop = await startShop();
    await shop.command("sync", "orders", "updates");
    const lock = acquireInstanceLock(shop.database, { command: "run" });
    const words = `${lock.path}.json`;
    const wellBefore = await shop.command("check");
    const status = async () => {
      const { code, out } = await shop.command("status", "--json");
      const { conditions } = JSON.parse(out) as { conditions: { code: string; subject: string; text: string }[] };
      return { code, conditions: conditions.filter(({ subject }) => subject === "daemon" || subject === "database") };
    };
    try {
      lock.signal();
      const signalled = readFileSync(words, "utf8");
      const silentFor = (ms: number) =>
        writeFileSync(words, signalled.replace(/"aliveMs":\d+/, `"aliveMs":${machineMs() - ms}`));
      silentFor(20_000);
      expect((await status()).conditions).toEqual([]);
      makeReadOnly(shop.folder, how);
      const met = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_WRITE" });
      const daemons = asBridgeError(met, m.database.writing, shop.database);
      expect(daemons).toMatchObject({ code: "disk_failed" });
      for (const ms of [5_000, 90_000]) {
        silentFor(ms);
        expect(await status()).toMatchObject({
          code: 2,
          conditions: [
            {
              code: "database_trouble",
              params: { error: "disk_failed" },
              text: expect.stringContaining(daemons.message.replace(`${shop.folder}/`, "")),
            },
          ],
        });
      }
      // The daemon writes: only this command cannot.
      silentFor(0);
      expect((await status()).conditions).toEqual([]);
      const { code, out } = await shop.command("check");
      expect([wellBefore.code, code]).toEqual([0, 1]);
      expect(out).toContain("the file system is read-only");
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
