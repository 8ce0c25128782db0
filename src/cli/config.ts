import { findStaleCredential } from "../config/credential.ts";
import { configJsonSchema, showConfig } from "../config/show.ts";
import { refuseOtherAccount } from "../daemon/account.ts";
import { hasDatabase } from "../daemon/missing-database.ts";
import { openReadOnly } from "../database/connection.ts";
import { isLocked } from "../database/file/instance-lock.ts";
import { m } from "../messages/messages.ts";
import { EXIT } from "../platform/errors.ts";
import { type Command, load, requireDatabase } from "./command.ts";
import { jsonLine } from "./terminal.ts";

/** Set by systemd for `ExecReload=`, to the daemon's process. A daemon then exists, and so must the database. */
const RELOADED = "MAINPID";

/** Shows the effective configuration, defaults included, without secrets. */
export const configShow: Command = async (call) => {
  const loaded = await load(call);
  const text = showConfig(loaded);
  call.terminal.out(call.json ? jsonLine({ file: loaded.file, config: text }) : text.trimEnd(), "as it is");
  return EXIT.ok;
};

/**
 * Whether a running daemon would accept this configuration: the file, and the account of the database. Skips everything
 * slow, so that a reload can wait for it. The secret is optional, because systemd passes it to the daemon and not to a
 * program that a reload starts.
 */
export const configCheck: Command = async (call) => {
  const loaded = await load(call, "optional");
  const database = loaded.config.database.path;
  if (call.terminal.env[RELOADED] !== undefined) requireDatabase(loaded);
  const isThere = hasDatabase(loaded);
  if (isThere) {
    using store = openReadOnly(loaded.config.database.path);
    refuseOtherAccount(store, loaded);
  }
  const stale = findStaleCredential(isLocked(database)?.holder?.secret);
  if (stale !== undefined) throw stale;
  const message = isThere
    ? m.check.valid({ file: loaded.file })
    : m.command.validNoDatabase({ file: loaded.file, database });
  call.terminal.out(call.json ? jsonLine({ ok: true, file: loaded.file }) : message);
  return EXIT.ok;
};

/** Prints the JSON Schema of the configuration file, for editors. */
export const configSchemaCommand: Command = (call) => {
  const schema = configJsonSchema();
  call.terminal.out(call.json ? jsonLine({ schema }) : JSON.stringify(schema, null, 2), "as it is");
  return EXIT.ok;
};
