import { describe, expect, it } from "vitest";
import type { RunResult } from "../../src/daemon/run-job.ts";
import { type StatusBridge, startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

/** Another status is accepted, that of the first order is refused for ever. */
async function startRefusing(): Promise<StatusBridge> {
  const bridge = await startStatusBridge({ orders: 2 });
  const [refused, other] = bridge.ids as [string, string];
  bridge.sandbox.faults.add({
    match: { path: "status", order: refused },
    do: { kind: "status", status: 401, body: "<html>sign in</html>" },
    times: "forever",
  });
  bridge.ask(refused, "accepted");
  bridge.ask(other, "accepted");
  return bridge;
}

/** A process for each minute, as with `sync` from cron. */
async function processes(bridge: StatusBridge, count: number): Promise<RunResult[]> {
  const results: RunResult[] = [];
  for (let minute = 0; minute < count; minute++) {
    await bridge.restart();
    bridge.clock.advance(60_000);
    await bridge.run("updates");
    results.push(await bridge.send());
  }
  return results;
}

function postsTo(bridge: StatusBridge, order = bridge.ids[0]!): number {
  return bridge.posts().filter(({ path }) => path.includes(order)).length;
}

describe("a status that is refused for ever, where each pass is a process of its own", () => {
  it("is sent less and less often, and makes no pass fail while others are accepted", async () => {
    const bridge = await startRefusing();
    const results = await processes(bridge, 16);
    expect(bridge.effects(bridge.ids[1]!)).toEqual(["accepted"]);
    expect(postsTo(bridge)).toBeLessThan(8);
    expect(postsTo(bridge)).toBeGreaterThan(3);
    expect(results.slice(1).filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(bridge.rows("SELECT state FROM status_requests ORDER BY id")).toEqual([
      { state: "pending" },
      { state: "sent" },
    ]);
  });

  itWhole("is sent at once by a daemon that starts", async () => {
    const bridge = await startRefusing();
    await processes(bridge, 8);
    bridge.sandbox.faults.clear();
    await bridge.restart();
    bridge.bridge.start();
    await expect.poll(() => bridge.effects(bridge.ids[0]!), { timeout: 10_000 }).toEqual(["accepted"]);
  });

  itWhole("is sent at once after a start of the machine", async () => {
    const bridge = await startRefusing();
    await processes(bridge, 8);
    bridge.sandbox.faults.clear();
    const before = postsTo(bridge);
    bridge.clock.reboot();
    await bridge.restart();
    await bridge.run("updates");
    await bridge.send();
    expect(postsTo(bridge)).toBe(before + 1);
  });
});
