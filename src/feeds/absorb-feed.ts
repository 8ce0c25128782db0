/*
 * Turns touched keys into what is owed to the service. Reading the ERP's row, deciding, writing and forgetting the
 * touch are one IMMEDIATE transaction: no write of the ERP can fall in between, and after a crash the touch is still
 * noted.
 */

import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { releaseQuarantined, saveQuarantinedRow } from "../pass/quarantine-rows.ts";
import { isoTime } from "../platform/ports.ts";
import { diffKeys, type FoundKey, isHeld, payloadOf } from "./diff.ts";
import { markTouched } from "./erp-writes.ts";
import { type FeedRules, parentOf, referenceOf, type SourceRow } from "./feed.ts";
import { deleteOwed, type OwedRow, releaseUnnamed, saveOwed, saveParent, saveUnsendable } from "./feed-rows.ts";
import {
  deleteDirtyKey,
  type KeyValues,
  loadDirtyKeys,
  loadSourceRows,
  loadUnnamedRows,
  textsOf,
} from "./feed-source.ts";
import type { ImageFiles } from "./images/find-images.ts";

/** Keys that are compared and written as a set in one transaction: some fifteen milliseconds of the write lock. */
export const KEYS_PER_COMMIT = 1_000;
/** Keys whose rows are looked up one by one, in the same time. */
const DIRTY_PER_COMMIT = 500;
/** Transactions of one pass. An ERP that writes faster than the bridge reads must not keep it from sending. */
const COMMITS_MAX = 10_000;
/** Rows without a key that are kept as examples: they say that something is wrong, and more of them say no more. */
export const UNNAMED_MAX = 100;

export interface Absorbed {
  owed: number;
  bad: number;
}

/** `files`: what looks at the files that rows name, where the feed has any. */
export type FeedContext = JobContext & { files?: ImageFiles };

/** What one transaction may know and does. */
interface Pass {
  store: Store;
  rules: FeedRules;
  at: string;
  nowMs: number;
  /** Hashes of rows that no key can name. */
  unnamed: Buffer[];
}

/** What is taken up in one transaction. */
export interface Work<F extends FoundKey> {
  /** Called inside the transaction. */
  load: () => readonly F[];
  /** Called for each key that was dealt with. */
  markTaken?: (found: F) => void;
  /** Finds the rows of a key that cannot be sent, of which `load` may have come upon one of two. */
  rowsOf?: (key: readonly string[]) => readonly SourceRow[];
  /** The ERP wrote them, and has not fallen silent. */
  touched?: boolean;
}

/** Takes up every key that was touched until now. Yields between transactions, so that orders are never starved. */
export async function absorbTouched(context: FeedContext, rules: FeedRules, signal: AbortSignal): Promise<Absorbed> {
  const { store } = context;
  const total: Absorbed = { owed: 0, bad: 0 };
  for (let commits = 0; commits < COMMITS_MAX && !context.isStopping(); commits++) {
    const keys = loadDirtyKeys(store, rules, DIRTY_PER_COMMIT);
    if (keys.length === 0) break;
    if (context.files !== undefined) {
      await context.files.lookAt(
        keys.flatMap((key) => loadSourceRows(store, rules, key)),
        signal,
      );
    }
    const done = await absorbKeys(context, rules, { keys, unnamed: [], touched: true }, signal);
    add(total, done);
    // Rows that were given another file between the look and the transaction: the next pass looks again.
    if (done.unseen === keys.length) break;
    await context.clock.sleep(0, signal);
  }
  return total;
}

/** Takes up some keys of a table of this database, as triggers note them or the table holds them. */
export async function absorbKeys(
  context: JobContext,
  rules: FeedRules,
  { keys, unnamed, touched = false }: { keys: readonly KeyValues[]; unnamed: Buffer[]; touched?: boolean },
  signal: AbortSignal,
): Promise<Absorbed & { unseen: number }> {
  const { store } = context;
  let bad = 0;
  const load = () => {
    bad = 0;
    return keys.flatMap((values) => {
      const rows = loadSourceRows(store, rules, values);
      const key = textsOf(values);
      if (key !== undefined) return [{ key, rows, values }];
      if (absorbUnnamed(passOf(context, rules, unnamed), values, rows) === "bad") bad += 1;
      deleteDirtyKey(store, rules, values);
      return [];
    });
  };
  const markTaken = ({ values }: { values: KeyValues }) => deleteDirtyKey(store, rules, values);
  const done = await absorb(context, rules, { load, markTaken, touched }, signal);
  return { ...done, bad: done.bad + bad };
}

