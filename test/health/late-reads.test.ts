import { describe, expect, it } from "vitest";
import type { Code } from "../../src/health/condition-traits.ts";
import { type Condition, exitCodeOfAll, listConditions } from "../../src/health/conditions.ts";
import { loadFacts } from "../../src/health/fact-rows.ts";
import { type Facts, withoutForeignWords } from "../../src/health/facts.ts";
import { describeStanding, describeStatus } from "../../src/health/status.ts";
import type { Language } from "../../src/messages/language.ts";
import { requestRead } from "../../src/pass/position-rows.ts";
import { isoTime } from "../../src/platform/ports.ts";
import type { FaultAction } from "../../src/sandbox/fault-rule.ts";
import { ago, factsOf, flowOf, LIMITS, RUNNING } from "../support/conditions.ts";
import { type IllOrders, NO_SUCH_ORDER, startWithIll, WEB_PAGE_404 } from "../support/ill-orders.ts";
import { saying, words } from "../support/messages.ts";
import { itWhole } from "../support/whole.ts";

const MINUTE_MS = 60_000;
const NOT_SAID: readonly Code[] = ["disk_low"];

function conditionsOf(test: IllOrders): Condition[] {
  const now = { nowMs: test.clock.nowMs(), isRunning: true };
  // Ages of flows are by the real clock.
  return listConditions({ ...loadFacts(test.bridge.store), flows: [] }, now, LIMITS).filter(
    ({ code }) => !NOT_SAID.includes(code),
  );
}

async function pollFor(test: IllOrders, minutes: number): Promise<void> {
  for (let polls = 0; polls < minutes; polls++) await test.poll();
}

const raw = (body: string): FaultAction => ({ kind: "raw", contentType: "application/json", body });

describe("an order that is to be read and cannot be", () => {
  itWhole.each<[string, (other: string) => FaultAction]>([
    ["a refusal", () => ({ kind: "status", status: 403, body: '{"error":"archived"}' })],
    ["an error of the service", () => ({ kind: "status", status: 500, body: "" })],
    ["a web page with 404", () => WEB_PAGE_404],
    ["another order", (other) => raw(other)],
    ["what cannot be read", () => raw('{"id":')],
  ])("is told of after a quarter of an hour, whatever is answered: %s", async (_, answer) => {
    const test = await startWithIll(4);
    const [first, second, other] = test.ids as [string, string, string];
    for (const id of [first, second]) {
      test.ill.set(id, answer(test.sandbox.service.newestText(other)!));
      test.change(id, { status: "paid" });
    }
    await pollFor(test, 10);
    expect(conditionsOf(test)).toEqual([]);
    // The service answers for other orders.
    test.change(other, { status: "paid" });
    await pollFor(test, 10);
    expect(test.statusOf(other).status).toBe("paid");
    const found = conditionsOf(test).filter(({ code }) => code === "late_reads");
    const [{ since }] = test.rows<{ since: string }>("SELECT min(since) AS since FROM owed_reads") as [
      { since: string },
    ];
    expect(found).toEqual([{ code: "late_reads", subject: "updates", since, params: { count: 2, why: saying(" ") } }]);
    expect(exitCodeOfAll(found)).toBe(2);
    test.ill.clear();
    await test.poll(60 * MINUTE_MS);
    expect(conditionsOf(test)).toEqual([]);
  });

  itWhole("is not told of where it is missing, or is read again later as a precaution", async () => {
    const test = await startWithIll(4);
    const [missing, later, other] = test.ids as [string, string, string];
    test.ill.set(missing, NO_SUCH_ORDER);
    test.change(missing, { status: "paid" });
    test.change(other, { status: "paid" });
    test.rows(
      "INSERT INTO later_reads (order_id, begun_at, step, due_at) VALUES (?, ?, 0, ?) RETURNING 1",
      later,
      "2026-01-01T00:00:00.000Z",
      "2099-01-01T00:00:00.000Z",
    );
    for (let polls = 0; polls < 30; polls++) {
      await test.poll();
      expect(conditionsOf(test)).toEqual([]);
    }
    expect(test.rows("SELECT order_id FROM owed_reads")).toEqual([]);
  });

  it("is told of by its age alone, by the flow where that stands still, and without the service's words to everybody", () => {
    const queuedReads = { times: [ago(40), ago(16), ago(14)], why: words("answered with 403: Anna") };
    const codes = (over: Parameters<typeof factsOf>[0], now = RUNNING) =>
      listConditions(factsOf({ queuedReads, ...over }), now, LIMITS).map(({ code }) => code);
    expect(listConditions(factsOf({ queuedReads }), RUNNING, LIMITS)).toEqual([
      { code: "late_reads", subject: "updates", since: ago(40), params: { count: 2, why: queuedReads.why } },
    ]);
    expect(codes({ queuedReads: { times: [ago(14)], why: words("answered with 403") } })).toEqual([]);
    expect(codes({ queuedReads: { times: [ago(16)], why: null } })).toEqual(["late_reads"]);
    expect(codes({ flows: [flowOf("updates", { enabled: false })] })).toEqual(["late_reads"]);
    expect(codes({ flows: [flowOf("updates", { failingSince: ago(2), errorCode: "unreachable" })] })).toEqual([
      "flow_failing",
    ]);
    expect(codes({ holds: [{ area: "orders", reason: "payment", since: ago(5), detail: null }] })).toEqual([
      "hold_payment",
    ]);
    const stopped = { ...RUNNING, isRunning: false };
    expect(codes({ flows: [flowOf("updates", { lastSuccessAt: ago(90) })] }, stopped)).toEqual(["not_running"]);
    expect(codes({ flows: [flowOf("updates", { lastSuccessAt: ago(1) })] }, stopped)).toEqual([
      "not_running",
      "late_reads",
    ]);
    expect(JSON.stringify(withoutForeignWords(factsOf({ queuedReads })))).not.toContain("Anna");
  });
});

