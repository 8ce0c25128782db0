/*
 * Handles damaged entries of the journal. An incomplete end of the newest file may belong to a batch that was being
 * written and was not confirmed. Every other batch may have been confirmed, so it is reported, and orders that can
 * still be found in it are read from the service.
 */
import { findOrderIds } from "../answers/uuid.ts";
import { loadBatch } from "../batches/batch-rows.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { OrderRules } from "../orders/order-rules.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import { requestRead } from "../pass/position-rows.ts";
import { isForeign, type Owner } from "../platform/owner.ts";
import type { DamagedEntry } from "./journal-frame.ts";
import { sizeOf } from "./space-rule.ts";

/** Limit of orders that are read for one entry; a batch has a few hundred at most. */
const READS_MAX = 1_000;

export interface FoundDamage extends DamagedEntry {
  file: string;
  /** When the batch was received, else when the file was started. */
  at: string;
}

interface Settled {
  /** Incomplete ends of files. */
  torn: number;
  /** Orders queued to be read. */
  read: number;
  /** One for each batch that may have been confirmed. */
  notes: Message[];
}

/** @param options.newest name of the newest file */
export function settleDamaged(
  store: Store,
  damaged: readonly FoundDamage[],
  { newest, owner, rules, at }: { newest: string; owner: Owner; rules: OrderRules; at: string },
): Settled {
  const settled: Settled = { torn: 0, read: 0, notes: [] };
  for (const { note, file, bytes, isCut, ...entry } of damaged) {
    if (note !== undefined && isForeign({ account: note.account, database: note.database }, owner)) continue;
    if (isCut && file === newest) {
      settled.torn += 1;
      continue;
    }
    if (note !== undefined && loadBatch(store, note.fingerprint) !== undefined) continue;
    const { known, unknown } = idsIn(store, bytes, rules);
    // The program died while writing it, and the orders were delivered again.
    if (isCut && known > 0 && unknown.length === 0) continue;
    store.write(() => {
      for (const [orderId, serviceId] of unknown) requestRead(store, { orderId, serviceId }, at);
    });
    settled.read += unknown.length;
    const what = { file, at: entry.at, size: sizeOf(bytes.length), orders: unknown.length };
    settled.notes.push(m.restore.journalDamaged(what));
  }
  return settled;
}

/** Finds ids of orders in a damaged entry by the name of their key: how many are stored, and the others. */
function idsIn(store: Store, bytes: Buffer, { batch }: OrderRules): { known: number; unknown: [string, string][] } {
  const key = JSON.stringify(String(batch.paths.order_id.steps.at(-1)));
  const texts = bytes.toString("utf8").split(key).slice(1);
  const ids = findOrderIds(texts.map((text) => /^\s*:\s*("[^"]{1,50}")/.exec(text)?.[1] ?? "").join(), READS_MAX);
  const stored = loadKnownOrders(store, [...ids.keys()]);
  return { known: stored.size, unknown: [...ids].filter(([id]) => !stored.has(id)) };
}
