import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

const FORBIDDEN: FaultAction = { kind: "status", status: 403, body: '{"error":"not now"}' };
const AWAY: FaultAction = { kind: "status", status: 503, body: '{"error":"away"}' };

/** The order is cancelled by somebody else, and the ERP, which does not know of it, asks for its shipment. */
function cancelUnseen({ sandbox, clock, ids, ask }: StatusBridge): number {
  clock.advance(1_000);
  sandbox.service.changeOrder(ids[0]!, { status: "cancelled" });
  clock.advance(1_000);
  return ask(ids[0]!, "shipped");
}

async function startFollowing(): Promise<StatusBridge> {
  const bridge = await startStatusBridge({ orders: 2 });
  await bridge.run("updates");
  return bridge;
}

describe("a status of an order that was cancelled while nobody followed its changes", () => {
  itSome(1)<[string, (bridge: StatusBridge) => Promise<number>]>([
    [
      "after a start",
      async (bridge) => {
        await bridge.restart();
        return cancelUnseen(bridge);
      },
    ],
    [
      "after a time in which the list of changes could not be had",
      async (bridge) => {
        bridge.sandbox.faults.add({ match: { path: "updates" }, do: AWAY, times: "forever" });
        bridge.clock.advance(60_000);
        await bridge.run("updates");
        return cancelUnseen(bridge);
      },
    ],
    [
      "after a time in which the machine slept",
      async (bridge) => {
        bridge.clock.advance(3_600_000);
        return cancelUnseen(bridge);
      },
    ],
  ])("does not leave %s", async (_, stand) => {
    const bridge = await startFollowing();
    const id = await stand(bridge);
    await bridge.sendFor(2);
    expect(bridge.posts()).toEqual([]);
    expect(bridge.request(id)).toMatchObject({ state: "refused", attempts: 0 });
    expect(bridge.order(bridge.ids[0]!)).toMatchObject({ status: "cancelled", is_cancelled: 1 });
  });

  itWhole("leaves with one read before it where the order is as it was", async () => {
    const bridge = await startFollowing();
    await bridge.restart();
    bridge.ask(bridge.ids[0]!, "shipped");
    bridge.sandbox.faults.add({ match: { path: "snapshot" }, do: FORBIDDEN, times: 1 });
    await bridge.send();
    expect(bridge.effects()).toEqual([]);
    await bridge.sendFor(15);
    expect(bridge.effects()).toEqual(["shipped"]);
  });

  itWhole("leaves without one once changes have been followed", async () => {
    const bridge = await startFollowing();
    await bridge.restart();
    await bridge.run("updates");
    bridge.sandbox.faults.add({ match: { path: "snapshot" }, do: FORBIDDEN, times: 1 });
    bridge.ask(bridge.ids[0]!, "shipped");
    await bridge.send();
    expect(bridge.effects()).toEqual(["shipped"]);
  });
});
