/*
 * Writes and reads bodies of any size without keeping the event loop or the write lock: what is large is written in parts,
 * each in a transaction of its own. The transaction that names the body comes after the last part, and only then is the
 * body kept; after a crash before that its parts are removed.
 */
import { createHash } from "node:crypto";
import type { Slices } from "../domain/slices.ts";
import {
  BODY_PART_BYTES,
  type BodyPlace,
  deleteUnnamedParts,
  hasBodyParts,
  loadBodyPart,
  loadPartLengths,
  nextBodyId,
  saveBodyPart,
} from "../store/body-parts.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Parts removed in one transaction: some milliseconds. */
const REMOVED_PER_COMMIT = 4;

/** Where the body is to stand. Parts of a large one are on disk when this returns, and are kept once a row names them. */
export async function writeBody(
  context: Pick<JobContext, "store" | "clock" | "log">,
  body: Buffer,
  signal: AbortSignal,
): Promise<BodyPlace> {
  if (body.length <= BODY_PART_BYTES) return { body, bodyId: null };
  const { store, clock } = context;
  const bodyId = nextBodyId(store);
  for (let part = 0; part * BODY_PART_BYTES < body.length; part++) {
    if (part > 0) await clock.sleep(0, signal);
    const bytes = body.subarray(part * BODY_PART_BYTES, (part + 1) * BODY_PART_BYTES);
    await commit(context, signal, () => saveBodyPart(store, bodyId, part, bytes));
  }
  return { body: null, bodyId };
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

/** Whether the stored body is this one, to the byte. */
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

/** Parts that nothing names: of a body whose program died while it wrote it, or that is not needed any more. */
export async function removeUnnamedParts(context: JobContext, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  if (!hasBodyParts(store)) return;
  while ((await commit(context, signal, () => deleteUnnamedParts(store, REMOVED_PER_COMMIT))) > 0)
    await clock.sleep(0, signal);
}

/** SHA-256. */
export function* digestInSlices(body: Buffer): Slices<Buffer> {
  const sum = createHash("sha256");
  for (let at = 0; at < body.length; at += BODY_PART_BYTES) {
    if (at > 0) yield;
    sum.update(body.subarray(at, at + BODY_PART_BYTES));
  }
  return sum.digest();
}
