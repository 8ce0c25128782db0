import { describe, expect, it, onTestFinished } from "vitest";
import { judgeSpace } from "../../src/backup/space-rule.ts";
import { Bridge } from "../../src/daemon/bridge.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { collectingLog, configFor, FakeClock, type LogLine } from "../support/bridge.ts";
import { tempFolder } from "../support/temp.ts";
import { itWhole } from "../support/whole.ts";

const MB = 1_000_000;
const TOTAL = 100 * 1024 * MB;

async function startOnDisk() {
  const folder = tempFolder("disk");
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const space = { free: 10 * 1024 * MB, total: TOTAL };
  const logs: LogLine[] = [];
  const loaded = configFor(sandbox, folder);
  const bridge = new Bridge(
    { loaded, clock: new FakeClock(), log: collectingLog(logs), readSpace: () => space },
    "test",
  );
  onTestFinished(() => bridge.stop());
  const holds = () => bridge.store.db.prepare("SELECT area, reason FROM holds").all();
  return { bridge, sandbox, space, logs, holds };
}

describe("a disk that fills up", () => {
  itWhole("stops the pull in good order, lets confirms and pushes go on, and goes on by itself", async () => {
    const { bridge, sandbox, space, holds } = await startOnDisk();
    sandbox.service.createOrder();
    sandbox.faults.add({ match: { path: "confirm" }, times: 1, do: { kind: "status", status: 503 } });
    await bridge.runJob("orders");
    expect(sandbox.ledger.confirmedOrderIds().size).toBe(0);
    space.free = 50 * MB;
    sandbox.service.createOrder();
    const asked = sandbox.ledger.ofKind("orders").length;
    expect(await bridge.runJob("orders")).toMatchObject({ outcome: "failed", error: { code: "disk_full" } });
    expect(sandbox.ledger.ofKind("orders")).toHaveLength(asked);
    expect(sandbox.ledger.confirmedOrderIds().size).toBe(1);
    expect(holds()).toEqual([{ area: "orders", reason: "disk" }]);
    bridge.store.db.exec("INSERT INTO stock (sku, quantity) VALUES ('A', 1)");
    expect(await bridge.runJob("stocks")).toMatchObject({ error: null, counts: { sent: 1 } });
    // A little more than what stopped it is not enough: the next batch would use it up.
    space.free = 200 * MB;
    expect(await bridge.runJob("orders")).toMatchObject({ outcome: "failed" });
    space.free = 400 * MB;
    expect(await bridge.runJob("orders")).toMatchObject({ error: null });
    expect(holds()).toEqual([]);
    expect(sandbox.ledger.confirmedOrderIds().size).toBe(2);
  });

  itWhole("warns once while there is still room", async () => {
    const { bridge, space, logs } = await startOnDisk();
    space.free = 300 * MB;
    await bridge.runJob("orders");
    await bridge.runJob("orders");
    expect(logs.filter(({ level, message }) => level === "warn" && message.includes("300 MB are free"))).toHaveLength(
      1,
    );
  });

  it("is judged by its share where it is small as a whole", () => {
    expect(judgeSpace({ free: 1.5 * MB, total: 2 * MB }, false)).toBe("room");
    expect(judgeSpace({ free: 0.15 * MB, total: 2 * MB }, false)).toBe("low");
    expect(judgeSpace({ free: 0.02 * MB, total: 2 * MB }, false)).toBe("full");
    expect(judgeSpace({ free: 0.1 * MB, total: 2 * MB }, true)).toBe("full");
    expect(judgeSpace({ free: 130 * MB, total: TOTAL }, false)).toBe("low");
  });
});
