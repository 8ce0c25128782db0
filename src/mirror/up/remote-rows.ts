/*
 * Statements of the direction `up` in PostgreSQL, one per function. SQL, because touched keys are joined with current values
 * of several tables. The ERP's transactions may be long: rows that they have locked are left for the next pass.
 */
import { m } from "../../messages/messages.ts";
import type { MirrorTx } from "../connection.ts";
import { inHalves, type RefusedRow } from "../in-halves.ts";
import {
  ERP_TABLE_NAMES,
  ERP_TABLES,
  type ErpTable,
  isErpTable,
  type Key,
  type RemoteRow,
  type TouchedRow,
} from "./erp-tables.ts";
import type { FormerOrder } from "./former-orders.ts";
import { type FoundRow, readReadable, unreadableOf } from "./read-readable.ts";

/** Notes read at a time; a transaction of this size holds SQLite's write lock for some 20 ms. */
export const NOTES_MAX = 2_000;
/** Rows beyond so many bytes wait for the next round. */
const BYTES_MAX = 16 * 1024 * 1024;
/** The same for their texts, before JSON is made of them, which may be six times as large. */
const TEXT_BYTES_MAX = 8 * 1024 * 1024;
/** A row beyond this is the ERP's mistake: it is refused without being read. */
const ROW_BYTES_MAX = 64 * 1024 * 1024;
/** The size of a larger compressed `jsonb` is determined by decompressing it; a smaller one is at most some 16 MB. */
const JSONB_BYTES = 64 * 1024;
/** A longer reason does not help. */
const ERROR_CHARACTERS = 500;

/** A status that the ERP requests, as PostgreSQL has it. */
export interface RemoteRequest {
  orderId: string;
  status: string | null;
  comment: string | null;
  data: string | null;
  requestedAt: string | null;
  seq: string;
  state: string;
  error: string | null;
  /** The order's revision that the ERP had read; null for a request of a version that did not record it. */
  knownRevision: string | null;
  attempts: number;
  httpStatus: number | null;
  answeredAt: string | null;
  lastError: string | null;
}

export interface TouchedRequest {
  id: string;
  request: RemoteRequest | null;
  /** Why PostgreSQL cannot return the request, although it exists. */
  unreadable?: string | undefined;
  /** The order in PostgreSQL, of a request that may already have been sent; undefined where it has none. */
  former?: FormerOrder | undefined;
}

/** The work of a round: touched keys with current values, and their notes. */
export interface Touched {
  rows: (TouchedRow & { ids: string[] })[];
  requests: (TouchedRequest & { ids: string[] })[];
  /** Tables that were emptied as a whole. */
  whole: { table: string; ids: string[] }[];
}

type KeyedTable = ErpTable | "status_requests";

const keyOf = (table: KeyedTable): readonly { name: string; type: "text" | "uuid" | "integer" }[] =>
  table === "status_requests" ? [{ name: "id", type: "uuid" }] : ERP_TABLES[table].key;

/**
 * `keys` are columns of the key's own types: a cast may fail, and what may fail is not asked of an index before row-level security, so that each key
 * would go through all rows of the shop.
 */
const keyIs = (table: KeyedTable, row: string, keys: readonly string[]) =>
  keyOf(table)
    .map(({ name }, at) => `${row}.${name} = ${keys[at]}`)
    .join(" AND ");

/** For `json_to_recordset`. */
const keyColumns = (table: KeyedTable) => {
  const [first, second] = keyOf(table);
  return `k0 ${first?.type}, k1 ${second?.type ?? "text"}`;
};

/** The row as JSON with all values as text, so that numbers keep all digits. */
function rowAsJson(table: ErpTable, row: string): string {
  const { columns } = ERP_TABLES[table];
  const values = columns.map(({ name, remote }) => `'${name}', ${row}.${remote ?? name}::text`);
  const blockedAt = table === "erp_orders" ? `${row}.blocked_at::text` : "NULL";
  return `json_build_object('values', json_build_object(${values.join(", ")}), 'error', ${row}.error, 'blockedAt', ${blockedAt})`;
}

