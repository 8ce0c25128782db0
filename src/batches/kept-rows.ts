/*
 * Rows of kept bodies (state `unread`): answers that could not be read, and giant batches while they are being stored.
 * A row leaves `batches` in the transaction that stores its orders or moves it to `quarantine`; after a crash before
 * that it is unchanged. SQL, to name the partial index of the state.
 */

import { type BodyPlace, bodyLength } from "../database/body-parts.ts";
import { loadMeta, saveMeta } from "../database/meta.ts";
import { onlyRow, onlyValue } from "../database/only-row.ts";
import { deleteRows, findRow, select, updateRows } from "../database/queries.ts";
import { batches } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import type { Message } from "../messages/message.ts";

export interface UnreadBody extends BodyPlace {
  id: number;
  /** The account that served it. */
  account: string | null;
  /** The answer's `Date` header. */
  date: string | null;
  /** {@link headText} of the answer. */
  head: string | null;
}

/** The next kept body that was not tried with this mapping. */
export function loadUnreadBody(store: Store, mapping: string): UnreadBody | undefined {
  return store
    .prepare<UnreadBody>(
      `SELECT id, body, body_id AS bodyId, service_date AS date, head, account FROM batches INDEXED BY batches_unread
       WHERE state = 'unread' AND (body IS NOT NULL OR body_id IS NOT NULL) AND read_with IS NOT ? ORDER BY id LIMIT 1`,
    )
    .get(mapping);
}

/**
 * The `Date` header of the account's first answer with orders: null where it had none or its body was read since;
 * undefined where there is no such answer.
 */
export function loadFirstDate(store: Store, account: string | null): string | null | undefined {
  return select(store, batches, ["serviceDate"], "WHERE account IS ? ORDER BY id LIMIT 1").get(account)?.serviceDate;
}

export function countUnread(store: Store): { count: number; bytes: number } {
  return onlyRow(
    store
      .prepare<{ count: number; bytes: number }>(
        `SELECT count(*) AS count, coalesce(sum(${bodyLength("batches")}), 0) AS bytes FROM batches INDEXED BY batches_unread
       WHERE state = 'unread'`,
      )
      .get(),
  );
}

/** Whether an answer of the account, or of one that is not known, is kept that could not be read. */
export function hasUnreadOf(store: Store, account: string): boolean {
  const sql = `SELECT EXISTS (SELECT 1 FROM batches INDEXED BY batches_unread
    WHERE state = 'unread' AND (account IS NULL OR account = ?))`;
  return onlyValue<number>(store, sql, account) === 1;
}

/** For so long a newer body of the same orders does not replace the kept one. */
const KEPT_ANEW = "-1 hour";

/** The body kept under this fingerprint; `isNew`: it is not replaced, whatever the new answer holds. */
export function loadKeptUnder(
  store: Store,
  fingerprint: string,
  at: string,
): (BodyPlace & { id: number; isNew: boolean }) | undefined {
  const row = store
    .prepare<BodyPlace & { id: number; isNew: number }>(
      `SELECT id, body, body_id AS bodyId, received_at >= strftime('%Y-%m-%dT%H:%M:%fZ', ?, '${KEPT_ANEW}') AS isNew FROM batches
       WHERE fingerprint = ? AND state = 'unread'`,
    )
    .get(at, fingerprint);
  return row === undefined ? undefined : { ...row, isNew: row.isNew === 1 };
}

/**
 * Keeps a body that could not be read. An equal one adds no row; of bodies with the same orders the row holds the
 * newest, replaced at most once an hour. Returns the row's id.
 */
export function saveUnreadBody(
  store: Store,
  unread: {
    fingerprint: string;
    place: BodyPlace;
    date: string | undefined;
    head: string | null;
    /** The mapping that failed on it; null where none was tried to the end. */
    mapping: string | null;
    error: Message | null;
    at: string;
    account: string;
    /** For an answer that could not be read: when it came, in milliseconds since the machine's start. */
    unreadableMs?: number;
  },
): number {
  const { unreadableMs, ...body } = unread;
  const { changes } = store
    .prepare(
      `INSERT INTO batches (fingerprint, received_at, order_count, state, last_error, read_with, service_date, head, account, body, body_id)
       VALUES (@fingerprint, @at, 0, 'unread', @error, @mapping, @date, @head, @account, @body, @bodyId)
       ON CONFLICT (fingerprint) DO UPDATE
       SET body = excluded.body, body_id = excluded.body_id, head = excluded.head, received_at = excluded.received_at
       WHERE state = 'unread' AND (body IS NOT excluded.body OR body_id IS NOT excluded.body_id)
         AND received_at < strftime('%Y-%m-%dT%H:%M:%fZ', excluded.received_at, '${KEPT_ANEW}')`,
    )
    .run({ ...body, ...body.place, date: body.date ?? null, error: store.textOf(body.error) });
  if (unreadableMs !== undefined && changes > 0) saveMeta(store, "unreadable", String(unreadableMs));
  store
    .prepare("UPDATE batches SET account = @account WHERE fingerprint = @fingerprint AND account <> @account")
    .run({ account: unread.account, fingerprint: unread.fingerprint });
  return onlyValue(store, "SELECT id FROM batches WHERE fingerprint = ?", unread.fingerprint);
}

