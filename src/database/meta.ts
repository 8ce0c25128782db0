/* SQL, because every pass reads and writes some of these values. */
import type { Row } from "./row.ts";
import type { meta } from "./schema.ts";
import type { Store } from "./store.ts";

export type MetaKey = TextKey | JsonKey;

/** Keys of plain text. */
export type TextKey =
  | "account"
  | "database"
  | "credentials"
  | "timeline"
  | "revision_floor"
  | "unreadable"
  | "sweep_wanted"
  | "orders_read"
  | "mirror_on"
  | "copies"
  | "journal_folder"
  | "held_read"
  | "unnamed_read"
  | "looked_by_time";

/** Keys of JSON, each of one {@link MetaValue}. */
type JsonKey =
  | "mapping"
  | "observed"
  | "reconcile"
  | "alerts"
  | "page"
  | "clock"
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
  | "orders_behind"
  | "look_back"
  | "unanswered"
  | "journal_mark"
  | "copy_names"
  | "unlisted_changes"
  | "empty_held"
  | "position_before"
  | "other_form"
  | "replaced_orders"
  | "failed_requests"
  | "lacking_changes"
  | "feed_tables"
  | "guard_shown"
  | "told"
  | "planned"
  | "wide_failed"
  | "refused_probes"
  | "waiting_statuses"
  | "read_budget"
  | "updates_turn"
  | "updates_unjudged"
  | "updates_rest"
  | "sweep_rest";

export function loadMeta(store: Store, key: MetaKey): string | undefined {
  return store.prepare<Pick<Row<typeof meta>, "value">>("SELECT value FROM meta WHERE key = ?").get(key)?.value;
}

/** Does not write where the value is unchanged. */
export function saveMeta(store: Store, key: TextKey, value: string): void {
  save(store, key, value);
}

export function deleteMeta(store: Store, key: MetaKey): void {
  store.prepare("DELETE FROM meta WHERE key = ?").run(key);
}

/**
 * A value as JSON, declared once, in the room that owns it. Its type includes undefined where it may be absent; any other
 * has a value for that.
 */
export class MetaValue<Value> {
  readonly #key: JsonKey;
  readonly #absent: Value;

  constructor(key: JsonKey, ...[absent]: undefined extends Value ? [] : [absent: Value]) {
    this.#key = key;
    this.#absent = absent as Value;
  }

  load(store: Store): Value {
    const text = loadMeta(store, this.#key);
    return text === undefined ? this.#absent : (JSON.parse(text) as Value);
  }

  /** To be called inside a write transaction, as `delete`. Undefined deletes it. */
  save(store: Store, value: Value | undefined): void {
    if (value === undefined) deleteMeta(store, this.#key);
    else save(store, this.#key, JSON.stringify(value));
  }

  delete(store: Store): void {
    deleteMeta(store, this.#key);
  }
}

/** An empty record is not kept. */
export function unlessEmpty<Entries extends object>(entries: Entries): Entries | undefined {
  return Object.keys(entries).length === 0 ? undefined : entries;
}

function save(store: Store, key: MetaKey, value: string): void {
  store
    .prepare(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
    )
    .run(key, value);
}
