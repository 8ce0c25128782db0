import type { Store } from "../database/store.ts";
import { acceptFresh } from "../service/answer-form.ts";
import { FORMS } from "./answer-forms.ts";

/** Those of these endpoints that have answered in a form which no person has accepted. */
export function listUnaccepted(store: Store, endpoints: readonly string[]): string[] {
  return endpoints.filter((endpoint) => FORMS.load(store, endpoint).fresh.length > 0);
}

/** A person says that what these endpoints answer now is right. */
export function acceptForms(store: Store, endpoints: readonly string[]): void {
  for (const endpoint of listUnaccepted(store, endpoints))
    FORMS.save(store, endpoint, acceptFresh(FORMS.load(store, endpoint)));
}
