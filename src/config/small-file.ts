import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

export interface SmallFile {
  bytes: Buffer;
  /** Permission bits, as from `stat`. */
  mode: number;
  /** Changes when the file is written or replaced. */
  version: string;
}

type ReadFile = SmallFile | { code: string };
/** Results of reading, by path. */
export type ReadFiles = ReadonlyMap<string, ReadFile>;

let replayed: ReadFiles | undefined;
let recorded: Map<string, ReadFile> | undefined;

/** Records the files that `work` reads, so that it can be repeated without the disk. */
export function noteReads(work: () => void): ReadFiles {
  const files = new Map<string, ReadFile>();
  recorded = files;
  try {
    work();
  } finally {
    recorded = undefined;
  }
  return files;
}

/** Runs `work` with recorded files. */
export function withReads<T>(files: ReadFiles, work: () => T): T {
  replayed = files;
  try {
    return work();
  } finally {
    replayed = undefined;
  }
}

/**
 * Reads a regular file of at most `bytesMax`; `problem` is the end of a sentence ("does not exist"). A pipe or a device
 * could block or never end, so opening does not wait, and the kind is checked before reading.
 */
export function readSmallFile(file: string, bytesMax: number): SmallFile | { problem: Message; code: string } {
  const read = replayed?.get(file) ?? readNow(file, bytesMax);
  recorded?.set(file, read);
  if ("bytes" in read) return read;
  const { code } = read;
  if (code === "EFBIG") return { problem: m.config.tooLarge({ bytesMax }), code };
  return { problem: reasonOf(code), code };
}

function readNow(file: string, bytesMax: number): ReadFile {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(descriptor, { bigint: true });
      if (!stat.isFile()) return { code: "EISDIR" };
      if (stat.size > bytesMax) return { code: "EFBIG" };
      const bytes = Buffer.alloc(Number(stat.size));
      const version = [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(":");
      return { bytes: bytes.subarray(0, readSync(descriptor, bytes)), mode: Number(stat.mode), version };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? "unknown error" };
  }
}

function reasonOf(code: string): Message {
  switch (code) {
    case "EISDIR":
      return m.config.notRegularFile;
    case "ENOENT":
    case "ENOTDIR":
      return m.config.notFound;
    case "EACCES":
    case "EPERM":
      return m.config.notPermitted;
    case "ERR_INVALID_ARG_VALUE":
      return m.config.impossibleName;
    default:
      return m.config.unreadable({ code });
  }
}

/** Decodes UTF-8 without a byte order mark, or returns what is wrong and where. */
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

/** Position of the first character that is not valid UTF-8. */
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
