/*
 * Reads orders whole that a change or a doubtful record announced, or that somebody could not settle. Each read is a row
 * (`owed_reads`) until the transaction that stores its snapshot; after a crash it is simply read again. An order that
 * cannot be read waits at the end of the queue with a time of its own and never keeps the others waiting. Where the
 * service answers for no order at all, nothing is noted of any.
 */

import { asError, BridgeError } from "../domain/errors.ts";
import { isAnswered, reachOf } from "../domain/holds.ts";
import { MISSING_FOR_MS } from "../domain/missing-order.ts";
import type { OrderRules } from "../domain/order-rules.ts";
import { isoTime } from "../domain/ports.ts";
import {
  isSameFence,
  loadOrderFence,
  loadOrderMark,
  markOrderRemoved,
  type OrderFence,
  saveSourceHash,
} from "../store/orders.ts";
import {
  countDueReads,
  deleteOwedRead,
  loadDueReads,
  loadOwedRead,
  type OwedRead,
  postponeRead,
} from "../store/positions.ts";
import { saveQuarantined } from "../store/quarantine.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";
import { MissingOrders } from "./missing-orders.ts";
import { OrderReader, type Refreshed } from "./read-order.ts";
import { type Health, ReadPass } from "./read-pass.ts";

const READS_PER_PASS = 200;
/** The first wait of an order that cannot be read; it doubles with each failure of its own. */
const WAIT_FIRST_MS = 30_000;
const WAIT_MAX_MS = 3_600_000;
/** A little longer than the time that an order must be missing, because a `Date` has whole seconds. */
const MISSING_WAIT_MS = MISSING_FOR_MS + 2_000;

/** A read without a result; what that means is decided once it is known whether the service was well. */
interface Aside {
  owed: OwedRead;
  error: unknown;
  /** How the order stood, where the service says that it has none. */
  missing: { status: number | undefined; fence: OrderFence | undefined; orderKey: number | undefined } | undefined;
}

interface Pass {
  reads: ReadPass;
  aside: Aside[];
  counts: Record<string, number>;
  signal: AbortSignal;
}

export class ReadOrders {
  readonly #context: JobContext;
  readonly #reader: OrderReader;
  readonly #missing: MissingOrders;

  constructor(context: JobContext, rules: OrderRules) {
    this.#context = context;
    this.#reader = new OrderReader(context, rules);
    this.#missing = new MissingOrders(context);
  }

