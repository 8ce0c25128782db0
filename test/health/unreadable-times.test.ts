import { describe, expect } from "vitest";
import { listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { LIMITS } from "../support/conditions.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { itSome, itWhole } from "../support/whole.ts";

const conditionsOf = ({ bridge, clock }: Followed) =>
  listConditions({ ...loadFacts(bridge.store), flows: [] }, { nowMs: clock.nowMs(), isRunning: true }, LIMITS).filter(
    ({ code }) => code === "unreadable_times",
  );

/** From now on times are written in another form where `of` says so, and a since that is none of them brings nothing. */
function rewrite(test: Followed, write: (iso: string) => string, of: (path: string) => boolean): () => void {
  const { service } = test.sandbox;
  const handle = service.handle.bind(service);
  service.handle = (request) => {
    const answer = handle(request);
    if (!of(request.path)) return answer;
    const text = answer.body.toString().replace(/"updated_at":"([^"]+)"/g, (_, iso: string) => {
      return `"updated_at":${JSON.stringify(write(iso))}`;
    });
    return { ...answer, body: Buffer.from(text) };
  };
  return () => {
    service.handle = handle;
  };
}

const slashes = (iso: string) => iso.replace(/^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d).*$/, "$2/$3/$1 $4");

describe("timestamps that cannot be read", () => {
  itSome(1)([
    ["the month first, with slashes", slashes],
    ["/Date(…)/", (iso: string) => `/Date(${Date.parse(iso)})/`],
    ["words", () => "just now"],
  ])("are a condition where most of the newest orders have one: %s", async (_, write) => {
    const test = await startFollowed(0);
    const mend = rewrite(test, write, () => true);
    for (let made = 0; made < 3; made++) test.sandbox.service.createOrder();
    await test.run("orders");
    expect(conditionsOf(test)).toEqual([
      { code: "unreadable_times", subject: "updates", since: null, params: { count: 3 } },
    ]);
    mend();
    for (let made = 0; made < 4; made++) test.sandbox.service.createOrder();
    await test.run("orders");
    expect(conditionsOf(test)).toEqual([]);
  });

  itWhole("are one where those of changes alone cannot be read, until one can", async () => {
    const test = await startFollowed(3);
    const mend = rewrite(test, slashes, (path) => path.includes("/orders/updates"));
    for (const id of test.ids) test.change(id, { status: "paid" });
    await test.poll();
    expect(conditionsOf(test).map(({ params }) => params)).toEqual([{ count: 3 }]);
    mend();
    await test.poll();
    expect(conditionsOf(test)).toEqual([]);
  });

  itWhole("are none where one order has an absurd one", async () => {
    const test = await startFollowed(3);
    test.change(test.ids[0]!, { status: "paid", timestampText: '"soon"' });
    await test.poll();
    expect(conditionsOf(test)).toEqual([]);
  });
});
