/* What becomes of a batch by the outcome of its confirm. Each outcome is one transaction. */

import type { BatchRow } from "../batches/batch-rows.ts";
import { count, type PullPass } from "../batches/pull-pass.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { withTexts } from "../messages/pack.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { learnCounts } from "../service/outcome/usual-counts.ts";
import { askedWaitMs } from "../service/service-error.ts";
import { countIds } from "./batch-ids.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { CONFIRMS_PER_PASS, loadOthersOf, loadRefusedConfirms, loadUnconfirmed } from "./due-rows.ts";
import {
  markAllConfirmed,
  markConfirmed,
  markConfirmFailed,
  markConfirmRefused,
  markCoveredConfirmed,
} from "./outcome-rows.ts";
import { endsPull, isFailureOfOne, mayHaveReached, type Outcome, planFailure } from "./plan-outcome.ts";
import { SERVED_AGAIN_MAX } from "./served-again.ts";
import { saveLarger } from "./settle-confirms.ts";

/**
 * A confirm that the service refuses while it answers pulls is retried alone, and after so many tries counts as
 * refused.
 */
const FORBIDDEN_TRIES_MAX = 4;

interface FailedConfirm {
  row: BatchRow;
  failure: BridgeError;
}

/**
 * @param sent.wasTried an earlier confirm of the batch may have been accepted
 * @throws the failure, where it ends the pull
 */
export async function settleOutcome(
  context: ConfirmContext,
  { row, wasTried }: { row: BatchRow; wasTried: boolean },
  outcome: Outcome,
  pass: PullPass,
): Promise<void> {
  if (outcome.verdict === "confirmed") return await settleConfirmed(context, row, outcome, pass);
  const { failure, because } = outcome;
  const { waits, unknown, breaker } = context.state;
  const isStored = row.state === "stored";
  const { end, forbiddenMs } = planFailure(outcome, {
    isAnswered: pass.isAnswered,
    isTried: isStored && wasTried,
    mayBeUnknown: isStored && unknown.mayHave(row),
  });
  if (forbiddenMs > 0) breaker.noteForbidden(row.id, forbiddenMs);
  if (because !== undefined) unknown.noteWhy(row.id, because);
  if (end === "unknown") {
    // The service may have the confirm, although the answer does not say so: it is sent again after a wait.
    unknown.add(row, because);
    waits.begin(row, forbiddenMs);
    return await saveFailed(context, { row, failure }, because !== undefined, pass);
  }
  const isForbidden = end === "forbidden";
  const isFinal = isForbidden && waits.begin(row, forbiddenMs) >= FORBIDDEN_TRIES_MAX;
  if (end === "refused" || isFinal) return await settleRefused(context, { row, failure, isFinal }, pass);
  await settleFailed(context, { row, failure, isForbidden }, pass);
}

async function settleConfirmed(
  context: ConfirmContext,
  row: BatchRow,
  outcome: Outcome & { verdict: "confirmed" },
  pass: PullPass,
): Promise<void> {
  const { clock, log } = context;
  const at = isoTime(clock.nowMs());
  pass.confirmsFailed = 0;
  const { breaker, refused, unknown } = context.state;
  breaker.noteAccepted();
  const { usual, excess } = outcome;
  if (usual !== undefined && row.state !== "confirmed") refused.noteOtherAccepted(row.id);
  if (excess !== undefined)
    log.warn({ batch: row.batchId }, m.orders.confirmedMore({ size: row.orderCount, ...excess }));
  // The service no longer has the batch, so the new form of the earlier answer was an acceptance.
  const proved = usual === undefined ? unknown.unusualOf(row.id) : undefined;
  context.state.forget(row.id);
  const late = await findLate(context, row, pass.signal);
  const again = context.again.noteConfirmed(row, pass);
  const confirmed = await context.state.commit(pass.signal, () => {
    context.late.save(late, at);
    context.again.save();
    if (proved !== undefined) context.forms.saveProof(proved, true);
    return saveConfirmed(context, row, outcome, at);
  });
  count(pass, "confirmed", confirmed);
  if (again?.times === SERVED_AGAIN_MAX) log.warn({ batch: row.batchId, times: again.times }, m.orders.servedAgain);
  if (again?.isLong === true)
    pass.failure ??= new BridgeError("answer_unknown", m.orders.servedAgain, { hint: m.orders.servedAgainHint });
}

