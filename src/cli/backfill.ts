import { parseTimestamp } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import type { LoadedConfig } from "../config/load.ts";
import { printable } from "../config/problems.ts";
import { readSmallFile } from "../config/small-file.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { expediteRead, hasPulled, requestRead } from "../pass/position-rows.ts";
import { systemClock } from "../platform/clock.ts";
import { BridgeError } from "../platform/errors.ts";
import { isoTime } from "../platform/ports.ts";
import { requestBackfill } from "../updates/looks/backfill.ts";
import type { Call } from "./command.ts";
import { openExisting } from "./open-existing.ts";

/** What to read without a notice from the service. */
export interface BackfillOptions {
  /** Changes from this time on. */
  since?: string;
  /** Path of a file with ids or numbers of orders, one a line. */
  orders?: string;
}

const FILE_BYTES_MAX = 20_000_000;
const ROWS_PER_COMMIT = 1_000;
const NAMES_SHOWN = 5;

/** The same after reading: `from` as times are stored, `names` without repetitions. */
export interface Backfill {
  from: string | undefined;
  names: readonly string[];
}

/** @throws BridgeError `usage` where the time or the file cannot be read */
export function readBackfill({ since, orders }: BackfillOptions, zone: string): Backfill {
  return {
    from: since === undefined ? undefined : readTime(since, zone),
    names: orders === undefined ? [] : readNames(orders),
  };
}

/**
 * Requests older changes or single orders; the next pass of `updates` reads them. Requests are stored until they are
 * done, so a stop loses none.
 * @returns false where some names match no order that can be read
 */
export function requestOlder(call: Call, loaded: LoadedConfig, { from, names }: Backfill): boolean {
  using store = openExisting(loaded);
  refuseOtherAccount(store, loaded);
  if (!hasPulled(store)) throw new BridgeError("usage", m.sync.pullFirst, { hint: m.sync.pullFirstHow });
  if (from !== undefined) store.write(() => requestBackfill(store, from));
  return requestOrders(call, store, names);
}

function readTime(text: string, zone: string): string {
  const ns = parseTimestamp(text.trim(), zone)?.instantNs;
  const ms = ns === undefined ? Number.NaN : Number(ns / 1_000_000n);
  if (Number.isNaN(ms) || ms < 0 || ms > systemClock.nowMs())
    throw new BridgeError("usage", m.sync.noTime({ text: printable(text) }), { hint: m.sync.sinceExample });
  return isoTime(ms);
}

function readNames(file: string): string[] {
  const read = readSmallFile(file, FILE_BYTES_MAX);
  if ("problem" in read) throw new BridgeError("usage", m.sync.listUnread({ file, problem: read.problem }));
  const lines = read.bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .split(/\r?\n/);
  const names = lines.map((line) => line.trim()).filter((line) => line !== "");
  if (names.length === 0) throw new BridgeError("usage", m.sync.listEmpty({ file }));
  return [...new Set(names)];
}

/** An id may be of an order that is not stored; a number is resolved only through stored orders. */
function requestOrders({ terminal }: Call, store: Store, names: readonly string[]): boolean {
  const unknown: string[] = [];
  const at = isoTime(systemClock.nowMs());
  const byNumber = store.prepare<string>("SELECT order_id FROM orders WHERE number = ?").pluck();
  const requestOne = (name: string) => {
    const own = readOrderId(name);
    const ids = own === undefined ? byNumber.all(name) : [own];
    if (ids.length === 0) unknown.push(name);
    for (const orderId of ids) {
      requestRead(store, { orderId, serviceId: own === undefined ? orderId : name }, at);
      expediteRead(store, orderId);
    }
  };
  for (let done = 0; done < names.length; done += ROWS_PER_COMMIT) {
    store.write(() => names.slice(done, done + ROWS_PER_COMMIT).forEach(requestOne));
  }
  if (unknown.length === 0) return true;
  terminal.err(m.sync.numbersUnknown({ count: unknown.length, names: unknown.slice(0, NAMES_SHOWN).map(printable) }));
  return false;
}
