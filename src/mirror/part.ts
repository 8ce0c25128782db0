import type { JobContext } from "../pass/job.ts";
import type { MirrorLink, MirrorTx } from "./connection.ts";
import type { Position, Seen, Self } from "./position.ts";

/** What a pass of the mirror hands to its parts. */
export interface MirrorSession {
  link: MirrorLink;
  self: Self;
  context: JobContext;
  /**
   * One transaction that writes: the position is locked, and was found to be this shop's and this process's, before `work` begins. `work` ends with
   * `savePosition`, and gives its turn.
   */
  transact<T extends { turn: number }>(work: (tx: MirrorTx, position: Position) => Promise<T>): Promise<T>;
}

export interface PartResult {
  counts: Record<string, number>;
  /** More waits already. */
  more: boolean;
}

/** One direction. What it commits in one pass is bounded. */
export interface MirrorPart {
  readonly name: "down" | "up";
  run(session: MirrorSession, seen: Seen, signal: AbortSignal): Promise<PartResult>;
}
