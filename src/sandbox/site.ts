import { type JsonNode, readJson } from "./json-text.ts";
import { type Plan, refuse, type SandboxRequest } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";
import type { OrderBook, StoredOrder } from "./order-book.ts";
import type { Random } from "./random.ts";

/** State shared by the endpoints: the current switches, the service's clock and its orders. */
export interface Site {
  readonly options: SandboxOptions;
  readonly now: () => number;
  readonly random: Random;
  readonly book: OrderBook;
}

/** Shuffles the properties of records where configured. */
export function shuffleOf(site: Site): { shuffle?: Random } {
  return site.options.shape.shuffleKeys ? { shuffle: site.random } : {};
}

/** Whether an order is too old to be read or to have its status set. */
export function isRetired(order: StoredOrder, site: Site): boolean {
  const { orderRetentionMs } = site.options;
  const changedAt = order.versions.at(-1)?.madeAtMs ?? 0;
  return orderRetentionMs !== null && site.now() - changedAt >= orderRetentionMs;
}

/** The form of an answer without records: no body, a bare list, or a list or null in the place of the records. */
export function emptyAnswer(
  path: readonly string[],
  site: Site,
): { status: number; path: readonly string[]; text: string } {
  switch (site.options.emptyForm) {
    case "204":
      return { status: 204, path: [], text: "" };
    case "bare-list":
      return { status: 200, path: [], text: "[]" };
    case "null":
      return { status: 200, path, text: "null" };
    case "null-parent":
      return { status: 200, path: path.length > 1 ? path.slice(0, -1) : path, text: "null" };
    case "list":
      return { status: 200, path, text: "[]" };
  }
}

/** The body of a request as JSON, or the refusal. An empty body is an empty object. */
export function readBody(request: SandboxRequest): { readonly node: JsonNode } | { readonly refusal: Plan } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(request.body);
    return { node: readJson(text.trim() === "" ? "{}" : text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { refusal: refuse(400, `the body is not JSON: ${why}`) };
  }
}
