import { describe, expect } from "vitest";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { type IllOrders, startWithIll } from "../support/ill-orders.ts";
import { itSome, itWhole } from "../support/whole.ts";

type Answer = (test: IllOrders, other: string) => FaultAction;
const redirect =
  (to: (other: string, url: string) => string, status: number): Answer =>
  (test, other) => ({ kind: "redirect", status, to: to(other, test.sandbox.url) });
const path = (other: string) => `/api/v1/1c/orders/${other}`;

/** An order that changes and is answered so, while the service has another one that it has not handed out. */
async function answerWith(answer: Answer): Promise<{ test: IllOrders; other: string; error: string }> {
  const test = await startWithIll(3);
  const other = test.sandbox.service.createOrder();
  test.ill.set(test.ids[0]!, answer(test, other));
  test.change(test.ids[0]!, { status: "cancelled" });
  await test.poll();
  await test.poll();
  const [row] = test.rows<{ error: string }>(
    "SELECT last_error AS error FROM owed_reads WHERE order_id = ?",
    test.ids[0],
  );
  return { test, other, error: row!.error };
}

describe("an order that is answered with another one", () => {
  itWhole.each<[string, Answer]>([
    [
      "its record",
      (test, other) => ({
        kind: "raw",
        contentType: "application/json",
        body: test.sandbox.service.newestText(other)!,
      }),
    ],
    ["a permanent redirect", redirect(path, 301)],
    ["a permanent redirect with the address", redirect((other, url) => `${url}${path(other)}`, 308)],
  ])("may be merged with it: that is said, and the other one is stored: %s", async (_, answer) => {
    const { test, other, error } = await answerWith(answer);
    expect(error).toContain(`another order (${other}), into which it may have been merged`);
    expect(test.rows("SELECT order_id FROM orders WHERE order_id = ?", other)).toHaveLength(1);
    expect(test.statusOf(test.ids[0]!).status).toBe("new");
    for (let polls = 0; polls < 30; polls++) await test.poll();
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([{ order_id: test.ids[0] }]);
  });

  itSome(1)<[string, Answer]>([
    ["a passing redirect", redirect(path, 302)],
    ["another host", redirect((other) => `https://elsewhere.example${path(other)}`, 301)],
    ["another path", redirect((other) => `/archive/${other}`, 301)],
    ["no order", redirect(() => path("login"), 301)],
  ])("is no such statement by %s", async (_, answer) => {
    const { test, other, error } = await answerWith(answer);
    expect(error).toContain("was answered with 30");
    expect(test.rows("SELECT order_id FROM orders WHERE order_id = ?", other)).toEqual([]);
  });
});
