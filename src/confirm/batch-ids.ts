/* The order ids of a batch as its confirm names them: a JSON list of literals from the service's answer. */

import { elementsInSlices, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { atOnce } from "../answers/slices.ts";
import { readOrderId } from "../answers/uuid.ts";
import type { BatchRow } from "../batches/batch-rows.ts";

type Ids = Pick<BatchRow, "orderIds">;

export function countIds({ orderIds }: Ids): number {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).length;
}

/** Ids by which two batches can be compared: a value that is no order id may occur in any batch. */
export function idsOf({ orderIds }: Ids): string[] {
  return (JSON.parse(orderIds ?? "[]") as unknown[]).flatMap((id) => {
    const orderId = typeof id === "string" ? readOrderId(id) : undefined;
    return orderId ?? [];
  });
}

/** The elements of the list, each as its original literal. */
export function literalsOf(list: string | null): string[] {
  const bytes = Buffer.from(list ?? "[]");
  return atOnce(elementsInSlices(bytes, scanJson(bytes))).map((element) => textOf(bytes, element));
}

export function listOf(literals: Iterable<string>): string {
  return `[${[...literals].join(",")}]`;
}
