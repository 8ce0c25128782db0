import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { editConfig } from "../config/edit-config.ts";
import { type LoadedConfig, parseConfig, readConfigText } from "../config/load.ts";
import { proposalLines } from "../config/proposal.ts";
import { isLocked } from "../database/instance-lock.ts";
import { m } from "../messages/messages.ts";
import { asOwnerOf } from "../platform/become-owner.ts";
import { BridgeError } from "../platform/errors.ts";
import { placeFile } from "../platform/place-file.ts";
import { timestampInName } from "./timestamp-in-name.ts";

export interface WrittenProposal {
  file: string;
  /** Where the file stands as it was. */
  kept: string;
  changes: { removed: string[]; added: string[] }[];
  /** `asked`: a running daemon reads it now. `needed`: it runs, and a person must notify it. `none`: no daemon runs. */
  reload: "asked" | "needed" | "none";
}

/**
 * Writes values into the configuration's file, keeps it as it was beside it, and notifies a running daemon.
 * @throws BridgeError `config_invalid` where they cannot be written into it, or it would not be accepted then.
 */
export function writeProposal(
  loaded: LoadedConfig,
  keys: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): WrittenProposal {
  // What a link leads to is edited, and the link stays.
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
  return { file, kept: keepOld, changes: edited.changes, reload: tellDaemonOf(loaded.config.database.path) };
}

/** Looks at the database's folder as its owner, who may plant any name there. */
function tellDaemonOf(database: string): WrittenProposal["reload"] {
  const folder = path.dirname(database);
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return "none";
  return asOwnerOf(folder, () => tellDaemon(database));
}

function tellDaemon(database: string): WrittenProposal["reload"] {
  const holder = statSync(database, { throwIfNoEntry: false }) === undefined ? undefined : isLocked(database)?.holder;
  if (holder?.command !== "run") return "none";
  // The words beside the lock are the owner's of the database: they may name no process but his.
  const owner = statSync(`/proc/${holder.pid}`, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner !== statSync(database).uid) return "needed";
  try {
    process.kill(holder.pid, "SIGHUP");
    return "asked";
  } catch {
    return "needed";
  }
}
