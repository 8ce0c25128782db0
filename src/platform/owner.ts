/** What a copy or an entry of a journal belongs to. */
export interface Owner {
  /** Address of the service and client id, as `meta.account` has them. */
  account: string | undefined;
  /** The number that a database got when it was made; it stays with it wherever it is moved. */
  database: string | undefined;
}

/** What names no owner was made by an older version, before folders could be shared. */
export function isForeign(made: Owner, own: Owner): boolean {
  if (made.database !== undefined && made.database === own.database) return false;
  return made.account !== undefined && made.account !== own.account;
}
