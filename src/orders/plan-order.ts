import { type JsonPath, parsePath } from "../answers/json-path.ts";
import { JsonSyntaxError } from "../answers/json-text.ts";
import { type Difference, type DiffOptions, diffJson, JsonDepthError, withoutPaths } from "../answers/json-value.ts";
import { isStrictlyNewer, parseTimestamp } from "../answers/timestamp.ts";
import { isZoneUnclear } from "../answers/timestamp-form.ts";
import type { LineValues, OrderValues } from "../records/order-mapping.ts";

/** What is stored of an order, as far as a decision needs it. */
export interface StoredOrder {
  status: string | null;
  isCancelled: boolean;
  updatedAt: string | null;
  removed: boolean;
  payload: string;
  values: Pick<OrderValues, "number" | "status" | "createdAt" | "currency" | "total">;
  lines: readonly LineValues[];
}

export interface IncomingOrder {
  text: string;
  values: OrderValues;
}

export interface PlanRules {
  /** Changes below these paths alone are no change: `orders.ignore` and the timestamp itself. */
  ignore: readonly JsonPath[];
  cancelled: ReadonlySet<string>;
  closed: ReadonlySet<string>;
  /** Where the status and the lines stand: a change there alone is no change of another field. */
  statusPaths: readonly JsonPath[];
  linesPaths: readonly JsonPath[];
  /** Zone of timestamps that name none. */
  timezone: string;
}

export type OrderPlan =
  /** Same content: the record's hash is stored, nothing else is written. */
  | { kind: "same" }
  /** The record differs and is not strictly newer: only the order itself can show which one counts. */
  | { kind: "read" }
  /** Only ignored paths differ: the payload is replaced, no revision is made. */
  | { kind: "refresh" }
  | { kind: "apply"; event: EventPlan };

export interface EventPlan {
  kind: "changed" | "cancelled";
  statusChanged: boolean;
  linesChanged: boolean;
  fieldsChanged: boolean;
  oldStatus: string | null;
  newStatus: string | null;
  /** JSON text: `{path: {"was": literal, "is": literal}}`, literals as sent. */
  changes: string;
}

/** A change list longer than this says only which paths changed; the payloads themselves hold the values. */
const CHANGES_TEXT_MAX = 64 * 1024;
/** An order that was marked as removed is back: no place of its JSON, which may be as it was. */
const RETURNED: Difference = { path: "removed", was: "true", is: "false" };

/**
 * Decides what a whole record of a known order means. Batch and update records must be strictly newer by their own
 * timestamp to replace what is stored; a snapshot is the service's word of this moment and counts whatever its timestamp.
 */
export function planOrder(
  stored: StoredOrder,
  incoming: IncomingOrder,
  source: "batch" | "update" | "snapshot",
  rules: PlanRules,
): OrderPlan {
  const isSameText = differencesOf(stored, incoming, { limit: 1 }).length === 0;
  if (isSameText && !stored.removed && sameValues(stored, incoming)) return { kind: "same" };
  const isNewer = source === "snapshot" || isSurelyNewer(incoming.values.updatedAt, stored.updatedAt, rules.timezone);
  const counted = differencesOf(stored, incoming, { ignore: rules.ignore });
  if (counted.length === 0 && !stored.removed && sameValues(stored, incoming)) {
    // An older timestamp over the same content is no change and no reason to ask.
    return { kind: isNewer ? "refresh" : "same" };
  }
  if (!isNewer || (stored.removed && source !== "snapshot")) return { kind: "read" };
  return { kind: "apply", event: describeChange(stored, incoming, counted, rules) };
}

/**
 * The same plan where the service has accepted a status for the order that no read has shown: an order that was changed after that, and has
 * the status from before, was set back by another client. The ERP has it with the accepted status.
 */
export function withSetBack(
  plan: OrderPlan,
  {
    stored,
    incoming,
    accepted,
  }: {
    stored: StoredOrder;
    incoming: IncomingOrder;
    accepted: { status: string; leftAt: string | null } | undefined;
  },
  rules: PlanRules,
): OrderPlan {
  const { status, updatedAt } = incoming.values;
  if (accepted === undefined || (plan.kind !== "refresh" && plan.kind !== "apply")) return plan;
  if (stored.status !== status || accepted.status === status) return plan;
  const isLater = isStrictlyNewer(updatedAt, stored.updatedAt, rules.timezone);
  if (!isLater || isStrictlyNewer(accepted.leftAt, updatedAt, rules.timezone)) return plan;
  const event = plan.kind === "apply" ? plan.event : describeChange(stored, incoming, [], rules);
  return { kind: "apply", event: { ...event, statusChanged: true, oldStatus: accepted.status } };
}

/** Not where only one of the two names its zone: then only the order itself can show which one counts. */
function isSurelyNewer(a: string | null, b: string | null, zone: string): boolean {
  const [one, other] = [a, b].map((text) => (text === null ? undefined : parseTimestamp(text, zone)?.form));
  return isStrictlyNewer(a, b, zone) && !isZoneUnclear(one, other);
}

