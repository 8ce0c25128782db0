import type { Effect, Feed, RequestKind, ServedRecord } from "./messages.ts";

/** One request and its result. Headers and credentials are not stored. */
export interface LedgerEntry {
  /** From 1, in the order of the effects. */
  readonly seq: number;
  /** The service's clock at the time of the effect, in milliseconds; after `arrivedAt` where the effect was late. */
  readonly at: number;
  readonly arrivedAt: number;
  readonly method: string;
  /** The path as sent, without the query. */
  readonly path: string;
  readonly query: string;
  readonly kind: RequestKind;
  readonly authOk: boolean;
  /** The status that was sent; null where the connection ended without one. */
  readonly status: number | null;
  /** Null where the text is over 1 MB. */
  readonly requestBody: string | null;
  /** As sent, including a body replaced by a fault; null where nothing was sent or the text is over 1 MB. */
  readonly responseBody: string | null;
  /** The ids of the orders whose records the client may have received in full, in their order. */
  readonly servedIds: readonly string[];
  /** The effect of the request; null where it had none or a fault prevented it. */
  readonly effect: Effect | null;
  /** The kind of the fault, and whether it was applied before or after the effect. */
  readonly faultApplied: string | null;
}

/** An entry before the ledger adds its number. */
export interface LedgerDraft extends Omit<LedgerEntry, "seq" | "servedIds"> {
  readonly served: readonly ServedRecord[];
}

export interface LedgerOptions {
  /** The number of entries to keep; without it, all entries and all served versions are kept. */
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

/** All requests and answers, append-only. Tests and simulations check the bridge against it. */
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
    // Entries are dropped in large pieces, so that the cost of each request stays constant.
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

  /** The effects of one kind, in order. */
  effects<K extends Effect["kind"]>(kind: K): Extract<Effect, { kind: K }>[] {
    return this.kept
      .map(({ effect }) => effect)
      .filter((effect): effect is Extract<Effect, { kind: K }> => effect?.kind === kind);
  }

  /** The ids of all orders covered by an accepted confirm. */
  confirmedOrderIds(): ReadonlySet<string> {
    return this.confirmed;
  }

  /** The ids of all orders in a delivered batch, even where its answer was lost. */
  handedOutOrderIds(): ReadonlySet<string> {
    return this.handedOut;
  }

  /**
   * All served texts of the whole order (batches, snapshots, whole updates); consecutive equal texts are listed once.
   */
  servedVersions(orderId: string): readonly string[] {
    return this.orders.get(orderId.toLowerCase()) ?? [];
  }

  /** The same for changes that are not whole orders. */
  servedChanges(orderId: string): readonly string[] {
    return this.changes.get(orderId.toLowerCase()) ?? [];
  }

  /** The last served text of the whole order. */
  newest(orderId: string): string | undefined {
    return this.servedVersions(orderId).at(-1);
  }

  /** All accepted texts of a record, in order. */
  acceptedValues(feed: Feed, key: string): string[] {
    const imports = this.effects("import").filter((effect) => effect.feed === feed);
    return imports.flatMap(({ accepted }) => accepted.filter((each) => each.key === key).map(({ record }) => record));
  }
}
