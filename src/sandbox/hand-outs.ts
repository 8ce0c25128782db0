import { type JsonNode, nodeAt, type Property, readJson, writeObject } from "./json-text.ts";
import { answerText, type Plan, refuse, type SandboxRequest, type ServedRecord } from "./messages.ts";
import type { SandboxOptions } from "./options.ts";
import { newestVersion, type StoredOrder } from "./order-book.ts";
import { orderText, pathOf, writtenId } from "./order-text.ts";
import { emptyAnswer, readBody, type Site, shuffleOf } from "./site.ts";

interface Batch {
  /** The JSON literal of its id; null where batches have no ids. */
  id: string | null;
  orders: StoredOrder[];
  /** Orders that have left the batch since its first page was served. */
  readonly left: StoredOrder[];
  handedOutAtMs: number;
  /** When it was first delivered, and how many names had been given by then. */
  readonly begunAtMs: number;
  readonly namesBefore: number;
  /** On the service's clock; undefined: it contains the current versions of its orders. */
  readonly formedAtMs: number | undefined;
  confirmed: boolean;
  /** A batch without orders. */
  readonly isEmpty: boolean;
}

/** Odd numbers above 2^53, which a JavaScript number cannot represent. */
const FIRST_HUGE_ID = 9_007_199_254_740_993n;

function batchIdLiteral(index: number, kind: SandboxOptions["batchIdKind"]): string | null {
  switch (kind) {
    case "none":
      return null;
    case "constant":
      return '"batch"';
    case "string":
      return `"batch-${index + 1}"`;
    case "number":
      return String(index + 1);
    case "huge-number":
      return String(FIRST_HUGE_ID + 2n * BigInt(index));
  }
}

/** A string id in normal form, so that different escapes are equal; a number keeps its literal. */
function literalOf(node: JsonNode): string {
  return node.kind === "string" ? JSON.stringify(node.value) : node.text;
}

/** The literal of the id in an order's record; undefined where an invalid record has none. */
function idLiteral(order: StoredOrder, options: SandboxOptions): string | undefined {
  const { raw } = newestVersion(order).content;
  if (raw === null) return JSON.stringify(writtenId(order.id, options));
  try {
    const node = nodeAt(readJson(raw), pathOf(options.shape.order.order_id) ?? []);
    return node === undefined ? undefined : literalOf(node);
  } catch {
    return undefined;
  }
}

/** The order with its versions up to that time; at least the first one. */
function orderAt(order: StoredOrder, formedAtMs: number | undefined): StoredOrder {
  if (formedAtMs === undefined) return order;
  const last = order.versions.findLastIndex(({ madeAtMs }) => madeAtMs <= formedAtMs);
  return { ...order, versions: order.versions.slice(0, Math.max(last, 0) + 1) };
}

/** The properties about the records, beside the list. */
function besideList(orders: readonly StoredOrder[], size: number, options: SandboxOptions): Property[] {
  const at = (name: string, value: unknown): Property[] => [
    { path: [...options.shape.batch.slice(0, -1), name], text: JSON.stringify(value) },
  ];
  switch (options.batchBeside) {
    case "nothing":
      return [];
    case "total":
      return at("total", size);
    case "number":
      return at("figure", size);
    case "lines":
      return at("figure", orders.flatMap((order) => newestVersion(order).content.lines).length);
    case "ids": {
      const ids = orders.flatMap((order) => idLiteral(order, options) ?? []);
      return [{ path: [...options.shape.batch.slice(0, -1), "ids"], text: `[${ids.join(",")}]` }];
    }
    case "partial":
      return at("partial", false);
    case "skipped":
      return at("skipped", []);
    case "message":
      return at("message", "OK");
  }
}

/** The link to the next page of the batch with index `place`, null on its last page; and the page numbers. */
function nextPage(
  { place, page, orders }: { place: number; page: number; orders: number },
  { batchPages: { size, link, numbers }, shape }: SandboxOptions,
): Property[] {
  if (size === null || shape.batch.length === 0) return [];
  const next = page * size < orders ? JSON.stringify(`${link}?batch=${place}&page=${page + 1}`) : "null";
  const at = (name: string, text: string): Property => ({ path: [...shape.batch.slice(0, -1), name], text });
  const counts = Object.entries({ page, pages: Math.ceil(orders / size), total: orders });
  return [at("next", next), ...(numbers ? counts.map(([name, number]) => at(name, String(number))) : [])];
}

