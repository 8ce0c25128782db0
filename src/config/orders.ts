import * as z from "zod";
import { requestPath } from "./addresses.ts";
import {
  answerPath,
  duration,
  isName,
  key,
  oneOf,
  refuse,
  schedule,
  section,
  template,
  text,
  word,
  worded,
} from "./kinds.ts";

const LOOK = "look at payload in orders after the first pull";

function path(standard: string, meaning: string, assumption?: string) {
  return key(answerPath().prefault(standard), meaning, assumption);
}

/** Names that the views have already; an extra column must not hide them. */
const TAKEN = {
  orders_wide: `order_id number status is_cancelled is_open service_created_at service_updated_at currency total payload
    revision erp_revision received_at changed_at removed_at total_num`.split(/\s+/),
  order_lines_wide: "order_id revision line_no sku name quantity quantity_num price price_num payload".split(" "),
};

function extraProblem(view: keyof typeof TAKEN, column: string, earlier: ReadonlySet<string>): string | null {
  if (!isName(column)) return "is not a column name of letters, digits and _";
  if (TAKEN[view].includes(column.toLowerCase())) return `is a column that ${view} has already`;
  return earlier.has(column.toLowerCase()) ? "is a column twice (capitals make no difference)" : null;
}

function extraColumns(view: keyof typeof TAKEN) {
  const schema = z.record(z.string(), answerPath()).superRefine((columns, context) => {
    const names = Object.keys(columns);
    if (names.length > 200) {
      refuse(context, { what: "has more than 200 columns" });
      return;
    }
    const earlier = new Set<string>();
    for (const column of names) {
      const what = extraProblem(view, column, earlier);
      if (what !== null) refuse(context, { what, path: [column], aboutKey: true });
      earlier.add(column.toLowerCase());
    }
  });
  return worded(schema, "columns and their paths");
}

const query = worded(
  z.record(
    z.string().min(1).max(200),
    worded(z.union([text(500), z.int(), z.boolean()]).transform(String), "text, a whole number or true or false"),
  ),
  "parameters and their values",
);

const words = (standard: string[]) => worded(z.array(word()).max(200), "a list of status names").prefault(standard);

export const orders = section("New orders: how they are fetched, read and confirmed.", {
  schedule: key(schedule().prefault("* * * * *"), "When new orders are pulled (cron, UTC)."),
  query: key(
    query.prefault({}),
    "Further query parameters of GET /orders.",
    "Query parameters are not shown: ask the service whether the account needs any.",
  ),
  batch: section("Where a batch keeps what.", {
    orders: path(
      "$.orders",
      "The list of orders in a batch.",
      "Response bodies are not shown: the error of the first pull names the keys seen.",
    ),
    id: path(
      "$.batch_id",
      "The batch's own id, if it has one.",
      "Response bodies are not shown: the error of the first pull names the keys seen.",
    ),
  }),
  confirm: section("How a batch is confirmed.", {
    body: key(
      worded(
        z.union([z.literal("auto"), template(["batch_id", "order_ids"])]),
        "auto or an object of templates over {batch_id} and {order_ids}",
      ).prefault("auto"),
      "Body of the confirm; auto sends batch_id where the answer names one, else order_ids; {} names nothing.",
      "The payload is not shown: ask the service, or let erp-bridge probe find out; a refused confirm shows in batches.",
    ),
    wait: key(
      duration("1s", "7d").prefault("15m"),
      "How long a confirm that names nothing waits after an answer to GET /orders was lost.",
      "When an unconfirmed batch is served again is not shown: ask the service, and wait longer than that.",
    ),
  }),
  fields: section("Where an order keeps what.", {
    order_id: path("$.order_id", "The order's id, a UUID."),
    number: path("$.number", "The number that people use.", `Order fields are not shown: ${LOOK}.`),
    status: path("$.status", "The order's status.", `Order fields are not shown: ${LOOK}.`),
    created_at: path("$.created_at", "When the order was made.", `Order fields are not shown: ${LOOK}.`),
    updated_at: path("$.updated_at", "When the order last changed.", `Order fields are not shown: ${LOOK}.`),
    currency: path("$.currency", "The order's currency.", `Order fields are not shown: ${LOOK}.`),
    total: path("$.total", "The order's sum.", `Order fields are not shown: ${LOOK}.`),
    lines: path("$.items", "The list of the order's lines.", `Order fields are not shown: ${LOOK}.`),
  }),
  line: section("Where a line keeps what.", {
    sku: path("$.sku", "The article's key.", `Line fields are not shown: ${LOOK}.`),
    name: path("$.name", "The article's name.", `Line fields are not shown: ${LOOK}.`),
    quantity: path("$.quantity", "How many.", `Line fields are not shown: ${LOOK}.`),
    price: path("$.price", "The price of one.", `Line fields are not shown: ${LOOK}.`),
  }),
  extra: key(
    extraColumns("orders_wide").prefault({}),
    "Further columns of orders_wide, each with its path in the order; order_lines_wide shows those of a line's order, except under names of its own.",
  ),
  line_extra: key(
    extraColumns("order_lines_wide").prefault({}),
    "Further columns of order_lines_wide, each with its path in the line.",
  ),
  ignore: key(
    worded(z.array(answerPath()).max(200), "a list of paths").prefault([]),
    "Paths whose change alone is no change of the order.",
  ),
  statuses: section("What the service's status names mean.", {
    cancelled: key(
      words(["cancelled"]),
      "Statuses of a cancelled order.",
      "Status names are not shown: select distinct status from orders after some days, or ask the service.",
    ),
    closed: key(
      words(["delivered", "cancelled"]),
      "Statuses after which nothing more is expected.",
      "Status names are not shown: select distinct status from orders after some days, or ask the service.",
    ),
  }),
});

