import type { Store } from "../database/store.ts";
import { plainName } from "../messages/inert-text.ts";
import { describeForm } from "../service/outcome/known-forms.ts";
import { acceptFresh } from "../service/outcome/usual-forms.ts";
import { isUnusuallySaid } from "../service/outcome/usual-reports.ts";
import { FORMS } from "./answer-forms.ts";

/** The new forms of answers that are not accepted yet at these endpoints, each with its endpoint, for a person. */
export function listUnaccepted(store: Store, endpoints: readonly string[]): string[] {
  return endpoints.flatMap((endpoint) => {
    const { fresh, records } = FORMS.load(store, endpoint);
    return fresh.map((form) => {
      const unusual = (form.said ?? []).filter((word) => isUnusuallySaid(records, [word]));
      return [endpoint, describeForm(form), ...unusual].map(plainName).join(" ");
    });
  });
}

/** Accepts what these endpoints answer now, on a person's word. */
export function acceptForms(store: Store, endpoints: readonly string[]): void {
  for (const endpoint of endpoints) FORMS.change(store, endpoint, acceptFresh);
}
