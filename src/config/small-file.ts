import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";

export interface SmallFile {
  bytes: Buffer;
  /** Permission bits as `stat` gives them. */
  mode: number;
}

/**
 * Reads a regular file of at most `bytesMax`; what is wrong with it as a sentence's end ("does not exist"). A pipe or a
 * device could block for ever or never end, so the kind is asked before anything is read, and opening does not wait.
 */
export function readSmallFile(file: string, bytesMax: number): SmallFile | { problem: Message; code: string } {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile()) return { problem: m.config.notRegularFile, code: "EISDIR" };
      if (stat.size > bytesMax) return { problem: m.config.tooLarge({ bytesMax }), code: "EFBIG" };
      const bytes = Buffer.alloc(stat.size);
      return { bytes: bytes.subarray(0, readSync(descriptor, bytes)), mode: stat.mode };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    return { problem: REASONS[code] ?? m.config.unreadable({ code }), code };
  }
}

const REASONS: Readonly<Record<string, Message>> = {
  ENOENT: m.config.notFound,
  ENOTDIR: m.config.notFound,
  EACCES: m.config.notPermitted,
  EPERM: m.config.notPermitted,
  ERR_INVALID_ARG_VALUE: m.config.impossibleName,
};
