/*
 * Compares rows of a feed's source with the acknowledged and waiting ones. The same comparison serves changed keys, full
 * comparisons and sources without triggers. It does not write: the caller stores the differences in a transaction that
 * compares again.
 */

import { hash } from "node:crypto";
import type { Store } from "../../database/store.ts";
import type { Message } from "../../messages/message.ts";
import { m } from "../../messages/messages.ts";
import { loadQuarantineState } from "../../pass/quarantine-rows.ts";
import { withoutGone } from "../acknowledged-rows.ts";
import type { FeedRules } from "../feed.ts";
import { loadKnownKeys } from "../feed-outbox.ts";
import {
  type ColumnValue,
  parentOf,
  RECORDS_BYTES_MAX,
  renderRow,
  type SourceRow,
  TOO_LARGE,
  tooLarge,
} from "../feed-record.ts";
import { type FoundRecord, loadDifferent } from "../feed-rows.ts";
import { seeRow } from "../images/find-images.ts";
import { isOtherArticle, textAt } from "../record-identity.ts";
import { KeyReader, recordKeyOf } from "../rekey/former-key.ts";
import { referenceOf } from "../row-reference.ts";
import type { KeySet } from "./key-set.ts";
import { type FeedKeyState, type LocalRow, planRow, type RowPlan } from "./plan-feed.ts";

/** Tables with the keys that were sent or wait to be sent. */
const KNOWN = ["feed_sent", "feed_outbox"] as const;
/** Known keys per read that are searched for among those of the source. */
const KNOWN_PER_READ = 1_000;

const UNKNOWN: FeedKeyState = { sent: undefined, outbox: undefined };

/** A key as text, and its rows in the source: none where it was deleted, two where it is not unique. */
export interface FoundKey {
  readonly key: readonly string[];
  readonly rows: readonly SourceRow[];
}

export interface Difference<F extends FoundKey> {
  found: F;
  plan: RowPlan;
  known: FeedKeyState;
  /** Records that are or may be on the site, and name another article than the row does now. */
  former: readonly string[];
}

/**
 * The keys whose found rows differ from the acknowledged or waiting ones, each with its plan. `unseen`: rows whose image
 * file was not examined yet; `left`: those that are to be compared later, because the others are large.
 * @param isFirst no key is stored yet
 */
export function diffKeys<F extends FoundKey>(
  store: Store,
  rules: FeedRules,
  found: readonly F[],
  isFirst = false,
): { differences: Difference<F>[]; unseen: F[]; left: F[] } {
  const unseen: F[] = [];
  const seen: { found: F; local: LocalRow }[] = [];
  const records: FoundRecord[] = [];
  let bytes = 0;
  for (const one of found) {
    if (bytes > RECORDS_BYTES_MAX) break;
    const { key, rows } = one;
    const local = localRow(store, rules, rows);
    if (local.kind === "unseen") {
      unseen.push(one);
      continue;
    }
    seen.push({ found: one, local });
    const record = local.kind === "row" ? local.record : null;
    records.push({ key, record, parent: parentOf(rules, rows[0]) });
    bytes += record?.length ?? 0;
  }
  const { different, compared } = isFirst
    ? { different: records.map((_, at) => ({ at, known: UNKNOWN, isOther: false })), compared: records.length }
    : loadDifferent(store, rules, records);
  const differences = different.flatMap(({ at, ...state }) => {
    const one = seen[at];
    if (one === undefined) return [];
    const { known, former } = setApart(rules, one, state);
    return [{ found: one.found, known, former, plan: planRow(rules, one.local, known) }];
  });
  const left = [...seen.slice(compared).map((one) => one.found), ...found.slice(seen.length + unseen.length)];
  return { differences, unseen, left };
}

/**
 * Separates acknowledged records of another article than the row names now: they are no evidence about the new article. A
 * table that is sent whole just omits them, as does one whose deleted rows send nothing, unless other rows may name the
 * article.
 */
function setApart(
  rules: FeedRules,
  { local, found }: { local: LocalRow; found: FoundKey },
  { known, isOther }: { known: FeedKeyState; isOther: boolean },
): { known: FeedKeyState; former: string[] } {
  const names = rules.leavesArticles ? namesArticle(rules, local, found.rows) : undefined;
  if (names === undefined) return { known, former: [] };
  const isFormer = (record: string | null | undefined) => record !== null && record !== undefined && !names(record);
  const sent =
    (isOther || local.kind === "bad") && known.sent?.gone === false && isFormer(known.sent.record)
      ? known.sent
      : undefined;
  const flight = isFormer(known.outbox?.flightRecord) ? known.outbox?.flightRecord : undefined;
  const former = [sent?.record, flight].filter((record) => typeof record === "string");
  return { known: sent === undefined ? known : { ...known, sent: undefined }, former };
}

