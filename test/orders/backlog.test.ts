import { describe, expect, it } from "vitest";
import { Backlog } from "../../src/orders/backlog.ts";
import { startTestBridge, type TestBridge } from "../support/bridge.ts";
import { itWhole } from "../support/whole.ts";

const DATE = "Mon, 01 Jun 2026 12:00:00 GMT";
const OLD = "2026-06-01T11:59:00.000Z";
const NEW = "2026-06-01T12:00:01.000Z";

/** At which of the batches the backlog is through. */
function endOf(batches: readonly (readonly (string | null)[])[]): number {
  const backlog = new Backlog("UTC");
  return batches.findIndex((createdAt) => backlog.isThrough({ createdAt, date: DATE }));
}

describe("what waited when a person asked", () => {
  it.each([
    ["ends with the first batch of orders that were all made since", [[OLD], [OLD, NEW], [NEW, NEW], [NEW]], 2],
    ["goes on over small batches of old orders", [[OLD, OLD], [OLD], [OLD], [NEW]], 3],
    ["goes on where a batch has no order that is new here", [[OLD], [], [NEW]], 2],
    ["takes the second of the first answer for its own", [[OLD], ["2026-06-01T12:00:00.500Z"], [NEW]], 2],
    ["goes on where the orders' times are ahead of the answer's", [[NEW, NEW], [NEW, NEW], [NEW, NEW], [NEW]], 3],
    [
      "ends with a smaller batch where times are not known",
      [[null, null], [null, null], [null, null, null], [null]],
      3,
    ],
  ])("%s", (_, batches, end) => {
    expect(endOf(batches)).toBe(end);
  });

  it("ends with a smaller batch where the service has no clock", () => {
    const backlog = new Backlog("UTC");
    const isThrough = (createdAt: string[]) => backlog.isThrough({ createdAt, date: undefined });
    expect([isThrough([OLD, OLD]), isThrough([NEW, NEW]), isThrough([NEW])]).toEqual([false, false, true]);
  });

  itWhole("ends a pass that a person asked for although orders come as fast as they are pulled", async () => {
    let asked = 0;
    const test: TestBridge = await startTestBridge({
      sandbox: {
        onRequest: ({ path, method }) => {
          if (method !== "GET" || !path.endsWith("/orders")) return;
          asked += 1;
          test.clock.advance(1_000);
          for (let made = 0; made < 4; made++) test.sandbox.service.createOrder();
        },
      },
    });
    for (let made = 0; made < 150; made++) test.sandbox.service.createOrder();
    expect(await test.bridge.runJob("orders")).toMatchObject({ outcome: "done" });
    // Two with what waited, and the first that has only what came since.
    expect([asked, test.rows("SELECT count(*) AS n FROM orders")]).toEqual([3, [{ n: 162 }]]);
  });
});
