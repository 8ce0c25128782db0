import type { Store } from "../database/store.ts";
import { acceptFresh } from "../service/answer-form.ts";
import { FORMS } from "./answer-forms.ts";

/** The endpoints among these whose new form of answer is not accepted yet. */
export function listUnaccepted(store: Store, endpoints: readonly string[]): string[] {
  return endpoints.filter((endpoint) => FORMS.load(store, endpoint).fresh.length > 0);
}

/** Accepts what these endpoints answer now, on a person's word. */
export function acceptForms(store: Store, endpoints: readonly string[]): void {
  for (const endpoint of listUnaccepted(store, endpoints))
    FORMS.save(store, endpoint, acceptFresh(FORMS.load(store, endpoint)));
}
