import { describe, expect, it } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type Followed, startFollowed } from "../support/followed.ts";
import { startWithIll } from "../support/ill-orders.ts";
import { STATUS_PATH } from "../support/statuses.ts";
import { itSome, itWhole } from "../support/whole.ts";

const HOUR_MS = 3_600_000;

/** What the service gives for an order while one of its tables does not answer. */
const LOSE: Record<string, (text: string) => string> = {
  "no lines": (text) => text.replace(/"items":\[.*?\](?=[,}])/s, '"items":[]'),
  "null in their place": (text) => text.replace(/"items":\[.*?\](?=[,}])/s, '"items":null'),
  "lines without an article": (text) => text.replace(/"sku":"[^"]*"/g, '"sku":null'),
  "no status": (text) => text.replace(/"status":"[^"]*"/, '"status":null'),
  "an empty status": (text) => text.replace(/"status":"[^"]*"/, '"status":" "'),
};

/** Until it is called again, every order is served so. */
function lose({ sandbox }: Followed, how: (text: string) => string): () => void {
  const handle = sandbox.service.handle.bind(sandbox.service);
  sandbox.service.handle = (request) => {
    const answer = handle(request);
    if (request.method !== "GET") return answer;
    const text = answer.body.toString("utf8");
    return {
      ...answer,
      body: Buffer.from(
        text
          .split(/(?=\{"order_id")/)
          .map(how)
          .join(""),
      ),
    };
  };
  return () => {
    sandbox.service.handle = handle;
  };
}

/** The same of single values. */
const LOSE_ONE: Record<string, (text: string) => string> = {
  "no quantity": (text) => text.replace(/"quantity":"?[\d.]+"?/g, '"quantity":null'),
  "a quantity of another name": (text) => text.replaceAll('"quantity":', '"amount":'),
  "no price": (text) => text.replace(/"price":"?[\d.]+"?/g, '"price":null'),
  "no total": (text) => text.replace(/"total":"?[\d.]+"?/, '"total":null'),
  "no currency": (text) => text.replace(/"currency":"[^"]*"/, '"currency":null'),
  "no number": (text) => text.replace(/"number":"[^"]*"/, '"number":null'),
  "fewer lines than it counts": (text) => text.replace(/"items":\[(\{[^\]}]*\})(?:,\{[^\]}]*\})+\]/, '"items":[$1]'),
};

const THREE_LINES = ["A", "B", "C"].map((sku) => ({ sku, quantity: "2", price: "10.00" }));

/** Orders of one to three lines, which say how many they have. */
async function startCounting(count: number): Promise<Followed> {
  const test = await startFollowed(0);
  const { service } = test.sandbox;
  for (let n = 0; n < count; n++) {
    const size = 3 - (n % 3);
    test.ids.push(service.createOrder({ lines: THREE_LINES.slice(0, size), extra: { items_count: String(size) } }));
  }
  await test.run("orders");
  test.clock.advance(60_000);
  return test;
}

const stateOf = ({ rows }: Followed, id: string) =>
  rows<object>(
    `SELECT number, status, total, currency, (SELECT json_group_array(json_array(sku, quantity, price)) FROM order_lines l
       WHERE l.order_id = o.order_id) AS lines FROM orders o WHERE order_id = ?`,
    id,
  )[0];

const lines = ({ rows }: Followed, id: string) =>
  rows("SELECT * FROM order_lines WHERE order_id = ? AND sku IS NOT NULL", id).length;

/** As a deployment may write an enumeration for a while. */
const WRITE: Record<string, (name: string) => string> = {
  "a number": (name) => String(["new", "paid", "packed", "shipped", "delivered", "cancelled"].indexOf(name)),
  "the text of a number": (name) =>
    JSON.stringify(String(["new", "paid", "packed", "shipped", "delivered", "cancelled"].indexOf(name))),
  "a truth value": (name) => String(name !== "cancelled"),
};

const writeStatus = (how: (name: string) => string) => (text: string) =>
  text.replace(/"status":"([^"]*)"/, (_, name: string) => `"status":${how(name)}`);

/** Asks for the status as an ERP that has read the first revision. */
const askFor = (test: Followed, id: string, status: string) =>
  test.bridge.store.db
    .prepare("INSERT INTO status_requests (order_id, status, known_revision) VALUES (?, ?, 1)")
    .run(id, status);

