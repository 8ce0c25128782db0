import type { Store } from "../database/store.ts";
import type { JobContext } from "../pass/job.ts";
import type { MirrorLink, MirrorTx } from "./connection.ts";
import type { Position, Seen, Self } from "./position.ts";

/** What a pass of the mirror hands to its parts. */
export interface MirrorSession {
  link: MirrorLink;
  self: Self;
  context: JobContext;
  /** PostgreSQL is behind what was committed there: it was restored, and everything is to be gone through. */
  readonly isRestored: boolean;
  /**
   * One transaction that writes: the position is locked, and was found to be this shop's and this process's, before `work` begins. `work` ends with
   * `savePosition`, and gives its turn; `isRestored` says that what follows from a restore has begun with it.
   */
  transact<T extends { turn: number; isRestored?: boolean }>(
    work: (tx: MirrorTx, position: Position) => Promise<T>,
  ): Promise<T>;
}

export interface PartResult {
  counts: Record<string, number>;
  /** More waits already. */
  more: boolean;
}

/** One direction. */
export interface MirrorPart {
  readonly name: "down" | "up";
  /** Whether a pass has something to do; asked every time, so that it must cost next to nothing. */
  hasWork(store: Store, seen: Seen, isRestored: boolean): boolean;
  /** The next passes go through everything. */
  compareAll(): void;
  /** One transaction in PostgreSQL, whose size is bounded, and what belongs to it in the shop's database. `seen` is of a look before it. */
  turn(session: MirrorSession, seen: Seen, signal: AbortSignal): Promise<PartResult>;
}
