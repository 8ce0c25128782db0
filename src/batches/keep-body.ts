/*
 * Writes and reads bodies of any size without blocking the event loop or holding the write lock: a large body is
 * written in parts, each in a transaction of its own. The body is kept once a row names it, in a transaction after the
 * last part; after a crash before that its parts are removed.
 */

import {
  BODY_PART_BYTES,
  type BodyPlace,
  deleteUnnamedParts,
  loadBodyPart,
  loadPartLengths,
  nextBodyId,
  saveBodyPart,
} from "../database/body-parts.ts";
import type { Store } from "../database/store.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQuarantineState } from "../pass/quarantine-rows.ts";
import { BAD_KIND, type OrderSource } from "../records/order-mapping.ts";
import type { AnswerRecord } from "../records/read-records.ts";

/** Parts removed in one transaction: takes some milliseconds. */
const REMOVED_PER_COMMIT = 4;

type Context = Pick<JobContext, "store" | "clock" | "log">;

/** Bodies being written that no row names yet, so that the job that removes unnamed parts leaves them. */
const OPEN = new WeakMap<Store, Set<number>>();

/**
 * Returns where the body is or will be stored. Parts of a large one are committed when this returns, and kept once a
 * row names them.
 */
export async function writeBody(context: Context, body: Buffer, signal: AbortSignal): Promise<BodyPlace> {
  if (body.length <= BODY_PART_BYTES) return { body, bodyId: null };
  return { body: null, bodyId: await writeParts(context, body, { signal }) };
}

async function writeParts(
  context: Context,
  body: Buffer,
  { signal, open }: { signal: AbortSignal; open?: (bodyId: number) => void },
): Promise<number> {
  const { store, clock } = context;
  let bodyId = 0;
  for (let part = 0; part * BODY_PART_BYTES < body.length; part++) {
    if (part > 0) await clock.sleep(0, signal);
    const bytes = body.subarray(part * BODY_PART_BYTES, (part + 1) * BODY_PART_BYTES);
    await commit(context, signal, () => {
      // Inside the transaction of the first part, because another job may also write a body.
      if (part === 0) {
        bodyId = nextBodyId(store);
        open?.(bodyId);
      }
      saveBodyPart(store, bodyId, part, bytes);
    });
  }
  return bodyId;
}

/** A record to be stored, and the bytes that its spans point into. */
interface ServedRecord {
  record: AnswerRecord;
  bytes: Buffer;
}

/**
 * Writes large records in parts before `act` adds rows to the quarantine that name them. Records already held are not
 * written again.
 */
export async function withLargeKept<T>(
  context: Context,
  { source, served, signal }: { source: OrderSource; served: readonly ServedRecord[]; signal: AbortSignal },
  act: () => Promise<T>,
): Promise<T> {
  const { store } = context;
  const open = OPEN.get(store) ?? new Set();
  OPEN.set(store, open);
  const own = new Set<number>();
  try {
    for (const { record, bytes } of served) {
      if (record.ok || !record.isLarge) continue;
      const { reference, hash, span } = record;
      if (loadQuarantineState(store, { kind: BAD_KIND[source], reference, hash }) !== undefined) continue;
      const note = (bodyId: number) => {
        open.add(bodyId);
        own.add(bodyId);
      };
      record.bodyId = await writeParts(context, bytes.subarray(span.start, span.end), { signal, open: note });
    }
    return await act();
  } finally {
    for (const bodyId of own) open.delete(bodyId);
  }
}

export async function readBody(
  { store, clock }: Pick<JobContext, "store" | "clock">,
  { body, bodyId }: BodyPlace,
  signal: AbortSignal,
): Promise<Buffer> {
  if (bodyId === null) return body ?? Buffer.alloc(0);
  const lengths = loadPartLengths(store, bodyId);
  const whole = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const part of lengths.keys()) {
    at += loadBodyPart(store, bodyId, part).copy(whole, at);
    await clock.sleep(0, signal);
  }
  return whole;
}

/** Compares the stored body byte by byte. */
export async function isSameBody(
  { store, clock }: Pick<JobContext, "store" | "clock">,
  { body, bodyId }: BodyPlace,
  other: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  if (bodyId === null) return body?.equals(other) === true;
  let at = 0;
  for (const [part, length] of loadPartLengths(store, bodyId).entries()) {
    if (!loadBodyPart(store, bodyId, part).equals(other.subarray(at, at + length))) return false;
    at += length;
    await clock.sleep(0, signal);
  }
  return at === other.length;
}

/** Removes parts that no row names: the process ended while it wrote them, or they are no longer needed. */
export async function removeUnnamedParts(context: JobContext, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  while (
    (await commit(context, signal, () => deleteUnnamedParts(store, REMOVED_PER_COMMIT, OPEN.get(store) ?? []))) > 0
  )
    await clock.sleep(0, signal);
}
