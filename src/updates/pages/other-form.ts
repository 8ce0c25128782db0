/*
 * What empty answers and requests by time have shown of a position whose form the service no longer uses. It is kept for
 * the next process: where each pass is one, nothing would last long enough to be reported.
 */
import { MetaValue } from "../../database/meta.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";

interface OtherForm {
  /** Since when empty answers name a token of another form than the position's, from the machine's start. */
  sinceMs?: number | undefined;
  /** Requests by time that the service refused, in a row. */
  refusedLooks: number;
}

export const OTHER_FORM = new MetaValue<OtherForm>("other_form", { refusedLooks: 0 });

/** Writes only what is new. */
export async function noteOtherForm(
  context: JobContext,
  change: Partial<OtherForm>,
  signal: AbortSignal,
): Promise<OtherForm> {
  const { store } = context;
  const known = OTHER_FORM.load(store);
  const form = { ...known, ...change };
  if (form.sinceMs !== known.sinceMs || form.refusedLooks !== known.refusedLooks)
    await commit(context, signal, () => OTHER_FORM.save(store, form));
  return form;
}