/** A function that tests whether the row names the article of a record, also for a row that cannot be rendered. */
function namesArticle(
  rules: FeedRules,
  local: LocalRow,
  [row, second]: readonly SourceRow[],
): ((record: string) => boolean) | undefined {
  if (local.kind === "row") return (record) => !isOtherArticle(rules.identity, record, local.record);
  if (row === undefined || second !== undefined) return undefined;
  const said = new KeyReader(recordKeyOf(rules, "{}").from, rules).saidOf(row);
  if (said === undefined) return undefined;
  return (record) =>
    rules.identity.every((steps, at) => said[at] === "" || said[at] === (textAt(record, steps) ?? said[at]));
}

/** The found keys that have to be absorbed, and those that were not compared; the others would change nothing. */
export function differingKeys<F extends FoundKey>(store: Store, rules: FeedRules, found: readonly F[]): F[] {
  const { differences, unseen, left } = diffKeys(store, rules, found);
  const changed = differences.filter(({ found: { key, rows }, plan, known }) =>
    plan.kind === "bad"
      ? !isHeld(store, rules, { key, rows, reason: plan.reason, lastError: known.outbox?.lastError ?? null })
      : plan.kind !== "keep",
  );
  return [...changed.map((one) => one.found), ...unseen, ...left];
}

/** Evaluates the source's rows of one key: the record to send, or why there is none. */
function localRow(store: Store, rules: FeedRules, rows: readonly SourceRow[]): LocalRow | { kind: "unseen" } {
  const [row, second] = rows;
  if (row === undefined) return { kind: "absent" };
  if (second !== undefined) return { kind: "bad", reason: m.feeds.keyNotUnique({ columns: rules.keys }) };
  const reason = tooLarge(row);
  if (reason !== undefined) return { kind: "bad", reason };
  const seen = rules.images === null ? { kind: "row" as const, row } : seeRow(store, rules.images, row);
  if (seen.kind !== "row") return seen;
  const rendered = renderRow(rules, seen.row);
  return "reason" in rendered ? { kind: "bad", reason: rendered.reason } : { kind: "row", record: rendered.record };
}

/**
 * Keys that are stored as present and missing from the source, in steps. `isFull`: including those whose deletion already
 * waits, which may have been rendered under other rules.
 */
export function* absentKeys(
  store: Store,
  rules: FeedRules,
  { present, isFull }: { present: KeySet; isFull: boolean },
): Generator<FoundKey[], void> {
  for (const table of KNOWN) {
    for (let after: string[] | undefined; ; ) {
      const known = loadKnownKeys(store, rules, { table, after, limit: KNOWN_PER_READ });
      if (known.length === 0) break;
      after = known.at(-1);
      const absent = known.filter((key) => !present.has(key)).map((key) => key.slice(0, rules.keys.length));
      const left = isFull ? absent : withoutGone(store, rules, absent);
      yield left.map((key) => ({ key, rows: [] }));
    }
  }
}

/** Whether a row that cannot be rendered is in quarantine with this content. A released row is quarantined again. */
export function isHeld(
  store: Store,
  rules: FeedRules,
  bad: FoundKey & { reason: Message; lastError: string | null },
): boolean {
  if (bad.lastError !== String(bad.reason)) return false;
  const { digest } = payloadOf(bad.rows);
  const decided = loadQuarantineState(store, { kind: rules.name, reference: referenceOf(bad.key), hash: digest });
  return decided !== undefined && decided !== "released";
}

/** Rows as JSON for quarantine, and a digest of it. */
export function payloadOf(rows: readonly SourceRow[]): { payload: string; digest: Buffer } {
  const plain = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([column, value]) => [column === TOO_LARGE ? "(bytes)" : column, plainValue(value)]),
    ),
  );
  const payload = JSON.stringify(plain);
  return { payload, digest: hash("sha256", payload, "buffer") };
}

function plainValue(value: ColumnValue): string | number | null {
  if (Buffer.isBuffer(value)) return `x'${value.subarray(0, 1_000).toString("hex")}'`;
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) return String(value);
  return value;
}
