/*
 * Orders that an answer names beside its list, in lists of ids or as records under another name. Unknown ones are read
 * one by one, so that a confirm covers nothing that is not stored, whatever their meaning. Ids that are no orders at
 * the service have another meaning. The requested ids are kept in memory only; the queued reads survive a restart.
 */
import { readOrderId } from "../answers/uuid.ts";
import { commit } from "../pass/commit.ts";
import { loadKnownOrders } from "../pass/held-rows.ts";
import type { JobContext } from "../pass/job.ts";
import { loadAwaited, requestRead } from "../pass/position-rows.ts";
import { isoTime } from "../platform/ports.ts";
import type { LearnedMetadata } from "./learned-metadata.ts";
import { keyOf, type ListMetadata, type MetadataField, namesOrders } from "./metadata-fields.ts";
import { learnNaming } from "./plan-completeness.ts";

/** Per answer; the rest is requested with the next one. */
const ASKED_PER_ANSWER = 200;
const ASKED_MAX = 20_000;
/** The minimum interval between reads of an order whose change was left out. */
const AGAIN_MS = 3_600_000;

export interface NamedOrder {
  orderId: string;
  serviceId: string;
}

export interface Naming {
  learned: LearnedMetadata;
  /** The answer, in which fields are settled whose orders are all stored. */
  answer: ListMetadata;
  /** Lists of ids of which some are unknown. */
  missing: readonly MetadataField[];
}

export class OrdersBesideList {
  readonly #context: JobContext;
  /** By order id, on the monotonic clock. */
  readonly #asked = new Map<string, number>();

  constructor(context: JobContext) {
    this.#context = context;
  }

  /**
   * @param listed the ids of the records in the list itself
   * @param isChange the list contains changes: orders left out of it are read although they are stored
   */
  async find(
    { learned, answer }: { learned: LearnedMetadata; answer: ListMetadata },
    { listed, isChange = false }: { listed: () => Pick<ReadonlySet<string>, "has">; isChange?: boolean },
    signal: AbortSignal,
  ): Promise<Naming> {
    const fields = answer.fields.filter(namesOrders);
    const own = listed();
    let next = learned;
    const missing: MetadataField[] = [];
    const whole = new Set<MetadataField>();
    const unknown: NamedOrder[] = [];
    const left: NamedOrder[] = [];
    for (const field of fields) {
      const state = learned.known[keyOf(field)]?.state;
      if (field.kind === "ids" && state === "free") continue;
      const named = ordersOf(field);
      const known = loadKnownOrders(this.#context.store, [...named.keys()]);
      const others = [...named.values()].filter(({ orderId }) => !own.has(orderId));
      const fresh = others.filter(({ orderId }) => !known.has(orderId));
      const areOrders = state !== undefined || fresh.length < named.size;
      // A list in which none of the ids is an order in the first answer has another meaning.
      if (field.kind === "ids" && !areOrders && learned.sizeMax === undefined) {
        next = learnNaming(next, field, "free");
        continue;
      }
      unknown.push(...fresh);
      if (isChange && field.kind === "omitted") left.push(...others);
      if (areOrders) next = learnNaming(next, field, "seen");
      if (!this.#isSettled(fresh)) missing.push(field);
      else if (areOrders || field.kind === "omitted") whole.add(field);
      else next = learnNaming(next, field, "free");
    }
    await this.#ask(unknown, left, signal);
    const judged = answer.fields.map((field) => (whole.has(field) ? { ...field, says: false } : field));
    return { learned: next, answer: { ...answer, fields: judged }, missing: missing.filter(isIds) };
  }

  /** The orders that the answer names beside its list and that are not in it, known ones or not. */
  others(
    { learned, answer }: { learned: LearnedMetadata; answer: ListMetadata },
    listed: () => Pick<ReadonlySet<string>, "has">,
  ): NamedOrder[] {
    const isMeant = (field: MetadataField) => field.kind !== "ids" || learned.known[keyOf(field)]?.state !== "free";
    const fields = answer.fields.filter((field) => namesOrders(field) && isMeant(field));
    if (fields.length === 0) return [];
    const own = listed();
    const named = new Map(fields.flatMap((field) => [...ordersOf(field)]));
    return [...named.values()].filter(({ orderId }) => !own.has(orderId));
  }

  /** Whether each of these was requested from the service, and does not exist there. */
  #isSettled(unknown: readonly NamedOrder[]): boolean {
    const ids = unknown.map(({ orderId }) => orderId);
    return ids.every((id) => this.#asked.has(id)) && !(ids.length > 0 && loadAwaited(this.#context.store, ids));
  }

  /** @param left stored orders of which a change was left out */
  async #ask(unknown: readonly NamedOrder[], left: readonly NamedOrder[], signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    const isOld = ({ orderId }: NamedOrder) => nowMs - (this.#asked.get(orderId) ?? nowMs) >= AGAIN_MS;
    const due = [...unknown, ...left].filter(({ orderId }) => !this.#asked.has(orderId)).slice(0, ASKED_PER_ANSWER);
    due.push(...left.filter(isOld).slice(0, ASKED_PER_ANSWER));
    if (due.length === 0) return;
    const at = isoTime(clock.nowMs());
    await commit(this.#context, signal, () => {
      for (const order of due) requestRead(store, order, at);
    });
    if (this.#asked.size + due.length > ASKED_MAX) this.#asked.clear();
    for (const { orderId } of due) this.#asked.set(orderId, nowMs);
  }
}

function isIds({ kind }: MetadataField): boolean {
  return kind === "ids";
}

function ordersOf({ ids = [] }: MetadataField): Map<string, NamedOrder> {
  return new Map(
    ids.flatMap((serviceId) => {
      const orderId = readOrderId(serviceId);
      return orderId === undefined ? [] : [[orderId, { orderId, serviceId }] as const];
    }),
  );
}
