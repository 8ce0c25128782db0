/* Stores the results of refusals. Each step is a transaction; after a crash the rows wait and are refused again. */

import { hash } from "node:crypto";
import { m } from "../../messages/messages.ts";
import { commit, commitUntilDone } from "../../pass/commit.ts";
import { saveQuarantinedRow } from "../../pass/quarantine-rows.ts";
import { isoTime } from "../../platform/ports.ts";
import { count, type FeedContext } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import type { OutboxRow } from "../feed-outbox.ts";
import { loadKeyState } from "../feed-rows.ts";
import { referenceOf } from "../row-reference.ts";
import { ROWS_PER_COMMIT } from "./flights.ts";
import { isDenial, isOfRecord, type RefusedAlone, retryRefusedMs, setAsideMs } from "./refusal-trial.ts";
import { markRefused, postpone, savePassingRefusal, saveRefused, saveSetAside, wake } from "./refused-rows.ts";
import type { Named, SendPass } from "./send-pass.ts";

export class SettleRefusals {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;

  constructor(context: FeedContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** Sets aside rows that were refused alone, until it is proven that they are the cause. */
  async setAside({ signal }: SendPass, refused: readonly RefusedAlone<OutboxRow>[]): Promise<void> {
    if (refused.length === 0) return;
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => {
      const nowMs = clock.monotonicMs();
      for (const { row, status, words } of refused) {
        const retryMs = nowMs + setAsideMs(row.tries);
        saveSetAside(store, row, { error: words, retryMs, isForGood: isOfRecord(status) });
      }
    });
  }

  /** For refusals proven by an acceptance in the same pass: permanent ones are quarantined, others wait. */
  async prove(pass: SendPass, refused: readonly RefusedAlone<OutboxRow>[]): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, pass.signal, () => {
      for (const { row, status, words } of refused) {
        if (!isOfRecord(status)) {
          savePassingRefusal(store, row.id, isDenial(status));
          continue;
        }
        const tries = row.wasProven ? row.tries + 1 : 0;
        const retryMs = clock.monotonicMs() + retryRefusedMs(tries);
        markRefused(store, this.#withUnknown(pass, row, status), { error: words, retryMs, tries });
        this.#quarantine({ key: row.key, record: row.record, words });
      }
    });
    count(pass, "refused", refused.filter(({ status }) => isOfRecord(status)).length);
  }

  /** Quarantines rows of a whole table that the service had accepted before and now refuses. */
  async refuseKept(pass: SendPass, named: readonly Named[]): Promise<void> {
    const kept = named.filter(({ row }) => row === undefined);
    if (kept.length === 0) return;
    const { store, clock } = this.#context;
    await commit(this.#context, pass.signal, () => {
      const at = isoTime(clock.nowMs());
      const retryMs = clock.monotonicMs() + retryRefusedMs(0);
      for (const one of kept) {
        saveRefused(store, this.#rules, { key: one.key, record: one.record, error: one.words, at, retryMs });
        this.#quarantine(one);
      }
    });
    count(pass, "refused", kept.length);
  }

  /** Rows that are not tried in this pass, because another one of them has just been denied. */
  async postpone({ signal }: SendPass, rows: readonly OutboxRow[]): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, signal, () => postpone(store, rows, clock.monotonicMs() + setAsideMs(0)));
  }

  /** Makes set-aside rows due at once: the service accepts something, or the feed is held until a probe with them is accepted. */
  async wake({ signal }: SendPass): Promise<void> {
    const { store, clock } = this.#context;
    const options = { nowMs: clock.monotonicMs(), limit: ROWS_PER_COMMIT };
    await commitUntilDone(this.#context, signal, () => wake(store, this.#rules, "waiting", options));
  }

  /**
   * The row with its request in flight, where a proven refusal leaves the outcome unknown. Where the service never had the
   * article it has nothing of it, and deleting the row needs no request; where it has, the refusal may be wrong.
   */
  #withUnknown(pass: SendPass, row: OutboxRow, status: number): OutboxRow {
    const isKnown = status < 300 || loadKeyState(this.#context.store, this.#rules, row.key).sent !== undefined;
    return isKnown ? row : (pass.before.get(row.id) ?? row);
  }

  #quarantine({ key, record, words }: Pick<Named, "key" | "record" | "words">): void {
    const { store, clock } = this.#context;
    saveQuarantinedRow(store, {
      kind: this.#rules.name,
      reference: referenceOf(key),
      reason: m.common.foreign({ text: words }),
      payload: record,
      hash: hash("sha256", record, "buffer"),
      at: isoTime(clock.nowMs()),
    });
  }
}
