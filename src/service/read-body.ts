/* The bodies of answers: bounded, and without keeping the event loop. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { JsonTooLargeError } from "../answers/json-text.ts";
import { scanInSlices } from "../answers/scan-json.ts";
import { inTurns } from "../answers/slices.ts";

/** How much of an error's body is read: enough for its words, never a download. */
const ERROR_BODY_BYTES_MAX = 64 * 1024;
/** An answer to a POST: results of each record of a chunk at most. */
export const ACCEPTANCE_BYTES_MAX = 16_000_000;
/** So many results of records, some values each: what is read of them stops everything else meanwhile. */
export const ACCEPTANCE_VALUES_MAX = 500_000;
/** What is copied in one go; more would keep the event loop. */
const COPY_BYTES = 16 * 1024 * 1024;

/** The whole body, or undefined where it is larger than `max` bytes. A body that ends early rejects. */
export async function readUpTo(
  body: Dispatcher.ResponseData["body"],
  max: number,
  announced: number,
): Promise<Buffer | undefined> {
  if (announced > max) {
    body.destroy();
    return undefined;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > max) {
      body.destroy();
      return undefined;
    }
    chunks.push(chunk);
  }
  return await joined(chunks, size);
}

/** One buffer of all chunks. Each is let go as soon as it is copied, and a large body does not keep the event loop. */
async function joined(chunks: Buffer[], size: number): Promise<Buffer> {
  if (size <= COPY_BYTES) return Buffer.concat(chunks, size);
  const whole = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let turnAt = COPY_BYTES;
  for (const [index, chunk] of chunks.entries()) {
    at += chunk.copy(whole, at);
    chunks[index] = NO_BYTES;
    if (at < turnAt) continue;
    turnAt = at + COPY_BYTES;
    await nextTurn();
  }
  return whole;
}

const NO_BYTES = Buffer.alloc(0);

/** What is no JSON is judged elsewhere. */
export async function holdsTooMuch(acceptance: Buffer): Promise<boolean> {
  try {
    const limits = { valuesMax: ACCEPTANCE_VALUES_MAX, blanksMax: Number.POSITIVE_INFINITY };
    await inTurns(scanInSlices(acceptance, limits), nextTurn);
    return false;
  } catch (error) {
    return error instanceof JsonTooLargeError;
  }
}

export async function readPreview(body: Dispatcher.ResponseData["body"]): Promise<Buffer> {
  try {
    return (await readUpTo(body, ERROR_BODY_BYTES_MAX, 0)) ?? NO_BYTES;
  } catch {
    // The status line has said what matters; a body that breaks off adds nothing.
    return NO_BYTES;
  }
}
