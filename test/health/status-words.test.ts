import { describe, expect, it } from "vitest";
import { statusWords } from "../../src/health/condition-words.ts";
import type { Facts } from "../../src/health/facts.ts";
import { describeStatus } from "../../src/health/status.ts";
import { m } from "../../src/messages/messages.ts";
import { packed, unpacked } from "../../src/messages/pack.ts";
import { failureWords, holdWords } from "../../src/messages/words/status.ts";
import { ContradictedAnswer } from "../../src/pass/contradicted-answer.ts";
import { describeFailure } from "../../src/pass/describe-failure.ts";
import { BridgeError, EXIT } from "../../src/platform/errors.ts";

const NOW_MS = new Date(2026, 5, 1, 18, 30, 0).getTime();
const ago = (minutes: number) => new Date(NOW_MS - minutes * 60_000).toISOString();
const CALM = {
  enabled: true,
  waiting: 0,
  waitingSince: null,
  held: null,
  quarantined: 0,
  refused: 0,
  isStale: false,
} as const;
const NO_FAILURE = { failingSince: null, errorCode: null, error: null, sentence: "" } as const;

function flow(name: string, over: object = {}) {
  const times = { lastSuccessAt: ago(1), lastRunAt: ago(1), ageS: 60, staleAfterS: 300, asOf: ago(1) };
  return { flow: name, ...CALM, ...NO_FAILURE, ...times, ...over };
}

function tell(over: Partial<Facts>, language: "en" | "ru" = "ru") {
  const facts: Facts = {
    flows: [flow("orders"), flow("stocks"), flow("erp", { waiting: 3, waitingSince: ago(4) })],
    holds: [],
    lastOrderAt: ago(10),
    orders: 10,
    unread: 0,
    refusedBatches: 0,
    refusedRequests: 0,
    acceptedByStatusOnly: [],
    walBytes: 0,
    ...over,
  };
  return describeStatus(facts, { nowMs: NOW_MS, isRunning: true }, { erpReadWithinMs: 86_400_000 }, language);
}

describe("the status in Russian", () => {
  it("says that all is well, and how fresh everything is", () => {
    expect(tell({})).toMatchObject({
      sentence:
        "Всё в порядке. Опрос 60 с назад; последний заказ 18:20; 3 заказа ещё не забраны в ERP, самый старый ждёт 4 мин; остатки на сайте по состоянию на 18:29.",
      attention: [],
      exitCode: EXIT.ok,
    });
  });

  it.each([
    [1, "1 заказ ещё не забран в ERP"],
    [2, "2 заказа ещё не забраны в ERP"],
    [5, "5 заказов ещё не забрано в ERP"],
    [11, "11 заказов ещё не забрано в ERP"],
    [21, "21 заказ ещё не забран в ERP"],
    [104, "104 заказа ещё не забраны в ERP"],
    [112, "112 заказов ещё не забрано в ERP"],
  ])("gives %i orders the right form", (waiting, words) => {
    expect(tell({ flows: [flow("erp", { waiting, waitingSince: ago(4) })] }).sentence).toContain(words);
  });

  it.each([
    [172_800, "2 дня"],
    [5 * 86_400, "5 дней"],
    [21 * 86_400, "21 день"],
    [7_200, "2 ч"],
  ])("writes %i seconds as %s", (seconds, text) => {
    expect(statusWords("ru").duration(seconds)).toBe(text);
  });

  it("comes to the same number of things and the same exit code as the English one", () => {
    const facts: Partial<Facts> = {
      flows: [
        flow("orders", { failingSince: ago(5), errorCode: "unreachable", quarantined: 2 }),
        flow("stocks", { isStale: true, ageS: 4_000, refused: 3 }),
        flow("erp", { waiting: 1, waitingSince: ago(3_000), quarantined: 5 }),
      ],
      holds: [
        { area: "stocks", reason: "guard", since: ago(5), detail: null },
        { area: "orders", reason: "mapping", since: ago(5), detail: null },
      ],
      unread: 2,
      refusedBatches: 1,
      refusedRequests: 3,
      walBytes: 300 * 1024 * 1024,
      disk: { free: 5 * 1024 * 1024, total: 1e12 },
      erpWrites: [{ feed: "stocks", since: ago(3_000), withinS: 60 }],
      undelivered: [{ channel: "webhook", since: ago(5), error: "timed_out" }],
      pageSilent: { address: "127.0.0.1:9469", since: ago(5), error: "EADDRINUSE" },
      notices: [
        { name: "clock", since: ago(5), offsetS: -600 },
        { name: "credential", since: ago(5) },
      ],
    };
    const [english, russian] = [tell(facts, "en"), tell(facts, "ru")];
    expect(russian.attention).toHaveLength(english.attention.length);
    expect(russian.exitCode).toBe(english.exitCode);
    expect(english.attention).toHaveLength(18);
    expect(english.attention).toContain(
      "The status page cannot listen on 127.0.0.1:9469 since 18:25: another program holds the port. Orders go on.",
    );
    const latin = russian.attention.join(" ").match(/[A-Za-z_]{3,}/g) ?? [];
    expect(
      latin.filter(
        (word) =>
          !/^(ERP|erp|bridge|remap|timed_out|timedatectl|set|ntp|true|Client|Secret|systemd|systemctl|restart)$/.test(
            word,
          ),
      ),
    ).toEqual([]);
  });

  it("leaves a code that it does not know as it is", () => {
    for (const language of ["en", "ru"] as const) {
      const told = (error: string) => failureWords({ error, why: null }, statusWords(language));
      expect(told("of_a_later_version")).toBe("of_a_later_version");
      expect(told("toString")).toBe("toString");
      expect(holdWords("__proto__", statusWords(language))).toBe("__proto__");
    }
  });
});

describe("the next command where what stands beside a list contradicts it", () => {
  it.each([
    [
      "says so",
      new ContradictedAnswer(m.orders.batchNotWhole({ size: 100, what: "pages", hours: 24 }), {
        hint: m.orders.compareAnswer({ area: "orders" }),
      }),
      "erp-bridge resume orders --hold answer",
    ],
    [
      "is a path of the configuration otherwise",
      new BridgeError("answer_shape", m.orders.comparePath),
      "erp-bridge probe --write",
    ],
  ])("%s", (_, failure, command) => {
    const error = unpacked(packed(describeFailure(failure)));
    const failing = flow("orders", { failingSince: ago(2), errorCode: "answer_shape", error });
    expect(tell({ flows: [failing] }, "en").conditions[0]).toMatchObject({ code: "flow_failing", command });
  });
});
