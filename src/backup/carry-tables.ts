/*
 * Brings over the bridge's other tables. Each table has a rule, and a test fails for a table without one. A position
 * never covers more than the rows that are here, and no confirm is due for a batch whose orders are missing. Writes
 * only to the new file, so a crash leaves nothing but that file.
 */
import { isStrictlyNewer } from "../answers/timestamp.ts";
import { nextBodyId } from "../database/body-parts.ts";
import { quoteName } from "../database/quote-name.ts";
import type { Store } from "../database/store.ts";
import { type CarryOptions, lastNumber } from "./carry-orders.ts";
import {
  columnList,
  eachRow,
  hasTable,
  insertInto,
  keepBytes,
  lowerNumber,
  type Row,
  sharedColumns,
  withReplaced,
  writeMain,
} from "./rows.ts";

type Rule =
  /** Brought over by code of its own. */
  | "own"
  /** The replaced file's rows where it continues the copy; else the copy's. */
  | "theirs"
  /** Rows of both; the replaced file wins for equal keys. */
  | "both"
  /** Rebuilt from other tables, or useless after a restore. */
  | "anew"
  /** Belongs to the ERP. */
  | "erp";

export const RULES: Readonly<Record<string, Rule>> = {
  meta: "own",
  orders: "own",
  order_line_rows: "own",
  order_event_rows: "own",
  compared_orders: "own",
  erp_orders: "own",
  erp_queue: "theirs",
  status_requests: "own",
  batches: "own",
  body_parts: "own",
  unjournaled_bodies: "own",
  pull_mark: "theirs",
  watermarks: "own",
  owed_reads: "both",
  later_reads: "anew",
  repeat_reads: "anew",
  first_looks: "anew",
  missing_orders: "anew",
  seen_changes: "both",
  matched_paths: "both",
  quarantine: "own",
  holds: "theirs",
  stored_messages: "both",
  learned_answers: "both",
  conditions: "anew",
  mirror_changes: "anew",
  mirror_requests: "both",
  mirror_state: "both",
  runs: "theirs",
  flows: "theirs",
  sync_requests: "anew",
  observations: "both",
  feeds: "theirs",
  feed_dirty: "theirs",
  feed_sent: "theirs",
  feed_outbox: "theirs",
  feed_drops: "theirs",
  feed_former: "theirs",
  feed_writes: "theirs",
  image_files: "anew",
  stock: "erp",
  prices: "erp",
  products: "erp",
  images: "erp",
};

/** Facts that grow with the file. Facts about how the file was filled stay as in the copy. */
const NEWER_FACTS = ["observed", "reconcile", "alerts", "revision_floor", "unanswered"];

export function carryTables(options: CarryOptions, zone: string): void {
  withReplaced(options, () => {
    for (const [table, rule] of Object.entries(RULES)) {
      if (!hasTable(options.from, table)) continue;
      if (rule === "both") copyRows(options, table, { replace: false });
      if (rule === "theirs" && options.continues) copyRows(options, table, { replace: true });
    }
  });
  // Orders that could not be brought over are read again, so the changes seen for them do not count.
  forgetSeen(options);
  carryFacts(options);
  carryWatermarks(options, zone);
  const bodies = carryBodies(options);
  mergeById(
    options,
    "quarantine",
    "kind = @kind AND coalesce(reference, '') = coalesce(@reference, '') AND payload_hash = @payload_hash",
    (row) => hasBody(row, bodies),
  );
  const hasBodies = carryUnjournaled(options, bodies);
  mergeById(
    options,
    "batches",
    "fingerprint = @fingerprint",
    (row) => isConfirmable(options, row, hasBodies) && hasBody(row, bodies),
  );
  moveUnjournaled(options.to);
  mergeById(
    options,
    "status_requests",
    options.continues ? "id = @id" : "order_id = @order_id AND status = @status AND requested_at IS @requested_at",
  );
  if (options.continues && options.isSound) forgetWithdrawn(options);
}

/** Copies all rows or none: where the table cannot be read to its end, the copy's rows stay. */
export function copyRows({ from, to, report }: CarryOptions, table: string, how: { replace: boolean }): boolean {
  const list = columnList(sharedColumns({ from, to }, table));
  if (list === "") return true;
  const name = quoteName(table);
  const isWhole = report.tolerate(table, () =>
    // After an error of damage the connection cannot write until its transaction is rolled back.
    writeMain(to, () => {
      if (how.replace) to.db.exec(`DELETE FROM main.${name}`);
      to.db.exec(`INSERT OR REPLACE INTO main.${name} (${list}) SELECT ${list} FROM replaced.${name}`);
      return true;
    }),
  );
  return isWhole === true;
}

