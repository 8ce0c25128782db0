/** What a backup or a journal entry belongs to. */
export interface Owner {
  /** Address of the service and client id, as in `meta.account`. */
  account: string | undefined;
  /** The id that a database gets when it is created; it stays when the file moves. */
  database: string | undefined;
}

/** An entry without an account comes from a version before folders could be shared, and counts as own. */
export function isForeign(made: Owner, own: Owner): boolean {
  if (made.database !== undefined && made.database === own.database) return false;
  return made.account !== undefined && made.account !== own.account;
}
