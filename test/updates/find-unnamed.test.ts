import { describe, expect } from "vitest";
import { saveQuarantined } from "../../src/pass/quarantine-rows.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { words } from "../support/messages.ts";
import { inWhole, itSome, itWhole } from "../support/whole.ts";

const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });
const WAIT_MS = 6 * 60_000;

/** One answer holds these records; its confirm is accepted, and the service never hands them out again. */
async function serve(test: Followed, records: readonly string[]): Promise<void> {
  test.sandbox.faults.add({ match: { path: "orders" }, do: raw(`{"batch_id":"b-1","orders":[${records.join()}]}`) });
  test.sandbox.faults.add({ match: { path: "orders" }, times: "forever", do: raw('{"orders":[]}') });
  test.sandbox.faults.add({ match: { path: "confirm" }, do: { kind: "status", status: 200 } });
  expect(await test.run("orders")).toMatchObject({ error: null });
}

const held = ({ rows }: Followed) =>
  rows<{ state: string; reason: string }>("SELECT state, reason FROM quarantine ORDER BY id");
const stored = ({ rows }: Followed, id: string) => rows("SELECT 1 FROM orders WHERE order_id = ?", id).length === 1;

describe("an order whose record has its id elsewhere or in another form", () => {
  itSome(1)<[string, (text: string, id: string) => string]>([
    ["under another key", (text) => text.replace('"order_id"', '"orderId"')],
    ["nested", (text, id) => text.replace(`"${id}"`, `{"value":"${id}"}`)],
    ["in a list", (text, id) => text.replace(`"${id}"`, `["${id}"]`)],
    ["in braces", (text, id) => text.replace(`"${id}"`, `"{${id.toUpperCase()}}"`)],
    ["as a URN", (text, id) => text.replace(`"${id}"`, `"urn:uuid:${id}"`)],
    ["between blanks", (text, id) => text.replace(`"${id}"`, `" ${id} "`)],
    ["without dashes", (text, id) => text.replace(`"${id}"`, `"${id.replaceAll("-", "")}"`)],
    ["said twice", (text) => text.replace("{", '{"order_id":null,')],
  ])("is read, stored and released with a trace, while the others go on: %s", async (_, spoil) => {
    const test = await startFollowed(2);
    const { service } = test.sandbox;
    const [bad, good] = [service.createOrder(), service.createOrder()];
    await serve(test, [spoil(service.newestText(bad)!, bad), service.newestText(good)!]);
    expect(held(test)).toMatchObject([{ state: "held" }]);
    expect([stored(test, bad), stored(test, good)]).toEqual([false, true]);
    await test.poll(WAIT_MS);
    expect(stored(test, bad)).toBe(true);
    expect(held(test)).toEqual([
      { state: "released", reason: expect.stringContaining(`stored since as order ${bad}`) },
    ]);
    const asked = test.snapshots(bad);
    await test.poll(WAIT_MS);
    expect(test.snapshots(bad)).toBe(asked);
  });

  itWhole("is found by its time of creation or by everything else where it says no number", async () => {
    const test = await startFollowed(2);
    const { service } = test.sandbox;
    const [first, second] = [service.createOrder(), service.createOrder()];
    const moved = (id: string, ...keys: string[]) => {
      const order = JSON.parse(service.newestText(id)!) as Record<string, unknown>;
      const { order_id, ...rest } = order;
      return JSON.stringify({
        guid: order_id,
        ...Object.fromEntries(Object.entries(rest).filter(([k]) => !keys.includes(k))),
      });
    };
    await serve(test, [moved(first, "number"), moved(second)]);
    test.bridge.store.db
      .prepare("UPDATE quarantine SET payload = replace(payload, '\"number\"', '\"n\"') WHERE payload LIKE ?")
      .run(`%${first}%`);
    await test.poll(WAIT_MS);
    expect([stored(test, first), stored(test, second)]).toEqual([true, true]);
  });

  itWhole(
    "is found by its number, its time of creation and its lines, also where it was stored before and the record says more",
    async () => {
      const test = await startFollowed(2);
      const { service } = test.sandbox;
      const [id] = test.ids as [string];
      const text = service.newestText(id)!.replace(`"${id}"`, '{"kind":"order"}');
      const part = text.replaceAll(/"quantity":\s*[^,}]+/g, '"quantity":12345');
      await serve(test, [text, part]);
      for (let polls = 0; polls < 3; polls++) await test.poll(WAIT_MS);
      expect(held(test)).toEqual([
        { state: "released", reason: expect.stringContaining(`stored since as order ${id}`) },
        { state: "held", reason: expect.any(String) },
      ]);
    },
  );

  itWhole("is not another order that the record names", async () => {
    const test = await startFollowed(2);
    const { service } = test.sandbox;
    const [bad, other] = [service.createOrder(), service.createOrder()];
    test.clock.advance(1_000);
    const text = service.newestText(bad)!.replace(`"${bad}"`, "null").replace("{", `{"customer":"${other}",`);
    await serve(test, [
      text
        .replace(/"created_at":\s*"[^"]*"/, '"created_at":"2020-01-01T00:00:00Z"')
        .replace(/"number":\s*"[^"]*"/, '"number":"other"'),
    ]);
    await test.poll(WAIT_MS);
    expect(test.snapshots(other)).toBe(1);
    expect(stored(test, other)).toBe(false);
    expect(held(test)).toMatchObject([{ state: "held" }]);
  });

  itWhole("is asked for again, ever more seldom, where the service cannot answer yet", async () => {
    const test = await startFollowed(2);
    const { service } = test.sandbox;
    const bad = service.createOrder();
    await serve(test, [service.newestText(bad)!.replace('"order_id"', '"orderId"')]);
    const rule = test.sandbox.faults.add({
      match: { path: "snapshot" },
      times: "forever",
      do: { kind: "status", status: 404, body: '{"error":"no such order"}' },
    });
    for (let minutes = 0; minutes < 180; minutes += 6) await test.poll(WAIT_MS);
    expect(test.snapshots(bad)).toBeGreaterThanOrEqual(4);
    expect(test.snapshots(bad)).toBeLessThanOrEqual(8);
    test.sandbox.faults.remove(rule);
    for (let hours = 0; hours < 12; hours++) await test.poll(3_600_000);
    expect(stored(test, bad)).toBe(true);
    expect(held(test)).toMatchObject([{ state: "released" }]);
  });
});

inWhole("updates/held-records", "updates/second-reads").it(
  "asks for ten orders of a record and a hundred in all at one time, and for all of them in turn",
  async () => {
    const test = await startFollowed(1);
    const { store } = test.bridge;
    const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    store.write(() => {
      for (let n = 0; n < 15; n++) {
        const ids = Array.from({ length: 20 }, (_, at) => idOf(n * 20 + at));
        const at = "2026-03-01T12:00:00.000Z";
        const payload = JSON.stringify({ ids });
        saveQuarantined(store, {
          kind: "order",
          reference: null,
          reason: words("bad"),
          payload,
          hash: Buffer.alloc(32, n),
          at,
        });
      }
    });
    const asked = () => new Set(test.sandbox.ledger.ofKind("snapshot").map(({ path }) => path.split("/").at(-1))).size;
    await test.poll(WAIT_MS);
    expect(asked()).toBe(100);
    for (let looks = 0; looks < 8; looks++) await test.poll(WAIT_MS);
    expect(asked()).toBe(300);
  },
);
