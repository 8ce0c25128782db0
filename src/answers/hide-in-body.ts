import type { Slices } from "./slices.ts";

/** What is looked through in one go: some milliseconds, tens where every character is written as an escape. */
const SLICE_BYTES = 256 * 1024;
/** Longer than any writing of a secret: as much of each slice is looked at once more with the next one. */
const OVERLAP = 64 * 1024;

/** An echo of the request must not bring credentials into the database. What holds none of them is given back as it is. */
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
  // The end of a slice, which may hold the beginning of a secret.
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

/** The next place from `at` on where no character is cut in two; at most three bytes on. */
function characterStart(body: Buffer, at: number): number {
  let start = at;
  while (start < body.length && start < at + 4 && ((body[start] ?? 0) & 0xc0) === 0x80) start++;
  return Math.min(start, body.length);
}

/** `at`, or before it where it stands inside a surrogate pair. */
function pairStart(text: string, at: number): number {
  const place = Math.max(0, at);
  const code = text.charCodeAt(place);
  return place > 0 && code >= 0xdc00 && code <= 0xdfff ? place - 1 : place;
}
