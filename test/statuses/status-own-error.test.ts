import { expect, it } from "vitest";
import { startStatusBridge } from "../support/statuses.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE = 60_000;
const own = { error_message: '"Карта отклонена банком"' };

/** The service answers a status with the whole order, as `spoil` writes it. */
async function startEchoing(extra: Record<string, string>, spoil = (text: string) => text) {
  const bridge = await startStatusBridge({ orders: 2 });
  const { sandbox, ids, clock, run, take } = bridge;
  const [id] = ids as [string];
  sandbox.service.changeOrder(id, { extra });
  clock.advance(MINUTE);
  await run("updates");
  take();
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (call) => {
    const answered = handle(call);
    if (!call.path.endsWith("/status") || answered.status !== 200) return answered;
    return { ...answered, body: Buffer.from(spoil(sandbox.service.newestText(id)!)) };
  };
  return Object.assign(bridge, { id });
}

it("a status for an order with the words of an error in it leaves", async () => {
  const bridge = await startStatusBridge({ orders: 1 });
  const { sandbox, ids, clock, run, ask, sendFor, states, effects, order } = bridge;
  sandbox.service.changeOrder(ids[0]!, { extra: own });
  clock.advance(MINUTE);
  await run("updates");
  expect(order(ids[0]!)).toMatchObject({ revision: 2 });
  ask(ids[0]!, "packed");
  await sendFor(2);
  expect([states(), effects()]).toEqual([["sent"], ["packed"]]);
});

itWhole.each([
  ["as a whole", (text: string) => text],
  ["in an envelope", (text: string) => `{"ok":true,"data":${text}}`],
])(
  "an answer to a status that shows the order is no refusal by words that the order had before: %s",
  async (_, spoil) => {
    const { id, ask, send, states, posts, request } = await startEchoing(own, spoil);
    const asked = ask(id, "packed");
    await send();
    expect([states(), posts().length]).toEqual([["sent"], 1]);
    // Not by a read that found it.
    expect(request(asked).http_status).toBe(200);
  },
);

itWhole("other words in it are an error, and a read decides", async () => {
  const refuse = (text: string) => text.replace("Карта отклонена банком", "illegal transition");
  const { id, ask, send, states, request } = await startEchoing(own, refuse);
  const asked = ask(id, "packed");
  await send();
  expect([states(), request(asked).http_status]).toEqual([["sent"], null]);
});

it("a status for an order with such words leaves also where its record is held, and waits where that is another record", async () => {
  const bridge = await startStatusBridge({ orders: 2 });
  const { sandbox, ids, clock, run, ask, send, states, effects, rows } = bridge;
  const [id] = ids as [string];
  sandbox.service.changeOrder(id, { extra: own });
  const handle = sandbox.service.handle.bind(sandbox.service);
  let amount = '{"pieces":3}';
  sandbox.service.handle = (call) => {
    const answered = handle(call);
    if (call.method !== "GET" || !call.path.endsWith(id)) return answered;
    const text = answered.body.toString("utf8").replaceAll(/"quantity":("[^"]*"|[\d.]+)/g, `"quantity":${amount}`);
    return { ...answered, body: Buffer.from(text) };
  };
  const follow = async () => {
    clock.advance(10 * MINUTE);
    await run("updates");
  };
  for (let passes = 0; passes < 12; passes++) await follow();
  expect(rows("SELECT kind FROM quarantine WHERE state = 'held' AND kind = 'snapshot'")).toHaveLength(1);
  // No pass over changes is new enough to stand for a read.
  clock.advance(MINUTE);
  ask(id, "packed");
  await send();
  expect([states(), effects()]).toEqual([["sent"], ["packed"]]);

  amount = '{"pieces":4}';
  ask(id, "shipped");
  await send();
  expect([states(), effects()]).toEqual([["sent", "pending"], ["packed"]]);
});
