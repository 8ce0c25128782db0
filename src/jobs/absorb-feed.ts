/*
 * Turns touched keys into what is owed to the service. Reading the ERP's row, deciding, writing and forgetting the
 * touch are one IMMEDIATE transaction: no write of the ERP can fall in between, and after a crash the touch is still
 * noted.
 */
import { hash } from "node:crypto";
import { type FeedRules, keyText, keyTexts, renderRow, type SourceRow } from "../domain/feed.ts";
import { type LocalRow, planRow, type RowPlan } from "../domain/plan-feed.ts";
import { isoTime } from "../domain/ports.ts";
import { type KeyValues, loadSourceAfter, loadSourceRows, loadUnnamedRows } from "../store/feed-source.ts";
import { deleteDirtyKey, deleteOwed, loadDirtyKeys, loadKeyState, saveOwed, saveUnsendable } from "../store/feeds.ts";
import { releaseQuarantined, saveQuarantined } from "../store/quarantine.ts";
import type { Store } from "../store/store.ts";
import { commit } from "./commit.ts";
import type { JobContext } from "./job.ts";

/** Keys looked at in one transaction: some ten milliseconds of the write lock. */
const KEYS_PER_COMMIT = 500;
const ROWS_PER_READ = 1000;
const UNNAMED_MAX = 100;

