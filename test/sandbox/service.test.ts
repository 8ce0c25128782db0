import { describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../src/sandbox/ledger.ts";
import type { SandboxRequest } from "../../src/sandbox/messages.ts";
import { seededRandom } from "../../src/sandbox/random.ts";
import { SandboxService } from "../../src/sandbox/service.ts";
import { itWhole } from "../support/whole.ts";
import { get, handClock, post, pushTo, sandboxFor } from "./client.ts";

const CREDENTIALS = { clientId: "c", clientSecret: "s" };
const BASIC = `Basic ${Buffer.from("c:s").toString("base64")}`;

function request(method: string, path: string, body = ""): SandboxRequest {
  return { method, path, headers: { authorization: BASIC }, body: Buffer.from(body) };
}

describe("the model without a server", () => {
  it("gives the same answers to the same requests", () => {
    const run = () => {
      const clock = handClock();
      const shape = { shuffleKeys: true };
      const service = new SandboxService({
        credentials: CREDENTIALS,
        now: clock.now,
        random: seededRandom(3),
        options: { shape },
      });
      for (let turn = 0; turn < 20; turn++) {
        service.createOrder();
        clock.pass(500);
        service.handle(request("GET", "/api/v1/1c/orders"));
        service.handle(request("POST", "/api/v1/1c/orders/confirm", `{"batch_id":"batch-${turn + 1}"}`));
      }
      return JSON.stringify(service.ledger.entries);
    };
    expect(run()).toBe(run());
  });

  it("tells the transport how to misbehave, and completes a late effect when asked", () => {
    const service = new SandboxService({ credentials: CREDENTIALS, now: () => 0, random: seededRandom(1) });
    service.createOrder();
    service.faults.add({ do: { kind: "delay", ms: 5000 } });
    const { delivery } = service.handle(request("GET", "/api/v1/1c/orders"));
    expect(delivery).toMatchObject({ kind: "later", ms: 5000 });
    expect(service.ledger.entries).toEqual([]);
    const answer = delivery.kind === "later" ? delivery.complete() : undefined;
    expect(answer?.status).toBe(200);
    expect(service.ledger.effects("handed-out")).toHaveLength(1);
    service.faults.add({ do: { kind: "cut", bytes: 7 } });
    expect(service.handle(request("GET", "/api/v1/1c/orders")).delivery).toEqual({ kind: "cut", bytes: 7, of: "body" });
  });

  it("refuses to create an order twice or to change an unknown one", () => {
    const service = new SandboxService({ credentials: CREDENTIALS, now: () => 0, random: seededRandom(1) });
    const id = service.createOrder();
    expect(() => service.createOrder({ id: id.toUpperCase() })).toThrow(/already/);
    expect(() => service.changeOrder(crypto.randomUUID(), {})).toThrow(/no order/);
  });
});

describe("the ledger", () => {
  it("tells what was asked, answered and done", async () => {
    const clock = handClock();
    const seen: LedgerEntry[] = [];
    const sandbox = await sandboxFor({ now: clock.now, onEntry: (entry) => seen.push(entry) });
    const id = sandbox.service.createOrder();
    const served = await get(sandbox, "?limit=5");
    sandbox.service.changeOrder(id, { status: "paid" });
    await get(sandbox, `/${id}`);
    await get(sandbox, `/${id}`);
    await post(sandbox, "/confirm", '{"batch_id":"batch-1"}');
    await pushTo(sandbox, "stocks", { stocks: [{ sku: "A" }] });
    expect(sandbox.ledger.entries).toEqual(seen);
    expect(seen.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, "orders"],
      [2, "snapshot"],
      [3, "snapshot"],
      [4, "confirm"],
      [5, "import"],
    ]);
    expect(seen[0]).toEqual({
      seq: 1,
      at: clock.now(),
      arrivedAt: clock.now(),
      method: "GET",
      path: "/api/v1/1c/orders",
      query: "limit=5",
      kind: "orders",
      authOk: true,
      status: 200,
      requestBody: "",
      responseBody: served.text,
      servedIds: [id],
      effect: { kind: "handed-out", batchId: '"batch-1"', orderIds: [id] },
      faultApplied: null,
    });
    expect(seen[3]).toMatchObject({ requestBody: '{"batch_id":"batch-1"}', effect: { orderIds: [id] } });
    expect(sandbox.ledger.servedVersions(id)).toHaveLength(2);
    expect(sandbox.ledger.newest(id.toUpperCase())).toBe(sandbox.service.newestText(id));
    expect(sandbox.ledger.handedOutOrderIds()).toEqual(new Set([id]));
  });

  itWhole("drops bodies over 1 MB but keeps the ids", async () => {
    const sandbox = await sandboxFor({ options: { batchSize: 5000 } });
    for (let made = 0; made < 3000; made++) sandbox.service.createOrder();
    await get(sandbox);
    const [entry] = sandbox.ledger.entries;
    expect(entry?.responseBody).toBeNull();
    expect(entry?.servedIds).toHaveLength(3000);
    expect(sandbox.ledger.servedVersions(entry?.servedIds[2999] ?? "")).toHaveLength(1);
  });

  it("stays bounded where a limit is set", async () => {
    const sandbox = await sandboxFor({ limit: 3 });
    for (let turn = 0; turn < 10; turn++) await get(sandbox);
    expect(sandbox.ledger.entries.length).toBeLessThanOrEqual(6);
    expect(sandbox.ledger.entries.at(-1)?.seq).toBe(10);
  });
});

describe("the hooks", () => {
  it("lets a test act before the effect and before the answer", async () => {
    const steps: string[] = [];
    const sandbox = await sandboxFor({
      onRequest: async ({ path }) => {
        await Promise.resolve();
        steps.push(`${path} arrives, ${sandbox.ledger.entries.length} recorded`);
      },
      onAnswer: (_request, { status }) => {
        steps.push(`${status} leaves, ${sandbox.ledger.entries.length} recorded`);
      },
    });
    await get(sandbox);
    expect(steps).toEqual(["/api/v1/1c/orders arrives, 0 recorded", "200 leaves, 1 recorded"]);
  });

  it("answers 500 where a hook fails, and goes on", async () => {
    let fail = true;
    const sandbox = await sandboxFor({
      onRequest: () => {
        if (fail) throw new Error("on purpose");
      },
    });
    const answer = await get(sandbox);
    expect([answer.status, answer.text]).toEqual([500, "the sandbox failed: on purpose"]);
    fail = false;
    expect((await get(sandbox)).status).toBe(200);
  });
});
