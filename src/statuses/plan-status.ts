import { JsonSyntaxError, kindOf, membersOf, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import {
  parseTemplate,
  RenderError,
  renderPath,
  renderTemplate,
  type Template,
  type TemplateValue,
} from "../answers/template.ts";
import { readOrderId } from "../answers/uuid.ts";
import { isSameName } from "../database/same-name.ts";
import { type ColumnValue, keyText } from "../feeds/feed-record.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { KeptWord } from "../updates/reads/kept-words.ts";

/** How statuses are sent, compiled once. */
export interface StatusRules {
  method: "POST" | "PUT" | "PATCH";
  path: string;
  body: Template;
  map: Readonly<Record<string, string>>;
  /** The service's names of statuses that cancel an order. */
  cancelled: ReadonlySet<string>;
}

export function compileStatusRules(settings: {
  method: StatusRules["method"];
  path: string;
  body: unknown;
  map: Readonly<Record<string, string>>;
  cancelled: ReadonlySet<string>;
}): StatusRules {
  return { ...settings, body: parseTemplate(settings.body) };
}

/** A request as read from the table; the ERP may write any type into its columns. */
export interface WantedStatus {
  /** Truncated: a longer text is no id. */
  orderId: string;
  status: ColumnValue;
  comment: ColumnValue;
  data: ColumnValue;
  /** The values are too large for a status and were not read. */
  isTooLarge: boolean;
  /** The first column whose text is no UTF-8, so that it was not read correctly. */
  notUtf8: string | null;
  /** Another client has cancelled the order since the request was made. */
  cancelledSince?: { status: string | null; at: string } | undefined;
  /** The number of the order that has replaced this one under its id since then. */
  replacedBy?: string | undefined;
  /** Statuses from the service that are not stored, because the order could not be read since. */
  kept?: readonly KeptWord[];
}

/** The stored order. */
export interface RequestedOrder {
  orderId: string;
  /** The id in the service's case, for the path. */
  serviceId: string;
  status: string | null;
  isRemoved: boolean;
  /** The service answers with another order under its id, which is not proved yet. */
  isOther: boolean;
  revision: number;
  /** The service's timestamp, as written. */
  updatedAt: string | null;
  /** State of the last accepted status: `owed`: to be read back; `awaited`: a read has not shown it yet. */
  echo: "owed" | "awaited" | null;
  /** The last accepted request of the order, with the service's name of its status. */
  lastSent: { status: string | null; comment: ColumnValue; data: ColumnValue } | null;
}

export type StatusPlan =
  | { kind: "refuse"; reason: Message }
  /** The order must be read first: our last status has not been seen in it yet. */
  | { kind: "read" }
  /** The order has this status: nothing is sent. */
  | { kind: "done"; status: string }
  /** The service has named another status than the stored one, or another order, and the order was not read as itself since. */
  | { kind: "wait"; reason: Message }
  /** The order is not stored: whether the service has it is asked for, and the request waits for that. */
  | { kind: "find"; reason: Message }
  | { kind: "send"; status: string; path: string; body: string };

/** What an event of an order shows about its status. */
export interface StatusEvent {
  /** The former status; null also where the order is new. */
  was: string | null;
  status: string | null;
  at: string;
  /** We sent that status: if it comes back with other changes, that is no cancellation by the service. */
  isOwn: boolean;
}

/**
 * Finds the last event that cancelled the order, judged by the present configuration, whatever statuses meant when they
 * came.
 * @param history `known`: the status that the ERP has seen; undefined where its event was removed. `events`: all since
 */
export function findCancellation(
  { known, events }: { known: string | null | undefined; events: readonly StatusEvent[] },
  cancelled: ReadonlySet<string>,
): WantedStatus["cancelledSince"] {
  let found: WantedStatus["cancelledSince"];
  let wasCancelled = known === undefined || cancelled.has(known ?? "");
  for (const { was, status, at, isOwn } of events) {
    const isCancelled = cancelled.has(status ?? "");
    if (isCancelled && !isOwn && !(wasCancelled && cancelled.has(was ?? ""))) found = { status, at };
    wasCancelled = isCancelled;
  }
  return found;
}

/** Decides what to do with a request. Whatever prevents sending is a reason in words, never an exception. */
export function planStatus(wanted: WantedStatus, order: RequestedOrder | undefined, rules: StatusRules): StatusPlan {
  if (wanted.isTooLarge) return refuse(m.statuses.tooLarge);
  if (wanted.notUtf8 !== null) return refuse(m.statuses.notUtf8({ column: wanted.notUtf8 }));
  if (readOrderId(wanted.orderId) === undefined) return refuse(m.statuses.idNotUuid);
  if (order === undefined) return { kind: "find", reason: m.statuses.notStored };
  if (wanted.replacedBy !== undefined) return refuse(m.statuses.replacedSince({ number: wanted.replacedBy }));
  if (order.echo === "owed") return { kind: "read" };
  try {
    const status = serviceStatus(wanted.status, rules);
    // Until our last status was seen, the stored one may be outdated.
    const hasStatus = isSameName(status, order.status) && order.echo === null && !order.isRemoved;
    if (hasStatus && isEmpty(wanted)) return { kind: "done", status };
    if (wanted.cancelledSince !== undefined && !rules.cancelled.has(status))
      return refuse(
        m.statuses.cancelledSince({ ...wanted.cancelledSince, status: named(wanted.cancelledSince.status) }),
      );
    const body = renderBody(rules, wanted, status, order.serviceId);
    if (hasStatus && saysNothingNew(body, status, order, rules)) return { kind: "done", status };
    const waits = planKept(wanted.kept ?? [], status, rules);
    if (waits !== undefined) return waits;
    if (order.isOther) return { kind: "wait", reason: m.statuses.otherOrder };
    return { kind: "send", status, path: renderPath(rules.path, { order_id: order.serviceId }), body };
  } catch (error) {
    if (error instanceof RenderError) return refuse(m.common.about({ subject: error.placeholder, text: error.reason }));
    throw error;
  }
}

/**
 * A status never overwrites a cancellation that cannot be confirmed; another unstored status delays it for a limited
 * time.
 */
function planKept(kept: readonly KeptWord[], wanted: string, rules: StatusRules): StatusPlan | undefined {
  const cancelled = rules.cancelled.has(wanted) ? undefined : kept.find(({ isCancelled }) => isCancelled);
  const word = cancelled ?? kept.find(({ isCancelled, isOver }) => !isCancelled && !isOver);
  if (word === undefined) return undefined;
  const { status, since } = word;
  if (status === null) return { kind: "wait", reason: m.statuses.keptUnread({ since }) };
  const params = { status: named(status), since };
  return word.isCancelled && word.isOver
    ? refuse(m.statuses.keptForLong(params))
    : { kind: "wait", reason: m.statuses.kept(params) };
}

function refuse(reason: Message): StatusPlan {
  return { kind: "refuse", reason };
}

/** A status as messages show it. */
export function named(status: string | null): string | Message {
  return status === null ? m.statuses.withoutStatus : JSON.stringify(status);
}

function isEmpty({ comment, data }: Pick<WantedStatus, "comment" | "data">): boolean {
  return (comment === null || comment === "") && (data === null || data === "");
}

function renderBody(
  rules: StatusRules,
  wanted: Pick<WantedStatus, "comment" | "data">,
  status: string,
  serviceId: string,
): string {
  const values = valuesOf(wanted, status, serviceId);
  return renderTemplate(rules.body, (name) => values.get(name));
}

/**
 * Whether the order has the status, and the body is equal to that of the last accepted request, or has nothing but the
 * status.
 */
function saysNothingNew(body: string, status: string, order: RequestedOrder, rules: StatusRules): boolean {
  const last =
    order.lastSent !== null && isSameName(order.lastSent.status, status)
      ? order.lastSent
      : { comment: null, data: null };
  try {
    return body === renderBody(rules, last, status, order.serviceId);
  } catch (error) {
    // The template needs a value that the other one does not have.
    if (error instanceof RenderError) return false;
    throw error;
  }
}

/** The service's name for the ERP's status. A number counts as its digits, because names are text. */
function serviceStatus(value: ColumnValue, rules: StatusRules): string {
  const text = keyText(value);
  if (text === undefined) throw new RenderError("status", describeUnusable(value));
  const status = Object.hasOwn(rules.map, text) ? (rules.map[text] ?? text) : text;
  if (status === "") throw new RenderError("status", m.statuses.empty);
  return status;
}

function describeUnusable(value: ColumnValue): Message {
  if (value === null) return m.statuses.isNull;
  return typeof value === "number" ? m.statuses.noNumber({ value: String(value) }) : m.statuses.binary;
}

/** Values for the body. The request's own names override those in `data`. */
function valuesOf(
  wanted: Pick<WantedStatus, "comment" | "data">,
  status: string,
  serviceId: string,
): Map<string, TemplateValue> {
  const values = readData(wanted.data);
  values.set("order_id", { kind: "text", text: serviceId });
  values.set("status", { kind: "text", text: status });
  values.set("comment", commentOf(wanted.comment));
  return values;
}

/** A number counts as its digits. */
function commentOf(value: ColumnValue): TemplateValue {
  if (value === null) return { kind: "null" };
  const text = keyText(value);
  if (text === undefined) throw new RenderError("comment", describeUnusable(value));
  return { kind: "text", text };
}

/** The members of `data`, a JSON object. Of equal names the first counts, as in SQLite. */
function readData(value: ColumnValue): Map<string, TemplateValue> {
  const values = new Map<string, TemplateValue>();
  if (value === null || (typeof value === "string" && value.trim() === "")) return values;
  if (typeof value !== "string") throw new RenderError("data", m.statuses.dataNotText);
  const bytes = Buffer.from(value, "utf8");
  try {
    const root = scanJson(bytes);
    if (kindOf(bytes, root) !== "object") throw new RenderError("data", m.statuses.dataNotObject);
    for (const { key, value: span } of membersOf(bytes, root)) {
      if (!values.has(key)) values.set(key, memberValue(bytes, span));
    }
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new RenderError("data", m.statuses.dataNotJson);
    throw error;
  }
  return values;
}

function memberValue(bytes: Buffer, span: { start: number; end: number }): TemplateValue {
  const text = textOf(bytes, span);
  switch (kindOf(bytes, span)) {
    case "string":
      return { kind: "text", text: stringOf(bytes, span) };
    case "number":
      return { kind: "number", literal: text };
    case "boolean":
      return { kind: "bool", value: text === "true" };
    case "null":
      return { kind: "null" };
    default:
      return { kind: "json", text };
  }
}