/** What a confirm names, once its form has been checked. */
type Named = { readonly batches: readonly Batch[]; readonly orders: readonly StoredOrder[]; readonly known: boolean };

/** GET /orders and POST /orders/confirm: the delivery and confirmation of batches. */
export class HandOuts {
  private readonly site: Site;
  private batches: Batch[] = [];
  /**
   * A queue: a delivered batch moves to the end, so that every batch is delivered again even if the service's clock is
   * set back.
   */
  private open: Batch[] = [];
  private readonly byId = new Map<string, Batch>();
  private names = 0;
  /** The number of batches without orders that were not delivered yet. */
  private emptyOnes = 0;
  /** Orders by the id in a served record; in an invalid record it may be any value. */
  private readonly byWrittenId = new Map<string, StoredOrder>();

  constructor(site: Site) {
    this.site = site;
  }

  /** Adds a batch without orders, delivered before the next new orders. */
  addEmpty(): void {
    this.emptyOnes += 1;
  }

  /** Whether a batch without orders waits to be delivered or confirmed. */
  get hasEmpty(): boolean {
    return this.emptyOnes > 0 || this.open.some(({ isEmpty }) => isEmpty);
  }

  /**
   * Removes the batches delivered after that time: their names are given again, and their unconfirmed orders wait
   * again.
   */
  restore(atMs: number): void {
    const lost = this.batches.filter(({ begunAtMs }) => begunAtMs > atMs);
    if (lost.length === 0) return;
    this.batches = this.batches.filter((batch) => !lost.includes(batch));
    this.open = this.open.filter((batch) => !lost.includes(batch));
    this.names = Math.min(...lost.map(({ namesBefore }) => namesBefore));
    for (const [id, batch] of this.byId) if (lost.includes(batch)) this.byId.delete(id);
    const isElsewhere = (order: StoredOrder) => this.batches.some(({ orders }) => orders.includes(order));
    this.site.book.requeue(
      lost.flatMap(({ orders, left }) => [...orders, ...left]).filter((each) => !isElsewhere(each)),
    );
  }

  planHandOut(query: string): Plan {
    const { options } = this.site;
    const { size } = options.batchPages;
    const asked = new URLSearchParams(query);
    const paged = size === null ? undefined : this.batches[Number(asked.get("batch") ?? "none")];
    if (size !== null && paged !== undefined) return this.planPage(paged, { size, page: Number(asked.get("page")) });
    const due = this.nextBatch();
    if (due === undefined) {
      const empty = emptyAnswer(options.shape.batch, this.site);
      const body = empty.path.length === 0 ? empty.text : writeObject([empty]);
      return answerText(empty.status, body);
    }
    const { batch, orders } = due;
    const served = this.servedRecords(size === null ? orders : orders.slice(0, size), batch);
    const list = `[${served.map(({ text }) => text).join(",")}]`;
    const bare = options.shape.batch.length === 0;
    const id = options.batchLeases && this.open.includes(batch) ? this.nextName() : batch.id;
    const properties: Property[] = [{ path: options.shape.batch, text: list }];
    if (id !== null) properties.unshift({ path: options.shape.batchId, text: id });
    properties.push(...besideList(orders, served.length, options));
    const place = this.open.includes(batch) ? this.batches.indexOf(batch) : this.batches.length;
    properties.push(...nextPage({ place, page: 1, orders: orders.length }, options));
    return {
      ...answerText(200, bare ? list : writeObject(properties)),
      served,
      effect: { kind: "handed-out", batchId: id, orderIds: [...new Set(orders.map((order) => order.id))] },
      commit: () => this.handOut(batch, orders, id),
    };
  }

