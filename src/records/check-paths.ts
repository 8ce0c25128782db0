/*
 * A wrong configuration must not be reported as bad records: a path that no record of an answer has is an error of the
 * whole answer, until the path has matched once. A match is saved in the transaction that stores the records that have
 * it.
 */

import type { Span } from "../answers/json-text.ts";
import { findRow, upsertRow } from "../database/queries.ts";
import { matchedPaths } from "../database/schema.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { findUnmatched, type OrderField, type OrderMapping, type OrderSource } from "./order-mapping.ts";

/**
 * Returns the paths that match for the first time in this answer. `known`: paths matched by earlier answers that are
 * not stored yet.
 * @throws BridgeError `answer_shape` naming every required or configured path that no record has, and the keys found
 */
export function findMatchedPaths(
  store: Store,
  answer: { bytes: Buffer; records: readonly Span[]; mapping: OrderMapping; known?: ReadonlySet<OrderField> },
): OrderField[] {
  const { bytes, records, mapping, known } = answer;
  const { unmatched, matched } = findUnmatched(
    bytes,
    records,
    mapping,
    (field) => known?.has(field) || hasPathMatched(store, mapping.source, field, mapping.paths[field].text),
  );
  if (unmatched.length === 0) return matched;
  const misses = m.common.joined({ parts: unmatched.map((miss) => m.orders.pathMissing(miss)) });
  throw new BridgeError("answer_shape", m.orders.noRecordHas({ misses }), { hint: m.orders.fixFields });
}

/** To be called inside the transaction that stores the answer's records. */
export function saveMatchedPaths(
  store: Store,
  paths: { mapping: OrderMapping; matched: readonly OrderField[]; at: string },
): void {
  const { mapping, matched, at } = paths;
  for (const field of matched) {
    savePathMatched(store, { source: mapping.source, field, path: mapping.paths[field].text, at });
  }
}

/**
 * Whether this path, with its present text, has matched in an earlier answer. `root`: the path to the order in a
 * snapshot.
 */
export function hasPathMatched(store: Store, source: OrderSource, field: OrderField | "root", path: string): boolean {
  return findRow(store, matchedPaths, { role: `${source}.${field}`, path }) !== undefined;
}

export function savePathMatched(
  store: Store,
  match: { source: OrderSource; field: OrderField | "root"; path: string; at: string },
): void {
  const row = { role: `${match.source}.${match.field}`, path: match.path, matchedAt: match.at };
  upsertRow(store, matchedPaths, row, { key: ["role", "path"], set: [] });
}