describe("a status that is written otherwise for a while", () => {
  const settings = { statuses: { path: STATUS_PATH } };

  itWhole.each(Object.keys(WRITE))("as %s is not stored, and nothing leaves for its order", async (how) => {
    const test = await startFollowed(12, { settings });
    const [id, other] = test.ids as [string, string];
    const mend = lose(test, writeStatus(WRITE[how]!));
    test.change(id, { status: "cancelled" });
    test.change(other, { status: "paid" });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    askFor(test, id, "shipped");
    await test.run("statuses");
    expect(test.statusOf(id)).toEqual({ status: "new", revision: 1 });
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "pending" }]);
    mend();
    for (let polls = 0; polls < 65; polls++) await test.poll();
    await test.run("statuses");
    expect([test.statusOf(id).status, test.statusOf(other).status]).toEqual(["cancelled", "paid"]);
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "refused" }]);
    expect(test.sandbox.ledger.ofKind("status")).toEqual([]);
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  it("in other letters says the same", async () => {
    const test = await startFollowed(3, { settings });
    const [id] = test.ids as [string];
    lose(
      test,
      writeStatus((name) => JSON.stringify(` ${name.toUpperCase()}`)),
    );
    test.change(id, { status: "cancelled" });
    await test.poll();
    expect(test.rows("SELECT is_cancelled, is_open FROM orders WHERE order_id = ?", id)).toEqual([
      { is_cancelled: 1, is_open: 0 },
    ]);
    askFor(test, id, "shipped");
    await test.run("statuses");
    expect(test.rows("SELECT state FROM status_requests")).toEqual([{ state: "refused" }]);
  });

  itWhole("as a word is not stored where statuses are numbers", async () => {
    const numbers = { statuses: { cancelled: ["5"], closed: ["4", "5"] } };
    const test = await startFollowed(0, { settings: { orders: numbers } });
    const mend = lose(test, writeStatus(WRITE["a number"]!));
    const { service } = test.sandbox;
    const [id] = Array.from({ length: 6 }, () => service.createOrder()) as [string];
    await test.run("orders");
    test.clock.advance(60_000);
    mend();
    test.change(id, { status: "cancelled" });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("0");
    lose(test, writeStatus(WRITE["a number"]!));
    for (let polls = 0; polls < 65; polls++) await test.poll();
    expect(test.rows("SELECT status, is_cancelled FROM orders WHERE order_id = ?", id)).toEqual([
      { status: "5", is_cancelled: 1 },
    ]);
  });

  itWhole("is stored as it is where the service has always written it so", async () => {
    const test = await startFollowed(0);
    lose(test, writeStatus(WRITE["a number"]!));
    const { service } = test.sandbox;
    const [id] = Array.from({ length: 6 }, () => service.createOrder()) as [string];
    await test.run("orders");
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("1");
    expect(test.rows("SELECT * FROM quarantine")).toEqual([]);
  });
});

