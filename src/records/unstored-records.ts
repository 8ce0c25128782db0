/*
 * Records of orders between being read and being stored: a pass over changes reads many pages first, and the ERP may
 * hold the write lock for minutes. Decisions made meanwhile include them. In memory only: after a crash they are served
 * again.
 */

import { textOf } from "../answers/json-text.ts";
import type { Store } from "../database/store.ts";
import type { OrderSource } from "./order-mapping.ts";
import type { AnswerRecord } from "./read-records.ts";

export interface UnstoredAnswer {
  source: OrderSource;
  /** The records' spans point into it. */
  bytes: Buffer;
  records: readonly AnswerRecord[];
  /** When the answer was read: UTC, ISO 8601. */
  at: string;
}

interface UnstoredRecord {
  answer: UnstoredAnswer;
  record: AnswerRecord;
}

const UNSTORED = new WeakMap<Store, Set<UnstoredAnswer>>();
/** The same by order id, for the lookup of each record that is stored. */
const OF_ORDERS = new WeakMap<Store, Map<string, UnstoredRecord[]>>();

export function noteUnstored(store: Store, answer: UnstoredAnswer): UnstoredAnswer {
  const answers = UNSTORED.get(store) ?? new Set();
  UNSTORED.set(store, answers.add(answer));
  const orders = OF_ORDERS.get(store) ?? new Map<string, UnstoredRecord[]>();
  OF_ORDERS.set(store, orders);
  for (const record of answer.records) {
    if (!record.ok) continue;
    const of = orders.get(record.orderId);
    if (of === undefined) orders.set(record.orderId, [{ answer, record }]);
    else of.push({ answer, record });
  }
  return answer;
}

/** To be called when the answer is stored, or will not be. */
export function forgetUnstored(store: Store, answer: UnstoredAnswer | undefined): void {
  if (answer === undefined || UNSTORED.get(store)?.delete(answer) !== true) return;
  const orders = OF_ORDERS.get(store);
  for (const record of answer.records) {
    if (!record.ok) continue;
    const others = orders?.get(record.orderId)?.filter((each) => each.answer !== answer) ?? [];
    if (others.length === 0) orders?.delete(record.orderId);
    else orders?.set(record.orderId, others);
  }
}

/** Registers the answer while `act` stores it. */
export async function withUnstored<T>(store: Store, answer: UnstoredAnswer, act: () => Promise<T>): Promise<T> {
  noteUnstored(store, answer);
  try {
    return await act();
  } finally {
    forgetUnstored(store, answer);
  }
}

/** Removes what a pass over changes has left. */
export function forgetUnstoredChanges(store: Store): void {
  for (const answer of UNSTORED.get(store) ?? []) if (answer.source === "update") forgetUnstored(store, answer);
}

export function hasUnstored(store: Store): boolean {
  return (UNSTORED.get(store)?.size ?? 0) > 0;
}

/** The records for which `isOf` returns a value, with their texts. */
export function findUnstored<T>(
  store: Store,
  isOf: (record: AnswerRecord, answer: UnstoredAnswer) => T | undefined,
): { of: T; source: OrderSource; text: string; at: string }[] {
  return [...(UNSTORED.get(store) ?? [])].flatMap((answer) =>
    answer.records.flatMap((record) => {
      const of = isOf(record, answer);
      const { source, bytes, at } = answer;
      return of === undefined ? [] : [{ of, source, text: textOf(bytes, record.span), at }];
    }),
  );
}

/** The records with this usable id, in the order in which they came. */
export function loadUnstoredOf(store: Store, orderId: string): { source: OrderSource; text: string }[] {
  const records = OF_ORDERS.get(store)?.get(orderId) ?? [];
  return records.map(({ answer: { source, bytes }, record }) => ({ source, text: textOf(bytes, record.span) }));
}
