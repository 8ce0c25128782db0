/*
 * Status requests that wait for their next try. What waits after a failure is kept for the next process: where each pass
 * is a process of its own, a request that fails for ever would otherwise be sent in each, and make each fail. A start of
 * the daemon tries all at once.
 */
import { MetaValue } from "../database/meta.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";

/** More are due in the next process: the breaker ends a pass long before so many have failed. */
const KEPT_MAX = 1_000;

/** A request that waits for its next try. */
export interface Waiting {
  /** Monotonic. */
  untilMs: number;
  /** Number of accepted statuses when it first failed. */
  accepted: number;
  /** Order id of the request, if the service answered that there is nothing at the path. */
  nowhere: string | undefined;
  /** What the row asks for; another request that takes its id does not wait. Undefined: that one waits as well. */
  asked?: string | undefined;
  /** Set while it waits for a read of its order. */
  unread?: Unread;
  /** Set while it waits for its order to show the status: the order as it was then. */
  seen?: { orderId: string; revision: number | undefined } | undefined;
}

export interface Unread {
  /** How often it had to wait so. */
  times: number;
  orderId: string;
  /** The order's revision then. */
  revision: number | undefined;
  isQueued: boolean;
}

/** What is kept: times of the machine's clock. */
interface Kept {
  atMs: number;
  /** How statuses are sent: another way may be accepted at once. */
  signature: string;
  requests: readonly {
    id: string;
    untilMs: number;
    isOwn: boolean;
    nowhere?: string | undefined;
    asked?: string | undefined;
  }[];
}

/** Deleted, all are due. */
export const KEPT_REQUESTS = new MetaValue<Kept | undefined>("waiting_statuses");

export class WaitingRequests {
  readonly #context: JobContext;
  /** Number of statuses that the service accepted since the start. */
  readonly #accepted: () => number;
  readonly #signature: string;
  #waiting: Map<bigint, Waiting> | undefined;
  /** The requests that are kept now, as text. */
  #kept: string | undefined;

  constructor(context: JobContext, { accepted, signature }: { accepted: () => number; signature: string }) {
    this.#context = context;
    this.#accepted = accepted;
    this.#signature = signature;
  }

  get all(): ReadonlyMap<bigint, Waiting> {
    return this.#loaded;
  }

  get(id: bigint): Waiting | undefined {
    return this.#loaded.get(id);
  }

  delete(id: bigint): void {
    this.#loaded.delete(id);
  }

  /** Returns whether another request was accepted since this one began to fail. */
  postpone(
    id: bigint,
    { ms, nowhere, asked, unread, seen }: Partial<Omit<Waiting, "untilMs" | "accepted">> & { ms: number },
  ): boolean {
    const accepted = this.get(id)?.accepted ?? this.#accepted();
    const untilMs = this.#context.clock.monotonicMs() + ms;
    this.#loaded.set(id, { untilMs, accepted, nowhere, asked, seen, ...(unread === undefined ? {} : { unread }) });
    return this.#accepted() > accepted;
  }

  /** Milliseconds until the first of them is due; undefined where none waits. */
  nextDueInMs(): number | undefined {
    if (this.#loaded.size === 0) return undefined;
    const untilMs = Math.min(...[...this.#loaded.values()].map((waiting) => waiting.untilMs));
    return Math.max(0, untilMs - this.#context.clock.monotonicMs());
  }

  /** Keeps them for the next process. One that waits for a read has sent nothing, and is decided anew there. */
  async save(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const failed = [...this.#loaded].filter(([, { unread }]) => unread === undefined).slice(0, KEPT_MAX);
    const requests = failed.map(([id, { untilMs, accepted, nowhere, asked }]) => {
      return { id: String(id), untilMs, isOwn: this.#accepted() > accepted, nowhere, asked };
    });
    const text = JSON.stringify(requests);
    if (text === this.#kept) return;
    await commit(this.#context, signal, () => {
      const kept = { atMs: clock.monotonicMs(), signature: this.#signature, requests };
      KEPT_REQUESTS.save(store, requests.length === 0 ? undefined : kept);
    });
    this.#kept = text;
  }

  get #loaded(): Map<bigint, Waiting> {
    this.#waiting ??= this.#load();
    return this.#waiting;
  }

  #load(): Map<bigint, Waiting> {
    const { store, clock } = this.#context;
    const kept = KEPT_REQUESTS.load(store);
    // A later time was noted before the machine's last start.
    const isValid = kept?.signature === this.#signature && kept.atMs <= clock.monotonicMs();
    const requests = isValid ? kept.requests : [];
    this.#kept = JSON.stringify(requests);
    const accepted = this.#accepted();
    return new Map(
      requests.map(({ id, untilMs, isOwn, nowhere, asked }) => {
        return [BigInt(id), { untilMs, accepted: isOwn ? accepted - 1 : accepted, nowhere, asked }];
      }),
    );
  }
}
