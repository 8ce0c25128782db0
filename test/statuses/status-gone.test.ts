import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { NO_SUCH_ORDER, startWithIll } from "../support/ill-orders.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const FAILS: FaultAction = { kind: "status", status: 500 };

/** A status that took effect, and whose answer was lost; its order cannot be read. */
async function startLost() {
  const body = { status: "{status}", comment: "{comment}" };
  const test = await startWithIll(3, { settings: { statuses: { path: STATUS_PATH, body } } });
  const erp = new Database(test.bridge.store.path, { timeout: 1_000 });
  onTestFinished(() => void erp.close());
  const [id, other] = test.ids as [string, string];
  await test.poll();
  test.ill.set(id, FAILS);
  test.sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "status", status: 502 } });
  erp.prepare("INSERT INTO status_requests (order_id, status, comment) VALUES (?, 'packed', 'by the ERP')").run(id);
  await test.run("statuses");
  const state = () => test.rows<{ state: string }>("SELECT state FROM status_requests")[0]!.state;
  const effects = () => test.sandbox.ledger.effects("status").length;
  expect([state(), effects()]).toEqual(["sending", 1]);
  const removed = () => test.rows("SELECT 1 FROM orders WHERE removed_at IS NOT NULL").length;
  /** The service does not find the order any more. */
  const vanish = async () => {
    test.ill.set(id, NO_SUCH_ORDER);
    await test.run("reconcile");
    for (let minute = 0; minute < 30 && removed() === 0; minute++) await test.poll();
    expect(removed()).toBe(1);
  };
  const sendFor = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      test.clock.advance(MINUTE_MS);
      await test.run("statuses");
    }
  };
  const own = { id, other, state, effects, vanish, sendFor };
  return Object.defineProperties(own, Object.getOwnPropertyDescriptors(test)) as typeof own & typeof test;
}

describe("a status whose outcome is unknown, of an order that the service has no more", () => {
  itWhole("was carried out where the order has shown it since", async () => {
    const { id, ill, poll, vanish, sendFor, state, effects } = await startLost();
    ill.delete(id);
    await poll();
    await vanish();
    await sendFor(20);
    expect([state(), effects()]).toEqual(["sent", 1]);
  });

  itWhole("was carried out where a change says so that nobody can read the order for", async () => {
    const { vanish, sendFor, state, effects } = await startLost();
    await vanish();
    await sendFor(20);
    expect([state(), effects()]).toEqual(["sent", 1]);
  });

  it("was carried out where the changes say so as the order is marked as removed", async () => {
    const { id, other, unlisted, change, poll, clock, vanish, sendFor, state, effects } = await startLost();
    unlisted.add(id);
    clock.advance(120 * MINUTE_MS);
    change(other, { status: "paid" });
    await poll();
    unlisted.delete(id);
    await vanish();
    await sendFor(20);
    expect([state(), effects()]).toEqual(["sent", 1]);
  });

  itWhole(
    "is refused where nothing shows it, and was carried out after all where the order comes back with it",
    async () => {
      const { id, ill, unlisted, poll, run, vanish, sendFor, state, effects } = await startLost();
      unlisted.add(id);
      await vanish();
      await sendFor(20);
      expect(state()).toBe("refused");
      ill.delete(id);
      unlisted.delete(id);
      await run("reconcile");
      for (let hour = 0; hour < 2; hour++) await poll(60 * MINUTE_MS);
      await sendFor(20);
      expect([state(), effects()]).toEqual(["sent", 1]);
    },
  );

  itWhole("is refused where nothing shows it, and sent once more where the order comes back without it", async () => {
    const { id, ill, unlisted, poll, run, vanish, sendFor, state, effects, sandbox } = await startLost();
    unlisted.add(id);
    await vanish();
    await sendFor(20);
    sandbox.service.changeOrder(id, { status: "new" });
    ill.delete(id);
    unlisted.delete(id);
    await run("reconcile");
    for (let hour = 0; hour < 2; hour++) await poll(60 * MINUTE_MS);
    await sendFor(20);
    expect([state(), effects()]).toEqual(["sent", 2]);
  });
});
