/*
 * What is kept of the changes that the service has listed of an order, so that a repeated one is recognised and a new
 * one is never taken for it. Feeds differ: one holds each order once, at its newest; another is a log that shows every
 * change for as long as it is younger than `since`. A change may appear late, with an old timestamp, and an order may
 * go back to a state that it had before, even under the same timestamp. So it is not enough to look at the newest
 * record:
 *
 * - a record that was not listed before is new, wherever its timestamp stands;
 * - an answer without the record that was last before is new too: the service has replaced it, not aged it.
 *
 * Records that left the window are remembered further, so that a wide re-poll repeats nothing, but only
 * where their timestamp distinguishes them from what may come later.
 */

import { readTimestamp } from "../answers/timestamp.ts";
import type { Store } from "../database/store.ts";
import { SECOND_NS } from "../platform/durations.ts";
import { loadSeenChanges } from "./position-rows.ts";

/** A record of a change, reduced to 16 bytes in hexadecimal: its timestamp, then a digest of its content. */
export type ChangeKey = string;

const KEY_BYTES = 16;
const STAMP_BYTES = 8;
const KEY_CHARS = 2 * KEY_BYTES;
const STAMP_CHARS = 2 * STAMP_BYTES;
/** What 64 bits hold: 2262-04-11. */
const LAST_STAMP_NS = 2n ** 63n - 1n;
const NO_STAMP = "0".repeat(STAMP_CHARS);
/** Sorts behind every timestamp. */
const NEVER = "f".repeat(STAMP_CHARS);
/** No order changes so often within a day; one that does costs some needless reads and never a missed one. */
const KEYS_MAX = 64;

/**
 * @param content a hash of the record's content, key order and white space aside.
 * @param nth which of several equal records of one answer, from 0: a state that comes back looks the same again.
 */
export function changeKey(timestampNs: bigint | undefined, content: Buffer, nth: number): ChangeKey {
  const bytes = Buffer.alloc(KEY_BYTES);
  bytes.writeBigInt64BE(timestampNs === undefined ? 0n : clampTimestamp(timestampNs));
  bytes.writeBigUInt64BE(BigInt.asUintN(64, content.readBigUInt64BE() + BigInt(nth)), STAMP_BYTES);
  return bytes.toString("hex");
}

/** 0 is kept for "no timestamp". An instant before 1970 is as good as the first, and one beyond 2262 as the last. */
function clampTimestamp(timestampNs: bigint): bigint {
  if (timestampNs < 1n) return 1n;
  return timestampNs > LAST_STAMP_NS ? LAST_STAMP_NS : timestampNs;
}

/** What was remembered, oldest first; the last one is the record that any later telling must still hold. */
export function readSeen(text: string): ChangeKey[] {
  const seen: ChangeKey[] = [];
  for (let end = KEY_CHARS; end <= text.length; end += KEY_CHARS) seen.push(text.slice(end - KEY_CHARS, end));
  return seen;
}

export function writeSeen(seen: readonly ChangeKey[]): Buffer {
  return Buffer.from(seen.join(""), "hex");
}

interface Version {
  orderId: string;
  timestamp: string | null;
}

/** Whether the changes have ever named a version of the order with this timestamp. */
export function wasListed(store: Store, version: Version, timezone: string): boolean {
  return countListed(store, version, timezone) > 0;
}

/**
 * How many versions of the order with this timestamp the changes have named, as far as they are remembered. All of its second: the
 * answers of two endpoints may cut a time to different lengths.
 */
export function countListed(store: Store, { orderId, timestamp }: Version, timezone: string): number {
  const ns = readTimestamp(timestamp, timezone)?.instantNs;
  const [row] = loadSeenChanges(store, [orderId]);
  if (ns === undefined || row === undefined) return 0;
  const times = readSeen(row.seen).map((key) => BigInt(`0x${timestampOf(key)}`));
  return times.filter((timeNs) => timeNs > ns - SECOND_NS && timeNs < ns + SECOND_NS).length;
}

/** Whether this record was listed before. */
export function isSeen(seen: readonly ChangeKey[], key: ChangeKey): boolean {
  if (seen.includes(key)) return true;
  if (seen.length < KEYS_MAX || timestampOf(key) === NO_STAMP) return false;
  // The memory is full: what is older than all of it has been pushed out of it.
  return seen.every((known) => timestampOf(key) < timestampOf(known));
}

/**
 * What to keep after `served` was listed.
 * @param isWhole false where the list was cut short, so that what is missing in it may only not have come yet
 */
export function rememberChanges(
  seen: readonly ChangeKey[],
  served: ReadonlySet<ChangeKey>,
  isWhole: boolean,
): ChangeKey[] {
  const timestamps = new Set([...served].map(timestampOf));
  const staysKnown = (key: ChangeKey) =>
    !isWhole || (timestampOf(key) !== NO_STAMP && !timestamps.has(timestampOf(key)));
  const kept = seen.filter((key) => !served.has(key) && staysKnown(key));
  // What leaves the window last is that whose absence means something: the largest timestamp, and before that what has none, which never does.
  const inOrder = [...served].sort((a, b) => (leavingOf(a) < leavingOf(b) ? -1 : leavingOf(a) > leavingOf(b) ? 1 : 0));
  return [...kept, ...inOrder].slice(-KEYS_MAX);
}

/** When a record leaves the window: by its timestamp, or never. */
function leavingOf(key: ChangeKey): string {
  const timestamp = timestampOf(key);
  return timestamp === NO_STAMP ? NEVER : timestamp;
}

/** Compares as the instant does: the bytes are big-endian and never negative. */
function timestampOf(key: ChangeKey): string {
  return key.slice(0, STAMP_CHARS);
}
