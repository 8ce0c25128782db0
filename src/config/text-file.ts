import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
/** Text as people's editors should have saved it: UTF-8 without a byte order mark. */
export function decodeText(bytes: Buffer): { text: string } | { problem: Message; line: number; column: number } {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { problem: m.config.byteOrderMark, line: 1, column: 1 };
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { problem: m.config.utf16, line: 1, column: 1 };
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { problem: m.config.notUtf8, ...firstBad(bytes) };
  }
}

/** The first character that does not survive decoding and encoding again. */
function firstBad(bytes: Buffer): { line: number; column: number } {
  const text = bytes.toString("utf8");
  let offset = 0;
  let line = 1;
  for (const part of text.split("\n")) {
    let column = 1;
    for (const character of part) {
      const length = Buffer.byteLength(character);
      if (character === "\ufffd" && !bytes.subarray(offset, offset + 3).equals(Buffer.from(character))) {
        return { line, column };
      }
      offset += length;
      column += character.length;
    }
    offset++;
    line++;
  }
  return { line, column: 1 };
}
