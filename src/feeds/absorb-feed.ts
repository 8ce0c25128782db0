/*
 * Turns touched keys into what is owed to the service. Reading the ERP's row, deciding, writing and forgetting the
 * touch are one IMMEDIATE transaction: no write of the ERP can fall in between, and after a crash the touch is still
 * noted.
 */
import { hash } from "node:crypto";
import type { Store } from "../database/store.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { loadQuarantineState, releaseQuarantined, saveQuarantinedRow } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { markTouched } from "./erp-writes.ts";
import {
  type ColumnValue,
  type FeedRules,
  keyText,
  keyTexts,
  parentOf,
  referenceOf,
  renderRow,
  type SourceRow,
} from "./feed.ts";
import {
  deleteOwed,
  loadKeyState,
  loadKnownKeys,
  paddedKey,
  releaseUnnamed,
  saveOwed,
  saveParent,
  saveUnsendable,
} from "./feed-rows.ts";
import {
  deleteDirtyKey,
  type KeyValues,
  loadDirtyKeys,
  loadSourcePage,
  loadSourceRows,
  loadUnnamedRows,
  type PageEnd,
  RawText,
} from "./feed-source.ts";
import { type ImageFiles, seeRow } from "./images/find-images.ts";
import { type LocalRow, planRow, type RowPlan } from "./plan-feed.ts";

/** Keys looked at in one transaction: less than ten milliseconds of the write lock, on a disk that is not slow. */
export const KEYS_PER_COMMIT = 200;
export const ROWS_PER_READ = 1000;
/** Transactions of one pass. An ERP that writes faster than the bridge reads must not keep it from sending. */
const COMMITS_MAX = 10_000;
/** Rows without a key that are kept as examples: they say that something is wrong, and more of them say no more. */
export const UNNAMED_MAX = 100;
/** Where the keys stand that the bridge knows. */
export const KNOWN = ["feed_sent", "feed_outbox"] as const;

export interface Absorbed {
  owed: number;
  bad: number;
}

/** Where rows are found by their key, and what is done once one of them was dealt with; inside the transaction. */
export interface RowSource {
  loadRows(key: KeyValues): SourceRow[];
  markTaken(key: KeyValues): void;
}

/** `files`: what looks at the files that rows name, where the feed has any. */
export type FeedContext = JobContext & { files?: ImageFiles };

/** What one transaction may know and does. */
interface Pass {
  store: Store;
  rules: FeedRules;
  source: RowSource;
  at: string;
  nowMs: number;
  /** Hashes of rows that no key can name. */
  unnamed: Buffer[];
}

/** Takes up every key that was touched until now. Yields between transactions, so that orders are never starved. */
export async function absorbTouched(context: FeedContext, rules: FeedRules, signal: AbortSignal): Promise<Absorbed> {
  const total: Absorbed = { owed: 0, bad: 0 };
  for (let commits = 0; commits < COMMITS_MAX && !context.isStopping(); commits++) {
    const keys = loadDirtyKeys(context.store, rules, KEYS_PER_COMMIT);
    if (keys.length === 0) break;
    await context.files?.lookAt(
      keys.flatMap((key) => loadSourceRows(context.store, rules, key)),
      signal,
    );
    const source = trackedTable(context.store, rules);
    const done = await absorbKeys(context, rules, { source, keys, unnamed: [], touched: true }, signal);
    add(total, done);
    // Rows that were given another file between the look and the transaction: the next pass looks again.
    if (done.unseen === keys.length) break;
    await context.clock.sleep(0, signal);
  }
  return total;
}

/** The ERP's own table, whose triggers note what is touched. */
export function trackedTable(store: Store, rules: FeedRules): RowSource {
  return {
    loadRows: (key) => loadSourceRows(store, rules, key),
    markTaken: (key) => deleteDirtyKey(store, rules, key),
  };
}

/** Takes up some keys in one transaction. `touched`: the ERP wrote them, and has not fallen silent. */
export async function absorbKeys(
  context: JobContext,
  rules: FeedRules,
  work: { source: RowSource; keys: readonly KeyValues[]; unnamed: Buffer[]; touched?: boolean },
  signal: AbortSignal,
): Promise<Absorbed & { unseen: number }> {
  const { store, clock } = context;
  const { source, unnamed } = work;
  const pass: Pass = { store, rules, source, at: isoTime(clock.nowMs()), nowMs: clock.monotonicMs(), unnamed };
  return await commit(context, signal, () => {
    const done = { owed: 0, bad: 0, unseen: 0 };
    for (const key of work.keys) {
      const what = absorbKey(pass, key);
      if (what === "unseen") {
        done.unseen += 1;
        continue;
      }
      if (what === "owe") done.owed += 1;
      if (what === "bad") done.bad += 1;
      source.markTaken(key);
    }
    if (work.touched === true || done.owed > 0) markTouched(store, rules.name, pass.at);
    return done;
  });
}

