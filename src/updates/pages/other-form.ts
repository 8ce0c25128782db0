/*
 * What empty answers and requests by time have shown of a position whose form the service no longer uses. It is kept for
 * the next process: where each pass is one, nothing would last long enough to be reported.
 */
import { loadMetaJson, saveMetaJson } from "../../database/meta.ts";
import type { Store } from "../../database/store.ts";
import { commit } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";

interface OtherForm {
  /** Since when empty answers name a token of another form than the position's, from the machine's start. */
  sinceMs?: number | undefined;
  /** Requests by time that the service refused, in a row. */
  refusedLooks: number;
}

export function loadOtherForm(store: Store): OtherForm {
  return loadMetaJson<OtherForm>(store, "other_form") ?? { refusedLooks: 0 };
}

/** Writes only what is new. */
export async function noteOtherForm(
  context: JobContext,
  change: Partial<OtherForm>,
  signal: AbortSignal,
): Promise<OtherForm> {
  const { store } = context;
  const known = loadOtherForm(store);
  const form = { ...known, ...change };
  if (form.sinceMs !== known.sinceMs || form.refusedLooks !== known.refusedLooks)
    await commit(context, signal, () => saveMetaJson(store, "other_form", form));
  return form;
}
