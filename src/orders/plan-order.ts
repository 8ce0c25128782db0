import { type JsonPath, parsePath } from "../answers/json-path.ts";
import { JsonSyntaxError } from "../answers/json-text.ts";
import { type Difference, type DiffOptions, diffJson, JsonDepthError, withoutPaths } from "../answers/json-value.ts";
import { isStrictlyNewer, parseTimestamp } from "../answers/timestamp.ts";
import { isZoneUnclear } from "../answers/timestamp-form.ts";
import { isSameName } from "../database/same-name.ts";
import type { LineValues, OrderValues } from "../records/order-mapping.ts";

/** The stored order, as far as decisions need it. */
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
  /** Differences below these paths are no change: `orders.ignore` and the timestamp. */
  ignore: readonly JsonPath[];
  cancelled: ReadonlySet<string>;
  closed: ReadonlySet<string>;
  /** Paths of the status and the lines, which events report separately. */
  statusPaths: readonly JsonPath[];
  linesPaths: readonly JsonPath[];
  /** Zone of timestamps without one. */
  timezone: string;
}

export type OrderPlan =
  /** Same content: only the record's hash is stored. */
  | { kind: "same" }
  /** The record differs and is not surely newer: the order must be read to decide. */
  | { kind: "read" }
  /** Only ignored paths differ: the payload is replaced without a new revision. */
  | { kind: "refresh" }
  | { kind: "apply"; event: EventPlan };

export interface EventPlan {
  kind: "changed" | "cancelled";
  statusChanged: boolean;
  linesChanged: boolean;
  fieldsChanged: boolean;
  oldStatus: string | null;
  newStatus: string | null;
  /** JSON text: `{path: {"was": literal, "is": literal}}`, with original literals. */
  changes: string;
}

/** Longer lists of changes keep the paths only; the payloads have the values. */
const CHANGES_TEXT_MAX = 64 * 1024;
/** A removed order is back. It is no path of the payload, which may be unchanged. */
const RETURNED: Difference = { path: "removed", was: "true", is: "false" };

/**
 * Decides what a whole record of a known order means. A batch or update record replaces the stored order only if its
 * timestamp is strictly newer; a snapshot is the order's present state and counts whatever its timestamp. An order that is marked as removed
 * is back with a newer record, also where reads do not find it yet: the record may be confirmed, and would be stored nowhere else.
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
    // Same content with an older timestamp: nothing to change or read.
    return { kind: isNewer ? "refresh" : "same" };
  }
  if (!isNewer) return { kind: "read" };
  return { kind: "apply", event: describeChange(stored, incoming, counted, rules) };
}

/**
 * Adjusts the plan where the service accepted a status that no read has shown. If the order changed after that and has
 * the status from before, another client set it back: the event then has the accepted status as its old one, so that
 * the ERP sees the change.
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
  if (!isSameName(stored.status, status) || isSameName(accepted.status, status)) return plan;
  const isLater = isStrictlyNewer(updatedAt, stored.updatedAt, rules.timezone);
  if (!isLater || isStrictlyNewer(accepted.leftAt, updatedAt, rules.timezone)) return plan;
  const event = plan.kind === "apply" ? plan.event : describeChange(stored, incoming, [], rules);
  return { kind: "apply", event: { ...event, statusChanged: true, oldStatus: accepted.status } };
}

/** False where only one of the two has a zone: only a read of the order can decide then. */
function isSurelyNewer(a: string | null, b: string | null, zone: string): boolean {
  const [one, other] = [a, b].map((text) => (text === null ? undefined : parseTimestamp(text, zone)?.form));
  return isStrictlyNewer(a, b, zone) && !isZoneUnclear(one, other);
}

/** A damaged stored payload differs as a whole, so that it does not block newer content. */
function differencesOf(stored: StoredOrder, incoming: IncomingOrder, options: DiffOptions): Difference[] {
  try {
    return diffJson(stored.payload, incoming.text, options);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof JsonDepthError)) throw error;
    return [{ path: "$", was: null, is: null }];
  }
}

/** Whether an order with this status is open, and whether it is cancelled. */
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

/** Columns may differ although the payload does not, if the mapping was corrected in between. */
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

/** More than any order has; where there are more, the rest counts as a changed value. */
const DIFFERENCES_MAX = 10_000;

/**
 * Lists keys and list entries added (`+`) or removed (`-`) together with the status, without timestamp and ignored
 * paths, for example `+.shipped_at`. Indexes are left out; a second entry of one list has the suffix ` (2)`. `null`
 * equals an absent key. Undefined where anything else changed: a column, or a value.
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
