/* SQL, because every pass reads and writes some of these values. */
import type { Row } from "./row.ts";
import type { meta } from "./schema.ts";
import type { Store } from "./store.ts";

export type MetaKey =
  | "account"
  | "mapping"
  | "observed"
  | "reconcile"
  | "alerts"
  | "page"
  | "clock"
  | "database"
  | "credentials"
  | "credential"
  | "objects"
  | "tie"
  | "cut"
  | "confirms"
  | "larger_confirms"
  | "open_confirm"
  | "unnamed"
  | "reused_name"
  | "served_again"
  | "repeated_batches"
  | "read_pages"
  | "anchors"
  | "history"
  | "set_back"
  | "ahead"
  | "called_cancelled"
  | "elsewhere"
  | "accounts"
  | "backfill"
  | "mirror_on"
  | "look_back"
  | "orders_read"
  | "revision_floor"
  | "unanswered"
  | "journal_mark"
  | "journal_folder"
  | "copies"
  | "copy_names"
  | "timeline"
  | "unlisted_changes"
  | "held_read"
  | "empty_held"
  | "unnamed_read"
  | "unreadable"
  | "looked_by_time"
  | "position_before"
  | "other_form"
  | "replaced_orders"
  | "failed_requests"
  | "feed_tables"
  | "guard_shown"
  | "told"
  | "planned"
  | "sweep_wanted"
  | "wide_failed"
  | "refused_probes"
  | "waiting_statuses"
  | "updates_turn"
  | "updates_unjudged"
  | RestKey;

/** Where reading the list of changes continues: for the regular pass, and for the wide re-poll. */
export type RestKey = "updates_rest" | "sweep_rest";

export function loadMeta(store: Store, key: MetaKey): string | undefined {
  return store.prepare<Pick<Row<typeof meta>, "value">>("SELECT value FROM meta WHERE key = ?").get(key)?.value;
}

/** Does not write where the value is unchanged. */
export function saveMeta(store: Store, key: MetaKey, value: string): void {
  store
    .prepare(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
    )
    .run(key, value);
}

/** The value that {@link saveMetaJson} stored under this key. */
export function loadMetaJson<Value>(store: Store, key: MetaKey): Value | undefined {
  const text = loadMeta(store, key);
  return text === undefined ? undefined : (JSON.parse(text) as Value);
}

export function saveMetaJson(store: Store, key: MetaKey, value: unknown): void {
  saveMeta(store, key, JSON.stringify(value));
}

export function deleteMeta(store: Store, key: MetaKey): void {
  store.prepare("DELETE FROM meta WHERE key = ?").run(key);
}
