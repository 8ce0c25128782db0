import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, inject, it } from "vitest";
import { startProgram } from "../support/program.ts";
import { startShop } from "../support/shop.ts";
import { inWhole } from "../support/whole.ts";

const STEPS_MAX = 80;
const PRELOAD = pathToFileURL(path.resolve("test/support/kill-at-step.mjs")).href;

inWhole("backup/restore-damage").describe("a restore that is killed", { timeout: 300_000 }, () => {
  it("leaves the old database or the new one at every step, and the same command again loses nothing", async () => {
    const shop = await startShop({});
    const sync = async (orders: number) => {
      for (let made = 0; made < orders; made++) shop.sandbox.service.createOrder();
      const { code } = await shop.start("sync", "orders").exited;
      expect(code).toBe(0);
    };
    await sync(10);
    const copy = path.join(shop.folder, "monday.db");
    expect((await shop.start("backup", copy).exited).code).toBe(0);
    await sync(10);
    const confirmed = [...shop.sandbox.ledger.confirmedOrderIds()].sort();
    expect(confirmed).toHaveLength(20);
    const stored = () => shop.rows<{ id: string }>("SELECT order_id AS id FROM orders ORDER BY id").map(({ id }) => id);
    const args = ["restore", copy, "--yes", "--config", shop.configFile];
    let step = 0;
    for (let isKilled = true; isKilled; ) {
      step += 1;
      expect(step).toBeLessThan(STEPS_MAX);
      const env = { NODE_OPTIONS: `--import=${PRELOAD}`, KILL_AT_STEP: String(step) };
      const { code, signal } = await startProgram(args, { bin: inject("program"), env }).exited;
      isKilled = signal === "SIGKILL";
      if (!isKilled) expect([0, 2]).toContain(code);
      if (!existsSync(`${shop.database}.restore`)) expect(stored(), `killed at step ${step}`).toEqual(confirmed);
      else {
        // Between its names the database is not opened by anybody.
        const status = shop.start("status");
        expect((await status.exited).code).toBe(78);
        expect(status.stderr(), `killed at step ${step}`).toContain("was interrupted while it put the files in place");
      }
      const again = shop.start("restore", copy, "--yes");
      expect((await again.exited).code, `after step ${step}: ${again.stderr()}`).toBe(0);
      expect(stored(), `after step ${step}`).toEqual(confirmed);
      expect(shop.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
      expect(readdirSync(shop.folder).filter((name) => /restoring|\.restore$|\.new$/.test(name))).toEqual([]);
    }
    // Taking the copy, its steps, the note, each name and the folders.
    expect(step).toBeGreaterThan(10);
    await sync(5);
    expect(stored()).toHaveLength(25);
    expect(shop.rows("SELECT * FROM holds")).toEqual([]);
  });
});
