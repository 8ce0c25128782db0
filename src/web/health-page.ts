import type { FlowFacts } from "../health/facts.ts";
import { m } from "../messages/messages.ts";
import { asError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import type { Troubles } from "../platform/troubles.ts";
import type { Page } from "./answer-request.ts";
import { type Reading, reportOf } from "./reading.ts";

/** Raised by a change that breaks a reader. */
const HEALTH_VERSION = 1;
const JSON_TYPE = "application/json; charset=utf-8";

/** 200 while every flow is fresh, else 503 with the reasons. An unreadable database is reported in the same form. */
export function healthPage(read: () => Reading, { program, troubles }: { program: string; troubles: Troubles }): Page {
  return () => {
    try {
      const reading = read();
      const isHealthy = reading.problems.length === 0;
      return { status: isHealthy ? 200 : 503, type: JSON_TYPE, body: healthText(reading, program) };
    } catch (thrown) {
      const met = troubles.first;
      const { code } = asError(thrown);
      const ill = [{ flow: "database", reason: met?.code ?? code, since: met?.since ?? null }];
      const sentence = met?.sentence ?? m.web.noStatus({ code });
      return { status: 503, type: JSON_TYPE, body: lineOf({ healthy: false, sentence, ill }) };
    }
  };
}

function healthText(reading: Reading, program: string): string {
  const { facts, problems, nowMs, startedAtMs } = reading;
  const { sentence, attention, conditions } = reportOf(reading);
  return lineOf({
    healthy: problems.length === 0,
    sentence,
    ill: problems,
    attention,
    conditions,
    at: isoTime(nowMs),
    startedAt: isoTime(startedAtMs),
    program,
    flows: facts.flows.filter(({ enabled }) => enabled).map(flowOf),
  });
}

function flowOf(flow: FlowFacts): object {
  return {
    flow: flow.flow,
    fresh: !flow.isStale,
    lastSuccessAt: flow.lastSuccessAt,
    ageSeconds: flow.ageS,
    staleAfterSeconds: flow.flow === "erp" ? null : flow.staleAfterS,
    failingSince: flow.failingSince,
    errorCode: flow.errorCode,
    held: flow.held,
    waiting: flow.waiting,
    waitingSince: flow.waitingSince,
    quarantined: flow.quarantined,
    refused: flow.refused,
    asOf: flow.asOf,
  };
}

function lineOf(value: object): string {
  return `${JSON.stringify({ version: HEALTH_VERSION, ...value })}\n`;
}
