/* Sends one confirm. `send-parts.ts` decides what it names, `confirm-batches.ts` whether it is due. */

import type { BatchRow } from "../batches/batch-rows.ts";
import { asError } from "../platform/errors.ts";
import { confirmBatch, turnOfConfirm } from "../service/orders.ts";
import { ServiceError } from "../service/service-error.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { renderConfirm } from "./confirm-form.ts";
import { judgeConfirm } from "./judge-confirm.ts";
import { classifyConfirmFailure, isOwnRefusal, type Outcome } from "./plan-outcome.ts";

/** @param batch.wasTried an earlier confirm of the batch may have been accepted */
export async function sendConfirm(
  context: ConfirmContext,
  { row, wasTried }: { row: BatchRow; wasTried: boolean },
  signal: AbortSignal,
): Promise<Outcome> {
  const { client, store, form } = context;
  let body: string;
  try {
    body = renderConfirm(form, { batchId: row.batchId, orderIds: row.orderIds ?? "[]" });
  } catch (error) {
    // The batch lacks what the form needs, and a retry would not change that.
    return { verdict: "refused", failure: asError(error), isSaid: false };
  }
  const turn = await turnOfConfirm(client, signal);
  // The order matters, because the service drops what is confirmed:
  // 1. The orders and this attempt are committed (`ConfirmBatches.confirm`).
  // 2. The database file is flushed, so that they survive a power cut and a lost WAL.
  // 3. The confirm is sent.
  store.secure();
  try {
    const answer = await confirmBatch(client, body, signal, turn);
    return await judgeConfirm(context, { row, wasTried }, answer, signal);
  } catch (error) {
    const failure = asError(error);
    if (failure.code === "stopped") throw failure;
    // Other errors are our own: the confirm cannot be sent, and a retry would not change that.
    const verdict = failure instanceof ServiceError ? classifyConfirmFailure(failure, wasTried) : "refused";
    return verdict === "confirmed" ? { verdict } : { verdict, failure, isSaid: isOwnRefusal(failure) };
  }
}
