import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies, createOrders, expectComplete, orderCount } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** The file cannot grow any further, as on a full disk. */
function fillDisk({ bridge }: TestBridge): () => void {
  const { db } = bridge.store;
  const pages = db.pragma("page_count", { simple: true }) as number;
  db.pragma(`max_page_count = ${pages}`);
  return () => db.pragma("max_page_count = 1073741823");
}

const bigOrder = (t: TestBridge) =>
  t.sandbox.service.createOrder({ extra: { text: JSON.stringify("x".repeat(200_000)) } });

describe("a full disk", () => {
  itSome(1)([
    ["by its id", {}, {}],
    ["by nothing", { orders: { confirm: { body: {} } } }, { confirmForm: "all" as const }],
  ])(
    "confirms nothing and loses nothing where batches come once and are confirmed %s",
    async (_name, settings, options) => {
      const t = await startTestBridge({
        settings,
        sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1, ...options } },
      });
      await t.run("orders");
      bigOrder(t);
      bigOrder(t);
      const free = fillDisk(t);
      for (let poll = 0; poll < 3; poll++) {
        expect(await t.run("orders")).toMatchObject({ outcome: "failed", error: { code: "disk_full" } });
      }
      expect(confirmBodies(t)).toEqual([]);
      expect(orderCount(t)).toBe(0);
      // The batch that came is kept in hand: no further one is asked for.
      expect(t.sandbox.ledger.ofKind("orders")).toHaveLength(2);
      free();
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 2 } });
      expectComplete(t);
    },
  );

  itWhole("keeps a body that could not be read in hand as well", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, shape: { batch: ["list"] } } },
    });
    bigOrder(t);
    const free = fillDisk(t);
    expect(await t.run("orders")).toMatchObject({ error: { code: "disk_full" } });
    free();
    expect(await t.run("orders")).toMatchObject({ error: { code: "answer_shape" } });
    expect(batchStates(t)).toEqual(["unread"]);
    await t.restart({ orders: { batch: { orders: "$.list" } } });
    await t.run("orders");
    expectComplete(t);
  });
});

describe("an ERP that holds the write lock", () => {
  it("delays a batch and does not lose it", async () => {
    const t = await startTestBridge({
      sandbox: {
        options: { handOut: "next", redeliverAfterMs: null },
        onAnswer: (request) => {
          if (request.method === "GET" && orderCount(t) === 0)
            erp.exec("BEGIN IMMEDIATE; UPDATE stock SET quantity = 2");
        },
      },
    });
    const erp = new Database(t.bridge.store.path);
    createOrders(t, 3);
    const whileWaiting: unknown[] = [];
    t.clock.onSleep = () => {
      if (!erp.inTransaction) return;
      whileWaiting.push([orderCount(t), confirmBodies(t)]);
      if (whileWaiting.length === 2) erp.exec("COMMIT");
    };
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 3, confirmed: 1 } });
    expect(whileWaiting).toEqual([
      [0, []],
      [0, []],
    ]);
    erp.close();
    expectComplete(t);
  });
});
