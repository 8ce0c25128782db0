/*
 * Transfers acknowledgements of deleted rows to the rows that now name their articles: an ERP that refills its table
 * assigns other ids.
 */
import { commitUntilDone } from "../../pass/commit.ts";
import type { JobContext } from "../../pass/job.ts";
import { isoTime } from "../../platform/ports.ts";
import type { FeedPass } from "../diff/absorb-feed.ts";
import type { FeedRules } from "../feed.ts";
import { isSameRecord } from "../feed-record.ts";
import { hasGoneWaiting } from "../feed-rows.ts";
import { isOtherArticle, textAt } from "../record-identity.ts";
import { recordKeyOf } from "./former-key.ts";
import { withNames } from "./former-names.ts";
import { deleteFormer, type LeftRow, saveLeft } from "./former-rows.ts";
import { type DueSpan, hasFormer, loadDueGone, WaitingArticles } from "./going-rows.ts";
import { dropGone, type Handed, type HandedAt, handOver, type Left, settleGone } from "./handed-rows.ts";

type Passing = Pick<FeedPass, "signal" | "startedAt">;

/** Rows handed over in one transaction. */
const ROWS_PER_COMMIT = 500;

export function handedAt({ clock }: Pick<JobContext, "clock">, { startedAt }: Passing): HandedAt {
  const [wallMs, nowMs] = [clock.nowMs(), clock.monotonicMs()];
  return {
    at: isoTime(wallMs),
    droppedAt: startedAt,
    atOf: (monotonicMs) => isoTime(wallMs + Math.max(0, monotonicMs - nowMs)),
  };
}

/** Transfers to waiting rows, before the guard counts what they take off sale. */
export async function handOverWaiting(context: JobContext, rules: FeedRules, pass: Passing): Promise<void> {
  const { store, clock } = context;
  const { signal } = pass;
  if (!hasGoneWaiting(store, rules) && !hasFormer(store, rules)) return;
  const waiting = new WaitingArticles(store, rules);
  try {
    await waiting.listAll(clock, signal);
    let afterId = 0;
    await commitUntilDone(context, signal, () => {
      const gone = waiting.loadGone(afterId, ROWS_PER_COMMIT);
      giveGone(
        context,
        rules,
        gone.map((row) => leftOf(rules, row)),
        pass,
      );
      afterId = gone.at(-1)?.id ?? afterId;
      return gone.length;
    });
    const { from } = recordKeyOf(rules, "{}");
    let after = "";
    await commitUntilDone(context, signal, () => {
      const when = handedAt(context, pass);
      const former = waiting.loadFormer(after, when.at, ROWS_PER_COMMIT);
      for (const { keyText } of former) deleteFormer(store, rules, from, JSON.parse(keyText) as string[]);
      handOver(store, rules, former, when);
      after = former.at(-1)?.keyText ?? after;
      return former.length;
    });
  } finally {
    waiting.close();
  }
}

/** Cancels due deletions of rows whose article another row of the source names. */
export async function spareNamed(context: JobContext, rules: FeedRules, due: DueSpan, pass: Passing): Promise<void> {
  const { store } = context;
  const { signal } = pass;
  if (loadDueGone(store, rules, due, 0, 1).length === 0) return;
  await withNames(context, rules, recordKeyOf(rules, "{}").from, signal, async (rename) => {
    let afterId = 0;
    await commitUntilDone(context, signal, () => {
      const rows = loadDueGone(store, rules, due, afterId, ROWS_PER_COMMIT);
      const named: (Handed & { id: number })[] = [];
      for (const { deletion, ...due } of rows) {
        const row = leftOf(rules, due);
        const { id, record } = row;
        const isSaid = rules.identity.every((steps) => textAt(record, steps) !== undefined);
        const naming = isSaid ? rename(recordKeyOf(rules, record).key, record) : undefined;
        if (naming?.kind === "named" && naming.isPresent) named.push({ ...row, key: naming.key });
        else if (deletion !== null && row.live === 0 && isSameRecord(deletion, record)) settleGone(store, rules, id);
      }
      giveGone(context, rules, named, pass);
      afterId = rows.at(-1)?.id ?? afterId;
      return rows.length;
    });
  });
}

/** What a deleted row leaves. Where its record in flight names another article than the acknowledged one, `other` is the latter. */
function leftOf<R extends Left>(rules: FeedRules, row: R): R & { other?: LeftRow } {
  const { record, sentAt, live, flightRecord } = row;
  if (flightRecord === null || sentAt === null || !isOtherArticle(rules.identity, record, flightRecord)) return row;
  return { ...row, record: flightRecord, sentAt: null, live: 0, other: { record, sentAt, live } };
}

/** Drops the deletions of these rows and transfers what they have left. */
function giveGone(
  context: JobContext,
  rules: FeedRules,
  named: readonly (Handed & { id: number; other?: LeftRow })[],
  pass: Passing,
): void {
  const { store } = context;
  const when = handedAt(context, pass);
  const ids = named.map(({ id }) => id);
  dropGone(store, rules, ids);
  for (const { other } of named) if (other !== undefined) saveLeft(store, rules, { ...other, at: when.at });
  handOver(store, rules, named, when);
}
