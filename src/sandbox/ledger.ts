import type { Effect, Feed, RequestKind, ServedRecord } from "./messages.ts";

/** One request and what came of it. Headers and credentials are never kept. */
export interface LedgerEntry {
  /** From 1, in the order in which effects happened. */
  readonly seq: number;
  /** The service's clock when the effect happened, in milliseconds; under a late effect this is after `arrivedAt`. */
  readonly at: number;
  readonly arrivedAt: number;
  readonly method: string;
  /** The path as it was sent, without the query. */
  readonly path: string;
  readonly query: string;
  readonly kind: RequestKind;
  readonly authOk: boolean;
  /** The status that was sent; null where the connection ended without one. */
  readonly status: number | null;
  /** Null where the text is over 1 MB. */
  readonly requestBody: string | null;
  /** As it was sent, a fault's own body included; null where nothing was sent or the text is over 1 MB. */
  readonly responseBody: string | null;
  /** Ids of the orders whose records the client may have read in full, in their order. */
  readonly servedIds: readonly string[];
  /** What the request did; null where it did nothing or a fault kept it from doing it. */
  readonly effect: Effect | null;
  /** The kind of the fault, and whether it came before or after the effect. */
  readonly faultApplied: string | null;
}

/** What the service has of a request when it records it. */
export interface LedgerDraft extends Omit<LedgerEntry, "seq" | "servedIds"> {
  readonly served: readonly ServedRecord[];
}

export interface LedgerOptions {
  /** How many entries are kept; the oldest are dropped beyond it. Without it all are, with every version served. */
  readonly limit?: number;
  readonly onEntry?: (entry: LedgerEntry) => void;
}

const TEXT_MAX = 1_000_000;

function bounded(text: string | null): string | null {
  return text !== null && text.length <= TEXT_MAX ? text : null;
}

function addVersion(versions: Map<string, string[]>, record: ServedRecord, keep: number): void {
  const texts = versions.get(record.orderId) ?? [];
  if (texts.at(-1) !== record.text) texts.push(record.text);
  versions.set(record.orderId, texts.slice(-keep));
}

/** Everything that was asked and answered. It only grows; tests and simulations judge the bridge by it. */
export class Ledger {
  private readonly options: LedgerOptions;
  private kept: LedgerEntry[] = [];
  private seq = 0;
  private readonly orders = new Map<string, string[]>();
  private readonly changes = new Map<string, string[]>();
  private readonly confirmed = new Set<string>();
  private readonly handedOut = new Set<string>();

  constructor(options: LedgerOptions = {}) {
    this.options = options;
  }

  append(draft: LedgerDraft): LedgerEntry {
    const { served, ...rest } = draft;
    const { limit = Number.POSITIVE_INFINITY } = this.options;
    const keep = Number.isFinite(limit) ? 1 : Number.MAX_SAFE_INTEGER;
    for (const record of served) addVersion(record.whole ? this.orders : this.changes, record, keep);
    const { effect } = draft;
    if (effect?.kind === "confirmed") for (const id of effect.orderIds) this.confirmed.add(id);
    if (effect?.kind === "handed-out") for (const id of effect.orderIds) this.handedOut.add(id);
    const entry: LedgerEntry = {
      ...rest,
      seq: ++this.seq,
      servedIds: served.map(({ orderId }) => orderId),
      requestBody: bounded(draft.requestBody),
      responseBody: bounded(draft.responseBody),
    };
    this.kept.push(entry);
    // Dropping in large pieces keeps the cost of each request constant.
    if (this.kept.length > limit * 2) this.kept = this.kept.slice(-limit);
    this.options.onEntry?.(entry);
    return entry;
  }

  get entries(): readonly LedgerEntry[] {
    return this.kept;
  }

  ofKind(kind: RequestKind): LedgerEntry[] {
    return this.kept.filter((entry) => entry.kind === kind);
  }

  /** The effects of one kind, in the order in which they happened. */
  effects<K extends Effect["kind"]>(kind: K): Extract<Effect, { kind: K }>[] {
    return this.kept
      .map(({ effect }) => effect)
      .filter((effect): effect is Extract<Effect, { kind: K }> => effect?.kind === kind);
  }

  /** Ids of all orders that an accepted confirm covered. */
  confirmedOrderIds(): ReadonlySet<string> {
    return this.confirmed;
  }

  /** Ids of all orders that were ever in a batch that counts as handed out, its answer lost or not. */
  handedOutOrderIds(): ReadonlySet<string> {
    return this.handedOut;
  }

  /** Every text of the whole order that was served (batches, snapshots, whole updates), repeats in a row once. */
  servedVersions(orderId: string): readonly string[] {
    return this.orders.get(orderId.toLowerCase()) ?? [];
  }

  /** The same for changes that are not whole orders. */
  servedChanges(orderId: string): readonly string[] {
    return this.changes.get(orderId.toLowerCase()) ?? [];
  }

  /** The text of the whole order that was served last. */
  newest(orderId: string): string | undefined {
    return this.servedVersions(orderId).at(-1);
  }

  /** Every acceptance of a record, in order: what the site held under the key, one after the other. */
  acceptedValues(feed: Feed, key: string): string[] {
    const imports = this.effects("import").filter((effect) => effect.feed === feed);
    return imports.flatMap(({ accepted }) => accepted.filter((each) => each.key === key).map(({ record }) => record));
  }
}
