/* What the shop's database knows of its mirror. SQL, because it is read in every pass and written in transactions of others. */
import type { Store } from "../database/store.ts";

/**
 * `up_no`: the round of the ERP's rows that was applied last. `up`: the tables that such rows have ever come to. `refused_rows`:
 * how many of them stand refused, by table.
 */
export type MirrorStateKey = "up_no" | "up" | "refused_rows";

export function loadMirrorState(store: Store, key: MirrorStateKey): string | undefined {
  return store.prepare<{ value: string }>("SELECT value FROM mirror_state WHERE key = ?").get(key)?.value;
}

/** The same value again is no write. */
export function saveMirrorState(store: Store, key: MirrorStateKey, value: string): void {
  store
    .prepare(
      `INSERT INTO mirror_state (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
    )
    .run(key, value);
}
