/* Reads bodies of answers with a limit, without blocking the event loop. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { JsonTooLargeError } from "../answers/json-text.ts";
import { scanInSlices } from "../answers/scan-json.ts";
import { inTurns } from "../answers/slices.ts";

/** How much of an error's body is read: enough for its text. */
const ERROR_BODY_BYTES_MAX = 64 * 1024;
/** Limit of the answer to a POST: at most a result for each record of a chunk. */
export const ACCEPTANCE_BYTES_MAX = 16_000_000;
/** Limit of values in such an answer: reading them blocks the event loop. */
export const ACCEPTANCE_VALUES_MAX = 500_000;
/** Bytes copied at a time; more would block the event loop. */
const COPY_BYTES = 16 * 1024 * 1024;

/** The whole body, or undefined where it is larger than `max` bytes. Rejects where the body ends early. */
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

/** Joins the chunks. Each is released as soon as it is copied, and a large body does not block the event loop. */
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

/** Whether JSON has more values than allowed; false for anything that is no JSON. */
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
    // The status line is enough where the body is cut off.
    return NO_BYTES;
  }
}
