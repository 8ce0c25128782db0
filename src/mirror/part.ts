import type { Store } from "../database/store.ts";
import type { JobContext } from "../pass/job.ts";
import type { MirrorLink, MirrorTx } from "./connection.ts";
import type { Position, Seen, Self } from "./position.ts";

/** What a pass of the mirror passes to its parts. */
export interface MirrorSession {
  link: MirrorLink;
  self: Self;
  context: JobContext;
  /** PostgreSQL is behind what was committed there: it was restored, and all rows must be compared. */
  readonly isRestored: boolean;
  /**
   * One writing transaction: locks the position and verifies that it is of this shop and this process before `work` runs.
   * `work` ends with `savePosition` and returns its turn; `isRestored` true means that it has begun the comparison after a
   * restore.
   */
  transact<T extends { turn: number; isRestored?: boolean }>(
    work: (tx: MirrorTx, position: Position) => Promise<T>,
  ): Promise<T>;
}

export interface PartResult {
  counts: Record<string, number>;
  /** Whether more rows are waiting. */
  more: boolean;
}

/** One direction: `down` to PostgreSQL, `up` to the shop. */
export interface MirrorPart {
  readonly name: "down" | "up";
  /** Whether there is something to do. Called in every round, so it must be cheap. */
  hasWork(store: Store, seen: Seen, isRestored: boolean): boolean;
  /** Makes the next passes compare all rows. */
  compareAll(): void;
  /**
   * One transaction of limited size in PostgreSQL, and the related ones in the shop's database.
   * @param seen the position as read before, without a lock
   */
  turn(session: MirrorSession, seen: Seen, signal: AbortSignal): Promise<PartResult>;
}
