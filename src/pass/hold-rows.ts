/*
 * What waits for a person or a probe. A hold is written in a transaction of its own after the answer that caused it;
 * after a crash before that, the same answer comes once more.
 */
import { asc } from "drizzle-orm";
import type { HoldReason } from "../database/hold-names.ts";
import { holds } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { scopeOfReason } from "./holds.ts";

export type HoldRow = typeof holds.$inferSelect;

/** Without a scope it is that of its reason. */
type NewHold = Omit<HoldRow, "scope" | "detail"> &
  Partial<Pick<HoldRow, "scope">> & { detail: Message | string | null };

export function loadHolds(store: Store): HoldRow[] {
  return store.query.select().from(holds).orderBy(asc(holds.since), asc(holds.area)).all();
}

export function loadHoldsOf(store: Store, area: string): HoldRow[] {
  // Asked several times in every pass of every job.
  return store
    .prepare<HoldRow>(
      "SELECT area, reason, since, next_probe_at AS nextProbeAt, detail, scope FROM holds WHERE area = ? ORDER BY reason",
    )
    .all(area);
}

/** Begins a hold, or moves the next probe of one that goes on; `since` stays what it was. True where it is new. */
export function saveHold(store: Store, hold: NewHold): boolean {
  const known = store.prepare("SELECT 1 FROM holds WHERE area = ? AND reason = ?").get(hold.area, hold.reason);
  const detail = hold.detail === null ? null : store.textOf(hold.detail);
  const scope = hold.scope ?? scopeOfReason(hold.reason);
  store
    .prepare(
      `INSERT INTO holds (area, reason, since, next_probe_at, detail, scope) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (area, reason) DO UPDATE
       SET next_probe_at = excluded.next_probe_at, detail = excluded.detail, scope = excluded.scope`,
    )
    .run(hold.area, hold.reason, hold.since, hold.nextProbeAt, detail, scope);
  return known === undefined;
}

export function deleteHold(store: Store, area: string, reason: HoldReason): boolean {
  return store.prepare("DELETE FROM holds WHERE area = ? AND reason = ?").run(area, reason).changes > 0;
}

/** Wherever it holds. Returns how many were lifted. */
export function deleteHoldsFor(store: Store, reason: HoldReason): number {
  return store.prepare("DELETE FROM holds WHERE reason = ?").run(reason).changes;
}
