import type { Buffer } from "node:buffer";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";

/** Bytes at the start of a file that suffice to detect its type. */
export const HEAD_BYTES = 512;

const PATH_BYTES_MAX = 4_000;

/** Location of a row's image: a URL that the service fetches itself, or a file below the folder. */
export type ImagePlace =
  | { kind: "address" }
  /** `steps`: names from the folder down to the file. */
  | { kind: "file"; steps: readonly string[] }
  | { kind: "bad"; reason: Message };

/**
 * Parses the source of an image as written by the ERP. Pure: refuses paths that leave the folder; symbolic links are
 * checked when the file is opened.
 *
 * @param folder the folder of the files, absolute and without `..`; sources may be absolute paths below it
 */
export function placeOf(source: string, folder: string): ImagePlace {
  if (/^https?:\/\//i.test(source)) return { kind: "address" };
  if (source === "") return bad(m.feeds.isEmpty);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(source)) return bad(m.feeds.notAddressNorFile);
  if (source.includes("\0") || !source.isWellFormed()) return bad(m.feeds.notFileName);
  if (new TextEncoder().encode(source).length > PATH_BYTES_MAX) return bad(m.feeds.nameTooLong);
  const root = folder.endsWith("/") ? folder : `${folder}/`;
  if (source.startsWith("/") && !source.startsWith(root)) return bad(m.feeds.outsideFolder);
  const below = source.startsWith("/") ? source.slice(root.length) : source;
  const steps = below.split("/").filter((step) => step !== "" && step !== ".");
  // Even where the path would lead back into the folder.
  if (steps.includes("..")) return bad(m.feeds.upwards);
  if (steps.length === 0 || below.endsWith("/")) return bad(m.feeds.namesFolder);
  return { kind: "file", steps };
}

function bad(reason: Message): ImagePlace {
  return { kind: "bad", reason };
}

/** Bytes (one character per byte) and their offset. */
type Mark = readonly [offset: number, bytes: string];

const MARKS: readonly (readonly [type: string, ...marks: Mark[]])[] = [
  ["image/jpeg", [0, "\xff\xd8\xff"]],
  ["image/png", [0, "\x89PNG\r\n\x1a\n"]],
  ["image/gif", [0, "GIF87a"]],
  ["image/gif", [0, "GIF89a"]],
  ["image/webp", [0, "RIFF"], [8, "WEBP"]],
  ["image/avif", [4, "ftypavif"]],
  ["image/avif", [4, "ftypavis"]],
  ["image/heic", [4, "ftypheic"]],
  ["image/heic", [4, "ftypheix"]],
  ["image/tiff", [0, "II*\0"]],
  ["image/tiff", [0, "MM\0*"]],
  ["image/bmp", [0, "BM"], [6, "\0\0\0\0"]],
  ["application/pdf", [0, "%PDF-"]],
  ["application/zip", [0, "PK\x03\x04"]],
];

/**
 * The media type of a file by its first bytes, never by its name: `text/plain` for any text (including SVG and HTML, which
 * may contain scripts), `application/octet-stream` where unknown.
 */
export function typeOf(head: Buffer): string {
  const found = MARKS.find(([, ...marks]) => marks.every(([offset, bytes]) => stands(head, offset, bytes)));
  if (found !== undefined) return found[0];
  return isText(head) ? "text/plain" : "application/octet-stream";
}

function stands(head: Buffer, offset: number, bytes: string): boolean {
  return head.toString("latin1", offset, offset + bytes.length) === bytes;
}

/** Whether the bytes are UTF-8 without control characters other than white space; the last character may be cut. */
function isText(head: Buffer): boolean {
  if (!head.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x0c))
    return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** The result of examining a file: why it cannot be read, or its content. */
export interface ImageFacts {
  /** Why it cannot be read, as a code of {@link problemText}; null where it can. */
  problem: string | null;
  size: number;
  /** Hexadecimal; null where it was too large to be read. */
  sha256: string | null;
  /** Media type by its first bytes; null where it was not read. */
  type: string | null;
}

const PROBLEM_TEXTS: Readonly<Record<string, Message>> = {
  ENOENT: m.feeds.notThere,
  ENOTDIR: m.feeds.notThere,
  ENAMETOOLONG: m.feeds.notThere,
  EACCES: m.feeds.mayNotBeRead,
  EPERM: m.feeds.mayNotBeRead,
  ELOOP: m.feeds.linkToNowhere,
  EIO: m.feeds.diskFails,
  outside: m.feeds.linkToOutside,
  folder: m.feeds.isFolder,
  special: m.feeds.notOrdinary,
  written: m.feeds.beingWritten,
};

/** The text for a problem code, of the system or of `read-image`; continues a sentence that begins with "the file". */
export function problemText(code: string): Message {
  return PROBLEM_TEXTS[code] ?? m.feeds.unreadable({ code });
}

/** Why a file may not be sent, or undefined where it may. */
export function refusalOf(
  facts: ImageFacts,
  limits: { bytesMax: number; types: readonly string[] },
): Message | undefined {
  if (facts.problem !== null) return m.feeds.fileProblem({ problem: problemText(facts.problem) });
  if (facts.size > limits.bytesMax || facts.sha256 === null) {
    return m.feeds.fileTooLarge({ size: facts.size, bytesMax: limits.bytesMax });
  }
  if (facts.size === 0) return m.feeds.fileEmpty;
  if (facts.type !== null && limits.types.includes(facts.type)) return undefined;
  const { type } = facts;
  return TYPE_TEXTS[type ?? ""] ?? m.feeds.fileOfType({ type: String(type) });
}

const TYPE_TEXTS: Readonly<Record<string, Message>> = {
  "text/plain": m.feeds.fileIsText,
  "application/pdf": m.feeds.fileIsPdf,
  "application/zip": m.feeds.fileIsArchive,
  "application/octet-stream": m.feeds.fileIsUnknown,
};
