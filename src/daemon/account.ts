import { hash, randomBytes, randomUUID } from "node:crypto";
import type { LoadedConfig } from "../config/load.ts";
import { loadMeta, saveMeta } from "../database/meta.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { deleteHoldsFor } from "../pass/hold-rows.ts";
import { BridgeError } from "../platform/errors.ts";
import type { Owner } from "../platform/owner.ts";
import { credentialsMark } from "../platform/secrets.ts";

/** Identifies an account: the service's address and the client id, as JSON. */
export function accountOf({ service }: Pick<LoadedConfig["config"], "service">): string {
  return JSON.stringify([service.base_url, service.client_id]);
}

/** The same as a digest, which does not reveal it. */
export function accountMark(config: LoadedConfig["config"]): string {
  return hash("sha256", accountOf(config), "hex").slice(0, 32);
}

/** Records the account in a new database; refuses another account's database. */
export function checkAccount(store: Store, loaded: LoadedConfig): void {
  refuseOtherAccount(store, loaded);
  if (loadMeta(store, "database") === undefined) store.write(() => saveMeta(store, "database", randomUUID()));
  if (loadMeta(store, "account") === undefined) store.write(() => saveMeta(store, "account", accountOf(loaded.config)));
}

/**
 * Refuses a database that was filled from another account: the two shops' orders would be mixed, and one's confirmed to
 * the other.
 * @throws BridgeError `account_changed`
 */
export function refuseOtherAccount(store: Store, { config }: LoadedConfig): void {
  const known = loadMeta(store, "account");
  if (known === undefined || known === accountOf(config)) return;
  throw otherAccount(store, known, m.daemon.ownDatabase);
}

function otherAccount(store: Store, known: string, hint: Message): BridgeError {
  const [url, id] = JSON.parse(known) as [string, string];
  return new BridgeError("account_changed", m.daemon.otherAccount({ path: store.path, id, url }), { hint });
}

/**
 * For a process that continues to run while `resume account` may change the account. The returned function throws
 * `account_changed`.
 */
export function accountKeeper(store: Store, { config }: LoadedConfig): () => void {
  const own = accountOf(config);
  return () => {
    const known = loadMeta(store, "account");
    if (known !== undefined && known !== own) throw otherAccount(store, known, m.daemon.reloadForAccount);
  };
}

/**
 * Lifts the holds of former credentials, because the present ones have not been refused. Inside a write transaction;
 * returns how many holds were lifted.
 */
export function liftCredentialHolds(store: Store, { config }: LoadedConfig): number {
  const { client_id: id, client_secret: secret } = config.service;
  const known = loadMeta(store, "credentials");
  const salt = known?.split(":", 1)[0] ?? randomBytes(16).toString("hex");
  const mark = credentialsMark(id, secret, salt);
  if (mark === known) return 0;
  saveMeta(store, "credentials", mark);
  return known === undefined ? 0 : deleteHoldsFor(store, "credentials");
}

/** The owner for backups and journals: this account, or this database where the account has got another address. */
export function ownerOf(store: Store, { config }: LoadedConfig): Owner {
  return { account: accountOf(config), database: loadMeta(store, "database") };
}
