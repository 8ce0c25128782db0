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
import { isOlder, isStrictlyNewer, parseTimestamp, readTimestamp, unitNs } from "../answers/timestamp.ts";
import { readOrderId } from "../answers/uuid.ts";
import { type ColumnValue, keyText } from "../feeds/feed.ts";
import type { Message } from "../messages/message.ts";
import { m } from "../messages/messages.ts";
import { ServiceError } from "../service/service-error.ts";

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
  /** Somebody else has cancelled the order since the request was made, and it is cancelled now. */
  cancelledSince?: { status: string | null; at: string } | undefined;
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
  /** The status that was sent before: `owed` to be read back, `awaited` where a read has not shown it yet. */
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
 * @param history `known`: the status that the ERP knew; undefined where the history does not reach back so far. `events`: all since.
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
    return { kind: "send", status, path: renderPath(rules.path, { order_id: order.serviceId }), body };
  } catch (error) {
    if (error instanceof RenderError) return refuse(m.common.about({ subject: error.placeholder, text: error.reason }));
    throw error;
  }
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

/**
 * Whether the order has the status and the request would say no more than what was sent for it last, or than the status
 * alone says.
 */
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

/** What a failed request says of the status it carried. */
export type StatusFailure =
  /** The service says that it will not have this status for this order. Whether that is believed is decided later. */
  | "refused"
  /** No such place: either the order does not exist or the path is wrong, and only a read can show which. */
  | "nowhere"
  /** It may have arrived: the order is read before anything is sent again. */
  | "unknown"
  /** It may have arrived, and the service asks to wait before anything else. */
  | "later"
  /** It cannot have had an effect: the request waits. */
  | "untouched";

export function classifyStatusFailure(error: unknown): StatusFailure {
  if (!(error instanceof ServiceError)) return "later";
  const { status } = error;
  if (status === 404 || status === 405 || status === 410) return "nowhere";
  // A web page is a proxy's or a deployment's and says nothing of an order.
  if ((status === 400 || status === 409 || status === 422) && !error.isWebPage) return "refused";
  if (error.effect === "none") return "untouched";
  return error.retryAfterMs === undefined ? "unknown" : "later";
}

const MINUTE_MS = 60_000;

/** What is remembered of a request that the service has refused in words of its own. */
export interface Refusals {
  /** How often, the last time included; each time the order was read and did not have the status. */
  times: number;
  /** Statuses of other requests that the service has accepted since the first time. */
  acceptedSince: number;
}

/**
 * Whether a refusal is the service's word about this status and not its trouble: it says it again after it has accepted another
 * request in between. How long it says so proves nothing, because that is how long the trouble lasts.
 */
export function isRefusalBelieved({ times, acceptedSince }: Refusals): boolean {
  if (times < 2) return false;
  return acceptedSince > 0;
}

/** A change by somebody else is read again after this time before a request is given up for it: a replica may lag. */
export const MOVED_AGAIN_MS = 10 * MINUTE_MS;

const RETRY_FIRST_MS = MINUTE_MS;
const RETRY_LONGEST_MS = 15 * MINUTE_MS;

/** How long a request that was tried so often waits before it is tried again. */
export function statusRetryMs(attempts: number): number {
  return Math.min(RETRY_FIRST_MS * 2 ** Math.min(Math.max(attempts - 1, 0), 10), RETRY_LONGEST_MS);
}

/** After so long a status that was answered in a new form, and does not show at its order, is sent again: so often, and no more. */
const UNSEEN_REPEATS_MS = [60 * MINUTE_MS, 24 * 60 * MINUTE_MS] as const;
const UNSEEN_LONGEST_MS = 60 * MINUTE_MS;

/**
 * What becomes of a status that has come, by its answer, and that its order does not show: a service may do later what it has
 * accepted, and would do it once for each request.
 */
export function planUnseen({
  sinceMs,
  repeats,
}: {
  sinceMs: number;
  repeats: number;
}): { kind: "repeat" } | { kind: "wait"; ms: number; repeatMs: number | undefined } {
  const repeatMs = UNSEEN_REPEATS_MS[repeats];
  if (repeatMs !== undefined && sinceMs >= repeatMs) return { kind: "repeat" };
  // Ever more seldom, by what it has waited already.
  const ms = Math.min(Math.max(sinceMs, RETRY_FIRST_MS), UNSEEN_LONGEST_MS);
  return { kind: "wait", ms: Math.min(ms, (repeatMs ?? Number.POSITIVE_INFINITY) - sinceMs), repeatMs };
}

