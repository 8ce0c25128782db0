/*
 * The usual forms of the answers to POSTs, by endpoint. Written in the transaction that settles the request; after a crash
 * before it the request goes again and its answer is read anew.
 */

import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import {
  acceptFresh,
  describeForm,
  type LearnedForms,
  listAdopted,
  markSeen,
  NOTHING_LEARNED,
} from "../service/answer-form.ts";

/** More than the paths of one configuration; those of former ones go first. */
const ENDPOINTS_MAX = 12;

export function loadForms(store: Store, endpoint: string): LearnedForms {
  return loadAll(store)[endpoint] ?? NOTHING_LEARNED;
}

export function saveForms(store: Store, endpoint: string, learned: LearnedForms): void {
  const { [endpoint]: _, ...others } = loadAll(store);
  const entries = [...Object.entries(others), [endpoint, learned] as const].slice(-ENDPOINTS_MAX);
  saveMeta(store, "answers", JSON.stringify(Object.fromEntries(entries)));
}

/** Those of these endpoints that have answered in a form which nobody has accepted. */
export function listUnaccepted(store: Store, endpoints: readonly string[]): string[] {
  return endpoints.filter((endpoint) => loadForms(store, endpoint).fresh.length > 0);
}

/** A person says that what these endpoints answer now is right. */
export function acceptForms(store: Store, endpoints: readonly string[]): void {
  for (const endpoint of listUnaccepted(store, endpoints))
    saveForms(store, endpoint, acceptFresh(loadForms(store, endpoint)));
}

/** Forms that count as acceptances for nothing but their time, and that nobody has looked at since. */
export function listAdoptedForms(store: Store): { endpoint: string; form: string; at: string }[] {
  return Object.entries(loadAll(store)).flatMap(([endpoint, learned]) =>
    listAdopted(learned).map(({ form, at }) => ({ endpoint, form: describeForm(form), at })),
  );
}

/** A person has looked at {@link listAdoptedForms}. */
export function markFormsSeen(store: Store): void {
  for (const { endpoint } of listAdoptedForms(store)) saveForms(store, endpoint, markSeen(loadForms(store, endpoint)));
}

/** Another account: nothing is known of what answers there. */
export function forgetForms(store: Store): void {
  deleteMeta(store, "answers");
}

/** What cannot be read was not learned. */
function loadAll(store: Store): Record<string, LearnedForms> {
  try {
    return JSON.parse(loadMeta(store, "answers") ?? "{}") as Record<string, LearnedForms>;
  } catch {
    return {};
  }
}