/** A stored payload that a failing disk has made unreadable differs as a whole: it must not keep what is new away. */
function differencesOf(stored: StoredOrder, incoming: IncomingOrder, options: DiffOptions): Difference[] {
  try {
    return diffJson(stored.payload, incoming.text, options);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof JsonDepthError)) throw error;
    return [{ path: "$", was: null, is: null }];
  }
}

/** Whether an order with this status is still being worked on, and whether it is cancelled. */
export function stateOfStatus(
  status: string | null,
  rules: Pick<PlanRules, "cancelled" | "closed">,
): { isCancelled: boolean; isOpen: boolean } {
  const name = status ?? "";
  return { isCancelled: rules.cancelled.has(name), isOpen: !rules.closed.has(name) };
}

function describeChange(
  stored: StoredOrder,
  incoming: IncomingOrder,
  differences: readonly Difference[],
  rules: PlanRules,
): EventPlan {
  const newStatus = incoming.values.status;
  const statusChanged = stored.status !== newStatus;
  const ofLines = differences.length - withoutPaths(differences, rules.linesPaths).length;
  const others = withoutPaths(differences, [...rules.statusPaths, ...rules.linesPaths]);
  const cancelled = stateOfStatus(newStatus, rules).isCancelled && !stored.isCancelled;
  return {
    kind: cancelled ? "cancelled" : "changed",
    statusChanged,
    linesChanged: ofLines > 0 || !sameLines(stored.lines, incoming.values.lines),
    fieldsChanged: stored.removed || others.length > 0 || !sameHeader(stored, incoming),
    oldStatus: stored.status,
    newStatus,
    changes: changesText(stored.removed ? [RETURNED, ...differences] : differences),
  };
}

function changesText(differences: readonly Difference[]): string {
  const entry = (difference: Difference) =>
    `${JSON.stringify(difference.path)}:{"was":${difference.was ?? "null"},"is":${difference.is ?? "null"}}`;
  const full = `{${differences.map(entry).join(",")}}`;
  if (full.length <= CHANGES_TEXT_MAX) return full;
  return `{${differences.map(({ path }) => `${JSON.stringify(path)}:{}`).join(",")}}`;
}

/** Columns can differ although the payload does not: the mapping may have been corrected in between. */
export function sameValues(stored: StoredOrder, incoming: IncomingOrder): boolean {
  return (
    stored.status === incoming.values.status &&
    sameHeader(stored, incoming) &&
    sameLines(stored.lines, incoming.values.lines)
  );
}

function sameHeader(stored: StoredOrder, incoming: IncomingOrder): boolean {
  const { values } = stored;
  const other = incoming.values;
  return (
    values.number === other.number &&
    values.createdAt === other.createdAt &&
    values.currency === other.currency &&
    values.total === other.total
  );
}

function sameLines(before: readonly LineValues[], after: readonly LineValues[]): boolean {
  return (
    before.length === after.length &&
    before.every((line, index) => {
      const other = after[index];
      return (
        other !== undefined &&
        line.sku === other.sku &&
        line.name === other.name &&
        line.quantity === other.quantity &&
        line.price === other.price
      );
    })
  );
}

/** Far beyond any order; of more, the rest stands for a value that is another one. */
const DIFFERENCES_MAX = 10_000;

/**
 * What changed with the status of an order, timestamp and ignored paths aside: `+` or `-` and the place of each key, or entry of a list, that
 * has come or gone, whatever its index; the second one of a list as ` (2)`. `null` says as much as no key. Undefined where more than that
 * has changed: a column, or a value that is another one.
 */
export function keysBesideStatus(
  stored: StoredOrder,
  incoming: IncomingOrder,
  rules: Pick<PlanRules, "ignore" | "statusPaths">,
): string[] | undefined {
  if (!sameHeader(stored, incoming) || !sameLines(stored.lines, incoming.values.lines)) return undefined;
  const differences = differencesOf(stored, incoming, { ignore: rules.ignore, limit: DIFFERENCES_MAX });
  const times = new Map<string, number>();
  for (const { path, was, is } of withoutPaths(differences, rules.statusPaths)) {
    const [isNew, isGone] = [isNothing(was), isNothing(is)];
    if (isNew && isGone) continue;
    if (!isNew && !isGone) return undefined;
    const { steps } = parsePath(path);
    const key = (isNew ? "+" : "-") + steps.map((step) => (typeof step === "number" ? "[]" : `.${step}`)).join("");
    times.set(key, typeof steps.at(-1) === "number" ? (times.get(key) ?? 0) + 1 : 1);
  }
  return [...times].flatMap(([key, count]) =>
    Array.from({ length: count }, (_, index) => (index === 0 ? key : `${key} (${index + 1})`)),
  );
}

function isNothing(literal: string | null): boolean {
  return literal === null || literal === "null";
}
