/*
 * The mappings from which columns of stored orders were derived. Each start saves its mapping before a record is
 * stored, so that orders of two mappings in one file are not taken for orders of one. Only a finished `remap` removes
 * the former. After a crash during a remap both are saved, and it is run again.
 */

import { MetaValue } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { deleteHold, saveHold } from "../pass/hold-rows.ts";

interface MappingNote {
  /** The mapping of the last start. */
  inUse: string;
  /** Every mapping from which columns may have been derived. */
  filledWith: string[];
}

const MAPPING = new MetaValue<MappingNote | undefined>("mapping");

const AREA = "mapping";

/**
 * Saves the mapping in use, inside a write transaction. Returns whether stored columns may be from another one; a hold
 * then shows that `remap` is to be run, and nothing stops.
 */
export function noteMapping(store: Store, signature: string, at: string): boolean {
  return note(store, signature, { inUse: signature, at });
}

/** Some records are read with this mapping, whatever mapping a running daemon uses. */
export function noteMappingOfRecords(store: Store, signature: string, at: string): void {
  note(store, signature, { inUse: loadMappingInUse(store) ?? signature, at });
}

function note(store: Store, signature: string, { inUse, at }: { inUse: string; at: string }): boolean {
  const known = MAPPING.load(store);
  const hasOrders = store.prepare("SELECT 1 FROM orders LIMIT 1").get() !== undefined;
  const before = known === undefined || !hasOrders ? [] : known.filledWith;
  const filledWith = [...new Set([...before, signature])];
  MAPPING.save(store, { inUse, filledWith });
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

/** The mapping of the running daemon; undefined before the first start. */
export function loadMappingInUse(store: Store): string | undefined {
  return MAPPING.load(store)?.inUse;
}

/** To be called once all stored orders were remapped. */
export function markRemapped(store: Store, signature: string): void {
  MAPPING.save(store, { inUse: signature, filledWith: [signature] });
  deleteHold(store, AREA, "mapping");
}