/** Merges rows with ids, which keep their id where it is free. The replaced file's row wins where both have it. */
function mergeById(
  options: CarryOptions,
  table: string,
  same: string,
  accept: (row: Record<string, unknown>) => boolean = () => true,
): void {
  const { from, to, report } = options;
  if (!hasTable(from, table)) return;
  const columns = sharedColumns(options, table);
  const others = columns.filter((column) => column !== "id");
  to.write(() => {
    const find = to.db.prepare(`SELECT id FROM ${table} WHERE ${same}`).pluck().safeIntegers(true);
    const isTaken = to.db.prepare(`SELECT 1 FROM ${table} WHERE id = ?`);
    const insert = to.db.prepare(insertInto(table, columns));
    const update = to.db.prepare(
      `UPDATE ${table} SET ${others.map((column) => `"${column}" = ?`).join(", ")} WHERE id = ?`,
    );
    report.tolerate(table, () => {
      for (const row of eachRow(from, `SELECT ${columnList(columns)} FROM ${table} ORDER BY id`)) {
        const named = Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null]));
        const theirs = named["id"];
        named["id"] = lowerNumber(named["id"] ?? null);
        if (!accept(named)) continue;
        const values = others.map((column) => named[column]);
        const mine = find.get(named);
        if (isTaken.get(named["id"]) !== undefined) named["id"] = null;
        if (mine !== undefined) update.run(...values, mine);
        else report.add(table, 1);
        const kept = mine ?? insert.run(...columns.map((column) => named[column])).lastInsertRowid;
        keepBytes(options, table, { key: "id", theirs, mine: kept, row: named });
      }
    });
  });
}

/** Brings bodies in parts over. Returns their new ids by the old ones; incomplete bodies are left out. */
function carryBodies(options: CarryOptions): Map<bigint, bigint> {
  const { from, to, report } = options;
  const numbers = new Map<bigint, bigint>();
  if (!hasTable(from, "body_parts")) return numbers;
  const list = () => from.prepare("SELECT DISTINCT body_id FROM body_parts").pluck().safeIntegers(true).all();
  for (const theirs of (report.tolerate("body_parts", list) ?? []) as bigint[]) {
    const mine = BigInt(nextBodyId(to));
    const isWhole = report.tolerate("body_parts", () =>
      to.write(() => {
        const save = to.db.prepare("INSERT INTO body_parts (body_id, part, bytes) VALUES (?, ?, ?)");
        const sql = "SELECT part, bytes FROM body_parts WHERE body_id = ? ORDER BY part";
        for (const [part, bytes] of eachRow(from, sql, theirs)) save.run(mine, part, bytes);
        return true;
      }),
    );
    if (isWhole === true) numbers.set(theirs, mine);
  }
  return numbers;
}

/** Whether the row's body was brought over; sets its new id in the row. */
function hasBody(row: Record<string, unknown>, bodies: ReadonlyMap<bigint, bigint>): boolean {
  const theirs = row["body_id"];
  if (typeof theirs !== "bigint") return true;
  row["body_id"] = bodies.get(theirs);
  return row["body_id"] !== undefined;
}

/**
 * Brings over bodies that still have to be journaled. The returned function is true for a batch that has all of its
 * own; the confirm of another one would be sent before they are in the journal.
 */
function carryUnjournaled(
  options: CarryOptions,
  bodies: ReadonlyMap<bigint, bigint>,
): (fingerprint: unknown) => boolean {
  const without = new Set<unknown>();
  const same = "fingerprint = @fingerprint AND received_at = @received_at AND body IS @body AND body_id IS @body_id";
  mergeById(options, "unjournaled_bodies", same, (row) => {
    const isHere = hasBody(row, bodies);
    if (!isHere) without.add(row["fingerprint"]);
    return isHere;
  });
  const isWhole = !options.report.damaged.has("unjournaled_bodies");
  return (fingerprint) => isWhole && !without.has(fingerprint);
}