describe("orders whose reads wait for those of others", () => {
  const sentenceOf = (queuedReads: NonNullable<Facts["queuedReads"]>, language: Language = "en") => {
    const report = describeStatus(factsOf({ queuedReads }), RUNNING, LIMITS, language);
    expect(report).toMatchObject({ exitCode: 0, attention: [], conditions: [] });
    return report.sentence;
  };

  it("are named by the status after two minutes, and are no condition", () => {
    const times = [ago(3), ago(2.5), ago(1)];
    expect(sentenceOf({ times, untried: times, why: null })).toMatch(
      /^Catching up with changes of orders\. 2 orders still to be read, oldest 3 min; asked 12 s ago;/,
    );
    expect(sentenceOf({ times, untried: times, why: null }, "ru")).toMatch(
      /^Изменения заказов ещё не все прочитаны\. 2 заказа ещё предстоит прочитать, самый старый ждёт 3 мин; опрос/,
    );
    const facts = factsOf({ queuedReads: { times, untried: times, why: null } });
    expect(describeStanding(facts, RUNNING, LIMITS)).toMatch(/: Catching up with changes of orders\. /);
  });

  itWhole("are not, where they are of a usual pass, or wait after failures of their own", () => {
    expect(sentenceOf({ times: [ago(1.9)], untried: [ago(1.9)], why: null })).toMatch(/^Up to date\. Asked /);
    expect(sentenceOf({ times: [ago(9)], untried: [], why: words("answered with 403") })).toMatch(/^Up to date\. /);
    expect(sentenceOf({ times: [], why: null })).toMatch(/^Up to date\. /);
  });

  itWhole("are read from the queue", async () => {
    const test = await startWithIll(4);
    const [bad, good] = test.ids as [string, string];
    test.ill.set(bad, { kind: "status", status: 403, body: "" });
    test.change(bad, { status: "paid" });
    await test.poll();
    const { store } = test.bridge;
    const at = isoTime(test.clock.nowMs());
    store.write(() => requestRead(store, { orderId: good, serviceId: good }, at));
    const queued = loadFacts(store).queuedReads;
    expect(queued).toMatchObject({ times: [expect.any(String), at], untried: [at] });
  });
});
