import { describe, expect, it } from "vitest";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { type Settings, startTestBridge } from "../support/bridge.ts";
import { confirmBodies, createOrders, dumpTables, expectComplete } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** Other services than the default one, and the configuration that alone makes them readable. */
const SHAPES: Record<string, { options: SandboxOptionsPatch; settings: Settings }> = {
  "nested Cyrillic answers": {
    options: {
      shape: {
        batch: ["ответ", "заказы"],
        batchId: ["ответ", "пачка.номер"],
        order: {
          order_id: "ид.guid",
          number: "реквизиты.номер",
          status: "реквизиты.статус",
          created_at: "даты.создан",
          updated_at: "даты.изменён",
          currency: "сумма.валюта",
          total: "сумма.всего",
          items: "состав.строки",
        },
        line: { sku: "товар.артикул", name: "товар.имя", quantity: "кол-во", price: "цена" },
        amounts: "string",
      },
    },
    settings: {
      orders: {
        batch: { orders: "$.ответ.заказы", id: '$.ответ."пачка.номер"' },
        fields: {
          order_id: "$.ид.guid",
          number: "$.реквизиты.номер",
          status: "$.реквизиты.статус",
          created_at: "$.даты.создан",
          updated_at: "$.даты.изменён",
          currency: "$.сумма.валюта",
          total: "$.сумма.всего",
          lines: "$.состав.строки",
        },
        line: { sku: "$.товар.артикул", name: "$.товар.имя", quantity: "$.кол-во", price: "$.цена" },
      },
    },
  },
  "a bare array": { options: { shape: { batch: [] } }, settings: { orders: { batch: { orders: "$" } } } },
  "timestamps in milliseconds": { options: { timestamps: "unix_ms" }, settings: { updates: { since: "unix_ms" } } },
  "timestamps without a zone": {
    options: { timestamps: "iso-naive", naiveOffsetMinutes: 180, precision: "us" },
    settings: { service: { timezone: "Europe/Moscow" } },
  },
  "upper-case ids": { options: { shape: { upperCaseIds: true }, batchIdKind: "none" }, settings: {} },
};

describe("a service of another shape", () => {
  itSome(1)(Object.entries(SHAPES))("is read by configuration alone: %s", async (_name, { options, settings }) => {
    const t = await startTestBridge({ settings, sandbox: { options } });
    const lines = [{ sku: "Ц-1", name: "Чайник «Уют»", quantity: "0.250", price: "1234567890.10" }];
    const id = t.sandbox.service.createOrder({
      number: "Н-17",
      status: "новый",
      currency: "RUB",
      total: "308641972.53",
      lines,
    });
    createOrders(t, 4);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { created: 5, confirmed: 1 } });
    expect(t.rows("SELECT number, status, currency, total FROM orders WHERE order_id = ?", id)).toEqual([
      { number: "Н-17", status: "новый", currency: "RUB", total: "308641972.53" },
    ]);
    expect(t.rows("SELECT sku, name, quantity, price FROM order_lines WHERE order_id = ?", id)).toEqual(lines);
    expectComplete(t);
    const before = dumpTables(t);
    await t.run("orders");
    expect(dumpTables(t)).toBe(before);
  });

  itWhole("tells newer from older by its own timestamps", async () => {
    for (const { options, settings } of Object.values(SHAPES)) {
      const t = await startTestBridge({ settings, sandbox: { options } });
      const [id] = createOrders(t, 1);
      t.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 500 } });
      await t.run("orders");
      t.clock.advance(1_000);
      t.sandbox.service.changeOrder(id!, { status: "paid" });
      expect(await t.run("orders")).toMatchObject({ error: null, counts: { changed: 1 } });
      expect(t.rows("SELECT status, revision FROM orders")).toEqual([{ status: "paid", revision: 2 }]);
    }
  });
});

describe("ids in upper case", () => {
  it("are stored in lower case, and requests carry them as they were written", async () => {
    const t = await startTestBridge({ sandbox: { options: { shape: { upperCaseIds: true }, batchIdKind: "none" } } });
    const [id] = createOrders(t, 1);
    await t.run("orders");
    expect(t.rows("SELECT order_id, service_id FROM orders")).toEqual([
      { order_id: id, service_id: id?.toUpperCase() },
    ]);
    expect(confirmBodies(t)).toEqual([JSON.stringify({ order_ids: [id?.toUpperCase()] })]);
    // An ambiguous record is read whole: by the id as the service writes it.
    t.clock.advance(1_000);
    t.sandbox.service.changeOrder(id!, { status: "paid", keepTimestamp: true });
    await t.run("updates");
    expect(t.sandbox.ledger.ofKind("snapshot").map(({ path }) => path)).toEqual([
      `/api/v1/1c/orders/${id?.toUpperCase()}`,
    ]);
    expect(t.rows("SELECT status FROM orders")).toEqual([{ status: "paid" }]);
  });
});
