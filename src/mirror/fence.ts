/*
 * One bridge works for a shop. Each start claims the shop in PostgreSQL; an instance that finds a newer claim than its own asks
 * the service nothing more. It learns that at its next look, which no flow waits for. Pure.
 *
 * A claim has a number, which grows. PostgreSQL may be restored to an older one: an instance whose number is larger than what it
 * finds claims again. A takeover by a person has a number too, which the database that goes on keeps: a machine whose database has a
 * smaller one never claims again, whatever it finds; one with a larger one claims again, and its number stands there once more.
 */
import type { Position } from "./position.ts";

export interface Claim {
  writer: string;
  /** Of this process's claim; undefined: it has not claimed yet. */
  writerNo: number | undefined;
  /** The newest takeover that the shop's database has noted. */
  takeoverNo: number;
}

export type FenceVerdict =
  /** The claim stands. */
  | { kind: "ours" }
  /** To be claimed, with this number. */
  | { kind: "claim"; writerNo: number }
  /** Another instance works for the shop. `isTakenOver`: a person has said so, for another machine. */
  | { kind: "fenced"; isTakenOver: boolean };

/** The claims to its shop that a database has noted; `claims` undefined: it is of a version that noted none. */
export interface Known {
  claims: readonly string[] | undefined;
  /** When the shop last wrote to PostgreSQL, as far as this database has noted; undefined: not noted. */
  heardAtS: number | undefined;
}

/** A database is behind its own process by a minute at most. */
const BEHIND_MAX_S = 300;

/**
 * Whether a start finds that another instance may be at work: one whose claim is not noted in this database, or one
 * that went on after this database was copied. It does not claim the shop while that one still writes. A copy that
 * that is tried out would otherwise end the original.
 */
export function mayBeAtWork(
  { writer, heardAtS, isSilent }: { writer: string | null; heardAtS: number; isSilent: boolean },
  { claims, heardAtS: knownS }: Known,
): boolean {
  if (isSilent || writer === null || claims === undefined) return false;
  return !claims.includes(writer) || (knownS !== undefined && heardAtS > knownS + BEHIND_MAX_S);
}

/**
 * Whether a command may ask the service that claims nothing itself, as `probe` beside a daemon or without one: not on a database whose shop
 * another instance has.
 */
export function judgeVisit(
  seen: Pick<Position, "writer" | "writerNo" | "takeoverNo"> & { heardAtS: number; isSilent: boolean },
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
  // Also of a claim whose COMMIT was not answered.
  if (writer === own.writer && !isForgotten) return { kind: "ours" };
  if (!isForgotten && own.writerNo !== undefined && writerNo > own.writerNo)
    return { kind: "fenced", isTakenOver: false };
  return { kind: "claim", writerNo: Math.max(writerNo, own.writerNo ?? 0) + 1 };
}
