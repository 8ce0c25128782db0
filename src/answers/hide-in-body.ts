import { CUT } from "../platform/secrets.ts";
import type { Slices } from "./slices.ts";

/** Bytes searched per slice. A slice takes milliseconds, or tens of milliseconds where every character is escaped. */
const SLICE_BYTES = 256 * 1024;
/** Longer than any encoding of a secret. Slices overlap by this much. */
const OVERLAP = 64 * 1024;

/**
 * Removes secrets, because an echo of the request must not write credentials to the database. Returns `body` itself
 * where it contains none.
 */
export function* withoutSecretsInSlices(body: Buffer, hideSecrets: (text: string) => string): Slices<Buffer> {
  for (let from = 0; from < body.length; from += SLICE_BYTES) {
    if (from > 0) yield;
    const text = body.toString("utf8", from, from + SLICE_BYTES + OVERLAP);
    if (hideSecrets(text) !== text) return yield* hide(body, hideSecrets);
  }
  return body;
}

/** A beginning of a secret, in any encoding, is no longer than this. */
const END_BYTES = 4 * 1024;

/**
 * Removes the beginning of a secret that the answer ends with: a service that cuts what it sends may cut it there, and no whole secret is found.
 * Complete JSON ends with no such thing, and `body` itself is returned.
 */
export function withoutCutSecret(body: Buffer, hideSecrets: (text: string) => string): Buffer {
  const last = body.at(-1) ?? 0;
  if (last === CLOSING_BRACE || last === CLOSING_BRACKET) return body;
  const from = characterStart(body, Math.max(0, body.length - END_BYTES));
  const end = body.toString("utf8", from);
  const shown = hideSecrets(`${end}${CUT}`).slice(0, -CUT.length);
  return shown === end ? body : Buffer.concat([body.subarray(0, from), Buffer.from(shown)]);
}

const CLOSING_BRACE = 0x7d;
const CLOSING_BRACKET = 0x5d;

function* hide(body: Buffer, hideSecrets: (text: string) => string): Slices<Buffer> {
  const parts: Buffer[] = [];
  // The end of the previous slice, which may contain the beginning of a secret.
  let left = "";
  for (let from = 0; from < body.length; ) {
    const end = characterStart(body, from + SLICE_BYTES);
    const shown = hideSecrets(left + body.toString("utf8", from, end));
    const cut = end === body.length ? shown.length : pairStart(shown, shown.length - OVERLAP);
    parts.push(Buffer.from(shown.slice(0, cut)));
    left = shown.slice(cut);
    from = end;
    yield;
  }
  return Buffer.concat(parts);
}

/** The first character boundary from `at` on; at most three bytes further. */
function characterStart(body: Buffer, at: number): number {
  let start = at;
  while (start < body.length && start < at + 4 && ((body[start] ?? 0) & 0xc0) === 0x80) start++;
  return Math.min(start, body.length);
}

/** `at`, or one before it where it is inside a surrogate pair. */
function pairStart(text: string, at: number): number {
  const place = Math.max(0, at);
  const code = text.charCodeAt(place);
  return place > 0 && code >= 0xdc00 && code <= 0xdfff ? place - 1 : place;
}