/**
 * Compares the whole table with what was acknowledged and takes up what differs. Reads in small steps without the
 * write lock; what changes meanwhile is noted by the triggers. Keys that are acknowledged or owed but no longer in
 * the table are found through a temporary list, which does not depend on how the ERP's columns sort or compare.
 */
export async function compareTable(
  context: FeedContext,
  rules: FeedRules,
  signal: AbortSignal,
): Promise<Absorbed & { compared: number }> {
  const { store, files } = context;
  const total = { compared: 0, owed: 0, bad: 0 };
  const unnamed: Buffer[] = [];
  const list = comparedKeys(rules);
  store.db.exec(`DROP TABLE IF EXISTS ${list}`);
  store.db.exec(`CREATE TABLE ${list} (k0, k1, k2, k3, PRIMARY KEY (k0, k1, k2, k3)) WITHOUT ROWID`);
  // At first use everything is owed, and there is nothing that could be missing.
  const isFilled = KNOWN.some((table) => loadKnownKeys(store, rules, { table, after: undefined, limit: 1 }).length > 0);
  const source = trackedTable(store, rules);
  const takeUp = async (keys: readonly KeyValues[]) => {
    for (let from = 0; from < keys.length; from += KEYS_PER_COMMIT) {
      const some = keys.slice(from, from + KEYS_PER_COMMIT);
      add(total, await absorbKeys(context, rules, { source, keys: some, unnamed }, signal));
    }
    await context.clock.sleep(0, signal);
  };
  files?.listNone();
  try {
    for (let after: PageEnd | undefined; ; ) {
      const page = loadSourcePage(store, rules, after, ROWS_PER_READ);
      if (page.end === undefined) break;
      after = page.end;
      total.compared += page.rows.length;
      await files?.lookAt(page.rows, signal);
      files?.list(page.rows);
      await takeUp(isFilled ? noteAndDiffer(store, rules, page) : page.keys);
    }
    for (const table of isFilled ? KNOWN : []) {
      for (let after: string[] | undefined; ; ) {
        const known = loadKnownKeys(store, rules, { table, after, limit: ROWS_PER_READ });
        if (known.length === 0) break;
        after = known.at(-1);
        await takeUp(withoutCompared(store, rules, known).map((key) => key.slice(0, rules.keys.length)));
      }
    }
    const rows = loadUnnamedRows(store, rules, UNNAMED_MAX);
    add(total, await settleUnnamed(context, rules, { rows, unnamed, source }, signal));
    await files?.forgetOthers(signal);
  } finally {
    store.db.exec(`DROP TABLE IF EXISTS ${list}`);
  }
  return total;
}

/** Of each feed its own: two may be compared at once. */
function comparedKeys(rules: FeedRules): string {
  return `temp.compared_${rules.name}_keys`;
}