/** What became known of an order since a request for it left. */
export interface OrderMoves {
  /** The status that was sent has been seen on the order. */
  hasComeBack: boolean;
  /** The statuses that the order has had since, oldest first. */
  statusesSince: readonly (string | null)[];
  /**
   * The status that the order has now was sent by the bridge and accepted: `unseen` where no status was seen on the order
   * between that request and this one, `last` where it was the last one sent before this one.
   */
  ownStatus: "unseen" | "last" | null;
  /** All that is stored of the order is as it was, but for its timestamp. */
  isSameContent: boolean;
  timestampBefore: string | null;
  timestamp: string | null;
  /** When the request left, by the service's own clock. */
  leftAt: string | null;
  /** The order as it was stored when the last request before this one left whose status was accepted and not seen since. */
  beforeAccepted: { status: string | null; timestamp: string | null } | null;
}

/**
 * What an order that was read says of a status that may have arrived.
 *
 * - `former`: the request has not arrived. The same holds for a status that the bridge sent before: the order was read from a
 *   copy that lagged when the request left. And for an order that is older than it was then: it was set back. And for one
 *   whose last change was made before the request left: {@link isMadeBefore}.
 * - `moved`: the order has the former status and was changed since, in a way that may well be the wanted status that came and
 *   went. A newer timestamp says that only where nothing else explains it.
 * - `another`: somebody else has changed the status.
 * - `lagging`: the order is as it was before a status that the service has accepted since: the answer is older than that and decides
 *   nothing about what was asked for afterwards.
 * - `nothing`: what stands in the place of the status is none (null, empty, `true`, a number where statuses are words), and may have
 *   come to stand there since.
 *
 * `moved` and `another` count once the order was read again {@link MOVED_AGAIN_MS} later and shows the same. What is `lagging` for so long
 * is `former`: what was accepted has had no effect.
 */
export function compareStatus(
  now: { status: string | null; timestamp: string | null },
  request: { statusSent: string | null; statusBefore: string | null },
  moves: OrderMoves,
  timezone: string,
): "wanted" | "former" | "moved" | "another" | "lagging" | "nothing" {
  const { status } = now;
  if (moves.hasComeBack) return "wanted";
  if (isOfBeforeAccepted(now, moves, timezone)) return "lagging";
  if (status === request.statusSent) return "wanted";
  if (moves.ownStatus === "unseen" || isOlder(now.timestamp, moves.timestampBefore, timezone)) return "former";
  if (moves.ownStatus === "last" && !isStrictlyNewer(now.timestamp, moves.timestampBefore, timezone)) return "former";
  const isOfBefore = isMadeBefore(now.timestamp, moves, timezone);
  if (status === request.statusBefore) {
    if (isOfBefore) return "former";
    const isTimestampAlone = moves.isSameContent && isOneFormNewer(moves.timestamp, moves.timestampBefore, timezone);
    const hasChanged = moves.statusesSince.some((since) => since !== status && isStatus(since, request));
    return hasChanged || isTimestampAlone ? "moved" : "former";
  }
  // Whatever stands there, it stood there before the request left.
  if (isOfBefore) return "former";
  if (!isStatus(status, request)) return "nothing";
  // What the order was before is not known: nothing shows that it was changed.
  return request.statusBefore === null || isStatus(request.statusBefore, request) ? "another" : "former";
}

function isOfBeforeAccepted(
  now: { status: string | null; timestamp: string | null },
  { beforeAccepted }: OrderMoves,
  timezone: string,
): boolean {
  if (beforeAccepted === null || now.status !== beforeAccepted.status) return false;
  return !isStrictlyNewer(now.timestamp, beforeAccepted.timestamp, timezone);
}

/** The clock that writes timestamps and the one that answers need not be one. */
const CLOCKS_DIFFER_NS = 10_000_000_000n;

/**
 * Whether the last change of an order was made before the request left, although it became known only afterwards: the
 * timestamp has moved with that change, and not even its last unit reaches the time of leaving. What a request sets bears a later one.
 */
function isMadeBefore(timestamp: string | null, { timestampBefore, leftAt }: OrderMoves, timezone: string): boolean {
  const change = readTimestamp(timestamp, timezone);
  const left = readTimestamp(leftAt, timezone);
  if (change === undefined || left === undefined || !isStrictlyNewer(timestamp, timestampBefore, timezone))
    return false;
  return change.instantNs + unitNs(change.form) + CLOCKS_DIFFER_NS <= left.instantNs;
}

/** Whether a text can be the name of a status, beside the one that was sent. */
function isStatus(text: string | null, { statusSent }: { statusSent: string | null }): boolean {
  const name = text?.trim() ?? "";
  if (name === "" || name === "true" || name === "false") return false;
  return !isNumber(name) || statusSent === null || isNumber(statusSent);
}

function isNumber(text: string): boolean {
  return Number.isFinite(Number(text));
}

/** Answers of two kinds may cut one timestamp to different lengths; only alike ones tell that it is another. */
function isOneFormNewer(now: string | null, before: string | null, timezone: string): boolean {
  const forms = [now, before].map((text) => (text === null ? undefined : parseTimestamp(text, timezone)?.form));
  const [one, other] = forms.map((form) => form && `${form.kind} ${form.precision} ${form.fraction}`);
  return one === other && isStrictlyNewer(now, before, timezone);
}