/** Takes up every key that was touched until now. Yields between transactions, so that orders are never starved. */
export async function absorbTouched(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<{ owed: number; bad: number }> {
  const total = { owed: 0, bad: 0 };
  for (;;) {
    const keys = loadDirtyKeys(context.store, rules, KEYS_PER_COMMIT);
    if (keys.length === 0) return total;
    const done = await absorbKeys(context, rules, keys, signal);
    total.owed += done.owed;
    total.bad += done.bad;
    await context.clock.sleep(0, signal);
  }
}

async function absorbKeys(
  context: JobContext,
  rules: FeedRules,
  keys: readonly KeyValues[],
  signal: AbortSignal,
): Promise<{ owed: number; bad: number }> {
  const { store, clock } = context;
  const at = isoTime(clock.nowMs());
  return await commit(context, signal, () => {
    const done = { owed: 0, bad: 0 };
    for (const key of keys) {
      const what = absorbKey(store, rules, key, at);
      if (what === "owe") done.owed += 1;
      if (what === "bad") done.bad += 1;
      deleteDirtyKey(store, rules, key);
    }
    return done;
  });
}

/**
 * Compares the whole table with what was acknowledged and takes up what differs. Reads in small steps without the
 * write lock; what changes meanwhile is noted by the triggers. Keys that are acknowledged or owed but no longer in
 * the table are found through a temporary list, which does not depend on how the ERP's columns sort or compare.
 */
export async function compareTable(
  context: JobContext,
  rules: FeedRules,
  signal: AbortSignal,
): Promise<{ compared: number; owed: number; bad: number }> {
  const { store } = context;
  const total = { compared: 0, owed: 0, bad: 0 };
  store.db.exec("DROP TABLE IF EXISTS temp.compared_keys");
  store.db.exec("CREATE TEMP TABLE compared_keys (k0, k1, k2, k3, PRIMARY KEY (k0, k1, k2, k3)) WITHOUT ROWID");
  const takeUp = async (keys: readonly KeyValues[]) => {
    for (let from = 0; from < keys.length; from += KEYS_PER_COMMIT) {
      const done = await absorbKeys(context, rules, keys.slice(from, from + KEYS_PER_COMMIT), signal);
      total.owed += done.owed;
      total.bad += done.bad;
    }
    await context.clock.sleep(0, signal);
  };
  try {
    let after: KeyValues | undefined;
    for (;;) {
      const rows = loadSourceAfter(store, rules, after, ROWS_PER_READ);
      const last = rows.at(-1);
      if (last === undefined) break;
      after = keyValues(rules, last);
      total.compared += rows.length;
      await takeUp(noteAndDiffer(store, rules, rows));
    }
    for (let missing = loadMissing(store, rules, undefined); missing.length > 0; missing = loadMissing(store, rules, missing.at(-1))) {
      await takeUp(missing);
    }
    await quarantineUnnamed(context, rules, signal);
  } finally {
    store.db.exec("DROP TABLE IF EXISTS temp.compared_keys");
  }
  return total;
}

/** Lists the rows as present and returns the keys of those that owe something. */
function noteAndDiffer(store: Store, rules: FeedRules, rows: readonly SourceRow[]): KeyValues[] {
  const note = store.prepare("INSERT INTO temp.compared_keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING");
  return rows.flatMap((row) => {
    const key = keyTexts(rules, row);
    if (key === undefined) return [keyValues(rules, row)];
    note.run(key[0] ?? "", key[1] ?? "", key[2] ?? "", key[3] ?? "");
    return planRow(rules, localRow(rules, [row]), loadKeyState(store, rules, key)).kind === "keep" ? [] : [keyValues(rules, row)];
  });
}

/** Keys that the bridge knows and the table no longer has, in steps. */
function loadMissing(store: Store, rules: FeedRules, after: KeyValues | undefined): KeyValues[] {
  const known = `SELECT k0, k1, k2, k3 FROM feed_sent WHERE feed_id = @feed AND gone = 0
    UNION SELECT k0, k1, k2, k3 FROM feed_outbox WHERE feed_id = @feed AND gone = 0`;
  const rows = store
    .prepare(
      `SELECT k0, k1, k2, k3 FROM (${known}) AS known
       WHERE (k0, k1, k2, k3) > (@k0, @k1, @k2, @k3) AND NOT EXISTS (
         SELECT 1 FROM temp.compared_keys c WHERE c.k0 = known.k0 AND c.k1 = known.k1 AND c.k2 = known.k2 AND c.k3 = known.k3)
       ORDER BY k0, k1, k2, k3 LIMIT ${KEYS_PER_COMMIT}`,
    )
    .raw(true)
    .all({ feed: rules.feedId, k0: after?.[0] ?? "", k1: after?.[1] ?? "", k2: after?.[2] ?? "", k3: after?.[3] ?? "" }) as KeyValues[];
  return rows.map((row) => row.slice(0, rules.keys.length));
}

async function quarantineUnnamed(context: JobContext, rules: FeedRules, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  const rows = loadUnnamedRows(store, rules, UNNAMED_MAX);
  if (rows.length === 0) return;
  const at = isoTime(clock.nowMs());
  await commit(context, signal, () => {
    for (const row of rows) quarantineRow(store, rules, { reference: null, reason: "the key is NULL", rows: [row], at });
  });
}

function absorbKey(store: Store, rules: FeedRules, key: KeyValues, at: string): RowPlan["kind"] {
  const texts = key.map(keyText);
  if (!texts.every((text) => text !== undefined)) {
    quarantineRow(store, rules, { reference: null, reason: "the key is NULL or binary data", rows: [], at, key });
    return "bad";
  }
  const rows = loadSourceRows(store, rules, key);
  const plan = planRow(rules, localRow(rules, rows), loadKeyState(store, rules, texts));
  const reference = texts.join(" ");
  switch (plan.kind) {
    case "keep":
      break;
    case "settled":
      deleteOwed(store, rules, texts);
      releaseQuarantined(store, [rules.name], reference);
      break;
    case "bad":
      quarantineRow(store, rules, { reference, reason: plan.reason, rows, at });
      saveUnsendable(store, rules, { key: texts, reason: plan.reason, at });
      break;
    case "owe":
      saveOwed(store, rules, { ...plan, key: texts, at });
      releaseQuarantined(store, [rules.name], reference);
      break;
  }
  return plan.kind;
}

function localRow(rules: FeedRules, rows: readonly SourceRow[]): LocalRow {
  const [row, second] = rows;
  if (row === undefined) return { kind: "absent" };
  if (second !== undefined) return { kind: "bad", reason: `two rows have this key (${rules.keys.join(", ")})` };
  const rendered = renderRow(rules, row);
  return "reason" in rendered ? { kind: "bad", reason: rendered.reason } : { kind: "row", record: rendered.record };
}

function quarantineRow(
  store: Store,
  rules: FeedRules,
  bad: { reference: string | null; reason: string; rows: readonly SourceRow[]; at: string; key?: KeyValues },
): void {
  const payload = JSON.stringify(bad.rows.length > 0 ? bad.rows : (bad.key ?? []), (_, value: unknown) =>
    typeof value === "bigint" ? value.toString() : typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  );
  const digest = hash("sha256", payload, "buffer");
  saveQuarantined(store, { kind: rules.name, reference: bad.reference, reason: bad.reason, payload, hash: digest, at: bad.at });
}

function keyValues(rules: FeedRules, row: SourceRow): KeyValues {
  return rules.keys.map((column) => row[column] ?? null);
}
