/*
 * Keeps the rule that a wrong configuration is never blamed on records: a path that no record of an answer has is an
 * error of the whole answer, until it has matched once. A match is stored in the transaction that stores the
 * records that have it.
 */

import type { Span } from "../answers/json-text.ts";
import type { Store } from "../database/store.ts";
import { m } from "../messages/messages.ts";
import { BridgeError } from "../platform/errors.ts";
import { hasPathMatched, savePathMatched } from "./mapping-rows.ts";
import { findUnmatched, type OrderField, type OrderMapping } from "./order-mapping.ts";

/**
 * The paths that match for the first time in this answer. `known`: those of earlier answers that are not stored yet.
 * @throws BridgeError `answer_shape` naming every required or written path that no record has, and the keys found.
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
  throw new BridgeError("answer_shape", m.orders.noRecordHas({ misses }), {
    hint: m.orders.fixFields,
  });
}

/** Inside the transaction that stores the answer's records. */
export function saveMatchedPaths(
  store: Store,
  paths: { mapping: OrderMapping; matched: readonly OrderField[]; at: string },
): void {
  const { mapping, matched, at } = paths;
  for (const field of matched) {
    savePathMatched(store, { source: mapping.source, field, path: mapping.paths[field].text, at });
  }
}