/** Takes up what was found, in one transaction: no write of the ERP falls between reading a row and deciding. */
export async function absorb<F extends FoundKey>(
  context: JobContext,
  rules: FeedRules,
  { load, markTaken, rowsOf, touched = false }: Work<F>,
  signal: AbortSignal,
): Promise<Absorbed & { unseen: number }> {
  return await commit(context, signal, () => {
    const pass = passOf(context, rules, []);
    const found = load();
    const done = absorbFound(pass, found, rowsOf);
    if (markTaken !== undefined) {
      const unseen = new Set<FoundKey>(done.unseen);
      for (const one of found) if (!unseen.has(one)) markTaken(one);
    }
    if (touched || done.owed > 0) markTouched(context.store, rules.name, pass.at);
    return { owed: done.owed, bad: done.bad, unseen: done.unseen.length };
  });
}

function passOf({ store, clock }: JobContext, rules: FeedRules, unnamed: Buffer[]): Pass {
  return { store, rules, at: isoTime(clock.nowMs()), nowMs: clock.monotonicMs(), unnamed };
}

function absorbFound(
  pass: Pass,
  found: readonly FoundKey[],
  rowsOf?: Work<FoundKey>["rowsOf"],
): Absorbed & { unseen: readonly FoundKey[] } {
  const { store, rules } = pass;
  const { differences, unseen } = diffKeys(store, rules, found);
  const total = { owed: 0, bad: 0, unseen };
  const owed: OwedRow[] = [];
  const settled: (readonly string[])[] = [];
  const again: FoundKey[] = [];
  for (const { found: one, plan, known } of differences) {
    const { key, rows } = one;
    if (rowsOf !== undefined && known.outbox?.record === "null") {
      again.push({ key, rows: rowsOf(key) });
      continue;
    }
    const lastError = known.outbox?.lastError ?? null;
    const parent = parentOf(rules, rows[0]);
    if (plan.kind === "keep") {
      if (known.outbox?.gone === false && known.outbox.parent !== parent) saveParent(store, rules, key, parent);
      continue;
    }
    if (plan.kind === "bad") {
      total.bad += Number(quarantineRow(pass, { key, rows, reason: plan.reason, lastError }));
      continue;
    }
    if (plan.kind === "settled") settled.push(key);
    else owed.push({ ...plan, key, parent });
    // Only a refused row has anything in quarantine; looking each time would cost every change a search there.
    if (known.outbox?.state === "refused") releaseQuarantined(store, [rules.name], referenceOf(key));
  }
  deleteOwed(store, rules, settled);
  saveOwed(store, rules, owed, pass);
  total.owed = owed.length;
  if (again.length > 0) {
    const more = absorbFound(pass, again);
    total.owed += more.owed;
    total.bad += more.bad;
  }
  return total;
}

/** Rows that no key can name, at most {@link UNNAMED_MAX}; and what is held of such rows that are gone. */
export async function settleUnnamed(
  context: JobContext,
  rules: FeedRules,
  { rows, unnamed }: { rows: readonly SourceRow[]; unnamed: Buffer[] },
  signal: AbortSignal,
): Promise<Absorbed> {
  if (rows.length >= UNNAMED_MAX) return { owed: 0, bad: rows.length };
  return await commit(context, signal, () => {
    const pass = passOf(context, rules, unnamed);
    const bad = rows.filter((row) => quarantineUnnamed(pass, row)).length;
    releaseUnnamed(context.store, rules, unnamed);
    return { owed: 0, bad };
  });
}

/** A row that has a name but cannot be rendered. False where it is held already. */
function quarantineRow(
  { store, rules, at }: Pass,
  bad: FoundKey & { reason: Message; lastError: string | null },
): boolean {
  if (isHeld(store, rules, bad)) return false;
  const { key, rows } = bad;
  const reason = String(bad.reason);
  const reference = referenceOf(key);
  const { payload, digest } = payloadOf(rows);
  releaseQuarantined(store, [rules.name], reference);
  saveUnsendable(store, rules, { key, reason, at });
  saveQuarantinedRow(store, { kind: rules.name, reference, reason, payload, hash: digest, at });
  return true;
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
  const reason = isNull ? m.feeds.keyIsNull({ columns: rules.keys }) : m.feeds.keyIsBinary({ columns: rules.keys });
  const { payload, digest } = payloadOf([row]);
  unnamed.push(digest);
  return saveQuarantinedRow(store, {
    kind: rules.name,
    reference: null,
    reason: String(reason),
    payload,
    hash: digest,
    at,
  });
}

function add(total: Absorbed, done: Absorbed): void {
  total.owed += done.owed;
  total.bad += done.bad;
}
