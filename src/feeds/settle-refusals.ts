/* What becomes of refused records. Each step is a transaction; after a crash the rows wait and are refused once more. */

import { hash } from "node:crypto";
import { m } from "../messages/messages.ts";
import { commit, commitUntilDone } from "../pass/commit.ts";
import { saveQuarantinedRow } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { count, type FeedContext } from "./absorb-feed.ts";
import { type FeedRules, referenceOf } from "./feed.ts";
import type { OutboxRow } from "./feed-outbox.ts";
import { loadKeyState } from "./feed-rows.ts";
import { ROWS_PER_COMMIT } from "./flights.ts";
import { isOfRecord, type RefusedAlone, retryRefusedMs, setAsideMs } from "./refusal-trial.ts";
import { markRefused, savePassingRefusal, saveRefused, saveSetAside, wake } from "./refused-rows.ts";
import type { Named, SendPass } from "./send-pass.ts";

export class SettleRefusals {
  readonly #context: FeedContext;
  readonly #rules: FeedRules;

  constructor(context: FeedContext, rules: FeedRules) {
    this.#context = context;
    this.#rules = rules;
  }

  /** Refused alone: the rows wait until something proves that it was about them. */
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

  /** The service took others in the same pass: what it refuses for good goes to quarantine, what it may take later waits. */
  async prove(pass: SendPass, refused: readonly RefusedAlone<OutboxRow>[]): Promise<void> {
    const { store, clock } = this.#context;
    await commit(this.#context, pass.signal, () => {
      for (const { row, status, words } of refused) {
        if (!isOfRecord(status)) {
          savePassingRefusal(store, row.id);
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

  /** What it had accepted before and refuses now, in a table that is sent whole. */
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

  /** The service accepts something: rows that were set aside before find out now whether it takes them too. */
  async wake({ signal }: SendPass): Promise<void> {
    const { store, clock } = this.#context;
    const options = { nowMs: clock.monotonicMs(), limit: ROWS_PER_COMMIT };
    await commitUntilDone(this.#context, signal, () => wake(store, this.#rules, "waiting", options));
  }

  /**
   * What may still be on the site of a record that the service has refused by right: where it never had the article, it has
   * nothing of it, and a row that goes away then needs no request. Where it has, the refusal need not be true.
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
