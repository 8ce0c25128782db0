/* Small facts that outlive the process: the account, the mapping in use, what was learned about the service. */
import type { Store } from "./store.ts";

export type MetaKey = "account" | "mapping" | "updates_boundary" | "updates_page_max" | "stamp_form";

export function loadMeta(store: Store, key: MetaKey): string | undefined {
  return (store.prepare("SELECT value FROM meta WHERE key = ?").get(key) as { value: string } | undefined)?.value;
}

/** The same value again is no write. */
export function saveMeta(store: Store, key: MetaKey, value: string): void {
  store
    .prepare(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
    )
    .run(key, value);
}
