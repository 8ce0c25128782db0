import { describe, expect, it } from "vitest";
import { saveStoredBatch } from "../../src/batches/batch-rows.ts";
import { isNameShared, loadNameUse, noteName } from "../../src/confirm/reused-names.ts";
import type { FaultRule } from "../../src/sandbox/fault-rule.ts";
import type { SandboxOptionsPatch } from "../../src/sandbox/options.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import {
  addFormerBatches,
  batchStates,
  confirmBodies,
  createOrders,
  expectComplete,
  expectNothingLost,
} from "../support/pull.ts";
import { itWhole } from "../support/whole.ts";

const lostGet: FaultRule = { match: { path: "orders" }, when: "after", do: { kind: "reset" } };
const holds = ({ rows }: TestBridge) => rows("SELECT area, reason FROM holds");
const reused = (times: number) => ({ after: 9, times });

describe("isNameShared", () => {
  const newest = { id: 10, name: '"mon"' };
  it.each([
    ["before the first batch", { newest: undefined, hasOthers: false, reused: undefined }, true],
    ["without names", { newest: { id: 10, name: null }, hasOthers: false, reused: undefined }, false],
    ["of a shop with one name so far", { newest, hasOthers: false, reused: undefined }, true],
    ["of names that were used once each", { newest, hasOthers: true, reused: undefined }, false],
    ["after one reuse", { newest, hasOthers: true, reused: reused(1) }, false],
    ["after two reuses", { newest, hasOthers: true, reused: reused(2) }, true],
    ["long after two reuses", { newest: { id: 1_000, name: '"tue"' }, hasOthers: true, reused: reused(2) }, false],
  ] as const)("%s", (_, use, expected) => {
    expect(isNameShared(use)).toBe(expected);
  });
});

describe("noteName", () => {
  it.each([
    ["one name for all", "aaa", [true, true, true]],
    ["two names in turn", "ababab", [true, false, false, false, true, true]],
    ["the day, with two batches each", "aabbcc", [true, true, false, true, true, true]],
    ["numbers", "abcdef", [true, false, false, false, false, false]],
    ["numbers that begin anew", "abcdabcdef", [true, false, false, false, false, false, false, false, false, false]],
    ["numbers of which the last comes once more", "abccdef", [true, false, false, false, false, false, false]],
  ])("%s", async (_, names, expected) => {
    const t = await startTestBridge();
    const { store } = t.bridge;
    const shared = [...names].map((name, at) => {
      store.write(() => {
        noteName(store, name);
        const row = {
          fingerprint: String(at),
          batchId: name,
          orderCount: 1,
          orderIds: "[]",
          at: "",
          confirmAttempts: 0,
        };
        saveStoredBatch(store, { ...row, account: null });
      });
      return isNameShared(loadNameUse(store));
    });
    expect(shared).toEqual(expected);
  });
});