  /** A page after the first of a delivered batch. */
  private planPage(batch: Batch, { size, page }: { size: number; page: number }): Plan {
    const { options } = this.site;
    const isLeaving = page === 2 && batch.left.length < options.batchPages.leaves;
    const orders = isLeaving ? batch.orders.slice(1) : batch.orders;
    const leave = () => batch.left.push(...batch.orders.splice(0, 1));
    const served = this.servedRecords(orders.slice((page - 1) * size, page * size), batch);
    const properties: Property[] = [
      ...(batch.id === null ? [] : [{ path: options.shape.batchId, text: batch.id }]),
      { path: options.shape.batch, text: `[${served.map(({ text }) => text).join(",")}]` },
      ...nextPage({ place: this.batches.indexOf(batch), page, orders: orders.length }, options),
    ];
    return { ...answerText(200, writeObject(properties)), served, ...(isLeaving && { commit: leave }) };
  }

  planConfirm(request: SandboxRequest): Plan {
    const { options } = this.site;
    const body = readBody(request);
    if ("refusal" in body) return body.refusal;
    if (body.node.kind !== "object") return refuse(400, "the body of a confirm is a JSON object");
    const named = this.named(body.node);
    if ("status" in named) return named;
    if (!named.known && options.confirmUnknown !== 200) {
      return refuse(options.confirmUnknown, "there is no such batch or order to confirm");
    }
    if (options.confirmsForgotten) {
      const forget = () => {
        for (const order of named.orders) order.wasForgotten = true;
      };
      return { ...answerText(200, '{"ok":true}'), commit: forget };
    }
    const batches = named.batches.filter((batch) => !batch.confirmed);
    const orders = named.orders.filter((order) => !order.confirmed);
    if (batches.length === 0 && orders.length === 0) {
      const repeated = options.confirmRepeated === 200 || !named.known;
      return repeated ? answerText(200, '{"ok":true}') : refuse(options.confirmRepeated, "this is confirmed already");
    }
    const orderIds = [...new Set(orders.map(({ id }) => id))];
    return {
      ...answerText(200, JSON.stringify({ ok: true, confirmed: orderIds.length })),
      effect: { kind: "confirmed", batchIds: batches.map(({ id }) => id), orderIds },
      commit: () => this.confirm(batches, orders),
    };
  }

  private nextBatch(): { batch: Batch; orders: StoredOrder[] } | undefined {
    const { handOut, redeliverAfterMs: wait } = this.site.options;
    if (handOut === "repeat") return this.oldestOpen() ?? this.newBatch();
    if (wait === "cycle") return this.newBatch() ?? this.oldestOpen();
    if (wait === null) return this.newBatch();
    return this.oldestOpen(this.site.now() - wait) ?? this.newBatch();
  }

  /** The first open batch in the queue that was delivered no later than `untilMs`, with its unconfirmed orders. */
  private oldestOpen(untilMs = Number.POSITIVE_INFINITY): { batch: Batch; orders: StoredOrder[] } | undefined {
    const waits = (order: StoredOrder) => !order.deleted && !order.confirmed;
    const batch = this.open.find(
      ({ isEmpty, orders, handedOutAtMs }) => handedOutAtMs <= untilMs && (isEmpty || orders.some(waits)),
    );
    return batch && { batch, orders: batch.orders.filter(waits) };
  }

  private newBatch(): { batch: Batch; orders: StoredOrder[] } | undefined {
    const { options, book } = this.site;
    const now = this.site.now();
    const formedAtMs = options.batchFormedMs === null ? undefined : now - options.batchFormedMs;
    const times = { handedOutAtMs: now, begunAtMs: now, namesBefore: this.names, formedAtMs };
    const begun = { id: this.nextName(), orders: [], left: [], ...times, confirmed: false };
    if (this.emptyOnes > 0) return { batch: { ...begun, isEmpty: true }, orders: [] };
    const fresh = book.waiting(options.batchSize);
    if (fresh.length === 0) return undefined;
    const before = this.batches.at(-1)?.orders.filter((order) => !order.deleted) ?? [];
    const overlap = options.batchOverlap === 0 ? [] : before.slice(-options.batchOverlap);
    return { batch: { ...begun, isEmpty: false }, orders: [...overlap, ...fresh] };
  }

  private nextName(): string | null {
    const { options } = this.site;
    return batchIdLiteral(
      options.batchesBefore + this.names,
      options.shape.batch.length === 0 ? "none" : options.batchIdKind,
    );
  }

