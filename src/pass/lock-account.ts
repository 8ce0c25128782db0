import type { LoadedConfig } from "../config/load.ts";
import { isLocked, runningError } from "../database/file/instance-lock.ts";
import { m } from "../messages/messages.ts";
import { type AccountLock, acquireAccountLock } from "../platform/account-lock.ts";
import { BridgeError } from "../platform/errors.ts";

/** The lock on an account: on this machine one program at a time works for it, whatever database it has. */
export type LockedAccount = Exclude<AccountLock, { state: "taken" }>;

/** @throws BridgeError `instance_running` where another program on this machine works for the account */
export async function lockAccount({ config }: Pick<LoadedConfig, "config">): Promise<LockedAccount> {
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = config.service;
  const lock = await acquireAccountLock({ baseUrl, clientId, clientSecret });
  if (lock.state !== "taken") return lock;
  const { path: database } = config.database;
  const other = isLocked(database);
  if (other !== undefined && other.holder?.pid !== process.pid) throw runningError(database);
  throw new BridgeError("instance_running", m.daemon.accountTaken({ clientId, baseUrl }), {
    hint: m.daemon.ownAccounts,
  });
}
