/*
 * Fencing: only one bridge works for a shop. Each start claims the shop in PostgreSQL; an instance that finds a newer claim
 * than its own stops sending requests to the service. It checks this in each pass of the mirror, for which no flow waits. Pure.
 *
 * Claims are numbered, ascending. PostgreSQL may be restored to an earlier state: an instance with a higher number than the
 * stored one claims again. A takeover by a person has a number too, stored in the database that continues: a machine whose
 * database has a lower one never claims again; one with a higher one claims again and restores its number in PostgreSQL.
 */
import type { Position, Self } from "../position.ts";

export interface Claim {
  writer: string;
  /** Number of this process's claim; undefined before it has claimed. */
  writerNo: number | undefined;
  /** Number of the newest takeover stored in the shop's database. */
  takeoverNo: number;
}

export type FenceVerdict =
  /** This process holds the claim. */
  | { kind: "ours" }
  /** Claim the shop with this number. */
  | { kind: "claim"; writerNo: number }
  /** Another instance works for the shop. `isTakenOver`: a person has moved the shop to another machine. */
  | { kind: "fenced"; isTakenOver: boolean };

/** The claims to its shop stored in a database; `claims` undefined: an earlier version that stored none. */
export interface Known {
  claims: readonly string[] | undefined;
  /** When the shop last wrote to PostgreSQL according to this database, in seconds since 1970; undefined: unknown. */
  heardAtS: number | undefined;
}

/** The stored time is at most a minute behind its own process; more means another process. */
const BEHIND_MAX_S = 300;

type AtWork = Pick<Position, "writer" | "host" | "databaseId" | "account"> & { heardAtS: number; isSilent: boolean };

/**
 * Whether another instance may be working for the shop: one whose claim this database does not list, one that continued
 * after this database was copied, one on another host, or one with a database of its own that works with the same
 * account. A start does not claim the shop while that instance still writes; otherwise a trial with a copy of the database
 * would stop the original.
 * @param self the instance that starts; absent for a command, which may run on another host than its daemon
 */
export function mayBeAtWork(
  { writer, host, databaseId, account, heardAtS, isSilent }: AtWork,
  { claims, heardAtS: knownS }: Known,
  self?: Pick<Self, "host" | "databaseId" | "account">,
): boolean {
  if (isSilent || writer === null) return false;
  // Another account is another shop, with this one's key by mistake.
  if (self !== undefined && databaseId !== self.databaseId) return account === self.account;
  if (claims === undefined) return false;
  if (self !== undefined && host !== null && host !== self.host) return true;
  return !claims.includes(writer) || (knownS !== undefined && heardAtS > knownS + BEHIND_MAX_S);
}

/**
 * Whether a command that does not claim the shop, such as `probe`, may send requests to the service: not with a database
 * whose shop another instance works for.
 */
export function judgeVisit(
  seen: AtWork & Pick<Position, "takeoverNo">,
  known: Known & { takeoverNo: number },
): "free" | "taken over" | "at work" {
  if (seen.takeoverNo > known.takeoverNo) return "taken over";
  return mayBeAtWork(seen, known) ? "at work" : "free";
}

export function judgeWriter(
  { writer, writerNo, takeoverNo }: Pick<Position, "writer" | "writerNo" | "takeoverNo">,
  own: Claim,
): FenceVerdict {
  if (takeoverNo > own.takeoverNo) return { kind: "fenced", isTakenOver: true };
  const isForgotten = takeoverNo < own.takeoverNo;
  // Includes a claim whose COMMIT was not answered.
  if (writer === own.writer && !isForgotten) return { kind: "ours" };
  if (!isForgotten && own.writerNo !== undefined && writerNo > own.writerNo)
    return { kind: "fenced", isTakenOver: false };
  return { kind: "claim", writerNo: Math.max(writerNo, own.writerNo ?? 0) + 1 };
}
