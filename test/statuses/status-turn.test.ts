import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { SLOW, whileWaiting } from "../support/turns.ts";
import { itWhole } from "../support/whole.ts";

async function startSlow(): Promise<StatusBridge> {
  const bridge = await startStatusBridge({ settings: SLOW });
  await bridge.run("updates");
  return bridge;
}

/** The order is read before its status is sent. */
const AFTER_READ = { after: 1 };
/** Another flow stores that the service has cancelled the order. */
const CANCEL = `UPDATE orders SET status = 'cancelled', is_cancelled = 1, revision = revision + 1;
  INSERT INTO order_event_rows (order_key, revision, kind, status_changed, old_status, new_status, source, at)
  SELECT order_key, revision, 'cancelled', 1, 'new', 'cancelled', 'update', '2026-03-01T12:01:00.000Z' FROM orders`;

describe("a status that waits for its turn", () => {
  it("does not leave where its order is stored as cancelled meanwhile", async () => {
    const { ids, ask, send, clock, bridge, request, posts } = await startSlow();
    const id = ask(ids[0]!, "packed");
    whileWaiting(clock, () => void bridge.store.db.exec(CANCEL), AFTER_READ);
    await send();
    expect(posts()).toEqual([]);
    expect(request(id)).toMatchObject({ state: "refused", http_status: null, attempts: 0 });
    expect(request(id).last_error).toMatch(/^the order was cancelled after this request was made/);
  });

  itWhole("does not leave where the ERP takes its request back meanwhile", async () => {
    const { ids, ask, send, clock, erp, posts, states } = await startSlow();
    ask(ids[0]!, "packed");
    whileWaiting(clock, () => void erp.exec("DELETE FROM status_requests"), AFTER_READ);
    await send();
    expect([posts(), states()]).toEqual([[], []]);
  });

  itWhole("leaves as the ERP has it by then", async () => {
    const { ids, ask, send, clock, erp, effects, states } = await startSlow();
    ask(ids[0]!, "packed");
    whileWaiting(clock, () => void erp.exec("UPDATE status_requests SET status = 'accepted'"), AFTER_READ);
    await send();
    expect([effects(), states()]).toEqual([["accepted"], ["sent"]]);
  });

  itWhole(
    "is marked as about to leave when its turn has come, so that a program that dies before has not sent it",
    async () => {
      const { ids, ask, send, clock, states, effects } = await startSlow();
      ask(ids[0]!, "packed");
      const seen: string[][] = [];
      whileWaiting(clock, () => void seen.push(states()), AFTER_READ);
      await send();
      expect([seen, effects()]).toEqual([[["pending"]], ["packed"]]);
    },
  );

  itWhole(
    "waits for another turn where the ERP has the lock when its own has come, and is looked at again",
    async () => {
      const { ids, ask, send, clock, erp, posts, bridge, request } = await startSlow();
      const id = ask(ids[0]!, "packed");
      const other = new Database(bridge.store.path);
      whileWaiting(
        clock,
        () => {
          other.exec("BEGIN IMMEDIATE");
          clock.onSleep = () => {
            if (!other.inTransaction) return;
            expect(posts()).toEqual([]);
            other.exec("ROLLBACK");
            erp.exec(CANCEL);
          };
        },
        AFTER_READ,
      );
      await send();
      other.close();
      expect(posts()).toEqual([]);
      expect(request(id)).toMatchObject({ state: "refused", attempts: 0 });
    },
  );
});

describe("a status that has certainly not arrived", () => {
  it("waits again also where the ERP has the lock for longer than a stop would leave", async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => (ms === 1_500 ? AbortSignal.abort() : timeout(ms)));
    onTestFinished(() => void vi.restoreAllMocks());
    let other: Database.Database | undefined;
    const onRequest = ({ method }: { method: string }) => void (method === "POST" && other?.exec("BEGIN IMMEDIATE"));
    const { ids, ask, send, clock, bridge, sandbox, states } = await startStatusBridge({ sandbox: { onRequest } });
    sandbox.faults.add({ match: { path: "status" }, do: { kind: "status", status: 401 } });
    ask(ids[0]!, "packed");
    other = new Database(bridge.store.path);
    let waits = 0;
    clock.onSleep = () => void (other?.inTransaction && ++waits === 20 && other.exec("ROLLBACK"));
    await send();
    other.close();
    expect([states(), waits]).toEqual([["pending"], 20]);
  });
});
