/*
 * Reads only files inside the images' folder. A name is first resolved and must end inside the folder; after opening, the
 * real path of the descriptor is checked before a byte is read, so that a link created in between is refused too. Links that
 * stay inside the folder are followed. Nothing is kept open or written, and large files are read in pieces that do not
 * block the event loop.
 */
import { createHash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import path from "node:path";
import { m } from "../../messages/messages.ts";
import { BridgeError } from "../../platform/errors.ts";
import { HEAD_BYTES, problemText, typeOf } from "./image-file.ts";
import type { ImageFile } from "./image-rows.ts";

/** Hashing a piece takes well under a millisecond. */
const PIECE_BYTES = 256 * 1024;
/** Opening a FIFO would block until a writer opens it, and a terminal would become the controlling one. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** A file written so recently may be incomplete. */
const QUIET_MS = 2_000;

/** The file cannot be read; the message is a code of `problemText`. */
class Unreadable extends Error {}

export type Look =
  | { kind: "same" }
  /** Written a moment ago: to be examined again after `waitMs`. */
  | { kind: "young"; waitMs: number }
  | { kind: "found"; file: ImageFile };

/** The real path of the folder. @throws BridgeError `folder_missing`, which is no error of a file */
export async function findFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (cause) {
    throw new BridgeError("folder_missing", m.feeds.imagesFolder({ folder, why: problemText(codeOf(cause)) }), {
      hint: m.feeds.makeFolder,
      cause,
    });
  }
}

/**
 * Reads a file if it was written since it was last examined.
 * @param folder the result of `findFolder`
 */
export async function lookAtImage(
  folder: string,
  name: string,
  options: { known: ImageFile | undefined; bytesMax: number; nowMs: number },
): Promise<Look> {
  const { known, bytesMax, nowMs } = options;
  try {
    const { real, stat } = await findImage(folder, name);
    const isRead = known !== undefined && (known.sha256 !== null || stat.size > BigInt(bytesMax));
    if (isRead && known.identity === identityOf(stat)) return { kind: "same" };
    const ageMs = nowMs - Number(stat.mtimeMs);
    // A time in the future is ignored.
    if (ageMs >= 0 && ageMs < QUIET_MS) return { kind: "young", waitMs: QUIET_MS - ageMs };
    const file = await openImage(folder, real, (handle, opened) => factsOf(handle, opened, bytesMax));
    return found({ path: name, ...file }, known);
  } catch (error) {
    return found(unreadable(name, describe(error)), known);
  }
}

/** The stored result for a file that cannot be read. */
export function unreadable(name: string, problem: string): ImageFile {
  return { path: name, identity: null, size: 0, sha256: null, type: null, problem };
}

function found(file: ImageFile, known: ImageFile | undefined): Look {
  const isKnown = known !== undefined && (Object.keys(file) as (keyof ImageFile)[]).every((k) => file[k] === known[k]);
  return isKnown ? { kind: "same" } : { kind: "found", file };
}

/** The whole file if it has the given hash; else undefined, whatever the reason. */
export async function readImage(
  folder: string,
  name: string,
  wanted: { sha256: string; bytesMax: number },
): Promise<Buffer | undefined> {
  try {
    const { real } = await findImage(folder, name);
    return await openImage(folder, real, async (handle, { size }) => {
      if (size > BigInt(wanted.bytesMax)) return undefined;
      const bytes = Buffer.allocUnsafe(Number(size));
      const { hash } = await readPieces(handle, bytes.length, (piece, at) => void piece.copy(bytes, at));
      return hash === wanted.sha256 ? bytes : undefined;
    });
  } catch (error) {
    describe(error);
    return undefined;
  }
}

/** Resolves all links and checks the type before opening: opening a device can have side effects. */
async function findImage(folder: string, name: string): Promise<{ real: string; stat: BigIntStats }> {
  const real = await realpath(path.join(folder, name));
  if (!isInside(real, folder)) throw new Unreadable("outside");
  const stat = await lstat(real, { bigint: true });
  if (stat.isDirectory()) throw new Unreadable("folder");
  if (!stat.isFile()) throw new Unreadable("special");
  return { real, stat };
}

async function openImage<T>(
  folder: string,
  real: string,
  use: (handle: FileHandle, stat: BigIntStats) => Promise<T>,
): Promise<T> {
  const handle = await open(real, FLAGS);
  try {
    // The real path of the open file, even if names were changed since it was resolved.
    if (!isInside(await readlink(`/proc/self/fd/${handle.fd}`), folder)) {
      throw new Unreadable("outside");
    }
    const stat = await handle.stat({ bigint: true });
    if (!stat.isFile()) throw new Unreadable("special");
    return await use(handle, stat);
  } finally {
    await handle.close();
  }
}

function isInside(real: string, folder: string): boolean {
  return real.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

async function factsOf(handle: FileHandle, stat: BigIntStats, bytesMax: number): Promise<Omit<ImageFile, "path">> {
  const facts = { identity: identityOf(stat), size: Number(stat.size), problem: null };
  if (stat.size > BigInt(bytesMax)) return { ...facts, sha256: null, type: null };
  const head = Buffer.alloc(Math.min(HEAD_BYTES, facts.size));
  const { hash, bytes } = await readPieces(handle, facts.size, (piece, at) => {
    if (at < head.length) piece.copy(head, at);
  });
  const after = await handle.stat({ bigint: true });
  if (bytes !== facts.size || identityOf(after) !== facts.identity) throw new Unreadable("written");
  return { ...facts, sha256: hash, type: typeOf(head) };
}

/** Reads up to `size` bytes and one more, which detects a growing file. */
async function readPieces(
  handle: FileHandle,
  size: number,
  take: (piece: Buffer, at: number) => void,
): Promise<{ hash: string; bytes: number }> {
  const digest = createHash("sha256");
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size + 1));
  let at = 0;
  while (at <= size) {
    const { bytesRead } = await handle.read(piece, 0, Math.min(piece.length, size + 1 - at), at);
    if (bytesRead === 0) break;
    const part = piece.subarray(0, bytesRead);
    digest.update(part);
    take(part, at);
    at += bytesRead;
  }
  return { hash: digest.digest("hex"), bytes: at };
}

/** The code of an error of the file system, which is stored for the file; any other error is a bug and rethrown. */
function describe(error: unknown): string {
  if (error instanceof Unreadable) return error.message;
  if (!(error instanceof Error) || !("code" in error)) throw error;
  return codeOf(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
