/*
 * Sends the confirm of one batch, in parts where it names more orders than the service accepts at once, or where the service
 * refuses some of them. An accepted part is committed before the next one is sent: `order_ids` holds what is still to be
 * confirmed, so that after a crash the remaining ids are confirmed again.
 */

import type { BatchRow } from "../batches/batch-rows.ts";
import type { PullPass } from "../batches/pull-pass.ts";
import { m } from "../messages/messages.ts";
import { countIds, listOf, literalsOf } from "./batch-ids.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { confirmNamesOrders } from "./confirm-form.ts";
import { divideConfirm, mayDivide, resumeDivided, type Sent, savePart, withoutRefused } from "./divide-confirm.ts";
import { beginDivision } from "./plan-division.ts";
import { isOfOrders, tooLargeOf } from "./plan-outcome.ts";
import { sendConfirm } from "./send-confirm.ts";

/** Limit of parts per pass; the rest of the batch waits for the next one. */
const PARTS_PER_PASS = 500;

/** What one request confirms of a batch. */
interface Part {
  row: BatchRow;
  /** The ids after it. */
  rest?: string;
}

/**
 * Returns the batch and the outcome of the last part; undefined where parts are left for the next pass.
 * @param batch.isAgain it was refused before and is served again, as at each poll: it is not divided
 */
export async function sendParts(
  context: ConfirmContext,
  { row, wasTried, isAgain }: { row: BatchRow; wasTried: boolean; isAgain: boolean },
  pass: PullPass,
): Promise<Sent | undefined> {
  const named = await withoutRefused(context, row, pass.signal);
  const isDivisible = !isAgain && mayDivide(context, row, pass);
  const begun = isDivisible ? resumeDivided(context, named) : undefined;
  if (begun !== undefined) return await divideConfirm(context, { named, row: named, wasTried }, begun, pass);
  let [left, isRepeat] = [named, wasTried];
  while (pass.parts < PARTS_PER_PASS) {
    const part = partOf(context, left);
    const outcome = await sendConfirm(context, { row: part.row, wasTried: isRepeat }, pass.signal);
    const sent = { row: left, outcome, wasTried: isRepeat };
    const large = tooLargeOf(outcome);
    if (large !== undefined) {
      if (lowerLimit(context, part.row)) continue;
      return { ...sent, outcome: { verdict: "retry", failure: large, isSaid: true } };
    }
    if (isDivisible && countIds(left) > 1 && isOfOrders(outcome, row, pass)) {
      const division = beginDivision(literalsOf(part.row.orderIds), literalsOf(part.rest ?? null));
      return await divideConfirm(context, { ...sent, named }, division, pass);
    }
    if (outcome.verdict !== "confirmed") return sent;
    // The last part counts itself only.
    const { counts: _ofPart, ...confirmed } = outcome;
    if (part.rest === undefined) return { ...sent, row: named, outcome: left === named ? outcome : confirmed };
    pass.parts += 1;
    const isLater = pass.parts >= PARTS_PER_PASS || context.isStopping();
    await savePart(context, part.row, { rest: part.rest, begun: !isLater }, pass);
    if (isLater) break;
    left = { ...left, orderIds: part.rest };
    isRepeat = row.state === "confirmed";
  }
  return undefined;
}

/** The next part, within the service's limit. */
function partOf(context: ConfirmContext, row: BatchRow): Part {
  const { size } = context.state.idLimit;
  if (size === undefined || !confirmNamesOrders(context.form, row.batchId) || countIds(row) <= size) return { row };
  const ids = literalsOf(row.orderIds);
  return { row: { ...row, orderIds: listOf(ids.slice(0, size)) }, rest: listOf(ids.slice(size)) };
}

/** A part was too large. Returns whether it can be sent in smaller ones. */
function lowerLimit(context: ConfirmContext, part: BatchRow): boolean {
  const { idLimit } = context.state;
  const size = countIds(part);
  if (size === 1) idLimit.size = undefined;
  if (size === 1 || !confirmNamesOrders(context.form, part.batchId)) return false;
  const smaller = Math.ceil(size / 2);
  idLimit.size = smaller;
  context.log.info({ ids: smaller }, m.orders.confirmDivided({ size: smaller }));
  return true;
}
