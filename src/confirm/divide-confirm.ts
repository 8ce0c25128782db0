/* Confirms what it can of a refused confirm, as `plan-division.ts` divides it. */

import type { BatchRow } from "../batches/batch-rows.ts";
import type { PullPass } from "../batches/pull-pass.ts";
import { commit } from "../pass/commit.ts";
import { isoTime } from "../platform/ports.ts";
import { countIds, listOf, literalsOf } from "./batch-ids.ts";
import type { ConfirmContext } from "./confirm-context.ts";
import { confirmNamesOrders } from "./confirm-form.ts";
import { loadRefusedAlone, saveAcceptedPart, saveUnconfirmedIds } from "./division-rows.ts";
import {
  DIVIDED_MAX,
  type Division,
  divideRefused,
  nextPart,
  type Progress,
  refusesAll,
  resumeDivision,
  settleAccepted,
} from "./plan-division.ts";
import { isOfOrders, type Outcome, tooLargeOf } from "./plan-outcome.ts";
import { sendConfirm } from "./send-confirm.ts";

/** What became of a batch: `row` names what was confirmed, or else what is left of it. */
export interface Sent {
  row: BatchRow;
  outcome: Outcome;
  wasTried: boolean;
  /** Of a divided batch that is not confirmed: the part that is. */
  accepted?: BatchRow;
}

interface Divided {
  /** The whole batch. */
  named: BatchRow;
  /** What is left of it. */
  row: BatchRow;
  wasTried: boolean;
  /** Of the part that was refused; undefined where an earlier pass has begun the division. */
  outcome?: Outcome;
}

export function mayDivide(context: ConfirmContext, { batchId }: BatchRow, pass: PullPass): boolean {
  return context.state.vainIn !== pass && confirmNamesOrders(context.form, batchId);
}

/** What is left of a division that was broken off. */
export function resumeDivided(context: ConfirmContext, { id, orderIds }: BatchRow): Division | undefined {
  const division = context.state.divisions.get(id);
  return division === undefined ? undefined : resumeDivision(division, literalsOf(orderIds));
}

/**
 * A division that is broken off goes on in the next pass: a service may take few requests in each. Returns undefined then.
 */
export async function divideConfirm(
  context: ConfirmContext,
  batch: Divided,
  division: Division,
  pass: PullPass,
): Promise<Sent | undefined> {
  const { row, wasTried } = batch;
  const progress = begin(batch, division);
  let last = batch.outcome;
  for (let requests = 0; ; requests += 1) {
    const some = nextPart(progress, last !== undefined);
    if (some === undefined) break;
    if (requests >= DIVIDED_MAX || context.isStopping()) return await breakOff(context, batch, progress, pass.signal);
    if (last !== undefined && refusesAll(progress)) {
      context.state.vainIn = pass;
      progress.waiting.length = 0;
      break;
    }
    const part = { ...row, orderIds: listOf(some) };
    const outcome = await sendConfirm(context, { row: part, wasTried }, pass.signal);
    if (outcome.verdict === "confirmed") {
      settleAccepted(progress, some);
      await savePart(context, part, { rest: listOf(progress.left), begun: true }, pass);
      continue;
    }
    if (!isOfOrders(outcome, row, pass) && tooLargeOf(outcome) === undefined)
      return end(context, batch, progress, outcome);
    divideRefused(progress, some);
    if (some.length === 1) last = outcome;
  }
  return end(context, batch, progress, progress.left.size > 0 && last !== undefined ? last : { verdict: "confirmed" });
}

/** The batch without orders that were refused alone before: their own confirms are sent again. */
export async function withoutRefused(context: ConfirmContext, row: BatchRow, signal: AbortSignal): Promise<BatchRow> {
  if (row.state !== "stored" || !confirmNamesOrders(context.form, row.batchId)) return row;
  const refused = new Set(loadRefusedAlone(context.store, row, context.account));
  if (refused.size === 0) return row;
  const ids = literalsOf(row.orderIds);
  const others = ids.filter((id) => !refused.has(id));
  if (others.length === 0 || others.length === ids.length) return row;
  const rest = listOf(others);
  await saveLeft(context, row, { rest, begun: row.confirmAttempts > 0 }, signal);
  return { ...row, orderIds: rest };
}

/** Commits an accepted part, before anything else is sent. */
export async function savePart(
  context: ConfirmContext,
  part: BatchRow,
  left: { rest: string; begun: boolean },
  pass: PullPass,
): Promise<void> {
  const { store, clock } = context;
  pass.confirmsFailed = 0;
  const by = { account: context.account, at: isoTime(clock.nowMs()) };
  await commit(context, pass.signal, () => {
    saveAcceptedPart(store, part, left, by);
    context.state.save();
  });
}

function begin({ row, outcome }: Divided, { waiting, alone }: Division): Progress {
  // What an earlier pass was told counts towards "the service refuses all" only while it has accepted none of the batch.
  const uncounted = outcome === undefined && countIds(row) < row.orderCount ? alone.length : 0;
  return { waiting, alone, left: new Set(literalsOf(row.orderIds)), accepted: new Set(), uncounted };
}

function end(context: ConfirmContext, { named, row, wasTried }: Divided, progress: Progress, outcome: Outcome): Sent {
  context.state.divisions.set(row.id, progress);
  const { left, accepted } = progress;
  return {
    row: outcome.verdict === "confirmed" ? named : { ...row, orderIds: listOf(left) },
    outcome,
    wasTried,
    ...(accepted.size > 0 && { accepted: { ...row, orderIds: listOf(accepted) } }),
  };
}

async function breakOff(
  context: ConfirmContext,
  { row, wasTried }: Divided,
  progress: Progress,
  signal: AbortSignal,
): Promise<undefined> {
  context.state.divisions.set(row.id, progress);
  await saveLeft(context, row, { rest: listOf(progress.left), begun: wasTried }, signal);
}

async function saveLeft(
  context: ConfirmContext,
  { id }: BatchRow,
  left: { rest: string; begun: boolean },
  signal: AbortSignal,
): Promise<void> {
  await commit(context, signal, () => {
    saveUnconfirmedIds(context.store, id, left);
    context.state.save();
  });
}