describe("batches that all have one name", () => {
  function start(options: SandboxOptionsPatch = {}): Promise<TestBridge> {
    return startTestBridge({
      sandbox: {
        options: { batchIdKind: "constant", handOut: "next", redeliverAfterMs: 60_000, batchSize: 2, ...options },
      },
    });
  }

  it("are confirmed at once while every answer is stored", async () => {
    const t = await start();
    createOrders(t, 6);
    expect(await t.run("orders")).toMatchObject({ error: null, counts: { batches: 3, confirmed: 3 } });
    expectComplete(t);
  });

  itWhole.each([0, 1, 3])(
    "are not confirmed while an answer is missing, after %d batches, also of a killed process",
    async (before) => {
      const t = await start();
      createOrders(t, 2 * before);
      if (before > 0) await t.run("orders");
      expect(batchStates(t)).toEqual(Array.from({ length: before }, () => "confirmed"));
      createOrders(t, 4);
      t.sandbox.faults.add(lostGet);
      await t.run("orders");
      await t.restart();
      await t.run("orders");
      expect(confirmBodies(t)).toHaveLength(before);
      expectNothingLost(t);
      for (let minutes = 0; minutes < 4; minutes++) {
        t.clock.advance(60_000);
        await t.run("orders");
      }
      expectComplete(t);
      expect(holds(t)).toEqual([]);
    },
  );

  it("are not confirmed while an answer is kept that could not be read", async () => {
    const t = await start();
    createOrders(t, 6);
    await t.run("orders");
    const before = confirmBodies(t).length;
    createOrders(t, 4);
    const { service } = t.sandbox;
    const handle = service.handle.bind(service);
    service.handle = (request) => {
      const answer = handle(request);
      if (!request.path.endsWith("/orders")) return answer;
      service.handle = handle;
      return { ...answer, body: Buffer.from(answer.body.toString("utf8").replace(/"orders"/, '"entries"')) };
    };
    expect(await t.run("orders")).toMatchObject({ error: { code: "answer_shape" } });
    await t.restart();
    await t.run("orders");
    expect(confirmBodies(t)).toHaveLength(before);
    for (let minutes = 0; minutes < 4; minutes++) {
      t.clock.advance(60_000);
      await t.run("orders");
    }
    expectComplete(t);
  });

  it("are not shown to be served in full by a part of one that names what it leaves out", async () => {
    const t = await start({ redeliverAfterMs: null });
    createOrders(t, 6);
    await t.run("orders");
    const { service, ledger } = t.sandbox;
    const before = ledger.ofKind("confirm").length;
    const [known, stored] = [service.createOrder({}), service.createOrder({})];
    const text = (id: string) => service.newestText(id)!;
    const answer = (ids: readonly string[], skipped: readonly string[]) => ({
      match: { path: "orders" as const },
      do: {
        kind: "raw" as const,
        contentType: "application/json",
        body: `{"batch_id":"batch","orders":[${ids.map(text).join()}],"skipped":${JSON.stringify(skipped)}}`,
      },
    });
    const empty = answer([], []);
    const pull = async (rule: Parameters<typeof t.sandbox.faults.add>[0]) => {
      t.sandbox.faults.add(rule);
      t.sandbox.faults.add({ ...empty, times: 10 });
      t.clock.advance(60_000);
      await t.run("orders");
      t.sandbox.faults.clear();
    };
    await pull(answer([known], []));
    t.sandbox.faults.add(lostGet);
    t.sandbox.faults.add({ ...empty, times: 10 });
    await t.run("orders");
    t.sandbox.faults.clear();
    const lost = ledger.ofKind("confirm").length;
    expect(lost).toBeGreaterThan(before);
    await pull(answer([stored], []));
    await pull(answer([stored], [known]));
    expect(ledger.ofKind("confirm")).toHaveLength(lost);
    await pull(answer([stored], []));
    expect(ledger.ofKind("confirm").length).toBeGreaterThan(lost);
  });

  itWhole("need a person where what was lost never comes again, and nothing else waits", async () => {
    const t = await start({ redeliverAfterMs: null });
    createOrders(t, 6);
    await t.run("orders");
    createOrders(t, 2);
    t.sandbox.faults.add(lostGet);
    await t.run("orders");
    createOrders(t, 2);
    await t.run("orders");
    t.clock.advance(16 * 60_000);
    await t.run("orders");
    expect(batchStates(t)).toEqual(["confirmed", "confirmed", "confirmed", "stored"]);
    expect(holds(t)).toEqual([{ area: "orders", reason: "hand-out lost" }]);
    // The service names its batches one by one from now on: the hold has no reason any more.
    t.sandbox.service.setOptions({ batchIdKind: "string" });
    t.bridge.store.db.exec("DELETE FROM meta WHERE key = 'reused_name'");
    createOrders(t, 2);
    await t.run("orders");
    createOrders(t, 2);
    await t.run("orders");
    expect(holds(t)).toEqual([]);
  });
});

describe("a batch that is served again while none of its orders can be read", () => {
  it("does not show that its name stands for several", async () => {
    const t = await startTestBridge({ sandbox: { options: { handOut: "repeat" } } });
    addFormerBatches(t);
    t.sandbox.faults.add({ match: { path: "confirm" }, times: 1_000, do: { kind: "status", status: 503 } });
    const ids = createOrders(t, 2);
    await t.run("orders");
    const { service } = t.sandbox;
    for (const [n, name] of ["id", "uid", "guid"].entries()) {
      const records = ids.map((id) => service.newestText(id)!.replace('"order_id"', `"${name}"`));
      const body = `{"batch_id":"batch-1","orders":[${records.join()}],"part":${n}}`;
      t.sandbox.faults.add({ match: { path: "orders" }, do: { kind: "raw", contentType: "application/json", body } });
      t.clock.advance(3_600_000);
      await t.run("orders");
    }
    expect(t.rows("SELECT DISTINCT service_batch_id AS name FROM batches WHERE state = 'stored'")).toHaveLength(1);
    expect(t.rows("SELECT * FROM meta WHERE key = 'reused_name'")).toEqual([]);
  });
});

describe("a restored service that gives a name once more", () => {
  it("has its other batches confirmed by name also after a lost answer", async () => {
    const t = await startTestBridge({
      sandbox: { options: { handOut: "next", redeliverAfterMs: null, batchSize: 1 } },
    });
    addFormerBatches(t);
    createOrders(t, 1);
    await t.run("orders");
    t.bridge.store.db.exec(
      "UPDATE batches SET service_batch_id = '\"batch-2\"' WHERE service_batch_id = '\"batch-1\"'",
    );
    createOrders(t, 2);
    await t.run("orders");
    t.sandbox.faults.add(lostGet);
    createOrders(t, 1);
    await t.run("orders");
    createOrders(t, 1);
    await t.run("orders");
    expect(batchStates(t).every((state) => state === "confirmed")).toBe(true);
    expectNothingLost(t);
    expect(holds(t)).toEqual([]);
  });
});