  /** Reads what is due, bounded. Returns how many reads are left that the next pass should begin at once. */
  async readOwed(counts: Record<string, number>, signal: AbortSignal): Promise<number> {
    const { store } = this.#context;
    const pass: Pass = { reads: new ReadPass(this.#context, this.#reader, { signal }), aside: [], counts, signal };
    for (const owed of loadDueReads(store, this.#now(), READS_PER_PASS)) {
      if (this.#context.isStopping()) return 0;
      if (await this.#readOne(owed, pass)) continue;
      await this.#putAside(pass, "ill");
      throw asFailure(pass.reads.trouble);
    }
    if (pass.aside.length > 0) {
      const keys = pass.aside.map(({ missing }) => missing?.orderKey ?? 0);
      const health = await pass.reads.findHealth(Math.max(...keys));
      await this.#putAside(pass, health);
      if (health === "ill") throw asFailure(pass.reads.trouble);
    }
    return countDueReads(store, this.#now());
  }

  /** Returns false where the service rather than this order is out of order, and the pass must end. */
  async #readOne(owed: OwedRead, pass: Pass): Promise<boolean> {
    const { store, client } = this.#context;
    try {
      const read = await this.#reader.refresh(
        owed,
        { store: this.#reader.store, settle: (refreshed, at) => this.#settle(owed, refreshed, at) },
        pass.signal,
      );
      if (read?.value.kind === "unknown") {
        const { error, fence } = read.value;
        const orderKey = loadOrderMark(store, owed.orderId)?.orderKey;
        pass.aside.push({ owed, error, missing: { status: error.status, fence, orderKey } });
        return await pass.reads.failed(owed.orderId, error);
      }
      pass.reads.answered(loadOrderMark(store, owed.orderId)?.orderKey);
      if (read !== undefined) count(pass.counts, read.value.stored);
    } catch (error) {
      if (reachOf(error, owed.attempts) !== "record") {
        if (isAnswered(error)) await this.#postpone(owed, error, pass.signal);
        throw error;
      }
      this.#context.log.debug({ orderId: owed.orderId }, client.hideSecrets(asError(error).message));
      pass.aside.push({ owed, error, missing: undefined });
      return await pass.reads.failed(owed.orderId, error);
    }
    return true;
  }

  /**
   * In the transaction that has stored the snapshot: the hash of the record that asked for it, and the end of the debt.
   * Where something of the order was stored while the answer was on its way, that may be newer: the read stays owed.
   */
  #settle(owed: OwedRead, refreshed: Refreshed, at: string) {
    if (refreshed.kind === "unknown") {
      return { ...refreshed, fence: loadOrderFence(this.#context.store, owed.orderId) };
    }
    // A read that no record asked for has nothing else to keep.
    const isKept = refreshed.stored === "quarantined" && owed.record !== "";
    if (isKept) this.#keepChange(owed, "its snapshot could not be used", at);
    this.#endDebt(owed);
    return refreshed;
  }

  /** What failed waits; what is missing is noted, provided that the service answered for another order. */
  async #putAside({ aside, counts, signal }: Pass, health: Health): Promise<void> {
    for (const each of aside) {
      if (health === "well" && each.missing !== undefined) {
        if (await this.#settleMissing(each, signal)) counts["removed"] = (counts["removed"] ?? 0) + 1;
        continue;
      }
      // Where the service fails for all of them, the next pass tries others, and nobody waits for long.
      await this.#postpone(each.owed, each.error, signal, health === "ill" ? 0 : 1);
    }
  }

  /** @param counted 1: the failure is the order's own; 0: it only makes room for others */
  async #postpone(owed: OwedRead, error: unknown, signal: AbortSignal, counted: 0 | 1 = 1): Promise<void> {
    const attempts = owed.attempts + counted;
    const waitMs = counted === 0 ? WAIT_FIRST_MS : Math.min(WAIT_FIRST_MS * 2 ** (attempts - 1), WAIT_MAX_MS);
    await commit(this.#context, signal, () => this.#wait(owed, { attempts, error, waitMs }));
  }

  #wait(owed: OwedRead, { attempts, error, waitMs }: { attempts: number; error: unknown; waitMs: number }): void {
    const { store, client, clock } = this.#context;
    const dueAt = isoTime(clock.nowMs() + waitMs);
    postponeRead(store, owed.orderId, { attempts, error: client.hideSecrets(asError(error).message), dueAt });
  }

  /** Returns whether a stored order was marked as removed. */
  async #settleMissing({ owed, error, missing }: Aside, signal: AbortSignal): Promise<boolean> {
    const { store } = this.#context;
    return await commit(this.#context, signal, () => {
      const isSameDebt = loadOwedRead(store, owed.orderId)?.recordHash.equals(owed.recordHash) === true;
      if (!isSameDebt || !isSameFence(missing?.fence, loadOrderFence(store, owed.orderId))) return false;
      const at = this.#now();
      const mark = loadOrderMark(store, owed.orderId);
      const isRemoved = (mark?.removedAt ?? null) !== null;
      if (!isRemoved && !this.#missing.note(owed.orderId, at)) {
        this.#wait(owed, { attempts: owed.attempts, error, waitMs: MISSING_WAIT_MS });
        return false;
      }
      if (mark === undefined && owed.record !== "")
        this.#keepChange(owed, `the service does not know this order (${missing?.status})`, at);
      this.#endDebt(owed);
      return mark !== undefined && markOrderRemoved(store, mark.orderKey, at);
    });
  }

  /** The same record must be recognised the next time, or it would be asked for at every poll. */
  #endDebt(owed: OwedRead): void {
    const { store } = this.#context;
    const mark = loadOrderMark(store, owed.orderId);
    if (mark !== undefined && owed.record !== "") {
      saveSourceHash(store, {
        orderKey: mark.orderKey,
        source: owed.source,
        hash: owed.recordHash,
        contentHash: owed.contentHash,
      });
    }
    deleteOwedRead(store, owed.orderId, owed.recordHash);
  }

  #keepChange(owed: OwedRead, reason: string, at: string): void {
    saveQuarantined(this.#context.store, {
      kind: owed.source === "update" ? "change" : "order",
      reference: owed.orderId,
      reason,
      payload: owed.record,
      hash: owed.recordHash,
      at,
    });
  }

  #now(): string {
    return isoTime(this.#context.clock.nowMs());
  }
}

/** What orders were answered holds nothing: changes are followed meanwhile, and the next pass reads others. */
function asFailure(trouble: unknown): BridgeError {
  const { code, message, hint } = asError(trouble);
  return new BridgeError(code, message, { cause: trouble, ...(hint === undefined ? {} : { hint }) });
}

function count(counts: Record<string, number>, stored: string): void {
  const name = stored === "created" ? "rescued" : stored;
  for (const each of name === "same" ? ["read"] : [name, "read"]) counts[each] = (counts[each] ?? 0) + 1;
}