/** The bytes of a row's texts when they are not compressed. PostgreSQL knows the length of a text without reading it. */
function textBytes(columns: readonly string[], row: string): string {
  const sizes = columns.map((name) => {
    const value = `${row}.${name}`;
    const whole = `CASE WHEN pg_column_size(${value}) > ${JSONB_BYTES} THEN ${value} #> '{}' ELSE ${value} END`;
    return `coalesce(${name === "data" ? `pg_column_size(${whole})` : `octet_length(${value})`}, 0)::bigint`;
  });
  return sizes.length === 0 ? "0::bigint" : sizes.join(" + ");
}

const UNLESS_REFUSED = `CASE WHEN weight > ${ROW_BYTES_MAX} THEN 0 ELSE weight END`;
/** The bytes of rows before each one, of those that are read. */
const bytesBefore = (order: string) => `sum(${UNLESS_REFUSED}) OVER (ORDER BY ${order}) - ${UNLESS_REFUSED}`;

/** A row with larger texts is read without others, so that none waits where it cannot be read. */
const IS_NEAR = `(earlier = 0 OR earlier + ${UNLESS_REFUSED} < ${TEXT_BYTES_MAX})`;

const REQUEST_TEXTS = ["status", "comment", "data"];
const textsOf = (table: KeyedTable) =>
  table === "status_requests"
    ? REQUEST_TEXTS
    : ERP_TABLES[table].columns.filter(({ kind }) => kind === "text").map(({ name, remote }) => remote ?? name);

