import type { Message } from "../../src/messages/message.ts";
import { m } from "../../src/messages/messages.ts";
/**
 * What the interface document leaves open, question by question. `keys` are the keys whose defaults guess at the
 * answer (`*` for every feed); `note` says what the bridge does where no key can help.
 */
export interface OpenQuestion {
  question: Message;
  keys: readonly string[];
  note: string;
}

const NO_KEY = "No key depends on it";

export const OPEN_QUESTIONS: readonly OpenQuestion[] = [
  {
    question: m.questions.stockRecord,
    keys: ["imports.stocks.record", "imports.stocks.available", "imports.stocks.on_delete"],
    note: "A template that is refused for every record holds the feed and quarantines nothing.",
  },
  {
    question: m.questions.otherRecords,
    keys: [
      ...["prices", "catalog", "images"].flatMap((feed) =>
        ["path", "property", "record", "on_delete"].map((name) => `imports.${feed}.${name}`),
      ),
      ...["send", "types", "multipart.file", "multipart.record"].map((name) => `imports.images.${name}`),
    ],
    note: "These feeds are off until their path is set. An image that is refused alone is quarantined with the service's words.",
  },
  {
    question: m.questions.scope,
    keys: ["imports.*.scope"],
    note: "The document shows only that the array may be empty; no feed sends an empty one; `erp-bridge probe` does, once, after a yes.",
  },
  {
    question: m.questions.importAnswer,
    keys: ["imports.*.result"],
    note: "Without it status says that records were accepted by status code only.",
  },
  {
    question: m.questions.orderFields,
    keys: [
      ...["number", "status", "created_at", "updated_at", "currency", "total", "lines"].map(
        (f) => `orders.fields.${f}`,
      ),
      ...["sku", "name", "quantity", "price"].map((f) => `orders.line.${f}`),
    ],
    note: "Payloads are kept as sent, so erp-bridge remap derives the columns again after a correction.",
  },
  {
    question: m.questions.bodies,
    keys: [
      "orders.batch.orders",
      "orders.batch.id",
      "updates.changes",
      "updates.carry",
      "updates.next",
      "updates.snapshot",
    ],
    note: "An answer of another shape is an error that names the path tried and the keys seen; nothing is confirmed.",
  },
  {
    question: m.questions.confirm,
    keys: ["orders.confirm.body", "orders.confirm.wait"],
    note: "A refused confirm is visible in batches; its orders are stored.",
  },
  {
    question: m.questions.query,
    keys: ["orders.query"],
    note: "None are sent unless written.",
  },
  {
    question: m.questions.since,
    keys: ["updates.since", "updates.overlap", "service.timezone"],
    note: "The watermark is always a value that the service itself sent.",
  },
  {
    question: m.questions.statusChange,
    keys: ["statuses.method", "statuses.path", "statuses.body"],
    note: "Off until the path is set; a path that answers 404 or 405 for an existing order holds, and refuses nothing.",
  },
  {
    question: m.questions.statusNames,
    keys: ["orders.statuses.cancelled", "orders.statuses.closed", "statuses.map"],
    note: "Transitions are the service's business: a refused request keeps its words.",
  },
  {
    question: m.questions.limits,
    keys: ["service.requests_per_second", "service.answer_bytes_max", "imports.*.chunk", "imports.images.bytes_max"],
    note: "Retry-After is honoured, 413 halves the chunk, and a batch of any size is stored in steps.",
  },
  {
    question: m.questions.refusals,
    keys: [],
    note: `${NO_KEY}: the status decides, and the words are only shown.`,
  },
  {
    question: m.questions.errors,
    keys: [],
    note: `${NO_KEY}: errors are distinguished by their class; an unknown one holds its flow and blames no record.`,
  },
  {
    question: m.questions.version,
    keys: [],
    note: `${NO_KEY}: the paths of the 1C endpoints are those of /api/v1; a change of shape shows as an error, not as silence.`,
  },
];
