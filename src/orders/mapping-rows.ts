/*
 * Which mapping the columns of stored orders were derived with. Noted at every start, before a record is stored, so
 * that orders of two mappings in one file never pass for orders of one; only a finished `remap` drops the
 * former. After a crash in the middle of a remap, both are still noted and it is simply run again.
 */

import { loadMetaJson, saveMetaJson } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { deleteHold, saveHold } from "../pass/hold-rows.ts";

interface MappingNote {
  /** The mapping of the last start. */
  inUse: string;
  /** Every mapping that columns may have been derived with. */
  filledWith: string[];
}

const AREA = "mapping";

/**
 * Notes the mapping that orders are read with from now on, inside a write transaction. True where the columns of
 * stored orders may be those of another one: nothing stops, and a hold says that `remap` is to be run.
 */
export function noteMapping(store: Store, signature: string, at: string): boolean {
  return note(store, signature, { inUse: signature, at });
}

/** Some records are read with this mapping, whatever a running daemon uses. */
export function noteMappingOfRecords(store: Store, signature: string, at: string): void {
  note(store, signature, { inUse: loadMappingInUse(store) ?? signature, at });
}

function note(store: Store, signature: string, { inUse, at }: { inUse: string; at: string }): boolean {
  const known = loadMappingNote(store);
  const hasOrders = store.prepare("SELECT 1 FROM orders LIMIT 1").get() !== undefined;
  const before = known === undefined || !hasOrders ? [] : known.filledWith;
  const filledWith = [...new Set([...before, signature])];
  saveNote(store, { inUse, filledWith });
  if (filledWith.length === 1) {
    if (known !== undefined) deleteHold(store, AREA, "mapping");
    return false;
  }
  saveHold(store, {
    area: AREA,
    reason: "mapping",
    since: at,
    nextProbeAt: null,
    detail: m.orders.mappingChanged,
  });
  return true;
}

/** The mapping that a running daemon reads orders with; undefined before the first start. */
export function loadMappingInUse(store: Store): string | undefined {
  return loadMappingNote(store)?.inUse;
}

/** Every stored order has been looked at under this mapping. */
export function markRemapped(store: Store, signature: string): void {
  saveNote(store, { inUse: signature, filledWith: [signature] });
  deleteHold(store, AREA, "mapping");
}

function loadMappingNote(store: Store): MappingNote | undefined {
  return loadMetaJson<MappingNote>(store, "mapping");
}

function saveNote(store: Store, note: MappingNote): void {
  saveMetaJson(store, "mapping", note);
}
