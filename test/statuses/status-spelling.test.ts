import { expect } from "vitest";
import { startStatusBridge } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

const MINUTE = 60_000;

/** The service sets what was asked for and shows it in a spelling of its own. */
const SPELLED = { packed: "PACKED", отгружен: "Отгружен" };

itSome(1)([
  ["packed", "to the minute", { precision: "min" }],
  ["отгружен", "to the minute, Cyrillic", { precision: "min" }],
  ["packed", "to the minute, without a date", { precision: "min", dateHeader: false }],
  ["packed", "to the millisecond", {}],
] as const)(
  "a status that the service shows in another spelling is sent and comes back as the ERP's own: %s, %s",
  async (status, _times, form) => {
    const options = { ...form, status: { movesOn: SPELLED } };
    const bridge = await startStatusBridge({ orders: 3, sandbox: { options } });
    const { ids, ask, send, sendFor, sandbox, run, clock, states, posts, rows, request, order, pending } = bridge;
    clock.advance(MINUTE * 2 - ((sandbox.service.now() + MINUTE / 2) % MINUTE));
    await run("updates");
    const asked = ids.map((id) => ask(id, status));
    await send();
    await sendFor(3);
    expect([states(), posts().length]).toEqual([["sent", "sent", "sent"], 3]);
    expect(order(ids[0]!).status).toBe(SPELLED[status]);
    expect(request(asked[0]!)).toMatchObject({ last_error: null, echo: null });
    expect(pending()).toEqual([]);
    expect(rows("SELECT area FROM holds")).toEqual([]);
    // The order has it: nothing is sent again.
    ask(ids[0]!, status);
    await send();
    expect([states().at(-1), posts().length]).toEqual(["sent", 3]);
  },
);

itWhole.each(["min", "ms"] as const)("so is one whose answer was lost (%s)", async (precision) => {
  const options = { precision, status: { movesOn: SPELLED } };
  const { ids, ask, send, sendFor, sandbox, clock, run, states, posts } = await startStatusBridge({
    sandbox: { options },
  });
  clock.advance(MINUTE * 2);
  await run("updates");
  sandbox.faults.add({ match: { path: "status" }, when: "after", do: { kind: "status", status: 502 } });
  ask(ids[0]!, "packed");
  await send();
  await sendFor(3);
  expect([states(), posts().length]).toEqual([["sent"], 1]);
});