/** Inside the transaction. Returns how many rows have become confirmed. */
function saveConfirmed(
  context: ConfirmContext,
  row: BatchRow,
  { usual, counts, excess }: Outcome & { verdict: "confirmed" },
  at: string,
): number {
  const { store } = context;
  const by = { account: context.account, at };
  const news = confirmNames(context.form) ? Number(markConfirmed(store, row, by)) : markAllConfirmed(store, by);
  if (confirmNamesOrders(context.form, row.batchId)) markCoveredConfirmed(store, row.orderIds ?? "[]", by);
  if (usual !== undefined) context.forms.saveUsual(usual, { endsDoubt: true, isRepeat: news === 0 });
  if (counts !== undefined) context.forms.saveCounts((known) => learnCounts(known, counts, countIds(row)));
  if (excess !== undefined) saveLarger(store, { at, batch: row.batchId, came: row.orderCount, counted: excess.count });
  return news;
}

async function settleRefused(
  context: ConfirmContext,
  { row, failure, isFinal }: FailedConfirm & { isFinal: boolean },
  pass: PullPass,
): Promise<void> {
  context.state.unknown.noteRefused(row.id);
  if (failure.text === m.orders.unnamedBatch) await context.state.unnamed.count(row, pass.signal);
  const { store } = context;
  const isNews = await context.state.commit(pass.signal, () =>
    markConfirmRefused(store, row, textOf(context, failure)),
  );
  count(pass, "refused", Number(isNews));
  if (isFinal) pass.confirmsFailed += 1;
}

/** @throws the failure, where it ends the pull */
async function settleFailed(
  context: ConfirmContext,
  { row, failure, isForbidden }: FailedConfirm & { isForbidden: boolean },
  pass: PullPass,
): Promise<void> {
  const { waits } = context.state;
  const { isAnswered } = pass;
  // Pulls are answered in this pass, so the service is reachable: the failure concerns this batch.
  const unreached = isAnswered && failure.code === "unreachable" ? waits.countUnreached(row) : 0;
  const isOfOne = isFailureOfOne(failure, { isAnswered, unreached, attempts: row.confirmAttempts });
  if (isOfOne) waits.begin(row, askedWaitMs(failure));
  await saveFailed(context, { row, failure }, mayHaveReached(failure), pass);
  if (isForbidden || isOfOne || unreached > 0) {
    pass.confirmsFailed += 1;
    return;
  }
  if (endsPull(failure)) throw failure;
  pass.confirmFailure ??= failure;
  pass.confirmsFailed += failure.code === "timed_out" ? FAILURES_IN_ROW_MAX : 1;
}

async function saveFailed(
  context: ConfirmContext,
  { row, failure }: FailedConfirm,
  reached: boolean,
  pass: PullPass,
): Promise<void> {
  const { store } = context;
  await context.state.commit(pass.signal, () =>
    markConfirmFailed(store, row.id, { error: textOf(context, failure), reached }),
  );
}

function textOf(context: ConfirmContext, { text }: BridgeError): Message {
  return withTexts(text, context.client.hideSecrets);
}

/** Orders to read again, of every batch that the confirm covers: one that names nothing covers all that are due or refused. */
async function findLate(context: ConfirmContext, row: BatchRow, signal: AbortSignal): Promise<string[]> {
  const { store, account } = context;
  const isNamed = confirmNames(context.form);
  const of = { account, limit: CONFIRMS_PER_PASS };
  const others = isNamed
    ? loadOthersOf(store, row, account)
    : [...loadUnconfirmed(store, of), ...loadRefusedConfirms(store, of)];
  const late: string[] = [];
  for (const each of [row, ...others.filter(({ id }) => id !== row.id)])
    if (!context.again.has(each.id)) late.push(...(await context.late.find(each, signal)));
  return isNamed ? [...new Set([...late, ...others.flatMap((each) => context.late.listLeft(each, row))])] : late;
}