const asInOrders = (field: string) =>
  key(answerPath().optional(), `As orders.fields.${field}, where a change names it differently.`);

export const updates = section("Later changes of orders: how they are followed.", {
  schedule: key(schedule().prefault("* * * * *"), "When changes are asked for (cron, UTC)."),
  changes: path(
    "$.updates",
    "The list of changes in an answer.",
    "Response bodies are not shown: the error of the first poll names the keys seen.",
  ),
  fields: section("Where a change names things differently from orders.fields.", {
    order_id: asInOrders("order_id"),
    number: asInOrders("number"),
    status: asInOrders("status"),
    created_at: asInOrders("created_at"),
    updated_at: asInOrders("updated_at"),
    currency: asInOrders("currency"),
    total: asInOrders("total"),
    lines: asInOrders("lines"),
  }),
  carry: key(
    oneOf(["changes", "whole"]).prefault("changes"),
    "What the answer holds: changes (each changed order is then read whole) or whole orders.",
    "Response bodies are not shown: if an entry equals GET /orders/{order_id} of that order, whole saves a request each.",
  ),
  since: key(
    oneOf(["iso", "unix", "unix_ms"]).prefault("iso"),
    "Form of the since parameter: iso (as the service writes its own stamps), unix seconds or unix_ms.",
    "The format of since is not shown: ask the service, or let erp-bridge probe compare the answers; a form that is not understood may answer everything, or nothing.",
  ),
  overlap: key(
    duration("0s", "30d").prefault("10m"),
    "How far before the watermark each poll asks again, for changes that appear late.",
    "Whether changes appear in the order of their stamps is not shown: raise it if the sweep keeps finding changes.",
  ),
  sweep: section("A rarer, wider look back.", {
    schedule: key(schedule().prefault("17 3 * * *"), "When the sweep runs (cron, UTC)."),
    overlap: key(duration("0s", "365d").prefault("24h"), "How far before the watermark the sweep asks."),
  }),
  next: key(
    answerPath().nullable().prefault(null),
    "The next since, where the answer itself names it; null: the largest stamp seen.",
    "Response bodies are not shown: look for a cursor beside the list of changes.",
  ),
  snapshot: path(
    "$",
    "The order in the answer of GET /orders/{order_id}.",
    "Response bodies are not shown: the error of the first read names the keys seen.",
  ),
});

export const statuses = section("Statuses that the ERP sends back.", {
  schedule: key(schedule().prefault("* * * * *"), "When waiting requests are sent (cron, UTC)."),
  method: key(
    oneOf(["POST", "PUT", "PATCH"]).prefault("POST"),
    "HTTP method of a status change.",
    "The method is not shown: ask the service.",
  ),
  path: key(
    requestPath(["order_id"]).nullable().prefault(null),
    "Path of a status change with {order_id}; null: nothing is sent.",
    "The suffix of the path is not shown: ask the service.",
  ),
  body: key(
    template().prefault({ status: "{status}" }),
    "Body of a status change; {status}, {comment} and the names in data of the request may be used.",
    "The payload is not shown: ask the service.",
  ),
  map: key(
    worded(z.record(z.string().min(1).max(200), word()), "the ERP's names and the service's").prefault({}),
    "The ERP's status names to the service's; a name that is absent is sent as it is.",
    "Status names and transitions are not shown: a refused request keeps the service's words.",
  ),
});
