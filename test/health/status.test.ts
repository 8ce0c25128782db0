import { describe, expect, it } from "vitest";
import { describeStatus } from "../../src/health/status.ts";
import { spanText as duration } from "../../src/messages/numbers.ts";
import { ago, factsOf as facts, flowOf as flow, LIMITS, RUNNING } from "../support/conditions.ts";
import { words } from "../support/messages.ts";

describe("the sentence of status", () => {
  it("says that all is well, and how fresh everything is", () => {
    expect(describeStatus(facts(), RUNNING, LIMITS)).toEqual({
      sentence:
        "Up to date. Asked 12 s ago; last order 18:20; 3 orders not yet taken by the ERP, oldest 4 min; stock on the site as of 18:19.",
      attention: [],
      exitCode: 0,
      conditions: [],
    });
  });

  it.each([
    [
      facts({ holds: [{ area: "orders", reason: "credentials", since: ago(5), detail: null }] }),
      77,
      "Orders held since 18:25: the service refuses the credentials.",
    ],
    [
      facts({ holds: [{ area: "imports", reason: "payment", since: ago(5), detail: null }] }),
      77,
      "Imports held since 18:25: the import subscription is not paid.",
    ],
    [
      facts({ holds: [{ area: "stocks", reason: "guard", since: ago(5), detail: null }] }),
      2,
      "Stocks held since 18:25: rows going to zero wait for approval.",
    ],
    [
      facts({
        flows: [
          flow("orders", {
            failingSince: ago(2),
            errorCode: "unreachable",
            error: words("the service cannot be reached (GET /orders)."),
          }),
        ],
      }),
      69,
      "Orders failing since 18:28: the service cannot be reached (GET /orders).",
    ],
    [facts({ flows: [flow("orders", { isStale: true, ageS: 7_300 })] }), 2, "Orders without success for 2 h."],
    [facts({ flows: [flow("orders", { isStale: true, ageS: null })] }), 2, "Orders without success so far."],
    [facts({ unread: 1 }), 2, "1 batch kept unread: the configuration does not fit the answers."],
    [facts({ flows: [flow("stocks", { refused: 2 })] }), 2, "2 rows of stocks refused by the service and tried again."],
    [facts({ flows: [flow("orders", { quarantined: 1 })] }), 2, "1 record of orders in quarantine."],
    [
      facts({ flows: [flow("erp", { waiting: 1, waitingSince: ago(3 * 24 * 60) })] }),
      2,
      "The ERP has left orders untaken for 3 days.",
    ],
  ])("begins with what needs attention (%#)", (given, exitCode, lead) => {
    const report = describeStatus(given, RUNNING, LIMITS);
    expect(report.exitCode).toBe(exitCode);
    expect(report.sentence.startsWith(`${lead} `)).toBe(true);
    expect(report.attention[0]).toBe(lead);
  });

  it("tells first that the daemon is not running, and does not call silence stale then", () => {
    const report = describeStatus(
      facts({ flows: [flow("orders", { isStale: true, ageS: 9_000 })] }),
      { ...RUNNING, isRunning: false },
      LIMITS,
    );
    expect(report.attention).toEqual(["The daemon is not running."]);
    expect(report.exitCode).toBe(2);
  });

  it("tells a hold once, not again for every flow that it stops", () => {
    const held = { failingSince: ago(5), errorCode: "held", error: words("orders held"), held: "credentials" };
    const holds = [{ area: "orders", reason: "credentials", since: ago(5), detail: null }];
    const report = describeStatus(
      facts({ holds, flows: [flow("orders", held), flow("updates", held)] }),
      RUNNING,
      LIMITS,
    );
    expect(report.attention).toHaveLength(1);
  });

  it.each([
    [0, "0 s"],
    [119, "119 s"],
    [120, "2 min"],
    [7_199, "119 min"],
    [7_200, "2 h"],
    [172_799, "47 h"],
    [172_800, "2 days"],
  ])("writes %i seconds as %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});
