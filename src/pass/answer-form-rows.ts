/*
 * The usual forms of the answers to POSTs, by endpoint. Written in the transaction that settles the request; after a crash
 * before it the request goes again and its answer is read anew.
 */

import type { Store } from "../database/store.ts";
import { describeForm, type LearnedForms, listAdopted, markSeen, NOTHING_LEARNED } from "../service/known-forms.ts";
import { LearnedTopic } from "./learned-rows.ts";

export const FORMS = new LearnedTopic<LearnedForms>("forms", NOTHING_LEARNED);

/** Forms that count as acceptances for nothing but their time, and that nobody has looked at since. */
export function listAdoptedForms(store: Store): { endpoint: string; form: string; at: string }[] {
  return FORMS.list(store).flatMap(({ endpoint, learned }) =>
    listAdopted(learned).map(({ form, at }) => ({ endpoint, form: describeForm(form), at })),
  );
}

/** A person has looked at {@link listAdoptedForms}. */
export function markFormsSeen(store: Store): void {
  for (const { endpoint } of listAdoptedForms(store))
    FORMS.save(store, endpoint, markSeen(FORMS.load(store, endpoint)));
}
