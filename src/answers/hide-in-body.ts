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
