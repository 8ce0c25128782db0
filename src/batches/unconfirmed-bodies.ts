/*
 * Batches whose confirm is still to be sent, for a journal that does not have them: it, or this folder of it, was
 * configured after they were stored, and the service may never serve them again. Their bodies are made of what is
 * stored of them, and wait for the journal like others.
 */

import { readOrderId } from "../answers/uuid.ts";
import type { Store } from "../database/store.ts";
import { commit } from "../pass/commit.ts";
import type { JobContext } from "../pass/job.ts";
import { type BatchPaths, makeBatchBody } from "./batch-body.ts";
import { type BatchRow, loadBatchOf, loadUnconfirmedIds, saveUnjournaled } from "./batch-rows.ts";
import { writeBody } from "./keep-body.ts";

/** A body of more has parts; reading so much does not block the event loop. */
const RECORDS_PER_BODY = 200;
const LENGTH_PER_BODY = 2 * 1024 * 1024;

type Context = Pick<JobContext, "store" | "clock" | "log">;

/** After a crash in it, it is begun anew; the journal then has some bodies twice, which does no harm. */
export async function saveUnconfirmedBodies(context: Context, paths: BatchPaths, signal: AbortSignal): Promise<void> {
  const { store, clock } = context;
  for (const id of loadUnconfirmedIds(store)) {
    const batch = loadBatchOf(store, id);
    if (batch === undefined) continue;
    const { fingerprint, account, receivedAt, batchId } = batch;
    for (const { records, isPart } of recordsOf(store, batch)) {
      await clock.sleep(0, signal);
      const place = await writeBody(context, makeBatchBody(paths, batchId, records), signal);
      await commit(context, signal, () =>
        saveUnjournaled(store, { fingerprint, account, receivedAt, isPart, ...place }),
      );
    }
  }
}

/**
 * `isPart`: it is not shown that these are all records of the batch, so that a restore must not have it confirmed. A
 * held record over 16 MB is left out.
 */
function* recordsOf(store: Store, batch: BatchRow): Generator<{ records: string[]; isPart: boolean }> {
  const ids = (JSON.parse(batch.orderIds ?? "[]") as unknown[]).map(String);
  let isPart = ids.length !== batch.orderCount;
  let records: string[] = [];
  let length = 0;
  const found = [...ids.map((id) => () => loadRecordsOf(store, id)), () => loadUnnamedOf(store, batch)];
  for (const load of found) {
    const loaded = load();
    isPart ||= loaded.length === 0 && load !== found.at(-1);
    records.push(...loaded);
    length += loaded.reduce((sum, text) => sum + text.length, 0);
    if (records.length < RECORDS_PER_BODY && length < LENGTH_PER_BODY) continue;
    isPart ||= load !== found.at(-1);
    yield { records, isPart };
    records = [];
    length = 0;
  }
  if (records.length > 0) yield { records, isPart };
}

/** A held record that is no JSON is made a text, which a restore holds as well. */
const HELD = `SELECT CASE WHEN json_valid(payload) THEN payload ELSE json_quote(payload) END FROM quarantine
  INDEXED BY quarantine_record WHERE kind = 'order' AND state = 'held' AND payload IS NOT NULL`;

function loadRecordsOf(store: Store, id: string): string[] {
  const sql = `SELECT payload FROM orders WHERE order_id = @orderId
    UNION ALL ${HELD} AND coalesce(reference, '') = @reference`;
  const orderId = readOrderId(id) ?? null;
  return store
    .prepare<string>(sql)
    .pluck()
    .all({ orderId, reference: orderId ?? id }) as string[];
}

/** Held records without an id. */
function loadUnnamedOf(store: Store, { receivedAt }: BatchRow): string[] {
  const sql = `${HELD} AND coalesce(reference, '') = '' AND first_seen_at = ?`;
  return store.prepare<string>(sql).pluck().all(receivedAt) as string[];
}