const utc = (column: string) => `to_char(v.${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const REQUEST_AS_JSON = `json_build_object('orderId', v.order_id::text, 'status', v.status, 'comment', v.comment,
  'data', v.data::text, 'requestedAt', ${utc("requested_at")}, 'seq', v.seq::text, 'state', v.state, 'error', v.error,
  'knownRevision', v.known_revision::text, 'attempts', v.attempts, 'httpStatus', v.http_status, 'answeredAt', ${utc("answered_at")},
  'lastError', v.last_error)`;

const ofTouched = (table: KeyedTable, what: string) => {
  const keys = keyOf(table).map(({ type }, at) => (type === "text" ? `t.k${at}` : `t.${type}_key`));
  return `WHEN '${table}' THEN (SELECT ${what} FROM ${table} v WHERE v.shop = $1 AND ${keyIs(table, "v", keys)})`;
};
/** Beside the keys as text, of the tables where they are something else. */
const TYPED_KEYS = (["uuid", "integer"] as const).map((type) => {
  const all: readonly KeyedTable[] = [...ERP_TABLE_NAMES, "status_requests"];
  const cases = all.flatMap((table) =>
    keyOf(table).flatMap((key, at) => (key.type === type ? [`WHEN '${table}' THEN k${at}::${type}`] : [])),
  );
  return `CASE tbl ${cases.join(" ")} END AS ${type}_key`;
});
const contentOf = (table: ErpTable) => ofTouched(table, rowAsJson(table, "v"));
/** A table without texts is not looked at for them. */
const weights = [
  ...ERP_TABLE_NAMES.filter((table) => textsOf(table).length > 0).map((table) =>
    ofTouched(table, textBytes(textsOf(table), "v")),
  ),
  ofTouched("status_requests", textBytes(REQUEST_TEXTS, "v")),
];

/** Notes about orders, unlike those that an ERP writes by the million. */
const OF_ORDERS = "tbl IN ('erp_orders', 'status_requests')";
const OF_ARTICLES = "tbl NOT IN ('erp_orders', 'status_requests')";

const notesWhere = (which: string, at: number) =>
  `(SELECT id, tbl, k0, k1, ${at} AS turn FROM touched WHERE shop = $1 AND ${which} ORDER BY id LIMIT $2)`;

const UNLESS_LARGE = `CASE WHEN octet_length(content) <= ${ROW_BYTES_MAX} THEN content END AS content,
  octet_length(content) > ${ROW_BYTES_MAX} OR weight > ${ROW_BYTES_MAX} AS "isLarge"`;
/** The JSON of a row that is not refused by the size of its texts. */
const unlessRefused = (json: string) => `CASE WHEN v.weight <= ${ROW_BYTES_MAX} THEN ${json} END::text`;

/** One statement: a row changed later gets a newer note, so values are never older than their note. */
const readNotes = (notes: string) => `
  WITH notes AS (${notes}),
    keys AS MATERIALIZED (
      SELECT tbl, k0, k1, ${TYPED_KEYS.join(", ")}, json_agg(id::text)::text AS ids, min(turn) AS turn, min(id) AS first FROM notes GROUP BY tbl, k0, k1),
    weights AS MATERIALIZED (
      SELECT t.*, coalesce(CASE WHEN t.k0 IS NULL THEN 0 ELSE CASE t.tbl
        ${weights.join("\n        ")}
      END END, 0) AS weight FROM keys t),
    t AS MATERIALIZED (
      SELECT * FROM (SELECT *, ${bytesBefore("turn, first")} AS earlier FROM weights) w WHERE ${IS_NEAR}),
    found AS MATERIALIZED (
      SELECT t.*, CASE WHEN t.k0 IS NULL OR t.weight > ${ROW_BYTES_MAX} THEN NULL ELSE CASE t.tbl
        ${ERP_TABLE_NAMES.map(contentOf).join("\n        ")}
        ${ofTouched("status_requests", REQUEST_AS_JSON)}
      END END::text AS content FROM t),
    sized AS (
      SELECT *, sum(coalesce(octet_length(content), 0)) OVER (ORDER BY turn, first) - coalesce(octet_length(content), 0) AS before FROM found)
  SELECT tbl, k0, k1, ids, ${UNLESS_LARGE} FROM sized WHERE before < ${BYTES_MAX} ORDER BY turn, first`;

/** The first note and those of the same key, without values. */
const readFirstNote = (notes: string) => `
  WITH first AS (SELECT tbl, k0, k1 FROM ${notes} n)
  SELECT t.tbl, t.k0, t.k1, json_agg(t.id::text)::text AS ids FROM touched t JOIN first f ON f.tbl = t.tbl WHERE t.shop = $1
    AND t.k0 IS NOT DISTINCT FROM f.k0 AND t.k1 IS NOT DISTINCT FROM f.k1 GROUP BY t.tbl, t.k0, t.k1`;

const READ_TOUCHED = readNotes(`${notesWhere(OF_ORDERS, 1)} UNION ALL ${notesWhere(OF_ARTICLES, 2)}`);
const SINGLE_OF_ORDERS = `${OF_ORDERS} AND k0 IS NOT NULL`;
const READ_TOUCHED_OF_ORDERS = readNotes(notesWhere(SINGLE_OF_ORDERS, 1));

interface FoundNote extends FoundRow {
  tbl: string;
  k0: string | null;
  k1: string | null;
  ids: string;
}

/** `isCareful`: isolates a row that PostgreSQL cannot return. */
export interface Reading {
  shop: string;
  limit: number;
  isCareful: boolean;
}

/** `ofOrders`: reads only notes about single orders. */
export async function readTouched(tx: MirrorTx, reading: Reading, { ofOrders = false } = {}): Promise<Touched> {
  const touched: Touched = { rows: [], requests: [], whole: [] };
  for (const { tbl, k0, k1, ...found } of await findNotes(tx, reading, ofOrders)) {
    const ids = JSON.parse(found.ids) as string[];
    const unreadable = unreadableOf(found, ROW_BYTES_MAX);
    if (tbl === "status_requests" && k0 !== null) {
      touched.requests.push({ id: k0, ids, request: parsed<RemoteRequest>(found.content), unreadable });
    } else if (isErpTable(tbl) && k0 !== null) {
      touched.rows.push({ table: tbl, k0, k1: k1 ?? "", ids, row: parsed<RemoteRow>(found.content), unreadable });
    } else touched.whole.push({ table: tbl, ids });
  }
  return touched;
}

async function findNotes(
  tx: MirrorTx,
  { shop, limit, isCareful }: Reading,
  ofOrders: boolean,
): Promise<readonly FoundNote[]> {
  if (!isCareful) return await tx.query<FoundNote>(ofOrders ? READ_TOUCHED_OF_ORDERS : READ_TOUCHED, [shop, limit]);
  for (const which of ofOrders ? [SINGLE_OF_ORDERS] : [OF_ORDERS, OF_ARTICLES]) {
    const notes = notesWhere(which, 1);
    const found = await readReadable(tx, limit, {
      read: (some) => tx.query<FoundNote>(readNotes(notes), [shop, some]),
      readKey: () => tx.query<FoundNote>(readFirstNote(notes), [shop, 1]),
      readOne: ({ tbl, k0, k1 }) =>
        k0 === null || !(isErpTable(tbl) || tbl === "status_requests")
          ? Promise.resolve([])
          : readOne(tx, shop, tbl, { k0, k1: k1 ?? "" }),
    });
    if (found.length > 0) return found;
  }
  return [];
}

async function readOne(tx: MirrorTx, shop: string, table: KeyedTable, { k0, k1 }: Key): Promise<FoundRow[]> {
  const content = table === "status_requests" ? REQUEST_AS_JSON : rowAsJson(table, "v");
  const key = keyOf(table);
  const keys = key.map(({ type }, at) => `$${at + 2}::text::${type}`);
  return await tx.query<FoundRow>(
    `SELECT ${UNLESS_LARGE} FROM (SELECT v.weight, ${unlessRefused(content)} AS content FROM (
       SELECT v.*, ${textBytes(textsOf(table), "v")} AS weight FROM ${table} v WHERE v.shop = $1 AND ${keyIs(table, "v", keys)}) v) one`,
    [shop, ...[k0, k1].slice(0, key.length)],
  );
}

function parsed<T>(content: string | null): T | null {
  return content === null ? null : (JSON.parse(content) as T);
}

/** Deletes exactly the notes that were read: others with lower ids may become visible later. */
export async function deleteTouched(tx: MirrorTx, shop: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.run("DELETE FROM touched WHERE shop = $1 AND id = ANY ($2::bigint[])", [shop, ids]);
}

/** Deletes all notes of rows, because a walk through all rows follows. Notes of requests are kept. */
export async function forgetNotes(tx: MirrorTx, shop: string): Promise<void> {
  await tx.run("DELETE FROM touched WHERE shop = $1 AND tbl = ANY ($2::text[])", [shop, ERP_TABLE_NAMES]);
}

export async function addNotes(tx: MirrorTx, shop: string, table: string, keys: readonly Key[]): Promise<void> {
  await tx.run(
    `INSERT INTO touched (shop, tbl, k0, k1) SELECT $1, $2, x.k0, x.k1 FROM json_to_recordset($3::json) AS x(k0 text, k1 text)`,
    [shop, table, JSON.stringify(keys)],
  );
}

/** The tables in which the shop has rows. */
export async function findFilled(tx: MirrorTx, shop: string): Promise<ErpTable[]> {
  const each = ERP_TABLE_NAMES.map(
    (table) => `SELECT '${table}' AS name WHERE EXISTS (SELECT 1 FROM ${table} WHERE shop = $1)`,
  );
  const rows = await tx.query<{ name: ErpTable }>(each.join(" UNION ALL "), [shop]);
  return rows.map(({ name }) => name);
}

/** The result for a row: why it was refused, or null. */
export interface Verdict extends Key {
  table: ErpTable | "status_requests";
  error: string | null;
}

/** What became of verdicts. */
export interface WrittenErrors {
  /** Keys of rows that another transaction has locked. */
  locked: Key[];
  refused: RefusedRow<Verdict>[];
}

/** Writes the verdicts on one table. */
export async function writeErrors(
  tx: MirrorTx,
  shop: string,
  table: Verdict["table"],
  verdicts: readonly Verdict[],
): Promise<WrittenErrors> {
  const locked: Key[] = [];
  const refused = await inHalves(tx, verdicts, async (part) => {
    locked.push(...(await writeSomeErrors(tx, shop, table, part)));
    return undefined;
  });
  return { locked, refused };
}

/** Returns the keys of rows that another transaction has locked. */
async function writeSomeErrors(
  tx: MirrorTx,
  shop: string,
  table: Verdict["table"],
  verdicts: readonly Verdict[],
): Promise<Key[]> {
  const given = verdicts.map(({ k0, k1, error }) => ({
    k0,
    k1,
    error: error === null ? null : fit(error.slice(0, ERROR_CHARACTERS)),
  }));
  return await tx.query<Key>(
    `WITH x AS MATERIALIZED (SELECT * FROM json_to_recordset($2::json) AS x(${keyColumns(table)}, error text)),
       free AS MATERIALIZED (
         SELECT x.k0, x.k1 FROM x JOIN ${table} v ON v.shop = $1 AND ${keyIs(table, "v", ["x.k0", "x.k1"])} FOR UPDATE OF v SKIP LOCKED),
       written AS (
         UPDATE ${table} v SET error = x.error FROM x JOIN free USING (k0, k1)
         WHERE v.shop = $1 AND ${keyIs(table, "v", ["x.k0", "x.k1"])} AND v.error IS DISTINCT FROM x.error)
     SELECT x.k0::text, x.k1::text FROM x WHERE (x.k0, x.k1) NOT IN (SELECT k0, k1 FROM free)
       AND EXISTS (SELECT 1 FROM ${table} v WHERE v.shop = $1 AND ${keyIs(table, "v", ["x.k0", "x.k1"])})`,
    [shop, JSON.stringify(given)],
  );
}

/** The text with U+FFFD in place of NUL and unpaired surrogates, which PostgreSQL cannot store. */
function fit(words: string): string {
  return words.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** Number of refused rows, by table. */
export async function countRefused(tx: MirrorTx, shop: string): Promise<Record<string, number>> {
  const tables = [...ERP_TABLE_NAMES, "status_requests"];
  const counts = tables.map(
    (table) => `SELECT '${table}' AS name, count(*)::int AS n FROM ${table} WHERE shop = $1 AND error IS NOT NULL`,
  );
  const rows = await tx.query<{ name: string; n: number }>(counts.join(" UNION ALL "), [shop]);
  return Object.fromEntries(rows.filter(({ n }) => n > 0).map(({ name, n }) => [name, n]));
}

/** What became of a request. */
export interface Outcome {
  id: string;
  order_id: string;
  status: string | null;
  comment: string | null;
  data: string | null;
  requested_at: string | null;
  state: string;
  attempts: number;
  http_status: number | null;
  answered_at: string | null;
  last_error: string | null;
}

const OUTCOME = ["state", "attempts", "http_status", "answered_at", "last_error"];

/** What became of outcomes. */
export interface WrittenOutcomes {
  /** Requests with their outcome. Rows of the others are locked by another transaction, or refuse it. */
  written: Set<string>;
  refused: RefusedRow<Outcome>[];
}

/** Writes outcomes, also of requests that PostgreSQL lacks because it was restored to an earlier state. */
export async function writeOutcomes(
  tx: MirrorTx,
  shop: string,
  outcomes: readonly Outcome[],
): Promise<WrittenOutcomes> {
  const written = new Set<string>();
  const refused = await inHalves(tx, outcomes, async (part) => {
    const found = await writeSome(tx, shop, part);
    // An unlocked row stays unchanged only because of a trigger.
    if (found.some(({ isWritten }) => !isWritten)) return String(m.mirror.dropped);
    for (const { id } of found) written.add(id);
    return undefined;
  });
  return { written, refused };
}

/**
 * Skips requests whose rows another transaction has locked. A correction that was refused while the request was on its way is read again
 * where the request waits again.
 */
async function writeSome(
  tx: MirrorTx,
  shop: string,
  outcomes: readonly Outcome[],
): Promise<{ id: string; isWritten: boolean }[]> {
  const set = OUTCOME.map((name) => `${name} = x.${name}`).join(", ");
  const columns = ["id", "order_id", "status", "comment", "data", "requested_at", ...OUTCOME];
  return await tx.query<{ id: string; isWritten: boolean }>(
    `WITH x AS MATERIALIZED (SELECT * FROM json_to_recordset($2::json) AS x(id uuid, order_id uuid, status text, comment text, data jsonb,
         requested_at timestamptz, state text, attempts int, http_status int, answered_at timestamptz, last_error text)),
       free AS MATERIALIZED (SELECT x.id FROM x JOIN status_requests r ON r.shop = $1 AND r.id = x.id FOR UPDATE OF r SKIP LOCKED),
       written AS (
         UPDATE status_requests r SET ${set} FROM x JOIN free USING (id) WHERE r.shop = $1 AND r.id = x.id RETURNING r.id, r.state, r.error),
       again AS (
         INSERT INTO touched (shop, tbl, k0) SELECT $1, 'status_requests', id::text FROM written WHERE state = 'pending' AND error IS NOT NULL),
       missing AS (
         INSERT INTO status_requests (shop, ${columns.join(", ")}) SELECT $1, ${columns.map((name) => `x.${name}`).join(", ")} FROM x
         WHERE NOT EXISTS (SELECT 1 FROM status_requests r WHERE r.shop = $1 AND r.id = x.id)
         ON CONFLICT DO NOTHING RETURNING id)
     SELECT id::text, id IN (SELECT id FROM written) AS "isWritten" FROM free UNION ALL SELECT id::text, true FROM missing`,
    [
      shop,
      JSON.stringify(
        outcomes.map((each) => ({ ...each, last_error: each.last_error === null ? null : fit(each.last_error) })),
      ),
    ],
  );
}

/** The next rows of a whole table, in PostgreSQL's own order of keys. */
export async function readPage(
  tx: MirrorTx,
  { shop, limit, isCareful }: Reading,
  { table, after }: { table: ErpTable; after?: Key },
): Promise<TouchedRow[]> {
  const { key } = ERP_TABLES[table];
  const names = key.map(({ name }) => `v.${name}`).join(", ");
  const bounds = key.map(({ type }, at) => `$${at + 3}::text::${type}`).join(", ");
  const beyond = after === undefined ? "" : `AND (${names}) > (${bounds})`;
  const bound = after === undefined ? [] : [after.k0, after.k1].slice(0, key.length);
  const keyTexts = `v.${key[0]?.name}::text AS k0, ${key[1] === undefined ? "''" : `v.${key[1].name}::text`} AS k1`;
  type Found = FoundRow & Pick<Key, "k0" | "k1">;
  const read = (some: number) =>
    tx.query<Found>(
      `WITH page AS (SELECT row_number() OVER (ORDER BY ${names}) AS at, weight, ${keyTexts}, ${unlessRefused(rowAsJson(table, "v"))} AS content
         FROM (SELECT *, ${bytesBefore(names)} AS earlier FROM (
           SELECT *, ${textBytes(textsOf(table), "v")} AS weight FROM ${table} v WHERE shop = $1 ${beyond} ORDER BY ${names} LIMIT $2) v) v
         WHERE ${IS_NEAR}),
         sized AS (SELECT *, sum(coalesce(octet_length(content), 0)) OVER (ORDER BY at) - coalesce(octet_length(content), 0) AS before FROM page)
       SELECT k0, k1, ${UNLESS_LARGE} FROM sized WHERE before < ${BYTES_MAX} ORDER BY at`,
      [shop, some, ...bound],
    );
  const readKey = () =>
    tx.query<Found>(`SELECT ${keyTexts} FROM ${table} v WHERE shop = $1 ${beyond} ORDER BY ${names} LIMIT $2`, [
      ...[shop, 1],
      ...bound,
    ]);
  const rows = isCareful
    ? await readReadable(tx, limit, { read, readKey, readOne: (found) => readOne(tx, shop, table, found) })
    : await read(limit);
  return rows.map(({ k0, k1, ...found }) => ({
    ...{ table, k0, k1 },
    ...{ row: parsed<RemoteRow>(found.content), unreadable: unreadableOf(found, ROW_BYTES_MAX) },
  }));
}

/** Those of these keys that PostgreSQL does not have. */
export async function findAbsent(tx: MirrorTx, shop: string, table: ErpTable, keys: readonly Key[]): Promise<Key[]> {
  return await tx.query<Key>(
    `SELECT x.k0::text, x.k1::text FROM json_to_recordset($2::json) AS x(${keyColumns(table)})
     WHERE NOT EXISTS (SELECT 1 FROM ${table} v WHERE v.shop = $1 AND ${keyIs(table, "v", ["x.k0", "x.k1"])})`,
    [shop, JSON.stringify(keys)],
  );
}

/**
 * Those of these keys, of rows that PostgreSQL does not have, without a note: the ERP has deleted the rows of the others, and the
 * shop applies that after the walk. `isHeld`: rows of the table wait for an approval, which a note of the whole table does not replace.
 */
export async function findUnnoted(
  tx: MirrorTx,
  shop: string,
  { table, keys, isHeld }: { table: ErpTable; keys: readonly Key[]; isHeld: boolean },
): Promise<Key[]> {
  if (keys.length === 0) return [];
  return await tx.query<Key>(
    `SELECT x.k0, x.k1 FROM json_to_recordset($2::json) AS x(k0 text, k1 text)
     WHERE ($4::boolean OR NOT EXISTS (SELECT 1 FROM touched t WHERE t.shop = $1 AND t.tbl = $3 AND t.k0 IS NULL))
       AND NOT EXISTS (SELECT 1 FROM touched t WHERE t.shop = $1 AND t.tbl = $3 AND t.k0 = x.k0 AND coalesce(t.k1, '') = x.k1)`,
    [shop, JSON.stringify(keys), table, isHeld],
  );
}

/** A request with its number, which determines the order of sending. */
export interface NumberedRequest extends TouchedRequest {
  seq: string;
}

/** Open requests in PostgreSQL, and those of these ids, in the order of their creation. */
export async function readOpenRequests(
  tx: MirrorTx,
  { shop, limit, isCareful }: Reading,
  { after = "0", ids = [] }: { after?: string | undefined; ids?: readonly string[] },
): Promise<NumberedRequest[]> {
  const orOfThese = ids.length === 0 ? "" : "OR v.id = ANY ($4::uuid[])";
  const where = `v.shop = $1 AND (v.state IN ('pending', 'sending') ${orOfThese}) AND v.seq > $3::text::bigint`;
  const bound = ids.length === 0 ? [after] : [after, ids];
  type Found = FoundRow & { id: string; seq: string };
  const read = (some: number) =>
    tx.query<Found>(
      `SELECT id, seq::text, ${UNLESS_LARGE} FROM (
         SELECT v.id, v.seq, v.weight, ${unlessRefused(REQUEST_AS_JSON)} AS content FROM (SELECT *, ${bytesBefore("seq")} AS earlier FROM (
           SELECT v.*, ${textBytes(REQUEST_TEXTS, "v")} AS weight FROM status_requests v WHERE ${where} ORDER BY v.seq LIMIT $2) v) v
         WHERE ${IS_NEAR}) found
       ORDER BY found.seq`,
      [shop, some, ...bound],
    );
  const readKey = () =>
    tx.query<Found>(`SELECT v.id, v.seq::text FROM status_requests v WHERE ${where} ORDER BY v.seq LIMIT $2`, [
      ...[shop, 1],
      ...bound,
    ]);
  const rows = isCareful
    ? await readReadable(tx, limit, {
        ...{ read, readKey },
        readOne: ({ id }) => readOne(tx, shop, "status_requests", { k0: id, k1: "" }),
      })
    : await read(limit);
  return rows.map(({ id, seq, ...found }) => ({
    ...{ id, seq, request: parsed<RemoteRequest>(found.content) },
    unreadable: unreadableOf(found, ROW_BYTES_MAX),
  }));
}
