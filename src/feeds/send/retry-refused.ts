/* Retries quarantined rows in a few requests, because they may have been refused during an outage. Another refusal changes nothing. */
import { commit } from "../../pass/commit.ts";
import { releaseQuarantined } from "../../pass/quarantine-rows.ts";
import type { FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { referenceOf } from "../row-reference.ts";
import { inFlight } from "./flights.ts";
import { isDenial, retryRefusedMs } from "./refusal-trial.ts";
import { markWaiting, saveRetryTime } from "./refused-rows.ts";
import type { SendPass } from "./send-pass.ts";
import { entryOf, type SendRequest } from "./send-request.ts";
import { wholeTable } from "./send-whole.ts";

/** Enough to isolate about a dozen bad rows and send all good ones. */
const REQUESTS_MAX = 20;
/** Rows that a retry did not reach are retried after this time. */
const REST_MS = 3_600_000;

/** Rows that go to zero or away wait again, so that the guard counts them before they are sent. */
export async function requeueDrops(
  context: FeedContext,
  { name }: FeedRules,
  drops: readonly OutboxRow[],
  signal: AbortSignal,
): Promise<void> {
  await commit(context, signal, () => {
    for (const { id, key } of drops) {
      markWaiting(context.store, id, "proven");
      releaseQuarantined(context.store, [name], referenceOf(key));
    }
  });
}

/** @returns how many rows the service has accepted */
export async function retryRefused(
  context: FeedContext,
  rules: FeedRules,
  { request, pass, rows }: { request: SendRequest; pass: SendPass; rows: readonly OutboxRow[] },
): Promise<number> {
  const { store, clock } = context;
  // Before any request, so that the next retry is delayed whatever happens.
  const rest = { atMs: clock.monotonicMs() + REST_MS, isTried: false };
  await commit(context, pass.signal, () => saveRetryTime(store, rows, rest));
  const isWhole = rules.scope === "whole";
  const parts: (readonly OutboxRow[])[] = [rows];
  let taken = 0;
  for (let requests = 0; requests < REQUESTS_MAX; requests++) {
    const part = parts.pop();
    if (part === undefined) break;
    const outcome = await request.send(pass, part, isWhole ? wholeTable(context, rules, part) : part.map(entryOf));
    // Wrong credentials look the same: only where others are accepted are these rows divided.
    const isEnd = outcome.kind === "refused" && isDenial(outcome.status) && taken === 0 && !pass.trial.hasAccepted;
    if (outcome.kind === "refused" && part.length > 1 && !isWhole && !isEnd) {
      const half = Math.ceil(part.length / 2);
      parts.push(part.slice(half), part.slice(0, half));
      continue;
    }
    const named = new Set(outcome.kind === "refused" ? [] : outcome.named.map(({ row }) => row?.id));
    const isAll = outcome.kind === "refused" || (outcome.kind === "partial" && isWhole);
    const refused = isAll ? part : part.filter(({ id }) => named.has(id));
    const others = isAll ? [] : part.filter(({ id }) => !named.has(id));
    if (outcome.kind === "partial") {
      if (others.length > 0) parts.push(others.map(inFlight));
    } else taken += others.length;
    await commit(context, pass.signal, () => {
      const nowMs = clock.monotonicMs();
      for (const row of refused)
        saveRetryTime(store, [row], { atMs: nowMs + retryRefusedMs(row.tries + 1), isTried: true });
    });
    if (isEnd) break;
  }
  return taken;
}