/** Former versions kept such a body in the row of its batch. */
function moveUnjournaled(to: Store): void {
  const waits = "state <> 'unread' AND (body IS NOT NULL OR body_id IS NOT NULL)";
  to.write(() =>
    to.db.exec(`INSERT INTO unjournaled_bodies (fingerprint, account, received_at, body_id, body)
        SELECT fingerprint, account, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), body_id, body FROM batches WHERE ${waits} ORDER BY id;
      UPDATE batches SET body = NULL, body_id = NULL WHERE ${waits}`),
  );
}

/** Runs for every order of every such batch, so it uses indexes only, however much is quarantined. */
export const ORDER_IS_HERE = `SELECT 1 FROM orders WHERE order_id = lower(@id)
  UNION ALL SELECT 1 FROM quarantine INDEXED BY quarantine_record
    WHERE kind IN ('order', 'change', 'snapshot') AND coalesce(reference, '') IN (@id, lower(@id))`;

/**
 * An unconfirmed batch is brought over only with all its orders and bodies; otherwise the service, which still has it,
 * delivers it again.
 */
function isConfirmable(
  { to, report }: CarryOptions,
  batch: Record<string, unknown>,
  hasBodies: (fingerprint: unknown) => boolean,
): boolean {
  if (batch["state"] !== "stored" || typeof batch["order_ids"] !== "string") return true;
  const ids = (JSON.parse(batch["order_ids"]) as unknown[]).map(String);
  const isHere = to.db.prepare(ORDER_IS_HERE);
  if (hasBodies(batch["fingerprint"]) && ids.every((id) => isHere.get({ id }) !== undefined)) return true;
  report.add("batches left to the service", 1);
  return false;
}

function forgetSeen({ to, report }: CarryOptions): void {
  to.write(() => {
    const forget = to.db.prepare("DELETE FROM seen_changes WHERE order_id = lower(?)");
    for (const orderId of report.damagedOrders) forget.run(orderId);
  });
}

/** Deletes requests that the ERP has deleted since the copy: they must not be sent. */
function forgetWithdrawn({ from, to, report }: CarryOptions): void {
  if (!hasTable(from, "status_requests")) return;
  report.tolerate("status_requests", () => {
    const ids = from.prepare<unknown[], bigint>("SELECT id FROM status_requests").pluck().safeIntegers(true).all();
    const known = new Set(ids.map(lowerNumber));
    const last = lastNumber(from, "status_requests");
    const mine = to.db.prepare<unknown[], bigint>("SELECT id FROM status_requests").pluck().safeIntegers(true).all();
    const forget = to.db.prepare("DELETE FROM status_requests WHERE id = ?");
    to.write(() => {
      for (const id of mine) if (id <= last && !known.has(id)) forget.run(id);
    });
  });
}

function carryFacts({ from, to, report, continues }: CarryOptions): void {
  if (!continues || !hasTable(from, "meta")) return;
  to.write(() => {
    const save = to.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
    report.tolerate("meta", () => {
      for (const [key, value] of eachRow(from, "SELECT key, value FROM meta")) {
        if (NEWER_FACTS.includes(String(key))) save.run(key, value);
      }
    });
  });
}

/**
 * Lowers marks that name a revision which is not here, so that an order that came back in an older state is shown to
 * the ERP again.
 */
export function lowerMarks(to: Store): void {
  to.write(() =>
    to.db
      .prepare(
        `UPDATE erp_orders SET seen_revision = coalesce((SELECT o.revision FROM orders o WHERE o.order_id = lower(erp_orders.order_id)), 0)
         WHERE seen_revision > coalesce((SELECT o.revision FROM orders o WHERE o.order_id = lower(erp_orders.order_id)), 0)`,
      )
      .run(),
  );
}

function carryWatermarks({ from, to, report }: CarryOptions, zone: string): void {
  if (!hasTable(from, "watermarks")) return;
  const theirs =
    report.tolerate("watermarks", () => [...eachRow(from, "SELECT stream, value, updated_at FROM watermarks")]) ?? [];
  to.write(() => {
    const find = to.db.prepare("SELECT value FROM watermarks WHERE stream = ?").pluck();
    const save = to.db.prepare("INSERT OR REPLACE INTO watermarks (stream, value, updated_at) VALUES (?, ?, ?)");
    for (const [stream, value, at] of theirs as Row[]) {
      const mine = find.get(stream) as string | undefined;
      if (mine === undefined || isStrictlyNewer(mine, String(value), zone)) save.run(stream, value, at);
    }
  });
}
