import { describe, expect, it } from "vitest";
import { loseDelivery } from "../../src/backup/settle.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { batchStates, confirmBodies } from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const ORDER = { status: "new", created_at: "2026-03-01T11:00:00Z", updated_at: "2026-03-01T11:00:00Z", items: [] };
const orderOf = (n: number) => ({ ...ORDER, order_id: `7b6e3c1a-5d0e-4c53-9d0b-3f7f6f1c2a${10 + n}` });
const batchOf = (n: number) => ({ batch_id: `b-${n}`, orders: [orderOf(n)] });

/** A service that answers the confirm of `b-1` with `status`, and accepts those of others. */
async function startGone(settings: Parameters<typeof startTestBridge>[0] = {}) {
  const t = await startTestBridge(settings);
  const handle = t.sandbox.service.handle.bind(t.sandbox.service);
  const says = { batch: { orders: [] } as object, status: 400, others: 200, body: { error: "no" } as object | string };
  t.sandbox.service.handle = (request) => {
    const answer = (status: number, body: object | string) => ({
      status,
      headers: { "content-type": typeof body === "string" ? "text/html" : "application/json" },
      body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
      delivery: { kind: "plain" } as const,
    });
    if (request.path.endsWith("/orders")) return answer(200, says.batch);
    if (!request.path.endsWith("/confirm")) return handle(request);
    handle(request);
    if (request.body.toString().includes('"b-1"')) return answer(says.status, says.body);
    return answer(says.others, says.others === 200 ? { success: true } : { error: "no" });
  };
  const deliver = async (batch: object) => {
    says.batch = batch;
    await t.run("orders");
    says.batch = { orders: [] };
  };
  /** The confirm of the first batch is refused, and the service has the batch no more. */
  const refuseFirst = async () => {
    await deliver(batchOf(0));
    t.clock.advance(MINUTE_MS);
    await deliver(batchOf(1));
    says.status = 404;
    t.clock.advance(MINUTE_MS);
    expect(batchStates(t)).toEqual(["confirmed", "refused"]);
  };
  return { t, says, deliver, refuseFirst };
}

async function pollFor(t: TestBridge, minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed += 10) {
    t.clock.advance(10 * MINUTE_MS);
    await t.run("orders");
  }
}

describe("a refused confirm of a batch that the service does not have", () => {
  it("ends once two repeats are answered so, and another confirm was accepted in between", async () => {
    const { t, deliver, refuseFirst } = await startGone();
    await refuseFirst();
    await pollFor(t, 60);
    await t.restart();
    await deliver(batchOf(2));
    expect(batchStates(t)).toEqual(["confirmed", "refused", "confirmed"]);
    await pollFor(t, 70);
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed"]);
    expect(t.rows("SELECT last_error FROM batches WHERE id = 2")).toEqual([{ last_error: expect.any(String) }]);
    expect(t.logs.filter(({ message }) => message.includes("has no such batch"))).toHaveLength(1);
    const sent = confirmBodies(t).length;
    await pollFor(t, 120);
    expect(confirmBodies(t)).toHaveLength(sent);
  });

  itWhole("stays while no other confirm is accepted: the path or the service may be wrong", async () => {
    const { t, says, deliver, refuseFirst } = await startGone();
    await refuseFirst();
    says.others = 404;
    await pollFor(t, 60);
    await deliver(batchOf(2));
    await pollFor(t, 300);
    expect(batchStates(t)).toEqual(["confirmed", "refused", "refused"]);
  });

  itWhole("stays where the batch, or one of its orders, is served in between", async () => {
    for (const again of [batchOf(1), { batch_id: "b-9", orders: [orderOf(1)] }]) {
      const { t, says, deliver, refuseFirst } = await startGone();
      await refuseFirst();
      await pollFor(t, 70);
      await deliver(batchOf(2));
      says.others = 404;
      await deliver(again);
      await pollFor(t, 60);
      expect(batchStates(t)[1]).toBe("refused");
    }
  });

  itWhole.each([
    ["other words", 400, { error: "no" }],
    ["a web page", 404, "<html><body>nginx</body></html>"],
    ["an error", 500, { error: "no" }],
  ])("stays where the repeats are answered with %s", async (_, status, body) => {
    const { t, says, deliver, refuseFirst } = await startGone();
    await refuseFirst();
    Object.assign(says, { status, body });
    await pollFor(t, 70);
    await deliver(batchOf(2));
    await pollFor(t, 130);
    expect(batchStates(t)[1]).not.toBe("confirmed");
  });

  itWhole("counts anew after other words, and after a restore", async () => {
    for (const what of ["words", "restore"]) {
      const { t, says, deliver, refuseFirst } = await startGone();
      await refuseFirst();
      await pollFor(t, 60);
      await deliver(batchOf(2));
      if (what === "restore") {
        loseDelivery(t.bridge.store, "2026-03-01T13:10:00.000Z");
        await t.restart();
      } else says.status = 422;
      await pollFor(t, 60);
      says.status = 404;
      await pollFor(t, what === "restore" ? 0 : 60);
      expect(batchStates(t)[1]).toBe("refused");
      await deliver(batchOf(3));
      await pollFor(t, 120);
      expect(batchStates(t)[1]).toBe("confirmed");
    }
  });

  itWhole("ends also where it has no tries left", async () => {
    const { t, deliver, refuseFirst } = await startGone();
    await refuseFirst();
    await pollFor(t, 60);
    t.bridge.store.db.prepare("UPDATE batches SET confirm_attempts = 48 WHERE state = 'refused'").run();
    await deliver(batchOf(2));
    await pollFor(t, 70);
    expect(batchStates(t)[1]).toBe("confirmed");
  });

  itWhole("is refused again where the batch is served after all", async () => {
    const { t, says, deliver, refuseFirst } = await startGone();
    await refuseFirst();
    await pollFor(t, 60);
    await deliver(batchOf(2));
    await pollFor(t, 70);
    says.status = 400;
    await deliver(batchOf(1));
    expect(batchStates(t)[1]).toBe("refused");
  });
});
