import { createHash, hash } from "node:crypto";
import { SLICE_BYTES } from "./json-text.ts";
import type { Slices } from "./slices.ts";

/**
 * SHA-256. The returned buffer comes from Node's shared pool: hundreds of thousands of buffers with memory of their own
 * would cause long pauses for garbage collection.
 */
export function digestOf(bytes: Buffer | string): Buffer {
  return Buffer.from(hash("sha256", bytes, "binary"), "latin1");
}

/** SHA-256. */
export function* digestInSlices(bytes: Buffer): Slices<Buffer> {
  const sum = createHash("sha256");
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) yield;
    sum.update(bytes.subarray(at, at + SLICE_BYTES));
  }
  return sum.digest();
}
