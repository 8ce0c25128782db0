import { kindOf, memberOf, membersOf, type Span, stringOf, textOf } from "../answers/json-text.ts";
import { scanJson } from "../answers/scan-json.ts";
import { counted } from "../messages/counted.ts";
import { shortWords } from "../service/service-error.ts";
import type { OrderStory, StoryEvent } from "./story-rows.ts";

/** One thing that happened, or, without a time, how it stands now. */
export interface StoryLine {
  at: string | null;
  what:
    | "received"
    | "stored"
    | "confirmed"
    | "changed"
    | "cancelled"
    | "removed"
    | "remapped"
    | "request"
    | "quarantine"
    | "read owed"
    | "erp";
  text: string;
}

const FROM: Record<StoryEvent["source"], string> = {
  batch: "from a batch",
  update: "from the updates",
  snapshot: "read from the service",
  own: "set by this bridge",
  remap: "by remap",
};
const CHANGES_SHOWN = 6;

/** The story in the order of time; things of one moment in the order in which they happen. */
export function tellOrder(story: OrderStory): StoryLine[] {
  const lines = [
    ...story.batches.map((batch): StoryLine => {
      const name = batch.batchId === null ? "in a batch" : `in batch ${shortWords(batch.batchId)}`;
      return { at: batch.receivedAt, what: "received", text: `${name} of ${counted(batch.orderCount, "order")}` };
    }),
    ...story.events.map(eventLine),
    ...story.batches.flatMap(confirmLines),
    ...story.quarantined.map(
      (row): StoryLine => ({
        at: row.firstSeenAt,
        what: "quarantine",
        text: `record ${row.id} (${row.kind}) is ${row.state}: ${shortWords(row.reason)}`,
      }),
    ),
    ...story.requests.flatMap(requestLines),
  ];
  const timed = lines
    .map((line, index) => ({ line, index }))
    .sort((a, b) => compareTimes(a.line.at, b.line.at) || a.index - b.index);
  const owed: StoryLine[] =
    story.owedSince === null
      ? []
      : [{ at: null, what: "read owed", text: `a change was announced at ${story.owedSince} and is to be read` }];
  return [...timed.map(({ line }) => line), ...owed, erpLine(story)];
}

/** `1001 (id): paid, 12.50 EUR, revision 3` */
export function headOf({ order }: OrderStory): string {
  const { number, orderId, status, total, currency, revision } = order;
  const name = number === null ? orderId : `${shortWords(number)} (${orderId})`;
  const amount = total === null ? [] : [`${shortWords(total)}${currency === null ? "" : ` ${shortWords(currency)}`}`];
  const state = order.removedAt !== null ? ["no longer at the service"] : order.isOpen === 1 ? ["open"] : ["closed"];
  return `${name}: ${[status === null ? "no status" : shortWords(status), ...amount, ...state, `revision ${revision}`].join(", ")}`;
}

function eventLine(event: StoryEvent): StoryLine {
  const status = event.newStatus === null ? "" : `, status ${shortWords(event.newStatus)}`;
  if (event.kind === "created") {
    return { at: event.at, what: "stored", text: `as revision ${event.revision} (${FROM[event.source]})${status}` };
  }
  const moved =
    event.oldStatus === event.newStatus ? "" : `: status ${value(event.oldStatus)} → ${value(event.newStatus)}`;
  const changes = changesText(event.changes);
  const more = changes === "" ? "" : `${moved === "" ? ": " : "; "}${changes}`;
  return { at: event.at, what: event.kind, text: `revision ${event.revision} (${FROM[event.source]})${moved}${more}` };
}

function changesText(text: string | null): string {
  if (text === null) return "";
  const bytes = Buffer.from(text, "utf8");
  const places = membersOf(bytes, scanJson(bytes));
  const shown = places.slice(0, CHANGES_SHOWN).map(({ key, value: change }) => {
    const [was, is] = [literalOf(bytes, change, "was"), literalOf(bytes, change, "is")];
    return `${shortWords(key)}${was === undefined && is === undefined ? "" : ` ${was ?? "nothing"} → ${is ?? "nothing"}`}`;
  });
  const rest = places.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

/** A value as it was sent: a number by its literal, which `JSON.parse` would round. */
function literalOf(bytes: Buffer, change: Span, key: string): string | undefined {
  const found = memberOf(bytes, change, key);
  if (found === undefined || kindOf(bytes, found) === "null") return undefined;
  return shortWords(kindOf(bytes, found) === "string" ? stringOf(bytes, found) : textOf(bytes, found));
}

function confirmLines(batch: OrderStory["batches"][number]): StoryLine[] {
  if (batch.confirmedAt !== null)
    return [{ at: batch.confirmedAt, what: "confirmed", text: "the batch was confirmed" }];
  const why = batch.lastError === null ? "" : `: ${shortWords(batch.lastError)}`;
  const what = batch.state === "refused" ? "the service refused the confirm" : "the confirm of the batch is still owed";
  return [{ at: batch.receivedAt, what: "confirmed", text: `${what}${why}` }];
}

function requestLines(request: OrderStory["requests"][number]): StoryLine[] {
  const name = `request ${request.id}: status ${value(request.status)}`;
  const asked: StoryLine = { at: request.requestedAt, what: "request", text: `${name} wanted by the ERP` };
  const why = request.lastError === null ? "" : `: ${shortWords(request.lastError)}`;
  if (request.answeredAt === null) return [{ ...asked, text: `${asked.text}, ${request.state}${why}` }];
  const http = request.httpStatus === null ? "" : ` (${request.httpStatus})`;
  return [asked, { at: request.answeredAt, what: "request", text: `${name} ${request.state}${http}${why}` }];
}

function erpLine({ order, erp, waiting }: OrderStory): StoryLine {
  const line = (text: string): StoryLine => ({ at: null, what: "erp", text });
  const number = erp?.erpNumber === null || erp?.erpNumber === undefined ? "" : ` as ${value(erp.erpNumber)}`;
  const seen = erp?.seenRevision ?? 0;
  if (waiting?.blocked === 1) {
    return line(
      `blocked by the ERP since ${waiting.since}${erp?.error === null || erp?.error === undefined ? "" : `: ${value(erp.error)}`}`,
    );
  }
  if (waiting !== undefined) {
    const before = seen === 0 ? "not yet taken by the ERP" : `taken by the ERP${number} up to revision ${seen}`;
    return line(`${before}; revision ${order.erpRevision} waits since ${waiting.since}`);
  }
  return line(`taken by the ERP${number}, revision ${seen} of ${order.revision}`);
}

function value(of: unknown): string {
  if (of === null || of === undefined) return "nothing";
  return shortWords(typeof of === "string" ? of : Buffer.isBuffer(of) ? "binary data" : JSON.stringify(of));
}

/** Times are ISO texts of one form; the ERP may have written anything, or nothing, into its own column. */
function compareTimes(a: string | null, b: string | null): number {
  const [left, right] = [a ?? "", b ?? ""];
  return left < right ? -1 : left > right ? 1 : 0;
}
