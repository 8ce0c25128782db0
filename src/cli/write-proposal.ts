import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { editConfig } from "../config/edit-config.ts";
import { type LoadedConfig, parseConfig, readConfigText } from "../config/load.ts";
import { proposalLines } from "../config/proposal.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import { m } from "../messages/messages.ts";
import { asOwnerOf } from "../platform/become-owner.ts";
import { BridgeError } from "../platform/errors.ts";
import { placeFile } from "../platform/place-file.ts";
import { timestampInName } from "./timestamp-in-name.ts";

export interface WrittenProposal {
  file: string;
  /** Path of the old file. */
  kept: string;
  changes: { removed: string[]; added: string[] }[];
  /** `asked`: a running daemon reloads now. `needed`: it runs, and a person must reload it. `none`: no daemon runs. */
  reload: "asked" | "needed" | "none";
}

/**
 * Writes values into the configuration's file, keeps the old file beside it, and reloads a running daemon.
 * @throws BridgeError `config_invalid` where the values cannot be written, or the result would be refused
 */
export function writeProposal(
  loaded: LoadedConfig,
  keys: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): WrittenProposal {
  // Edits the target of a link, so that the link stays.
  const file = realpathSync(loaded.file);
  const text = readConfigText(file);
  const edited = editConfig(text, keys);
  if (edited === undefined) {
    throw new BridgeError("config_invalid", m.probe.notWritable({ file }), {
      hint: m.probe.writeByHand({ lines: proposalLines(keys) }),
    });
  }
  parseConfig({ text: edited.text, file: loaded.file, env });
  const keepOld = `${file}.before-${timestampInName()}`;
  const mode = statSync(file).mode & 0o777;
  asOwnerOf(path.dirname(file), () => placeFile(file, edited.text, { mode, keepOld }));
  return { file, kept: keepOld, changes: edited.changes, reload: reloadDaemonOf(loaded.config.database.path) };
}

/** Reads the database's folder as its owner, who can create any name there. */
function reloadDaemonOf(database: string): WrittenProposal["reload"] {
  const folder = path.dirname(database);
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return "none";
  return asOwnerOf(folder, () => reloadDaemon(database));
}

function reloadDaemon(database: string): WrittenProposal["reload"] {
  const holder = statSync(database, { throwIfNoEntry: false }) === undefined ? undefined : isLocked(database)?.holder;
  if (holder?.command !== "run") return "none";
  // The owner of the database can write anything into the lock's file, so only a process of the same user is signalled.
  const owner = statSync(`/proc/${holder.pid}`, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner !== statSync(database).uid) return "needed";
  try {
    process.kill(holder.pid, "SIGHUP");
    return "asked";
  } catch {
    return "needed";
  }
}
