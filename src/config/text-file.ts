/** Text as people's editors should have saved it: UTF-8 without a byte order mark. */
export function decodeText(bytes: Buffer): { text: string } | { problem: string; line: number; column: number } {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return { problem: "begins with a byte order mark; save it as UTF-8 without BOM", line: 1, column: 1 };
  }
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { problem: "is UTF-16; save it as UTF-8", line: 1, column: 1 };
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { problem: "is not UTF-8 from here on; save it as UTF-8", ...firstBad(bytes) };
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
