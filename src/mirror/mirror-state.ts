/* What the shop's database keeps of its mirror. SQL, because it is read in every pass and written in transactions of others. */
import { deleteMeta, loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";

/**
 * `up_no`: the round of the ERP's rows that was applied last. `up`: the tables that such rows have ever come to. `refused_rows`:
 * how many of them stand refused, by table. `turn`: the newest that was committed in PostgreSQL; one that was restored is behind it.
 * `takeover_no`: the newest takeover that this database has noted. `fenced`: who works for the shop instead.
 * `refill`: how far batches and held records are noted again. `unwritten`: rows that PostgreSQL does not take in any form.
 */
export type MirrorStateKey =
  | "up_no"
  | "up"
  | "refused_rows"
  | "turn"
  | "refill"
  | "unwritten"
  | "takeover_no"
  | "fenced";

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

/** From now on batches, held records and outcomes note that they change. Inside a transaction. */
export function switchMirror(store: Store, isOn: boolean): void {
  if ((loadMeta(store, "mirror_on") !== undefined) === isOn) return;
  if (isOn) {
    saveMeta(store, "mirror_on", "1");
    startRefill(store);
  } else {
    deleteMeta(store, "mirror_on");
    store.prepare("DELETE FROM mirror_changes WHERE kind <> 'request'").run();
  }
}

/** Up to which keys batches and held records are noted again; absent: all are. */
export type Refill = Partial<Record<"batch" | "quarantine", number>>;

export function loadRefill(store: Store): Refill {
  return JSON.parse(loadMirrorState(store, "refill") ?? "{}") as Refill;
}

/** Every batch and every held record is to be written again. Inside a transaction. */
export function startRefill(store: Store): void {
  saveMirrorState(store, "refill", JSON.stringify({ batch: 0, quarantine: 0 } satisfies Refill));
  // What was refused is tried again with the rest, and noted again where it still is.
  saveMirrorState(store, "unwritten", "[]");
}

/** Rows that either side does not take from the other. */
export function countMirrorRefused(store: Store): number {
  const ofErp = Object.values(JSON.parse(loadMirrorState(store, "refused_rows") ?? "{}") as Record<string, number>);
  const own = JSON.parse(loadMirrorState(store, "unwritten") ?? "[]") as unknown[];
  return ofErp.reduce((sum, count) => sum + count, own.length);
}
