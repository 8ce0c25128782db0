/*
 * Confirms that the service has refused: each is retried every hour, and some count as confirmed by what the service answers
 * then. All others wait for a person (`settle-confirms.ts`).
 */

import type { BatchRow } from "../batches/batch-rows.ts";
import { count, isAnsweredWhole, type PullPass } from "../batches/pull-pass.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { FAILURES_IN_ROW_MAX } from "../pass/breaker.ts";
import { isoTime } from "../platform/ports.ts";
import { countIds, idsOf } from "./batch-ids.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { confirmNames, confirmNamesOrders } from "./confirm-form.ts";
import { loadRefusedConfirms, REFUSED_TRIES_MAX } from "./due-rows.ts";
import { markRefusedConfirmed } from "./outcome-rows.ts";
import { isOfBatch, type Outcome, saysNone } from "./plan-outcome.ts";
import { isRepeat, REPEAT_RETRIES } from "./plan-repeat.ts";
import { hasQuarantined, loadNamedOrders } from "./repeat-rows.ts";
import { isNameShared, loadNameUse } from "./reused-names.ts";

/** Refused confirms retried in one round. */
const REFUSED_PER_PASS = 20;

/** @param confirm sends the confirm once more and commits its outcome */
export async function retryRefused(
  context: ConfirmContext,
  pass: PullPass,
  confirm: (row: BatchRow) => Promise<Outcome | undefined>,
): Promise<void> {
  const { state } = context;
  // One of them may be the probe after several refusals in a row.
  const failedMax = state.breaker.forbidden === "probe" ? FAILURES_IN_ROW_MAX - 1 : 0;
  if (pass.confirmsFailed > failedMax || !state.refused.areDue) return;
  const limit = confirmNames(context.form) ? REFUSED_PER_PASS : 1;
  const options = { account: context.account, limit, held: context.lost.held };
  const refused = loadRefusedConfirms(context.store, options);
  state.refused.begin(refused.length > 0);
  if (refused.length > 0) await state.commit(pass.signal, () => {});
  for (const row of refused) {
    await context.clock.sleep(0, pass.signal);
    const isCounted = state.refused.isGone(row.id);
    if (row.confirmAttempts >= REFUSED_TRIES_MAX && !isCounted && !isRepeatOf(context, row)) continue;
    const outcome = await confirm(row);
    if (!isOfBatch(outcome) || !isAnsweredWhole(pass)) continue;
    if (isRepeatOf(context, row)) {
      // Such as the answer of a service that was out of order, which is refused for good and never served again.
      const isOver = state.refused.countRepeat(row.id) >= REPEAT_RETRIES;
      await endRefused(context, row, { isOver, readsLate: false, text: m.orders.repeatCountsAsConfirmed }, pass);
    } else if (isGone(context, row, outcome)) {
      // A service that was out of order may have carried out the confirm that it refused.
      const isOver = state.refused.countGone(row.id);
      await endRefused(context, row, { isOver, readsLate: true, text: m.orders.goneCountsAsConfirmed }, pass);
    } else state.refused.endGone(row.id);
  }
}

/** Whether the service answers that it has no batch of this name, and the name is that of this batch alone. */
function isGone(context: ConfirmContext, { batchId }: BatchRow, outcome: Outcome | undefined): boolean {
  if (!saysNone(outcome) || !confirmNames(context.form)) return false;
  if (batchId === null || confirmNamesOrders(context.form, batchId)) return false;
  return !isNameShared(loadNameUse(context.store));
}

/** Where `isOver`, the refused batch counts as confirmed; the refusal stays in the row. */
async function endRefused(
  context: ConfirmContext,
  row: BatchRow,
  { isOver, readsLate, text }: { isOver: boolean; readsLate: boolean; text: Message },
  pass: PullPass,
): Promise<void> {
  const { store, clock, log, state } = context;
  const late = isOver && readsLate ? await context.late.find(row, pass.signal) : [];
  if (isOver) state.forget(row.id);
  await state.commit(pass.signal, () => {
    if (!isOver) return;
    const at = isoTime(clock.nowMs());
    context.late.save(late, at);
    markRefusedConfirmed(store, row.id, at);
  });
  if (!isOver) return;
  count(pass, "confirmed", 1);
  log.warn({ batch: row.batchId }, text);
}

function isRepeatOf(context: ConfirmContext, row: BatchRow): boolean {
  const { store } = context;
  const ids = idsOf(row);
  if (ids.length < countIds(row)) return false;
  const named = { id: row.id, orderIds: JSON.stringify(ids), account: context.account };
  return isRepeat(loadNamedOrders(store, named), hasQuarantined(store, row));
}