  private servedRecords(served: readonly StoredOrder[], { formedAtMs }: Pick<Batch, "formedAtMs">): ServedRecord[] {
    const { options } = this.site;
    const settings = { options, ...shuffleOf(this.site) };
    const orders = served.map((order) => orderAt(order, formedAtMs));
    const records = orders.map((order) => ({ orderId: order.id, text: orderText(order, settings), whole: true }));
    const [first] = orders;
    if (options.batchTwice === "no" || first === undefined) return records;
    const version = options.batchTwice === "older" ? (first.versions.at(-2) ?? first.versions.at(-1)) : undefined;
    const text = orderText(first, version === undefined ? settings : { ...settings, version });
    return [...records, { orderId: first.id, text, whole: true }];
  }

  private handOut(batch: Batch, orders: StoredOrder[], id: string | null): void {
    const isNew = !this.open.includes(batch);
    if (isNew || id !== batch.id) this.names += 1;
    this.open = [...this.open.filter((each) => each !== batch), batch];
    if (isNew) {
      this.batches.push(batch);
      if (batch.isEmpty) this.emptyOnes -= 1;
    }
    batch.id = id;
    if (id !== null) this.byId.set(id, batch);
    batch.orders = orders;
    batch.handedOutAtMs = this.site.now();
    for (const order of orders) {
      order.handedOut = true;
      const id = idLiteral(order, this.site.options);
      if (id !== undefined) this.byWrittenId.set(id, order);
    }
    this.site.book.dropWaiting();
  }

  /** What the body names in the configured form; a refusal where it has another form. */
  private named(body: JsonNode): Named | Plan {
    const { options } = this.site;
    const noIds = options.batchIdKind === "none" || options.shape.batch.length === 0;
    const form = options.confirmForm === "batch_id" && noIds ? "order_ids" : options.confirmForm;
    if (form === "all" || form === "everything") {
      const open = this.open.flatMap((batch) => batch.orders.filter((order) => !order.confirmed));
      const unseen = form === "all" ? [] : this.site.book.waiting(Number.POSITIVE_INFINITY);
      return { batches: this.open, orders: [...open, ...unseen], known: this.batches.length > 0 };
    }
    const path = options.confirmKey ?? [form];
    const node = nodeAt(body, path);
    if (form === "batch_id") {
      if (node?.kind !== "string" && node?.kind !== "literal") return refuse(400, `the body lacks ${path.join(".")}`);
      const batch = this.byId.get(literalOf(node));
      if (batch === undefined) return { batches: [], orders: [], known: false };
      const batches = options.batchIdKind === "constant" && this.open.length > 0 ? this.open : [batch];
      const orders = batches.flatMap((each) => (each.confirmed ? [] : [...each.orders, ...each.left]));
      return { batches, orders, known: true };
    }
    if (node?.kind !== "array") return refuse(400, `the body lacks the list ${path.join(".")}`);
    const { confirmIds } = options.limits;
    if (confirmIds !== null && node.items.length > confirmIds)
      return refuse(413, `more than ${confirmIds} orders in one confirm`);
    return this.namedOrders(node.items);
  }

  private namedOrders(items: readonly JsonNode[]): Named {
    const found = items.map((item) => this.byWrittenId.get(literalOf(item)));
    const orders = new Set(found.filter((order) => order !== undefined));
    const covered = (batch: Batch) => batch.orders.every((order) => order.confirmed || orders.has(order));
    const batches = this.open.filter((batch) => batch.orders.some((order) => orders.has(order)) && covered(batch));
    return { batches, orders: [...orders], known: found.length > 0 && !found.includes(undefined) };
  }

  private confirm(batches: readonly Batch[], orders: readonly StoredOrder[]): void {
    for (const order of orders) order.confirmed = true;
    for (const batch of batches) batch.confirmed = true;
    const confirmed = (batch: Batch) =>
      batch.confirmed || (!batch.isEmpty && batch.orders.every((order) => order.confirmed || order.deleted));
    for (const batch of this.open) batch.confirmed = confirmed(batch);
    this.open = this.open.filter((batch) => !batch.confirmed);
  }
}
