/*
 * Checks the credentials for orders and imports, the subscription and the clocks with harmless requests: the updates
 * from this moment on, an order that cannot exist, and an import body without its array, which any service refuses
 * after checking the credentials. Nothing is stored.
 */
import { randomUUID } from "node:crypto";
import { ISO_FORM, OTHER_FORMS } from "../answers/timestamp-form.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { describeFailure } from "../pass/describe-failure.ts";
import { asError, exitCodeOf } from "../platform/errors.ts";
import type { Clock } from "../platform/ports.ts";
import type { ServiceClient } from "../service/client.ts";
import { sendImport } from "../service/imports.ts";
import { fetchSnapshot, fetchUpdates } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import { type FollowRules, planFirstAsk } from "../updates/pages/follow.ts";
import { type CheckResult, failed, passed } from "./check-result.ts";

const SKEW_WORTH_A_WORD_MS = 5 * 60_000;
const BAD_PARAMETER = [400, 422];

export async function checkService(
  client: ServiceClient,
  options: { clock: Clock; follow: FollowRules; importPath: string | null; signal: AbortSignal },
): Promise<CheckResult[]> {
  const { signal } = options;
  const now = new Date(options.clock.nowMs()).toUTCString();
  const from = { watermark: now, serviceNow: undefined };
  const forms = options.follow.since === "iso" ? [ISO_FORM, ...OTHER_FORMS] : [undefined];
  const sinces = forms.map((form) => planFirstAsk({ ...from, form }, { ...options.follow, overlapMs: 0 }).since);
  const checks = [
    await askSince(sinces, (since) => fetchUpdates(client, since, signal)),
    await ask(
      "orders: one order",
      () => fetchSnapshot(client, randomUUID(), signal),
      m.probe.unknownIsUnknown,
      [404, 410],
    ),
  ];
  if (options.importPath !== null) {
    const path = options.importPath;
    const totalTimeoutMs = 30_000;
    checks.push(
      await ask(
        "imports: credentials and subscription",
        () => sendImport(client, { path, body: "{}", totalTimeoutMs, signal }),
        m.probe.importLetIn,
        [400, 413, 415, 422],
      ),
    );
  }
  checks.push(checkClock(client.lastDate, options.clock.nowMs()));
  return checks;
}

/**
 * A refused parameter means that the credentials were accepted, and that the form of `since` is wrong. As which text the service's times are
 * written, the orders show later: one of those that are known has to be answered.
 */
async function askSince(sinces: readonly string[], request: (since: string) => Promise<unknown>): Promise<CheckResult> {
  let refused: CheckResult | undefined;
  for (const since of sinces) {
    const check = await ask("orders: credentials", () => request(since), m.probe.updatesAnswered, BAD_PARAMETER);
    if (!check.ok || check.message === m.probe.updatesAnswered) return check;
    refused ??= failed(check.check, m.probe.sinceRefused({ text: check.message }));
  }
  return refused as CheckResult;
}

/** @param fine statuses of refusals that come after the check of credentials */
async function ask(
  check: string,
  request: () => Promise<unknown>,
  good: Message,
  fine: readonly number[],
): Promise<CheckResult> {
  try {
    await request();
    return passed(check, good);
  } catch (thrown) {
    const error = asError(thrown);
    if (error instanceof ServiceError && error.status !== undefined && fine.includes(error.status)) {
      return passed(check, m.probe.answeredAs({ text: good, status: error.status }));
    }
    return failed(check, describeFailure(error), exitCodeOf(error));
  }
}

function checkClock(date: string | undefined, nowMs: number): CheckResult {
  const theirs = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return passed("clocks", m.probe.noDate);
  const skewMs = Math.abs(theirs - nowMs);
  return skewMs > SKEW_WORTH_A_WORD_MS
    ? failed("clocks", m.probe.clockAway({ minutes: Math.round(skewMs / 60_000) }))
    : passed("clocks", m.probe.clocksAgree);
}
