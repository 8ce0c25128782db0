import { describe, expect } from "vitest";
import { listConfirms, settleConfirms } from "../../src/confirm/settle-confirms.ts";
import { exitCodeOfAll, levelOf, listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { createOrders, orderCount } from "../support/pull.ts";
import { itSome, itWhole } from "../support/whole.ts";

/** Each confirm also covers orders that no batch has held; its answer is what `say` makes of all of them. */
async function startConfirmingAll(say: (ids: readonly string[]) => object): Promise<TestBridge> {
  const t = await startTestBridge({ sandbox: { options: { handOut: "repeat", confirmForm: "everything" } } });
  const { service } = t.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    if (!request.path.includes("confirm")) return handle(request);
    if (between > 0) createOrders(t, between);
    const answer = handle(request);
    const effect = t.sandbox.ledger.entries.at(-1)?.effect;
    const ids = effect?.kind === "confirmed" ? effect.orderIds : [];
    return { ...answer, body: Buffer.from(JSON.stringify(say(ids))) };
  };
  let between = 0;
  for (const orders of [1, 2, 3]) {
    createOrders(t, orders);
    await t.run("orders");
  }
  createOrders(t, 1);
  between = 1;
  await t.run("orders");
  between = 0;
  await t.run("updates");
  return t;
}

describe("an order that is confirmed before it was served", () => {
  itSome(1)([
    ["as a list", (ids: readonly string[]) => ({ ok: true, order_ids: ids })],
    [
      "as records",
      (ids: readonly string[]) => ({ ok: true, results: ids.map((order_id) => ({ order_id, ok: true })) }),
    ],
    ["as keys", (ids: readonly string[]) => ({ ok: true, confirmed: Object.fromEntries(ids.map((id) => [id, "ok"])) })],
  ])("is read where the answer names what it confirmed %s", async (_, say) => {
    const t = await startConfirmingAll(say);
    expect(orderCount(t)).toBe(8);
  });

  itWhole("is told of where the answer counts more than the batch had", async () => {
    const t = await startConfirmingAll((ids) => ({ ok: true, confirmed: ids.length }));
    expect(orderCount(t)).toBe(7);
    const told = () =>
      listConditions(loadFacts(t.bridge.store), { nowMs: t.clock.nowMs(), isRunning: false }, { erpReadWithinMs: 1e12 })
        .filter(({ code }) => code === "larger_confirms")
        .map((condition) => ({ count: levelOf(condition), exit: exitCodeOfAll([condition]) }));
    expect(told()).toEqual([{ count: 1, exit: 2 }]);
    expect(listConfirms(t.bridge.store)).toEqual([expect.stringContaining("2 > 1")]);
    t.bridge.store.write(() => settleConfirms(t.bridge.store, "2026-03-01T13:00:00.000Z"));
    expect(listConfirms(t.bridge.store)).toEqual([]);
    expect(told()).toEqual([]);
  });

  itWhole("is not told of where the answer counts more, and names them", async () => {
    const t = await startConfirmingAll((ids) => ({ ok: true, confirmed: ids.length, order_ids: ids }));
    expect(orderCount(t)).toBe(8);
    expect(loadFacts(t.bridge.store).largerConfirms).toEqual({ count: 0, since: null });
  });

  itWhole(
    "is not told of where the confirm covers two batches of one name, or an order that was named beside the list",
    async () => {
      const t = await startTestBridge();
      const { service } = t.sandbox;
      const handle = service.handle.bind(service);
      const orderOf = (n: number) => ({
        order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}`,
        status: "new",
        items: [],
      });
      let [batch, status, confirmed]: [object, number, number] = [{ orders: [] }, 200, 1];
      service.handle = (request) => {
        const isPull = request.path.endsWith("/orders");
        if (!isPull && !request.path.endsWith("/confirm")) return handle(request);
        const body = Buffer.from(JSON.stringify(isPull ? batch : { success: true, confirmed }));
        return {
          status: isPull ? 200 : status,
          headers: { "content-type": "application/json" },
          body,
          delivery: { kind: "plain" },
        };
      };
      const deliver = async (name: string, n: number, answer: [number, number], beside: object = {}) => {
        batch = { batch_id: name, orders: [orderOf(n)], ...beside };
        [status, confirmed] = answer;
        t.clock.advance(60_000);
        await t.run("orders");
      };
      await deliver("a", 0, [200, 1]);
      await deliver("day", 1, [500, 0]);
      await deliver("day", 2, [200, 2]);
      expect(t.rows("SELECT state FROM batches")).toEqual(Array(3).fill({ state: "confirmed" }));
      expect(loadFacts(t.bridge.store).largerConfirms?.count).toBe(0);
      // The answer names an order beside its list that is stored already.
      const skipped = orderOf(2).order_id;
      await deliver("b", 3, [200, 2], { skipped: [skipped] });
      expect(loadFacts(t.bridge.store).largerConfirms?.count).toBe(0);
      await deliver("c", 4, [200, 3], { skipped: [skipped] });
      expect(loadFacts(t.bridge.store).largerConfirms?.count).toBe(1);
    },
  );

  itWhole("is not looked for where the ids that an answer names are none of orders", async () => {
    let at = 0;
    const t = await startConfirmingAll(() => ({
      ok: true,
      traces: [`0f8c1e2a-0000-4000-8000-${String(at++).padStart(12, "0")}`],
    }));
    const reads = t.sandbox.ledger.entries.filter(({ path }) => path.includes("/0f8c1e2a-"));
    expect(reads.length).toBe(3);
  });
});
