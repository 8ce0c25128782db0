/*
 * Holds: what waits for a person or a probe. A hold is written in a transaction of its own after the answer that caused it;
 * after a crash in between, the next request gets the same answer.
 */
import { deleteRows, findRow, listRows, updateRows, upsertRow } from "../database/queries.ts";
import { holds } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { factsOf, type HoldReason } from "./hold-reasons.ts";

type Stored = typeof holds.$inferSelect;
export type HoldRow = Omit<Stored, "reason" | "detail"> & { reason: HoldReason; detail: Message | null };

/** The default scope is that of the reason. */
type NewHold = Omit<HoldRow, "scope"> & Partial<Pick<HoldRow, "scope">>;

export function loadHolds(store: Store): HoldRow[] {
  return listRows(store, holds, {}, ["since", "area"]).map((row) => withDetail(store, row));
}

export function loadHoldsOf(store: Store, area: string): HoldRow[] {
  return listRows(store, holds, { area }, ["reason"]).map((row) => withDetail(store, row));
}

function withDetail(store: Store, row: Stored): HoldRow {
  return { ...row, reason: row.reason as HoldReason, detail: store.messageOf(row.detail) };
}

/** Begins a hold, or moves the next probe of a standing one, whose `since` stays. Returns whether the hold is new. */
export function saveHold(store: Store, hold: NewHold): boolean {
  const { area, reason, since, nextProbeAt } = hold;
  const isNew = findRow(store, holds, { area, reason }) === undefined;
  const detail = store.textOf(hold.detail);
  const row = { area, reason, since, nextProbeAt, detail, scope: hold.scope ?? factsOf(reason).scope };
  upsertRow(store, holds, row, { key: ["area", "reason"], set: ["nextProbeAt", "detail", "scope"] });
  return isNew;
}

/** Replaces the times of a standing hold. */
export function saveHoldTimes(
  store: Store,
  { area, reason, since, nextProbeAt }: Omit<HoldRow, "detail" | "scope">,
): void {
  updateRows(store, holds, { area, reason }, { since, nextProbeAt });
}

export function deleteHold(store: Store, area: string, reason: HoldReason): boolean {
  return deleteRows(store, holds, { area, reason }) > 0;
}

/** Lifts the hold in every area. Returns how many rows were deleted. */
export function deleteHoldsFor(store: Store, reason: HoldReason): number {
  return deleteRows(store, holds, { reason });
}
