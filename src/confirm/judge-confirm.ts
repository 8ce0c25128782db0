/* What an answer with status 2xx to a confirm means: its form, the orders that it names, and what it counts. */

import type { BatchRow } from "../batches/batch-rows.ts";
import { m } from "../messages/messages.ts";
import { unknownForm } from "../pass/answer-forms.ts";
import { commit } from "../pass/commit.ts";
import { BridgeError } from "../platform/errors.ts";
import type { ServiceAnswer } from "../service/client.ts";
import { type Accepted, readAcceptance, UNREADABLE_WORDS } from "../service/outcome/acceptance.ts";
import {
  type AnswerCounts,
  type CountedOtherwise,
  findExcessCount,
  findShortCount,
  readCounts,
} from "../service/outcome/answer-counts.ts";
import { countIds } from "./batch-ids.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { confirmNames } from "./confirm-form.ts";
import { loadOthersOf } from "./due-rows.ts";
import type { Outcome } from "./plan-outcome.ts";

interface Asked {
  row: BatchRow;
  wasTried: boolean;
}

export async function judgeConfirm(
  context: ConfirmContext,
  asked: Asked,
  answer: ServiceAnswer,
  signal: AbortSignal,
): Promise<Outcome> {
  const acceptance = readAcceptance(answer);
  if (acceptance.kind === "accepted") return await judgeAccepted(context, asked, { answer, acceptance }, signal);
  if (acceptance.kind === "error") {
    const words = m.orders.confirmRefused({ words: acceptance.words });
    return { verdict: "refused", failure: new BridgeError("request_refused", words), isSaid: true };
  }
  const words = m.orders.confirmAnsweredWith({ what: UNREADABLE_WORDS[acceptance.kind] });
  return { verdict: "retry", failure: new BridgeError("answer_unreadable", words), isSaid: false };
}

async function judgeAccepted(
  context: ConfirmContext,
  { row, wasTried }: Asked,
  { answer, acceptance }: { answer: ServiceAnswer; acceptance: Accepted },
  signal: AbortSignal,
): Promise<Outcome> {
  const { root } = acceptance.answer;
  const named = root === undefined ? 0 : await context.named.readUnknown(answer, root, signal);
  const { short, ...taught } = findShort(context, { row, wasTried, named }, readCounts(acceptance.answer));
  if (short !== undefined) return short;
  const judged = context.forms.judge(acceptance);
  const { form } = judged;
  if (!judged.isUnusual) return { verdict: "confirmed", usual: form, ...taught };
  if (await commit(context, signal, () => context.forms.saveUnusual(form).isUsual)) return { verdict: "confirmed" };
  const failure = new BridgeError("answer_unknown", unknownForm("POST", "/orders/confirm", judged));
  return { verdict: "retry", failure, isSaid: false, because: { form } };
}

/**
 * Finds a count below the size of the batch that equalled the size of earlier ones. A repeat may count only what is
 * new, so nothing is learned from its counts, nor from those of a name that several batches share or of a batch with
 * orders beside its list.
 */
function findShort(
  context: ConfirmContext,
  { row, wasTried, named }: Asked & { named: number },
  counts: AnswerCounts,
): { short?: Outcome; counts?: AnswerCounts; excess?: CountedOtherwise | undefined } {
  const { unknown } = context.state;
  if (row.state !== "stored" || (wasTried && !unknown.isShort(row.id)) || !unknown.mayHave(row)) return {};
  const size = countIds(row);
  const short = findShortCount(context.forms.counts, counts, { size, isPart: true, needs: "two sizes" });
  if (short !== undefined) {
    const words = m.orders.confirmCounted({ size, name: short.name, count: short.count });
    const failure = new BridgeError("answer_unknown", words);
    return { short: { verdict: "retry", failure, isSaid: false, because: { count: short.name } } };
  }
  if (wasTried) return {};
  const others = row.batchId === null ? [] : loadOthersOf(context.store, row, context.account);
  const excess = findExcess(context, { rows: [row, ...others], named }, counts);
  return others.length + context.state.ordersBesideOf(row.id) > 0 ? { excess } : { counts, excess };
}

/**
 * A count above the batch's size: a confirm of one batch then confirmed records that were not delivered. Those that the
 * answer names are read by their ids. The confirm of a name that several batches share covers them all.
 */
function findExcess(
  context: ConfirmContext,
  { rows, named }: { rows: readonly BatchRow[]; named: number },
  counts: AnswerCounts,
): CountedOtherwise | undefined {
  if (!confirmNames(context.form)) return undefined;
  const came = rows.reduce(
    (sum, each) => sum + Math.max(each.orderCount, countIds(each)) + context.state.ordersBesideOf(each.id),
    0,
  );
  return findExcessCount(context.forms.counts, counts, Math.max(came, named));
}