/** Lists the rows as present and returns the keys of those that owe something. */
function noteAndDiffer(
  store: Store,
  rules: FeedRules,
  page: { rows: readonly SourceRow[]; keys: readonly KeyValues[] },
): KeyValues[] {
  const note = store.prepare(`INSERT INTO ${comparedKeys(rules)} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const differ = (row: SourceRow): boolean => {
    const key = keyTexts(rules, row);
    // A key that was there before stands for two rows, and neither may be sent.
    if (key === undefined || note.run(...paddedKey(key)).changes === 0) return true;
    const local = localRow(store, rules, [row]);
    return local.kind === "unseen" || planRow(rules, local, loadKeyState(store, rules, key)).kind !== "keep";
  };
  // One transaction of the temporary database; nobody else's lock is touched.
  return store.db.transaction(() => page.keys.filter((_, index) => differ(page.rows[index] ?? {})))();
}

function withoutCompared(store: Store, rules: FeedRules, keys: readonly string[][]): string[][] {
  const find = store.prepare(`SELECT 1 FROM ${comparedKeys(rules)} WHERE k0 = ? AND k1 = ? AND k2 = ? AND k3 = ?`);
  return keys.filter((key) => find.get(...key) === undefined);
}

/** Rows that no key can name, at most {@link UNNAMED_MAX}; and what is held of such rows that are gone. */
export async function settleUnnamed(
  context: JobContext,
  rules: FeedRules,
  found: { rows: readonly SourceRow[]; unnamed: Buffer[]; source: RowSource },
  signal: AbortSignal,
): Promise<Absorbed> {
  const { store, clock } = context;
  const { rows, unnamed, source } = found;
  if (rows.length >= UNNAMED_MAX) return { owed: 0, bad: rows.length };
  return await commit(context, signal, () => {
    const pass: Pass = { store, rules, source, at: isoTime(clock.nowMs()), nowMs: clock.monotonicMs(), unnamed };
    const bad = rows.filter((row) => quarantineUnnamed(pass, row)).length;
    releaseUnnamed(store, rules, unnamed);
    return { owed: 0, bad };
  });
}

function absorbKey(pass: Pass, key: KeyValues): RowPlan["kind"] | "unseen" {
  const { store, rules, at, nowMs } = pass;
  const rows = pass.source.loadRows(key);
  const texts = key.map((value) => (value instanceof RawText ? undefined : keyText(value)));
  if (!texts.every((text) => text !== undefined)) return absorbUnnamed(pass, key, rows);
  const known = loadKeyState(store, rules, texts);
  const local = localRow(store, rules, rows);
  if (local.kind === "unseen") return "unseen";
  const plan = planRow(rules, local, known);
  switch (plan.kind) {
    case "keep": {
      const parent = parentOf(rules, rows[0]);
      if (known.outbox?.gone === false && known.outbox.parent !== parent) saveParent(store, rules, texts, parent);
      return "keep";
    }
    case "bad":
      return quarantineRow(pass, { key: texts, reason: plan.reason, rows, lastError: known.outbox?.lastError ?? null });
    case "settled":
      deleteOwed(store, rules, texts);
      break;
    case "owe":
      saveOwed(store, rules, { ...plan, key: texts, parent: parentOf(rules, rows[0]), at, nowMs });
      break;
  }
  // Only a refused row has anything in quarantine; looking each time would cost every change a search there.
  if (known.outbox?.state === "refused") releaseQuarantined(store, [rules.name], referenceOf(texts));
  return plan.kind;
}

export function localRow(store: Store, rules: FeedRules, rows: readonly SourceRow[]): LocalRow | { kind: "unseen" } {
  const [row, second] = rows;
  if (row === undefined) return { kind: "absent" };
  if (second !== undefined) return { kind: "bad", reason: `two rows have this key (${rules.keys.join(", ")})` };
  const seen = seeRow(store, rules, row);
  if (seen.kind !== "row") return seen;
  const rendered = renderRow(rules, seen.row);
  return "reason" in rendered ? { kind: "bad", reason: rendered.reason } : { kind: "row", record: rendered.record };
}

/** A row that has a name but cannot be rendered. `keep` where that is known already. */
function quarantineRow(
  pass: Pass,
  bad: { key: readonly string[]; reason: string; rows: readonly SourceRow[]; lastError: string | null },
): "keep" | "bad" {
  const { store, rules, at } = pass;
  const reference = referenceOf(bad.key);
  const { payload, digest } = payloadOf(bad.rows);
  const decided = loadQuarantineState(store, { kind: rules.name, reference, hash: digest });
  // Held or dropped already; released means that somebody wanted it tried again, and it is as bad as it was.
  if (bad.lastError === bad.reason && decided !== undefined && decided !== "released") return "keep";
  releaseQuarantined(store, [rules.name], reference);
  saveUnsendable(store, rules, { key: bad.key, reason: bad.reason, at });
  saveQuarantinedRow(store, { kind: rules.name, reference, reason: bad.reason, payload, hash: digest, at });
  return "bad";
}

/** A key that nothing can be called by was touched: the row itself where it can be found, else any that have none. */
function absorbUnnamed(pass: Pass, key: KeyValues, rows: readonly SourceRow[]): "keep" | "bad" {
  const { store, rules } = pass;
  const isNull = key.some((value) => Buffer.isBuffer(value) && value.length === 0);
  const found = rows.length > 0 || !isNull ? rows : loadUnnamedRows(store, rules, UNNAMED_MAX);
  return found.filter((row) => quarantineUnnamed(pass, row)).length > 0 ? "bad" : "keep";
}

/** True where it was not known. */
function quarantineUnnamed({ store, rules, at, unnamed }: Pass, row: SourceRow): boolean {
  const isNull = rules.keys.some((column) => row[column] === null);
  const reason = isNull
    ? `${rules.keys.join(", ")}: the key is NULL`
    : `${rules.keys.join(", ")}: the key is binary data or no valid text`;
  const { payload, digest } = payloadOf([row]);
  unnamed.push(digest);
  return saveQuarantinedRow(store, { kind: rules.name, reference: null, reason, payload, hash: digest, at });
}

function payloadOf(rows: readonly SourceRow[]): { payload: string; digest: Buffer } {
  const plain = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([column, value]) => [column, plainValue(value)])),
  );
  const payload = JSON.stringify(plain);
  return { payload, digest: hash("sha256", payload, "buffer") };
}

function plainValue(value: ColumnValue): string | number | null {
  if (Buffer.isBuffer(value)) return `x'${value.toString("hex").slice(0, 2_000)}'`;
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) return String(value);
  return value;
}

function add(total: Absorbed, done: Absorbed): void {
  total.owed += done.owed;
  total.bad += done.bad;
}