describe("what nearly every former order has", () => {
  itWhole.each(Object.keys(LOSE))("is not lost by an answer without it: %s", async (name) => {
    const test = await startFollowed(3);
    const [id] = test.ids as [string];
    const mend = lose(test, LOSE[name]!);
    const fresh = test.sandbox.service.createOrder();
    await test.run("orders");
    test.change(id, { status: "paid" });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    await test.run("reconcile");
    expect(test.rows("SELECT * FROM orders_pending WHERE order_id = ?", fresh)).toEqual([]);
    expect(test.rows("SELECT DISTINCT reference FROM quarantine WHERE state = 'held' ORDER BY 1")).toEqual(
      expect.arrayContaining([{ reference: fresh }]),
    );
    for (const each of test.ids) expect(lines(test, each)).toBeGreaterThan(0);
    expect(test.statusOf(id).status).toBe("new");
    mend();
    for (let polls = 0; polls < 65; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    expect(test.statusOf(fresh).status).toBe("new");
    expect(lines(test, fresh)).toBeGreaterThan(0);
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  itWhole.each(Object.keys(LOSE_ONE))("is not lost by an answer without one value: %s", async (name) => {
    const test = await startCounting(9);
    const [id] = test.ids as [string];
    const { service } = test.sandbox;
    const before = stateOf(test, id);
    const mend = lose(test, LOSE_ONE[name]!);
    const fresh = service.createOrder({ lines: THREE_LINES, extra: { items_count: "3" } });
    await test.run("orders");
    test.change(id, { status: "paid" });
    for (let polls = 0; polls < 20; polls++) await test.poll();
    await test.run("reconcile");
    expect(stateOf(test, fresh)).toBeUndefined();
    expect(stateOf(test, id)).toEqual(before);
    mend();
    for (let polls = 0; polls < 16; polls++) await test.poll();
    expect(stateOf(test, id)).toEqual({ ...before, status: "paid" });
    expect(stateOf(test, fresh)).toMatchObject({ total: "60.00", currency: "RUB" });
    expect(lines(test, fresh)).toBe(3);
    // Those that were only compared are looked at within the hour.
    for (let polls = 0; polls < 50; polls++) await test.poll();
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  itWhole("counts as lost after an hour where it is one value, and is asked for later", async () => {
    const test = await startCounting(9);
    const [id] = test.ids as [string];
    const mend = lose(test, LOSE_ONE["no currency"]!);
    test.change(id, { status: "paid" });
    for (let polls = 0; polls < 26; polls++) await test.poll(300_000);
    expect(test.statusOf(id).status).toBe("paid");
    expect(stateOf(test, id)).toMatchObject({ currency: null });
    mend();
    for (let hours = 0; hours < 2; hours++) await test.poll(HOUR_MS);
    expect(stateOf(test, id)).toMatchObject({ currency: "RUB" });
  });

  itWhole.each([
    { name: "one value", how: LOSE_ONE["no currency"]!, hours: 1 },
    { name: "all lines", how: LOSE["no lines"]!, hours: 4 },
  ])("does not count as lost sooner where this machine's clock jumps ahead: $name", async ({ how, hours }) => {
    const test = await startCounting(9);
    const [id] = test.ids as [string];
    lose(test, how);
    test.change(id, { status: "paid" });
    await test.poll();
    test.clock.jump(48 * HOUR_MS);
    for (let parts = 0; parts < 4 * hours - 1; parts++) await test.poll(HOUR_MS / 4);
    expect(test.statusOf(id).status).toBe("new");
    for (let parts = 0; parts < 4; parts++) await test.poll(HOUR_MS / 4);
    expect(test.statusOf(id).status).toBe("paid");
  });

  itSome(1)(["no total", "no currency", "fewer lines than it counts"])(
    "may be lost by an order that is cancelled: %s",
    async (name) => {
      const test = await startCounting(9);
      const [id] = test.ids as [string];
      lose(test, LOSE_ONE[name]!);
      test.change(id, { status: "cancelled" });
      await test.poll();
      expect(test.statusOf(id).status).toBe("cancelled");
      expect(test.rows("SELECT order_id FROM later_reads")).toEqual([{ order_id: id }]);
    },
  );

  itWhole("is lacked by one order alone: no currency, and fewer lines than it counts", async () => {
    const test = await startCounting(9);
    const { service } = test.sandbox;
    const lacking = ["no currency", "fewer lines than it counts"].map((name) => {
      const id = service.createOrder({ lines: THREE_LINES, extra: { items_count: "3" } });
      service.changeOrder(id, { raw: LOSE_ONE[name]!(service.newestText(id)!) });
      return id;
    });
    await test.run("orders");
    for (let polls = 0; polls < 20; polls++) await test.poll();
    for (const id of lacking) expect(stateOf(test, id)).toBeDefined();
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  itWhole("counts as lost after a day, and is asked for three times more", async () => {
    const test = await startFollowed(3);
    const [id] = test.ids as [string];
    lose(test, LOSE["no lines"]!);
    test.change(id, { status: "paid" });
    for (let hours = 0; hours < 22; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("new");
    for (let hours = 0; hours < 4; hours++) await test.poll(HOUR_MS);
    expect(test.statusOf(id).status).toBe("paid");
    expect(lines(test, id)).toBe(0);
    expect(test.rows("SELECT order_id FROM later_reads")).toEqual([{ order_id: id }]);
    // Of this order it is known now.
    test.change(id, { status: "packed" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("packed");
  });

  itWhole("may be lost by an order that is cancelled, or that costs nothing", async () => {
    const test = await startFollowed(3);
    const [id, other] = test.ids as [string, string];
    const without = LOSE["no lines"]!;
    test.change(id, { status: "cancelled" });
    test.change(id, { raw: without(test.sandbox.service.newestText(id)!) });
    test.change(other, { status: "paid" });
    test.change(other, {
      raw: without(test.sandbox.service.newestText(other)!).replace(/"total":"?[\d.]+"?/, '"total":"0.00"'),
    });
    await test.poll();
    expect(test.statusOf(id).status).toBe("cancelled");
    expect(test.statusOf(other).status).toBe("paid");
    expect([lines(test, id), lines(test, other)]).toEqual([0, 0]);
  });

  /** Orders that lack something by themselves, pulled beside an ordinary one. */
  async function pullLacking(test: Followed, ways: readonly (keyof typeof LOSE)[]): Promise<string[]> {
    const { service } = test.sandbox;
    const lacking = ways.map((way) => {
      const id = service.createOrder();
      service.changeOrder(id, { raw: LOSE[way]!(service.newestText(id)!) });
      return id;
    });
    service.createOrder();
    await test.run("orders");
    return lacking;
  }

  const stored = ({ rows }: Followed, id: string) => rows("SELECT 1 FROM orders WHERE order_id = ?", id).length;

  itWhole.each(["no lines", "lines without an article", "no status"])(
    "is lacked by one order alone, which another order's answer shows twice: %s",
    async (way) => {
      const test = await startFollowed(3);
      const [id] = (await pullLacking(test, [way])) as [string];
      for (let polls = 0; polls < 10; polls++) await test.poll();
      expect(stored(test, id)).toBe(0);
      for (let polls = 0; polls < 10; polls++) await test.poll();
      expect(stored(test, id)).toBe(1);
      expect(test.snapshots(id)).toBeLessThanOrEqual(10);
      expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
      expect(test.rows("SELECT * FROM first_looks")).toEqual([]);
      expect(test.rows("SELECT order_id FROM later_reads")).toEqual([{ order_id: id }]);
    },
  );

  itWhole.each([
    [2, "new"],
    [3, "paid"],
  ])("is guarded while %i of twenty others have lost it", async (without, status) => {
    const test = await startFollowed(20);
    const [id] = test.ids as [string];
    const drop = test.bridge.store.db.prepare(
      "DELETE FROM order_line_rows WHERE order_key = (SELECT order_key FROM orders WHERE order_id = ?)",
    );
    for (const other of test.ids.slice(-without)) drop.run(other);
    lose(test, LOSE["no lines"]!);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id).status).toBe(status);
  });

  itWhole("is missed by no order where none has it, whatever stands in the place of a total", async () => {
    const test = await startFollowed(3, { settings: { orders: { fields: { total: "$.currency" } } } });
    test.bridge.store.db.exec("DELETE FROM order_line_rows");
    const [id] = test.ids as [string];
    lose(test, LOSE["no lines"]!);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole("is guarded beside cancelled orders and free ones that have none", async () => {
    const test = await startFollowed(6);
    const [id, ...others] = test.ids as [string, ...string[]];
    const { db } = test.bridge.store;
    db.exec("DELETE FROM order_line_rows WHERE order_key > 1");
    db.exec(
      "UPDATE orders SET is_cancelled = order_key % 2, total = CASE WHEN order_key % 2 THEN total ELSE '0,00' END WHERE order_key > 1",
    );
    expect(others).toHaveLength(5);
    lose(test, LOSE["no lines"]!);
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("new");
  });

  itWhole("is not lost by one of two machines that answer in turn", async () => {
    const test = await startFollowed(3);
    const [id] = test.ids as [string];
    test.change(id, { status: "paid" });
    const { service } = test.sandbox;
    const handle = service.handle.bind(service);
    let reads = 0;
    service.handle = (request) => {
      const answer = handle(request);
      const isRead = /\/orders\/[0-9a-f-]{36}/.test(JSON.stringify(request));
      if (request.method !== "GET" || !isRead || reads++ % 2 === 1) return answer;
      return { ...answer, body: Buffer.from(LOSE["no lines"]!(answer.body.toString("utf8"))) };
    };
    for (let polls = 0; polls < 30; polls++) {
      reads = 0;
      await test.poll();
      expect(lines(test, id)).toBeGreaterThan(0);
    }
    expect(test.statusOf(id).status).toBe("paid");
  });

  itWhole("is not lost by two troubles, where the order was answered with it between them", async () => {
    const test = await startFollowed(3);
    const [id] = test.ids as [string];
    const { service } = test.sandbox;
    const handle = service.handle.bind(service);
    const trouble = () => {
      service.handle = (request) => {
        const answer = handle(request);
        if (request.method !== "GET" || !JSON.stringify(request).includes(id)) return answer;
        return { ...answer, body: Buffer.from(LOSE["no lines"]!(answer.body.toString("utf8"))) };
      };
    };
    trouble();
    test.change(id, { status: "paid" });
    await test.poll();
    expect(test.rows("SELECT order_id FROM first_looks")).toEqual([{ order_id: id }]);
    service.handle = handle;
    for (let polls = 0; polls < 12; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    trouble();
    test.change(id, { status: "packed" });
    for (let polls = 0; polls < 3; polls++) await test.poll();
    expect(lines(test, id)).toBeGreaterThan(0);
  });

  itWhole.each([403, 404])("counts after a day as it was held where the order cannot be read: %i", async (status) => {
    const test = await startWithIll(3);
    const [first, second] = (await pullLacking(test, ["no lines", "no status"])) as [string, string];
    for (const id of [first, second]) test.ill.set(id, { kind: "status", status, body: '{"error":"no details"}' });
    for (let hours = 0; hours < 23; hours++) await test.poll(HOUR_MS);
    expect([stored(test, first), stored(test, second)]).toEqual([0, 0]);
    for (let hours = 0; hours < 4; hours++) await test.poll(HOUR_MS);
    expect([stored(test, first), stored(test, second)]).toEqual([1, 1]);
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  const answered = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

  itWhole("is lacked by one order that was answered with it since the same answer was held", async () => {
    const test = await startWithIll(3);
    const [id] = test.ids as [string];
    const lacking = LOSE["no lines"]!(test.sandbox.service.newestText(id)!).replace(/"updated_at":"[^"]*",/, "");
    const held = () => test.rows("SELECT kind FROM quarantine WHERE state = 'held' AND kind = 'snapshot'").length;
    test.ill.set(id, answered(lacking));
    test.change(id, { status: "paid" });
    await test.poll();
    expect(held()).toBe(1);
    test.ill.delete(id);
    for (let polls = 0; polls < 5; polls++) await test.poll();
    expect([held(), lines(test, id) > 0]).toEqual([0, true]);
    test.clock.advance(30 * HOUR_MS);
    test.ill.set(id, answered(lacking));
    test.change(id, { status: "packed" });
    await test.poll();
    expect([held(), lines(test, id) > 0]).toEqual([1, true]);
    for (let polls = 0; polls < 20; polls++) await test.poll();
    expect([held(), lines(test, id)]).toEqual([0, 0]);
  });

  itWhole("is lacked by an order that was set back, where the changes say nothing of it for a day", async () => {
    const test = await startWithIll(6, { service: { updates: { sinceAgeMax: 3 * HOUR_MS } } });
    const [id, other] = test.ids as [string, string];
    const lacking = LOSE["no lines"]!(test.sandbox.service.newestText(id)!);
    test.change(id, { status: "paid" });
    await test.poll();
    const live = async (times: number) => {
      for (let polls = 0; polls < times; polls++) {
        test.change(other, { status: `s${polls}` });
        await test.poll(HOUR_MS + 60_000);
      }
    };
    await live(4);
    test.ill.set(id, answered(lacking));
    await test.run("reconcile");
    await live(36);
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  itWhole("is lacked by an order that was set back, where the changes list its later version no more", async () => {
    const test = await startWithIll(6);
    const [id, other] = test.ids as [string, string];
    const lacking = LOSE["no lines"]!(test.sandbox.service.newestText(id)!);
    test.change(id, { status: "paid" });
    await test.poll();
    test.clock.advance(HOUR_MS);
    test.ill.set(id, answered(lacking));
    test.unlisted.add(id);
    await test.run("reconcile");
    for (let polls = 0; polls < 36; polls++) {
      test.change(other, { status: `s${polls}` });
      await test.poll(HOUR_MS + 60_000);
    }
    expect(test.statusOf(id).status).toBe("new");
    expect(test.rows("SELECT * FROM owed_reads")).toEqual([]);
    expect(test.rows("SELECT * FROM quarantine WHERE state = 'held'")).toEqual([]);
  });

  itWhole("is not lacked by an order that is cancelled, opened and cancelled again, before it is read", async () => {
    const test = await startFollowed(12, { service: { updates: { history: "log" } } });
    const [id = "", ...others] = test.ids;
    lose(test, LOSE_ONE["no number"]!);
    test.change(id, { status: "cancelled" });
    await test.poll();
    expect(test.statusOf(id).status).toBe("cancelled");
    test.change(id, { status: "new" });
    for (const other of others) test.change(other, { status: "paid" });
    test.change(id, { status: "cancelled" });
    await test.poll();
    await test.poll();
    expect(test.statusOf(id)).toEqual({ status: "cancelled", revision: 4 });
    expect(others.map((other) => test.statusOf(other).revision)).toEqual(others.map(() => 1));
  });
});

describe("a number beside the lines", () => {
  const line = (quantity: string, n = 0) => ({ sku: `A-${n}`, quantity, price: "10.00" });
  const NAMES = ["items_count", "item_count", "count", "products_count", "goods_count"];
  const saying = (literal: string) => Object.fromEntries(NAMES.map((name) => [name, literal]));

  /** Orders of one piece each, unless `pieces` says otherwise. */
  async function startOfPieces(pieces: readonly string[] = Array.from({ length: 12 }, () => "1")): Promise<Followed> {
    const test = await startFollowed(0);
    const { service } = test.sandbox;
    test.ids.push(...pieces.map((each) => service.createOrder({ lines: [line(each)], extra: saying(each) })));
    await test.run("orders");
    test.clock.advance(60_000);
    return test;
  }
  const held = ({ rows }: Followed) => rows("SELECT reference FROM quarantine WHERE state = 'held'");

  itSome(2)<[string, string[], string]>([
    ["of one line", ["3"], "3"],
    ["of two lines, as a text", ["3", "4"], '"7"'],
    ["with decimals", ["2.000", "1.00"], "3"],
    ["of goods sold by weight, rounded", ["2", "0.750"], "3"],
    ["of goods sold by weight, each as one piece", ["0.250", "0.250", "0.250"], "3"],
    ["of a weight, as one piece", ["0.750"], "1"],
  ])("counts the pieces, and hides no order: %s", async (_, quantities, literal) => {
    const test = await startOfPieces();
    const [id] = test.ids as [string];
    const lines = quantities.map(line);
    const fresh = test.sandbox.service.createOrder({ lines, extra: saying(literal) });
    await test.run("orders");
    test.change(id, { lines, extra: saying(literal) });
    await test.poll();
    expect(held(test)).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
    for (const each of [fresh, id])
      expect(test.rows("SELECT quantity FROM order_lines WHERE order_id = ?", each)).toHaveLength(lines.length);
    expect(test.statusOf(id)).toMatchObject({ revision: 2 });
  });

  itWhole("counts the pieces from the first order on", async () => {
    const test = await startOfPieces(["2", "1", "1", "5", "1", "1"]);
    expect(held(test)).toEqual([]);
    expect(test.rows("SELECT order_id FROM orders")).toHaveLength(6);
  });

  itSome(1)<[string, string, string]>([
    ["one more piece", "3", "1"],
    ["the lines and the delivery", "2", "1"],
    ["fewer pieces", "3", "2"],
  ])(
    "that no sum explains is that of lines, for less than an hour where no other order proves it: %s",
    async (...of) => {
      const [, literal, quantity] = of;
      const test = await startOfPieces();
      const fresh = test.sandbox.service.createOrder({ lines: [line(quantity)], extra: saying(literal) });
      await test.run("orders");
      for (let polls = 0; polls < 20; polls++) await test.poll();
      expect(stateOf(test, fresh)).toBeUndefined();
      expect(held(test)).not.toEqual([]);
      for (let polls = 0; polls < 38; polls++) await test.poll();
      expect(stateOf(test, fresh)).toBeDefined();
      expect(held(test)).toEqual([]);
    },
  );

  itWhole("that no sum explains hides a change for less than an hour", async () => {
    const test = await startOfPieces();
    const [id] = test.ids as [string];
    test.change(id, { status: "paid", lines: [line("1")], extra: saying("4") });
    for (let polls = 0; polls < 58; polls++) await test.poll();
    expect(test.statusOf(id).status).toBe("paid");
    expect(held(test)).toEqual([]);
  });
});
