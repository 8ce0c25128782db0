/*
 * Records of orders from the moment that an answer with them is read until they are stored: a pass over changes goes on over many pages,
 * and the ERP may hold the write lock for minutes. What is decided meanwhile counts with them. In memory alone: after a crash the same is
 * served again.
 */

import { textOf } from "../answers/json-text.ts";
import type { Store } from "../database/store.ts";
import type { OrderSource } from "./order-mapping.ts";
import type { AnswerRecord } from "./read-records.ts";

export interface UnstoredAnswer {
  source: OrderSource;
  /** What the records point into. */
  bytes: Buffer;
  records: readonly AnswerRecord[];
  /** When it was read. */
  at: string;
}

const UNSTORED = new WeakMap<Store, Set<UnstoredAnswer>>();

export function noteUnstored(store: Store, answer: UnstoredAnswer): UnstoredAnswer {
  const answers = UNSTORED.get(store) ?? new Set();
  UNSTORED.set(store, answers.add(answer));
  return answer;
}

/** It is stored, or nothing will store it. */
export function forgetUnstored(store: Store, answer: UnstoredAnswer | undefined): void {
  if (answer !== undefined) UNSTORED.get(store)?.delete(answer);
}

/** What `act` stores. */
export async function withUnstored<T>(store: Store, answer: UnstoredAnswer, act: () => Promise<T>): Promise<T> {
  noteUnstored(store, answer);
  try {
    return await act();
  } finally {
    forgetUnstored(store, answer);
  }
}

/** What a pass over changes has left. */
export function forgetUnstoredChanges(store: Store): void {
  const answers = UNSTORED.get(store) ?? new Set();
  for (const answer of answers) if (answer.source === "update") answers.delete(answer);
}

export function hasUnstored(store: Store): boolean {
  return (UNSTORED.get(store)?.size ?? 0) > 0;
}

/** The records that are of an order, with their texts. */
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