/** To be called inside the transaction that stores the body's orders. */
export function deleteUnread(store: Store, id: number): void {
  deleteRows(store, batches, { id, state: "unread" });
}

export function markUnreadTried(store: Store, id: number, mapping: string, error: Message): void {
  updateRows(store, batches, { id }, { readWith: mapping, lastError: store.textOf(error) });
}

/**
 * A path has matched for the first time: bodies refused because it never had are now to be read; records without it are
 * held.
 */
export function markUnreadUntried(store: Store): void {
  store
    .prepare(
      "UPDATE batches INDEXED BY batches_unread SET read_with = NULL WHERE state = 'unread' AND read_with IS NOT NULL",
    )
    .run();
}

// ---------------------------------------------------------------- settled without being read

export interface KeptBody extends BodyPlace {
  id: number;
  receivedAt: string;
  lastError: string;
  /** Ids of orders that were requested because of this body. */
  asked: readonly string[];
}

/** The next kept answer after `id` that this mapping failed on; not a giant batch that is being stored. */
export function loadKeptAfter(store: Store, id: number, mapping: string): KeptBody | undefined {
  const rest = `INDEXED BY batches_unread
    WHERE state = 'unread' AND id > ? AND last_error IS NOT NULL AND read_with IS ? ORDER BY id LIMIT 1`;
  const names = ["id", "body", "bodyId", "receivedAt", "lastError", "orderIds"] as const;
  const row = select(store, batches, names, rest).get(id, mapping);
  if (row === undefined) return undefined;
  const { orderIds, lastError, ...kept } = row;
  return { ...kept, lastError: lastError ?? "", asked: JSON.parse(orderIds ?? "[]") as string[] };
}

/** When the newest kept answer came, in milliseconds since the machine's start. */
export function loadUnreadableMs(store: Store): number {
  return Number(loadMeta(store, "unreadable") ?? 0);
}

export function saveKeptAsked(store: Store, id: number, asked: readonly string[]): void {
  updateRows(store, batches, { id, state: "unread" }, { orderIds: JSON.stringify(asked) });
}

/** Moves it to the quarantine as released. Returns false where it is no longer kept. */
export function settleKept(
  store: Store,
  kept: Pick<KeptBody, "id">,
  settled: { reason: Message; at: string; hash: Buffer },
): boolean {
  return moveToQuarantine(store, kept.id, { state: "released", ...settled });
}

/** The same as dropped, at a person's request. `hash`: SHA-256 of the body. */
export function dropKept(store: Store, id: number, dropped: { at: string; hash: Buffer }): boolean {
  return moveToQuarantine(store, id, { state: "dropped", reason: null, ...dropped });
}

function moveToQuarantine(
  store: Store,
  id: number,
  { state, reason, at, hash }: { state: "released" | "dropped"; reason: Message | null; at: string; hash: Buffer },
): boolean {
  const kept = findRow(store, batches, { id, state: "unread" });
  if (kept === undefined || kept.lastError === null) return false;
  const { bodyId, receivedAt } = kept;
  const payload = kept.body?.toString("utf8") ?? null;
  const why = reason === null ? kept.lastError : store.textOf(reason);
  store
    .prepare(
      `INSERT INTO quarantine (kind, reference, reason, payload, body_id, payload_hash, state, first_seen_at, last_seen_at)
       VALUES ('batch', ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (kind, coalesce(reference, ''), payload_hash) DO UPDATE
       SET state = excluded.state, reason = excluded.reason, last_seen_at = excluded.last_seen_at`,
    )
    .run(`batch:${id}`, why, payload, bodyId, hash, state, receivedAt, at);
  deleteRows(store, batches, { id, state: "unread" });
  return true;
}
