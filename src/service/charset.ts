/*
 * Texts in another encoding than UTF-8. JSON is UTF-8 (RFC 8259), yet a service may write it in the one of its machine, such
 * as windows-1251, and name it in `Content-Type`.
 */

import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TextDecoder } from "node:util";

/** Bytes decoded at a time; more would block the event loop. */
const DECODED_BYTES = 1024 * 1024;
const UTF16 = /^utf-16/;
const UNREADABLE = /\uFFFD/g;
const BEYOND_ASCII = /[\u0080-\uFFFC]/g;

/** The encoding that a `Content-Type` names, in lower case; undefined where it names none, or UTF-8. */
export function readCharset(contentType: string): string | undefined {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(contentType) ?? [];
  const name = (quoted ?? plain ?? "").trim().toLowerCase();
  return name === "" || name === "utf-8" || name === "utf8" ? undefined : name;
}

/**
 * The body in UTF-8. A body that is UTF-8 stays as it is, whatever name it has: frameworks name encodings that they do not
 * use. Returns undefined where it is written in an encoding that is not known, or not in the one that is named.
 * @param charset as {@link readCharset} returns it
 */
export async function toUtf8(body: Buffer, charset: string): Promise<Buffer | undefined> {
  const decoder = decoderOf(charset);
  const isWide = decoder !== undefined && UTF16.test(decoder.encoding);
  if (!isWide && (isUtf8(body) || (await isMostlyUtf8(body)))) return body;
  if (decoder === undefined) return undefined;
  try {
    const pieces: Buffer[] = [];
    for await (const text of decoded(body, decoder)) pieces.push(Buffer.from(text));
    return Buffer.concat(pieces);
  } catch {
    return undefined;
  }
}

function decoderOf(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return undefined;
  }
}

/** Whether more of it than not is UTF-8: one record may be broken. */
async function isMostlyUtf8(body: Buffer): Promise<boolean> {
  let known = 0;
  for await (const text of decoded(body, new TextDecoder("utf-8")))
    known += (text.match(BEYOND_ASCII)?.length ?? 0) - (text.match(UNREADABLE)?.length ?? 0);
  return known > 0;
}

async function* decoded(body: Buffer, decoder: TextDecoder): AsyncGenerator<string> {
  for (let at = 0; at < body.length; at += DECODED_BYTES) {
    if (at > 0) await nextTurn();
    yield decoder.decode(body.subarray(at, at + DECODED_BYTES), { stream: true });
  }
  yield decoder.decode();
}
