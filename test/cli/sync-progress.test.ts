import { describe, expect, it } from "vitest";
import { SyncProgress } from "../../src/cli/sync-progress.ts";
import { main } from "../../src/main.ts";
import type { JobName } from "../../src/pass/job-names.ts";
import { startTestBridge } from "../support/bridge.ts";
import { startShop } from "../support/shop.ts";
import { itWhole } from "../support/whole.ts";

describe("the progress of a sync", () => {
  itWhole("counts the orders that have come since it began", async () => {
    const { bridge, sandbox, run } = await startTestBridge();
    sandbox.service.createOrder();
    await run("orders");
    const progress = new SyncProgress(bridge.store, ["orders"], () => 0);
    expect(progress.look()).toEqual({ what: "orders", unit: "orders", done: 0 });
    for (let n = 0; n < 3; n++) sandbox.service.createOrder();
    await run("orders");
    expect(progress.look()).toEqual({ what: "orders", unit: "orders", done: 3 });
  });

  itWhole("counts the rows that went, also where more are written meanwhile", async () => {
    const { bridge, run } = await startTestBridge();
    await run("stocks");
    const write = (from: number, to: number) => {
      for (let n = from; n < to; n++)
        bridge.store.write(() =>
          bridge.store.db.prepare("INSERT INTO stock (sku, quantity) VALUES (?, 1)").run(`S${n}`),
        );
    };
    const progress = new SyncProgress(bridge.store, ["stocks"], () => 0);
    expect(progress.look()).toEqual({ what: "stocks" });
    write(0, 5);
    expect(progress.look()).toEqual({ what: "stocks", unit: "rows", done: 0, total: 5 });
    await run("stocks");
    write(5, 7);
    expect(progress.look()).toEqual({ what: "stocks", unit: "rows", done: 3, total: 5 });
    await run("stocks");
    expect(progress.look()).toEqual({ what: "stocks", unit: "rows", done: 5, total: 5 });
  });

  it("has something to say of every job, goes on with the next one, and is silent after the last", async () => {
    const { bridge } = await startTestBridge();
    const names: JobName[] = ["orders", "updates", "statuses", "stocks", "prices", "catalog", "images", "reconcile"];
    let ended = 0;
    const progress = new SyncProgress(bridge.store, names, () => ended);
    for (const name of names) {
      expect(progress.look()).toMatchObject({ what: name });
      ended += 1;
    }
    expect(progress.look()).toBeUndefined();
    await bridge.stop();
    ended = 0;
    expect(progress.look()).toBeUndefined();
  });

  itWhole("leaves a quick command's terminal as it would be without it", async () => {
    const shop = await startShop();
    shop.sandbox.service.createOrder();
    const seen: string[] = [];
    const terminal = {
      env: {},
      isTerminal: true,
      out: (text: string) => void seen.push(text),
      err: (text: string) => void seen.push(text),
      draw: (line: string) => void seen.push(`drawn: ${line}`),
    };
    expect(await main(["sync", "orders", "--config", shop.configFile], terminal)).toBe(0);
    expect(seen).toEqual(["orders: 1 created, 1 batch, 1 confirmed"]);
  });
});
