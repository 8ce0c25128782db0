import path from "node:path";
import { type LoadedConfig, loadConfig, type SecretNeed } from "../config/load.ts";
import { ConfigError, nearest, printable } from "../config/problems.ts";
import { hasDatabase } from "../daemon/missing-database.ts";
import { openReadOnly } from "../database/connection.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { becomeOwnerOf } from "../platform/become-owner.ts";
import { BridgeError, EXIT, type ExitCode } from "../platform/errors.ts";
import type { Paint } from "../platform/paint.ts";
import { asTyped, speakAs } from "./call.ts";
import type { Terminal } from "./terminal.ts";

/** Context of every command. */
export interface Call {
  terminal: Terminal;
  /** The file that `--config`, `--instance` or the default selects. */
  configFile: string;
  json: boolean;
  /** For results on standard output. */
  paint: Paint;
  /** For messages and the log on standard error. */
  paintErr: Paint;
}

export type Command<Options = object> = (call: Call, options: Options) => Promise<ExitCode> | ExitCode;

/**
 * Loads the configuration. Every command that uses the database must start here: afterwards the process is no longer
 * root where the database's folder belongs to another user.
 * @throws ConfigError with all problems at once
 */
export async function load(call: Call, secret: SecretNeed = "needed"): Promise<LoadedConfig> {
  const loaded = await loadAsCaller(call, secret);
  becomeOwnerOf(path.dirname(loaded.config.database.path), call.terminal.env);
  return loaded;
}

/**
 * The same without giving up root, for a command that writes the configuration. It must become the owner of the
 * database's folder for each access there.
 */
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

/** @throws BridgeError `database_refused` where the database does not exist yet, or is gone */
export function requireDatabase(loaded: LoadedConfig): void {
  if (hasDatabase(loaded)) return;
  const file = loaded.config.database.path;
  throw new BridgeError("database_refused", m.command.noDatabase({ file }), { hint: m.command.databaseMade });
}

/** Opens the existing database read-only. */
export function readExisting(loaded: LoadedConfig): Store {
  requireDatabase(loaded);
  return openReadOnly(loaded.config.database.path);
}

/** The exit code with the highest precedence (see {@link EXIT}); `ok` for none. */
export function worstOf(codes: readonly ExitCode[]): ExitCode {
  return Object.values(EXIT).find((code) => codes.includes(code)) ?? EXIT.ok;
}

/** Whether a person has answered a question with yes; no answer means no. */
export function isYes(answer: string | undefined): boolean {
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

/** The error for an unknown word on the command line, with a suggestion. */
export function unknownWord(what: Message, word: string, known: readonly string[]): BridgeError {
  const near = nearest(word, known);
  return new BridgeError("usage", m.command.unknownWord({ what, word: printable(word) }), {
    hint: near === null ? m.command.known({ names: known }) : m.command.didYouMean({ name: near }),
  });
}
