import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { type FSWatcher, watch } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { expectConverged, expectNothingLost } from "../support/ledger.ts";
import { PATIENT, type Program } from "../support/program.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { inWhole } from "../support/whole.ts";

const ORDERS = 400;

/** Kills the program at its so-manyth write from now on; resolves when strace watches it. False where it cannot. */
async function killAtWrite(program: Program, write: number): Promise<boolean> {
  const inject = `inject=pwrite64:signal=SIGKILL:when=${write}`;
  const strace = spawn(
    "strace",
    ["-f", "-p", String(program.pid), "-e", "trace=pwrite64", "-e", inject, "-o", "/dev/null"],
    {
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  onTestFinished(() => void strace.kill());
  const started = await Promise.race([once(strace.stderr, "data"), once(strace, "close"), once(strace, "error")]);
  return String(started[0]).includes("attached");
}

/** The same without strace, and less exact: at the first change of the write-ahead log. */
function killAtFirstChange(program: Program, shop: Shop): FSWatcher {
  const watcher = watch(shop.folder, (_, file) => {
    if (file === "bridge.db-wal") program.child.kill("SIGKILL");
  });
  onTestFinished(() => watcher.close());
  return watcher;
}

inWhole("orders/pull-random", "e2e/crash-orders").describe(
  "a kill inside the transaction that stores a batch",
  PATIENT,
  () => {
    const hasStrace = spawnSync("strace", ["-V"]).status === 0;

    // The log takes a header and a page for each frame: the first write and one in the middle.
    it.each([1, 61])("leaves nothing of it and confirms nothing (at write %i)", async (write) => {
      const shop = await startShop({ sandbox: { options: { batchSize: ORDERS } } });
      // The database is made and migrated before, so that the writes are those of the batch.
      await shop.start("sync", "updates").exited;
      for (let count = 0; count < ORDERS; count++) shop.sandbox.service.createOrder();
      let program: Program | undefined;
      let isExact = false;
      shop.hooks.onAnswer = async ({ method, path }) => {
        if (method !== "GET" || path !== "/api/v1/1c/orders" || program === undefined) return;
        isExact = hasStrace && (await killAtWrite(program, write));
        if (!isExact) killAtFirstChange(program, shop);
      };
      program = shop.start("sync", "orders");
      expect(await program.exited, program.stderr()).toEqual({ code: null, signal: "SIGKILL" });
      delete shop.hooks.onAnswer;

      expectNothingLost(shop);
      // Without strace the kill may have come a moment too late: then all of the batch is there.
      const stored = shop.rows<{ n: number }>("SELECT count(*) AS n FROM orders")[0]?.n;
      expect(isExact ? [0] : [0, ORDERS]).toContain(stored);
      if (stored === 0) {
        expect(shop.rows("SELECT count(*) AS n FROM order_events")).toEqual([{ n: 0 }]);
        expect(shop.sandbox.ledger.ofKind("confirm")).toEqual([]);
      }

      expect((await shop.start("sync", "orders").exited).code).toBe(0);
      expectConverged(shop);
    });
  },
);
