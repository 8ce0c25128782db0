/*
 * Paths on the command line. Where one cannot be used as it was typed (nothing is there, it is of another kind, or this
 * user has no right to it), the call is wrong: exit code 64, before anything was done. What a file holds is judged where it
 * is read. `--config` is no such path: it names the configuration.
 */
import { accessSync, constants, existsSync, lstatSync } from "node:fs";
import path from "node:path";
import { asBridgeError, faultCodeOf } from "../database/sqlite-errors.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";

const OF_PATH = /^(ENOENT|ENOTDIR|EISDIR|EACCES|EPERM|EROFS|ELOOP|ENAMETOOLONG|ENXIO)$/;

/**
 * @param longest of the names beside it that are made with it
 * @throws BridgeError `usage` where no file of this name can be made in its folder
 */
export function requireFolderOf(file: string, longest: string, doing: Message): void {
  attempt(file, doing, () => {
    // The dot, because a file has such rights too.
    accessSync(`${path.dirname(file)}/.`, constants.W_OK | constants.X_OK);
    lstatSync(longest, { throwIfNoEntry: false });
  });
}

/** @throws BridgeError `usage` where the file cannot be read */
export function requireReadable(file: string, doing: Message): void {
  attempt(file, doing, () => accessSync(file, constants.R_OK));
}

/** @throws BridgeError `usage` where neither the file nor the folders that it lacks can be made */
export function requirePlace(name: string): void {
  let folder = path.dirname(name);
  while (!existsSync(folder)) folder = path.dirname(folder);
  try {
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = faultCodeOf(error) ?? String(error);
    throw new BridgeError("usage", m.init.notWritten({ name, code }), { hint: m.init.runAsOwner, cause: error });
  }
}

function attempt(file: string, doing: Message, use: () => void): void {
  try {
    use();
  } catch (error) {
    const { text, hint } = asBridgeError(error, doing, file);
    if (!OF_PATH.test(faultCodeOf(error) ?? "")) throw error;
    throw new BridgeError("usage", text, { ...(hint === undefined ? {} : { hint }), cause: error });
  }
}
