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
import { type ColumnValue, keyText } from "../feeds/feed.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import type { KeptWord } from "../updates/kept-words.ts";

/** How statuses are sent, compiled once. */
export interface StatusRules {
  method: "POST" | "PUT" | "PATCH";
  path: string;
  body: Template;
  map: Readonly<Record<string, string>>;
  /** The service's names of the statuses in which an order is cancelled. */
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

/** What the ERP asked for, as it stands in the table: columns that take anything hold anything. */
export interface WantedStatus {
  /** Cut after a few characters: a longer text is no id. */
  orderId: string;
  status: ColumnValue;
  comment: ColumnValue;
  data: ColumnValue;
  /** The values together are larger than anything a status needs, and were left out. */
  isTooLarge: boolean;
  /** The first column whose bytes are no text in UTF-8: what was read of it is not what was written. */
  notUtf8: string | null;
  /** Another client has cancelled the order since the request was made. */
  cancelledSince?: { status: string | null; at: string } | undefined;
  /** What the service has said of the order, and what is not stored because the order could not be read since. */
  kept?: readonly KeptWord[];
}

/** What is known of the order. */
export interface RequestedOrder {
  orderId: string;
  /** As the service writes it, for the path. */
  serviceId: string;
  status: string | null;
  isRemoved: boolean;
  revision: number;
  /** The service's own timestamp, verbatim. */
  updatedAt: string | null;
  /** The status that was sent before: `owed`: still to be read back, `awaited` where a read has not shown it yet. */
  echo: "owed" | "awaited" | null;
  /** The last request that was sent for the order, with the service's name of its status. */
  lastSent: { status: string | null; comment: ColumnValue; data: ColumnValue } | null;
}

export type StatusPlan =
  | { kind: "refuse"; reason: Message }
  /** The order must be read first: our own last status has not been seen on it yet. */
  | { kind: "read" }
  /** The order has this status: nothing is sent. */
  | { kind: "done"; status: string }
  /** The service has named another status for the order than the stored one, and the order was not read since. */
  | { kind: "wait"; reason: Message }
  | { kind: "send"; status: string; path: string; body: string };

/** What an event of an order says of its status. */
export interface StatusEvent {
  /** The status before; null also where there was no order. */
  was: string | null;
  status: string | null;
  at: string;
  /** The bridge itself has sent that status: one that comes back with other changes is no cancellation by the service. */
  isOwn: boolean;
}

/**
 * The last event that turned an order which was not cancelled into one that is, by the meaning that statuses have now, whatever they meant
 * when they came.
 * @param history `known`: the status that the ERP has seen; undefined where the history does not reach back so far. `events`: all since.
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

/** Decides what a request becomes; everything that keeps it from being sent is a reason in words, never an exception. */
export function planStatus(wanted: WantedStatus, order: RequestedOrder | undefined, rules: StatusRules): StatusPlan {
  if (wanted.isTooLarge) return refuse(m.statuses.tooLarge);
  if (wanted.notUtf8 !== null) return refuse(m.statuses.notUtf8({ column: wanted.notUtf8 }));
  if (readOrderId(wanted.orderId) === undefined) return refuse(m.statuses.idNotUuid);
  if (order === undefined) return refuse(m.statuses.noSuchOrder);
  if (order.echo === "owed") return { kind: "read" };
  try {
    const status = serviceStatus(wanted.status, rules);
    // While our last status has not been seen, what is stored does not show what the service has.
    const hasStatus = status === order.status && order.echo === null && !order.isRemoved;
    if (hasStatus && isEmpty(wanted)) return { kind: "done", status };
    if (wanted.cancelledSince !== undefined && !rules.cancelled.has(status))
      return refuse(
        m.statuses.cancelledSince({ ...wanted.cancelledSince, status: named(wanted.cancelledSince.status) }),
      );
    const body = renderBody(rules, wanted, status, order.serviceId);
    if (hasStatus && saysNothingNew(body, status, order, rules)) return { kind: "done", status };
    const waits = planKept(wanted.kept ?? [], status, rules);
    if (waits !== undefined) return waits;
    return { kind: "send", status, path: renderPath(rules.path, { order_id: order.serviceId }), body };
  } catch (error) {
    if (error instanceof RenderError) return refuse(m.common.about({ subject: error.placeholder, text: error.reason }));
    throw error;
  }
}

/** A cancellation that cannot be settled is never undone by a status; another status is waited for, and no longer once its time is over. */
function planKept(kept: readonly KeptWord[], wanted: string, rules: StatusRules): StatusPlan | undefined {
  const cancelled = rules.cancelled.has(wanted) ? undefined : kept.find(({ isCancelled }) => isCancelled);
  const word = cancelled ?? kept.find(({ isCancelled, isOver }) => !isCancelled && !isOver);
  if (word === undefined) return undefined;
  const { status, since } = word;
  if (status === null) return { kind: "wait", reason: m.statuses.keptUnread({ since }) };
  const told = { status: named(status), since };
  return word.isCancelled && word.isOver
    ? refuse(m.statuses.keptForLong(told))
    : { kind: "wait", reason: m.statuses.kept(told) };
}

function refuse(reason: Message): StatusPlan {
  return { kind: "refuse", reason };
}

/** A status as messages name it. */
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

/** Whether the order has the status and the request would say no more than what was sent for it last, or than the status alone says. */
function saysNothingNew(body: string, status: string, order: RequestedOrder, rules: StatusRules): boolean {
  const last = order.lastSent?.status === status ? order.lastSent : { comment: null, data: null };
  try {
    return body === renderBody(rules, last, status, order.serviceId);
  } catch (error) {
    // The template needs what the other one does not have.
    if (error instanceof RenderError) return false;
    throw error;
  }
}

/** The service's name for the status that the ERP wrote. A number is its digits: names are text on both sides. */
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

/** What the body may name. The request's own names win over those in `data`. */
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

/** A comment is text, also where it is written as a number. */
function commentOf(value: ColumnValue): TemplateValue {
  if (value === null) return { kind: "null" };
  const text = keyText(value);
  if (text === undefined) throw new RenderError("comment", describeUnusable(value));
  return { kind: "text", text };
}

/** The members of `data`, a JSON object. Of members with equal names the first counts, as for SQLite. */
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
