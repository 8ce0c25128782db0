import { existsSync } from "node:fs";
import path from "node:path";
import { type LoadedConfig, loadConfig, type SecretNeed } from "../config/load.ts";
import { ConfigError, nearest, printable } from "../config/problems.ts";
import { openReadOnly } from "../database/connection.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { becomeOwnerOf } from "../platform/become-owner.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import type { Paint } from "../platform/paint.ts";
import { asTyped, speakAs } from "./call.ts";
import type { Terminal } from "./terminal.ts";

/** What every command is handed. */
export interface Call {
  terminal: Terminal;
  /** `--config`, `--instance` or neither, resolved to a file. */
  configFile: string;
  json: boolean;
  /** Of results, for standard output. */
  paint: Paint;
  /** Of messages and the log, for standard error. */
  paintErr: Paint;
}

export type Command<Options = object> = (call: Call, options: Options) => Promise<ExitCode> | ExitCode;

/**
 * The one way to the configuration, and so to the database: after it the process is not root any more where the
 * database's folder is not root's.
 * @throws ConfigError with everything that is wrong, at once
 */
export async function load(call: Call, secret: SecretNeed = "needed"): Promise<LoadedConfig> {
  const loaded = await loadAsCaller(call, secret);
  becomeOwnerOf(path.dirname(loaded.config.database.path), call.terminal.env);
  return loaded;
}

/** The same for a command that writes the configuration, which may be root's: it goes near the database as its owner only. */
export async function loadAsCaller(call: Call, secret: SecretNeed = "needed"): Promise<LoadedConfig> {
  const loaded = loadTyped(call, secret);
  speakAs(call, loaded.config);
  return loaded;
}

function loadTyped(call: Call, secret: SecretNeed): LoadedConfig {
  try {
    return loadConfig({ file: call.configFile, env: call.terminal.env, secret });
  } catch (error) {
    throw error instanceof ConfigError ? error.asTyped((command) => asTyped(command, call)) : error;
  }
}

/** @throws BridgeError where there is no database to look into yet. */
export function requireDatabase(loaded: LoadedConfig): void {
  const file = loaded.config.database.path;
  if (!existsSync(file)) {
    throw new BridgeError("database_refused", m.command.noDatabase({ file }), { hint: m.command.databaseMade });
  }
}

/** The database, which has to be there, for a command that only looks. */
export function readExisting(loaded: LoadedConfig): Store {
  requireDatabase(loaded);
  return openReadOnly(loaded.config.database.path);
}

/** The exit code of a command that came to several ends: the first that applies, in the documented order. */
export function worstOf(codes: readonly ExitCode[]): ExitCode {
  return Object.values(EXIT).find((code) => codes.includes(code)) ?? EXIT.ok;
}

/** A word on the command line that is none of those that are known. */
export function unknownWord(what: Message, word: string, known: readonly string[]): BridgeError {
  const near = nearest(word, known);
  return new BridgeError("usage", m.command.unknownWord({ what, word: printable(word) }), {
    hint: near === null ? m.command.known({ names: known }) : m.command.didYouMean({ name: near }),
  });
}
